"use strict";
(() => {
  const key = (row, column) => {
    const data = row.cells[column].dataset.value;
    if (data === undefined) return row.cells[column].textContent.trim();
    return data === "" ? -Infinity : Number(data);
  };
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a < b ? -1 : a > b ? 1 : 0);

  const sort = (table, heads, column) => {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const texts = rows.length > 0 && typeof key(rows[0], column) === "string";
    const now = heads[column].getAttribute("aria-sort");
    // Sort texts from the first, numbers from the highest.
    const ascending = now ? now === "descending" : texts;
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", ascending ? "ascending" : "descending");
    rows.sort((one, other) => compare(key(one, column), key(other, column)) * (ascending ? 1 : -1));
    body.append(...rows);
  };

  for (const table of document.querySelectorAll("table.sorts")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sort(table, heads, column));
      head.replaceChildren(button);
    });
  }
  for (const element of document.querySelectorAll(".scripted")) element.hidden = false;
})();
