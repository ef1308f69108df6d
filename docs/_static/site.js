// The arrows that open a part of the list of pages have no name in the theme; what reads the page aloud needs one.
document.addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll(".bd-sidebar summary")) {
    const page = arrow.closest("li")?.querySelector("a");
    arrow.setAttribute("aria-label", `Pages under ${page?.textContent ?? ""}`);
  }
});

// The finder of measures: rows stay that have all words, as other programs write them too; Enter goes to the first.
document.addEventListener("DOMContentLoaded", () => {
  const finder = document.getElementById("finder");
  const plain = (text) => text.toLowerCase().replace(/[_-]/g, "");
  const find = (words) => {
    let first;
    for (const part of document.querySelectorAll("section section:has(> .stacked)")) {
      const rows = [...part.querySelectorAll("tbody tr")];
      for (const row of rows) {
        row.hidden = !words.every((word) => plain(row.textContent).includes(word));
        first ??= row.hidden ? undefined : row.querySelector("a");
      }
      part.hidden = rows.every((row) => row.hidden);
    }
    return first;
  };
  // A cutoff belongs to no measure, unless its name ends in a number.
  const found = () => {
    const words = plain(finder.value).split(/\s+/);
    return find(words) ?? find(words.map((word) => word.replace(/(@|at|\.)?\d+$/, "")));
  };
  finder?.addEventListener("input", found);
  finder?.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      found()?.click();
    }
  });
});
