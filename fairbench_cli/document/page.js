"use strict";
document.documentElement.classList.add("js");
const said = document.getElementById("said");
const FEW = 15; // rows that need no filter
const number = (text) => (/^[−-]?inf/.test(text) ? (text[0] === "i" ? Infinity : -Infinity) : Number.parseFloat(text.replace("−", "-")));
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
function addFilter(table) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  label.className = "filter";
  input.type = "search";
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    said.textContent = `${table.caption.textContent.trim()}: ${shown} of ${table.tBodies[0].rows.length} rows`;
  });
  label.append("Rows with ", input);
  table.parentElement.before(label);
}
for (const button of document.querySelectorAll("th > button")) button.addEventListener("click", () => sort(button));
for (const table of document.querySelectorAll("table")) if (table.tBodies[0].rows.length > FEW) addFilter(table);
