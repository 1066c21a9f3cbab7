#include "reports/explain/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/api.h"
#include "compiler/plan/program.h"
#include "reports/explain/graph_drawing.h"
#include "reports/explain/memory_drawing.h"

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

// Every element is closed, in order; attributes are quoted; no "<" and "&" stand for themselves.
void expect_well_formed(const std::string& page) {
  std::vector<std::string> open;
  size_t at = page.find("<html");
  ASSERT_NE(at, std::string::npos);
  while (at < page.size()) {
    if (page[at] == '&') {
      const std::string entity = page.substr(at, page.find(';', at) + 1 - at);
      EXPECT_TRUE((std::set<std::string>{"&lt;", "&gt;", "&amp;", "&quot;", "&#8594;", "&#8722;"}.count(entity)))
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
}

TEST(ExplainPage, AGraphThatIsTooLargeStandsAsText) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {"n"}}, "x"), y = x;
  for (size_t i = 0; i < kMaxDrawn; ++i) y = i % 2 ? tanh(y) : exp(y);
  const std::string page = explain_page(function({x}, {y}).explain(), kTitle);
  expect_well_formed(page);
  EXPECT_GE(count(page, "The graph has 402 boxes, more than the 400 that a picture can show"), 2u);
  EXPECT_EQ(count(page, "class=\"graph\""), 0u);
  EXPECT_GE(count(page, "%400 = tanh(%399) : float32[n]"), 1u) << page.substr(0, 4000);
}

TEST(GraphDrawing, BoxesAndEdges) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {2, 3}}, "x");
  Shared w(Tensor::zeros(DType::kFloat32, {2, 3}), "w");
  Graph graph{{x}, {exp(x) * 2.0}, {{w, w.expr() + x}}};
  EXPECT_EQ(drawn_count(graph), 7u);  // x, exp, mul, w, add, output, update
  const Node* mark[] = {&graph.outputs[0].node()};
  NodeNumbers numbers;
  for (const Node* node : text_order(graph)) numbers[node] = numbers.size();
  const std::string svg = graph_drawing(graph, numbers, mark, "come", "a & b");
  EXPECT_EQ(count(svg, "<g class=\"node "), 7u);
  EXPECT_EQ(count(svg, "<path class=\"edge\""), 6u);
  EXPECT_EQ(count(svg, "<text class=\"type\""), 5u);
  EXPECT_EQ(count(svg, "class=\"node elemwise come\""), 1u);
  EXPECT_EQ(count(svg, ">mul(·, 2)</text>"), 1u);
  EXPECT_EQ(count(svg, ">update w</text>"), 1u);
  EXPECT_EQ(count(svg, "aria-label=\"a &amp; b\""), 1u);
  EXPECT_EQ(count(svg, "built at tests/reports/explain/page_test.cpp:"), 5u) << svg;
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
