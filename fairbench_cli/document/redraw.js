"use strict";
// Draws the figures of a run's page, and the tables that follow its switches, from the numbers in the page: at
// load, after each switch, and when the page's parts have been exchanged. Numbers are whole numbers of `data.fixed_point_one` to 1, null where there is none. Those of
// a metric of a panel are a list over techniques and, within, β.
{
  // Of the page that is shown; `begin` sets them, at load and after its parts were exchanged for another page's.
  let data = null;
  let form = null;
  let selects = {};
  let firstChoices = {};
  let columns = []; // of the table of numbers
  let tables = [];
  let drawnPanels = new Map(); // by figure, of planes: they hang on nothing but the panel

  // Texts and numbers.
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
  function escaped(text) {
    return String(text).replace(/[&<>"']/g, (letter) => ENTITIES[letter]);
  }
  // A text, and what is in small print behind it.
  function withFinePrint(text, finePrint) {
    if (!finePrint) return escaped(text);
    return `${escaped(text)} <span class="fine">${escaped(finePrint)}</span>`;
  }
  // The number of a list that may be empty.
  function numberAt(numbers, i) {
    return numbers.length ? numbers[i] : null;
  }
  // The value of a β, of one value for all or of a list.
  function atBeta(values, beta) {
    return Array.isArray(values) ? values[beta] : values;
  }
  function clamp(low, value, high) {
    return Math.max(low, Math.min(high, value));
  }
  // A place in a picture, to two decimals.
  function short(place) {
    return place.toFixed(2).replace(/\.?0+$/, "");
  }
  // The multiples of a step from low to high.
  function multiples(low, high, step) {
    const first = Math.ceil(low / step - 1e-9);
    const last = Math.floor(high / step + 1e-9);
    const count = Math.max(0, last - first + 1);
    return Array.from({ length: count }, (_, i) => (first + i) * step);
  }

  // Scales: how the numbers of a metric are written, and where they stand.
  function written(scale, grains, plus = "") {
    // In whole steps of the last digit, so that nothing is rounded twice.
    const steps = Math.floor((2 * Math.abs(grains) + scale.last_digit) / (2 * scale.last_digit));
    const base = 10 ** scale.digits;
    const digits = `${Math.floor(steps / base)}.${String(steps % base).padStart(scale.digits, "0")}`;
    if (steps === 0) return digits;
    return (grains < 0 ? "−" : plus) + digits;
  }
  function writtenWithUnit(scale, grains) {
    return written(scale, grains) + (scale.unit ? ` ${scale.unit}` : "");
  }
  function writtenInterval(scale, low, high, plus = "") {
    if (low === null || high === null) return "";
    return `[${written(scale, low, plus)}, ${written(scale, high, plus)}]`;
  }
  function nameWithUnit(scale) {
    return scale.unit ? `${scale.name}, ${scale.unit}` : scale.name;
  }
  // A number in its unit.
  function inUnit(scale, grains) {
    return grains / (data.fixed_point_one / (scale.unit ? 100 : 1));
  }
  // The place of a number on the axis of its metric, in per cent.
  function percentOfAxis(scale, grains) {
    const [low, high] = scale.axis;
    return (100 * (clamp(low, grains, high) - low)) / (high - low);
  }
  // What the letters of verdicts say of a metric; of gaps between groups they say another thing.
  function verdictWords(scale) {
    return scale.is_gap ? data.gap_kind_texts : data.kind_texts;
  }

  // Panels: a data set, groups, a classifier and a world.
  function strengthText(panel, beta, before = "") {
    if (!panel.strength_name) return "";
    return `${before}${panel.strength_name} = ${panel.beta_texts[beta]}`;
  }
  // The world, its strength where one is chosen, and the labels; empty in a run without worlds.
  function worldText(panel, beta) {
    const [world, labels] = panel.world_label.split(" · ");
    if (beta === undefined) return [world, labels].filter(Boolean).join(" · ");
    const name = world === panel.strength_name ? "" : world;
    return [name, strengthText(panel, beta), labels].filter(Boolean).join(" · ");
  }
  function worldLine(panel, beta) {
    return panel.world_label ? `<p class="which">${escaped(worldText(panel, beta))}</p>\n` : "";
  }
  // The numbers of a technique or a rule over β.
  function overBetas(panel, numbers, i) {
    return panel.betas.map((_, k) => numberAt(numbers, i * panel.betas.length + k));
  }
  // What techniques are held against, by name, with its numbers over β: rules, then models that know the truth.
  function boundsOf(panel, m) {
    const bounds = new Map();
    Object.keys(data.rule_texts).forEach((name, r) =>
      bounds.set(name, overBetas(panel, panel.reference_values[m], r)),
    );
    for (const t of panel.truth_indices.filter(Boolean))
      bounds.set(panel.technique_names[t], overBetas(panel, panel.mean[m], t));
    for (const [name, values] of bounds) {
      if (values.every((value) => value === null)) bounds.delete(name);
    }
    return bounds;
  }

  // Forests: a row for each technique, with its interval, over one axis.
  // The cell of accuracy and of its change, next to another metric.
  function accuracyCells(m, mean, change = null) {
    if (m === data.accuracy_index) return [];
    if (mean === null) return [["-", ""]];
    const scale = data.scales[data.accuracy_index];
    return [[`${written(scale, mean)} %`, change === null ? "" : written(scale, change, "+")]];
  }
  function labelsRow(panel, m, beta) {
    const scale = data.scales[m];
    const value = atBeta(panel.label_values[m], beta);
    const tooltip = `${data.kind_texts.L}: ${written(scale, value)} ${scale.unit}`;
    const cells = [[written(scale, value), ""]];
    if (m !== data.accuracy_index) cells.push(["", ""]);
    return { name: "labels", form: "labels", tooltip, cells, middle: percentOfAxis(scale, value) };
  }
  function ruleRow(panel, m, name, r, beta) {
    const scale = data.scales[m];
    const i = r * panel.betas.length + beta;
    const value = numberAt(panel.reference_values[m], i);
    const tooltip = `${name}: ${writtenWithUnit(scale, value)}; ${data.rule_texts[name]}`;
    const cells = [
      [written(scale, value), ""],
      ...accuracyCells(m, numberAt(panel.reference_values[data.accuracy_index], i)),
    ];
    return { name, form: "known", tooltip, cells, middle: percentOfAxis(scale, value) };
  }
  function techniqueRow(panel, m, base, t, beta) {
    const scale = data.scales[m];
    const name = panel.technique_names[t];
    const i = t * panel.betas.length + beta;
    const mean = numberAt(panel.mean[m], i);
    const against = panel.comparisons[base];
    const accuracyChange = against ? numberAt(against.difference[data.accuracy_index], i) : null;
    const accuracy = accuracyCells(m, numberAt(panel.mean[data.accuracy_index], i), accuracyChange);
    if (mean === null) {
      const reason = panel.missing_reasons[i] ?? "no finite value";
      return {
        name,
        form: "open",
        tooltip: `${name}: ${reason}`,
        cells: [["-", ""], ...accuracy],
        note: reason,
      };
    }
    const n = atBeta(panel.n_values[m], i);
    const constant = panel.constant_decisions[i] ?? "";
    const note = constant || (n < panel.n_repeats ? `${n} of ${panel.n_repeats}` : "");
    const repeats = `; ${n} of ${panel.n_repeats} repeats`;
    let tooltip = `${name}: ${writtenWithUnit(scale, mean)}${constant ? `, ${constant}` : ""}`;
    const difference = against ? numberAt(against.difference[m], i) : null;
    if (difference === null) {
      // It is what others are compared with, or there is no difference to it.
      const isBase = Boolean(against && against.baseline_indices.includes(t));
      const letter = isBase ? "B" : constant ? "c" : ".";
      const middle = percentOfAxis(scale, mean);
      const cells = [[written(scale, mean), ""], ...accuracy];
      return {
        name,
        form: data.mark_forms[letter],
        tooltip: tooltip + repeats,
        cells,
        note,
        middle,
        base: isBase ? middle : null,
      };
    }
    // The mark is as far from the one it is compared with as they differ.
    const letter = against.letters[m][i];
    const other = against.baseline_indices[t];
    const start = numberAt(panel.mean[m], other * panel.betas.length + beta) ?? 0;
    const low = numberAt(against.low[m], i);
    const high = numberAt(against.high[m], i);
    tooltip += `, ${written(scale, difference, "+")} against ${panel.technique_names[other]}`;
    if (low !== null && high !== null)
      tooltip += ` (${written(scale, low, "+")} to ${written(scale, high, "+")})`;
    tooltip += `: ${verdictWords(scale)[letter]}${repeats}`;
    const from = (end) => (end === null ? null : percentOfAxis(scale, start + end));
    return {
      name,
      form: data.mark_forms[letter],
      tooltip,
      cells: [[written(scale, mean), written(scale, difference, "+")], ...accuracy],
      note,
      middle: from(difference),
      low: from(low),
      high: from(high),
      base: percentOfAxis(scale, start),
    };
  }
  function upright(kind, x) {
    return x === null ? "" : `<line class="${kind}" x1="${short(x)}%" x2="${short(x)}%" y1="-125%" y2="100%"/>`;
  }
  function drawRow(
    { name, form, tooltip, cells, note = "", middle = null, low = null, high = null, base = null },
    ideal,
  ) {
    let marks = upright("zero", ideal) + upright("base", base);
    if (low !== null && high !== null) {
      // The ends stick out of a mark that is wider than its interval.
      const line = (x1, x2, y1, y2) =>
        `<line class="ci ${form}" x1="${short(x1)}%" x2="${short(x2)}%" y1="${y1}%" y2="${y2}%"/>`;
      marks += line(low, high, 50, 50) + line(low, low, 5, 95) + line(high, high, 5, 95);
    }
    if (middle !== null) {
      const title = `<title>${escaped(tooltip)}</title>`;
      const mark = `<path class="mark ${form}" d="${data.form_paths[form]}">${title}</path>`;
      marks += `<svg x="${short(middle)}%" y="50%" overflow="visible">${mark}</svg>`;
    }
    const svg = `<svg role="img" aria-label="${escaped(tooltip)}" width="100%" height="24">${marks}</svg>`;
    const numbers = cells.map(
      ([text, finePrint]) => `<td class="n" rowspan="2">${withFinePrint(text, finePrint)}</td>`,
    );
    const look = form === "known" ? ' class="aside"' : "";
    const head = `<th scope="row"><span>${withFinePrint(name, note)}</span></th>`;
    return `<tr${look}>${head}${numbers.join("")}</tr><tr><td class="plot">${svg}</td></tr>`;
  }
  // All techniques of a panel on a metric at a β, against one of them.
  function drawForest(panel, m, base, beta) {
    const scale = data.scales[m];
    const rows = [];
    if (atBeta(panel.label_values[m], beta) !== null) rows.push(labelsRow(panel, m, beta));
    panel.technique_names.forEach((_, t) => rows.push(techniqueRow(panel, m, base, t, beta)));
    // What is known without training is no technique: it stands below them, in grey.
    Object.keys(data.rule_texts).forEach((name, r) => {
      const value = numberAt(panel.reference_values[m], r * panel.betas.length + beta);
      if (value !== null) rows.push(ruleRow(panel, m, name, r, beta));
    });
    const [low, high, step] = scale.axis;
    const hasIdeal = scale.ideal !== null && low <= scale.ideal && scale.ideal <= high;
    const ideal = hasIdeal ? percentOfAxis(scale, scale.ideal) : null;
    const title = `${panel.title}: ${scale.name} against ${base}${strengthText(panel, beta, " at ")}`;
    // The columns of numbers, and the axis below the marks.
    const heads = m === data.accuracy_index ? ["value"] : ["value", "accuracy"];
    const headCells = heads.map((head) => `<th scope="col" class="n">${head}</th>`).join("");
    const ticks = multiples(low, high, step).map((value) => {
      const text = written(scale, value).replace(/\.?0+$/, "");
      return `<text class="tick" x="${short(percentOfAxis(scale, value))}%" y="50%" text-anchor="middle">${text}</text>`;
    });
    const isFew = panel.technique_names.length < 4;
    return [
      worldLine(panel, beta),
      `<table class="forest${isFew ? " few" : ""}"><caption class="unseen">${escaped(title)}</caption>`,
      `<colgroup>${"<col>".repeat(1 + heads.length)}</colgroup>`,
      `<thead><tr><th scope="col">${escaped(nameWithUnit(scale))}</th>${headCells}</tr></thead>`,
      `<tbody>${rows.map((row) => drawRow(row, ideal)).join("")}</tbody>`,
      `<tfoot aria-hidden="true"><tr><td class="plot"><svg>${ticks.join("")}</svg></td>`,
      `<td colspan="${heads.length}"></td></tr></tfoot></table>`,
    ].join("");
  }

  // Pictures: their parts look like those of `document/charts.py`.
  const INK = "#222222";
  const SOFT = "#767676";
  const PAPER = "#ffffff";
  const WIDTH = 360;
  const LEFT = 44;
  const RIGHT = 348;
  const MOST_NAME = 34; // characters
  const ENDING = 13; // of a name that is shortened: variants of a technique differ there
  const MOST_MARKS = 10; // on a line
  const NAME_HEIGHT = 11;
  function picture(title, height, parts) {
    const size = `viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`;
    const ink = `font-family="system-ui, sans-serif" font-size="11" fill="${INK}"`;
    const about = `role="graphics-document document" aria-label="${escaped(title)}"`;
    return `<svg ${about} ${size} ${ink} xmlns="http://www.w3.org/2000/svg">${parts}</svg>`;
  }
  function stroke(kind, d, tooltip, colour, width, dashes = "") {
    const dashed = dashes ? ` stroke-dasharray="${dashes}"` : "";
    const start = `<path class="${kind}" d="${d}" stroke-width="${width}" stroke="${colour}"${dashed} fill="none"`;
    return tooltip ? `${start}><title>${escaped(tooltip)}</title></path>` : `${start}/>`;
  }
  function textAt(kind, x, y, text, anchor = "start") {
    return `<text class="${kind}" x="${short(x)}" y="${short(y)}" text-anchor="${anchor}">${escaped(text)}</text>`;
  }
  function symbol(kind, d, { x, y, tooltip }, colour, fill) {
    const place = `transform="translate(${short(x)} ${short(y)})"`;
    const look = `stroke="${colour}" stroke-width="1.3" fill="${fill}"`;
    return `<path class="${kind}" d="${d}" ${place} ${look}><title>${escaped(tooltip)}</title></path>`;
  }
  function pathThrough(points) {
    return `M${points.map(({ x, y }) => `${short(x)} ${short(y)}`).join("L")}`;
  }
  function shortened(name) {
    if (name.length <= MOST_NAME) return name;
    return `${name.slice(0, MOST_NAME - ENDING - 1)}…${name.slice(-ENDING)}`;
  }
  // An axis from a low to a high value, between two places of the picture; without a step, of about five ticks.
  function makeAxis(low, high, start, end, step) {
    const at = (value) => start + ((end - start) * (clamp(low, value, high) - low)) / (high - low);
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const round = [1, 2, 5, 10].find((times) => times * power >= rough * 0.99) * power;
    const values = multiples(low, high, step ?? round);
    const ticks = values.map((value) => ({ place: at(value), text: String(Number(value.toPrecision(6))) }));
    return { low, high, at, start, end, ticks };
  }
  function isInside(axis, value) {
    return axis.low <= value && value <= axis.high;
  }
  // The vertical axis: a line and a text at each tick.
  function drawGrid(axis) {
    const lines = axis.ticks.map(({ place, text }) => {
      const line = stroke("grid", `M${LEFT} ${short(place)}H${RIGHT}`, "", "#d5d5d5", 1);
      return line + textAt("tick", LEFT - 5, place + 4, text, "end");
    });
    return lines.join("");
  }
  // The horizontal axis at a height, with texts that stay in the picture, and what it shows.
  function drawAxis({ start, end, ticks }, y, caption, middle) {
    const anchor = (x) => (x < 26 ? "start" : x > 334 ? "end" : "middle");
    const marks = ticks.map(({ place }) => `M${short(place)} ${short(y)}v4`).join("");
    const texts = ticks.map(({ place, text }) => textAt("tick", place, y + 15, text, anchor(place))).join("");
    const line = stroke("axis", `M${short(start)} ${short(y)}H${short(end)}${marks}`, "", SOFT, 1);
    return line + texts + textAt("tick", middle, y + 30, caption, "middle");
  }

  // Curves: a metric over β, a line for each technique with its interval over the repeats.
  function curveOf(panel, m, t, look, x, y) {
    const scale = data.scales[m];
    const height = (grains) => y.at(inUnit(scale, grains));
    const means = overBetas(panel, panel.mean[m], t);
    const lows = overBetas(panel, panel.low[m], t);
    const highs = overBetas(panel, panel.high[m], t);
    const points = [];
    const limits = [];
    panel.betas.forEach((beta, k) => {
      if (means[k] === null) return;
      let tooltip = `${panel.technique_names[t]}${strengthText(panel, k, ", ")}: ${written(scale, means[k])}`;
      if (lows[k] !== null && highs[k] !== null) {
        limits.push({ x: x.at(beta), low: height(lows[k]), high: height(highs[k]) });
        tooltip += ` (${written(scale, lows[k])} to ${written(scale, highs[k])})`;
      }
      points.push({ x: x.at(beta), y: height(means[k]), tooltip });
    });
    return { name: panel.technique_names[t], look, points, limits };
  }
  function drawBand({ name, look, limits }) {
    if (!limits.length) return "";
    const lower = limits.map((limit) => ({ x: limit.x, y: limit.low }));
    const upper = limits.map((limit) => ({ x: limit.x, y: limit.high }));
    const d = `${pathThrough([...lower, ...upper.reverse()])}z`;
    const fill = `fill="${data.line_styles[look][0]}" fill-opacity="0.13"`;
    return `<path class="area a${look}" d="${d}" ${fill}><title>${escaped(name)}: interval</title></path>`;
  }
  // A curve, and at a level below the axis its name with a sample of the line.
  function drawCurve({ name, look, points }, level) {
    const [colour, dashes, d] = data.line_styles[look];
    const line = (way) =>
      way.length ? stroke(`line l${look}`, pathThrough(way), name, colour, "1.8", dashes) : "";
    const dot = (point) => symbol(`line l${look} dot`, d, point, colour, PAPER);
    const stride = Math.max(1, Math.ceil(points.length / MOST_MARKS));
    const first = Math.floor((stride - 1) / 2);
    const marked = points.filter((_, k) => k >= first && (k - first) % stride === 0);
    const sample = [12, 29, 46].map((x) => ({ x, y: level - 4, tooltip: name }));
    const caption = textAt("name", 54, level, shortened(name));
    return line(points) + marked.map(dot).join("") + line(sample) + dot(sample[1]) + caption;
  }
  // Thin lines of what techniques are held against, named at their ends; those with near ends together.
  function drawBounds(panel, m, x, y) {
    const scale = data.scales[m];
    const [low, high] = scale.axis;
    const ends = [];
    let parts = "";
    for (const [name, values] of boundsOf(panel, m)) {
      const points = [];
      values.forEach((value, k) => {
        if (value === null || value < low || value > high) return;
        points.push({ x: x.at(panel.betas[k]), y: y.at(inUnit(scale, value)) });
      });
      if (!points.length) continue;
      parts += stroke("way known", pathThrough(points), name, SOFT, "1.2", "1 3");
      const level = points.at(-1).y;
      const near = ends.find((end) => Math.abs(end.level - level) < NAME_HEIGHT);
      if (near) near.names.push(name);
      else ends.push({ level, names: [name] });
    }
    const captions = ends.map(({ level, names }) =>
      textAt("tick", RIGHT, Math.max(level - 3, 20), names.join(", "), "end"),
    );
    return parts + captions.join("");
  }
  function drawCurves(panel, m, techniques) {
    const scale = data.scales[m];
    const strength = panel.strength_name || "β";
    const [low, high, step] = scale.axis.map((end) => inUnit(scale, end));
    const x = makeAxis(panel.betas[0], panel.betas.at(-1), LEFT, RIGHT);
    const y = makeAxis(low, high, 200, 12, step);
    const curves = techniques.map((t, look) => curveOf(panel, m, t, look, x, y));
    let parts = drawGrid(y) + drawAxis(x, 200, `${strength}; up: ${nameWithUnit(scale)}`, 180);
    parts += curves.map(drawBand).join("");
    let level = 248;
    for (const curve of curves) {
      parts += drawCurve(curve, level);
      level += 16;
    }
    parts += drawBounds(panel, m, x, y);
    const title = `${panel.title}: ${scale.name} over ${strength}`;
    return worldLine(panel) + picture(title, short(level - 4), parts);
  }

  // Planes: one metric against another, the way of each technique over β from light to dark marks.
  const MOST_WIDER = 2.5; // times as long as an axis of the techniques alone
  const SHADES = ["#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"];
  // An axis for some numbers of a metric and its ideal where that is 0. The bounds are on it as far as that makes
  // it no more than `MOST_WIDER` as long.
  function planeAxis(scale, numbers, start, end, bounds) {
    const valuesOf = (grains) =>
      grains.filter((number) => number !== null).map((number) => inUnit(scale, number));
    const values = valuesOf(numbers);
    if (scale.ideal === 0) values.push(0);
    let low = values.length ? Math.min(...values) : 0;
    let high = values.length ? Math.max(...values) : 1;
    const first = low;
    const most = MOST_WIDER * (high - low);
    const nearestFirst = valuesOf([...bounds.values()].flat()).sort(
      (a, b) => Math.abs(a - first) - Math.abs(b - first),
    );
    for (const value of nearestFirst) {
      if (Math.max(high, value) - Math.min(low, value) > most) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    const room = 0.08 * (high - low) || 0.5;
    return makeAxis(low - room, high + room, start, end);
  }
  // The marks of a way over β whose numbers on two metrics are known.
  function planePoints(panel, name, across, up, { xScale, yScale, x, y }) {
    const points = [];
    across.forEach((a, k) => {
      const b = up[k] ?? null;
      if (a === null || b === null) return;
      const numbers = `${xScale.name} ${written(xScale, a)}, ${yScale.name} ${written(yScale, b)}`;
      const tooltip = `${name}${strengthText(panel, k, ", ")}: ${numbers}`;
      const xValue = inUnit(xScale, a);
      const yValue = inUnit(yScale, b);
      points.push({ k, xValue, yValue, x: x.at(xValue), y: y.at(yValue), tooltip });
    });
    return points;
  }
  function drawBoundWay({ points }) {
    const line = points.length > 1 ? stroke("way known", pathThrough(points), "", SOFT, 1, "1 3") : "";
    return (
      line + points.map((point) => symbol("point known", data.form_paths.known, point, SOFT, PAPER)).join("")
    );
  }
  function drawTrack({ points }, look) {
    const [colour, , d] = data.line_styles[look];
    const line = points.length > 1 ? stroke(`way l${look}`, pathThrough(points), "", colour, 1) : "";
    const last = SHADES.length - 1;
    const marks = points.map((point, k) => {
      const shade = points.length < 2 ? last : Math.floor((k * last) / (points.length - 1));
      return symbol(`point l${look} b${shade}`, d, point, colour, SHADES[shade]);
    });
    return line + marks.join("");
  }
  function drawPlane(panel, xMetric, yMetric, techniques) {
    const xScale = data.scales[xMetric];
    const yScale = data.scales[yMetric];
    const xBounds = boundsOf(panel, xMetric);
    const yBounds = boundsOf(panel, yMetric);
    const x = planeAxis(xScale, panel.mean[xMetric], LEFT, RIGHT, xBounds);
    const y = planeAxis(yScale, panel.mean[yMetric], 216, 20, yBounds);
    const plane = { xScale, yScale, x, y };
    // Bounds: where they are on both axes, each place once.
    const bounds = [];
    for (const [name, values] of xBounds) {
      const places = new Map();
      for (const point of planePoints(panel, name, values, yBounds.get(name) ?? [], plane)) {
        const place = `${point.xValue} ${point.yValue}`;
        if (isInside(x, point.xValue) && isInside(y, point.yValue) && !places.has(place))
          places.set(place, point);
      }
      if (places.size) bounds.push({ name, points: [...places.values()] });
    }
    // Techniques, and of each mark whether the same is decided for everybody.
    const tracks = [];
    for (const t of techniques) {
      const name = panel.technique_names[t];
      const across = overBetas(panel, panel.mean[xMetric], t);
      const points = planePoints(panel, name, across, overBetas(panel, panel.mean[yMetric], t), plane);
      for (const point of points) {
        const constant = panel.constant_decisions[t * panel.betas.length + point.k];
        if (constant) point.tooltip += `, ${constant}`;
      }
      if (points.length) tracks.push({ name, points });
    }
    let parts = textAt("tick", 12, 10, nameWithUnit(yScale)) + drawGrid(y);
    if (xScale.ideal === 0 && isInside(x, 0))
      parts += stroke("here", `M${short(x.at(0))} 216V20`, "", INK, 1, "3 3");
    parts += drawAxis(x, 216, nameWithUnit(xScale), 196);
    parts += bounds.map(drawBoundWay).join("") + tracks.map(drawTrack).join("");
    parts += drawNames([...bounds, ...tracks], 216);
    return worldLine(panel) + picture(`${panel.title}: ${xScale.name} and ${yScale.name}`, "254", parts);
  }
  // Names next to the ends of their ways, where no mark and no other name is; else farther off, with a line. Names
  // without such a place are left out.
  const LINES_AWAY = Array.from({ length: 25 }, (_, i) => i - 12).sort((a, b) => Math.abs(a) - Math.abs(b));
  function drawNames(ways, bottom) {
    const marks = ways.flatMap(({ points }) => points);
    const taken = marks.map(({ x, y }) => ({ left: x - 5, top: y - 4, right: x + 5, bottom: y + 4 }));
    const overlaps = (box, other) =>
      box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
    const isFree = (box) =>
      box.left >= 2 &&
      box.right <= WIDTH - 2 &&
      box.top >= 12 &&
      box.bottom <= bottom &&
      !taken.some((other) => overlaps(box, other));
    // The first free place of a name: on the lines nearest to its mark, right of it, then left.
    function placeOf({ x, y, name }) {
      const width = 6.2 * shortened(name).length;
      for (const lines of LINES_AWAY) {
        const level = y + NAME_HEIGHT * lines;
        for (const isLeft of [false, true]) {
          const left = isLeft ? x - 7 - width : x + 7;
          const box = { left, top: level - 5.5, right: left + width, bottom: level + 5.5 };
          if (isFree(box)) return { box, level, lines, isLeft };
        }
      }
      return null;
    }
    const ends = ways.map(({ name, points }) => ({ x: points.at(-1).x, y: points.at(-1).y, name }));
    let parts = "";
    for (const end of ends.sort((a, b) => a.y - b.y)) {
      const place = placeOf(end);
      if (place === null) continue;
      taken.push(place.box);
      const near = place.isLeft ? place.box.right : place.box.left;
      const line = `M${short(end.x)} ${short(end.y)}L${short(near)} ${short(place.level)}`;
      if (place.lines) parts += stroke("axis", line, "", SOFT, "0.6");
      parts += textAt("name", near, place.level + 4, shortened(end.name), place.isLeft ? "end" : "start");
    }
    return parts;
  }

  // What the switches choose.
  function chosen(name) {
    return selects[name] ? selects[name].value : (data.first_choices[name] ?? "");
  }
  function chosenMetric() {
    return data.scales.findIndex((scale) => scale.name === chosen("metric"));
  }
  // The place of the β of a panel that is nearest to the one chosen, the first of two.
  function chosenBeta(panel) {
    const distances = panel.betas.map((beta) => Math.abs(beta - Number(chosen("beta"))));
    return distances.indexOf(Math.min(...distances));
  }
  // Whether the switches hide what is about some values of theirs.
  function isHidden(about) {
    return Object.entries(about).some(([name, value]) => {
      if (name === "slot") return data.slots[value].every((k) => isHidden(data.panels[k].switch_values));
      return chosen(name) && value !== chosen(name);
    });
  }
  // A panel on the labels that are chosen.
  function panelAt(k) {
    const panels = chosen("labels") === data.first_choices.labels ? data.panels : data.panels_on_other_labels;
    return panels[k];
  }
  // The panel of a slot, which holds that of each world, in the world that is chosen.
  function panelOf(slot) {
    const places = data.slots[slot];
    return panelAt(places.find((k) => !isHidden(data.panels[k].switch_values)) ?? places[0]);
  }

  // Figures, by the first word of their key.
  const drawers = {
    forest: (panel) => {
      const m = chosenMetric();
      const base = chosen("base");
      const beta = chosenBeta(panel);
      const forest = drawForest(panel, m, base, beta);
      const against = panel.comparisons[base];
      if (against && !against.difference[m].length) {
        const text = `The page keeps no differences to ${escaped(base)} of this metric: fairbench report --versus has them.`;
        return `<figcaption class="fine">${text}</figcaption>${forest}`;
      }
      // What is said of a panel is said of the metric and the baseline that are chosen at first.
      const [short, long] = panel.captions[beta];
      if (!short || chosen("metric") !== data.first_choices.metric || base !== data.first_choices.base)
        return forest;
      const finePrint = long ? ` <span class="fine">${escaped(long)}</span>` : "";
      return `<figcaption><strong>${escaped(short)}</strong>${finePrint}</figcaption>\n${forest}`;
    },
    curves: (panel, part) => {
      if (panel.betas.length > 1) return drawCurves(panel, chosenMetric(), panel.technique_groups[part]);
      return `${worldLine(panel)}<figcaption class="fine">One strength only.</figcaption>`;
    },
    planes: (panel, part, x, y) => {
      const title = escaped(`${data.scales[x].name} × ${data.scales[y].name}`);
      const plane = drawPlane(panel, Number(x), Number(y), panel.technique_groups[part]);
      return `<figcaption><strong>${title}</strong></figcaption>\n${plane}`;
    },
  };

  // Tables, by the first word of their key. A cell is { text, finePrint, value }, whose value is sorted by.
  function numberCell(text, value, finePrint = "") {
    return { text, finePrint, value };
  }
  function wordCell(text, finePrint = "") {
    return { text, finePrint, value: null };
  }
  function fillCell(cell, { text, finePrint, value }) {
    cell.innerHTML = withFinePrint(text, finePrint);
    if (value === null) delete cell.dataset.v;
    else cell.dataset.v = value;
  }
  // The table of the metric that is chosen: a row for each technique and β. What its columns are made from is
  // the panel, the places of the metric, the technique, the β and of the last two together (t, k, i), the mean,
  // what the technique is compared with, and the difference to it.
  function valueCell({ panel, scale, m, i, mean }) {
    if (mean === null) return wordCell("-");
    const interval = writtenInterval(scale, numberAt(panel.low[m], i), numberAt(panel.high[m], i));
    return numberCell(written(scale, mean), mean, interval);
  }
  function differenceCell({ scale, against, m, i, mean, difference }) {
    if (mean === null || difference === null) return wordCell("");
    const interval = writtenInterval(scale, numberAt(against.low[m], i), numberAt(against.high[m], i), "+");
    return numberCell(written(scale, difference, "+"), difference, interval);
  }
  function verdictCell({ panel, scale, against, m, t, i, mean, difference }) {
    if (mean === null) return wordCell(panel.missing_reasons[i] ?? "no finite value");
    let letter = against ? against.letters[m][i] : "-";
    if (difference === null && against && against.baseline_indices.includes(t)) letter = "B";
    return wordCell(letter === "-" ? "" : verdictWords(scale)[letter], panel.constant_decisions[i] ?? "");
  }
  function accuracyCell({ panel, i, mean }) {
    const accuracy = numberAt(panel.mean[data.accuracy_index], i);
    if (mean === null || accuracy === null) return wordCell("");
    return numberCell(`${written(data.scales[data.accuracy_index], accuracy)} %`, accuracy);
  }
  function repeatsCell({ panel, m, i }) {
    const n = atBeta(panel.n_values[m], i);
    return numberCell(`${n} of ${panel.n_repeats}`, n);
  }
  function columnsOf({ panel: panelHeads, strength }) {
    return [
      ...panelHeads.map((head, j) => ({
        head,
        isNumber: false,
        cell: ({ panel }) => wordCell(panel.row_heads[j]),
      })),
      {
        head: strength,
        isNumber: true,
        cell: ({ panel, k }) => numberCell(panel.beta_texts[k], panel.betas[k]),
      },
      { head: "technique", isNumber: false, cell: ({ panel, t }) => wordCell(panel.technique_names[t]) },
      { head: "value", isNumber: true, cell: valueCell },
      { head: "difference", isNumber: true, cell: differenceCell },
      { head: "verdict", isNumber: false, cell: verdictCell },
      { head: "accuracy", isNumber: true, cell: accuracyCell },
      { head: "repeats", isNumber: true, cell: repeatsCell },
    ];
  }
  function makeHeads(table) {
    const row = table.createTHead().insertRow();
    for (const { head, isNumber } of columns) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.innerHTML = `<button type="button">${escaped(head)}</button>`;
      if (isNumber) {
        cell.className = "n";
        cell.dataset.kind = "number";
      }
      row.append(cell);
    }
    table.createTBody();
  }
  function makeRow(panel, m, t, k) {
    const i = t * panel.betas.length + k;
    const against = panel.comparisons[chosen("base")];
    const mean = numberAt(panel.mean[m], i);
    const difference = against ? numberAt(against.difference[m], i) : null;
    const numbers = { panel, scale: data.scales[m], against, m, t, k, i, mean, difference };
    const row = document.createElement("tr");
    row.classList.toggle("off", isHidden(panel.switch_values));
    columns.forEach(({ isNumber, cell }, j) => {
      const element = document.createElement(j === 0 ? "th" : "td");
      if (j === 0) element.scope = "row";
      if (isNumber) element.className = "n";
      fillCell(element, cell(numbers));
      row.append(element);
    });
    return row;
  }
  function share(rate) {
    return rate === null ? wordCell("-") : numberCell(written(data.share_scale, rate), rate);
  }
  const fillers = {
    numbers: (table) => {
      if (chosen("labels")) {
        table.caption.textContent = table.caption.textContent.replace(
          /, on .*/,
          `, on ${chosen("labels")} labels`,
        );
      }
      const m = chosenMetric();
      const rows = [];
      for (const panel of data.slots.flat().map(panelAt)) {
        panel.betas.forEach((_, k) => {
          panel.technique_names.forEach((_, t) => rows.push(makeRow(panel, m, t, k)));
        });
      }
      table.tBodies[0].replaceChildren(...rows);
    },
    // The page has its rows, in the order of the groups, whatever they are sorted by now.
    groups: (table, rows, slot) => {
      const panel = panelOf(slot);
      const beta = chosenBeta(panel);
      const { selection_rates: rates, n_rows: sizesOfBetas, label_rates: labelsOfBetas } = panel.groups;
      const sizes = sizesOfBetas[Math.min(beta, sizesOfBetas.length - 1)];
      const labels = labelsOfBetas[Math.min(beta, labelsOfBetas.length - 1)];
      if (panel.world_label) table.caption.textContent = `Favourable decisions, %: ${worldText(panel, beta)}`;
      rows.forEach((row, g) => {
        const size = sizes[g] === null ? wordCell("-") : numberCell(sizes[g].toLocaleString("en"), sizes[g]);
        const shares = panel.technique_names.map((_, t) =>
          share((rates[t * panel.betas.length + beta] ?? [])[g] ?? null),
        );
        [size, share(labels[g]), ...shares].forEach((cell, j) => fillCell(row.children[1 + j], cell));
      });
    },
  };

  function draw() {
    for (const section of document.querySelectorAll(".of"))
      section.classList.toggle("off", isHidden(section.dataset));
    for (const { table, kind, slot, rows } of tables) fillers[kind](table, rows, slot);
    for (const head of document.querySelectorAll("table[data-key] [aria-sort]"))
      head.removeAttribute("aria-sort");
    for (const input of document.querySelectorAll(".filter input")) {
      if (input.value) input.dispatchEvent(new Event("input", { bubbles: true }));
    }
    for (const figure of document.querySelectorAll("figure[data-key]")) {
      const [kind, slot, ...rest] = figure.dataset.key.split("-");
      const panel = panelOf(slot);
      if (kind === "planes" && drawnPanels.get(figure) === panel) continue;
      drawnPanels.set(figure, panel);
      figure.innerHTML = drawers[kind](panel, ...rest);
    }
  }
  // Choose what the address says, else what is chosen at first.
  function readAddress() {
    const address = new URLSearchParams(location.hash.slice(1));
    for (const [name, select] of Object.entries(selects)) {
      const value = address.get(name) ?? firstChoices[name];
      if ([...select.options].some((option) => option.value === value)) select.value = value;
    }
    draw();
  }
  function writeAddress() {
    const address = new URLSearchParams();
    for (const [name, select] of Object.entries(selects)) {
      if (select.value !== firstChoices[name]) address.set(name, select.value);
    }
    history.replaceState(null, "", `#${address}`);
  }
  document.addEventListener("change", (event) => {
    const { name, value } = event.target;
    if (event.target.form !== form || !selects[name]) return;
    // Where nothing is of all that is chosen, the other switches go back to all.
    if (data.panels.every((panel) => isHidden(panel.switch_values))) {
      const { switch_values } = data.panels.find((panel) => panel.switch_values[name] === value);
      for (const other of Object.keys(switch_values)) {
        const select = selects[other];
        // One that cannot show all of its values shows the panel's.
        if (select && other !== name) select.value = select.options[0].value && switch_values[other];
      }
    }
    writeAddress();
    draw();
    const title = event.target.parentElement.textContent.trim().split("\n")[0].trim();
    said.textContent = `${title}: ${event.target.selectedOptions[0].textContent}`;
  });
  document.addEventListener("submit", (event) => {
    if (event.target === form) event.preventDefault();
  });
  addEventListener("hashchange", () => {
    // A link to a part of the page is no choice.
    if (data && /=|^#?$/.test(location.hash)) readAddress();
  });
  // Take up the page that is shown now; that of an audit has nothing to draw.
  function begin() {
    const block = document.getElementById("data");
    data = block && JSON.parse(block.textContent);
    form = document.querySelector("header .switches");
    selects = {};
    firstChoices = {};
    tables = [];
    drawnPanels = new Map();
    if (!data) return;
    for (const select of form.elements) {
      if (!select.name) continue;
      selects[select.name] = select;
      firstChoices[select.name] = select.value;
    }
    columns = columnsOf(data.table_heads);
    for (const table of document.querySelectorAll("table[data-key]")) {
      const [kind, slot] = table.dataset.key.split("-");
      if (kind === "numbers") makeHeads(table);
      tables.push({ table, kind, slot, rows: [...table.tBodies[0].rows] });
    }
    readAddress();
  }
  document.addEventListener("fairbench:replaced", begin);
  begin();
  window.redraw = draw;
}
