"use strict";
document.documentElement.classList.add("js");
for (const button of document.querySelectorAll("th > button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const table = head.closest("table");
    const column = [...head.parentElement.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.children[column].dataset.v ?? row.children[column].textContent.trim();
    const numeric = head.dataset.kind === "number";
    const number = (text) => (text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text));
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, i) => [key(row), i, row]);
    rows.sort(([a, i], [b, j]) => {
      if (a === "" || b === "") return a === b ? i - j : a === "" ? 1 : -1;
      const x = numeric ? number(a) : a.toLowerCase();
      const y = numeric ? number(b) : b.toLowerCase();
      const order = x < y ? -1 : x > y ? 1 : 0;
      return order === 0 ? i - j : down ? -order : order;
    });
    body.append(...rows.map(([, , row]) => row));
    document.getElementById("said").textContent =
      `${table.caption.textContent.trim()}: sorted by ${button.textContent.trim()}, ${down ? "descending" : "ascending"}`;
  });
}
