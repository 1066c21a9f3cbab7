// What moves on the page: zoom, and what the node under the pointer reads and what reads it.
#include "reports/explain/page.h"

namespace thtrain {

const char* const kExplainScript = R"(
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
