// How the page looks, and the little that moves on it: zoom, and what the node under the pointer reads and what reads
// it.
#include "reports/explain/page.h"

namespace thtrain {

const char* const kPageStyle = R"(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1c2126; --soft: #525c65; --line: #d8dde2; --panel: #f6f8fa; --accent: #0b62c4;
  --come: #0f7a31; --gone: #c52626; --edge: #7f8a95;
  --input: #ffffff; --input-line: #4b5560; --shared: #fdf1cf; --shared-line: #b98a00;
  --constant: #f0f0f0; --constant-line: #8c8c8c; --elemwise: #e2eefc; --elemwise-line: #3a76b5;
  --reduce: #fde5da; --reduce-line: #c6562b; --linalg: #dcf2e1; --linalg-line: #2c8a4c;
  --shape: #eee9f8; --shape-line: #7a60b0; --index: #ddf2f2; --index-line: #24868a;
  --nnet: #fbe2ed; --nnet-line: #b63a76; --fused: #d7e0ff; --fused-line: #3b4cc0;
  --conv: #e6f0c8; --conv-line: #66801a; --pool: #efe6d8; --pool-line: #8a6a3a;
  --control: #e3e6f0; --control-line: #44507a; --other: #eeeeee; --other-line: #666666; --end: #e8ebee;
  --end-line: #1c2126;
  --word: #a626a4; --literal: #8a5e00; --comment: #526b52; --macro: #7a60b0;
  --gradient: #a8136f; --update: #8a4400;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --ink: #e4e8ec; --soft: #9aa6b1; --line: #343c45; --panel: #1c2229; --accent: #6cb0ff;
    --come: #43c96b; --gone: #ff6b6b; --edge: #66717c;
    --input: #14181d; --input-line: #b3bdc7; --shared: #3d330f; --shared-line: #d9ae2c;
    --constant: #2a2d31; --constant-line: #8c949c; --elemwise: #17304b; --elemwise-line: #6aa9e8;
    --reduce: #48251a; --reduce-line: #ee8a62; --linalg: #15391f; --linalg-line: #5cc47f;
    --shape: #2d2445; --shape-line: #ab93e0; --index: #123738; --index-line: #52bfc4;
    --nnet: #431a30; --nnet-line: #ea7fb1; --fused: #222b5e; --fused-line: #8d9bff;
    --conv: #2b3510; --conv-line: #b3cf55; --pool: #372c1b; --pool-line: #d0aa70;
    --control: #23283c; --control-line: #98a5d8; --other: #2d2f33; --other-line: #9a9fa6; --end: #2b323a;
    --end-line: #e4e8ec;
    --word: #d78fe0; --literal: #e0b26a; --comment: #8fb08f; --macro: #ab93e0;
    --gradient: #ff79c9; --update: #ffab5e;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 6rem; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
code, pre, svg text, td.code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
header, main { max-width: 1500px; margin: 0 auto; padding: 0 1.5rem; }
header { padding-top: 1.6rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0; }
h2 { font-size: 1.5rem; margin: 2.6rem 0 .4rem; padding-top: .6rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.2rem; margin: 0; display: inline; }
p { margin: .4rem 0 .8rem; max-width: 60rem; }
.soft { color: var(--soft); }
ol.way { display: flex; flex-wrap: wrap; gap: .6rem; list-style: none; padding: 0; margin: 1rem 0; }
ol.way li { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .35rem .9rem; }
ol.way b { font-size: 1.3rem; }
ol.way a { color: inherit; }
nav { position: sticky; top: 0; z-index: 2; background: var(--paper); border-bottom: 1px solid var(--line); }
nav div { max-width: 1500px; margin: 0 auto; padding: .45rem 1.5rem; display: flex; flex-wrap: wrap;
  gap: .1rem 1.1rem; font-size: .95rem; }
nav a.still { color: var(--soft); }
@media (max-width: 60rem), (max-height: 30rem) { nav { position: static; } html { scroll-padding-top: 1rem; } }
table { border-collapse: collapse; margin: .4rem 0 1rem; font-size: .95rem; }
th { text-align: left; font-weight: 600; border-bottom: 2px solid var(--line); }
th, td { padding: .25rem .9rem .25rem 0; vertical-align: top; }
td { border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; }
td.code { font-size: .86rem; }
.whole { white-space: nowrap; }
.wide { overflow-x: auto; }
.safety { white-space: nowrap; border-radius: 4px; padding: .05rem .45rem; font-size: .85rem;
  border: 1px solid var(--line); }
.safety.exact { border-color: var(--come); color: var(--come); }
.safety.finite-math { border-color: var(--gone); color: var(--gone); }
.arrow { color: var(--soft); padding: 0 .4rem; }
details { margin: .6rem 0; }
details.pass { border: 1px solid var(--line); border-radius: 10px; padding: .7rem 1rem; margin: 1rem 0; }
details.pass[open] { padding-bottom: 1rem; }
summary { cursor: pointer; }
summary code { color: var(--soft); font-size: .9rem; }
.count { float: right; color: var(--soft); }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem;
  overflow: auto; max-height: 85vh; font-size: 14px; line-height: 1.45; margin: .5rem 0; }
pre .come { color: var(--come); } pre .gone { color: var(--gone); }
pre .c { color: var(--comment); }
pre .k { color: var(--word); }
pre .n { color: var(--literal); }
pre .p { color: var(--macro); }
pre a.mark { scroll-margin-top: 2.2rem; position: relative; }
pre a.mark:target::before { content: "\25B8"; position: absolute; right: 1px; color: var(--accent); }
ul.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; list-style: none; padding: 0; margin: .4rem 0 .8rem;
  font-size: .92rem; }
ul.legend svg { width: 26px; height: 16px; vertical-align: -2px; margin-right: .4rem; }
figure { margin: .5rem 0; border: 1px solid var(--line); border-radius: 8px; }
figure .view { overflow: auto; max-height: 86vh; text-align: center; }
figure .zoom { display: none; gap: .25rem; justify-content: end; padding: .35rem .5rem;
  border-bottom: 1px solid var(--line); }
.scripted figure .zoom { display: flex; }
.zoom button { font: inherit; line-height: 1; padding: .25rem .6rem; border: 1px solid var(--line);
  border-radius: 6px; background: var(--panel); color: var(--ink); cursor: pointer; }
.pick { position: absolute; opacity: 0; }
.pick + label { display: inline-block; padding: .15rem .9rem; border: 1px solid var(--line); border-radius: 999px;
  cursor: pointer; margin: .4rem .3rem 0 0; }
.pick:checked + label { background: var(--ink); color: var(--paper); }
.pick:focus-visible + label { outline: 2px solid var(--accent); }
.pick.before:checked ~ figure.after, .pick.after:checked ~ figure.before { display: none; }
svg.graph, svg.memory { display: inline-block; vertical-align: top; }
svg text { fill: var(--ink); text-anchor: middle; }
svg .op { font-size: 13px; font-weight: 600; }
svg .about { font-size: 11px; fill: var(--soft); }
svg .type { font-size: 11px; fill: var(--ink); stroke: var(--paper); stroke-width: 5px; paint-order: stroke; }
svg .edge { fill: none; stroke: var(--edge); stroke-width: 1.5; }
svg .tip { fill: var(--edge); }
svg .edge.of-length { stroke-dasharray: 5 4; }
svg .edge.lit { stroke: var(--accent); stroke-width: 3; }
svg .node rect { fill: var(--other); stroke: var(--other-line); stroke-width: 1.4; }
svg .node:hover rect, svg .node.lit rect { stroke-width: 3; }
svg .input rect { fill: var(--input); stroke: var(--input-line); }
svg .shared rect { fill: var(--shared); stroke: var(--shared-line); }
svg .constant rect { fill: var(--constant); stroke: var(--constant-line); }
svg .elemwise rect { fill: var(--elemwise); stroke: var(--elemwise-line); }
svg .reduce rect { fill: var(--reduce); stroke: var(--reduce-line); }
svg .linalg rect { fill: var(--linalg); stroke: var(--linalg-line); }
svg .shape rect { fill: var(--shape); stroke: var(--shape-line); }
svg .index rect { fill: var(--index); stroke: var(--index-line); }
svg .nnet rect { fill: var(--nnet); stroke: var(--nnet-line); }
svg .conv rect { fill: var(--conv); stroke: var(--conv-line); }
svg .pool rect { fill: var(--pool); stroke: var(--pool-line); }
svg .control rect { fill: var(--control); stroke: var(--control-line); }
svg .fused rect { fill: var(--fused); stroke: var(--fused-line); }
svg .output rect { fill: var(--end); stroke: var(--end-line); }
svg .update rect { fill: var(--shared); stroke: var(--end-line); stroke-width: 2; }
svg .come rect { stroke: var(--come); stroke-width: 3.5; }
svg .gone rect { stroke: var(--gone); stroke-width: 3.5; stroke-dasharray: 7 4; }
svg .role { fill: none; stroke-width: 5; }
svg .of-gradient .role { stroke: var(--gradient); }
svg .of-gradient .about, td .gradient { fill: var(--gradient); color: var(--gradient); }
svg .of-update .role { stroke: var(--update); }
svg .of-update .about, td .update { fill: var(--update); color: var(--update); }
svg .axis { font-size: 11px; fill: var(--soft); }
svg .axis.end { text-anchor: end; }
svg .grid { stroke: var(--line); stroke-width: 1; fill: none; }
svg .buffer text { font-size: 11px; }
svg .b0 rect { fill: var(--elemwise); stroke: var(--elemwise-line); }
svg .b1 rect { fill: var(--linalg); stroke: var(--linalg-line); }
svg .b2 rect { fill: var(--reduce); stroke: var(--reduce-line); }
svg .b3 rect { fill: var(--shape); stroke: var(--shape-line); }
svg .b4 rect { fill: var(--index); stroke: var(--index-line); }
svg .b5 rect { fill: var(--shared); stroke: var(--shared-line); }
@media print { nav, .zoom { display: none; } figure .view, pre { max-height: none; overflow: visible; } }
)";

const char* const kPageScript = R"(
document.documentElement.classList.add("scripted");
const bar = document.querySelector("nav");
const leaveRoom = () => {
  const covers = getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
  document.documentElement.style.scrollPaddingTop = `${covers + 12}px`;
};
leaveRoom();
window.addEventListener("resize", leaveRoom);
// Of a wide graph, what stands highest is seen first.
const toFirst = figure => {
  const view = figure.querySelector(".view"), left = view.getBoundingClientRect().left;
  const boxes = [...figure.querySelectorAll("g.node rect")].map(rect => rect.getBoundingClientRect());
  const first = boxes.reduce((a, b) => a.top > b.top ? b : a);
  view.scrollLeft += (first.left + first.right) / 2 - left - view.clientWidth / 2;
};
document.querySelectorAll(".pick").forEach(pick => pick.addEventListener("change",
  () => pick.parentElement.querySelectorAll("figure").forEach(toFirst)));
const room = document.querySelector("main").clientWidth - 110;
document.querySelectorAll("figure").forEach(figure => {
  const svg = figure.querySelector("svg");
  const width = Number(svg.getAttribute("width")), height = Number(svg.getAttribute("height"));
  const fit = Math.min(1, Math.max(0.7, room / width));  // letters of 8 pixels can be read
  let scale = fit;
  const show = () => {
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
  };
  const steps = {
    "+": () => scale * 1.25,
    "-": () => scale / 1.25,
    "fit": () => Math.min(1, room / width),
    "1:1": () => 1
  };
  figure.querySelectorAll("button").forEach(button =>
    button.addEventListener("click", () => { scale = steps[button.value](); show(); }));
  show();
  toFirst(figure);
  svg.querySelectorAll("g.node").forEach(node => {
    node.addEventListener("pointerenter", () => {
      for (const edge of svg.querySelectorAll(`[data-a="${node.dataset.i}"], [data-b="${node.dataset.i}"]`)) {
        edge.classList.add("lit");
        for (const end of [edge.dataset.a, edge.dataset.b])
          svg.querySelector(`g.node[data-i="${end}"]`).classList.add("lit");
      }
    });
    node.addEventListener("pointerleave",
      () => svg.querySelectorAll(".lit").forEach(part => part.classList.remove("lit")));
  });
});
)";

}  // namespace thtrain
