/* What all parts of the page share: the data, what is chosen, statistics of any two runs, words and numbers, events.

   All parts stand in one function, each in a block of its own; T is all they share. Runs, queries and measures are
   numbers: places in T.data.runs, T.data.qids and T.data.measures. T.state has what is chosen, complete:

     m      measure                            heat      "value" or "difference"
     ref    run that others are compared with  margin    differences below it do not matter; 0: none is set
     run    run that is looked at              group     queries that are looked at, "set.part" of T.data.groups, or ""
     q      query that is looked at            pins      runs kept in colour, up to four
                                               unfolded  are all rows of a long table shown?

   T.set({run: 3}) changes it, writes it into the address and draws those views again whose `needs` name what changed.
   null gives the choice of a measure, run, reference or query back to the page. */
const T = (() => {
  const T = {data: null, state: null, views: [], MINUS: "\u2212"};
  const MANY_RUNS = 200; // above it grey lines are drawn as one
  const memo = new Map(); // results by what they are of; everything in the data stays as it is

  function once(key, compute) {
    if (!memo.has(key)) memo.set(key, compute());
    return memo.get(key);
  }

  // Elements ----------------------------------------------------------------------------------------

  function made(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value == null || value === false) continue;
      if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
      else node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity)) if (child != null && child !== false) node.append(child);
    return node;
  }
  /* T.h("p", {class: "note", on: {click: act}}, "text", node, …): an element of HTML; T.s: of SVG. Names, ids and texts
     of the data become text nodes and attributes only, so that nothing in them is ever markup. */
  T.h = (tag, attributes, ...children) => made(document.createElement(tag), attributes, children);
  T.s = (tag, attributes, ...children) =>
    made(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  T.get = (selector, root = document) => root.querySelector(selector);
  T.all = (selector, root = document) => [...root.querySelectorAll(selector)];
  T.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  T.narrow = () => matchMedia("(max-width: 640px)").matches && !matchMedia("print").matches;

  // Numbers and words -------------------------------------------------------------------------------

  const WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
  const known = (x) => x != null && Number.isFinite(x);
  const minus = (text) => text.replace("-", T.MINUS);
  /* As Python rounds: a tie to the even digit, where toFixed rounds it up. */
  function fixed(x, digits) {
    const text = x.toFixed(digits);
    const tied = Math.abs(x * 2 ** (digits + 1)) % 2 === 1;
    return tied && text.at(-1) % 2 ? text.slice(0, -1) + (text.at(-1) - 1) : text;
  }
  T.fmt = {
    value: (x, digits = 4) => (known(x) ? minus(unsigned(fixed(x, digits))) : "–"),
    signed(x, digits = 4) {
      if (!known(x)) return "–";
      const text = unsigned(fixed(x, digits));
      return x > 0 && /[1-9]/.test(text) ? "+" + text : minus(text);
    },
    // Axis labels: as many decimals as the distance of the ticks needs.
    tick: (x, step) => x === 0 ? "0" : minus(unsigned(x.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))))),
    percent: (x, digits = 1) => (known(x) ? minus(fixed(100 * x, digits)) + " %" : "–"),
    p: (p) => (!known(p) ? "–" : p < 0.0001 ? "< 0.0001" : fixed(p, 4)),
    count: (n) => n.toLocaleString("en-US"),
    needed: (n) => (Number.isNaN(n) ? "–" : n > 10000 ? "> 10,000" : n.toLocaleString("en-US")),
    word: (n) => WORDS[n] ?? n.toLocaleString("en-US"),
    // ["a", "b", "c"] → ["a", ", ", "b", " and ", "c"], for nodes too
    list: (items) => items.flatMap((each, i) => (i === 0 ? [each] : [i === items.length - 1 ? " and " : ", ", each])),
    plural: (n, one, many) => `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`,
    // Long names often differ at their ends.
    short(text, length = 22) {
      const letters = [...text];
      if (letters.length <= length) return text;
      const end = Math.floor((length - 1) / 3);
      return letters.slice(0, length - 1 - end).join("").trimEnd() + "…" + letters.slice(letters.length - end).join("");
    },
  };
  function unsigned(text) {
    return /[1-9]/.test(text) ? text : text.replace("-", "");
  }
  T.VERDICTS = {
    better: "significantly better",
    worse: "significantly worse",
    open: "no significant difference",
    same: "within the margin",
    reference: "reference",
  };

  // Data --------------------------------------------------------------------------------------------

  async function unpacked(text) {
    const letters = atob(text.trim());
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  T.measure = (m = T.state.m) => T.data.measures[m];
  T.name = (run) => T.data.runs[run].name;
  /* Values of a measure by run: typed arrays over all queries of the page, NaN where a query has no value. */
  T.values = (m = T.state.m) =>
    once(`values ${m}`, () => T.data.measures[m].values.map((row) => Float64Array.from(row, (x) => x ?? NaN)));
  /* Those of a run; zeros where a single run has no other that it is compared with. */
  T.row = (m, run) => (run === null ? once("none", () => new Float64Array(T.data.qids.length)) : T.values(m)[run]);
  /* Queries that a measure compares: those with a value in every run. */
  T.queries = (m = T.state.m) =>
    once(`queries ${m}`, () =>
      T.data.qids.map((_, q) => q).filter((q) => T.values(m).every((row) => !Number.isNaN(row[q]))),
    );
  /* Runs, the best first; of equal means the first name. */
  T.order = (m = T.state.m) =>
    once(`order ${m}`, () => {
      const means = T.data.measures[m].means.map((x) => x ?? -Infinity);
      return d3.range(means.length).sort((a, b) => means[b] - means[a] || d3.ascending(T.name(a), T.name(b)));
    });
  T.place = (run, m = T.state.m) =>
    once(`places ${m}`, () => {
      const places = [];
      T.order(m).forEach((each, i) => (places[each] = i));
      return places;
    })[run];
  /* How easy each query is: the median of its values over all runs, or their mean where most medians are 0. */
  T.ease = (m = T.state.m) =>
    once(`ease ${m}`, () => {
      const columns = T.data.qids.map((_, q) => T.values(m).map((row) => row[q]));
      const medians = columns.map((column) => d3.median(column) ?? NaN);
      const means = medians.filter((x) => x === 0).length > medians.length / 2;
      return {by: means ? "mean" : "median", of: means ? columns.map((column) => d3.mean(column) ?? NaN) : medians};
    });
  /* The queries of a measure, hard to easy. */
  T.hardest = (m = T.state.m) =>
    once(`hardest ${m}`, () => {
      const ease = T.ease(m).of;
      return [...T.queries(m)].sort((a, b) => ease[a] - ease[b] || a - b);
    });
  /* The chosen group of queries as a set, or null: all. */
  T.group = () => {
    const found = groupAt(T.state.group);
    return found && once(`group ${T.state.group}`, () => new Set(found[1]));
  };
  function groupAt(key) {
    const [set, part] = String(key).split(".");
    return key ? T.data.groups?.[set]?.sets[part] : null;
  }

  // Statistics of two runs --------------------------------------------------------------------------

  T.confidence = () => `${+(100 * (1 - T.data.alpha)).toPrecision(6)} %`; // of simultaneous intervals, in words

  /* An interval, cut at the range of the measure: of a difference of two runs, or of the mean of one. */
  T.limits = (middle, half, m) => {
    const [least, most] = T.data.measures[m].bounds ?? [];
    const [low, high] = [least ?? -Infinity, most ?? Infinity];
    const [from, to] = T.alone() ? [low, high] : [low - high, high - low];
    return {low: Math.max(middle - half, from), high: Math.min(middle + half, to)};
  };

  /* Run a minus run b by a measure, over the queries that it compares, as computed by treceval_py. The interval and p are
     corrected for all pairs of runs of the measure, and say the same: the interval leaves out 0 where p is below alpha.
     With b null, of a single run, the mean of a with its own interval. */
  T.pair = (m, a, b) =>
    once(`pair ${m} ${a} ${b}`, () => {
      const {means, low, high, pairs} = T.data.measures[m];
      const queries = T.queries(m).length;
      if (b === null) return {difference: means[a], low: low[a] ?? NaN, high: high[a] ?? NaN, queries};
      const [more, less] = [Math.max(a, b), Math.min(a, b)];
      const of = (column, same) => (a === b ? same : (pairs[column]?.[(more * (more - 1)) / 2 + less] ?? NaN));
      const exact = means[a] - means[b];
      const difference = Math.abs(exact) < 1e-12 ? 0 : exact;
      const error = of("error", 0);
      const counts = [of("won", 0), of("lost", 0)];
      const [wins, losses] = a > b ? counts : counts.reverse();
      return {
        difference, wins, losses, queries,
        ties: queries - wins - losses,
        ...T.limits(difference, error === 0 ? 0 : (pairs.critical ?? Infinity) * error, m),
        p: of("p", 1) / (pairs.resamples + 1),
        d: error !== 0 ? difference / error / Math.sqrt(queries) : difference && Math.sign(difference) * Infinity,
        needed: of("needed", NaN),
      };
    });
  T.tested = (m) => T.data.measures[m].pairs?.error != null;
  /* Run a beside run b: "reference" if they are the same run; "same" if the interval lies within the margin. */
  T.verdict = (m, a, b) => {
    if (a === b) return "reference";
    const {low, high} = T.pair(m, a, b);
    const {margin} = T.state;
    if (margin && low > -margin && high < margin) return "same";
    return low > 0 ? "better" : high < 0 ? "worse" : "open";
  };
  /* Runs without a significant difference from a run, best first, itself left out. No margin plays a part. */
  T.similar = (m, run) =>
    once(`similar ${m} ${run}`, () =>
      T.order(m).filter((each) => {
        if (each === run) return false;
        const {low, high} = T.pair(m, each, run);
        return !(low > 0 || high < 0);
      }),
    );
  T.alone = () => T.data.runs.length === 1;
  T.many = () => T.data.runs.length > MANY_RUNS;

  // Documents ---------------------------------------------------------------------------------------

  /* What each relevant document adds to the value of a run for a query: [{place, rank, grade, adds}], in the order of the
     relevant documents in the data; rank 0: not found, which adds 0. null if the measure is not such a sum, or the ranks
     are not in the page. */
  T.contributions = (m, run, q) => {
    const {sum} = T.data.measures[m];
    const ranks = T.data.docs?.[q]?.r[run];
    if (!sum || !ranks) return null;
    const found = T.grades(q).map((grade, place) => ({place, grade, rank: ranks[place] ?? 0, adds: 0}));
    SUMS[sum.kind](found.filter((each) => each.rank), sum);
    const value = T.values(m)[run][q];
    const total = d3.sum(found, (each) => each.adds);
    if (total === 0) return Math.abs(value) < 1e-9 ? found : null;
    for (const each of found) each.adds *= value / total;
    return found;
  };
  /* Grades of the relevant documents of a query; those that are in no list of the page come last. */
  T.grades = (q) => {
    const {g, u, r} = T.data.docs[q];
    const relevant = r.find((ranks) => ranks)?.length ?? u.length;
    return [...g.slice(0, relevant - u.length), ...u].map(Number);
  };
  const counted = (found, {level = 1, cutoff}) =>
    found.filter((each) => each.grade >= level && each.rank <= (cutoff ?? Infinity)).sort((a, b) => a.rank - b.rank);
  const SUMS = {
    weights(found, {gains, weights}) {
      for (const each of found) each.adds = (gains[each.grade] ?? 0) * (weights[each.rank - 1] ?? 0);
    },
    precisions: (found, sum) => counted(found, sum).forEach((each, i) => (each.adds = (i + 1) / each.rank)),
    first: (found, sum) => counted(found, sum).slice(0, 1).forEach((each) => (each.adds = 1 / each.rank)),
  };

  // What is chosen, and the address -----------------------------------------------------------------

  const FRESH = {m: null, ref: null, run: null, q: null, heat: "value", margin: 0, group: "", pins: [], unfolded: false};
  let asked = {...FRESH}; // what was chosen; null: by the page

  function resolved(given) {
    const state = {...given, m: given.m ?? 0};
    T.state = {...state}; // what follows depends on what comes before it
    const order = T.order(state.m);
    const first = T.data.baseline ?? (order.length === 2 ? 0 : order[0]);
    state.ref = T.alone() ? null : (given.ref ?? first);
    state.run = given.run ?? order.find((run) => run !== state.ref);
    if (state.run === state.ref) state.run = order.find((run) => run !== state.ref);
    const queries = T.queries(state.m);
    const compared = given.q != null && queries.includes(given.q);
    const likely = T.alone() ? T.hardest(state.m) : T.byDifference(state.m, state.run, state.ref);
    state.q = compared ? given.q : (likely[0] ?? null);
    return state;
  }
  /* Queries by the size of the difference of two runs, the largest first. */
  T.byDifference = (m, a, b) =>
    once(`by difference ${m} ${a} ${b}`, () => {
      const [x, y] = [T.values(m)[a], T.values(m)[b]];
      return [...T.queries(m)].sort((p, q) => Math.abs(x[q] - y[q]) - Math.abs(x[p] - y[p]) || p - q);
    });

  const place = (list, name) => {
    const found = list.indexOf(name);
    return found < 0 ? null : found;
  };
  // How each choice is written in the address, and read; what is unknown there is left to the page.
  const WRITTEN = {
    m: [(m) => T.measure(m).name, (text) => place(T.data.measures.map((each) => each.name), text)],
    ref: [(run) => T.name(run), (text) => place(names(), text)],
    run: [(run) => T.name(run), (text) => place(names(), text)],
    q: [(q) => T.data.qids[q], (text) => place(T.data.qids, text)],
    heat: [String, (text) => (text === "difference" ? text : null)],
    margin: [String, (text) => (Number(text) > 0 && Number(text) < Infinity ? Number(text) : null)],
    group: [(key) => `${T.data.groups[key.split(".")[0]].name}: ${groupAt(key)[0]}`, readGroup],
    pins: [(runs) => runs.map((run) => encodeURIComponent(T.name(run))).join(","), readPins],
    unfolded: [() => "1", (text) => text === "1" || null],
  };
  const names = () => T.data.runs.map((run) => run.name);
  function readGroup(text) {
    for (const [set, {name, sets}] of (T.data.groups ?? []).entries())
      for (const [part, [label]] of sets.entries()) if (`${name}: ${label}` === text) return `${set}.${part}`;
    return null;
  }
  function readPins(text) {
    const found = text.split(",").map((each) => place(names(), decoded(each)));
    return [...new Set(found.filter((run) => run != null))].slice(0, 4);
  }
  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return "";
    }
  }
  function readAddress() {
    const found = {...FRESH};
    for (const part of location.hash.slice(1).split("&")) {
      const [key, value] = part.split("=", 2);
      if (key in WRITTEN && value != null) found[key] = WRITTEN[key][1](decoded(value)) ?? FRESH[key];
    }
    return found;
  }
  /* The state as a fragment of an address, without the #: what differs from the page's own choice. */
  T.address = () =>
    Object.keys(FRESH)
      .filter((key) => asked[key] != null && String(asked[key]) !== String(FRESH[key]))
      .map((key) => `${key}=${encodeURIComponent(WRITTEN[key][0](asked[key]))}`)
      .join("&");

  T.set = (changes) => {
    const before = T.state;
    // The run that is looked at becomes the reference: the two change places.
    if (changes.ref != null && changes.ref === before.run) changes = {run: before.ref, ...changes};
    asked = {...asked, ...changes};
    T.state = resolved(asked);
    const changed = Object.keys(T.state).filter((key) => String(T.state[key]) !== String(before[key]));
    try {
      history.replaceState(null, "", "#" + T.address());
    } catch {
      // Browsers limit how often the address may change; the choice stands without it.
    }
    if (["m", "ref", "run"].some((key) => changed.includes(key))) announceChoice();
    draw(changed);
  };
  T.isOwn = (key) => asked[key] == null; // was this left to the page?
  T.swap = () => T.set({ref: T.state.run, run: T.state.ref});
  T.pin = (run) => {
    const {pins} = T.state;
    T.set({pins: pins.includes(run) ? pins.filter((each) => each !== run) : [...pins, run].slice(-4)});
  };
  function announceChoice() {
    const {m, ref, run} = T.state;
    const compared = T.alone() ? T.fmt.value(T.measure().means[run]) : `compared with ${T.name(ref)}, ${T.VERDICTS[T.verdict(m, run, ref)]}`;
    T.announce(`${T.measure().label}: ${T.name(run)} ${compared}.`);
  }

  // Views -------------------------------------------------------------------------------------------

  /* T.view({id, needs: ["m", "run"], render(root)}): `render` draws into the element #id, at first and whenever one of its
     needs changes: keys of T.state, "size" (the width of the page) or "theme". What is in the window is drawn at once, the
     rest after it, with pauses; meanwhile the document has the attribute data-busy. */
  T.view = (view) => T.views.push({...view, due: true});

  const PATIENCE = 30; // milliseconds for which one choice may be drawn before the page answers again
  let waiting = false;
  function draw(changed) {
    for (const view of T.views) if (!changed || view.needs.some((key) => changed.includes(key))) view.due = true;
    // All places are read before anything is drawn, so that the page is laid out once.
    const inWindow = T.views.filter(({due, root}) => {
      if (!due) return false;
      const {top, bottom} = root.getBoundingClientRect();
      return top < innerHeight && bottom >= 0;
    });
    inWindow.forEach(drawn);
    // What is seen is painted before the rest is drawn.
    rest(inWindow.length ? -Infinity : performance.now());
  }
  function drawn(view) {
    if (!view.due) return;
    view.due = false;
    view.render(view.root);
  }
  function rest(start) {
    for (let next; performance.now() - start < PATIENCE && (next = T.views.find((view) => view.due)); ) drawn(next);
    const due = T.views.some((view) => view.due);
    document.documentElement.toggleAttribute("data-busy", due);
    if (!due || waiting) return;
    waiting = true;
    const later = () => {
      waiting = false;
      rest(performance.now());
    };
    if (start === -Infinity) requestAnimationFrame(() => setTimeout(later));
    else setTimeout(later);
  }
  /* Draw everything now that waits for being seen, as before printing. */
  T.settle = () => T.views.forEach(drawn);

  function watch() {
    T.views = T.views.filter((view) => (view.root = document.getElementById(view.id)) && !(T.alone() && view.root.closest(".several")));
    // Whoever is faster than the page sees each part at once.
    const seen = new IntersectionObserver((entries) => {
      for (const {isIntersecting, target} of entries) if (isIntersecting) T.views.forEach((view) => view.root === target && drawn(view));
    }, {rootMargin: "200px"});
    for (const view of T.views) seen.observe(view.root);
    let width = innerWidth;
    let timer = 0;
    addEventListener("resize", () => {
      if (innerWidth === width) return; // the bars of a phone's browser come and go
      width = innerWidth;
      clearTimeout(timer);
      timer = setTimeout(() => draw(["size"]), 80);
    });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => draw(["theme"]));
    // Paper is white: what was painted in dark colours is painted again.
    const root = document.documentElement;
    let theme;
    addEventListener("beforeprint", () => {
      if (T.printing) return;
      T.printing = true;
      theme = root.dataset.theme;
      root.dataset.theme = "light";
      T.views.forEach((view) => (view.due ||= view.needs.includes("theme")));
      T.settle();
    });
    addEventListener("afterprint", () => {
      T.printing = false;
      if (theme) root.dataset.theme = theme;
      else delete root.dataset.theme;
      draw(["theme"]);
    });
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== T.address()) T.set(readAddress());
    });
  }
  T.themed = () => draw(["theme"]);

  /* T.figure(element, {name, title, csv}): register a figure for saving. `name` is that of the file, `title` is drawn into
     the picture, csv() returns rows of a table, its head first; `svg()` the picture where it is not the element's first. */
  T.figures = new Map();
  T.figure = (element, figure) => {
    const fresh = !T.figures.has(element);
    T.figures.set(element, figure);
    if (fresh) T.onFigure?.(element);
  };

  // Highlights, hints, announcements ------------------------------------------------------------------

  const lit = document.head.appendChild(T.h("style"));
  let bright = {run: null, q: null};
  /* T.highlight({run, q}): highlight a run or a query wherever it is drawn, by data-run and data-q; nothing is redrawn.
     Marks are .line, .mark (a shape), .label (text), .row (of a table or list). {} ends it. */
  T.highlight = ({run = null, q = null} = {}) => {
    if (run === bright.run && q === bright.q) return;
    bright = {run, q};
    const rules = [];
    for (const at of [run == null ? null : `[data-run="${Number(run)}"]`, q == null ? null : `[data-q="${Number(q)}"]`]) {
      if (!at) continue;
      rules.push(
        `.row${at}{background:var(--hover)}`,
        `.line${at}{stroke:var(--ink);stroke-width:2.6px;opacity:1}`,
        `.mark${at}{fill:var(--ink);stroke:var(--ink);opacity:1}`,
        `.label${at}{fill:var(--ink);color:var(--ink);font-weight:700;opacity:1}`,
        `.frame${at}{opacity:1}`,
      );
    }
    lit.textContent = rules.join("");
    T.onHighlight?.(bright);
  };
  const numbered = (text) => (text == null ? null : Number(text));

  let hint;
  /* T.hint(element, () => text or node): what is shown beside the pointer over an element. */
  const hints = new WeakMap();
  T.hint = (element, say) => {
    hints.set(element, say);
    element.setAttribute("data-hint", "");
    return element;
  };
  T.hintAt = (event, content) => {
    hint ??= document.body.appendChild(T.h("div", {class: "hint", "aria-hidden": "true"}));
    hint.replaceChildren(...[content].flat(Infinity));
    hint.hidden = false;
    const {width, height} = hint.getBoundingClientRect();
    const below = event.clientY + 18 + height < innerHeight;
    hint.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    hint.style.top = `${Math.max(8, below ? event.clientY + 18 : event.clientY - height - 12)}px`;
  };
  T.unhint = () => hint && (hint.hidden = true);

  T.announce = (text) => {
    T.get("#announced").textContent = text;
  };

  function listen() {
    document.addEventListener("pointermove", (event) => {
      const target = event.target instanceof Element ? event.target : null;
      if (target?.closest("[data-own-hint]")) return; // a canvas finds out itself what is below the pointer
      const of = target?.closest("[data-run],[data-q]");
      T.highlight({run: numbered(of?.dataset.run), q: numbered(of?.dataset.q)});
      const hinted = event.pointerType === "touch" ? null : target?.closest("[data-hint]");
      if (hinted && hints.has(hinted)) T.hintAt(event, hints.get(hinted)());
      else T.unhint();
    });
    document.addEventListener("pointerleave", () => (T.unhint(), T.highlight()));
    // The page moves away below the pointer.
    for (const type of ["click", "scroll"]) document.addEventListener(type, T.unhint, {capture: true, passive: true});
    document.addEventListener("focusin", (event) => {
      const of = event.target.closest?.("[data-run],[data-q]");
      T.highlight({run: numbered(of?.dataset.run), q: numbered(of?.dataset.q)});
    });
    // Whatever has data-look is a run to look closer at, or with data-q a query.
    document.addEventListener("click", (event) => {
      const of = event.target.closest?.("[data-look]");
      if (of?.dataset.q != null) T.look({q: Number(of.dataset.q)});
      else if (of) T.look({run: Number(of.dataset.run)});
    });
  }
  /* Look closer at a run (as the second one, unless it is the reference) or a query; `scroll` brings that part into view. */
  T.look = ({run, q}, {scroll = false} = {}) => {
    if (run != null && run !== T.state.ref) T.set({run});
    if (q != null) T.set({q});
    if (scroll || q != null) T.show(q != null ? "one" : "two");
  };
  T.show = (id) => {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    document.getElementById(id)?.scrollIntoView({behavior: calm ? "auto" : "smooth", block: "start"});
  };

  // What parts share in looks -------------------------------------------------------------------------

  /* The colour of a run: of the one looked at, of the reference, of up to four that are kept; null: grey like all others. */
  T.colour = (run) => {
    const {ref, pins} = T.state;
    if (run === T.state.run) return "var(--blue)";
    if (run === ref) return "var(--orange)";
    return pins.includes(run) ? `var(--pin${pins.indexOf(run)})` : null;
  };
  T.coloured = () => [...new Set([T.state.ref, T.state.run, ...T.state.pins])].filter((run) => run !== null);
  /* The name of a run as a button that looks closer at it. */
  T.runButton = (run) =>
    T.h(
      "button",
      {
        type: "button",
        class: run === T.state.run ? "name blue" : run === T.state.ref ? "name orange" : "name",
        "data-run": run, "data-look": true, title: `Look closer at ${T.name(run)}`,
      },
      T.name(run),
    );
  T.verdictColour = (verdict) => (verdict === "open" ? "var(--open)" : "var(--ink)");

  /* Read the data, restore what the address says, and draw. Called once, after all parts. */
  T.open = async () => {
    T.data = await unpacked(T.get("#data").textContent);
    FRESH.margin = T.data.margin ?? 0;
    document.documentElement.classList.add("scripted");
    document.documentElement.classList.toggle("alone", T.alone());
    T.all("[data-scripted]").forEach((each) => (each.hidden = false));
    asked = readAddress();
    T.state = resolved(asked);
    // With two runs, what there is to see is their difference.
    if (T.data.runs.length === 2) T.get("#all").before(T.get("#two"));
    listen();
    watch();
    draw();
    document.documentElement.dataset.ready = "";
  };
  return T;
})();
