// How pages look: colours in light and dark, texts, tables, folded parts.
#include "reports/page/page.h"

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
  --c0: #1f62b4; --c1: #c2600c; --c2: #1e824c; --c3: #be2832; --c4: #7846a0; --c5: #6b7178; --c6: #825528;
  --c7: #0e7d88;
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
    --c0: #6cb0ff; --c1: #f5964a; --c2: #4fc27f; --c3: #ff7b7f; --c4: #b995e6; --c5: #a4adb6; --c6: #cf9f6c;
    --c7: #4cc7d3;
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
details { margin: .6rem 0; }
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
@media print { nav { display: none; } pre { max-height: none; overflow: visible; } }
)";

}  // namespace thtrain
