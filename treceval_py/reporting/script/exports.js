/* Saving a figure: as SVG with all styles written out, as PNG of twice the size, and its numbers as CSV. */

const AROUND = 16; // empty space round a saved figure
const TITLE = 17;
const ORIGIN = 11;
const STYLES = {
  fill: "rgb(0, 0, 0)", "fill-opacity": "1", stroke: "none", "stroke-width": "1px", "stroke-opacity": "1", "stroke-dasharray": "none",
  "stroke-linecap": "butt", "stroke-linejoin": "miter", opacity: "1", "paint-order": "normal", "dominant-baseline": "auto",
};
const TEXT_STYLES = {"font-size": "", "font-weight": "400", "font-style": "normal", "text-anchor": "start"};
const LEFT_OUT = "details, .save, .unseen, .not-exported, .target";

const colour = (name) => {
  const probe = document.body.appendChild(T.h("i", {style: `color:var(${name})`}));
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};
/* The font of an element, and fonts that other programs have instead. */
function family(style) {
  const first = style.fontFamily.split(",")[0].trim();
  const others = /serif/i.test(first) ? "Georgia, serif" : /mono/i.test(first) ? "Menlo, Consolas, monospace" : "Helvetica, Arial, sans-serif";
  return `${first}, ${others}`;
}
const measuring = document.createElement("canvas").getContext("2d");
function textWidth(text, font) {
  measuring.font = font;
  return measuring.measureText(text).width;
}

function fit(text, width) {
  if (!width) return;
  text.setAttribute("textLength", width.toFixed(1));
  text.setAttribute("lengthAdjust", "spacingAndGlyphs");
}

// A picture of what is drawn --------------------------------------------------------------------------

/* A copy of a drawing that needs no style sheet. */
function standalone(drawn) {
  const copy = drawn.cloneNode(true);
  const [from, to] = [[drawn, ...drawn.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  const gone = [];
  from.forEach((element, i) => {
    const made = to[i];
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden" || element.matches(LEFT_OUT)) return gone.push(made);
    for (const {name} of [...made.attributes])
      if (/^(class|style|id|role|tabindex|on|aria-|data-)/.test(name)) made.removeAttribute(name);
    const text = element.localName === "text" || element.localName === "tspan";
    for (const [name, usual] of Object.entries(text ? {...STYLES, ...TEXT_STYLES} : STYLES)) {
      const value = style.getPropertyValue(name);
      if (value === usual) made.removeAttribute(name);
      else made.setAttribute(name, value);
    }
    if (text) made.setAttribute("font-family", family(style));
    // Other fonts are made to fit where this one is not installed.
    if (element.localName === "text" && element.textContent) fit(made, element.getComputedTextLength());
  });
  gone.forEach((made) => made.remove());
  return copy;
}

/* Texts, tables, drawings and images of an element, where they are on the screen, as children of `into`. */
function copied(element, into, origin) {
  const style = getComputedStyle(element);
  if (style.display === "none" || style.visibility === "hidden" || element.matches(LEFT_OUT)) return;
  const box = element.getBoundingClientRect();
  const at = {x: box.left - origin.left, y: box.top - origin.top};
  if (element instanceof SVGSVGElement) {
    const copy = standalone(element);
    for (const [name, value] of Object.entries({...at, width: box.width, height: box.height, overflow: "visible"})) copy.setAttribute(name, value);
    into.append(copy);
    return;
  }
  if (element instanceof HTMLCanvasElement) {
    into.append(T.s("image", {...at, width: box.width, height: box.height, href: element.toDataURL()}));
    return;
  }
  const ground = style.backgroundColor;
  if (!/^rgba\(.*, 0\)$|^transparent$/.test(ground))
    into.append(T.s("rect", {...at, width: box.width, height: box.height, rx: parseFloat(style.borderRadius) || null, fill: ground}));
  const framed = parseFloat(style.borderLeftWidth);
  if (framed) {
    const dashes = style.borderLeftStyle === "dashed" ? "3 2" : null;
    into.append(T.s("rect", {...at, width: box.width, height: box.height, rx: parseFloat(style.borderRadius) || null, fill: "none", stroke: style.borderLeftColor, "stroke-width": framed, "stroke-dasharray": dashes}));
  }
  for (const [name, y] of [["Top", at.y], ["Bottom", at.y + box.height]]) {
    const width = parseFloat(style[`border${name}Width`]);
    if (width && !framed) into.append(T.s("line", {x1: at.x, x2: at.x + box.width, y1: y, y2: y, stroke: style[`border${name}Color`], "stroke-width": width}));
  }
  for (const child of element.childNodes)
    if (child.nodeType === Node.TEXT_NODE) lines(child, style, into, origin);
    else if (child instanceof Element) copied(child, into, origin);
}

/* The lines of a text as it is broken on the screen. */
function lines(node, style, into, origin) {
  const range = document.createRange();
  const found = [];
  for (const {0: word, index} of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    const last = found.at(-1);
    if (!box.width) continue;
    if (last && Math.abs(last.box.top - box.top) < 2) {
      last.words.push(word);
      last.right = box.right;
    } else found.push({box, right: box.right, words: [word]});
  }
  const font = `${style.fontWeight} ${style.fontSize} ${family(style)}`;
  measuring.font = font;
  const {fontBoundingBoxAscent: above, fontBoundingBoxDescent: below} = measuring.measureText("x");
  for (const {box, right, words} of found) {
    const made = T.s("text", {
      x: box.left - origin.left, y: box.top - origin.top + (box.height * above) / (above + below), fill: style.color,
      "font-size": style.fontSize, "font-weight": style.fontWeight, "font-family": family(style),
    }, words.join(" "));
    fit(made, right - box.left);
    into.append(made);
  }
}

/* Text in lines of a width in pixels. */
function broken(text, wide, font) {
  const found = [];
  for (const word of text.split(/\s+/)) {
    const longer = found.length ? `${found.at(-1)} ${word}` : word;
    if (found.length && textWidth(longer, font) <= wide) found[found.length - 1] = longer;
    else found.push(word);
  }
  return found;
}

const origins = () => {
  const {title, version, judgments} = T.data;
  const file = judgments?.name ? `judgments ${judgments.name}${judgments.hash ? ` (${judgments.hash})` : ""}` : "";
  return [title, T.measure().label, file, `treceval ${version}`].filter(Boolean).join(" · ");
};

/* T.picture(element): a registered figure as one SVG element, with its title above and a line of origin below. */
T.picture = (element) => {
  const {title, svg} = T.figures.get(element);
  const shown = svg ? document.body.appendChild(T.h("div", {class: "saved"}, svg())) : T.get(".drawn", element) ?? element;
  const inner = T.s("g");
  const origin = shown.getBoundingClientRect();
  // A wide figure that scrolls is saved whole.
  const width = Math.max(320, shown.scrollWidth);
  copied(shown, inner, origin);
  const height = Math.max(shown.scrollHeight, origin.height);
  const style = getComputedStyle(shown);
  const sans = family(style);
  if (svg) shown.remove();
  const heads = broken(typeof title === "function" ? title() : title, width, `600 ${TITLE}px ${sans}`);
  const feet = broken(origins(), width, `400 ${ORIGIN}px ${sans}`);
  const top = AROUND + heads.length * (TITLE + 5) + 8;
  const all = {width: width + 2 * AROUND, height: top + height + 16 + feet.length * (ORIGIN + 4) + AROUND};
  const line = (text, y, size, weight, fill) => {
    const made = T.s("text", {x: AROUND, y, "font-family": sans, "font-size": size, "font-weight": weight, fill}, text);
    fit(made, textWidth(text, `${weight} ${size}px ${sans}`));
    return made;
  };
  inner.setAttribute("transform", `translate(${AROUND} ${top})`);
  return T.s("svg", {xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${all.width} ${all.height}`, ...all},
    T.s("title", {}, heads.join(" ")),
    T.s("rect", {width: all.width, height: all.height, fill: colour("--paper")}),
    heads.map((text, i) => line(text, AROUND + TITLE + i * (TITLE + 5) - 3, TITLE, 600, colour("--ink"))),
    inner,
    feet.map((text, i) => line(text, top + height + 16 + (i + 1) * (ORIGIN + 4) - 4, ORIGIN, 400, colour("--muted"))));
};

// Files -----------------------------------------------------------------------------------------------

const written = (picture) => `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(picture)}\n`;

async function painted(picture) {
  const fonts = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule instanceof CSSFontFaceRule);
  picture.prepend(T.s("style", {}, fonts.map((rule) => rule.cssText).join("\n")));
  const address = URL.createObjectURL(new Blob([written(picture)], {type: "image/svg+xml"}));
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = T.h("canvas", {width: 2 * picture.getAttribute("width"), height: 2 * picture.getAttribute("height")});
  const brush = canvas.getContext("2d");
  brush.scale(2, 2);
  brush.drawImage(image, 0, 0);
  URL.revokeObjectURL(address);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

const quoted = (cell) => (/[",\r\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
T.csv = (rows) => rows.map((row) => `${row.map(quoted).join(",")}\r\n`).join("");

const SAVED = {
  SVG: (element) => new Blob([written(T.picture(element))], {type: "image/svg+xml"}),
  PNG: (element) => painted(T.picture(element)),
  CSV: (element) => new Blob([T.csv(T.figures.get(element).csv())], {type: "text/csv"}),
};

async function save(element, kind) {
  const blob = await SAVED[kind](element);
  const address = URL.createObjectURL(blob);
  const name = `${T.figures.get(element).name}-${T.measure().name.replace(/[^\w.@-]+/g, "_")}.${kind.toLowerCase()}`;
  T.h("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  T.announce(`Saved ${name}.`);
}

T.onFigure = (element) => {
  const title = T.get("h3", element)?.textContent ?? "All runs";
  const button = (kind) => T.h("button", {
    type: "button", "aria-label": `Save “${title}” as ${kind}`, on: {click: () => save(element, kind)},
  }, kind);
  element.append(T.h("div", {class: "save not-printed"}, T.h("span", {"aria-hidden": "true"}, "Save as "), Object.keys(SAVED).map(button)));
};
