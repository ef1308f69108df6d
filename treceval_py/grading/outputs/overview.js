"use strict";
(() => {
  const key = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = Number.parseFloat(text.replace("−", "-"));
    return row.cells[column].classList.contains("tc-text") ? text : Number.isNaN(number) ? -Infinity : number;
  };
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a < b ? -1 : a > b ? 1 : 0);

  const sort = (table, heads, column) => {
    const rows = [...table.tBodies[0].rows];
    const now = heads[column].getAttribute("aria-sort");
    // Sort texts from the first, numbers from the highest.
    const ascending = now ? now === "descending" : heads[column].classList.contains("tc-text");
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", ascending ? "ascending" : "descending");
    rows.sort((one, other) => compare(key(one, column), key(other, column)) * (ascending ? 1 : -1));
    table.tBodies[0].append(...rows);
  };

  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sort(table, heads, column));
      head.replaceChildren(button);
    });
  }
})();
