// The arrows that open a part of the list of pages have no name in the theme; what reads the page aloud needs one.
document.addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll(".bd-sidebar summary")) {
    const page = arrow.closest("li")?.querySelector("a");
    arrow.setAttribute("aria-label", `Pages under ${page?.textContent ?? ""}`);
  }
});
