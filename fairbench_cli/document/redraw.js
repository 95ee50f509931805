"use strict";
// Draws what follows the switches again, from the numbers in the page: what Python drew, for other choices.
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const form = document.querySelector(".switches");
  const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" })[c]);
  const at = (numbers, i) => (numbers.length ? numbers[i] : null);
  const general = (x) => String(Number(x.toPrecision(6)));
  const short = (x) => x.toFixed(2).replace(/\.?0+$/, "");
  const fine = (words, small) => escaped(words) + (small ? ` <span class="fine">${escaped(small)}</span>` : "");
  function written(scale, grains, sign = "") {
    const last = Math.floor((2 * Math.abs(grains) + scale.step) / (2 * scale.step));
    const base = 10 ** scale.digits;
    const before = last === 0 ? "" : grains < 0 ? "−" : sign;
    return `${before}${Math.floor(last / base)}.${String(last % base).padStart(scale.digits, "0")}`;
  }
  function place(scale, grains) {
    const [low, high] = scale.axis;
    return (100 * (Math.max(low, Math.min(high, grains)) - low)) / (high - low);
  }
  function ticks(scale) {
    const [low, high, step] = scale.axis;
    const found = [];
    for (let k = Math.ceil(low / step); k <= Math.floor(high / step); k++) found.push([place(scale, k * step), written(scale, k * step).replace(/\.?0+$/, "")]);
    return found;
  }
  const letters = (scale) => data.words[scale.gap ? 1 : 0];
  function aside(panel, against, i) {
    const m = data.accuracy;
    const mean = at(panel.mean[m], i);
    const difference = against ? at(against.difference[m], i) : null;
    if (mean === null) return ["-", ""];
    return [`${written(data.scales[m], mean)} %`, difference === null ? "" : written(data.scales[m], difference, "+")];
  }
  // A row of a forest: [name, kind, at, low, high, base, said, texts, note], as `forest_row` in Python.
  function forestRow(panel, m, base, t, beta) {
    const scale = data.scales[m];
    const count = panel.betas.length;
    const [name, i] = [panel.techniques[t], t * count + beta];
    const mean = at(panel.mean[m], i);
    const against = panel.against[base];
    const side = m === data.accuracy ? [] : [aside(panel, against, i)];
    if (mean === null) {
      const why = panel.why[i] ?? "no finite value";
      return [name, "open", null, null, null, null, `${name}: ${why}`, [["-", ""], ...side], why];
    }
    const n = Array.isArray(panel.n[m]) ? panel.n[m][i] : panel.n[m];
    const same = panel.same[i] ?? "";
    const note = same || (n < panel.repeats ? `${n} of ${panel.repeats}` : "");
    const of = `${n} of ${panel.repeats} repeats`;
    let told = `${name}: ${written(scale, mean)}${scale.unit ? ` ${scale.unit}` : ""}`;
    if (same) told += `, ${same}`;
    const difference = against ? at(against.difference[m], i) : null;
    if (difference === null) {
      const letter = against && against.base.includes(t) ? "B" : same ? "c" : ".";
      const own = place(scale, mean);
      return [name, data.kinds[letter], own, null, null, letter === "B" ? own : null, `${told}; ${of}`, [[written(scale, mean), ""], ...side], note];
    }
    const [letter, other] = [against.kind[m][i], against.base[t]];
    const start = at(panel.mean[m], other * count + beta) ?? 0;
    const [low, high] = [at(against.low[m], i), at(against.high[m], i)];
    told += `, ${written(scale, difference, "+")} against ${panel.techniques[other]}`;
    if (low !== null && high !== null) told += ` (${written(scale, low, "+")} to ${written(scale, high, "+")})`;
    const end = (limit) => (limit === null ? null : place(scale, start + limit));
    const texts = [[written(scale, mean), written(scale, difference, "+")], ...side];
    return [name, data.kinds[letter], end(difference), end(low), end(high), place(scale, start), `${told}: ${letters(scale)[letter]}; ${of}`, texts, note];
  }
  const span = (scale, numbers, m, i, sign = "") => {
    const [low, high] = [at(numbers.low[m], i), at(numbers.high[m], i)];
    return low === null || high === null ? "" : `[${written(scale, low, sign)}, ${written(scale, high, sign)}]`;
  };
  // The numbers of a technique at a β: [text, small print, value], as `number_cells` in Python.
  function numberCells(panel, m, base, t, beta) {
    const scale = data.scales[m];
    const i = t * panel.betas.length + beta;
    const n = Array.isArray(panel.n[m]) ? panel.n[m][i] : panel.n[m];
    const of = [`${n} of ${panel.repeats}`, "", n];
    const mean = at(panel.mean[m], i);
    if (mean === null) return [["-", "", null], ["", "", null], [panel.why[i] ?? "no finite value", "", null], ["", "", null], of];
    const against = panel.against[base];
    const difference = against ? at(against.difference[m], i) : null;
    let letter = against ? against.kind[m][i] : "-";
    let change = ["", "", null];
    if (difference !== null) change = [written(scale, difference, "+"), span(scale, against, m, i, "+"), difference];
    else if (against && against.base.includes(t)) letter = "B";
    const own = at(panel.mean[data.accuracy], i);
    const right = own === null ? "" : `${written(data.scales[data.accuracy], own)} %`;
    return [[written(scale, mean), span(scale, panel, m, i), mean], change, [letter === "-" ? "" : letters(scale)[letter], panel.same[i] ?? "", null], [right, "", own], of];
  }
  const upright = (kind, x) => (x === null ? "" : `<line class="${kind}" x1="${short(x)}%" x2="${short(x)}%" y2="100%"/>`);
  function rowOf([name, kind, mid, low, high, base, told, texts, note], ideal) {
    let parts = upright("zero", ideal) + upright("base", base);
    if (low !== null && high !== null) parts += `<line class="ci ${kind}" x1="${short(low)}%" x2="${short(high)}%" y1="50%" y2="50%"/>`;
    if (mid !== null) parts += `<svg x="${short(mid)}%" y="50%" overflow="visible"><path class="mark ${kind}" d="${data.forms[kind]}"><title>${escaped(told)}</title></path></svg>`;
    const cells = texts.map(([words, small]) => `<td class="n">${fine(words, small)}</td>`).join("");
    return `<tr><th scope="row">${fine(name, note)}</th><td class="plot"><svg role="img" aria-label="${escaped(told)}" width="100%" height="24">${parts}</svg></td>${cells}</tr>`;
  }
  function forest(panel, m, base, beta) {
    const scale = data.scales[m];
    const ideal = scale.ideal === null || scale.ideal < scale.axis[0] || scale.ideal > scale.axis[1] ? null : place(scale, scale.ideal);
    let rows = panel.techniques.map((_, t) => rowOf(forestRow(panel, m, base, t, beta), ideal)).join("");
    const labels = panel.labels[m];
    if (labels !== null) {
      const texts = [[written(scale, labels), ""], ...(m === data.accuracy ? [] : [["", ""]])];
      rows = rowOf(["labels", "labels", place(scale, labels), null, null, null, `${data.words[0].L}: ${texts[0][0]} ${scale.unit}`, texts, ""], ideal) + rows;
    }
    const others = m === data.accuracy ? ["value"] : ["value", "accuracy"];
    const about = scale.unit ? `${scale.name}, ${scale.unit}` : scale.name;
    const heads = others.map((head) => `<th scope="col" class="n">${head}</th>`).join("");
    const below = ticks(scale).map(([x, words]) => `<span class="tick" style="left:${short(x)}%">${words}</span>`).join("");
    const title = `${panel.name}: ${scale.name} against ${base} at β = ${panel.at[beta]}`;
    const long = panel.techniques.some((name) => name.split(/[ -]/).some((word) => word.length > 13));
    return `<table class="forest${long ? " long" : ""}"><caption class="unseen">${escaped(title)}</caption><colgroup>${"<col>".repeat(2 + others.length)}</colgroup><thead><tr><th scope="col" colspan="2">${escaped(about)}</th>${heads}</tr></thead>` +
      `<tbody>${rows}</tbody><tfoot aria-hidden="true"><tr><td></td><td class="plot"><div>${below}</div></td><td colspan="${others.length}"></td></tr></tfoot></table>`;
  }
  // Curves over β as `curves` in Python draws them, and `plot` below it.
  const path = (kind, d, told, colour, width, dashes = "") => {
    const within = told ? `<title>${escaped(told)}</title>` : "";
    return `<path class="${kind}" d="${d}" stroke-width="${width}" stroke="${colour}"${dashes ? ` stroke-dasharray="${dashes}"` : ""} fill="none"${within ? `>${within}</path>` : "/>"}`;
  };
  const text = (kind, x, y, words, anchor = "start") => `<text class="${kind}" x="${short(x)}" y="${short(y)}" text-anchor="${anchor}">${escaped(words)}</text>`;
  function mark(look, x, y, told) {
    const [colour, , d] = data.lines[look];
    return `<path class="line l${look} dot" d="${d}" transform="translate(${short(x)} ${short(y)})" stroke="${colour}" stroke-width="1.3" fill="#ffffff"><title>${escaped(told)}</title></path>`;
  }
  function curves(panel, m, part) {
    const scale = data.scales[m];
    const count = panel.betas.length;
    const one = scale.unit ? data.grain / 100 : data.grain;
    const [low, high, step] = scale.axis;
    const [first, last] = [panel.betas[0], panel.betas[count - 1]];
    const x = (beta) => 44 + (304 * (beta - first)) / (last - first);
    const y = (grains) => 200 - (188 * (Math.max(low, Math.min(high, grains)) - low)) / (high - low);
    let parts = "";
    for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) {
      parts += path("grid", `M44 ${short(y(k * step))}H348`, "", "#d5d5d5", 1);
      parts += text("tick", 39, y(k * step) + 4, general((k * step) / one), "end");
    }
    parts += data.betas[panel.at.join()];
    parts += text("tick", 180, 230, `β; up: ${scale.unit ? `${scale.name}, ${scale.unit}` : scale.name}`, "middle");
    const lines = part.map((t) => {
      const points = [];
      const limits = [];
      panel.betas.forEach((beta, k) => {
        const [mean, lower, upper] = ["mean", "low", "high"].map((name) => at(panel[name][m], t * count + k));
        if (mean === null) return;
        let told = `${panel.techniques[t]}, β = ${panel.at[k]}: ${written(scale, mean)}`;
        if (lower !== null && upper !== null) {
          limits.push([x(beta), y(lower), y(upper)]);
          told += ` (${written(scale, lower)} to ${written(scale, upper)})`;
        }
        points.push([x(beta), y(mean), told]);
      });
      return [panel.techniques[t], points, limits];
    });
    lines.forEach(([name, , limits], i) => {
      const way = [...limits.map(([a, b]) => [a, b]), ...limits.map(([a, , c]) => [a, c]).reverse()];
      if (way.length) parts += `<path class="area a${i}" d="M${way.map(([a, b]) => `${short(a)} ${short(b)}`).join("L")}z" fill="${data.lines[i][0]}" fill-opacity="0.13"><title>${escaped(name)}: interval</title></path>`;
    });
    let level = 248;
    lines.forEach(([name, points], i) => {
      const [colour, dashes] = data.lines[i];
      const along = (way, told) => (way.length ? path(`line l${i}`, `M${way.map(([a, b]) => `${short(a)} ${short(b)}`).join("L")}`, told, colour, "1.8", dashes) : "");
      const every = Math.max(1, Math.ceil(points.length / 10));
      parts += along(points, name);
      points.forEach(([a, b, told], k) => { if (k >= Math.floor((every - 1) / 2) && (k - Math.floor((every - 1) / 2)) % every === 0) parts += mark(i, a, b, told); });
      parts += along([12, 29, 46].map((a) => [a, level - 4]), name) + mark(i, 29, level - 4, name);
      parts += text("name", 54, level, name.length <= 34 ? name : `${name.slice(0, 33)}…`);
      level += 16;
    });
    const size = short(level - 4);
    return `<svg role="graphics-document document" aria-label="${escaped(`${panel.name}: ${scale.name} over β`)}" viewBox="0 0 360 ${size}" width="360" height="${size}" font-family="system-ui, sans-serif" font-size="11" fill="#222222" xmlns="http://www.w3.org/2000/svg">${parts}</svg>`;
  }
  const selects = Object.fromEntries([...form.elements].filter((one) => one.name).map((one) => [one.name, one]));
  const chosen = (name) => (selects[name] ? selects[name].value : data.chosen[name] ?? "");
  const metric = () => data.scales.findIndex((scale) => scale.name === chosen("metric"));
  const step = (panel) => Math.max(0, panel.at.indexOf(chosen("beta")));
  const away = (about) => Object.entries(about).some(([name, value]) => chosen(name) && value !== chosen(name));
  const drawers = {
    forest: (panel) => {
      const [short, long] = panel.told[step(panel)];
      const apt = short && chosen("metric") === data.chosen.metric && chosen("base") === data.chosen.base;
      const own = panel.against[chosen("base")];
      if (own && !own.difference[metric()].length) return `<figcaption class="fine">The page keeps no differences to ${escaped(chosen("base"))} of this metric: fairbench report --versus has them.</figcaption>` + forest(panel, metric(), chosen("base"), step(panel));
      return (apt ? `<figcaption><strong>${escaped(short)}</strong>${long ? ` <span class="fine">${escaped(long)}</span>` : ""}</figcaption>\n` : "") + forest(panel, metric(), chosen("base"), step(panel));
    },
    curves: (panel, part) => curves(panel, metric(), panel.parts[part]),
  };
  function filter() {
    for (const part of document.querySelectorAll(".of")) part.classList.toggle("off", away(part.dataset));
  }
  const tables = [...document.querySelectorAll("table[data-key]")].map((table) => [table.dataset.key.split("-"), [...table.tBodies[0].rows]]);
  function fill(row, from, cells) {
    cells.forEach(([words, small, value], j) => {
      const cell = row.children[from + j];
      cell.innerHTML = fine(words, small);
      if (value === null) delete cell.dataset.v;
      else cell.dataset.v = value;
    });
  }
  const fillers = {
    numbers: (rows) => {
      const m = metric();
      const of = (row) => row.children.length - 5;
      let k = 0;
      for (const panel of data.panels) for (let beta = 0; beta < panel.betas.length; beta++) for (let t = 0; t < panel.techniques.length; t++) {
        const row = rows[k++];
        fill(row, of(row), numberCells(panel, m, chosen("base"), t, beta));
        row.classList.toggle("off", away(panel.about));
      }
    },
    groups: (rows, number) => {
      const panel = data.panels[number];
      const beta = step(panel);
      rows.forEach((row, g) => fill(row, 3, panel.techniques.map((_, t) => {
        const rate = (panel.groups.rates[t * panel.betas.length + beta] ?? [])[g] ?? null;
        return rate === null ? ["-", "", null] : [written(data.share, rate), "", rate];
      })));
    },
  };
  function draw() {
    filter();
    for (const [[kind, number], rows] of tables) fillers[kind](rows, number);
    for (const head of document.querySelectorAll("table[data-key] [aria-sort]")) head.removeAttribute("aria-sort");
    for (const input of document.querySelectorAll(".filter input")) if (input.value) input.dispatchEvent(new Event("input"));
    for (const figure of document.querySelectorAll("figure[data-key]")) {
      const [kind, number, part] = figure.dataset.key.split("-");
      figure.innerHTML = drawers[kind](data.panels[number], part);
    }
  }
  const first = Object.fromEntries(Object.entries(selects).map(([name, one]) => [name, one.value]));
  function read() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const [name, one] of Object.entries(selects)) {
      const value = asked.get(name) ?? first[name];
      if ([...one.options].some((option) => option.value === value)) one.value = value;
    }
    draw();
  }
  form.addEventListener("change", (event) => {
    // Where nothing is of all that is chosen, the other switches go back to all.
    if (data.panels.every((panel) => away(panel.about))) for (const name of Object.keys(data.panels[0].about)) if (selects[name] && selects[name] !== event.target) selects[name].value = "";
    const kept = new URLSearchParams();
    for (const [name, one] of Object.entries(selects)) if (one.value !== first[name]) kept.set(name, one.value);
    history.replaceState(null, "", `#${kept}`);
    draw();
    const one = event.target;
    said.textContent = `${one.parentElement.textContent.trim().split("\n")[0].trim()}: ${one.selectedOptions[0].textContent}`;
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => { if (/=|^#?$/.test(location.hash)) read(); });
  if (/=/.test(location.hash)) read();
  window.redraw = draw;
}
