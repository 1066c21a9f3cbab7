// The text of a graph reads back to the same graph, for every op; and what is said where it does not.
#include "compiler/ir/parse.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/api.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/registry.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/error_text.h"
#include "tests/support/op_case_runner.h"

namespace thtrain {
namespace {

void expect_reads_back(const Graph& graph) {
  std::string text = graph_text(graph);
  Graph again = parse_graph(text, find_op);
  EXPECT_EQ(graph_text(again), text);
  if (again.updates.empty()) {
    EXPECT_TRUE(same_graph(graph, again)) << text;
  }
}

bool has_long_constant(const Graph& graph) {
  return graph_text(graph).find("{hash ") != std::string::npos;
}

TEST(Parse, EveryOpCase) {
  for (const Op* op : all_ops()) {
    if (!op->cases) continue;
    for (const OpCase& c : op->cases()) {
      SCOPED_TRACE(str(op->name, " ", c.name));
      CaseInputs in = make_inputs(c, "x", 1);
      Graph graph{.inputs = in.variables, .outputs = c.build(in.variables), .updates = {}};
      if (!has_long_constant(graph)) expect_reads_back(graph);
    }
  }
}

TEST(Parse, BodiesBeforeAndAfterThePasses) {
  Expr x = vector("x", {"n"}), s = scalar("s");
  std::vector<Expr> last =
      repeat(3, {x}, [&](const std::vector<Expr>& state) { return std::vector<Expr>{tanh(state[0] * s) + 1}; });
  Graph graph{.inputs = {x, s}, .outputs = {last[0], sum(last[0])}, .updates = {}};
  expect_reads_back(graph);
  expect_reads_back(optimize(graph, {}));
}

TEST(Parse, SharedVariablesAndUpdates) {
  Shared w(Tensor::vector({1.0, 2.0}), "layer/W");
  Expr x = vector("x", {2});
  Graph graph{.inputs = {x}, .outputs = {sum(x)}, .updates = {{w, w.expr() * x}}};
  expect_reads_back(graph);
  Graph again = parse_graph(graph_text(graph), find_op);
  EXPECT_EQ(again.updates[0].variable.node().shared->value.text(), "[0, 0]");
}

TEST(Parse, NamesNumbersAndTags) {
  Expr x = vector("x", {"n"});
  Expr y = named(x * -0.5, "half") + std::numeric_limits<double>::infinity();
  std::shared_ptr<const Node> again = tagged(exp(y).node_ptr(), 2);
  expect_reads_back(
      {.inputs = {x}, .outputs = {exp(y) + Expr(again), check(y, gt(y, 0), "a \"quoted\"\n\\ text")}, .updates = {}});
}

// Automatic names of lengths hold the names of variables.
TEST(Parse, LengthsOfVariablesWithAnyName) {
  Expr x = matrix("net/x"), y = vector("a b*c"), i = iscalar("net/i");
  expect_reads_back({.inputs = {x, y, i}, .outputs = {sum(x, {0}) + length(y, 0), rows(x, 0, i)}, .updates = {}});
}

TEST(Parse, Errors) {
  auto text_of = [](std::string_view text) { return text_without_node([&] { parse_graph(text, find_op); }); };
  EXPECT_EQ(text_of("input  %0 x : float64[n]\n%1 = expp(%0) : float64[n]\noutput  %1\n"),
            "error: line 2, column 6: there is no op named expp\n  expected: the name of an op\n"
            "  got:      expp(%0) : float64[n]");
  EXPECT_EQ(text_of("input  %0 x : float64[n]\n%1 = exp(%7) : float64[n]\n"),
            "error: line 2, column 10: this is not the text of a graph\n  expected: a value that is defined above\n"
            "  got:      %7) : float64[n]");
  EXPECT_EQ(
      text_of("input  %0 x : float64[n]\n%1 = exp(%0) : float32[n]\n"),
      "error: line 2, column 16: the type differs from the op's own\n  expected: float64[n]\n  got:      float32[n]");
  EXPECT_EQ(text_of("input  %0 x : float99[n]\n"),
            "error: line 1, column 15: this is not the text of a graph\n  expected: a type, such as float64[n, 3]\n"
            "  got:      float99[n]");
}

TEST(Parse, LongConstantsAreAnError) {
  Expr c = make_constant(Tensor::zeros(DType::kFloat32, {65}));
  std::string text =
      text_without_node([&] { parse_graph(graph_text({.inputs = {}, .outputs = {c}, .updates = {}}), find_op); });
  EXPECT_TRUE(
      text.starts_with("error: line 1, column 41: this constant is known by its hash only, as all of more than 64 "
                       "elements\n  expected: its elements\n"))
      << text;
}

TEST(Parse, NamesOfEveryKindReadBack) {
  const std::string names[] = {
      "a b\"\n*/}{",           "\\",       "\\n",    "a : b", ": b", " x",     "tab\t", "\x01\x7f",
      "gr\u00fc\u00df \u03b1", "\xff\xc0", "\u202e", "x # y", "%3",  "a\\x41", "end"};
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    Expr x = vector(name), w = Shared(Tensor::vector({1.0, 2.0}), name), y = named(exp(x), name);
    Graph graph{{x}, {y, w + 1}, {}};
    const std::string text = graph_text(graph);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7) << text;
    Graph back = parse_graph(text, find_op);
    EXPECT_EQ(graph_text(back), text);
    EXPECT_EQ(back.inputs[0].name(), name);
    EXPECT_EQ(back.outputs[0].name(), name);
    EXPECT_EQ(back.outputs[1].node().inputs[0].name(), name);
  }
}

}  // namespace
}  // namespace thtrain
