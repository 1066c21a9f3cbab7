// What moves on the page: zoom and pan, the steps of a pass, and what the box under the pointer is.
#include "reports/explain/page.h"

namespace thtrain {

const char* const kExplainScript = R"js(
document.documentElement.classList.add("scripted");
const data = JSON.parse(document.getElementById("data").textContent);
const bar = document.querySelector("nav");
const leaveRoom = () => {
  const covers = getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
  document.documentElement.style.scrollPaddingTop = `${covers + 12}px`;
};
leaveRoom();
window.addEventListener("resize", leaveRoom);
const part = (name, className, parent, text) => {
  const out = document.createElement(name);
  if (className) out.className = className;
  if (text !== undefined) out.textContent = text;
  if (parent) parent.append(out);
  return out;
};
const numberText = value => {
  if (value === null) return "not finite";
  const rounded = Number(value.toPrecision(4)), size = Math.abs(rounded);
  return rounded !== 0 && (size >= 1e6 || 1e-4 > size) ? rounded.toExponential() : String(rounded);
};
// An array: its range, and its first elements in cells, darker where they are larger.
const showValue = (value, parent) => {
  const facts = part("p", "", parent, value.type);
  if (value.rows === undefined) return;
  if (value.least !== undefined)
    facts.append(`: from ${numberText(value.least)} to ${numberText(value.largest)}, mean ${numberText(value.mean)}`);
  if (value.bad > 0) facts.append(`, ${value.bad} not finite`);
  const table = part("table", "values", part("div", "wide", parent));
  for (const row of value.rows) {
    const line = part("tr", "", table);
    for (const number of row) {
      const at = value.largest > value.least ? (number - value.least) / (value.largest - value.least) : 0;
      const cell = part("td", "number", line, numberText(number));
      cell.style.background = `color-mix(in srgb, var(--accent) ${Math.round(45 * at)}%, transparent)`;
    }
  }
  const shape = (value.type.match(/\[(.*)\]/)?.[1] ?? "").split(",").filter(Boolean).map(Number);
  const seen = value.rows.length * (value.rows[0]?.length ?? 0), all = shape.reduce((a, b) => a * b, 1);
  if (all > seen) part("p", "soft", parent, `the first ${seen} of ${all} elements`);
};
const setUp = figure => {
  const view = figure.querySelector(".view"), svg = view.querySelector("svg"), told = figure.querySelector(".told");
  const width = Number(svg.getAttribute("width")), height = Number(svg.getAttribute("height"));
  const room = () => view.clientWidth;
  // As wide as the page, but no letters below 9 pixels; of what is wider, the top is seen first.
  let scale = Math.min(1, Math.max(0.75, room() / width));
  const show = () => {
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
  };
  const zoom = (to, x = view.clientWidth / 2, y = view.clientHeight / 2) => {
    const left = (view.scrollLeft + x) / scale, top = (view.scrollTop + y) / scale;
    scale = Math.min(4, Math.max(0.1, to));
    show();
    view.scrollLeft = left * scale - x;
    view.scrollTop = top * scale - y;
  };
  const zooms = {
    "+": () => scale * 1.25, "-": () => scale / 1.25, "fit": () => Math.min(1, room() / width), "1:1": () => 1
  };
  figure.querySelectorAll(".zoom button").forEach(button =>
    button.addEventListener("click", () => zoom(zooms[button.value]())));
  view.addEventListener("wheel", event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const at = view.getBoundingClientRect();
    zoom(scale * (event.deltaY > 0 ? 1 / 1.15 : 1.15), event.clientX - at.left, event.clientY - at.top);
  }, {passive: false});
  let from = null, moved = false;
  view.addEventListener("pointerdown", event => {
    if (event.pointerType === "mouse") from = [event.clientX + view.scrollLeft, event.clientY + view.scrollTop];
    moved = false;
  });
  window.addEventListener("pointermove", event => {
    if (!from) return;
    const far = Math.hypot(from[0] - event.clientX - view.scrollLeft, from[1] - event.clientY - view.scrollTop);
    moved = moved || far > 4;
    if (!moved) return;
    view.classList.add("held");
    view.scrollLeft = from[0] - event.clientX;
    view.scrollTop = from[1] - event.clientY;
  });
  window.addEventListener("pointerup", () => { from = null; view.classList.remove("held"); });
  show();
  if (width * scale > room()) {
    const boxes = [...svg.querySelectorAll("g.node:not(.past) rect")];
    const first = boxes.reduce((a, b) => Number(a.getAttribute("y")) > Number(b.getAttribute("y")) ? b : a);
    view.scrollLeft = (Number(first.getAttribute("x")) + Number(first.getAttribute("width")) / 2) * scale - room() / 2;
  }
  // What a box is.
  let kept = null;
  const tell = node => {
    told.replaceChildren();
    const lines = node.querySelector("title").textContent.trimEnd().split("\n");
    part("pre", "", told, lines.join("\n"));
    if (node.dataset.v !== undefined)
      for (const value of data.values[Number(node.dataset.v)]) showValue(value, told);
  };
  const light = node => {
    for (const edge of svg.querySelectorAll(`.edge[data-a="${node.dataset.i}"], .edge[data-b="${node.dataset.i}"]`)) {
      if (edge.classList.contains("past")) continue;
      edge.classList.add("lit");
      for (const end of [edge.dataset.a, edge.dataset.b])
        svg.querySelectorAll(`g.node[data-i="${end}"]`).forEach(other => other.classList.add("lit"));
    }
  };
  svg.querySelectorAll("g.node").forEach(node => {
    node.addEventListener("pointerenter", () => { light(node); if (!kept) tell(node); });
    node.addEventListener("pointerleave",
      () => svg.querySelectorAll(".lit").forEach(one => one.classList.remove("lit")));
    node.addEventListener("click", () => {
      if (moved) return;
      if (kept) kept.classList.remove("kept");
      kept = kept === node ? null : node;
      if (kept) { kept.classList.add("kept"); tell(node); }
    });
  });
  const steps = figure.querySelector(".steps");
  if (steps) setUpSteps(steps, svg);
};
// State `at` of the pass, 0 to last; `whole` marks what the whole pass removes (at the beginning) or has added.
const setUpSteps = (steps, svg) => {
  const last = Number(svg.dataset.last), names = [...steps.querySelectorAll("li")].map(item => item.textContent);
  const parts = [...svg.querySelectorAll("[data-from]")];
  let at = last, whole = true;
  const show = () => {
    const seen = new Set();
    for (const one of parts) {
      const from = Number(one.dataset.from), to = Number(one.dataset.to), is = at >= from && to >= at;
      if (is && one.dataset.i !== undefined) seen.add(one.dataset.i);
      one.classList.toggle("past", !is);
      one.classList.toggle("come", is && from > 0 && (whole ? at === last : from === at));
      one.classList.toggle("gone", whole ? is && at === 0 && last > to : to === at - 1);
    }
    // What the step has just removed is still seen, where nothing else has taken its position.
    for (const one of parts)
      if (one.classList.contains("gone") && !seen.has(one.dataset.i)) one.classList.remove("past");
    steps.querySelector("output").textContent = whole
      ? (at === 0 ? "before the pass: dashed red is what it removes" : "after the pass: green is what it has added")
      : at === 0 ? "before the first step" : `step ${at} of ${last}: ${names[at - 1]}`;
    const off = {before: whole && at === 0, after: whole && at === last, back: at === 0, on: at === last};
    steps.querySelectorAll("button").forEach(button => { button.disabled = Boolean(off[button.value]); });
  };
  const go = {
    before: () => { at = 0; whole = true; },
    after: () => { at = last; whole = true; },
    back: () => { if (whole) whole = false; else at -= 1; },
    on: () => { whole = false; at += 1; }
  };
  steps.querySelectorAll("button").forEach(button =>
    button.addEventListener("click", () => { go[button.value](); show(); }));
  show();
};
document.querySelectorAll("figure").forEach(figure => {
  const details = figure.closest("details");
  if (!details || details.open) { setUp(figure); return; }
  details.addEventListener("toggle", () => setUp(figure), {once: true});
});
)js";

}  // namespace thtrain
