/* The head with the finding, the bar of choices, and the table of all runs with its forest plot. */

// The finding and three facts ------------------------------------------------------------------------

/* Sentences are lists of texts and of runs, {run}. */
const run = (number) => ({run: number});
const runs = (numbers) => T.fmt.list(numbers.map(run));

/* The sentences of treceval_py; of two runs, with the interval of their difference. */
function finding(m) {
  const [first, ...rest] = T.data.measures[m].finding.map((sentence) => sentence.map((part) => (typeof part === "number" ? run(part) : part.replace(/p ≤ /, "p\u00a0≤\u00a0"))));
  if (T.data.runs.length !== 2 || !T.tested(m) || !rest.length) return [first, rest.flat()];
  const {run: looked, ref} = T.state; // as everywhere on the page: run minus reference
  const pair = T.pair(m, looked, ref);
  return [first, [...rest.flat(), " The mean difference, ", run(looked), ` ${T.MINUS} `, run(ref), `, is ${T.fmt.signed(pair.difference)}, with a ${T.confidence()} interval from ${T.fmt.signed(pair.low)} to ${T.fmt.signed(pair.high)}.`]];
}

/* What a reference other than the best run adds. */
function comparedWith(m, reference) {
  const found = d3.group(T.order(m).filter((each) => each !== reference), (each) => T.verdict(m, each, reference));
  const parts = [["better", "is significantly better", "are significantly better"], ["same", "is equivalent within the margin", "are equivalent within the margin"],
    ["open", "does not differ significantly", "do not differ significantly"], ["worse", "is significantly worse", "are significantly worse"]];
  const said = parts.filter(([verdict]) => found.has(verdict)).map(([verdict, one, many]) => {
    const which = found.get(verdict);
    return [...(which.length <= 2 ? runs(which) : [`${T.fmt.word(which.length)} runs`]), ` ${which.length === 1 ? one : many}`];
  });
  return ["Compared with ", run(reference), ": ", ...said.flatMap((each, i) => (i ? ["; ", ...each] : each)), "."];
}

/* A sentence as nodes. A name keeps the mark of punctuation that follows it in its line. */
function nodes(sentence) {
  const made = [];
  for (const [i, each] of sentence.entries()) {
    const mark = typeof each === "string" && sentence[i - 1]?.run != null ? /^[,;:.)]*/.exec(each)[0] : "";
    if (mark) made.push(T.h("span", {class: "kept"}, made.pop(), mark));
    made.push(each.run != null ? T.runButton(each.run) : each.strong ? T.h("b", {}, each.strong) : each.slice(mark.length));
  }
  return made;
}

function facts(m) {
  const {label, ties} = T.data.measures[m];
  const all = T.data.runs.length;
  const said = [];
  const others = d3.range(T.data.measures.length).filter((each) => each !== m);
  if (others.length && !T.alone()) {
    const leaders = others.map((each) => {
      const {label: measure, means} = T.data.measures[each];
      const [best, ...rest] = T.order(each);
      const equal = rest.filter((other) => means[best] - means[other] <= 1e-12);
      if (equal.length) return [`${measure}: `, ...(equal.length === all - 1 ? ["equal"] : runs([best, ...equal]))];
      const similar = T.similar(each, best).length;
      const how = all === 2 ? [] : [similar === 0 ? " (significantly)" : similar === all - 1 ? " (no significant difference)" : ` (${T.fmt.word(similar)} not significantly worse)`];
      return [`${measure}: `, run(best), ...how];
    });
    said.push(["Do other measures agree?", [all === 2 ? "Higher " : "Highest ", ...leaders.flatMap((each, i) => (i ? ["; ", ...each] : each)), "."]]);
  }
  const resolution = T.data.measures[m].pairs?.resolution;
  if (resolution >= 0.0005)
    said.push(["Which differences are detectable?", [
      `With these ${T.fmt.plural(T.queries(m).length, "query", "queries")}, differences above about `, {strong: T.fmt.value(resolution, 3)},
      ` ${label} are detectable (half the width of ${all === 2 ? "the" : "a typical simultaneous"} ${T.confidence()} interval).`]]);
  const relied = reliance(label, ties);
  if (relied.length) said.push(["How reliable are the numbers?", relied]);
  return said;
}

function reliance(label, ties) {
  const said = [];
  const judged = T.data.runs.map((each) => each.judged);
  if (judged.every((each) => each != null)) {
    const least = d3.minIndex(judged);
    said.push({strong: T.fmt.percent(d3.median(judged))}, ` of the first ten documents are judged${judged.length > 2 ? " in the median run" : T.alone() ? "" : " on average"}`);
    if (judged[least] < d3.max(judged)) said.push("; fewest in ", run(least), ` (${T.fmt.percent(judged[least])})`);
    said.push(". ");
  }
  if (ties) {
    const reach = ties.map(([low, high]) => high - low);
    const worst = d3.maxIndex(reach);
    const many = reach.filter((each) => each >= 0.001).length;
    if (many)
      said.push("The order of ties matters", ...(T.alone() ? [] : [` in ${many === 1 ? "" : `${T.fmt.word(many)} runs, most in `}`, run(worst)]),
        `: ${T.alone() ? "" : "its "}${label} is between ${T.fmt.value(ties[worst][0], 3)} and ${T.fmt.value(ties[worst][1], 3)}.`);
    else said.push(`The order of ties changes ${label} by less than 0.001.`);
  }
  return said;
}

T.view({
  id: "finding",
  needs: ["m", "ref", "run", "margin"],
  render() {
    const {m, ref} = T.state;
    const [first, second] = finding(m);
    T.get("#finding").replaceChildren(...nodes(first));
    const more = T.data.runs.length > 2 && ref !== T.order(m)[0] ? [" ", ...comparedWith(m, ref)] : [];
    T.get("#apart").replaceChildren(...nodes([...second, ...more]));
    T.get("#facts").replaceChildren(
      ...facts(m).map(([title, said]) =>
        T.h("div", {}, T.h("h2", {}, title), T.h("p", {}, nodes(said))),
      ),
    );
    const {length: left} = T.data.qids.filter((_, q) => !T.queries(m).includes(q));
    T.get("#counts").textContent = [
      T.fmt.plural(T.data.runs.length, "run", "runs"),
      T.fmt.plural(T.data.qids.length, "query", "queries") + (left ? ` (${left} left out: some run has no ${T.measure(m).label})` : ""),
      T.fmt.plural(T.data.measures.length, "measure", "measures"),
    ].join(" · ");
  },
});

// The bar of choices ---------------------------------------------------------------------------------

T.view({
  id: "bar",
  needs: ["m", "ref", "run"],
  render() {
    const {m, ref, run: looked} = T.state;
    T.get("#measures").replaceChildren(
      ...T.data.measures.map((measure, each) =>
        T.h("button", {type: "button", "aria-pressed": String(each === m), title: measure.name, on: {click: () => (T.set({m: each}), T.all("#measures button")[each].focus())}}, measure.label)),
    );
    const option = (each, chosen) => T.h("option", {value: each, selected: each === chosen}, T.name(each));
    const own = T.data.baseline ?? (T.data.runs.length === 2 ? null : T.order(m)[0]);
    T.get("#reference").replaceChildren(
      own == null ? "" : T.h("option", {value: "", selected: T.isOwn("ref")}, `${T.data.baseline == null ? "best" : "baseline"}: ${T.name(own)}`),
      ...T.order(m).map((each) => option(each, own != null && T.isOwn("ref") ? null : ref)),
    );
    T.get("#looked-at").replaceChildren(...T.order(m).filter((each) => each !== ref).map((each) => option(each, looked)));
  },
});
const chosen = (event) => (event.target.value === "" ? null : Number(event.target.value));
T.get("#reference").addEventListener("change", (event) => T.set({ref: chosen(event)}));
T.get("#looked-at").addEventListener("change", (event) => T.set({run: chosen(event)}));
T.get("#swap").addEventListener("click", T.swap);
T.all("#bar nav a, .skip").forEach((link) =>
  link.addEventListener("click", (event) => {
    event.preventDefault(); // the address keeps what is chosen
    const part = link.getAttribute("href").slice(1);
    T.show(part);
    document.getElementById(part).focus({preventScroll: true});
  }),
);

// The part in the middle of the window is the current one.
const parts = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const link = T.get(`#bar nav a[href="#${entry.target.id}"]`);
      if (entry.isIntersecting) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  },
  {rootMargin: "-45% 0px -54% 0px"},
);
T.all("section").forEach((part) => parts.observe(part));

const THEMES = ["auto", "light", "dark"];
T.theme = (next) => {
  const root = document.documentElement;
  const name = next ?? THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length];
  if (name === "auto") delete root.dataset.theme;
  else root.dataset.theme = name;
  T.get("#theme").textContent = `Theme: ${name}`;
  T.themed();
};
T.get("#theme").addEventListener("click", () => T.theme());
T.get("#copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(location.href.replace(/#.*|$/, "#" + T.address()));
    T.announce("The link is copied.");
    T.get("#copy").textContent = "Copied";
  } catch {
    T.get("#copy").textContent = "The link is in the address bar";
  }
  setTimeout(() => (T.get("#copy").textContent = "Copy link"), 2000);
});

const MARGINS = [0.01, 0.02, 0.05];
T.view({
  id: "all-title",
  needs: ["margin"],
  render() {
    const offered = [...new Set([...MARGINS, T.data.margin ?? 0, T.state.margin])].filter((each) => each > 0).sort(d3.ascending);
    T.get("#margin").replaceChildren(
      T.h("option", {value: 0}, "not set"),
      ...offered.map((each) => T.h("option", {value: each, selected: each === T.state.margin}, String(each))),
    );
  },
});
T.get("#margin").addEventListener("change", (event) => T.set({margin: Number(event.target.value)}));

// All runs -------------------------------------------------------------------------------------------

const FOLDED = 40; // a longer table shows its first and last rows, and those that are coloured
const [FIRST, LAST] = [20, 2];
const REACH = 108;
const LEAST = 90; // width of the forest plot, which gives way to the other columns
const BAR = 84;
const FEW_JUDGED = 0.95;

/* The rows of the table: runs, and lists of runs that are folded into one row. */
T.rows = () => {
  const order = T.order();
  if (order.length <= FOLDED || T.state.unfolded) return order;
  const kept = new Set([...order.slice(0, FIRST), ...order.slice(-LAST), ...T.coloured()]);
  const rows = [];
  for (const each of order) {
    if (kept.has(each)) rows.push(each);
    else if (Array.isArray(rows.at(-1))) rows.at(-1).push(each);
    else rows.push([each]);
  }
  return rows;
};

/* The scale of the forest plot and its ticks. */
T.forest = (from, to, ticks) => {
  const {m, ref} = T.state;
  const pairs = T.order(m).filter((each) => each !== ref).map((each) => T.pair(m, each, ref));
  const ends = pairs.flatMap(({low, high, difference}) => [low, high, difference]).filter(Number.isFinite);
  let [low, high] = d3.extent([0, T.state.margin, -T.state.margin, ...ends]);
  if (low === high) [low, high] = [-0.01, 0.01];
  const scale = d3.scaleLinear([low - (high - low) * 0.02, high + (high - low) * 0.02], [from, to]);
  const at = scale.ticks(ticks);
  return {scale, ticks: at, label: (x) => (x === 0 ? "0" : (x > 0 ? "+" : "") + T.fmt.tick(x, at[1] - at[0]))};
};

/* The mark of a pair: its interval, and a dot that is filled where the difference is significant, or a square where it is
   within the margin. */
T.interval = (pair, verdict, scale, y, colour = T.verdictColour(verdict)) => [
  Number.isNaN(pair.low) ? null : T.s("line", {x1: scale(pair.low), x2: scale(pair.high), y1: y, y2: y, stroke: colour, "stroke-width": 2}),
  verdict === "same" ? T.s("rect", {x: scale(pair.difference) - 4, y: y - 4, width: 8, height: 8, fill: colour})
    : T.s("circle", {cx: scale(pair.difference), cy: y, r: 4.4, fill: verdict === "open" ? "var(--paper)" : colour, stroke: colour, "stroke-width": 1.8}),
];
const diamond = (x, y) => T.s("rect", {x: x - 4.5, y: y - 4.5, width: 9, height: 9, fill: "var(--orange)", transform: `rotate(45 ${x} ${y})`});

function forestGround(height, {scale, ticks}) {
  const {margin} = T.state;
  return [
    margin ? T.s("rect", {x: scale(-margin), width: scale(margin) - scale(-margin), y: -1, height: height + 2, fill: "var(--band)"}) : null,
    ticks.map((x) => (x === 0 ? null : T.s("line", {class: "grid", x1: scale(x), x2: scale(x), y1: 0, y2: height}))),
    T.s("line", {x1: scale(0), x2: scale(0), y1: -1, y2: height + 1, stroke: "var(--orange)"}),
  ];
}

/* Queries lost (light), even and won (dark) as one bar; the mark at half lets the eye see who has more. */
function record(pair, height) {
  const at = (count) => 26 + (BAR * count) / Math.max(1, pair.queries);
  const [y, x1, x2] = [height / 2, at(pair.losses), at(pair.losses + pair.ties)];
  const part = (from, to, fill) => T.s("rect", {x: from, width: Math.max(0, to - from), y: y - 4.5, height: 9, fill});
  return T.s("svg", {width: BAR + 52, height, role: "img", "aria-label": `${pair.losses} lost, ${pair.ties} even, ${pair.wins} won`},
    T.s("text", {x: 20, y: y + 4, "text-anchor": "end"}, String(pair.losses)),
    part(at(0), x1, "var(--other)"), part(x1, x2, "var(--hair)"), part(x2, at(pair.queries), "var(--text)"),
    T.s("line", {x1: 26 + BAR / 2, x2: 26 + BAR / 2, y1: y - 7, y2: y + 7, stroke: "var(--ink)", "stroke-width": 1}),
    T.s("text", {x: BAR + 32, y: y + 4}, String(pair.wins)));
}

/* On one axis the mean, its range over the orders of equal scores (thick) and over labels of unjudged documents (thin). */
function reach(measure, each, scale, height) {
  const [y, ties, unjudged] = [height / 2, measure.ties?.[each], measure.unj?.[each]];
  const thin = {stroke: "var(--edge)", "stroke-width": 1};
  return T.s("svg", {width: REACH, height, role: "img", "aria-label": reachWords(measure, each).join("; ")},
    unjudged && [
      T.s("line", {x1: scale(unjudged[0]), x2: scale(unjudged[1]), y1: y, y2: y, ...thin}),
      unjudged.map((x) => T.s("line", {x1: scale(x), x2: scale(x), y1: y - 3, y2: y + 3, ...thin})),
    ],
    ties && T.s("line", {x1: scale(ties[0]), x2: scale(ties[1]), y1: y, y2: y, stroke: "var(--ink)", "stroke-width": 5}),
    T.s("line", {x1: scale(measure.means[each]), x2: scale(measure.means[each]), y1: y - 6, y2: y + 6, stroke: "var(--ink)", "stroke-width": 1.6}));
}
function reachWords(measure, each) {
  const [ties, unjudged] = [measure.ties?.[each], measure.unj?.[each]];
  return [
    ties && `${T.fmt.value(ties[0])} to ${T.fmt.value(ties[1])} over all orders of ties (${T.fmt.plural(ties[2], "query", "queries")} affected)`,
    unjudged && `${T.fmt.value(unjudged[0])} to ${T.fmt.value(unjudged[1])} over all labels of unjudged documents`,
  ].filter(Boolean);
}

function pairWords(pair, verdict) {
  const interval = Number.isNaN(pair.low) ? [] : [`simultaneous ${T.confidence()} interval ${T.fmt.signed(pair.low)} to ${T.fmt.signed(pair.high)}`];
  return [...interval, `corrected p ${T.fmt.p(pair.p)} · ${T.VERDICTS[verdict]}`];
}

function headOfRuns(axis, forest, narrow, reachScale) {
  const {m, ref} = T.state;
  const side = (text, ...more) => T.h("th", {scope: "col", class: "not-narrow wide-only right"}, text, ...more);
  return T.h("thead", {}, T.h("tr", {},
    T.h("th", {scope: "col", class: "place right not-narrow"}, T.h("span", {class: "unseen"}, "Rank")),
    T.h("th", {scope: "col"}, "Run"),
    T.h("th", {scope: "col", class: "right mean", "aria-sort": "descending"}, T.measure(m).label),
    T.h("th", {scope: "col", style: `width:${forest + 14}px`}, T.h("div", {}, "Difference from ", T.h("b", {style: "color:var(--orange)"}, T.fmt.short(T.name(ref), narrow ? 14 : 22))), axis),
    T.h("th", {scope: "col", class: "right not-narrow"}, "Difference"),
    T.h("th", {scope: "col", class: "not-narrow"}, "Verdict"),
    T.h("th", {scope: "col", class: "not-narrow roomy"}, "Queries lost, won"),
    T.data.measures.map((measure, each) => each === m ? null :
      side(T.h("button", {type: "button", title: `Sort all by ${measure.label}`, on: {click: () => T.set({m: each})}}, measure.label))),
    hasJudged() ? side("Judged", T.h("br"), "in first 10") : null,
    reachScale ? T.h("th", {scope: "col", class: "not-narrow wide-only"}, "Range over", T.h("br"), "ties, unjudged", T.h("br"), "documents",
      T.s("svg", {width: REACH, height: 14, "aria-hidden": "true"}, T.s("text", {x: reachScale(0), y: 11, style: "font-size:11px"}, "0"),
        T.s("text", {x: REACH - 2, y: 11, "text-anchor": "end", style: "font-size:11px"}, reachScale.domain()[1].toLocaleString("en-US")))) : null));
}
const hasJudged = () => T.data.runs.some((each) => each.judged != null);

function drawRuns(root, less = 0) {
  const {m, ref, run: looked, pins} = T.state;
  const measure = T.measure(m);
  const narrow = T.narrow();
  const height = narrow ? 32 : 28;
  const longest = d3.max(T.data.runs, (each) => Math.min(22, each.name.length));
  const room = T.get(".drawn", root).clientWidth;
  const width = narrow ? Math.max(90, room - 127 - 82) : Math.max(LEAST, Math.min(348 - Math.max(0, Math.min(90, (longest - 13) * 7)), room - 560) - less);
  const forest = T.forest(6, width - 6, Math.max(2, Math.min(5, Math.floor(width / 75))));
  const axis = T.s("svg", {width, height: 20, "aria-hidden": "true"}, forest.ticks.map((x) => [
    T.s("text", {x: forest.scale(x), y: 12, "text-anchor": "middle"}, forest.label(x)),
    T.s("line", {class: "axis", x1: forest.scale(x), x2: forest.scale(x), y1: 16, y2: 20})]));
  const known = measure.ties ?? measure.unj;
  const reachTo = d3.max([...(measure.unj ?? []).map((x) => x[1]), ...(measure.ties ?? []).map((x) => x[1]), ...measure.means]);
  const reachScale = known && d3.scaleLinear([Math.min(0, d3.min(measure.means)), reachTo], [3, REACH - 3]).nice();
  const tops = d3.range(T.data.measures.length).map((each) => new Set([T.order(each)[0], ...T.similar(each, T.order(each)[0])]));
  const rows = T.rows();
  const columns = 7 + T.data.measures.length - 1 + hasJudged() + !!known;
  const rowOf = (each, first) => {
    const pair = T.pair(m, each, ref);
    const verdict = T.verdict(m, each, ref);
    const name = T.name(each);
    const pinned = pins.includes(each);
    const colour = T.colour(each);
    const cell = T.h("td", {}, T.s("svg", {width, height, "aria-hidden": "true"}, forestGround(height, forest),
      each === ref ? diamond(forest.scale(0), height / 2) : T.interval(pair, verdict, forest.scale, height / 2)));
    if (each !== ref) T.hint(cell, () => [T.h("b", {}, `${name} ${T.MINUS} ${T.name(ref)}: ${T.fmt.signed(pair.difference)} ${measure.label}`), pairWords(pair, verdict).map((line) => T.h("span", {}, line))]);
    const reachCell = known && T.h("td", {class: "not-narrow wide-only"}, reach(measure, each, reachScale, height));
    if (known) T.hint(reachCell, () => [T.h("b", {}, `${name}: ${measure.label} ${T.fmt.value(measure.means[each])}`), reachWords(measure, each).map((line) => T.h("span", {}, line))]);
    return T.h("tr", {
      class: `row ${each === looked ? "blue" : each === ref ? "orange" : ""}`, "data-run": each, tabindex: first ? 0 : -1,
      "aria-label": `${name}, ${measure.label} ${T.fmt.value(measure.means[each])}, ${T.VERDICTS[verdict]}`,
    },
      T.h("td", {class: "place right not-narrow"}, String(T.place(each, m) + 1)),
      T.h("th", {scope: "row", title: name.length > 22 ? name : null}, T.h("i", {class: "dot", style: colour ? `background:${colour}` : null}), T.fmt.short(name),
        each === T.data.baseline ? T.h("small", {}, "baseline") : null,
        T.h("button", {type: "button", class: "pin", tabindex: -1, "aria-pressed": String(pinned), "aria-label": `Keep ${name} in colour`, title: "Keep in colour", on: {click: (event) => (event.stopPropagation(), T.pin(each))}}, pinned ? "●" : "○")),
      T.h("td", {class: "right mean"}, T.fmt.value(measure.means[each])),
      cell,
      T.h("td", {class: "right not-narrow"}, each === ref ? "" : T.fmt.signed(pair.difference)),
      T.h("td", {class: `verdict not-narrow ${verdict}`}, T.VERDICTS[verdict]),
      T.h("td", {class: "not-narrow roomy"}, each === ref ? null : record(pair, height)),
      T.data.measures.map((other, place) => place === m ? null :
        T.h("td", {class: `right other not-narrow wide-only${tops[place].has(each) ? " top" : ""}`}, T.order(place)[0] === each ? T.h("b", {}, T.fmt.value(other.means[each])) : T.fmt.value(other.means[each]))),
      hasJudged() ? T.h("td", {class: `right not-narrow wide-only${T.data.runs[each].judged < FEW_JUDGED ? " few" : ""}`}, T.fmt.percent(T.data.runs[each].judged)) : null,
      reachCell);
  };
  const foldOf = (folded) => {
    const counts = d3.rollup(folded, (list) => list.length, (each) => T.verdict(m, each, ref));
    const said = ["better", "same", "open", "worse"].filter((each) => counts.has(each)).map((each) => `${counts.get(each)} ${T.VERDICTS[each]}`).join(", ");
    const strokes = folded.map((each) => {
      const x = forest.scale(T.pair(m, each, ref).difference);
      return T.s("line", {class: "mark", "data-run": each, x1: x, x2: x, y1: 7, y2: 25, stroke: T.verdictColour(T.verdict(m, each, ref)), "stroke-width": 1.5, opacity: 0.7});
    });
    const values = folded.length === 1 ? T.fmt.value(measure.means[folded[0]]) : `${T.fmt.value(measure.means[folded[0]])} to ${T.fmt.value(measure.means[folded.at(-1)])}`;
    return T.h("tr", {class: "fold"},
      T.h("td", {colspan: narrow ? 2 : 3}, `${folded.length} more, ${values}`),
      T.h("td", {}, T.s("svg", {width, height: 32, "aria-hidden": "true"}, forestGround(32, forest), strokes)),
      T.h("td", {class: "not-narrow", colspan: columns - 4}, `${said} · `, T.h("button", {type: "button", on: {click: () => T.set({unfolded: true})}}, "Show all")));
  };
  const focused = document.activeElement?.closest?.("#runs tbody tr")?.dataset.run;
  let first = true;
  const body = T.h("tbody", {}, rows.flatMap((each) => {
    if (Array.isArray(each)) return [foldOf(each)];
    const row = rowOf(each, first);
    first = false;
    return narrow && each === looked ? [row, moreOf(m, each, ref)] : [row];
  }));
  const table = T.h("table", {class: "runs"},
    T.h("caption", {}, `Runs by ${measure.label}, with their paired differences from ${T.name(ref)}`),
    headOfRuns(axis, width, narrow, reachScale), body);
  T.get(".drawn", root).replaceChildren(table);
  const over = table.offsetWidth - room;
  if (over > 0 && width > LEAST && !narrow) return drawRuns(root, less + over);
  T.get(".legend", root).replaceChildren(...legendOfRuns(m));
  if (focused != null) focusRow(focused);
  T.figure(root, {name: "runs", title: `Difference from ${T.name(ref)}, ${measure.label}`, csv: tableOfRuns, svg: forestPicture});
}

/* On a narrow screen the rest of the row of the run that is looked at. */
function moreOf(m, each, ref) {
  const pair = T.pair(m, each, ref);
  const verdict = T.verdict(m, each, ref);
  const judged = T.data.runs[each].judged;
  return T.h("tr", {class: "more"}, T.h("td", {colspan: 3}, [
    `${T.fmt.signed(pair.difference)} (${T.fmt.signed(pair.low)} to ${T.fmt.signed(pair.high)}), ${T.VERDICTS[verdict]}`,
    `${pair.losses} lost, ${pair.ties} even, ${pair.wins} won`,
    judged == null ? null : `${T.fmt.percent(judged)} of the first 10 judged`,
    ...reachWords(T.measure(m), each)].filter(Boolean).map((line) => T.h("div", {}, line))));
}

function legendOfRuns(m) {
  const swatch = (text, ...drawn) => T.h("span", {}, T.s("svg", {width: 40, height: 14, "aria-hidden": "true"}, drawn), text);
  const interval = (verdict, text) => swatch(text, T.interval({low: 2, high: 38, difference: 20}, verdict, (x) => x, 7));
  const runs = T.data.runs.length;
  const pairs = (runs * (runs - 1)) / 2;
  if (!T.tested(m)) return [T.h("span", {}, "Differences are not tested, and have no intervals.")];
  return [
    swatch("the reference", diamond(20, 7)), interval("better", "significant difference"), interval("open", "no significant difference: the interval contains 0"),
    T.state.margin ? interval("same", "equivalent: the interval is within the margin") : null,
    ...legendOfRanges(T.measure(m), swatch),
    T.h("span", {}, pairs === 1 ? `${T.confidence()} interval.` : `${T.confidence()} intervals, simultaneous over all ${T.fmt.count(pairs)} pairs of runs: any run may be the reference.`),
    T.data.measures.length > 1 && runs > 2 ? T.h("span", {class: "not-narrow wide-only"}, "Other measures: bold is the best run, grey is significantly worse.") : null,
    T.state.unfolded && runs > FOLDED ? T.h("button", {type: "button", class: "tool", on: {click: () => T.set({unfolded: false})}}, "Show fewer rows") : null,
  ].filter(Boolean);
}

function legendOfRanges({ties, unj}, swatch) {
  const [thin, y] = [{stroke: "var(--edge)", "stroke-width": 1}, 7];
  return [
    (ties || unj) && swatch("mean", T.s("line", {x1: 20, x2: 20, y1: 1, y2: 13, stroke: "var(--ink)", "stroke-width": 1.6})),
    ties && swatch("its range over all orders of ties", T.s("line", {x1: 6, x2: 34, y1: y, y2: y, stroke: "var(--ink)", "stroke-width": 5})),
    unj && swatch("its range over all labels of unjudged documents", T.s("path", {d: "M3,4v6M3,7h34M37,4v6", fill: "none", ...thin})),
  ].filter(Boolean).map((each) => (each.classList.add("not-narrow", "wide-only"), each));
}

/* A single run: a row for each measure. */
function drawAlone(root) {
  const range = (bounds) => (bounds?.[0] == null ? "–" : `${T.fmt.value(bounds[0])}–${T.fmt.value(bounds[1])}`);
  const has = (key) => T.data.measures.some((each) => each[key]);
  const head = ["Measure", "Mean", `${T.fmt.percent(T.data.confidence, 0)} interval`, has("ties") && "Over all orders of ties", has("unj") && "Over all labels of unjudged documents"].filter(Boolean);
  const rows = T.data.measures.map(({label, means, low, high, ties, unj}) => [
    label, T.fmt.value(means[0]), range([low[0], high[0]]), has("ties") && range(ties?.[0]), has("unj") && range(unj?.[0])].filter((cell) => cell !== false));
  T.get(".drawn", root).replaceChildren(T.h("table", {class: "runs"},
    T.h("caption", {}, `Measures of ${T.name(0)}`),
    T.h("thead", {}, T.h("tr", {}, head.map((each, i) => T.h("th", {scope: "col", class: i ? "right" : null}, each)))),
    T.h("tbody", {}, rows.map(([label, ...cells], m) => T.h("tr", {class: m === T.state.m ? "blue" : null}, T.h("th", {scope: "row"}, label), cells.map((each) => T.h("td", {class: "right"}, each)))))));
  T.figure(root, {name: "measures", title: `Measures of ${T.name(0)}`, csv: () => [
    ["measure", "mean", "low", "high", "ties_low", "ties_high", "unjudged_low", "unjudged_high"],
    ...T.data.measures.map(({name, means, low, high, ties, unj}) => [name, means[0], low[0], high[0], ...(ties?.[0].slice(0, 2) ?? ["", ""]), ...(unj?.[0] ?? ["", ""])].map((x) => x ?? ""))]});
}

function tableOfRuns() {
  const {m, ref} = T.state;
  const measure = T.measure(m);
  const others = T.data.measures.filter((each) => each !== measure);
  return [
    ["run", measure.name, "difference", "low", "high", "p_corrected", "verdict", "won", "even", "lost", ...others.map((each) => each.name), "judged@10", "ties_low", "ties_high", "unjudged_low", "unjudged_high"],
    ...T.order(m).map((each) => {
      const pair = T.pair(m, each, ref);
      const compared = each === ref ? ["", "", "", "", "reference", "", "", ""]
        : [pair.difference, pair.low, pair.high, pair.p, T.VERDICTS[T.verdict(m, each, ref)], pair.wins, pair.ties, pair.losses];
      return [T.name(each), measure.means[each], ...compared, ...others.map((other) => other.means[each]), T.data.runs[each].judged,
        ...(measure.ties?.[each].slice(0, 2) ?? ["", ""]), ...(measure.unj?.[each] ?? ["", ""])].map((x) => x ?? "");
    }),
  ];
}

/* The forest plot as one picture, for saving. */
function forestPicture() {
  const {m, ref} = T.state;
  const rows = T.rows().filter((each) => !Array.isArray(each));
  const [left, width, step, top] = [230, 640, 24, 24];
  const forest = T.forest(left, width - 8, 5);
  const height = top + rows.length * step;
  return T.s("svg", {width, height, viewBox: `0 0 ${width} ${height}`},
    T.s("g", {transform: `translate(0 ${top})`}, forestGround(height - top, forest)),
    forest.ticks.map((x) => T.s("text", {x: forest.scale(x), y: 12, "text-anchor": "middle"}, forest.label(x))),
    rows.map((each, i) => {
      const y = top + step * (i + 0.5);
      return [
        T.s("text", {x: 0, y: y + 4, style: "fill:var(--ink)"}, T.fmt.short(T.name(each), 24)),
        T.s("text", {x: left - 14, y: y + 4, "text-anchor": "end"}, T.fmt.value(T.measure(m).means[each])),
        each === ref ? diamond(forest.scale(0), y) : T.interval(T.pair(m, each, ref), T.verdict(m, each, ref), forest.scale, y),
      ];
    }));
}

function focusRow(each) {
  const row = T.get(`#runs tr[data-run="${Number(each)}"]`);
  if (!row) return;
  T.all("#runs tbody tr[tabindex]").forEach((other) => (other.tabIndex = other === row ? 0 : -1));
  row.focus();
}

T.view({id: "runs", needs: ["m", "ref", "run", "pins", "margin", "unfolded", "size"], render: (root) => (T.alone() ? drawAlone : drawRuns)(root)});

const drawnRuns = T.get("#runs");
drawnRuns.addEventListener("click", (event) => {
  const row = event.target.closest("tbody tr[data-run]");
  if (row && !event.target.closest("button")) T.look({run: Number(row.dataset.run)});
});
// The table is one stop of the Tab key; its rows are moved over with the arrows.
drawnRuns.addEventListener("keydown", (event) => {
  const row = event.target.closest("tbody tr[data-run]");
  if (!row || event.target !== row || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = T.all("#runs tbody tr[data-run]");
  const step = {ArrowDown: 1, j: 1, ArrowUp: -1, k: -1}[event.key];
  const each = Number(row.dataset.run);
  if (step) focusRow((rows[rows.indexOf(row) + step] ?? row).dataset.run);
  else if (event.key === "Home" || event.key === "End") focusRow(rows.at(event.key === "Home" ? 0 : -1).dataset.run);
  else if (event.key === "Enter") T.look({run: each}, {scroll: true});
  else if (event.key === "r") T.set({ref: each});
  else if (event.key === "p") T.pin(each);
  else return;
  event.preventDefault();
  event.stopPropagation();
});
