"use strict";
document.documentElement.classList.add("js");
const said = document.getElementById("said");
const FEW = 15; // rows that need no filter
const number = (text) =>
  /^[−-]?inf/.test(text)
    ? text[0] === "i"
      ? Infinity
      : -Infinity
    : Number.parseFloat(text.replace("−", "-"));
function sort(button) {
  const head = button.parentElement;
  const table = head.closest("table");
  const column = [...head.parentElement.children].indexOf(head);
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const numeric = head.dataset.kind === "number";
  const key = (row) => {
    const cell = row.children[column];
    const text = cell.dataset.v ?? cell.textContent.trim();
    if (!numeric) return text === "" ? null : text.toLowerCase();
    const value = number(text);
    return Number.isNaN(value) ? null : value;
  };
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row, i) => [key(row), i, row]);
  rows.sort(([a, i], [b, j]) => {
    if (a === null || b === null) return a === b ? i - j : a === null ? 1 : -1;
    const order = a < b ? -1 : a > b ? 1 : 0;
    return order === 0 ? i - j : down ? -order : order;
  });
  const sorted = document.createDocumentFragment();
  for (const [, , row] of rows) sorted.append(row);
  body.append(sorted);
  said.textContent = `${table.caption.textContent.trim()}: sorted by ${button.textContent.trim()}, ${down ? "descending" : "ascending"}`;
}
function addFilter(box) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  label.className = "filter";
  input.type = "search";
  label.append("Rows with ", input);
  box.before(label);
}
function filter(input) {
  const table = input.closest(".filter").nextElementSibling.querySelector("table");
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  said.textContent = `${table.caption.textContent.trim()}: ${shown} of ${table.tBodies[0].rows.length} rows`;
}
// Marks of charts say what they show: to a pointer, to the arrow keys, and to a screen reader.
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);
const told = (mark) => mark.querySelector(":scope > title")?.textContent ?? "";
function show(mark, spoken) {
  document.querySelector(".on")?.classList.remove("on");
  mark.classList.add("on");
  tip.textContent = told(mark);
  tip.hidden = false;
  const box = mark.getBoundingClientRect();
  const left = Math.max(
    4,
    Math.min(innerWidth - tip.offsetWidth - 12, box.left + box.width / 2 - tip.offsetWidth / 2),
  );
  const above = box.top - tip.offsetHeight - 8;
  tip.style.left = `${left + scrollX}px`;
  tip.style.top = `${(above < 4 ? box.bottom + 8 : above) + scrollY}px`;
  if (spoken) said.textContent = tip.textContent;
}
function hide() {
  document.querySelector(".on")?.classList.remove("on");
  tip.hidden = true;
}
const CHART = "figure:not(:has(> .key))";
function nameFigure(figure) {
  const name =
    [figure.querySelector("figcaption"), figure.querySelector("caption")].find(Boolean)?.textContent ??
    figure.querySelector("svg")?.getAttribute("aria-label") ??
    "chart";
  figure.tabIndex = 0;
  figure.setAttribute("aria-label", `${name.trim()}; arrow keys go through its marks`);
}
function goThroughMarks(figure, event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") hide();
  if (!step) return;
  const marks = [
    ...figure.querySelectorAll("svg :not(.area):not(.line):not(.way) > title, svg .dot > title"),
  ].map((title) => title.parentElement);
  if (!marks.length) return;
  event.preventDefault();
  const now = marks.findIndex((mark) => mark.classList.contains("on"));
  show(marks[(now + step + marks.length) % marks.length], true);
}
// What a page needs besides listeners. These are the document's, so that they still hold when the header and the
// main part have been exchanged for another page's, which the event `fairbench:replaced` says.
function setUp() {
  hide();
  for (const box of document.querySelectorAll(":not(.tiles *) > .box:has(> table)")) {
    const hasFilter = box.previousElementSibling?.matches(".filter");
    if (!hasFilter && box.querySelector("table").tBodies[0].rows.length > FEW) addFilter(box);
  }
  document.querySelectorAll(CHART).forEach(nameFigure);
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("th > button");
  if (button) sort(button);
});
document.addEventListener("input", (event) => {
  if (event.target.matches(".filter input")) filter(event.target);
});
document.addEventListener("keydown", (event) => {
  const figure = event.target.closest?.(CHART);
  if (figure) goThroughMarks(figure, event);
});
document.addEventListener("focusout", (event) => {
  if (event.target.matches(CHART)) hide();
});
document.addEventListener("pointerover", (event) => {
  const mark = event.target.closest?.("svg *:has(> title)");
  if (mark?.closest(CHART) && told(mark)) show(mark, false);
});
document.addEventListener("pointerout", (event) => {
  if (event.target.closest?.(CHART)) hide();
});
document.addEventListener("fairbench:replaced", setUp);
setUp();
