/* The figures of all runs: ranks, curves, overlap, and the heat map of runs and queries. */

const CROWD = 40; // runs up to which every line is labelled, and drawn in full strength

// Pieces of figures ----------------------------------------------------------------------------------

/* A figure's place to draw in, emptied, with its caption set. */
function begun(root, title, about) {
  T.get("h3", root).textContent = title;
  T.get(".about", root).replaceChildren(...[about].flat());
  const place = T.get(".drawn", root);
  place.replaceChildren();
  return place;
}
const drawing = (width, height, label, ...children) =>
  T.s("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label}, ...children);

/* Lines of runs: grey ones first, coloured ones above them. */
function lines(path) {
  const coloured = T.coloured();
  const crowd = T.data.runs.length > CROWD;
  const grey = d3.range(T.data.runs.length).filter((each) => !coloured.includes(each));
  const line = (each) => {
    const colour = T.colour(each);
    return T.s("path", {
      class: "line", d: path(each), "data-run": each, opacity: colour || !crowd ? null : 0.2,
      style: colour ? `stroke:${colour};stroke-width:2.2px` : null,
    });
  };
  // Beyond what a page can hold, the grey lines are one.
  if (T.many()) return [T.s("path", {class: "line", d: grey.map(path).join(""), opacity: 0.12}), coloured.map(line).reverse()];
  return [grey.map(line), coloured.map(line).reverse()];
}
/* Lines are thin: the pointer is at the one that is nearest, above or below it. `points(run)` are a line's places. */
function pointAtLines(svg, points, say) {
  const places = d3.range(T.data.runs.length).map(points);
  const at = (event) => {
    const label = numberAt(event);
    if (label != null && event.target.classList.contains("label")) return {run: label};
    const [x, y] = pointed(event, svg);
    const found = places.map((line, run) => {
      const after = line.findIndex(([px]) => px >= x);
      if (after < 0 || line[0][0] > x) return {run, away: Infinity};
      const [[x1, y1], [x2, y2]] = [line[Math.max(0, after - 1)], line[after]];
      return {run, away: Math.abs(y - (x2 === x1 ? y2 : y1 + ((y2 - y1) * (x - x1)) / (x2 - x1)))};
    });
    const nearest = d3.least(found, (each) => each.away);
    return nearest && nearest.away < 14 ? {...nearest, x} : null;
  };
  svg.dataset.ownHint = "";
  svg.addEventListener("pointermove", (event) => {
    const found = at(event);
    T.highlight({run: found?.run});
    svg.style.cursor = found ? "pointer" : "";
    if (found && event.pointerType !== "touch") T.hintAt(event, [T.h("b", {}, T.name(found.run)), found.x == null ? "" : T.h("span", {}, say(found.run, found.x))]);
    else T.unhint();
  });
  svg.addEventListener("click", (event) => {
    const found = at(event);
    if (found) T.look({run: found.run});
  });
}

/* Positions at least `gap` apart and within bounds, as near to those given as their order allows. */
function spread(wanted, gap, most) {
  const order = d3.range(wanted.length).sort((a, b) => wanted[a] - wanted[b]);
  const found = [];
  order.forEach((each, i) => (found[each] = Math.max(wanted[each], i ? found[order[i - 1]] + gap : -Infinity)));
  [...order].reverse().forEach((each, i, all) => (found[each] = Math.min(found[each], i ? found[all[i - 1]] - gap : most)));
  return found;
}

const labelOf = (each, attributes, length) =>
  T.s("text", {class: "label", "data-run": each, "data-look": true, style: T.colour(each) ? `fill:${T.colour(each)};font-weight:600` : null, ...attributes},
    T.name(each).length > length ? T.s("title", {}, T.name(each)) : null, T.fmt.short(T.name(each), length));

/* Colours from one end to the other in so many steps; a value outside takes the nearest. */
function ramp(names, low, high, steps = 96) {
  const scale = d3.scaleLinear(names.map((_, i) => i / (names.length - 1)), names.map(T.css)).interpolate(d3.interpolateLab);
  const colours = d3.range(steps).map((i) => scale(i / (steps - 1)));
  const of = (x) => colours[Math.max(0, Math.min(steps - 1, Math.round(((x - low) / (high - low)) * (steps - 1))))];
  return Object.assign(of, {low, high, colours});
}

/* Cells on a canvas with a drawing above them. `paint(cell)` calls cell(x, y, width, height, colour) for each; the picture
   for saving has them as rectangles. */
function cells(place, {width, height, label, paint, above}) {
  const svg = drawing(width, height, label, above);
  const drawn = () => {
    const group = T.s("g", {});
    paint((x, y, w, h, fill, opacity = 1) => group.append(T.s("rect", {x, y, width: w, height: h, fill, opacity})));
    return group;
  };
  const box = place.appendChild(T.h("div", {class: "cells", style: `width:${width}px`}, svg));
  if (T.printing && !T.many()) svg.prepend(drawn()); // on paper, sharp at any size
  else {
    const sharp = Math.min(3, Math.max(1, window.devicePixelRatio || 1));
    const canvas = T.h("canvas", {width: Math.round(width * sharp), height: Math.round(height * sharp), "aria-hidden": "true"});
    const context = canvas.getContext("2d");
    context.scale(canvas.width / width, canvas.height / height);
    paint((x, y, w, h, colour, opacity = 1) => {
      context.globalAlpha = opacity;
      context.fillStyle = colour;
      context.fillRect(x, y, w, h);
    });
    box.prepend(canvas);
  }
  const picture = () => {
    const copy = svg.cloneNode(true);
    copy.prepend(drawn());
    return copy;
  };
  return {svg, picture};
}
/* Where the pointer is in a drawing, in its own units. */
function pointed(event, svg) {
  const box = svg.getBoundingClientRect();
  const scale = svg.viewBox.baseVal.width / box.width;
  return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}

// The key, and which figures there are -----------------------------------------------------------------

T.view({
  id: "views",
  needs: ["ref", "run", "pins"],
  render() {
    const two = T.data.runs.length === 2;
    const several = T.data.runs.length > 2;
    const shown = {ranks: several && T.data.measures.length > 1, precision: !!T.data.pr, recall: !!T.data.rd, overlap: several && !!T.data.overlap};
    for (const [id, here] of Object.entries(shown)) document.getElementById(id).hidden = !here;
    T.get(".views").dataset.count = Object.values(shown).filter(Boolean).length;
    const alike = two && T.data.overlap?.rbo[0][1];
    T.get("#key").replaceChildren(
      ...(T.alone() ? [] : T.coloured()).map((each) => T.h("span", {"data-run": each}, T.h("i", {class: "dot", style: `background:${T.colour(each)}`}), T.h("b", {style: `color:${T.colour(each)}`}, T.fmt.short(T.name(each))))),
      several ? T.h("span", {class: "not-printed"}, "Grey: all other runs. Point at a run, here or in the table, to highlight it everywhere; ○ in the table keeps it in colour.") : "",
      alike == null || alike === false ? "" : T.h("span", {}, `Their rankings overlap by ${T.fmt.value(alike, 2)} (${overlapWords()}).`),
      T.data.pr || T.data.overlap ? "" : T.h("span", {}, T.alone() ? "Curves need the run itself; these are saved results." : "Curves and overlap need the runs themselves; these are saved results."),
    );
  },
});
const overlapWords = () => `rank-biased overlap, p = ${T.data.overlap.p}, first ${T.data.overlap.depth}`;

// Do the measures agree? -------------------------------------------------------------------------------

T.view({
  id: "ranks",
  needs: ["m", "ref", "run", "pins", "size"],
  render(root) {
    if (root.hidden) return;
    const {m} = T.state;
    const measures = [m, ...d3.range(T.data.measures.length).filter((each) => each !== m)];
    const all = T.data.runs.length;
    const crowd = all > CROWD;
    const place = begun(root, "Do the measures agree?", crowd ? "Rank of each run by each measure." : "Rank of each run by each measure. Filled: the best run, and those without a significant difference from it.");
    const named = 12;
    const room = Math.max(70, Math.min(112, 7 * d3.max(crowd ? T.coloured() : d3.range(all), (each) => Math.min(named + 2, T.name(each).length))));
    const width = Math.max(220, place.clientWidth);
    const [left, top, step] = [crowd ? 8 : 26, 26, crowd ? 290 / (all - 1) : Math.max(13, Math.min(18, 300 / all))];
    const height = top + step * (all - 1) + 12;
    const x = d3.scalePoint(measures, [left, width - room - 10]);
    const y = (each, measure) => top + step * T.place(each, measure);
    const path = (each) => d3.line(([, measure]) => x(measure), ([run, measure]) => y(run, measure)).curve(d3.curveBumpX)(measures.map((measure) => [each, measure]));
    const top4 = measures.map((measure) => new Set([T.order(measure)[0], ...T.similar(measure, T.order(measure)[0])]));
    const last = measures.at(-1);
    const labelled = crowd ? T.coloured() : T.order(last);
    const at = spread(labelled.map((each) => y(each, last)), 12.5, height - 4);
    const svg = drawing(width, height, `Ranks of ${all} runs by ${measures.map((measure) => T.data.measures[measure].label).join(", ")}`,
      measures.map((measure, i) => T.s("text", {
        x: x(measure), y: 12, "text-anchor": i === 0 ? "start" : "middle", dx: i === 0 ? -8 : 0,
        style: i === 0 ? "fill:var(--ink);font-weight:600" : null}, T.fmt.short(T.data.measures[measure].label, Math.max(4, Math.floor(x.step() / 6.6))))),
      lines(path),
      crowd ? [] : measures.map((measure, i) => T.order(measure).map((each) => {
        const colour = T.colour(each) ?? "var(--open)";
        return T.s("circle", {cx: x(measure), cy: y(each, measure), r: 3, "data-run": each, fill: top4[i].has(each) ? colour : "var(--paper)", stroke: colour, "stroke-width": 1.2});
      })),
      crowd ? [] : d3.range(all).map((i) => T.s("text", {x: left - 9, y: top + step * i + 4, "text-anchor": "end", style: "font-size:11px"}, String(i + 1))),
      labelled.map((each, i) => labelOf(each, {x: width - room, y: at[i] + 4}, named + 2)));
    place.append(svg);
    pointAtLines(svg, (each) => measures.map((measure) => [x(measure), y(each, measure)]),
      (each) => measures.map((measure) => `${T.data.measures[measure].label} ${T.place(each, measure) + 1}`).join(", "));
    T.figure(root, {name: "ranks", title: "Rank by each measure", csv: () => [
      ["run", ...T.data.measures.map((each) => each.name)],
      ...T.order(m).map((each) => [T.name(each), ...T.data.measures.map((_, measure) => T.place(each, measure) + 1)])]});
  },
});

// Precision and recall ------------------------------------------------------------------------

function curves(root, {title, about, curve, x, ticks, xLabel, said, name, first}) {
  if (root.hidden) return;
  const place = begun(root, title, about);
  const width = Math.max(220, place.clientWidth);
  const [left, right, top, bottom, height] = [34, 12, 8, 36, 300];
  const across = x.range([left, width - right]);
  const most = d3.max(curve.y, (each) => d3.max(each)) || 1;
  const up = d3.scaleLinear([0, Math.min(1, most * 1.04)], [height - bottom, top]).nice(4);
  const path = (each) => d3.line(([at]) => across(at), ([, value]) => up(value)).defined(([, value]) => value != null)(d3.zip(curve.x, curve.y[each]));
  const levels = up.ticks(4);
  const svg = drawing(width, height, `${title} ${about}`,
    levels.map((value) => [
      T.s("line", {class: "grid", x1: left, x2: width - right, y1: up(value), y2: up(value)}),
      T.s("text", {x: left - 7, y: up(value) + 4, "text-anchor": "end"}, T.fmt.tick(value, levels[1] - levels[0]))]),
    ticks.map((at) => T.s("text", {x: across(at), y: height - bottom + 17, "text-anchor": "middle"}, at.toLocaleString("en-US"))),
    T.s("text", {x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle"}, xLabel),
    lines(path));
  place.append(svg);
  const known = (each) => d3.zip(curve.x, curve.y[each]).filter(([, value]) => value != null);
  pointAtLines(svg, (each) => known(each).map(([at, value]) => [across(at), up(value)]), (each, px) => {
    const [at, value] = d3.least(known(each), ([at]) => Math.abs(across(at) - px));
    return `${T.fmt.value(value)} ${said(at.toLocaleString("en-US"))}`;
  });
  T.figure(root, {name, title, csv: () => [[first, ...T.order().map(T.name)], ...curve.x.map((at, i) => [at, ...T.order().map((each) => curve.y[each][i] ?? "")])]});
}
T.view({
  id: "precision",
  needs: ["ref", "run", "pins", "size"],
  render(root) {
    curves(root, {title: "How precise at each recall?", about: "Interpolated precision at levels of recall.", curve: T.data.pr,
      x: d3.scaleLinear([0, 1], [0, 1]), ticks: [0, 0.2, 0.4, 0.6, 0.8, 1], xLabel: "recall", said: (at) => `at recall ${at}`, name: "precision-recall", first: "recall"});
  },
});
T.view({
  id: "recall",
  needs: ["ref", "run", "pins", "size"],
  render(root) {
    const depths = T.data.rd?.x ?? [1, 10];
    const ends = [depths[0], Math.max(depths.at(-1), depths[0] + 1)];
    curves(root, {title: "How much is found, and how deep?", about: "Share of the relevant documents retrieved down to each rank.", curve: T.data.rd,
      x: d3.scaleLog(ends, [0, 1]), ticks: depths.filter((each) => Number.isInteger(Math.log10(each))), xLabel: "rank", said: (at) => `down to rank ${at}`, name: "recall-depth", first: "depth"});
  },
});

// Which runs are similar? ------------------------------------------------------------------------------------------

function closest() {
  const {rbo} = T.data.overlap;
  let best = [0, 1];
  for (let a = 0; a < rbo.length; a += 1) for (let b = 0; b < a; b += 1) if (rbo[a][b] > rbo[best[0]][best[1]]) best = [a, b];
  return best;
}
T.view({
  id: "overlap",
  needs: ["ref", "run", "pins", "size", "theme"],
  render(root) {
    if (root.hidden) return;
    const {rbo, order} = T.data.overlap;
    const all = order.length;
    const crowd = all > CROWD;
    // Of many runs none is named, so that nothing in the picture depends on those that are chosen.
    const drawn = [T.get(".drawn", root).clientWidth, T.css("--low"), !!T.printing].join();
    if (crowd && root.dataset.of === drawn) return;
    root.dataset.of = drawn;
    const [a, b] = closest();
    const place = begun(root, "Which runs are similar?", [
      `${overlapWords()[0].toUpperCase()}${overlapWords().slice(1)}. Most similar: ${T.fmt.short(T.name(a), 18)} and ${T.fmt.short(T.name(b), 18)}, ${T.fmt.value(rbo[a][b], 2)}.`]);
    const width = Math.max(220, place.clientWidth);
    const room = crowd ? 4 : Math.min(110, 6.6 * d3.max(T.data.runs, (each) => Math.min(16, each.name.length)) + 8);
    const size = Math.min((width - room) / (all - 1), 26);
    const height = size * all + 2;
    const left = Math.max(room, width - size * (all - 1));
    const least = d3.min(d3.range(1, all), (i) => d3.min(d3.range(i), (j) => rbo[order[i]][order[j]]));
    const colour = ramp(["--low", "--middle", "--high"], Math.max(0, least - 0.02), Math.max(rbo[a][b], least + 0.25));
    // Each run has a row of cells, to the right of its name, and a column of cells below its name.
    const x = (j) => left + (all - 2 - j) * size;
    const gap = size > 6 ? 1 : 0;
    const {svg, picture} = cells(place, {
      width, height, label: `Overlap of each pair of ${all} runs`,
      paint(cell) {
        for (let i = 1; i < all; i += 1) for (let j = 0; j < i; j += 1) cell(x(j), i * size, size - gap, size - gap, colour(rbo[order[i]][order[j]]));
      },
      above: crowd ? [] : order.map((each, i) => [
        labelOf(each, {x: x(i - 1) - 5, y: (i + 0.5) * size + 4, "text-anchor": "end", "font-size": Math.max(11, Math.min(12, size))}, 16),
        T.s("rect", {class: "frame", "data-run": each, x: x(i - 1) - 0.5, y: i * size - 0.5, width: i * size, height: size, opacity: 0}),
        T.s("rect", {class: "frame", "data-run": each, x: x(i) - 0.5, y: (i + 1) * size - 0.5, width: size, height: (all - 1 - i) * size, opacity: 0})]),
    });
    place.append(T.h("p", {class: "legend"}, "Overlap ", scaleOf(colour, T.fmt.value(colour.low, 2), T.fmt.value(colour.high, 2))));
    const at = (event) => {
      const [px, py] = pointed(event, svg);
      const i = Math.floor(py / size);
      const j = all - 2 - Math.floor((px - left) / size);
      return i >= 1 && i < all && j >= 0 && j < i ? [order[i], order[j]] : null;
    };
    svg.dataset.ownHint = "";
    svg.addEventListener("pointermove", (event) => {
      const found = at(event);
      T.highlight({run: found?.[0] ?? numberAt(event)});
      if (found) T.hintAt(event, [T.h("b", {}, `${T.fmt.value(rbo[found[0]][found[1]], 3)}`), T.h("span", {}, `${T.name(found[0])} and ${T.name(found[1])}`)]);
      else T.unhint();
    });
    svg.addEventListener("click", (event) => {
      const found = at(event);
      if (found) T.look({run: found[0] === T.state.ref ? found[1] : found[0]});
    });
    T.figure(root, {name: "overlap", title: "Rank-biased overlap", svg: picture, csv: () => [["run", ...order.map(T.name)], ...order.map((i) => [T.name(i), ...order.map((j) => rbo[i][j])])]});
  },
});
const numberAt = (event) => {
  const run = event.target.closest("[data-run]")?.dataset.run;
  return run == null ? null : Number(run);
};

// Which queries are hard, and for which runs? ------------------------------------------------------------------

const [BINS, FEWER] = [250, 60]; // a heat map of more columns than this has queries in groups of equal size; on a narrow screen
const TOUCHED = 24; // pixels of what a finger can pick
const CLIP = 0.6; // differences beyond this share of the measure's range have the same colour

/* The columns: hard to easy, each a list of queries. */
function columnsOf(m) {
  const queries = T.hardest(m);
  const most = T.narrow() ? FEWER : BINS;
  if (queries.length <= most) return queries.map((q) => [q]);
  return d3.range(most).map((i) => queries.slice(Math.round((i * queries.length) / most), Math.round(((i + 1) * queries.length) / most)));
}
const meanOf = (row, queries) => {
  let sum = 0;
  for (const q of queries) sum += row[q];
  return sum / queries.length;
};

T.view({
  id: "heat",
  needs: ["m", "ref", "run", "q", "heat", "group", "pins", "unfolded", "size", "theme"],
  render(root) {
    const {m, ref, run: looked, q: chosen, heat} = T.state;
    const measure = T.measure(m);
    const values = T.values(m);
    const columns = columnsOf(m);
    const binned = columns.some((queries) => queries.length > 1);
    const rows = T.rows().filter((each) => !Array.isArray(each));
    const ease = T.ease(m);
    const place = begun(root, "Which queries are hard, and for which runs?", [
      binned ? `${T.fmt.count(T.queries(m).length)} queries in ${columns.length} columns, from hard to easy (${ease.by} over the runs). Above: ` : `Columns are queries from hard to easy (${ease.by} over the runs). Above: `,
      T.h("b", {style: "color:var(--blue)"}, T.fmt.short(T.name(looked))), " and ", T.h("b", {style: "color:var(--orange)"}, T.fmt.short(T.name(ref))), " within the range of all runs."]);
    const all = values.flatMap((row) => d3.extent(T.queries(m), (q) => row[q]));
    const [low, high] = [Math.min(0, d3.min(all) ?? 0), Math.max(d3.max(all) ?? 1, d3.max(all) <= 1 ? 1 : 0)];
    const colour = heat === "difference"
      ? ramp(["--lower", "--low", "--higher"], -CLIP * (high - low), CLIP * (high - low))
      : ramp(["--low", "--middle", "--high"], low, high);
    place.append(chips(colour));

    const narrow = T.narrow();
    const longest = d3.max(rows, (each) => Math.min(narrow ? 11 : 18, T.name(each).length)) ?? 8;
    const left = Math.max(48, Math.ceil(6.7 * longest) + 12);
    const width = Math.max(place.clientWidth, left + columns.length * (narrow ? TOUCHED : 3) + 4);
    const size = Math.min(44, (width - left - 4) / columns.length);
    const [above, gapRows, rowHeight] = [70, 10, narrow ? TOUCHED : 16];
    const top = above + gapRows;
    const bottom = top + rows.length * rowHeight;
    const height = bottom + 26;
    const x = (i) => left + i * size;
    const group = T.group();
    const faded = (queries) => (group && !queries.some((q) => group.has(q)) ? 0.18 : 1);
    const gap = size > 5 ? 1 : 0;
    const means = columns.map((queries) => values.map((row) => meanOf(row, queries)));
    const up = d3.scaleLinear([low, high], [above, 6]);
    const at = columns.findIndex((queries) => queries.includes(chosen));
    const dot = (i, each, fill, opacity) => T.s("circle", {class: "mark", "data-q": columns[i].length === 1 ? columns[i][0] : null, cx: x(i) + size / 2, cy: up(means[i][each]), r: Math.max(1.3, Math.min(3.2, size / 2.6)), fill, opacity});
    const strip = columns.map((queries, i) => {
      const [least, most] = d3.extent(means[i]);
      const opacity = faded(queries) === 1 ? null : 0.18;
      return [
        T.s("line", {x1: x(i) + size / 2, x2: x(i) + size / 2, y1: up(least), y2: up(most), stroke: "var(--other)", "stroke-width": Math.max(1, Math.min(3, size / 3)), opacity}),
        dot(i, ref, "var(--orange)", opacity), dot(i, looked, "var(--blue)", opacity)];
    });
    const hardHalf = ease.of[T.hardest(m)[Math.floor(T.queries(m).length / 4)]];
    const wider = width > place.clientWidth;
    const scroller = T.h("div", {class: "scroll", ...(wider && {class: "scroll wider", tabindex: 0, role: "group", "aria-label": "Heat map, wider than the page"})});
    place.append(scroller);
    const beside = () => [
      [low, (low + high) / 2, high].map((value) => T.s("text", {x: left - 8, y: up(value) + 4, "text-anchor": "end", style: "font-size:11px"}, T.fmt.tick(value, (high - low) / 2))),
      rows.map((each, row) => labelOf(each, {x: left - 8, y: top + (row + 0.5) * rowHeight + 4, "text-anchor": "end"}, narrow ? 11 : 18))];
    const {svg, picture} = cells(scroller, {
      width, height, label: `${measure.name} of ${T.fmt.plural(rows.length, "run", "runs")} for ${T.fmt.plural(T.queries(m).length, "query", "queries")}, from hard to easy`,
      paint(cell) {
        rows.forEach((each, row) => columns.forEach((queries, i) => {
          const value = heat === "difference" ? means[i][each] - means[i][ref] : means[i][each];
          cell(x(i), top + row * rowHeight, Math.max(0.5, size - gap), rowHeight - 1, colour(value), faded(queries));
        }));
      },
      above: [
        [low, (low + high) / 2, high].map((value) => T.s("line", {class: "grid", x1: left, x2: x(columns.length), y1: up(value), y2: up(value)})),
        strip,
        beside(),
        rows.map((each, row) => T.s("rect", {class: "frame", "data-run": each, x: left - 1, y: top + row * rowHeight - 0.5, width: columns.length * size + 1, height: rowHeight, opacity: 0})),
        columns.map((queries, i) => queries.length > 1 ? null : T.s("rect", {class: "frame", "data-q": queries[0], x: x(i) - 0.5, y: top - 2, width: size, height: bottom - top + 3, opacity: 0})),
        at < 0 ? null : [
          T.s("rect", {class: "frame", x: x(at) - 1, y: top - 3, width: size + 1, height: bottom - top + 5}),
          T.s("text", {x: Math.max(left + 12, Math.min(x(columns.length) - 12, x(at) + size / 2)), y: bottom + 16, "text-anchor": "middle", style: "fill:var(--ink);font-weight:600"}, T.fmt.short(T.data.qids[chosen], 14))],
        sides(at < 0 ? null : x(at), left, x(columns.length), bottom + 16, hardHalf),
      ],
    });
    // Names and numbers stay where the columns are scrolled below them.
    if (wider) scroller.firstChild.prepend(T.s("svg", {class: "beside", width: left - 2, height, style: `margin-bottom:${-height}px`, "aria-hidden": "true"},
      T.s("rect", {width: left - 2, height, fill: "var(--paper)"}), beside()));
    const under = (event) => {
      const [px, py] = pointed(event, svg);
      const i = Math.floor((px - left) / size);
      const row = Math.floor((py - top) / rowHeight);
      if (!columns[i]) return null;
      return {queries: columns[i], run: py < top || py > bottom ? null : rows[row] ?? null, i};
    };
    svg.dataset.ownHint = "";
    svg.addEventListener("pointermove", (event) => {
      const found = under(event);
      T.highlight(found ? {run: found.run, q: found.queries.length === 1 ? found.queries[0] : null} : {run: numberAt(event)});
      if (!found || event.pointerType === "touch") return T.unhint();
      T.hintAt(event, heatHint(found, means[found.i], measure));
    });
    svg.addEventListener("click", (event) => {
      const found = under(event);
      if (!found) return;
      const {queries, run} = found;
      if (run != null && run !== ref) T.set({run});
      if (queries.length > 1) T.onQueries?.(queries);
      T.look({q: queries.length > 1 ? d3.greatest(queries, (q) => Math.abs(values[T.state.run][q] - values[ref][q])) : queries[0]});
    });
    T.figure(root, {name: "queries", title: `${measure.name} by query, hard to easy`, svg: picture, csv: () => [
      ["query", ...T.order(m).map(T.name)], ...T.hardest(m).map((q) => [T.data.qids[q], ...T.order(m).map((each) => values[each][q])])]});
  },
});

function sides(at, left, right, y, hard) {
  const free = (from, to) => at == null || at < from - 60 || at > to + 60;
  return [
    free(left, left + 150) ? T.s("text", {x: left, y}, Number.isFinite(hard) ? `← hard: a quarter below ${T.fmt.value(hard, 2)}` : "← hard") : null,
    free(right - 40, right) ? T.s("text", {x: right, y, "text-anchor": "end"}, "easy →") : null,
  ];
}

function heatHint({queries, run}, means, measure) {
  const {ref, run: looked} = T.state;
  const title = queries.length > 1 ? `${queries.length} queries, ${T.data.qids[queries[0]]} to ${T.data.qids[queries.at(-1)]}` : T.data.qids[queries[0]];
  const text = queries.length > 1 ? null : T.data.texts?.[T.data.qids[queries[0]]];
  const said = [...new Set([run, looked, ref])].filter((each) => each != null).map((each) => T.h("span", {}, `${T.name(each)} ${T.fmt.value(means[each])}`));
  return [T.h("b", {}, text ? `${title}: ${T.fmt.short(text, 120)}` : title), T.h("span", {}, measure.name), ...said];
}

/* What the colours of a ramp mean, with its ends in words. */
function scaleOf({colours}, low, high) {
  const drawn = T.s("svg", {width: 110, height: 16, "aria-hidden": "true"},
    colours.map((fill, i) => T.s("rect", {x: (i * 110) / colours.length, y: 3, width: 110 / colours.length + 0.4, height: 10, fill})));
  return T.h("span", {class: "scale", role: "img", "aria-label": `Colours from ${low} to ${high}`}, low, drawn, high);
}

function chips(colour) {
  const {heat, group, ref} = T.state;
  const chip = (text, pressed, change, title) =>
    T.h("button", {type: "button", "aria-pressed": String(pressed), title, on: {click: (event) => {
      const number = T.all("#heat .chips button").indexOf(event.currentTarget);
      T.set(change);
      T.all("#heat .chips button")[number]?.focus();
    }}}, text);
  const {low, high} = colour;
  const scale = heat === "difference" ? scaleOf(colour, `worse ${T.fmt.signed(low, 1)}`, `${T.fmt.signed(high, 1)} better`)
    : scaleOf(colour, T.fmt.tick(low, high - low), T.fmt.tick(high, high - low));
  return T.h("div", {class: "chips"},
    T.h("span", {}, "Colour is"),
    chip("the value", heat === "value", {heat: "value"}),
    chip(`the difference from ${T.fmt.short(T.name(ref))}`, heat === "difference", {heat: "difference"}),
    scale,
    T.data.groups?.length ? [
      T.h("span", {class: "next"}, "Queries"), chip("all", !group, {group: ""}),
      T.data.groups.map(({name, sets}, set) => sets.map(([label, queries], part) =>
        chip(label, group === `${set}.${part}`, {group: group === `${set}.${part}` ? "" : `${set}.${part}`}, `${name}: ${T.fmt.plural(queries.length, "query", "queries")}`))),
    ] : null);
}
