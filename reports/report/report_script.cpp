// The script of a report's page but its drawings: what a reader has chosen is kept when the page is read again.
#include "reports/report/report_page.h"

namespace thtrain {

const char* const kReportScript = R"js(
document.documentElement.classList.add("scripted");
const data = JSON.parse(document.getElementById("data").textContent);
const storeKey = "thtrain report " + location.pathname;
const kept = (() => {
  try { return JSON.parse(sessionStorage.getItem(storeKey)) || {}; } catch { return {}; }
})();
const keep = () => {
  kept.scroll = [scrollX, scrollY];
  try { sessionStorage.setItem(storeKey, JSON.stringify(kept)); } catch { /* no room, or not allowed */ }
};
const svgPart = (name, attributes, parent, text) => {
  const out = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
  if (text !== undefined) out.textContent = text;
  if (parent) parent.append(out);
  return out;
};
const part = (name, attributes, parent, text) => {
  const out = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
  if (text !== undefined) out.textContent = text;
  if (parent) parent.append(out);
  return out;
};
const numberText = value => {
  const rounded = Number(value.toPrecision(5));
  return Math.abs(rounded) >= 1e6 ? rounded.toExponential() : String(rounded);
};
const placeTip = (tip, box, x, y) => {
  tip.hidden = false;
  const left = x + 16 + tip.offsetWidth > box.clientWidth + box.scrollLeft ? x - 16 - tip.offsetWidth : x + 16;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, Math.min(y, box.clientHeight - tip.offsetHeight - 4)) + "px";
};
// Calls `act` when the width of the box has changed.
const onWidth = (box, act) => {
  let width = box.clientWidth;
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    act();
  })).observe(box);
};
// About `count` round numbers from `low` to `high`; on a logarithmic axis powers of ten, and 2 and 5 times these.
const linearTicks = (low, high, count) => {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= raw * 0.999);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k)
    out.push(Number((k * step).toPrecision(12)));
  return out;
};
const logTicks = (low, high) => {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high)), out = [];
  const every = Math.ceil((last - first) / 8);
  for (let p = first; p <= last; p += every)
    for (const f of last - first > 2 ? [1] : [1, 2, 5])
      if (f * 10 ** p >= low * 0.999 && f * 10 ** p <= high * 1.001)
        out.push(Number((f * 10 ** p).toPrecision(3)));
  return out.length > 1 ? out : linearTicks(low, high, 4);
};
document.querySelectorAll(".series").forEach((series, number) => {
  const input = series.querySelector("input"), frames = [...series.querySelectorAll(".frame")];
  kept.series = kept.series || {};
  if (kept.series[number] !== undefined) input.value = kept.series[number];
  const show = () => {
    frames.forEach((frame, i) => frame.classList.toggle("other", i !== Number(input.value)));
    series.querySelector("output").textContent = frames[input.value].dataset.name;
  };
  input.addEventListener("input", () => { kept.series[number] = input.value; show(); });
  show();
});
document.querySelectorAll(".pictures img").forEach(img => {
  img.title = "click: as large as the page allows, and back";
  img.addEventListener("click", () => img.closest("figure").classList.toggle("large"));
});
document.querySelectorAll("details").forEach((details, number) => {
  kept.open = kept.open || {};
  if (kept.open[number]) details.open = true;
  details.addEventListener("toggle", () => { kept.open[number] = details.open; });
});
window.addEventListener("pagehide", keep);
if (data.reload > 0) {
  let busy = false;
  window.addEventListener("pointerdown", () => { busy = true; });
  window.addEventListener("pointerup", () => { busy = false; });
  setInterval(() => {
    if (busy || document.hidden) return;
    keep();
    location.reload();
  }, 1000 * data.reload);
}
)js";

}  // namespace thtrain
