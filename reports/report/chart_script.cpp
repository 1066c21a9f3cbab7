// The learning curves of a report's page: what is measured, which runs and sets, and the values under the pointer.
#include "reports/report/report_page.h"

namespace thtrain {

const char* const kChartScript = R"js(
document.querySelectorAll(".chart").forEach(box => {
  const setNames = {train: "training", valid: "validation", test: "test"};
  const dashes = {train: "7 4", valid: "", test: "2 3", only: ""};
  const setColours = {train: 2, valid: 0, test: 1, only: 0};
  const alone = data.runs.length === 1;
  const main = Math.max(0, data.measures.findIndex(measure => measure.main));
  const first = data.measures[main]?.name;
  const hiddenSets = data.runs.length > 4 ? {train: true, test: true} : {};
  const state = kept.chart = Object.assign({measure: first, log: {}, hiddenSets, hiddenRuns: {}}, kept.chart);
  if (!data.measures.some(measure => measure.name === state.measure)) state.measure = first;
  const bar = part("div", {class: "bar"}, box);
  const about = "learning curves; arrow keys move the cross";
  const svg = svgPart("svg", {role: "img", tabindex: "0", "aria-label": about}, box);
  const legend = part("div", {class: "legend"}, box);
  const tip = part("div", {class: "tip", hidden: ""}, box);
  const setsOf = name => {
    const found = Object.keys(setNames).filter(set => data.runs.some(run => run.values[set + "_" + name]));
    return found.length ? found : ["only"];
  };
  const keyOf = (set, name) => set === "only" ? name : set + "_" + name;
  const curves = () => {
    const out = [], sets = setsOf(state.measure).filter(set => set === "only" || !state.hiddenSets[set]);
    data.runs.forEach((run, number) => {
      if (state.hiddenRuns[run.name]) return;
      for (const set of sets) {
        const values = run.values[keyOf(set, state.measure)];
        if (!values) continue;
        const name = alone ? setNames[set] || "" : run.name + (sets.length > 1 ? ", " + setNames[set] : "");
        out.push({run, number, set, name, x: values[0], y: values[1],
                  colour: `var(--c${(alone ? setColours[set] : number) % 8})`, dash: dashes[set]});
      }
    });
    return out;
  };
  let view = null, index = null;
  const draw = () => {
    const width = Math.max(260, box.clientWidth - 28), height = Math.max(300, Math.min(460, width * 0.42));
    const measure = data.measures.find(one => one.name === state.measure) || {label: ""};
    const drawn = curves(), log = Boolean(state.log[state.measure]);
    const usable = v => v !== null && (!log || v > 0);
    const values = drawn.flatMap(curve => curve.y.filter(usable)), epochs = drawn.flatMap(curve => curve.x);
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    tip.hidden = true;
    view = null;
    if (values.length === 0) {
      svgPart("text", {x: width / 2, y: height / 2, "text-anchor": "middle"}, svg,
        log ? "no value is above 0" : "nothing is shown");
      return;
    }
    let low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    const last = Math.max(2, epochs.reduce((a, b) => Math.max(a, b), 1));
    if (log) { low /= 1.05; high *= 1.05; } else {
      const space = (high - low || Math.abs(high) || 1) * 0.05;
      low = low >= 0 && low - space < 0 ? 0 : low - space;
      high += space;
    }
    const ticks = log ? logTicks(low, high) : linearTicks(low, high, 6);
    const left = 12 + 8 * Math.max(...ticks.map(v => numberText(v).length)), right = width - 12;
    const top = 30, bottom = height - 40;
    const x = epoch => left + (right - left) * (epoch - 1) / (last - 1);
    const y = v => log ? bottom - (bottom - top) * Math.log(v / low) / Math.log(high / low)
                       : bottom - (bottom - top) * (v - low) / (high - low);
    for (const v of ticks) {
      svgPart("line", {class: "grid", x1: left, x2: right, y1: y(v), y2: y(v)}, svg);
      svgPart("text", {class: "tick", x: left - 6, y: y(v) + 4.5, "text-anchor": "end"}, svg, numberText(v));
    }
    for (const v of linearTicks(1, last, Math.min(12, width / 70)).filter(v => Number.isInteger(v) && v >= 1)) {
      svgPart("line", {class: "grid", x1: x(v), x2: x(v), y1: top, y2: bottom}, svg);
      svgPart("text", {class: "tick", x: x(v), y: bottom + 18, "text-anchor": "middle"}, svg, numberText(v));
    }
    svgPart("text", {x: (left + right) / 2, y: height - 5, "text-anchor": "middle"}, svg, "epoch");
    svgPart("text", {x: 2, y: 16}, svg, measure.label);
    svgPart("rect", {class: "frame", x: left, y: top, width: right - left, height: bottom - top}, svg);
    const shownRuns = [...new Set(drawn.map(curve => curve.run))];
    if (shownRuns.length === 1)
      for (const [begin, name] of shownRuns[0].phases) {
        if (begin > 1) svgPart("line", {class: "phase", x1: x(begin), x2: x(begin), y1: top, y2: bottom}, svg);
        svgPart("text", {class: "tick", x: x(Math.max(1, begin)) + 5, y: top + 15}, svg, name);
      }
    for (const curve of drawn) {
      let d = "", move = "M";
      curve.y.forEach((v, i) => {
        if (!usable(v)) { move = "M"; return; }
        d += `${move}${x(curve.x[i]).toFixed(1)} ${y(v).toFixed(1)}`;
        move = "L";
      });
      svgPart("path", {class: "curve", d: d || "M0 0", "data-run": curve.run.name, "stroke-dasharray": curve.dash,
                       style: `stroke: ${curve.colour}`}, svg);
      if (curve.x.length === 1 && usable(curve.y[0]))
        svgPart("circle", {cx: x(curve.x[0]), cy: y(curve.y[0]), r: 4, style: `fill: ${curve.colour}`}, svg);
      const best = curve.run.best;
      if (measure.main && best && ["valid", "only"].includes(curve.set) && usable(best[1]))
        svgPart("text", {class: "best", x: x(best[0]), y: y(best[1]) + 6, "text-anchor": "middle",
                         style: `fill: ${curve.colour}`}, svg, "★");
    }
    const marks = svgPart("g", {}, svg);
    view = {drawn, x, y, usable, marks, left, right, top, bottom, width,
            epochs: [...new Set(epochs)].sort((a, b) => a - b)};
    if (index !== null && index >= view.epochs.length) index = null;
  };
  // The curve's value at an epoch, or at the last one before it that was measured.
  const valueAt = (curve, epoch) => {
    let found = -1;
    for (let i = 0; curve.x.length > i && curve.x[i] <= epoch; ++i) if (curve.y[i] !== null) found = i;
    return found;
  };
  const read = pointerY => {
    if (!view || index === null) return;
    const epoch = view.epochs[index];
    view.marks.replaceChildren();
    tip.replaceChildren();
    svgPart("line", {class: "cross", x1: view.x(epoch), x2: view.x(epoch), y1: view.top, y2: view.bottom}, view.marks);
    part("b", {}, tip, "epoch " + epoch);
    const table = part("table", {}, tip);
    let found = view.drawn.map(curve => ({curve, i: valueAt(curve, epoch)})).filter(one => one.i >= 0);
    if (!alone) found.sort((a, b) => b.curve.y[b.i] - a.curve.y[a.i]);
    for (const {curve, i} of found)
      if (view.usable(curve.y[i]))
        svgPart("circle", {cx: view.x(curve.x[i]), cy: view.y(curve.y[i]), r: 4, style: `fill: ${curve.colour}`},
          view.marks);
    const most = 12, all = found.length;
    if (all > most) {  // those nearest to the pointer
      const off = one => view.usable(one.curve.y[one.i]) ? Math.abs(view.y(one.curve.y[one.i]) - pointerY) : 1e9;
      const near = new Set([...found].sort((a, b) => off(a) - off(b)).slice(0, most));
      found = found.filter(one => near.has(one));
    }
    for (const {curve, i} of found) {
      const row = part("tr", {}, table);
      part("td", {style: `color: ${curve.colour}`}, row, "●");
      part("td", {}, row, curve.name + (curve.x[i] === epoch ? "" : ` (epoch ${curve.x[i]})`));
      part("td", {class: "number"}, row, numberText(curve.y[i]));
    }
    if (all > most) part("div", {class: "soft"}, tip, `and ${all - most} more`);
    const at = svg.getBoundingClientRect(), of = box.getBoundingClientRect(), scale = at.width / view.width;
    placeTip(tip, box, at.left - of.left + view.x(epoch) * scale,
      at.top - of.top + Math.max(0, pointerY * scale - 30));
  };
  const point = event => {
    if (!view) return;
    const at = svg.getBoundingClientRect(), scale = view.width / at.width;
    const px = (event.clientX - at.left) * scale, py = (event.clientY - at.top) * scale;
    index = view.epochs.reduce((best, epoch, i) =>
      Math.abs(view.x(epoch) - px) >= Math.abs(view.x(view.epochs[best]) - px) ? best : i, 0);
    read(py);
  };
  const leave = () => { index = null; tip.hidden = true; if (view) view.marks.replaceChildren(); };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") leave(); });
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step || !view) return;
    event.preventDefault();
    index = Math.max(0, Math.min(view.epochs.length - 1, (index ?? (step > 0 ? -1 : view.epochs.length)) + step));
    read(view.top);
  });
  const button = (parent, text, pressed, act) => {
    const out = part("button", {type: "button", "aria-pressed": String(Boolean(pressed))}, parent, text);
    out.addEventListener("click", () => { act(); build(); });
    return out;
  };
  const build = () => {
    bar.replaceChildren();
    legend.replaceChildren();
    const measures = part("div", {class: "choice"}, bar), sets = part("div", {class: "choice"}, bar);
    for (const measure of data.measures)
      button(measures, measure.label, measure.name === state.measure, () => { state.measure = measure.name; });
    const found = setsOf(state.measure);
    if (!alone && found.length > 1)
      for (const set of found)
        button(sets, setNames[set], !state.hiddenSets[set],
          () => { state.hiddenSets[set] = !state.hiddenSets[set]; });
    const log = Boolean(state.log[state.measure]);
    button(part("div", {class: "choice"}, bar), "logarithmic", log, () => { state.log[state.measure] = !log; });
    const entry = (name, colour, dash, shown, run, act) => {
      const out = button(legend, "", shown, act);
      const sample = svgPart("svg", {viewBox: "0 0 26 12"});
      svgPart("line", {x1: 0, x2: 26, y1: 6, y2: 6, "stroke-width": 3, "stroke-dasharray": dash,
                       style: `stroke: ${colour}`}, sample);
      out.append(sample, name);
      const others = dim => svg.querySelectorAll("path.curve").forEach(path =>
        path.classList.toggle("dim", dim && path.dataset.run !== run));
      if (!alone) {
        out.addEventListener("pointerenter", () => others(true));
        out.addEventListener("pointerleave", () => others(false));
      }
    };
    if (alone)
      for (const set of found)
        entry(setNames[set] || state.measure.replaceAll("_", " "), `var(--c${setColours[set]})`, dashes[set],
          !state.hiddenSets[set], "",
          () => { if (set !== "only") state.hiddenSets[set] = !state.hiddenSets[set]; });
    else
      data.runs.forEach((run, number) =>
        entry(run.name, `var(--c${number % 8})`, "", !state.hiddenRuns[run.name], run.name,
          () => { state.hiddenRuns[run.name] = !state.hiddenRuns[run.name]; }));
    draw();
  };
  build();
  onWidth(box, draw);
});
)js";

}  // namespace thtrain
