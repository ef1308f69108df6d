// The arrows that open a part of the list of pages have no name in the theme; what reads the page aloud needs one.
document.addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll(".bd-sidebar summary")) {
    const page = arrow.closest("li")?.querySelector("a");
    arrow.setAttribute("aria-label", `Pages under ${page?.textContent ?? ""}`);
  }
});

// What is wider than the page can be scrolled by keys: formulas, once they are drawn, and pictures.
document.addEventListener("DOMContentLoaded", () => {
  const mark = () => {
    for (const part of document.querySelectorAll("mjx-container[display], .bd-article p:has(> img)")) {
      if (part.scrollWidth > part.clientWidth) {
        part.tabIndex = 0;
        part.setAttribute("role", "region");
        part.setAttribute("aria-label", part.querySelector("img")?.alt ?? "Formula");
      } else if (part.getAttribute("role") === "region") {
        ["tabindex", "role", "aria-label"].forEach((name) => part.removeAttribute(name));
      }
    }
  };
  new ResizeObserver(mark).observe(document.body);
});

// The finder of measures: rows stay that have all words, as other programs write them too, names before descriptions;
// Enter goes to the first.
document.addEventListener("DOMContentLoaded", () => {
  const finder = document.getElementById("finder");
  if (!finder) {
    return;
  }
  const plain = (text) => text.toLowerCase().replace(/[_-]/g, "");
  const parts = [...document.querySelectorAll("section section:has(> .stacked)")].map((part) => ({
    part,
    rows: [...part.querySelectorAll("tbody tr")].map((row) => ({
      row,
      text: plain(row.textContent),
      names: plain(`${row.cells[0].textContent} ${row.cells[1].textContent}`).replace(/@\w+/g, "").split(/\s+/),
    })),
  }));
  const others = [...document.querySelectorAll("section section:not(:has(> .stacked))")];
  const end = parts.at(-1).part.nextElementSibling;
  const lacking = document.createElement("p");
  lacking.setAttribute("role", "status");
  finder.after(lacking);
  // How well a row fits: 0 by its names, 1 by their beginnings, 2 by its text; 3 not at all.
  const fit = ({ names, text }, words) => {
    const ways = [
      (word) => names.includes(word),
      (word) => names.some((name) => name.startsWith(word)),
      (word) => text.includes(word),
    ];
    const way = ways.findIndex((fits) => words.every(fits));
    return way < 0 ? 3 : way;
  };
  const find = (words) => {
    let best = { fit: 3 };
    for (const each of parts) {
      each.fit = 3;
      for (const row of each.rows) {
        row.fit = fit(row, words);
        row.row.hidden = row.fit === 3;
        each.fit = Math.min(each.fit, row.fit);
        best = row.fit < best.fit ? row : best;
      }
      each.part.hidden = each.fit === 3;
    }
    // Sorting is stable: without words, all is in its order again.
    for (const { part, rows } of parts.toSorted((one, other) => one.fit - other.fit)) {
      end.before(part);
      for (const { row } of rows.toSorted((one, other) => one.fit - other.fit)) {
        row.parentElement.append(row);
      }
    }
    return best.row?.querySelector("a");
  };
  // A cutoff belongs to no measure, unless its name ends in a number.
  const found = () => {
    const words = plain(finder.value).split(/\s+/).filter(Boolean);
    const first = find(words) ?? find(words.map((word) => word.replace(/(@|at|\.)?\d+$/, "")));
    others.forEach((part) => (part.hidden = words.length > 0));
    lacking.textContent = first ? "" : "No measure matches.";
    return first;
  };
  finder.addEventListener("input", found);
  finder.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      found()?.click();
    }
  });
});
