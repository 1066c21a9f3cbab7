#include "reports/explain/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/api.h"
#include "compiler/codegen/emit.h"
#include "compiler/plan/program.h"
#include "compiler/runtime/occupancy.h"
#include "reports/canvas.h"
#include "reports/explain/graph_drawing.h"
#include "reports/explain/memory_drawing.h"
#include "reports/explain/node_values.h"
#include "reports/explain/pass_states.h"
#include "reports/page/page.h"

namespace thtrain {
namespace {

const PageTitle kTitle{.experiment = "a<b&\"c\".toml", .function = "the step", .with_times = false};

Explanation odd_names() {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {"n", 4}}, "x<&\"");
  Shared w(Tensor::zeros(DType::kFloat32, {4, 2}), "W</title>&");
  Scope scope("layer<1>&\"2\"");
  Expr y = tanh(dot(x, w)), loss = mean(sqr(y));
  return function({x}, {y, loss}, {{w, w.expr() - 0.1 * grad(loss, w)}}, {.threads = 1}).explain();
}

size_t count(const std::string& text, const std::string& part) {
  size_t out = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++out;
  return out;
}

// Every element is closed, in order; attributes are quoted; no "<" and "&" stand for themselves but in the script.
void expect_well_formed(std::string page) {
  const size_t script = page.find("<![CDATA["), script_end = page.find("]]>", script);
  ASSERT_NE(script_end, std::string::npos);
  page.erase(script, script_end + 3 - script);
  std::vector<std::string> open;
  size_t at = page.find("<html");
  ASSERT_NE(at, std::string::npos);
  while (at < page.size()) {
    if (page[at] == '&') {
      const std::string entity = page.substr(at, page.find(';', at) + 1 - at);
      EXPECT_TRUE((
          std::set<std::string>{"&lt;", "&gt;", "&amp;", "&quot;", "&#8592;", "&#8594;", "&#8722;", "&#8706;", "&#916;"}
              .count(entity)))
          << page.substr(at, 30);
    }
    if (page[at] != '<') {
      ++at;
      continue;
    }
    size_t end = at + 1;
    for (bool quoted = false; end < page.size() && (quoted || page[end] != '>'); ++end) {
      ASSERT_NE(page[end], '<') << page.substr(at, 80);
      if (page[end] == '"') quoted = !quoted;
    }
    const std::string tag = page.substr(at + 1, end - at - 1),
                      name = tag.substr(tag[0] == '/', tag.find_first_of(" \n/", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
    at = end + 1;
  }
  EXPECT_TRUE(open.empty());
}

TEST(ExplainPage, NamesAreEscaped) {
  const std::string page = explain_page(odd_names(), kTitle);
  expect_well_formed(page);
  EXPECT_EQ(count(page, "<h1>a&lt;b&amp;&quot;c&quot;.toml</h1>"), 1u);
  EXPECT_GE(count(page, "layer&lt;1&gt;&amp;&quot;2&quot;"), 2u);
  EXPECT_GE(count(page, "W&lt;/title&gt;&amp;"), 2u);
  EXPECT_EQ(count(page, "W</title>"), 0u);
}

TEST(ExplainPage, NeedsNoNetwork) {
  const std::string page = explain_page(odd_names(), kTitle);
  EXPECT_EQ(count(page, "://"), count(page, "xmlns=\"http://www.w3.org/2000/svg\"") + 1);  // and that of HTML
  for (const char* fetch : {" src=", "@import", "url(", "<link", "<img", "<iframe"}) EXPECT_EQ(count(page, fetch), 0u);
}

TEST(ExplainPage, TheSameFunctionGivesTheSameBytes) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {5, 3}}, "x");
  Function f = function({x}, {softmax(x * 2.0 + 1.0)});
  EXPECT_EQ(explain_page(f.explain(), kTitle), explain_page(f.explain(), kTitle));
  PageTitle timed = kTitle;
  timed.with_times = true;
  EXPECT_EQ(count(explain_page(f.explain(), timed), "milliseconds"), 1u);
  EXPECT_EQ(count(explain_page(f.explain(), kTitle), "milliseconds"), 0u);
}

TEST(ExplainPage, HoldsEveryStage) {
  const Explanation e = odd_names();
  const std::string page = explain_page(e, kTitle);
  for (const PassRecord& pass : e.passes) {
    EXPECT_EQ(count(page, "id=\"pass-" + pass.name + "\""), 1u);
    EXPECT_GE(count(page, "href=\"#pass-" + pass.name + "\""), 2u);
  }
  size_t kernels = 0;
  for_each_step(e.plan->body,
                [&](const Step& step) { kernels += std::holds_alternative<kernel::KernelCall>(step.code); });
  EXPECT_GT(kernels, 0u);
  EXPECT_EQ(count(page, "<td class=\"code\"><a href=\"#k"), kernels);  // each step's kernel is linked to its text
  EXPECT_GE(count(page, "<a class=\"mark\" id=\"k"), 1u);
  EXPECT_GE(count(page, "<svg"), 4u);
  EXPECT_GE(count(page, "x&lt;&amp;&quot;#0 <span class=\"whole\">float32[n, 4]</span>"), 1u);
  // Every link has its position, and every position another name.
  std::set<std::string> ids;
  for (size_t at = page.find(" id=\""); at != std::string::npos; at = page.find(" id=\"", at + 1))
    EXPECT_TRUE(ids.insert(page.substr(at + 5, page.find('"', at + 5) - at - 5)).second) << page.substr(at, 40);
  for (size_t at = page.find("href=\"#"); at != std::string::npos; at = page.find("href=\"#", at + 1))
    EXPECT_TRUE(ids.contains(page.substr(at + 7, page.find('"', at + 7) - at - 7))) << page.substr(at, 40);
}

TEST(ExplainPage, OfADeviceHasPlacesTransfersGraphsAndKernels) {
  const Expr x = make_input({.dtype = DType::kFloat32, .dims = {"n", 3}}, "x");
  const Shared w(Tensor::zeros(DType::kFloat32, {3, 2}), "w");
  const Explanation e =
      function({x}, {softmax(dot(x, w))}, {{w, w * 0.5F}}, {.target = kernel::emulated_cuda_target()}).explain();
  const std::string page = explain_page(e, kTitle);
  expect_well_formed(page);
  EXPECT_EQ(count(page, "<section id=\"device\">"), 1u);
  EXPECT_EQ(count(page,
                  "<tr><td>w</td><td>shared variable</td><td class=\"code\">float32</td><td "
                  "class=\"number\">6</td><td>device</td></tr>"),
            1u);
  EXPECT_EQ(count(page, "<td>to the device</td><td>x</td>"), 1u);
  EXPECT_EQ(count(page, "<td>to the host</td><td>output 0</td>"), 1u);
  EXPECT_EQ(count(page, "<td>the end of the call</td>"), 1u);
  EXPECT_GE(count(page, "extern &quot;C&quot; __global__ void </span>") + count(page, "__global__"), 1u);
  const std::vector<KernelOccupancy> kernels = occupancy_of(e).kernels;
  for (const KernelText& kernel : emit_cpp(*e.plan).text.kernels) {
    EXPECT_EQ(count(page, "<a class=\"mark\" id=\"" + kernel.name + "\">"), 1u) << kernel.name;
    EXPECT_EQ(count(page, "<td class=\"code\"><a href=\"#" + kernel.name + "\">" + kernel.name + "</a></td>"), 1u);
  }
  if (kernels.empty()) {
    EXPECT_EQ(count(page, "Registers and occupancy are not known: NVRTC is not installed."), 1u);
  } else {
    EXPECT_EQ(count(page, "Registers and memory are those of compute capability 9.0, by NVRTC"), 1u);
    EXPECT_GE(count(page, str("<td class=\"number\">", kernels[0].needs.registers, "</td>")), 1u);
  }
  EXPECT_EQ(count(explain_page(function({x}, {x * 2.0F}).explain(), kTitle), "id=\"device\""), 0u);
}

TEST(ExplainPage, AGraphThatIsTooLargeIsShownAsText) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {"n"}}, "x"), y = x;
  for (size_t i = 0; i < kMaxDrawn; ++i) y = i % 2 ? tanh(y) : exp(y);
  const std::string page = explain_page(function({x}, {y}).explain(), kTitle);
  expect_well_formed(page);
  EXPECT_GE(count(page, "The graph has 402 boxes, more than the 400 that a picture can show"), 2u);
  EXPECT_EQ(count(page, "class=\"graph\""), 0u);
  EXPECT_GE(count(page, "%400 = tanh(%399) : float32[n]"), 1u) << page.substr(0, 4000);
  EXPECT_EQ(count(page, "<details open=\"open\"><summary>the graph as text</summary>"), 1u);
  EXPECT_GE(count(page, "<details open=\"open\"><summary>the lines that changed: "), 1u);
}

// The variables of the page's style in light, and in dark colours.
std::vector<std::map<std::string, Colour>> palettes() {
  const std::string style = kPageStyle;
  std::vector<std::map<std::string, Colour>> out;
  std::map<std::string, Colour> now;
  for (size_t at = style.find(":root {"); at != std::string::npos; at = style.find(":root {", at + 1)) {
    const std::string block = style.substr(at, style.find('}', at) - at);
    for (size_t name = block.find("--"); name != std::string::npos; name = block.find("--", name + 2)) {
      const size_t colon = block.find(": #", name);
      auto part = [&](size_t i) {
        return static_cast<uint8_t>(std::stoi(block.substr(colon + 3 + 2 * i, 2), nullptr, 16));
      };
      now[block.substr(name + 2, colon - name - 2)] = {part(0), part(1), part(2)};
    }
    out.push_back(now);
  }
  return out;
}

// WCAG 2.1: 4.5 for texts, 3 for lines.
TEST(ExplainPage, ColoursCanBeRead) {
  const auto both = palettes();
  ASSERT_EQ(both.size(), 2u);
  for (const auto& colours : both) {
    auto expect = [&](const std::string& text, const std::string& ground, double least) {
      EXPECT_GE(contrast_ratio(colours.at(text), colours.at(ground)), least)
          << (&colours == &both[0] ? "light: " : "dark: ") << text << " on " << ground;
    };
    size_t fills = 0;
    for (const auto& [name, colour] : colours)
      if (name.ends_with("-line")) {
        ++fills;
        expect(name, "paper", 3);
        for (const char* text : {"ink", "soft", "gradient", "update"})
          expect(text, name.substr(0, name.size() - 5), 4.5);
      }
    EXPECT_EQ(fills, 15u);
    for (const char* text : {"ink", "soft", "accent", "come", "gone", "gradient", "update"})
      for (const char* ground : {"paper", "panel"}) expect(text, ground, 4.5);
    for (const char* text : {"word", "literal", "comment", "macro"}) expect(text, "panel", 4.5);
    expect("edge", "paper", 3);
  }
}

// An input whose value is a position in another node's properties is no operand, but it is read.
TEST(GraphDrawing, LengthsAreDashedEdges) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {100}}, "x"), start = iscalar("start");
  Graph graph{{x, start}, {exp(rows(x, start, 10))}, {}};
  NodeNumbers numbers;
  for (const Node* node : text_order(graph)) numbers[node] = numbers.size();
  ASSERT_EQ(text_order(graph).size(), 4u) << graph_text(graph);
  const DrawnState state{&graph, &numbers};
  const std::string svg = graph_drawing({&state, 1}, numbers, "a graph");
  EXPECT_EQ(count(svg, "<path class=\"edge of-length\" data-a=\"1\" data-b=\"2\""), 1u) << svg;
  EXPECT_EQ(count(svg, "<path class=\"edge\""), 3u) << svg;  // x to its rows, these to exp, and that to the output
}

TEST(ExplainPage, ConvolutionsAndPoolingHaveColoursAndWords) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {2, 1, 8, 8}}, "x"),
       w = make_input({.dtype = DType::kFloat32, .dims = {3, 1, 3, 3}}, "w");
  const std::string page = explain_page(function({x, w}, {pool(conv(x, w), {.window = {2, 2}})}).explain(), kTitle);
  for (const char* of : {"conv", "pool"}) {
    EXPECT_GE(count(page, str("<g class=\"node ", of, "\"")), 2u) << of;
    EXPECT_EQ(count(page, str("svg .", of, " rect { fill: var(--", of, "); stroke: var(--", of, "-line); }")), 1u)
        << of;
  }
  EXPECT_EQ(count(page, "</svg>convolution</li>"), 1u);
  EXPECT_EQ(count(page, "</svg>pooling</li>"), 1u);
}

TEST(GraphDrawing, BoxesAndEdges) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {2, 3}}, "x");
  Shared w(Tensor::zeros(DType::kFloat32, {2, 3}), "w");
  Graph graph{{x}, {exp(x) * 2.0}, {{w, w.expr() + x}}};
  NodeNumbers numbers;
  for (const Node* node : text_order(graph)) numbers[node] = numbers.size();
  const DrawnState state{&graph, &numbers};
  EXPECT_EQ(drawn_count({&state, 1}), 7u);  // x, exp, mul, w, add, output, update
  const std::string svg = graph_drawing({&state, 1}, numbers, "a & b", [](const Node& node) { return node.name; });
  EXPECT_EQ(count(svg, "<g class=\"node "), 7u);
  EXPECT_EQ(count(svg, "<path class=\"edge\""), 6u);
  EXPECT_EQ(count(svg, "<text class=\"type\""), 5u);
  EXPECT_EQ(count(svg, "data-v=\"x\""), 1u);
  EXPECT_EQ(count(svg, "data-v="), 2u);  // exp, mul and add have no name
  EXPECT_EQ(count(svg, "data-from="), 0u);
  EXPECT_EQ(count(svg, ">mul(·, 2)</text>"), 1u);
  EXPECT_EQ(count(svg, ">update</text><text class=\"about\""), 1u);
  EXPECT_EQ(count(svg, "<title>update w &lt;- %"), 1u);
  EXPECT_EQ(count(svg, "aria-label=\"a &amp; b\""), 1u);
  EXPECT_EQ(count(svg, "built at tests/reports/explain/page_test.cpp:"), 5u) << svg;
}

// y = exp(x) * 1 + 2 becomes exp(x) + 2, and that tanh(x) + 2.
TEST(GraphDrawing, BoxesKeepTheirPositionsFromStateToState) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {2, 3}}, "x");
  const Graph first{{x}, {exp(x) * 1.0 + 2.0}, {}}, second{{x}, {exp(x) + 2.0}, {}}, third{{x}, {tanh(x) + 2.0}, {}};
  StableNumbers boxes(first);
  graph_difference(first, second, boxes);
  graph_difference(second, third, boxes);
  const DrawnState states[] = {{&first, &boxes.of}, {&second, &boxes.of}, {&third, &boxes.of}};
  EXPECT_EQ(drawn_count(states), 5u);  // x, exp and tanh in one position, mul, add, output
  const std::string svg = graph_drawing(states, boxes.of, "three");
  EXPECT_EQ(count(svg, "data-last=\"2\""), 1u);
  auto position = [&](const std::string& label) {
    const size_t text = svg.find(">" + label + "</text>"), box = svg.rfind("<rect x=", text);
    EXPECT_NE(text, std::string::npos) << label << svg;
    return svg.substr(box, svg.find("/>", box) - box);
  };
  EXPECT_EQ(count(svg, "<g class=\"node elemwise past\" data-from=\"0\" data-to=\"0\""), 2u) << svg;  // mul; add of it
  EXPECT_EQ(count(svg, "<g class=\"node elemwise past\" data-from=\"0\" data-to=\"1\""), 1u) << svg;  // exp
  EXPECT_EQ(count(svg, "<g class=\"node elemwise\" data-from=\"2\" data-to=\"2\""), 1u) << svg;       // tanh
  EXPECT_EQ(count(svg, ">exp</text>"), 1u);
  EXPECT_EQ(count(svg, ">tanh</text>"), 1u);
  EXPECT_NE(position("exp"), "");
}

// A step after each rewrite; what fires within a loop has none.
TEST(PassStates, EveryRewriteIsAStepAndTheLastIsTheGraphAfterThePass) {
  Expr x = vector("x");
  const Explanation e = function({x}, {Out(-(-x) * 1.0 + exp(-(-x)))}).explain();
  bool has_steps = false;
  for (const PassChange& change : pass_changes(e)) {
    if (change.difference.empty()) continue;
    const std::vector<PassState> states = pass_states(change, e);
    ASSERT_GE(states.size(), 2u) << change.pass->name;
    EXPECT_TRUE(same_roots(states.front().graph, *change.before));
    EXPECT_TRUE(same_roots(states.back().graph, change.pass->after));
    EXPECT_LE(states.size(), static_cast<size_t>(change.fired) + 2);
    for (size_t i = 1; i < states.size(); ++i) {
      EXPECT_NE(states[i].step, "");
      EXPECT_FALSE(same_graph(states[i - 1].graph, states[i].graph)) << change.pass->name << ": " << states[i].step;
    }
    has_steps |= states.size() > 2;
  }
  EXPECT_TRUE(has_steps);
}

TEST(NodeValues, AreThoseOfTheReferencesAndEqualOnesAreComputedOnce) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {"n", 3}}, "x");
  Shared w(Tensor::zeros(DType::kFloat32, {3}), "w");
  const Explanation e = function({x}, {Out(exp(x * 1.0) + w)}, {}, {.threads = 1}).explain();
  Tensor value = Tensor::zeros(DType::kFloat32, {20, 3});
  value.data<float>()[0] = 1;
  const std::vector<Tensor> arguments{value};
  ASSERT_FALSE(NodeValues::why_none(e.given, arguments));
  NodeValues values(e.given, arguments);
  for (const Node* node : text_order(e.given)) {
    if (node->op->name != "exp") continue;
    const std::string json = values.json_of(*node);
    EXPECT_EQ(json.find("[{\"type\": \"float32[20, 3]\", \"least\": 1, \"largest\": 2.718"), 0u) << json;
    EXPECT_EQ(count(json, "[1,1,1]"), 7u) << json;  // of 8 rows that are shown
  }
  const std::string page = explain_page(e, kTitle, arguments);
  EXPECT_GE(count(page, " data-v=\""), 5u);
  EXPECT_EQ(count(page, "\"least\": 1, \"largest\": 2.718"), 1u);  // of exp, and of what adds w to it
}

TEST(NodeValues, TooLargeOnesAreLeftOutAndThePageSaysWhy) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {4000, 4000}}, "x");
  const Explanation e = function({x}, {dot(x, x)}).explain();
  const std::vector<Tensor> arguments{Tensor::zeros(DType::kFloat32, {4000, 4000})};
  EXPECT_EQ(NodeValues::why_none(e.given, arguments),
            "a minibatch needs 128000 million operations, and at most 300 million are done for this page");
  EXPECT_EQ(count(explain_page(e, kTitle, arguments),
                  "Values of a minibatch are not shown: a minibatch needs 128000 million "),
            1u);
}

TEST(ExplainPage, FusionSaysWhereItsNodesComeFrom) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {"n", 4}}, "x");
  const std::string page = explain_page(function({x}, {tanh(exp(x) + 1.0)}).explain(), kTitle);
  EXPECT_GE(count(page,
                  "No rules, and so no rewrites to count: the pass rebuilds parts of the graph as a whole. The "
                  "graph itself had 5 nodes and has 2 now. The bodies of its fused nodes have "),
            1u)
      << page.substr(page.find("No rules"), 400);
}

TEST(ExplainPage, OfC99IsHeadedC99) {
  const Explanation cpp = odd_names();
  EXPECT_EQ(count(explain_page(cpp, kTitle), "<h2>The C++ text</h2>"), 1u);
  Explanation c99 = cpp;
  Program plan = *cpp.plan;
  plan.target = kernel::c99_target();
  c99.plan = std::make_shared<const Program>(std::move(plan));
  const std::string page = explain_page(c99, kTitle);
  EXPECT_EQ(count(page, "<h2>The C99 text</h2>"), 1u);
  EXPECT_EQ(count(page, "C++"), 0u);
}

TEST(MemoryDrawing, ARectangleForEachTemporary) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {8, 16}}, "x");
  Shared w(Tensor::zeros(DType::kFloat32, {16, 4}), "w");
  Explanation e = function({x}, {sum(softmax(dot(x, w)) * exp(dot(x, w + 1.0)), {0})}, {}, {.threads = 1}).explain();
  const auto temporaries = std::count_if(e.plan->buffers.begin(), e.plan->buffers.end(),
                                         [](const Buffer& b) { return b.kind == BufferKind::kTemporary; });
  EXPECT_GT(temporaries, 0);
  EXPECT_EQ(count(memory_drawing(*e.plan), "<g class=\"buffer "), static_cast<size_t>(temporaries));
}

TEST(MemoryDrawing, LengthsThatACallDecidesAreNotDrawn) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {"n", 4}}, "x");
  Explanation e = function({x}, {sum(dot(x, exp(transpose(x))), {0})}).explain();
  EXPECT_EQ(memory_drawing(*e.plan), "");
  EXPECT_EQ(count(explain_page(e, kTitle), "There is nothing to draw"), 1u);
}

}  // namespace
}  // namespace thtrain
