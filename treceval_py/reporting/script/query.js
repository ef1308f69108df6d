/* One query: the list of queries, both rankings side by side, what made the difference, and all runs. */

const LISTED = 300; // queries in the list; the search finds the others
const CHANGES = 14; // documents in the table of changes
const MANY = 40; // runs from which only some are drawn below
const SAME = 2e-6; // values have seven digits, and weights six: smaller changes are rounding

const {plural} = T.fmt;
const {signed} = T;
const shortName = (run) => T.fmt.short(T.name(run));

// Documents of a query --------------------------------------------------------------------------------

/* The documents of a query, or null where they are not in the page. `relevant` are those that are relevant, in the order of
   the ranks: [{id, grade, place}]; the id is null where no list of the page has the document. at(number) is a document
   of a list, place −1 if it is not relevant, grade null if it is not judged. */
const documents = new Map();
T.documents = (q) => {
  const given = T.data.docs?.[q];
  if (!given) return null;
  if (!documents.has(q)) {
    const ids = given.d;
    const grades = T.grades(q);
    const listed = grades.length - given.u.length;
    documents.set(q, {
      relevant: grades.map((grade, place) => ({id: place < listed ? ids[place] : null, grade, place})),
      at: (number) => ({
        id: ids[number],
        grade: given.g[number] < 0 ? null : given.g[number],
        place: number < listed ? number : -1,
      }),
      top: (run) => given.t[run] ?? null,
      ranks: (run) => given.r[run] ?? null,
    });
  }
  return documents.get(q);
};

/* What became of each relevant document of a query from one run to the other, or null where ranks are not in the page:
   its ranks (0: not found), and what it adds to both values if the measure is a sum over documents. */
T.changes = (m, run, ref, q) => {
  const found = T.documents(q);
  const [mine, theirs] = [found?.ranks(run), ref === null ? found?.relevant.map(() => 0) : found?.ranks(ref)];
  if (!mine || !theirs) return null;
  const now = T.contributions(m, run, q);
  const before = ref === null ? now?.map(() => ({adds: 0})) ?? null : T.contributions(m, ref, q);
  const additive = now !== null && before !== null;
  const rows = found.relevant.map((document, i) => ({
    ...document, from: theirs[i], to: mine[i],
    ...(additive ? {before: before[i].adds, now: now[i].adds, change: now[i].adds - before[i].adds} : {}),
  }));
  // The changes sum to it: what a document adds is a part of the value.
  return {additive, rows, sum: additive ? T.row(m, run)[q] - T.row(m, ref)[q] : null};
};

/* The run to which a document adds more, or which ranks it higher: 1 the run looked at, −1 the reference, 0 neither. */
function helps(row, additive) {
  if (additive) return Math.abs(row.change) < SAME ? 0 : Math.sign(row.change);
  const [from, to] = [row.from || Infinity, row.to || Infinity];
  return from === to ? 0 : from > to ? 1 : -1;
}
const KINDS = {1: "run", [-1]: "ref", 0: "none"};

const ABSENT = "text not kept";
const snippet = (id) => (id === null ? "" : (T.data.passages?.[id] ?? ""));
const gradeText = (grade) => (grade === null ? "?" : String(grade));
const gradeWords = (grade) => (grade === null ? "unjudged" : `grade ${grade}`);
/* Three shades for all grades above 0: grades up to 3 have one each, higher ones share them. */
function shade(grade, highest) {
  if (grade === null) return "unjudged";
  return grade <= 0 ? "grade0" : `grade${Math.min(3, Math.ceil((3 * grade) / Math.max(3, highest)))}`;
}
const highestGrade = (found) => Math.max(1, ...found.relevant.map((each) => each.grade));
const badge = (grade, highest) => T.h("span", {class: `badge ${shade(grade, highest)}`}, gradeText(grade));

// Heading ---------------------------------------------------------------------------------------------

function ordinal(n) {
  const ending = n % 100 > 10 && n % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th");
  return `${T.fmt.count(n)}${ending}`;
}

function heading(root, {m, run, ref, q}) {
  const values = T.values(m);
  const [x, y] = [T.row(m, ref)[q], values[run][q]];
  const place = (of) => ordinal(1 + d3.sum(values, (row) => row[q] > values[of][q]));
  const found = T.documents(q);
  const relevant = found ? found.relevant.length : T.data.R?.[q];
  const grades = found ? d3.rollups(found.relevant, (all) => all.length, (each) => each.grade).sort((a, b) => b[0] - a[0]) : [];
  const byGrade = grades.length > 1 ? ` (${grades.map(([grade, n]) => `${T.fmt.count(n)} of grade ${grade}`).join(", ")})` : "";
  const {name: label} = T.data.measures[m];
  const said = [
    ...(T.alone() ? [`${label} `, T.h("b", {}, T.fmt.value(y)), "."]
      : [T.inColour(ref), ` ${T.fmt.value(x)} → `, T.inColour(run), ` ${T.fmt.value(y)}, a difference of `, T.h("b", {}, T.fmt.signed(y - x)), ` ${label}.`]),
    relevant == null ? "" : ` ${plural(relevant, "relevant document", "relevant documents")}${byGrade}.`,
    T.data.runs.length > 2 ? ` Of ${T.data.runs.length} runs, ${T.name(ref)} is ${place(ref)} and ${T.name(run)} ${place(run)}.` : "",
  ];
  const title = [T.h("span", {class: "of"}, "Query "), T.data.qids[q], T.textOf(q) && T.h("span", {class: "text"}, ` ${T.textOf(q)}`)];
  T.get(".asked", root).replaceChildren(T.h("h3", {}, ...title.filter(Boolean)), T.h("p", {}, ...said));
}

// List of queries -------------------------------------------------------------------------------------

let sought = "";
let only = null; // queries of a column of the heat map, until something else is sought

/* The queries of the list: of the chosen group or column, with the words that are sought in id or text. */
function listed({m, run, ref, q}) {
  const word = sought.trim().toLowerCase();
  const among = T.differences(m, run, ref).filter((each) => (only ?? T.group())?.has(each.q) ?? true);
  const matching = among.filter((each) => `${T.data.qids[each.q]} ${T.textOf(each.q)}`.toLowerCase().includes(word));
  if (matching.length <= LISTED) return {among, matching, shown: matching};
  const far = new Set(d3.sort(matching, (each) => (T.alone() ? each.d : -Math.abs(each.d))).slice(0, LISTED).map((each) => each.q));
  return {among, matching, shown: matching.filter((each) => far.has(each.q) || each.q === q)};
}

function counted({among, matching, shown}, {ref, group}) {
  const [set, part] = group.split(".");
  return [
    sought.trim() ? `${T.fmt.count(matching.length)} of ${plural(among.length, "query", "queries")}` : plural(among.length, "query", "queries"),
    only ? " of one column" : group && ` (${T.data.groups[set].sets[part][0]})`,
    shown.length < matching.length && (T.alone() ? `, ${LISTED} of them` : `, the ${LISTED} largest differences`),
    T.alone() ? ", worst first" : `, best for ${T.name(ref)} first`,
  ].filter(Boolean).join("");
}

function makeList(root) {
  const search = T.h("input", {id: "find", type: "search", class: "field", placeholder: "Find a query", "aria-label": "Find a query", autocomplete: "off"});
  const list = T.h("ol", {id: "queries", role: "listbox", tabindex: 0, "aria-label": T.alone() ? "Queries in order of value" : "Queries in order of difference"});
  search.addEventListener("input", () => {
    [sought, only] = [search.value, null];
    drawList(root, T.state);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault();
    const first = T.get("[role=option]", list);
    if (first && !T.get("[aria-selected=true]", list)) T.set({q: Number(first.dataset.q)});
    if (first) list.focus();
  });
  list.addEventListener("keydown", (event) => {
    const options = [...list.children];
    const now = options.findIndex((each) => each.getAttribute("aria-selected") === "true");
    const steps = {ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + 10, PageUp: now - 10, Home: 0, End: Infinity};
    const to = steps[{j: "ArrowDown", k: "ArrowUp"}[event.key] ?? event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey || !options.length) return;
    event.preventDefault();
    event.stopPropagation();
    T.set({q: Number(options[Math.max(0, Math.min(options.length - 1, to))].dataset.q)});
  });
  list.addEventListener("click", (event) => {
    const of = event.target.closest("[data-q]");
    if (of) T.set({q: Number(of.dataset.q)});
  });
  return T.h("div", {class: "queries"}, search, T.h("p", {class: "note", role: "status"}), list);
}

/* List these queries alone, or all again. */
T.onQueries = (queries) => {
  [sought, only] = ["", queries && new Set(queries)];
  T.get("#find").value = "";
  drawList(T.get("#one"), T.state);
};

let drawnList = null;
function drawList(root, state) {
  const {m, run, ref, q, group} = state;
  const list = T.get("#queries", root);
  const found = listed(state);
  // Choosing another query of the same list moves the mark only.
  const key = [m, run, ref, group, sought, found.shown.length, only?.size].join("\n");
  if (drawnList !== key || !found.shown.every((each, i) => list.children[i]?.dataset.q === String(each.q))) {
    drawnList = key;
    const most = d3.max(T.differences(m, run, ref), (each) => Math.abs(each.d)) || 1;
    list.replaceChildren(
      ...found.shown.map((each) => {
        const [qid, text] = [T.data.qids[each.q], T.textOf(each.q)];
        return T.h("li", {role: "option", id: `query-${each.q}`, class: "row", "data-q": each.q},
          T.h("b", {title: qid}, qid), share(each.d, most), T.h("span", {class: "right"}, signed(each.d, 3)),
          text && T.h("span", {class: "text", title: text}, text));
      }),
    );
    T.get(".note", list.parentNode).textContent = counted(found, state);
  }
  for (const each of list.children) each.setAttribute("aria-selected", String(Number(each.dataset.q) === q));
  const selected = T.get("[aria-selected=true]", list);
  if (!selected) return list.removeAttribute("aria-activedescendant");
  list.setAttribute("aria-activedescendant", selected.id);
  // The list scrolls, never the page.
  const above = selected.offsetTop - list.offsetTop;
  if (above < list.scrollTop || above + selected.offsetHeight > list.scrollTop + list.clientHeight)
    list.scrollTop = above - list.clientHeight / 2;
}

/* A bar to the left for the reference, to the right for the run looked at; of a single run from the left. */
function share(change, most) {
  const [wide, from] = T.alone() ? [100, 0] : [50, 50];
  const bar = T.h("i", {class: change < 0 ? "b-ref" : "b-run", style: `width:${((wide * Math.abs(change)) / most).toFixed(1)}%;${change < 0 ? "right" : "left"}:${from}%`});
  return T.h("span", {class: "share", "aria-hidden": "true"}, bar);
}

// Both rankings ---------------------------------------------------------------------------------------

const ROW = 22;

/* The documents of the run looked at and of the reference side by side, joined by lines; on a narrow screen one below the
   other, and of a single run its own. */
function rankings(place, {m, run, ref, q}) {
  const found = T.documents(q);
  const changes = T.changes(m, run, ref, q);
  const additive = changes?.additive ?? false;
  const stacked = T.alone() || T.narrow();
  const runs = [ref, run].filter((each) => each !== null);
  const tops = runs.map(found.top);
  const cut = d3.max(tops, (top) => top?.length ?? 0);
  const highest = highestGrade(found);
  const wide = T.width(place, stacked ? 280 : 500, 660);
  const margin = additive ? 58 : 4;
  const beside = Math.min(230, (wide - 2 * margin) * (Object.keys(T.data.passages ?? {}).length ? 0.4 : 0.37));
  const column = stacked ? wide - margin - (T.alone() ? 4 : 58) : beside;
  const tall = 28 + Math.max(1, cut) * ROW;
  const rows = changes?.rows ?? [];
  const largest = d3.max(rows, (row) => Math.max(row.before ?? 0, row.now ?? 0)) || 1;
  const thickness = d3.scaleLinear([0, d3.max(rows, (row) => Math.abs(row.change ?? 0)) || 1], [1.2, 3.8]);
  const width = (row) => (additive && helps(row, true) ? thickness(Math.abs(row.change)) : 1.2).toFixed(2);
  const svg = T.drawing(place, wide, (stacked ? runs.length : 1) * (tall + 24), `The first ${cut} documents of ${runs.map(T.name).join(" and ")}; the table below has the same`);
  const lists = runs.map((of, s) => ({
    of, top: tops[s], kind: of === run ? "run" : "ref", left: s && !stacked ? wide - margin - column : margin, right: s && !stacked,
    y: (rank) => 28 + rank * ROW + (stacked ? s * (tall + 24) : 0),
    ranks: new Map((tops[s] ?? []).map((number, rank) => [number, rank])),
    adds: (row) => (of === run ? row.now : row.before), elsewhere: (row) => (of === run ? row.from : row.to),
  }));

  const [start, end] = [margin + column + 6, wide - margin - column - 6];
  const middle = (start + end) / 2;
  const joined = svg.append("g");
  for (const [number, rank] of stacked ? [] : lists[0].ranks) {
    if (!lists[1].ranks.has(number)) continue;
    const document = found.at(number);
    const row = document.place < 0 ? null : rows[document.place];
    const [from, to] = [lists[0].y(rank) + ROW / 2 - 1, lists[1].y(lists[1].ranks.get(number)) + ROW / 2 - 1];
    joined.append("path").attr("class", `joined ${row ? `to-${KINDS[helps(row, additive)]}` : "aside"}`).attr("data-document", number)
      .attr("d", `M${start},${from}C${middle},${from} ${middle},${to} ${end},${to}`).attr("stroke-width", row ? width(row) : 1);
  }
  // Ids have a column of their own where texts follow them.
  const ids = lists.flatMap(({top}) => (top ?? []).map((number) => found.at(number).id));
  const texts = ids.some(snippet);
  const idWide = Math.min((column - 54) * (texts ? 0.5 : 1), 1 + (d3.max(ids, (id) => widthOf(id, ID)) ?? 0));
  lists.forEach(({of, top, kind, left, right, y, adds: addsOf, elsewhere}, s) => {
    svg.append("text").attr("class", `is-${kind}`).attr("x", left).attr("y", y(0) - 14).text(shortName(of));
    if (additive) svg.append("text").attr("x", right ? wide : 0).attr("y", y(0) - 14).attr("text-anchor", right ? "end" : "start").text("adds");
    if (!top) {
      const absent = svg.append("text").attr("x", left + column / 2).attr("y", y(0) + 16).attr("text-anchor", "middle");
      return absent.text("this list is not in the page");
    }
    top.forEach((number, rank) => {
      const document = found.at(number);
      const row = document.place < 0 ? null : rows[document.place];
      const text = snippet(document.id);
      const g = svg.append("g").attr("class", row ? "document relevant" : "document").attr("data-document", number);
      g.attr("transform", `translate(${left},${y(rank)})`);
      g.append("rect").attr("class", "ground").attr("width", column).attr("height", ROW - 2).attr("rx", 3);
      g.append("text").attr("class", "rank").attr("x", 20).attr("y", 14).attr("text-anchor", "end").text(rank + 1);
      g.append("text").attr("class", "id").attr("x", 27).attr("y", 14).text(fitted(document.id, idWide, ID));
      if (texts) g.append("text").attr("class", text ? "text" : "text absent").attr("x", 35 + idWide).attr("y", 14).text(fitted(text || ABSENT, column - 62 - idWide, TEXT));
      const name = shade(document.grade, highest);
      g.append("rect").attr("class", `badge ${name}`).attr("x", column - 22).attr("y", 2).attr("width", 17).attr("height", 16).attr("rx", 3);
      g.append("text").attr("class", `badge-text ${name}`).attr("x", column - 13.5).attr("y", 14).attr("text-anchor", "middle").text(gradeText(document.grade));
      const adds = additive && row ? addsOf(row) : 0;
      const said = `${gradeWords(document.grade)}, rank ${rank + 1}${adds ? `, adds ${T.fmt.value(adds)}` : ""}`;
      T.hint(g.node(), () => [T.h("b", {}, document.id), T.h("br"), said, text && T.h("span", {}, text)]);
      if (adds) {
        const long = (26 * adds) / largest;
        const bar = right ? left + column + 4 : left - 4 - long;
        svg.append("rect").attr("class", `c-${kind}`).attr("x", bar).attr("y", y(rank) + 6).attr("width", long).attr("height", 9);
        svg.append("text").attr("x", right ? bar + long + 3 : bar - 3).attr("y", y(rank) + 14).attr("text-anchor", right ? "start" : "end")
          .text(T.fmt.value(adds, 3).replace(/^0/, ""));
      }
      if (!row || !lists[1 - s]?.top || (!stacked && lists[1 - s].ranks.has(number))) return;
      // Relevant, and not joined to the other list: an arrow with its rank there.
      const [from, way] = right ? [end, -1] : [start, 1];
      const arrow = svg.append("g").attr("class", `arrow to-${KINDS[helps(row, additive)]}`).attr("data-document", number);
      const level = y(rank) + ROW / 2 - 1;
      const long = stacked ? 12 : 22;
      arrow.append("path").attr("d", `M${from},${level}h${way * long}m${-way * 4},-3.5l${way * 4},3.5l${-way * 4},3.5`).attr("stroke-width", width(row));
      arrow.append("text").attr("x", from + way * (long + 5)).attr("y", level + 4).attr("text-anchor", right ? "end" : "start")
        .text(elsewhere(row) ? T.fmt.count(elsewhere(row)) : "absent");
    });
    if (!additive) return;
    const first = new Set(top);
    const below = d3.sum(rows, (row) => (row.id !== null && first.has(row.place) ? 0 : addsOf(row)));
    svg.append("text").attr("x", left + column / 2).attr("y", y(Math.max(1, cut)) + 14).attr("text-anchor", "middle").text(`below rank ${top.length}: ${T.fmt.value(below)}`);
  });

  const shown = d3.range(cut).map((rank) => tops.map((top) => (top && rank < top.length ? found.at(top[rank]) : null)));
  const grades = new Set(shown.flat().filter(Boolean).map((each) => each.grade));
  const words = [[[null], "unjudged"], [[0], "not relevant"], [d3.sort([...grades].filter((grade) => grade > 0)), "relevant"]];
  const legend = T.get(".legend", place) ?? place.appendChild(T.h("p", {class: "legend"}));
  legend.replaceChildren("Grade", ...words.filter(([of]) => grades.has(of[0])).map(([of, word]) => T.h("span", {}, of.map((grade) => [badge(grade, highest), " "]), word)));
  const table = T.get("details", place) ?? place.appendChild(T.h("details", {class: "not-printed"}));
  const cells = (document) => (document
    ? [T.h("td", {}, document.id, snippet(document.id) && T.h("span", {class: "text"}, snippet(document.id))), T.h("td", {}, badge(document.grade, highest))]
    : [T.h("td"), T.h("td")]);
  const summary = T.alone() ? "The list as a table" : "Both lists as a table";
  const head = ["Rank", ...runs.flatMap((each) => [T.name(each), "Grade"])].map((each) => T.h("th", {scope: "col"}, each));
  table.replaceChildren(
    T.h("summary", {}, summary),
    T.h("div", {class: "scroll", tabindex: 0, role: "group", "aria-label": summary},
      T.h("table", {class: "both"}, T.h("thead", {}, T.h("tr", {}, head)),
        T.h("tbody", {}, shown.map((pair, rank) => T.h("tr", {}, T.h("th", {scope: "row"}, rank + 1), pair.map(cells)))))),
  );
}

/* What is wider than its place can be scrolled by keys, too. */
function scrollable(place, label) {
  const wider = place.scrollWidth > place.clientWidth + 1;
  for (const [name, value] of [["tabindex", 0], ["role", "group"], ["aria-label", label]])
    if (wider) place.setAttribute(name, value);
    else place.removeAttribute(name);
}

const measuring = document.createElement("canvas").getContext("2d");
const [ID, TEXT] = ["600 12px", "12px"]; // the letters of ids and of texts
function widthOf(text, font) {
  measuring.font = `${font} ${T.css("--sans")}`;
  return measuring.measureText(text).width;
}
/* The beginning of a text that is so wide, in pixels. */
function fitted(text, wide, font) {
  if (widthOf(text, font) <= wide) return text;
  const letters = [...text.slice(0, 120)];
  const widths = letters.map((_, n) => measuring.measureText(`${letters.slice(0, n).join("").trimEnd()}…`).width);
  return `${letters.slice(0, Math.max(1, d3.bisectRight(widths, wide) - 1)).join("").trimEnd()}…`;
}

function listing({run, ref, q}) {
  const found = T.documents(q);
  const rows = [ref, run].filter((each) => each !== null).flatMap((each) => (found.top(each) ?? []).map((number, rank) => [T.name(each), rank + 1, found.at(number)]));
  return [["run", "rank", "document", "grade"], ...rows.map(([name, rank, {id, grade}]) => [name, rank, id, grade ?? ""])];
}

/* The same document is highlighted in both rankings. */
function follow(place) {
  place.addEventListener("pointerover", (event) => {
    const number = event.target.closest("[data-document]")?.dataset.document;
    for (const each of T.all("[data-document]", place)) each.classList.toggle("lit", each.dataset.document === number);
  });
  place.addEventListener("pointerleave", () => T.all(".lit", place).forEach((each) => each.classList.remove("lit")));
}

// What made the difference ----------------------------------------------------------------------------

const rankText = (rank) => (rank ? T.fmt.count(rank) : "–");

function changed(place, {m, run, ref, q}) {
  const {additive, rows, sum} = T.changes(m, run, ref, q);
  const highest = highestGrade(T.documents(q));
  const deep = (rank) => Math.log(rank || 1e6);
  const size = (row) => (additive ? Math.abs(row.change) : Math.abs(deep(row.from) - deep(row.to)));
  // Of a single run, the relevant documents as they are ranked; those that it did not retrieve are last.
  const named = rows.filter((row) => row.id !== null && (T.alone() || size(row) >= SAME));
  const first = d3.sort(named, (row) => (T.alone() ? row.to || Infinity : -size(row))).slice(0, CHANGES);
  const rest = rows.filter((row) => !first.includes(row));
  const largest = d3.max(first, size) || 1;
  const head = ["Document", "Grade", "Rank", additive && (T.alone() ? "Adds" : "Change")].filter(Boolean).map((each) => T.h("th", {scope: "col"}, each));
  const body = first.flatMap((row) => {
    const text = snippet(row.id);
    const cells = [
      T.h("th", {scope: "row", title: row.id}, T.fmt.short(row.id, 24)),
      T.h("td", {}, badge(row.grade, highest)),
      T.h("td", {}, T.alone() ? rankText(row.to) : `${rankText(row.from)} → ${rankText(row.to)}`),
      additive && T.h("td", {}, signed(row.change)),
      additive && T.h("td", {class: "beside"}, share(row.change, largest)),
    ];
    const told = text && T.h("tr", {class: "told"}, T.h("td", {colspan: cells.length}, text));
    return [T.h("tr", {class: text ? "tells" : null}, cells), told].filter(Boolean);
  });
  const line = (name, words, value) =>
    T.h("tr", {class: name}, T.h("th", {scope: "row", colspan: 3}, words), additive && T.h("td", {}, signed(value)), additive && T.h("td"));
  if (rest.length) {
    const others = first.length ? plural(rest.length, "other relevant document", "other relevant documents") : plural(rest.length, "relevant document", "relevant documents");
    body.push(line("rest", others, additive ? d3.sum(rest, (row) => row.change) : null));
  }
  if (additive) body.push(line("sum", T.alone() ? "Value of the query" : "Difference of the query", sum));
  place.replaceChildren(T.h("table", {class: "changes"}, T.h("thead", {}, T.h("tr", {}, head, additive && T.h("td"))), T.h("tbody", {}, body)));
}

function changesTable({m, run, ref, q}) {
  const {additive, rows} = T.changes(m, run, ref, q);
  const of = (before, now) => (T.alone() ? [now] : [before, now]);
  const names = [ref, run].filter((each) => each !== null).map(T.name);
  const adds = additive ? [...names.map((name) => `adds in ${name}`), ...(T.alone() ? [] : ["change"])] : [];
  const parts = (row) => (additive ? [...of(row.before, row.now), ...(T.alone() ? [] : [row.change])].map(T.exact) : []);
  return [
    ["document", "grade", ...names.map((name) => `rank in ${name}`), ...adds],
    ...rows.map((row) => [row.id ?? "", row.grade, ...of(row.from || "", row.to || ""), ...parts(row)]),
  ];
}

// All runs --------------------------------------------------------------------------------------------

/* The runs of the figure below, best for the query first: all, or of many the best, both runs and those in colour. */
function compared({m, run, ref, q, pins}) {
  const values = T.values(m);
  const found = T.documents(q);
  const best = T.order(m).filter((each, i) => T.data.runs.length <= MANY || i < 20 || [run, ref, ...pins].includes(each));
  return d3.sort(best.filter((each) => !found || found.ranks(each)), (each) => -values[each][q]);
}

const [NAMES, VALUES] = [132, 46];
const kindOf = (each) => (each === T.state.run ? "run" : each === T.state.ref ? "ref" : "other");

/* A row of a figure of all runs: name, what is drawn, value. */
function track(svg, each, y, wide, high, value) {
  const g = svg.append("g").attr("class", "track").attr("data-run", each).attr("data-look", "");
  g.append("rect").attr("class", "target").attr("y", y).attr("width", wide).attr("height", high);
  for (const [x, text] of [[NAMES - 6, T.fmt.short(T.name(each), 20)], [wide, T.fmt.value(value, 3)]])
    g.append("text").attr("class", `label is-${kindOf(each)}`).attr("data-run", each).attr("x", x).attr("y", y + high / 2 + 4).attr("text-anchor", "end").text(text);
  return g;
}

function strokes(place, state) {
  const found = T.documents(state.q);
  const values = T.values(state.m);
  const highest = highestGrade(found);
  const shown = compared(state);
  const [wide, row, top] = [T.width(place, 300, 384), 15, 20];
  const foot = top + shown.length * row;
  const deepest = Math.max(10, d3.max(shown, (each) => d3.max(found.ranks(each))) || 1);
  const x = d3.scaleLog([1, deepest], [NAMES + 4, wide - VALUES - 4]);
  const svg = T.drawing(place, wide, foot + 22, "Ranks of the relevant documents in every run");
  svg.append("text").attr("x", wide).attr("y", 12).attr("text-anchor", "end").text(T.data.measures[state.m].name);
  svg.append("text").attr("x", NAMES - 6).attr("y", foot + 16).attr("text-anchor", "end").text("rank");
  for (let rank = 1; rank <= deepest; rank *= 10) {
    svg.append("line").attr("class", "grid").attr("x1", x(rank)).attr("x2", x(rank)).attr("y1", top).attr("y2", foot);
    svg.append("text").attr("x", x(rank)).attr("y", foot + 16).attr("text-anchor", "middle").text(T.fmt.count(rank));
  }
  shown.forEach((each, i) => {
    const y = top + i * row;
    const g = track(svg, each, y, wide, row, values[each][state.q]);
    const ranks = found.ranks(each);
    const count = d3.sum(ranks, (rank) => rank > 0);
    T.hint(g.node(), () => `${T.name(each)}: ${T.fmt.count(count)} of ${plural(ranks.length, "relevant document", "relevant documents")} found`);
    found.relevant.forEach(({grade, place: number}) => {
      const rank = ranks[number];
      if (rank) g.append("line").attr("class", `stroke ${shade(grade, highest)}`).attr("x1", x(rank)).attr("x2", x(rank)).attr("y1", y + 2).attr("y2", y + row - 2);
    });
  });
}

/* The values of all runs, where the page has no documents of the query. */
function valuesOnly(place, state) {
  const values = T.values(state.m);
  const shown = compared(state);
  const [wide, row] = [T.width(place, 300, 384), 18];
  const [low, high] = d3.extent([0, ...shown.map((each) => values[each][state.q])]);
  const x = d3.scaleLinear([low, high || 1], [NAMES, wide - VALUES - 4]);
  const svg = T.drawing(place, wide, Math.max(1, shown.length) * row, `${T.data.measures[state.m].name} of every run`);
  shown.forEach((each, i) => {
    const value = values[each][state.q];
    track(svg, each, i * row, wide, row, value).append("rect").attr("class", `c-${kindOf(each)}`).attr("x", Math.min(x(0), x(value))).attr("y", i * row + 4)
      .attr("width", Math.abs(x(value) - x(0))).attr("height", 10);
  });
}

function allValues(state) {
  const relevant = T.documents(state.q)?.relevant ?? [];
  const ranks = (run) => relevant.map(({place}) => T.documents(state.q).ranks(run)[place] || "");
  return [
    ["run", T.data.measures[state.m].name, ...relevant.map(({id}, i) => `rank of ${id ?? `relevant document ${i + 1}`}`)],
    ...compared(state).map((run) => [T.name(run), T.values(state.m)[run][state.q], ...ranks(run)]),
  ];
}

// The part --------------------------------------------------------------------------------------------

/* Why a query has no documents in the page. */
function without() {
  const some = d3.sum(T.data.docs ?? [], (each) => each != null);
  if (some)
    return `The page has no documents of this query. It has the documents of ${T.fmt.count(some)} of ${T.fmt.count(T.data.qids.length)} queries: ${T.alone() ? "" : "where runs differ most, "}the hardest, and some between.`;
  return `The page has values only. Made from judgments and run files, it also has the documents ${T.alone() ? "of the run" : "of both runs"} here.`;
}

function figures(root, state) {
  const {m, run, ref, q} = state;
  const {name: label} = T.data.measures[m]; // a query has AP, and a mean MAP
  const found = T.documents(q);
  const changes = T.changes(m, run, ref, q);
  const [lists, beside] = [T.get(".lists", root), T.get(".beside-lists", root)];
  if (!found && T.alone()) return [];
  if (!found) {
    const note = `${label} of this query in ${T.data.runs.length > MANY ? "the best runs" : "every run"}.`;
    return [[lists, "query-values", "All runs", note, valuesOnly, allValues]];
  }
  const cut = d3.max([ref, run], (each) => found.top(each)?.length ?? 0);
  const sums = changes?.additive ? "Bars: what a document adds. " : `${label} is not a sum over documents here. `;
  const note = T.alone() ? sums : [
    T.narrow() ? "Relevant documents have an arrow to their rank in the other run, " : "Lines join the same document, ",
    `in the colour of the run ${changes?.additive ? "to which it adds more" : "that ranks it higher"}: `, T.inColour(run), " or ", T.inColour(ref), ". ",
    sums, T.narrow() ? "" : "After an arrow: its rank further down.",
  ];
  return [
    [lists, "rankings", `The first ${cut} documents`, note, rankings, listing],
    changes?.rows.length && [beside, "changes", ...aboutChanges(changes, label), changed, changesTable],
    !T.alone() && [beside, "relevant-ranks", "Relevant documents in every run", "Each stroke is a relevant document, on a logarithmic scale of ranks.", strokes, allValues],
  ].filter(Boolean);
}

function aboutChanges({additive}, label) {
  if (T.alone()) return ["Relevant documents", additive ? `What they add to ${label}.` : "In order of rank."];
  return additive ? ["What made the difference", `Relevant documents by the change in what they add to ${label}. The changes add up.`]
    : ["Which documents moved", "Relevant documents by the change of their rank."];
}

let shownBefore = null;

T.view({
  id: "one",
  needs: ["m", "ref", "run", "q", "group", "pins", "size"],
  render(root) {
    const {state} = T;
    const {m, run, ref} = state;
    if (!T.get(".one", root)) {
      const columns = [makeList(root), T.h("div", {class: "lists"}, T.h("p", {class: "note without"})), T.h("div", {class: "beside-lists"})];
      root.append(T.h("div", {class: "asked"}), T.h("div", {class: "one"}, columns));
    }
    if (state.q === null) {
      T.get(".asked", root).replaceChildren(T.h("p", {}, "No query has a value in every run."));
      return;
    }
    heading(root, state);
    drawList(root, state);
    // What else was chosen announces itself.
    const same = shownBefore?.m === m && shownBefore.run === run && shownBefore.ref === ref;
    if (same && shownBefore.q !== state.q) T.announce(T.get(".asked", root).textContent);
    shownBefore = {m, run, ref, q: state.q};
    T.get(".without", root).textContent = T.documents(state.q) ? "" : without();
    const shown = figures(root, state);
    for (const each of T.all("figure", root)) each.hidden = !shown.some(([, id]) => id === each.id);
    for (const [into, id, title, note, draw, table] of shown) {
      const fresh = !T.get(`#${id}`, root);
      const place = T.frame(into, id, title, note);
      draw(place, state);
      scrollable(place, title);
      if (fresh && id === "rankings") follow(place);
      T.figure(place.parentNode, {
        name: id,
        title: () => `${title}: query ${T.data.qids[T.state.q]}, ${T.runsOf()}`,
        csv: () => table(T.state),
      });
    }
  },
});
