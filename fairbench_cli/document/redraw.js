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
      const why = panel.why[i] ?? "no value";
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
  const upright = (kind, x) => (x === null ? "" : `<line class="${kind}" x1="${short(x)}%" x2="${short(x)}%" y1="-8" y2="32"/>`);
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
    const rows = panel.techniques.map((_, t) => rowOf(forestRow(panel, m, base, t, beta), ideal)).join("");
    const others = m === data.accuracy ? ["value"] : ["value", "accuracy"];
    const about = scale.unit ? `${scale.name}, ${scale.unit}` : scale.name;
    const heads = others.map((head) => `<th scope="col" class="n">${head}</th>`).join("");
    const below = ticks(scale).map(([x, words]) => `<span class="tick" style="left:${short(x)}%">${words}</span>`).join("");
    const title = `${panel.name}: ${scale.name} against ${base} at β = ${general(panel.betas[beta])}`;
    return `<table class="forest"><caption class="unseen">${escaped(title)}</caption><thead><tr><th scope="col"></th><th scope="col" class="plot">${escaped(about)}</th>${heads}</tr></thead>` +
      `<tbody>${rows}</tbody><tfoot aria-hidden="true"><tr><td></td><td class="plot"><div>${below}</div></td><td colspan="${others.length}"></td></tr></tfoot></table>`;
  }
  const selects = Object.fromEntries([...form.elements].filter((one) => one.name).map((one) => [one.name, one]));
  const chosen = (name) => (selects[name] ? selects[name].value : data.chosen[name] ?? "");
  const drawers = {
    forest: (panel) => {
      const m = data.scales.findIndex((scale) => scale.name === chosen("metric"));
      const beta = Math.max(0, panel.betas.findIndex((one) => general(one) === chosen("beta")));
      return forest(panel, m, chosen("base"), beta);
    },
  };
  function filter() {
    for (const part of document.querySelectorAll(".of")) part.hidden = ["dataset", "compared", "classifier"].some((name) => chosen(name) && part.dataset[name] && part.dataset[name] !== chosen(name));
    for (const part of document.querySelectorAll("[data-beta]")) part.hidden = part.dataset.beta !== chosen("beta");
  }
  function draw() {
    filter();
    for (const figure of document.querySelectorAll("figure[data-key]")) {
      const [kind, number] = figure.dataset.key.split("-");
      if (drawers[kind]) figure.innerHTML = drawers[kind](data.panels[number]);
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
    const kept = new URLSearchParams();
    for (const [name, one] of Object.entries(selects)) if (one.value !== first[name]) kept.set(name, one.value);
    history.replaceState(null, "", `#${kept}`);
    draw();
    const one = event.target;
    said.textContent = `${one.parentElement.textContent.trim().split("\n")[0]}: ${one.selectedOptions[0].textContent}`;
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => { if (/=|^#?$/.test(location.hash)) read(); });
  if (/=/.test(location.hash)) read();
  window.redraw = draw;
}
