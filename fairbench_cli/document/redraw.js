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
  const grainsOf = (scale) => data.grain / (scale.unit ? 100 : 1);
  const named = (scale) => (scale.unit ? `${scale.name}, ${scale.unit}` : scale.name);
  const ofBeta = (values, beta) => (Array.isArray(values) ? values[beta] : values);
  const strength = (panel, beta, before = "") => (panel.strength ? `${before}${panel.strength} = ${panel.at[beta]}` : "");
  function whichWords(panel, beta) {
    const [world, labels] = panel.which.split(" · ");
    return (beta === undefined ? [world, labels] : [world === panel.strength ? "" : world, strength(panel, beta), labels]).filter(Boolean).join(" · ");
  }
  const which = (panel, beta) => (panel.which ? `<p class="which">${escaped(whichWords(panel, beta))}</p>\n` : "");
  // What others are held against, by name, with its numbers over β: as `known_of` in Python.
  function knownOf(panel, m) {
    const count = panel.betas.length;
    const over = (numbers, i) => panel.betas.map((_, k) => at(numbers, i * count + k));
    const rules = Object.keys(data.rules).map((name, r) => [name, over(panel.known[m], r)]);
    const upper = panel.upper.filter(Boolean).map((t) => [panel.techniques[t], over(panel.mean[m], t)]);
    return [...rules, ...upper].filter(([, values]) => values.some((value) => value !== null));
  }
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
    const known = Object.entries(data.rules).map(([name, words], r) => {
      const [value, right] = [m, data.accuracy].map((own) => at(panel.known[own], r * panel.betas.length + beta));
      if (value === null) return "";
      const side = m === data.accuracy ? [] : [[right === null ? "-" : `${written(data.scales[data.accuracy], right)} %`, ""]];
      const told = `${name}: ${written(scale, value)}${scale.unit ? ` ${scale.unit}` : ""}; ${words}`;
      return rowOf([name, "known", place(scale, value), null, null, null, told, [[written(scale, value), ""], ...side], ""], ideal);
    });
    rows = known.join("") + rows;
    const labels = ofBeta(panel.labels[m], beta);
    if (labels !== null) {
      const texts = [[written(scale, labels), ""], ...(m === data.accuracy ? [] : [["", ""]])];
      rows = rowOf(["labels", "labels", place(scale, labels), null, null, null, `${data.words[0].L}: ${texts[0][0]} ${scale.unit}`, texts, ""], ideal) + rows;
    }
    const others = m === data.accuracy ? ["value"] : ["value", "accuracy"];
    const heads = others.map((head) => `<th scope="col" class="n">${head}</th>`).join("");
    const below = ticks(scale).map(([x, words]) => `<span class="tick" style="left:${short(x)}%">${words}</span>`).join("");
    const title = `${panel.name}: ${scale.name} against ${base}${strength(panel, beta, " at ")}`;
    const names = [...panel.techniques, ...known.flatMap((row, r) => (row ? [Object.keys(data.rules)[r]] : []))];
    const long = names.some((name) => name.split(/[ -]/).some((word) => word.length > 13));
    return which(panel, beta) + `<table class="forest${long ? " long" : ""}"><caption class="unseen">${escaped(title)}</caption><colgroup>${"<col>".repeat(2 + others.length)}</colgroup><thead><tr><th scope="col" colspan="2">${escaped(named(scale))}</th>${heads}</tr></thead>` +
      `<tbody>${rows}</tbody><tfoot aria-hidden="true"><tr><td></td><td class="plot"><div>${below}</div></td><td colspan="${others.length}"></td></tr></tfoot></table>`;
  }
  const picture = (title, size, parts) => `<svg role="graphics-document document" aria-label="${escaped(title)}" viewBox="0 0 360 ${size}" width="360" height="${size}" font-family="system-ui, sans-serif" font-size="11" fill="#222222" xmlns="http://www.w3.org/2000/svg">${parts}</svg>`;
  function axis(low, high, start, end) {
    const at = (value) => start + ((end - start) * (Math.max(low, Math.min(high, value)) - low)) / (high - low);
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((times) => times * power >= rough * 0.99) * power;
    const ticks = () => {
      const found = [];
      for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) found.push([at(k * step), general(k * step)]);
      return found;
    };
    return { low, high, at, ticks, start, end };
  }
  function below(axis, y) {
    const ticks = axis.ticks();
    const side = (x) => (x < 26 ? "start" : x > 334 ? "end" : "middle");
    const marks = ticks.map(([x]) => `M${short(x)} ${short(y)}v4`).join("");
    return path("axis", `M${short(axis.start)} ${short(y)}H${short(axis.end)}${marks}`, "", "#767676", 1) + ticks.map(([x, words]) => text("tick", x, y + 15, words, side(x))).join("");
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
    const one = grainsOf(scale);
    const [low, high, step] = scale.axis;
    const across = axis(panel.betas[0], panel.betas[count - 1], 44, 348);
    const x = (beta) => across.at(beta);
    const y = (grains) => 200 - (188 * (Math.max(low, Math.min(high, grains)) - low)) / (high - low);
    const over = panel.strength || "β";
    let parts = "";
    for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) {
      parts += path("grid", `M44 ${short(y(k * step))}H348`, "", "#d5d5d5", 1);
      parts += text("tick", 39, y(k * step) + 4, general((k * step) / one), "end");
    }
    parts += below(across, 200) + text("tick", 180, 230, `${over}; up: ${named(scale)}`, "middle");
    const lines = part.map((t) => {
      const points = [];
      const limits = [];
      panel.betas.forEach((beta, k) => {
        const [mean, lower, upper] = ["mean", "low", "high"].map((name) => at(panel[name][m], t * count + k));
        if (mean === null) return;
        let told = `${panel.techniques[t]}${strength(panel, k, ", ")}: ${written(scale, mean)}`;
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
    const ends = [];
    for (const [name, values] of knownOf(panel, m)) {
      const there = values.flatMap((value, k) => (value === null || value < low || value > high ? [] : [[x(panel.betas[k]), y(value)]]));
      if (!there.length) continue;
      parts += path("way known", `M${there.map(([a, b]) => `${short(a)} ${short(b)}`).join("L")}`, name, "#767676", "1.2", "1 3");
      const level = there[there.length - 1][1];
      const near = ends.find(([other]) => Math.abs(other - level) < 11);
      if (near) near[1].push(name);
      else ends.push([level, [name]]);
    }
    for (const [level, names] of ends) parts += text("tick", 348, Math.max(level - 3, 20), names.join(", "), "end");
    const size = short(level - 4);
    return which(panel) + picture(`${panel.name}: ${scale.name} over ${over}`, size, parts);
  }
  // Planes as `drawn_cloud` in Python draws them, and `cloud` below it.
  function ownAxis(scale, numbers, start, end, held) {
    const one = grainsOf(scale);
    const ends = [...numbers.filter((value) => value !== null).map((value) => value / one), ...(scale.ideal === 0 ? [0] : [])];
    let [low, high] = ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1];
    const [first, most] = [low, 2.5 * (high - low)];
    const near = held.flat().filter((value) => value !== null).map((value) => value / one);
    for (const value of near.sort((a, b) => Math.abs(a - first) - Math.abs(b - first))) {
      if (Math.max(high, value) - Math.min(low, value) <= most) [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
    const room = 0.08 * (high - low) || 0.5;
    return axis(low - room, high + room, start, end);
  }
  const SHADES = ["#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"];
  const joined = (points) => `M${points.map(([a, b]) => `${short(a)} ${short(b)}`).join("L")}`;
  const pointAt = (kind, d, [a, b, told], colour, fill) => `<path class="${kind}" d="${d}" transform="translate(${short(a)} ${short(b)})" stroke="${colour}" stroke-width="1.3" fill="${fill}"><title>${escaped(told)}</title></path>`;
  function cloud(panel, xm, ym, part) {
    const [sx, sy] = [data.scales[xm], data.scales[ym]];
    const count = panel.betas.length;
    const held = [xm, ym].map((m) => knownOf(panel, m).map(([, values]) => values));
    const [x, y] = [ownAxis(sx, panel.mean[xm], 44, 348, held[0]), ownAxis(sy, panel.mean[ym], 216, 20, held[1])];
    const placed = (a, b, told) => [x.at(a / (grainsOf(sx))), y.at(b / (grainsOf(sy))), told];
    const both = (a, b) => `${sx.name} ${written(sx, a)}, ${sy.name} ${written(sy, b)}`;
    const tracks = part.map((t) => [panel.techniques[t], panel.betas.flatMap((_, k) => {
      const [a, b] = [xm, ym].map((m) => at(panel.mean[m], t * count + k));
      if (a === null || b === null) return [];
      const [told, same] = [`${panel.techniques[t]}${strength(panel, k, ", ")}: ${both(a, b)}`, panel.same[t * count + k]];
      return [placed(a, b, same ? `${told}, ${same}` : told)];
    })]).filter(([, points]) => points.length);
    const inside = (axis, value) => axis.low <= value && value <= axis.high;
    const ups = Object.fromEntries(knownOf(panel, ym));
    const known = knownOf(panel, xm).map(([name, values]) => {
      const found = new Map();
      values.forEach((a, k) => {
        const b = (ups[name] ?? [])[k] ?? null;
        if (a === null || b === null || !inside(x, a / (grainsOf(sx))) || !inside(y, b / (grainsOf(sy))) || found.has(`${a} ${b}`)) return;
        found.set(`${a} ${b}`, placed(a, b, `${name}${strength(panel, k, ", ")}: ${both(a, b)}`));
      });
      return [name, [...found.values()]];
    }).filter(([, points]) => points.length);
    let parts = text("tick", 12, 10, named(sy));
    for (const [place, words] of y.ticks()) parts += path("grid", `M44 ${short(place)}H348`, "", "#d5d5d5", 1) + text("tick", 39, place + 4, words, "end");
    if (sx.ideal === 0 && x.low <= 0 && 0 <= x.high) parts += path("here", `M${short(x.at(0))} 216V20`, "", "#222222", 1, "3 3");
    parts += below(x, 216) + text("tick", 196, 246, named(sx), "middle");
    const names = [];
    const marks = [...known, ...tracks].flatMap(([, points]) => points);
    for (const [name, points] of known) {
      if (points.length > 1) parts += path("way known", joined(points), "", "#767676", 1, "1 3");
      for (const point of points) parts += pointAt("point known", data.forms.known, point, "#767676", "#ffffff");
      names.push([...points[points.length - 1].slice(0, 2), name]);
    }
    tracks.forEach(([name, points], i) => {
      const [colour, , d] = data.lines[i];
      if (points.length > 1) parts += path(`way l${i}`, joined(points), "", colour, 1);
      points.forEach((point, k) => {
        const shade = points.length < 2 ? SHADES.length - 1 : Math.floor((k * (SHADES.length - 1)) / (points.length - 1));
        parts += pointAt(`point l${i} b${shade}`, d, point, colour, SHADES[shade]);
      });
      names.push([...points[points.length - 1].slice(0, 2), name]);
    });
    return which(panel) + picture(`${panel.name}: ${sx.name} and ${sy.name}`, "254", parts + apart(names, marks, 216));
  }
  const shortened = (name) => (name.length <= 34 ? name : `${name.slice(0, 33)}…`);
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
