/* Two runs: the verdict in words, the numbers, and the difference by query and by group of queries; of a single run, its
   values by query and by group. */

const CROWD = 1000; // queries from which points become hexagons and bars an outline
const DRAWN = 200; // points with the largest differences, which are drawn over the hexagons

// Figures ---------------------------------------------------------------------------------------------

/* A figure of a part, made at first and found again later: its title, a note, and the place to draw in, which is returned. */
T.frame = (into, id, title, note) => {
  let figure = T.get(`#${id}`, into);
  if (!figure) {
    const caption = T.h("figcaption", {}, T.h("h3"), T.h("p", {class: "about"}));
    into.append((figure = T.h("figure", {id}, caption, T.h("div", {class: "drawn"}))));
  }
  T.get("h3", figure).textContent = title;
  T.get("p.about", figure).replaceChildren(...[note].flat());
  return T.get(".drawn", figure);
};
/* A new drawing in the place of the one before, as a selection of D3. */
T.drawing = (place, wide, high, label, role = "img") => {
  T.get("svg", place)?.remove();
  const svg = T.s("svg", {viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role, "aria-label": label});
  place.prepend(svg);
  return d3.select(svg);
};
T.width = (place, least, most) => Math.max(least, Math.min(most, Math.floor(place.clientWidth || most)));
/* For a selection: what is shown beside the pointer over each of its elements. */
T.hinted = (selection, say) => selection.each(function (datum) {
  T.hint(this, () => say(datum));
});
/* A difference with its sign; of a single run, a value. */
T.signed = (x, digits = 4) => (T.alone() ? T.fmt.value : T.fmt.signed)(x, digits);
/* A number for a table of values: enough digits for any use, and none where there is no number. */
T.exact = (x) => (Number.isFinite(x) ? Number(x.toPrecision(10)) : "");

// Differences -----------------------------------------------------------------------------------------

/* The queries of two runs in the order of their difference, those best for the reference first: [{q, x, y, d}], with the
   values x of the reference, y of the run and their difference. */
let kept = {key: null, found: []};
T.differences = (m, run, ref) => {
  const key = `${m} ${run} ${ref}`;
  if (kept.key !== key) {
    const [mine, theirs] = [T.row(m, run), T.row(m, ref)];
    const found = T.queries(m).map((q) => ({q, x: theirs[q], y: mine[q], d: mine[q] - theirs[q]}));
    kept = {key, found: found.sort((one, other) => one.d - other.d || one.q - other.q)};
  }
  return kept.found;
};

/* The mean difference in each group of queries, with t intervals corrected after Bonferroni for all groups shown. */
T.inGroups = (m, run, ref) => {
  const groups = T.data.groups ?? [], by = new Map(T.differences(m, run, ref).map((each) => [each.q, each.d]));
  return groups.map((group) => ({
    name: group.name,
    sets: group.sets.map(([label, queries]) => {
      const values = queries.filter((q) => by.has(q)).map((q) => by.get(q)), n = values.length;
      const difference = n ? d3.mean(values) : NaN;
      const half = n > 1 ? (T.data.measures[m].student[n] * d3.deviation(values)) / Math.sqrt(n) : NaN;
      return {label, n, difference, ...T.limits(difference, half, m)};
    }),
  }));
};

// In words --------------------------------------------------------------------------------------------

const {plural} = T.fmt;
const shortName = (run) => T.fmt.short(T.name(run));
/* Names of what is shown, for titles of saved pictures. */
const runsOf = () => [T.state.run, T.state.ref].filter((each) => each !== null).map(T.name).join(" and ");
T.runsOf = runsOf;
/* The name of a run in its colour. */
T.inColour = (run) => T.h("b", {class: run === T.state.run ? "is-run" : "is-ref", "data-run": run}, T.name(run));

/* The verdict on two runs as a sentence: texts, and names as elements. */
function verdict({m, run, ref, margin}) {
  const pair = T.pair(m, run, ref);
  const {label} = T.data.measures[m];
  const [mine, theirs] = [T.inColour(run), T.inColour(ref)];
  const said = {
    better: [mine, " is significantly better than ", theirs, ` in ${label}`],
    worse: [mine, " is significantly worse than ", theirs, ` in ${label}`],
    same: [mine, " and ", theirs, ` are equivalent in ${label} within ±${margin}`],
    open: ["No significant difference between ", mine, " and ", theirs, ` in ${label}`],
  };
  const tested = Number.isFinite(pair.low);
  const size = T.fmt.value(Math.abs(pair.difference));
  return [
    ...(tested ? said[T.verdict(m, run, ref)] : [mine, " and ", theirs, ` are not tested in ${label}`]),
    `: ${plural(pair.wins, "query goes", "queries go")} to `, T.name(run), `, ${T.fmt.count(pair.losses)} to `, T.name(ref),
    pair.ties ? `, ${plural(pair.ties, "is", "are")} even` : "", "; on average ", T.name(run),
    Number(size) ? ` is ${size} ${pair.difference > 0 ? "higher" : "lower"}.` : " is equal.",
  ];
}

function numbers({m, run, ref}) {
  const measure = T.data.measures[m];
  const pair = T.pair(m, run, ref);
  const small = (text) => T.h("small", {}, text);
  const interval = [T.fmt.signed(pair.low), small(" to "), T.fmt.signed(pair.high)];
  const rows = [
    [measure.label, [T.fmt.value(measure.means[run]), small(" against "), T.fmt.value(measure.means[ref])]],
    ["Difference", T.fmt.signed(pair.difference)],
    [`Simultaneous ${T.confidence()} interval`, Number.isFinite(pair.low) ? interval : "–"],
    ["p, corrected for all pairs", T.fmt.p(pair.p)],
    ["Effect size d", T.fmt.signed(pair.d, 2)],
    ["Queries won · even · lost", [pair.wins, pair.ties, pair.losses].map(T.fmt.count).join(" · ")],
    ["Queries needed to detect it", T.fmt.needed(pair.needed)],
  ];
  return rows.map(([term, value]) => T.h("div", {}, T.h("dt", {}, term), T.h("dd", {}, value)));
}

// Each query is a point -------------------------------------------------------------------------------

const faded = (q) => T.group() !== null && !T.group().has(q);
const side = (d) => (d > 0 ? "c-run" : d < 0 ? "c-ref" : "c-none");
const shade = ({q, d}) => `${side(d)}${faded(q) ? " faded" : ""}`;
const textOf = (q) => T.data.texts?.[T.data.qids[q]] ?? "";
T.textOf = textOf;
const beginning = (text, length) => ([...text].length > length ? `${[...text].slice(0, length - 1).join("")}…` : text);
T.hintOf = ({q, x, y, d}) => [
  T.h("b", {}, T.data.qids[q]), textOf(q) && ` ${beginning(textOf(q), 120)}`, T.h("br"),
  T.alone() ? T.fmt.value(y) : `${T.name(T.state.run)} ${T.fmt.value(y)}, ${T.name(T.state.ref)} ${T.fmt.value(x)}: ${T.fmt.signed(d)}`,
];
/* Ticks of an axis of values of queries, with their labels: whole numbers where all values are counts. */
const counts = (m) => T.values(m).every((row) => row.every((x) => Number.isNaN(x) || Number.isInteger(x))) && d3.max(T.values(m), (row) => d3.max(row)) > 1;
function ticksOf(scale, count, m, format = "f") {
  const whole = counts(m);
  const label = whole ? d3.format(format.replace("f", "d")) : scale.tickFormat(count, format);
  return scale.ticks(count).filter((x) => !whole || Number.isInteger(x)).map((x) => [x, x === 0 ? "0" : label(x)]);
}
const sign = () => (T.alone() ? "f" : "+f"); // a difference has a sign

/* Both axes of a scatter plot: from 0 to 1, or wider where values are. */
function reach(m) {
  const [low, high] = d3.extent(T.values(m).flatMap((row) => d3.extent(row)));
  return low >= 0 && high <= 1 ? [0, 1] : d3.scaleLinear([Math.min(0, low ?? 0), high ?? 1], [0, 1]).nice().domain();
}

/* Points in hexagons of a radius, whose centres are at every column of even rows and half a column later in odd ones. */
function hexagons(points, radius) {
  const [wide, high] = [radius * Math.sqrt(3), radius * 1.5];
  const bins = new Map();
  for (const point of points) {
    const row = Math.round(point.py / high);
    const centres = [row - 1, row, row + 1].map((each) => {
      const shift = (each & 1) / 2;
      return [(Math.round(point.px / wide - shift) + shift) * wide, each * high];
    });
    const centre = d3.least(centres, ([x, y]) => Math.hypot(x - point.px, y - point.py));
    const key = String(centre);
    if (!bins.has(key)) bins.set(key, {centre, points: []});
    bins.get(key).points.push(point);
  }
  return [...bins.values()];
}
function hexagon(radius) {
  const corners = d3.range(6).map((k) => [Math.sin((k * Math.PI) / 3), Math.cos((k * Math.PI) / 3)]);
  return `M${corners.map((corner) => corner.map((x) => (radius * x).toFixed(2))).join("L")}Z`;
}

function scatter(place, {m, run, ref, q}) {
  const found = T.differences(m, run, ref);
  const many = found.length > CROWD;
  const wide = T.width(place, 240, 400);
  const [left, top] = [34, 8];
  const size = wide - left - 8;
  const bottom = top + size;
  const unit = d3.scaleLinear(reach(m), [0, size]);
  const x = (value) => left + unit(value);
  const y = (value) => bottom - unit(value);
  const svg = T.drawing(place, wide, bottom + 44, `Values of each query, ${T.name(run)} against ${T.name(ref)}`);
  for (const [value, text] of ticksOf(unit, 5, m)) {
    svg.append("line").attr("class", "grid").attr("x1", x(value)).attr("x2", x(value)).attr("y1", top).attr("y2", bottom);
    svg.append("line").attr("class", "grid").attr("x1", left).attr("x2", left + size).attr("y1", y(value)).attr("y2", y(value));
    svg.append("text").attr("x", x(value)).attr("y", bottom + 17).attr("text-anchor", "middle").text(text);
    svg.append("text").attr("x", left - 7).attr("y", y(value) + 4).attr("text-anchor", "end").text(text);
  }
  const [low, high] = unit.domain();
  svg.append("line").attr("class", "zero").attr("x1", x(low)).attr("x2", x(high)).attr("y1", y(low)).attr("y2", y(high));
  svg.append("text").attr("class", "is-run").attr("x", left + 6).attr("y", top + 14).text(`↑ ${shortName(run)}`);
  svg.append("text").attr("class", "is-ref").attr("x", left + size).attr("y", bottom + 37).attr("text-anchor", "end").text(`${shortName(ref)} →`);
  const points = found.map((each) => ({...each, px: x(each.x), py: y(each.y)}));
  if (many) {
    const radius = 7;
    const bins = hexagons(points, radius);
    const most = d3.max(bins, (bin) => bin.points.length);
    const drawn = svg.append("g").selectAll("path").data(bins).join("path").attr("class", "hexagon").attr("d", hexagon(radius - 0.4))
      .attr("transform", ({centre}) => `translate(${centre.map((each) => each.toFixed(1))})`)
      .attr("opacity", (bin) => (0.12 + 0.88 * Math.sqrt(bin.points.length / most)).toFixed(3));
    T.hinted(drawn, (bin) => plural(bin.points.length, "query", "queries"));
  }
  const drawn = many ? d3.sort(points, (point) => -Math.abs(point.d)).slice(0, DRAWN) : points;
  const marks = svg.append("g").selectAll("circle").data(drawn).join("circle").attr("class", (point) => `mark point ${shade(point)}`)
    .attr("cx", (point) => point.px.toFixed(1)).attr("cy", (point) => point.py.toFixed(1)).attr("r", many ? 2.5 : 4)
    .attr("data-q", (point) => point.q).attr("data-look", "");
  T.hinted(marks, T.hintOf);
  const chosen = points.find((point) => point.q === q);
  if (chosen) svg.append("circle").attr("class", "ring").attr("cx", chosen.px).attr("cy", chosen.py).attr("r", 8);
}

// Each query is a bar ---------------------------------------------------------------------------------

function bars(place, {m, run, ref, q}) {
  const found = T.differences(m, run, ref);
  const pair = T.pair(m, run, ref);
  const n = found.length;
  const many = n > CROWD;
  const [wide, high, left, top, bottom] = [T.width(place, 260, 900), 400, 46, 22, 372];
  const ends = d3.extent([0, ...found.map((each) => each.d)]);
  const y = d3.scaleLinear(ends[0] === ends[1] ? [-0.1, 0.1] : ends, [bottom - 4, top]).nice(7);
  const x = d3.scaleLinear([0, n], [left, wide - 2]);
  const step = x(1) - x(0);
  const svg = T.drawing(place, wide, high, `${T.alone() ? "Values" : "Differences"} of ${plural(n, "query", "queries")} in order`);
  for (const [value, text] of ticksOf(y, 7, m, sign())) {
    svg.append("line").attr("class", "grid").attr("x1", left).attr("x2", wide).attr("y1", y(value)).attr("y2", y(value));
    svg.append("text").attr("x", left - 7).attr("y", y(value) + 4).attr("text-anchor", "end").text(text);
  }
  // Many queries: what stands in each column of pixels, as an outline.
  const columns = many ? d3.range(left, wide - 2).map((px) => ({px, each: found[Math.min(n - 1, Math.floor(x.invert(px + 0.5)))]})) : [];
  if (many) {
    for (const [name, part] of [["c-ref", Math.min], ["c-run", Math.max]]) {
      const area = d3.area().x((column) => column.px).y0(y(0)).y1((column) => y(part(column.each.d, 0))).curve(d3.curveStepAfter);
      svg.append("path").attr("class", name).attr("d", area(columns));
    }
  } else
    svg.append("g").selectAll("rect").data(found).join("rect").attr("class", (each) => `mark ${shade(each)}`).attr("data-q", (each) => each.q)
      .attr("x", (_, i) => x(i).toFixed(2)).attr("width", Math.max(0.5, step > 4 ? step - 1 : step * 0.9).toFixed(2))
      .attr("y", (each) => Math.min(y(each.d), y(0)).toFixed(2)).attr("height", (each) => Math.abs(y(each.d) - y(0)).toFixed(2));
  svg.append("line").attr("class", "zero").attr("x1", left).attr("x2", wide).attr("y1", y(0)).attr("y2", y(0));
  svg.append("line").attr("class", "mean").attr("x1", left).attr("x2", wide).attr("y1", y(pair.difference)).attr("y2", y(pair.difference));
  const at = found.findIndex((each) => each.q === q);
  if (at >= 0) {
    const [middle, up] = [x(at + 0.5), Math.min(y(found[at].d), y(0)) - 3];
    svg.append("path").attr("class", "here").attr("d", `M${middle - 4},${up - 6}h8l-4,6z`);
    const end = middle > (left + wide) / 2 ? "end" : "start";
    svg.append("text").attr("class", "here").attr("x", middle + (end === "end" ? 4 : -4)).attr("y", up - 9).attr("text-anchor", end)
      .text(T.fmt.short(T.data.qids[q], 14));
  }
  const won = T.alone() ? [] : [[pair.losses, ref, "is-ref", left + 4, "start"], [pair.wins, run, "is-run", wide - 2, "end"]];
  for (const [count, whose, name, px, anchor] of won)
    svg.append("text").attr("class", name).attr("x", px).attr("y", high - 6).attr("text-anchor", anchor)
      .text(`${T.fmt.count(count)} for ${T.fmt.short(T.name(whose), wide < 400 ? 14 : 22)}`);
  // What can be hit has the whole height, as many bars are thin and low.
  const targets = many ? columns : found.map((each, i) => ({px: x(i), each}));
  const hits = svg.append("g").selectAll("rect").data(targets).join("rect").attr("class", "target").attr("x", ({px}) => px.toFixed(2))
    .attr("width", (many ? 1 : step).toFixed(2)).attr("y", top).attr("height", bottom - top)
    .attr("data-q", ({each}) => each.q).attr("data-look", "");
  T.hinted(hits, ({each}) => T.hintOf(each));
}

// Groups of queries -----------------------------------------------------------------------------------

function grouped(place, {m, run, ref, group}) {
  const [wide, left, row] = [T.width(place, 280, 360), 150, 28];
  const lines = [{words: "all queries", label: "all queries", n: T.queries(m).length, ...T.pair(m, run, ref)}];
  T.inGroups(m, run, ref).forEach((each, g) => {
    lines.push({heading: each.name});
    each.sets.forEach((set, s) => lines.push({...set, key: `${g}.${s}`, words: `${each.name}: ${set.label}`}));
  });
  const ends = d3.extent([0, ...lines.flatMap((line) => [line.low, line.high, line.difference]).filter(Number.isFinite)]);
  const x = d3.scaleLinear(ends[0] === ends[1] ? [-0.1, 0.1] : ends, [left + 8, wide - 12]);
  const high = d3.sum(lines, (line) => (line.heading ? 26 : row));
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.group : null;
  const svg = T.drawing(place, wide, high + 26, T.alone() ? "Mean in groups of queries" : "Mean difference in groups of queries", "group");
  for (const value of x.ticks(3)) {
    svg.append("line").attr("class", value === 0 ? "zero" : "grid").attr("x1", x(value)).attr("x2", x(value)).attr("y1", 0).attr("y2", high);
    svg.append("text").attr("x", x(value)).attr("y", high + 18).attr("text-anchor", "middle").text(value === 0 ? "0" : x.tickFormat(3, sign())(value));
  }
  let y = 0;
  for (const line of lines) {
    if (line.heading) {
      svg.append("text").attr("x", 0).attr("y", y + 18).text(T.fmt.short(line.heading, 26));
      y += 26;
      continue;
    }
    const apart = T.alone() || line.low > 0 || line.high < 0; // of a single run nothing is tested
    const tested = Number.isFinite(line.low);
    const kind = apart ? side(line.difference) : "c-open";
    const interval = tested ? `, from ${T.signed(line.low)} to ${T.signed(line.high)}` : ", no interval";
    const words = `${line.words}, ${plural(line.n, "query", "queries")}: ${T.signed(line.difference)}${interval}`;
    const g = svg.append("g").attr("class", "set").attr("transform", `translate(0,${y})`).attr("aria-label", words);
    if (line.key) g.attr("role", "button").attr("tabindex", 0).attr("aria-pressed", String(group === line.key)).attr("data-group", line.key);
    else g.attr("role", "img");
    T.hinted(g, () => words);
    g.append("rect").attr("class", "target").attr("width", wide).attr("height", row);
    g.append("text").attr("class", line.key ? "of" : "of all").attr("x", line.key ? 8 : 0).attr("y", row / 2 + 4).text(T.fmt.short(line.label, 22));
    if (tested)
      g.append("line").attr("class", `whisker ${kind}`).attr("x1", x(line.low)).attr("x2", x(line.high)).attr("y1", row / 2).attr("y2", row / 2);
    if (Number.isFinite(line.difference))
      g.append("circle").attr("class", `verdict ${kind}${apart ? "" : " hollow"}`).attr("cx", x(line.difference)).attr("cy", row / 2).attr("r", 4);
    y += row;
  }
  if (focused) T.get(`[data-group="${focused}"]`, place)?.focus();
}

function chooseGroup(event) {
  const of = event.target.closest("[data-group]");
  if (!of || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  event.stopPropagation();
  T.set({group: T.state.group === of.dataset.group ? "" : of.dataset.group});
}

// The part --------------------------------------------------------------------------------------------

const tables = {
  pairs: ({m, run, ref}) => T.alone()
    ? [["query", T.name(run)], ...T.differences(m, run, ref).map(({q, y}) => [T.data.qids[q], y])]
    : [["query", T.name(run), T.name(ref), "difference"], ...T.differences(m, run, ref).map(({q, x, y, d}) => [T.data.qids[q], y, x, T.exact(d)])],
  groups({m, run, ref}) {
    const rows = T.inGroups(m, run, ref).flatMap(({name, sets}) => sets.map((set) => [name, set]));
    const {difference, low, high, queries} = T.pair(m, run, ref);
    const numbers = (set) => [set.difference, set.low, set.high].map(T.exact);
    return [
      ["attribute", "group", "queries", T.alone() ? "mean" : "difference", "low", "high"],
      ["", "all queries", queries, ...numbers({difference, low, high})],
      ...rows.map(([name, set]) => [name, set.label, set.n, ...numbers(set)]),
    ];
  },
};

T.view({
  id: "two",
  needs: ["m", "ref", "run", "q", "group", "margin", "size"],
  render(root) {
    const {state} = T;
    const [name, {name: label}] = [T.name(state.run), T.data.measures[state.m]]; // of queries: AP, not MAP
    const count = T.queries(state.m).length;
    if (!T.get(".three", root)) root.append(...(T.alone() ? [] : [T.h("p", {class: "says"}), T.h("dl", {class: "numbers"})]), T.h("div", {class: "three"}));
    if (!T.alone()) {
      T.get(".says", root).replaceChildren(...verdict(state));
      T.get(".numbers", root).replaceChildren(...numbers(state));
    }
    const crowd = `${T.fmt.count(count)} queries as hexagons, darker for more; the ${DRAWN} largest differences as points.`;
    const student = `${T.confidence()} t intervals, corrected for their number (Bonferroni). Choose one to see its queries.`;
    const figures = T.alone() ? [
      ["bars", "Which queries are hard?", `${label}, in order; dotted: the mean. Choose a bar to see its documents.`, bars, tables.pairs],
      ["groups", "Which groups of queries are hard?", `All: the interval of the mean. Groups: ${student}`, grouped, tables.groups],
    ] : [
      ["scatter", "Each query is a point", `Above the line, ${name} is better. ${count > CROWD ? crowd : ""}`, scatter, tables.pairs],
      ["bars", "Each query is a bar", `Difference in ${label}, in order; dotted: the mean. Choose a bar to see its documents.`, bars, tables.pairs],
      ["groups", "Does it hold for groups of queries?",
        `All: the interval above. Groups: ${student}`,
        grouped, tables.groups],
    ];
    for (const [id, title, note, draw, table] of figures) {
      if (id === "groups" && !T.data.groups?.length) continue;
      const place = T.frame(T.get(".three", root), id, title, note);
      draw(place, state);
      T.figure(place.parentNode, {
        name: id,
        title: () => `${title} ${T.measure().label}, ${runsOf()}`,
        csv: () => table(T.state),
      });
    }
    if (T.get("#groups", root) && !root.dataset.listening) {
      root.dataset.listening = "";
      for (const type of ["click", "keydown"]) T.get("#groups .drawn", root).addEventListener(type, chooseGroup);
    }
  },
});
