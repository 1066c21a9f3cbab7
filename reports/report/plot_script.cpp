// The parallel coordinates of a report's page: an axis for each key, a line for each run.
#include "reports/report/report_page.h"

namespace thtrain {

const char* const kPlotScript = R"js(
document.querySelectorAll(".parallel").forEach(box => {
  const plot = data.plots[Number(box.dataset.plot)], count = plot.axes.length;
  const svg = svgPart("svg", {role: "img", "aria-label": "a line for each run through its values"}, box);
  const tip = part("div", {class: "tip", hidden: ""}, box);
  // An axis of numbers, linear or logarithmic, where all values are numbers; else one of texts.
  const axes = plot.axes.map((name, k) => {
    const texts = plot.values.map(row => row[k]).filter(text => text !== "");
    const numbers = texts.map(Number);
    if (texts.length === 0 || numbers.some(v => !Number.isFinite(v))) {
      const places = [...new Set(texts)];
      return {name, ticks: places.map((text, i) => [text, places.length > 1 ? i / (places.length - 1) : 0.5]),
              place: text => places.length > 1 ? places.indexOf(text) / (places.length - 1) : 0.5};
    }
    let low = Math.min(...numbers), high = Math.max(...numbers);
    const log = low > 0 && high / low >= 20;
    if (low === high) { low -= Math.abs(low) / 2 || 1; high += Math.abs(high) / 2 || 1; }
    const at = log ? v => Math.log(v / low) / Math.log(high / low) : v => (v - low) / (high - low);
    const distinct = [...new Set(numbers)];
    const values = distinct.length === 1 ? distinct
      : k + 1 === count ? [...linearTicks(low, high, 5), low, high]
      : distinct.length > 8 ? (log ? logTicks(low, high) : linearTicks(low, high, 6)) : distinct;
    return {name, ticks: values.map(v => [numberText(v), at(v)]), place: text => at(Number(text))};
  });
  const last = axes[count - 1];
  const goodness = row => {
    if (row[count - 1] === "") return null;
    const at = last.place(row[count - 1]);
    return plot.larger ? at : 1 - at;
  };
  const colour = row => {
    const good = goodness(row);
    return good === null ? "var(--soft)" : `color-mix(in oklab, var(--c0) ${Math.round(100 * good)}%, var(--c1))`;
  };
  const rows = [...box.parentElement.querySelectorAll("tr[data-run]")];
  const light = index => {
    svg.querySelectorAll("path.line").forEach(line => {
      line.classList.toggle("lit", line.dataset.index === String(index));
      line.classList.toggle("dim", index !== null && line.dataset.index !== String(index));
    });
    rows.forEach(row => row.classList.toggle("lit", index !== null && row.dataset.run === plot.names[index]));
  };
  const draw = () => {
    svg.replaceChildren();
    const width = Math.max(260, box.clientWidth - 26, 84 * count), narrow = width > 600 ? 0 : 1;
    svg.style.width = width + "px";  // wider than a small window, it can be scrolled
    const height = 380, top = 46, bottom = height - 14, side = narrow ? 46 : 90;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const x = k => count > 1 ? side + k * (width - 2 * side) / (count - 1) : width / 2;
    const y = at => bottom - 12 - at * (bottom - 24 - top);
    const rank = i => goodness(plot.values[i]) ?? -1;
    const order = plot.values.map((row, i) => i).sort((a, b) => rank(a) - rank(b));
    const wide = [];
    for (const i of order) {
      let path = "", move = "M";
      plot.values[i].forEach((text, k) => {
        if (text === "") { move = "M"; return; }
        path += `${move}${x(k).toFixed(1)} ${y(axes[k].place(text)).toFixed(1)}`;
        move = "L";
      });
      svgPart("path", {class: "line", d: path || "M0 0", "data-index": i, style: `stroke: ${colour(plot.values[i])}`},
        svg);
      const target = svgPart("path", {class: "wide", d: path || "M0 0"});
      target.addEventListener("pointermove", event => {
        light(i);
        tip.replaceChildren();
        part("b", {}, tip, plot.names[i]);
        const table = part("table", {}, tip);
        plot.axes.forEach((name, k) => {
          const row = part("tr", {}, table);
          part("td", {}, row, name);
          part("td", {class: "number"}, row, plot.values[i][k] || "-");
        });
        const at = box.getBoundingClientRect();
        placeTip(tip, box, event.clientX - at.left + box.scrollLeft, event.clientY - at.top);
      });
      target.addEventListener("pointerleave", () => { light(null); tip.hidden = true; });
      wide.push(target);
    }
    axes.forEach((axis, k) => {
      svgPart("line", {class: "axis", x1: x(k), x2: x(k), y1: top, y2: bottom}, svg);
      const anchor = k === 0 && narrow ? "start" : k + 1 === count && narrow ? "end" : "middle";
      const nameX = anchor === "start" ? 4 : anchor === "end" ? width - 4 : x(k);
      svgPart("text", {class: "name", x: nameX, y: narrow && k % 2 ? 36 : 18, "text-anchor": anchor}, svg, axis.name);
      let before = [];
      for (const [text, at] of axis.ticks) {
        if (before.some(other => Math.abs(other - y(at)) < 15)) continue;
        before.push(y(at));
        const right = k + 1 < count;
        svgPart("text", {class: "tick", x: x(k) + (right ? 7 : -7), y: y(at) + 4.5,
                         "text-anchor": right ? "start" : "end"}, svg,
          text.length > 24 ? text.slice(0, 23) + "…" : text);
      }
    });
    svg.append(...wide);
  };
  rows.forEach(row => {
    const index = plot.names.indexOf(row.dataset.run);
    if (index < 0) return;
    row.addEventListener("pointerenter", () => light(index));
    row.addEventListener("pointerleave", () => light(null));
  });
  draw();
  onWidth(box, draw);
});
if (kept.scroll && data.reload > 0) scrollTo(...kept.scroll);
)js";

}  // namespace thtrain
