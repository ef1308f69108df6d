/* Keys of the whole page, and the list of all keys. */

// Keys, what they do, and what they do on the page of a single run where it differs.
const KEYS = [
  [["m", "M"], "next, previous measure"],
  [["s"], "swap the two runs"],
  [["r"], "make the run the reference"],
  [["p"], "keep the run in colour"],
  [["[", "]"], "previous, next query by difference", "previous, next query by value"],
  [["/"], "find a query"],
  [["1", "2", "3"], "all runs, two runs, one query", "measures, queries, one query"],
  [["t"], "theme"],
  [["?"], "these keys"],
  [["Esc"], "clear the group and the colours that are kept", "clear the group"],
];
const IN_LISTS = [
  [["↑", "↓", "k", "j"], "move and highlight"],
  [["Home", "End"], "first, last"],
  [["Enter"], "look closer at the run"],
];

const OF_TWO = ["s", "r", "p", "Enter"]; // keys without a meaning for a single run
const step = (list, now, by) => list[(now + by + list.length) % list.length];
const measures = () => d3.range(T.data.measures.length);

/* The query `by` places further in the list of queries, which ends at both ends. */
function query(by) {
  const {m, run, ref, q} = T.state;
  const order = T.differences(m, run, ref).filter((each) => T.group()?.has(each.q) ?? true).map((each) => each.q);
  if (!order.length) return;
  const now = order.indexOf(q);
  T.set({q: order[now < 0 ? 0 : Math.max(0, Math.min(order.length - 1, now + by))]});
}

function go(part) {
  T.show(part);
  document.getElementById(part).focus({preventScroll: true});
}

const ACTS = {
  m: () => T.set({m: step(measures(), T.state.m, 1)}),
  M: () => T.set({m: step(measures(), T.state.m, -1)}),
  s: () => T.swap(),
  r: () => T.set({ref: T.state.run}),
  p: () => T.pin(T.state.run),
  "[": () => query(-1),
  "]": () => query(1),
  "/": () => {
    T.show("one");
    T.settle();
    T.get("#find").focus({preventScroll: true});
  },
  1: () => go("all"),
  2: () => go("two"),
  3: () => go("one"),
  t: () => T.theme(),
  "?": () => help(),
  Escape: () => {
    T.onQueries(null);
    T.set({group: "", pins: []});
  },
};

function help() {
  let dialog = T.get("#help");
  if (!dialog) {
    const rows = (list) => list.filter(([keys]) => !(T.alone() && OF_TWO.includes(keys[0]))).map(([keys, does, alone = does]) => T.h("tr", {}, T.h("th", {scope: "row"}, keys.map((key) => [T.h("kbd", {}, key), " "])), T.h("td", {}, T.alone() ? alone : does)));
    const part = (title, list) => T.h("table", {}, T.h("caption", {}, title), T.h("tbody", {}, rows(list)));
    dialog = T.h("dialog", {id: "help", "aria-labelledby": "help-title"},
      T.h("h2", {id: "help-title"}, "Keys"), part("Anywhere", KEYS), part(T.alone() ? "In the list of queries" : "In the table of runs and the list of queries", IN_LISTS),
      T.h("p", {}, T.h("button", {type: "button", class: "tool", on: {click: () => dialog.close()}}, "Close")));
    document.body.append(dialog);
  }
  if (!dialog.open) dialog.showModal();
}
T.get("#keys").addEventListener("click", help);

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (T.get("dialog[open]")) {
    if (event.key === "?") T.get("dialog[open]").close();
    return;
  }
  const typing = event.target.closest?.("input, select, textarea");
  if (typing) {
    if (event.key === "Escape") typing.blur();
    return;
  }
  // Rows of the table of runs have these keys for themselves; see there.
  if (!Object.hasOwn(ACTS, event.key) || (T.alone() && OF_TWO.includes(event.key))) return;
  event.preventDefault();
  ACTS[event.key]();
});
