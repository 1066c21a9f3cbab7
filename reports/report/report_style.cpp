// How the page of a report looks, besides what all pages have (reports/page/page.h).
#include "reports/report/report_page.h"

namespace thtrain {

const char* const kReportStyle = R"(
h3 { display: block; margin: 1.4rem 0 .4rem; }
ul.facts { display: flex; flex-wrap: wrap; gap: .6rem; list-style: none; padding: 0; margin: .8rem 0; }
ul.facts li { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .4rem .9rem; }
ul.facts span { display: block; font-size: .85rem; color: var(--soft); }
ul.facts b { font-size: 1.15rem; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; margin: 1rem 0; }
figure { margin: 0; border: 1px solid var(--line); border-radius: 8px; padding: .6rem; background: var(--panel);
  max-width: 100%; }
figure img { display: block; max-width: 100%; max-height: 33rem; height: auto; width: auto; margin: 0 auto;
  background: #ffffff; border-radius: 4px; }
.scripted figure img { cursor: zoom-in; }
.scripted figure.large img { cursor: zoom-out; max-height: none; }
figure.large { flex-basis: 100%; }
figure.large img { width: 100%; }
figcaption { font-size: .92rem; padding-top: .45rem; }
.series .other { display: none; }
.series input { display: none; width: 100%; }
.scripted .series input { display: block; }
tr[data-run] { cursor: default; }
tr.lit td { background: var(--panel); }
.chart, .parallel { position: relative; border: 1px solid var(--line); border-radius: 10px; padding: .7rem .8rem;
  margin: .6rem 0 1rem; }
.parallel { overflow-x: auto; }
.chart svg, .parallel svg { display: block; width: 100%; touch-action: pan-y; }
.chart svg:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.bar { display: flex; flex-wrap: wrap; gap: .35rem 1.2rem; align-items: center; margin-bottom: .4rem; }
.bar .choice { display: flex; flex-wrap: wrap; gap: .25rem; }
.bar button { font: inherit; font-size: .9rem; line-height: 1.2; padding: .25rem .7rem; border: 1px solid var(--line);
  border-radius: 999px; background: var(--paper); color: var(--ink); cursor: pointer; }
.bar button[aria-pressed="true"] { background: var(--ink); color: var(--paper); border-color: var(--ink); }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; max-height: 9.5rem; overflow-y: auto; margin-top: .3rem; }
.legend button { font: inherit; font-size: .9rem; border: 0; background: none; color: var(--ink); cursor: pointer;
  padding: .1rem .2rem; border-radius: 4px; text-align: left; overflow-wrap: anywhere; }
.legend button[aria-pressed="false"] { color: var(--soft); text-decoration: line-through; }
.legend svg { display: inline-block; width: 26px; height: 12px; vertical-align: -1px; margin-right: .35rem; }
.chart text, .parallel text { font-size: 13px; fill: var(--ink); font-family: inherit; }
.chart .tick, .parallel .tick { fill: var(--soft); font-size: 12.5px; }
.chart .grid { stroke: var(--line); }
.chart .frame { stroke: var(--soft); fill: none; }
.chart .phase { stroke: var(--soft); stroke-dasharray: 3 3; }
.chart .cross { stroke: var(--ink); stroke-width: 1; opacity: .6; }
.chart path.curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart text.best { font-size: 18px; }
.chart .dim, .parallel .dim { opacity: .15; }
.tip { position: absolute; pointer-events: none; background: var(--paper); border: 1px solid var(--soft);
  border-radius: 8px; padding: .35rem .6rem; font-size: .88rem; line-height: 1.35; box-shadow: 0 2px 10px #0003;
  max-width: 26rem; z-index: 3; }
.tip table { margin: 0; font-size: inherit; }
.tip td { border: 0; padding: .05rem .7rem .05rem 0; overflow-wrap: anywhere; }
.tip td.number { padding-right: 0; white-space: nowrap; }
.parallel path { fill: none; stroke-width: 2; stroke-linejoin: round; opacity: .75; }
.parallel path.wide { stroke-width: 14; stroke: transparent; }
.parallel path.lit { stroke-width: 4; opacity: 1; }
.parallel .axis { stroke: var(--soft); stroke-width: 1.5; }
.parallel text.name { font-weight: 600; }
.parallel text.tick { paint-order: stroke; stroke: var(--paper); stroke-width: 8px;
  stroke-linejoin: round; }
)";

}  // namespace thtrain
