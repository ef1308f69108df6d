"use strict";
(() => {
  const { report, plots, pair, themes } = JSON.parse(document.getElementById("data").textContent);
  const names = report.runs.map((run) => run.name);
  const byId = (id) => document.getElementById(id);
  const decimals = (value) => (value === null ? "–" : value.toFixed(4));
  const signed = (value) => (value === null ? "–" : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(4));
  // Beyond so many marks a canvas is much faster than an SVG.
  const MANY = 1500;

  for (const element of document.querySelectorAll(".scripted")) element.hidden = false;

  // ---- themes -------------------------------------------------------------------------------------------------
  const darkness = matchMedia("(prefers-color-scheme: dark)");
  const choices = ["auto", "light", "dark"];
  let choice = "auto";
  let paper = false;
  const theme = () => {
    if (paper) return "light";
    return choice === "auto" ? (darkness.matches ? "dark" : "light") : choice;
  };

  // ---- plots --------------------------------------------------------------------------------------------------
  // The words that a plot leaves open, filled in at once: a name that looks like such a word stays as it is.
  const filled = (part, words) => {
    if (Array.isArray(part)) return part.map((one) => filled(one, words));
    if (part && typeof part === "object") {
      return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, filled(value, words)]));
    }
    return typeof part === "string" ? part.replace(/\{(first|second|measure)\}/g, (_, word) => words[word]) : part;
  };

  const longest = Math.max(...names.map((name) => name.length));
  const fitted = (width) => {
    const label = Math.min(180, Math.max(70, width * 0.33));
    const entry = Math.min(180, 40 + 7.5 * longest);
    return {
      axisX: { titleLimit: Math.min(420, width - 70) },
      axisY: { labelLimit: label },
      legend: { columns: Math.max(1, Math.floor(width / (entry + 24))), labelLimit: Math.min(170, width - 60) },
    };
  };

  const turn = new Map();
  const drawn = async (id, spec, marks) => {
    const box = byId(id);
    const number = (turn.get(id) || 0) + 1;
    turn.set(id, number);
    const width = box.clientWidth;
    // A heat map of many runs is wider than a phone: it scrolls in its box.
    if (id === "overlap-plot") box.style.minWidth = `${Math.min(width * 0.33, 180) + 34 * names.length}px`;
    const fit = fitted(width);
    const config = { ...themes[theme()] };
    config.axisX = fit.axisX;
    config.axisY = fit.axisY;
    config.legend = { ...config.legend, ...fit.legend };
    const options = {
      actions: false,
      ast: true,
      config,
      renderer: marks > MANY ? "canvas" : "svg",
      tooltip: { theme: "page", disableDefaultStyle: false },
    };
    const made = await vegaEmbed(box, spec, options);
    if (turn.get(id) !== number) return;
    if (box.made && box.made !== made) box.made.finalize();
    box.made = made;
    box.view = made.view;
  };

  const fixed = () => Object.entries(plots).map(([name, spec]) => [name === "overlap" ? "overlap-plot" : name, spec, 0]);

  // ---- two runs -----------------------------------------------------------------------------------------------
  const first = byId("first");
  const second = byId("second");
  const measure = byId("measure");
  const baseline = report.baseline;
  second.value = String(baseline === null ? Math.min(1, names.length - 1) : baseline);
  first.value = String(second.value === "0" ? Math.min(1, names.length - 1) : 0);

  let words;
  let rows;
  const choose = () => {
    const [a, b, m] = [first, second, measure].map((control) => Number(control.value));
    const { name, values } = report.measures[m];
    words = { first: names[a], second: names[b], measure: name };
    rows = report.queries[name].map((qid, query) => ({
      qid,
      text: report.texts[qid] || "",
      a: values[a][query],
      b: values[b][query],
    }));
  };

  const pairs = () =>
    Object.entries(pair).map(([name, spec]) => [
      name,
      { ...filled(spec, words), data: { name: "rows", values: rows.map((row) => ({ ...row })) } },
      rows.length,
    ]);

  const delta = (row) => row.a - row.b;

  const tell = () => {
    const wins = rows.filter((row) => delta(row) > 0).length;
    const losses = rows.filter((row) => delta(row) < 0).length;
    const { means } = report.measures[Number(measure.value)];
    const [a, b] = [means[Number(first.value)], means[Number(second.value)]];
    const gap = a === null || b === null ? null : a - b;
    byId("pair").textContent =
      `By ${words.measure}, ${words.first} is better in ${wins}, ${words.second} in ${losses} of ` +
      `${rows.length} ${rows.length === 1 ? "query" : "queries"}; they are equal in ${rows.length - wins - losses}. ` +
      `Means: ${decimals(a)} and ${decimals(b)}, difference ${signed(gap)}.`;
  };

  // ---- tables of queries --------------------------------------------------------------------------------------
  const withTexts = Object.keys(report.texts).length > 0;
  const cell = (tag, text, kind) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    if (tag === "th") made.scope = "col";
    return made;
  };

  let picked = "";
  const show = (qid) => {
    for (const id of ["scatter", "deltas"]) {
      const view = byId(id).view;
      if (view) view.signal("picked", qid).runAsync();
    }
  };
  const press = (button, qid) => {
    picked = picked === qid ? "" : qid;
    for (const other of byId("largest").querySelectorAll("button")) {
      other.setAttribute("aria-pressed", String(other === button && picked === qid));
    }
    show(picked);
  };

  const heading = (qid, buttons) => {
    const head = cell("th", buttons ? "" : qid);
    head.scope = "row";
    if (!buttons) return head;
    const button = cell("button", qid);
    button.type = "button";
    button.title = "Mark this query in the plots";
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => press(button, qid));
    for (const event of ["focus", "mouseenter"]) button.addEventListener(event, () => show(qid));
    for (const event of ["blur", "mouseleave"]) button.addEventListener(event, () => show(picked));
    head.append(button);
    return head;
  };

  const fill = (table, chosen, buttons) => {
    const titles = [["Query"], ...(withTexts ? [["Text", "text"]] : []), [words.first], [words.second], ["Difference"]];
    const head = document.createElement("tr");
    head.append(...titles.map(([title, kind]) => cell("th", title, kind)));
    table.tHead.replaceChildren(head);
    table.tBodies[0].replaceChildren(
      ...chosen.map((row) => {
        const line = document.createElement("tr");
        line.append(heading(row.qid, buttons));
        if (withTexts) line.append(cell("td", row.text, "text"));
        line.append(cell("td", decimals(row.a)), cell("td", decimals(row.b)), cell("td", signed(delta(row))));
        return line;
      }),
    );
  };

  const all = byId("all");
  const tables = () => {
    picked = "";
    const order = [...rows].sort((one, other) => Math.abs(delta(other)) - Math.abs(delta(one)));
    fill(byId("largest"), order.slice(0, 20), true);
    if (all.open) fill(all.querySelector("table"), rows, false);
  };
  all.addEventListener("toggle", () => all.open && fill(all.querySelector("table"), rows, false));

  const compare = async () => {
    choose();
    tell();
    tables();
    await each(pairs());
  };

  const each = async (list) => {
    for (const [id, spec, marks] of list) {
      try {
        await drawn(id, spec, marks);
      } catch (error) {
        byId(id).textContent = "This plot could not be drawn; its numbers are in the table.";
        console.error(error);
      }
    }
  };

  for (const control of [first, second, measure]) control.addEventListener("change", compare);
  byId("swap").addEventListener("click", () => {
    [first.value, second.value] = [second.value, first.value];
    compare();
  });

  // ---- a table that sorts -------------------------------------------------------------------------------------
  const summary = byId("summary");
  const heads = [...summary.tHead.rows[0].cells];
  const key = (row, column) => {
    const data = row.cells[column].dataset.value;
    // The name without the tag behind it.
    return column === 0 ? row.cells[0].firstChild.textContent.trim() : data === "" ? -Infinity : Number(data);
  };
  const sort = (column) => {
    const now = heads[column].getAttribute("aria-sort");
    // Names begin with the first, means with the highest.
    const ascending = now ? now === "descending" : column === 0;
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const lines = [...summary.tBodies[0].rows].sort((one, other) => {
      const [a, b] = [key(one, column), key(other, column)];
      const order = a < b ? -1 : a > b ? 1 : 0;
      return ascending ? order : -order;
    });
    summary.tBodies[0].append(...lines);
  };
  heads.forEach((head, column) => {
    const button = cell("button", head.textContent);
    button.type = "button";
    button.addEventListener("click", () => sort(column));
    head.replaceChildren(button);
  });

  // ---- all of it ----------------------------------------------------------------------------------------------
  const draw = () => each([...fixed(), ...pairs()]);
  const button = byId("theme");
  button.addEventListener("click", () => {
    choice = choices[(choices.indexOf(choice) + 1) % choices.length];
    button.textContent = `Theme: ${choice}`;
    if (choice === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
    draw();
  });
  darkness.addEventListener("change", draw);
  // Legends are laid out for the width they are drawn at.
  let wide = innerWidth;
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (innerWidth === wide || paper) return;
      wide = innerWidth;
      draw();
    }, 250);
  });
  // On paper everything is light. The printer does not wait: plots are ready in time because all of them begin at once
  // and none waits for a timer or a file.
  addEventListener("beforeprint", () => {
    if (theme() === "light") return;
    paper = true;
    for (const one of [...fixed(), ...pairs()]) drawn(...one);
  });
  addEventListener("afterprint", () => {
    if (!paper) return;
    paper = false;
    draw();
  });

  choose();
  tell();
  tables();
  draw().then(() => document.documentElement.setAttribute("data-drawn", ""));
})();
