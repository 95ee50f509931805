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
  const among = (low, x, high) => Math.max(low, Math.min(high, x));
  function multiples(low, high, step) {
    const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
  }
  // Scales, as `Scale` in Python.
  function written(scale, grains, sign = "") {
    const last = Math.floor((2 * Math.abs(grains) + scale.step) / (2 * scale.step));
    const base = 10 ** scale.digits;
    const before = last === 0 ? "" : grains < 0 ? "−" : sign;
    return `${before}${Math.floor(last / base)}.${String(last % base).padStart(scale.digits, "0")}`;
  }
  const withUnit = (scale, grains) => written(scale, grains) + (scale.unit ? ` ${scale.unit}` : "");
  const named = (scale) => (scale.unit ? `${scale.name}, ${scale.unit}` : scale.name);
  const valueOf = (scale, grains) => grains / (data.grain / (scale.unit ? 100 : 1));
  function place(scale, grains) {
    const [low, high] = scale.axis;
    return (100 * (among(low, grains, high) - low)) / (high - low);
  }
  const letters = (scale) => data.words[scale.gap ? 1 : 0];
  const ofBeta = (values, beta) => (Array.isArray(values) ? values[beta] : values);
  const strength = (panel, beta, before = "") => (panel.strength ? `${before}${panel.strength} = ${panel.at[beta]}` : "");
  function whichWords(panel, beta) {
    const [world, labels] = panel.which.split(" · ");
    return (beta === undefined ? [world, labels] : [world === panel.strength ? "" : world, strength(panel, beta), labels]).filter(Boolean).join(" · ");
  }
  const which = (panel, beta) => (panel.which ? `<p class="which">${escaped(whichWords(panel, beta))}</p>\n` : "");
  const over = (panel, numbers, i) => panel.betas.map((_, k) => at(numbers, i * panel.betas.length + k));
  // What others are held against, by name, with its numbers over β: as `known_of` in Python.
  function knownOf(panel, m) {
    const rules = Object.keys(data.rules).map((name, r) => [name, over(panel, panel.known[m], r)]);
    const upper = panel.upper.filter(Boolean).map((t) => [panel.techniques[t], over(panel, panel.mean[m], t)]);
    return new Map([...rules, ...upper].filter(([, values]) => values.some((value) => value !== null)));
  }
  // Forests, as `drawn_forest` and `forest_row` in Python.
  function aside(m, mean, change = null) {
    if (m === data.accuracy) return [];
    const scale = data.scales[data.accuracy];
    return [mean === null ? ["-", ""] : [`${written(scale, mean)} %`, change === null ? "" : written(scale, change, "+")]];
  }
  function forestRow(panel, m, base, t, beta) {
    const scale = data.scales[m];
    const [name, i] = [panel.techniques[t], t * panel.betas.length + beta];
    const mean = at(panel.mean[m], i);
    const against = panel.against[base];
    const side = aside(m, at(panel.mean[data.accuracy], i), against ? at(against.difference[data.accuracy], i) : null);
    if (mean === null) {
      const why = panel.why[i] ?? "no finite value";
      return { name, kind: "open", told: `${name}: ${why}`, texts: [["-", ""], ...side], note: why };
    }
    const [n, same] = [ofBeta(panel.n[m], i), panel.same[i] ?? ""];
    const note = same || (n < panel.repeats ? `${n} of ${panel.repeats}` : "");
    const repeats = `; ${n} of ${panel.repeats} repeats`;
    let told = `${name}: ${withUnit(scale, mean)}${same ? `, ${same}` : ""}`;
    const difference = against ? at(against.difference[m], i) : null;
    if (difference === null) {
      const letter = against && against.base.includes(t) ? "B" : same ? "c" : ".";
      const mid = place(scale, mean);
      return { name, kind: data.kinds[letter], told: told + repeats, texts: [[written(scale, mean), ""], ...side], note, mid, base: letter === "B" ? mid : null };
    }
    const [letter, other] = [against.kind[m][i], against.base[t]];
    const start = at(panel.mean[m], other * panel.betas.length + beta) ?? 0;
    const [low, high] = [at(against.low[m], i), at(against.high[m], i)];
    told += `, ${written(scale, difference, "+")} against ${panel.techniques[other]}`;
    if (low !== null && high !== null) told += ` (${written(scale, low, "+")} to ${written(scale, high, "+")})`;
    told += `: ${letters(scale)[letter]}${repeats}`;
    const end = (limit) => (limit === null ? null : place(scale, start + limit));
    const texts = [[written(scale, mean), written(scale, difference, "+")], ...side];
    return { name, kind: data.kinds[letter], told, texts, note, mid: end(difference), low: end(low), high: end(high), base: place(scale, start) };
  }
  const upright = (kind, x) => (x === null ? "" : `<line class="${kind}" x1="${short(x)}%" x2="${short(x)}%" y2="100%"/>`);
  function drawnRow({ name, kind, told, texts, note = "", mid = null, low = null, high = null, base = null }, ideal) {
    let parts = upright("zero", ideal) + upright("base", base);
    if (low !== null && high !== null) parts += `<line class="ci ${kind}" x1="${short(low)}%" x2="${short(high)}%" y1="50%" y2="50%"/>`;
    if (mid !== null) parts += `<svg x="${short(mid)}%" y="50%" overflow="visible"><path class="mark ${kind}" d="${data.forms[kind]}"><title>${escaped(told)}</title></path></svg>`;
    const cells = texts.map(([words, small]) => `<td class="n">${fine(words, small)}</td>`).join("");
    return `<tr><th scope="row">${fine(name, note)}</th><td class="plot"><svg role="img" aria-label="${escaped(told)}" width="100%" height="24">${parts}</svg></td>${cells}</tr>`;
  }
  function forest(panel, m, base, beta) {
    const scale = data.scales[m];
    const [low, high, step] = scale.axis;
    const rows = [];
    const labels = ofBeta(panel.labels[m], beta);
    if (labels !== null) {
      const told = `${data.words[0].L}: ${written(scale, labels)} ${scale.unit}`;
      rows.push({ name: "labels", kind: "labels", told, texts: [[written(scale, labels), ""], ...(m === data.accuracy ? [] : [["", ""]])], mid: place(scale, labels) });
    }
    Object.entries(data.rules).forEach(([name, words], r) => {
      const [value, right] = [m, data.accuracy].map((own) => at(panel.known[own], r * panel.betas.length + beta));
      if (value === null) return;
      rows.push({ name, kind: "known", told: `${name}: ${withUnit(scale, value)}; ${words}`, texts: [[written(scale, value), ""], ...aside(m, right)], mid: place(scale, value) });
    });
    panel.techniques.forEach((_, t) => rows.push(forestRow(panel, m, base, t, beta)));
    const ideal = scale.ideal === null || scale.ideal < low || scale.ideal > high ? null : place(scale, scale.ideal);
    const others = m === data.accuracy ? ["value"] : ["value", "accuracy"];
    const heads = others.map((head) => `<th scope="col" class="n">${head}</th>`).join("");
    const below = multiples(low, high, step).map((x) => `<span class="tick" style="left:${short(place(scale, x))}%">${written(scale, x).replace(/\.?0+$/, "")}</span>`).join("");
    const title = `${panel.name}: ${scale.name} against ${base}${strength(panel, beta, " at ")}`;
    const long = rows.some(({ name }) => name.split(/[ -]/).some((word) => word.length > 13));
    return which(panel, beta) + `<table class="forest${long ? " long" : ""}"><caption class="unseen">${escaped(title)}</caption><colgroup>${"<col>".repeat(2 + others.length)}</colgroup><thead><tr><th scope="col" colspan="2">${escaped(named(scale))}</th>${heads}</tr></thead>` +
      `<tbody>${rows.map((row) => drawnRow(row, ideal)).join("")}</tbody><tfoot aria-hidden="true"><tr><td></td><td class="plot"><div>${below}</div></td><td colspan="${others.length}"></td></tr></tfoot></table>`;
  }
  // The numbers of a technique at a β: [text, small print, value], as `number_cells` in Python.
  function numberCells(panel, m, base, t, beta) {
    const scale = data.scales[m];
    const i = t * panel.betas.length + beta;
    const n = ofBeta(panel.n[m], i);
    const of = [`${n} of ${panel.repeats}`, "", n];
    const mean = at(panel.mean[m], i);
    if (mean === null) return [["-", "", null], ["", "", null], [panel.why[i] ?? "no finite value", "", null], ["", "", null], of];
    const span = (numbers, sign = "") => {
      const [low, high] = [at(numbers.low[m], i), at(numbers.high[m], i)];
      return low === null || high === null ? "" : `[${written(scale, low, sign)}, ${written(scale, high, sign)}]`;
    };
    const against = panel.against[base];
    const difference = against ? at(against.difference[m], i) : null;
    let letter = against ? against.kind[m][i] : "-";
    let change = ["", "", null];
    if (difference !== null) change = [written(scale, difference, "+"), span(against, "+"), difference];
    else if (against && against.base.includes(t)) letter = "B";
    const own = at(panel.mean[data.accuracy], i);
    const right = own === null ? "" : `${written(data.scales[data.accuracy], own)} %`;
    return [[written(scale, mean), span(panel), mean], change, [letter === "-" ? "" : letters(scale)[letter], panel.same[i] ?? "", null], [right, "", own], of];
  }
  // Pictures, as in `document/charts.py`.
  const picture = (title, size, parts) => `<svg role="graphics-document document" aria-label="${escaped(title)}" viewBox="0 0 360 ${size}" width="360" height="${size}" font-family="system-ui, sans-serif" font-size="11" fill="#222222" xmlns="http://www.w3.org/2000/svg">${parts}</svg>`;
  const path = (kind, d, told, colour, width, dashes = "") => {
    const within = told ? `<title>${escaped(told)}</title>` : "";
    return `<path class="${kind}" d="${d}" stroke-width="${width}" stroke="${colour}"${dashes ? ` stroke-dasharray="${dashes}"` : ""} fill="none"${within ? `>${within}</path>` : "/>"}`;
  };
  const text = (kind, x, y, words, anchor = "start") => `<text class="${kind}" x="${short(x)}" y="${short(y)}" text-anchor="${anchor}">${escaped(words)}</text>`;
  const symbol = (kind, d, [x, y, told], colour, fill) => `<path class="${kind}" d="${d}" transform="translate(${short(x)} ${short(y)})" stroke="${colour}" stroke-width="1.3" fill="${fill}"><title>${escaped(told)}</title></path>`;
  const through = (points) => `M${points.map(([a, b]) => `${short(a)} ${short(b)}`).join("L")}`;
  const shortened = (name) => (name.length <= 34 ? name : `${name.slice(0, 33)}…`);
  function axis(low, high, start, end, step) {
    const at = (value) => start + ((end - start) * (among(low, value, high) - low)) / (high - low);
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const own = step ?? [1, 2, 5, 10].find((times) => times * power >= rough * 0.99) * power;
    return { low, high, at, start, end, ticks: multiples(low, high, own).map((x) => [at(x), general(x)]) };
  }
  const grid = (axis) => axis.ticks.map(([y, words]) => path("grid", `M44 ${short(y)}H348`, "", "#d5d5d5", 1) + text("tick", 39, y + 4, words, "end")).join("");
  function below({ start, end, ticks }, y, about, middle) {
    const side = (x) => (x < 26 ? "start" : x > 334 ? "end" : "middle");
    const marks = ticks.map(([x]) => `M${short(x)} ${short(y)}v4`).join("");
    const words = ticks.map(([x, own]) => text("tick", x, y + 15, own, side(x))).join("");
    return path("axis", `M${short(start)} ${short(y)}H${short(end)}${marks}`, "", "#767676", 1) + words + text("tick", middle, y + 30, about, "middle");
  }
  // Curves over β, as `drawn_curves` and `plot` in Python.
  function curves(panel, m, part) {
    const scale = data.scales[m];
    const [low, high, step] = scale.axis.map((end) => valueOf(scale, end));
    const x = axis(panel.betas[0], panel.betas.at(-1), 44, 348);
    const y = axis(low, high, 200, 12, step);
    const height = (grains) => y.at(valueOf(scale, grains));
    const across = panel.betas.map((beta) => x.at(beta));
    const lines = part.map((t, look) => {
      const [points, limits] = [[], []];
      const ends = ["mean", "low", "high"].map((name) => over(panel, panel[name][m], t));
      across.forEach((a, k) => {
        const [mean, lower, upper] = ends.map((own) => own[k]);
        if (mean === null) return;
        let told = `${panel.techniques[t]}${strength(panel, k, ", ")}: ${written(scale, mean)}`;
        if (lower !== null && upper !== null) {
          limits.push([a, height(lower), height(upper)]);
          told += ` (${written(scale, lower)} to ${written(scale, upper)})`;
        }
        points.push([a, height(mean), told]);
      });
      return { name: panel.techniques[t], look, points, limits };
    });
    let parts = grid(y) + below(x, 200, `${panel.strength || "β"}; up: ${named(scale)}`, 180);
    for (const { name, look, limits } of lines) {
      const way = [...limits, ...limits.map(([a, , c]) => [a, c]).reverse()];
      if (way.length) parts += `<path class="area a${look}" d="${through(way)}z" fill="${data.lines[look][0]}" fill-opacity="0.13"><title>${escaped(name)}: interval</title></path>`;
    }
    let level = 248;
    for (const { name, look, points } of lines) {
      const [colour, dashes, d] = data.lines[look];
      const line = (way) => (way.length ? path(`line l${look}`, through(way), name, colour, "1.8", dashes) : "");
      const dot = (point) => symbol(`line l${look} dot`, d, point, colour, "#ffffff");
      const every = Math.max(1, Math.ceil(points.length / 10));
      const first = Math.floor((every - 1) / 2);
      parts += line(points) + points.filter((_, k) => k >= first && (k - first) % every === 0).map(dot).join("");
      parts += line([12, 29, 46].map((a) => [a, level - 4])) + dot([29, level - 4, name]) + text("name", 54, level, shortened(name));
      level += 16;
    }
    const ends = [];
    for (const [name, values] of knownOf(panel, m)) {
      const there = values.flatMap((value, k) => (value === null || value < scale.axis[0] || value > scale.axis[1] ? [] : [[across[k], height(value)]]));
      if (!there.length) continue;
      parts += path("way known", through(there), name, "#767676", "1.2", "1 3");
      const end = there.at(-1)[1];
      const near = ends.find(([other]) => Math.abs(other - end) < 11);
      if (near) near[1].push(name);
      else ends.push([end, [name]]);
    }
    for (const [end, names] of ends) parts += text("tick", 348, Math.max(end - 3, 20), names.join(", "), "end");
    return which(panel) + picture(`${panel.name}: ${scale.name} over ${panel.strength || "β"}`, short(level - 4), parts);
  }
  // Planes, as `drawn_cloud` and `cloud` in Python.
  function ownAxis(scale, numbers, start, end, held) {
    const known = (values) => values.filter((value) => value !== null).map((value) => valueOf(scale, value));
    const ends = [...known(numbers), ...(scale.ideal === 0 ? [0] : [])];
    let [low, high] = ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1];
    const [first, most] = [low, 2.5 * (high - low)];
    for (const value of known([...held.values()].flat()).sort((a, b) => Math.abs(a - first) - Math.abs(b - first))) {
      if (Math.max(high, value) - Math.min(low, value) <= most) [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
    const room = 0.08 * (high - low) || 0.5;
    return axis(low - room, high + room, start, end);
  }
  const SHADES = ["#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"];
  function cloud(panel, xm, ym, part) {
    const [sx, sy] = [data.scales[xm], data.scales[ym]];
    const [held, ups] = [knownOf(panel, xm), knownOf(panel, ym)];
    const [x, y] = [ownAxis(sx, panel.mean[xm], 44, 348, held), ownAxis(sy, panel.mean[ym], 216, 20, ups)];
    const way = (name, across, up, same = []) => across.flatMap((a, k) => {
      const b = up[k] ?? null;
      if (a === null || b === null) return [];
      const told = `${name}${strength(panel, k, ", ")}: ${sx.name} ${written(sx, a)}, ${sy.name} ${written(sy, b)}${same[k] ? `, ${same[k]}` : ""}`;
      return [[x.at(valueOf(sx, a)), y.at(valueOf(sy, b)), told, a, b]];
    });
    const inside = (axis, value) => axis.low <= value && value <= axis.high;
    const known = [...held].map(([name, values]) => {
      const points = way(name, values, ups.get(name) ?? []).filter(([, , , a, b]) => inside(x, valueOf(sx, a)) && inside(y, valueOf(sy, b)));
      return { name, points: points.filter(([, , , a, b], i) => points.findIndex((other) => other[3] === a && other[4] === b) === i) };
    });
    const tracks = part.map((t) => {
      const same = panel.betas.map((_, k) => panel.same[t * panel.betas.length + k]);
      return { name: panel.techniques[t], points: way(panel.techniques[t], over(panel, panel.mean[xm], t), over(panel, panel.mean[ym], t), same) };
    }).filter(({ points }) => points.length).map((track, look) => ({ ...track, look }));
    let parts = text("tick", 12, 10, named(sy)) + grid(y);
    if (sx.ideal === 0 && inside(x, 0)) parts += path("here", `M${short(x.at(0))} 216V20`, "", "#222222", 1, "3 3");
    parts += below(x, 216, named(sx), 196);
    const shown = [...known.filter(({ points }) => points.length), ...tracks];
    for (const { points, look } of shown) {
      const [kind, colour, d] = look === undefined ? ["known", "#767676", data.forms.known] : [`l${look}`, data.lines[look][0], data.lines[look][2]];
      if (points.length > 1) parts += path(`way ${kind}`, through(points), "", colour, 1, look === undefined ? "1 3" : "");
      points.forEach((point, k) => {
        const shade = points.length < 2 ? SHADES.length - 1 : Math.floor((k * (SHADES.length - 1)) / (points.length - 1));
        parts += look === undefined ? symbol("point known", d, point, colour, "#ffffff") : symbol(`point ${kind} b${shade}`, d, point, colour, SHADES[shade]);
      });
    }
    const names = shown.map(({ name, points }) => [...points.at(-1).slice(0, 2), name]);
    return which(panel) + picture(`${panel.name}: ${sx.name} and ${sy.name}`, "254", parts + apart(names, shown.flatMap(({ points }) => points), 216));
  }
  const ROWS = Array.from({ length: 25 }, (_, i) => i - 12).sort((a, b) => Math.abs(a) - Math.abs(b));
  function apart(names, marks, bottom) {
    const taken = marks.map(([a, b]) => [a - 5, b - 4, a + 5, b + 4]);
    const free = (one) => !taken.some((other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]);
    return [...names].sort((a, b) => a[1] - b[1]).map(([x, y, name]) => {
      const wide = 6.2 * shortened(name).length;
      for (const row of ROWS) for (const left of [false, true]) {
        const [start, level] = [left ? x - 7 - wide : x + 7, y + 11 * row];
        const own = [start, level - 5.5, start + wide, level + 5.5];
        if (start < 2 || own[2] > 358 || own[1] < 12 || own[3] > bottom || !free(own)) continue;
        taken.push(own);
        const near = left ? own[2] : start;
        return (row ? path("axis", `M${short(x)} ${short(y)}L${short(near)} ${short(level)}`, "", "#767676", "0.6") : "") + text("name", near, level + 4, shortened(name), left ? "end" : "start");
      }
      return "";
    }).join("");
  }
  const selects = Object.fromEntries([...form.elements].filter((one) => one.name).map((one) => [one.name, one]));
  const chosen = (name) => (selects[name] ? selects[name].value : data.chosen[name] ?? "");
  const metric = () => data.scales.findIndex((scale) => scale.name === chosen("metric"));
  const far = (panel, k) => Math.abs(panel.betas[k] - Number(chosen("beta")));
  const step = (panel) => panel.betas.reduce((best, _, k) => (far(panel, k) < far(panel, best) ? k : best), 0);
  const away = (about) => Object.entries(about).some(([name, value]) => (name === "slot" ? data.slots[value].every((k) => away(data.panels[k].about)) : chosen(name) && value !== chosen(name)));
  const labelled = (k) => (chosen("labels") === data.chosen.labels ? data.panels : data.others)[k];
  const panelOf = (slot) => labelled(data.slots[slot].find((k) => !away(data.panels[k].about)) ?? data.slots[slot][0]);
  const drawers = {
    forest: (panel) => {
      const [short, long] = panel.told[step(panel)];
      const apt = short && chosen("metric") === data.chosen.metric && chosen("base") === data.chosen.base;
      const own = panel.against[chosen("base")];
      if (own && !own.difference[metric()].length) return `<figcaption class="fine">The page keeps no differences to ${escaped(chosen("base"))} of this metric: fairbench report --versus has them.</figcaption>` + forest(panel, metric(), chosen("base"), step(panel));
      return (apt ? `<figcaption><strong>${escaped(short)}</strong>${long ? ` <span class="fine">${escaped(long)}</span>` : ""}</figcaption>\n` : "") + forest(panel, metric(), chosen("base"), step(panel));
    },
    curves: (panel, part) => (panel.betas.length > 1 ? curves(panel, metric(), panel.parts[part]) : which(panel) + `<figcaption class="fine">One strength only.</figcaption>`),
    planes: (panel, part, x, y) => `<figcaption><strong>${escaped(`${data.scales[x].name} × ${data.scales[y].name}`)}</strong></figcaption>\n` + cloud(panel, Number(x), Number(y), panel.parts[part]),
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
      if (chosen("labels")) rows[0].closest("table").caption.textContent = rows[0].closest("table").caption.textContent.replace(/, on .*/, `, on ${chosen("labels")} labels`);
      let k = 0;
      for (const panel of data.slots.flat().map(labelled)) for (let beta = 0; beta < panel.betas.length; beta++) for (let t = 0; t < panel.techniques.length; t++) {
        const row = rows[k++];
        fill(row, of(row), numberCells(panel, m, chosen("base"), t, beta));
        row.classList.toggle("off", away(panel.about));
      }
    },
    groups: (rows, number) => {
      const panel = panelOf(number);
      const { rates, rows: sizes, labels } = panel.groups;
      const beta = step(panel);
      const own = (of) => of[Math.min(beta, of.length - 1)];
      if (panel.which) rows[0].closest("table").caption.textContent = `Favourable decisions, %: ${whichWords(panel, beta)}`;
      const share = (rate) => (rate === null ? ["-", "", null] : [written(data.share, rate), "", rate]);
      rows.forEach((row, g) => fill(row, 1, [
        own(sizes)[g] === null ? ["-", "", null] : [own(sizes)[g].toLocaleString("en"), "", own(sizes)[g]],
        share(own(labels)[g]),
        ...panel.techniques.map((_, t) => share((rates[t * panel.betas.length + beta] ?? [])[g] ?? null)),
      ]));
    },
  };
  const shown = new Map(); // planes hang on nothing but the panel
  function draw() {
    filter();
    for (const [[kind, number], rows] of tables) fillers[kind](rows, number);
    for (const head of document.querySelectorAll("table[data-key] [aria-sort]")) head.removeAttribute("aria-sort");
    for (const input of document.querySelectorAll(".filter input")) if (input.value) input.dispatchEvent(new Event("input"));
    for (const figure of document.querySelectorAll("figure[data-key]")) {
      const [kind, number, ...parts] = figure.dataset.key.split("-");
      const panel = panelOf(number);
      if (kind === "planes" && shown.get(figure) === panel) continue;
      shown.set(figure, panel);
      figure.innerHTML = drawers[kind](panel, ...parts);
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
    if (data.panels.every((panel) => away(panel.about))) {
      const { name, value } = event.target;
      const { about } = data.panels.find((panel) => panel.about[name] === value);
      for (const other of Object.keys(about)) if (selects[other] && other !== name) selects[other].value = selects[other].options[0].value && about[other];
    }
    const kept = new URLSearchParams();
    for (const [name, one] of Object.entries(selects)) if (one.value !== first[name]) kept.set(name, one.value);
    history.replaceState(null, "", `#${kept}`);
    draw();
    const one = event.target;
    said.textContent = `${one.parentElement.textContent.trim().split("\n")[0].trim()}: ${one.selectedOptions[0].textContent}`;
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => { if (/=|^#?$/.test(location.hash)) read(); });
  if (/=/.test(location.hash) || data.chosen.world) read();
  window.redraw = draw;
}
