// How the page of a compiled function looks, besides what all pages have (reports/page/page.h).
#include "reports/explain/page.h"

namespace thtrain {

const char* const kExplainStyle = R"(
header, main, nav div { max-width: 1900px; }
.safety { white-space: nowrap; border-radius: 4px; padding: .05rem .45rem; font-size: .85rem;
  border: 1px solid var(--line); }
.safety.exact { border-color: var(--come); color: var(--come); }
.safety.finite-math { border-color: var(--gone); color: var(--gone); }
.arrow { color: var(--soft); padding: 0 .4rem; }
details.pass { border: 1px solid var(--line); border-radius: 10px; padding: .7rem 1rem; margin: 1rem 0; }
details.pass[open] { padding-bottom: 1rem; }
ul.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; list-style: none; padding: 0; margin: .4rem 0 .8rem;
  font-size: .92rem; }
ul.legend svg { width: 26px; height: 16px; vertical-align: -2px; margin-right: .4rem; }
figure { margin: .5rem 0; border: 1px solid var(--line); border-radius: 8px; }
figure .view { overflow: auto; max-height: 76vh; }
.scripted figure .view { cursor: grab; }
.scripted figure .view.held { cursor: grabbing; user-select: none; }
figure .zoom, figure .steps { display: none; gap: .25rem; align-items: center; padding: .35rem .5rem; }
.scripted figure .zoom, .scripted figure .steps { display: flex; }
figure .zoom { float: right; }
figure .steps { flex-wrap: wrap; padding-right: 11rem; min-height: 2.9rem; }
figure .steps ol { display: none; }
figure .steps output { font-size: .95rem; padding-left: .6rem; overflow-wrap: anywhere; }
figure .view { clear: both; border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); }
.zoom button, .steps button { font: inherit; line-height: 1; padding: .25rem .6rem; border: 1px solid var(--line);
  border-radius: 6px; background: var(--panel); color: var(--ink); cursor: pointer; }
.steps button:disabled { color: var(--soft); cursor: default; opacity: .6; }
.told { display: none; padding: .3rem .9rem .6rem; min-height: 5.2rem; }
.scripted .told { display: block; }
.told pre { margin: .4rem 0; max-height: 12rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.told p { margin: .3rem 0; }
table.values { margin: .2rem 0; font-size: .82rem; font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
table.values td { border: 1px solid var(--line); padding: .1rem .45rem; }
@media (max-width: 40rem) { figure .steps { padding-right: .5rem; } figure .zoom { float: none; } }
svg.graph { display: block; margin: 0 auto; }
svg.memory { display: inline-block; vertical-align: top; }
svg .past { display: none; }
svg text { fill: var(--ink); text-anchor: middle; }
svg .op { font-size: 14px; font-weight: 600; }
svg .about { font-size: 12px; fill: var(--soft); }
svg .type { font-size: 12px; fill: var(--ink); stroke: var(--paper); stroke-width: 5px; paint-order: stroke; }
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
svg .node.gone:not(.past) { opacity: .75; }
svg .edge.come { stroke: var(--come); stroke-width: 2.5; }
svg .edge.gone { stroke: var(--gone); stroke-dasharray: 7 4; }
svg .tip.come { fill: var(--come); }
svg .tip.gone { fill: var(--gone); }
svg .node.kept rect { stroke: var(--accent); stroke-width: 4; }
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
@media print { .zoom { display: none; } figure .view { max-height: none; overflow: visible; } }
)";

}  // namespace thtrain
