// Ops made of graphs: what a call computes in every mode, its derivatives, and what it prints.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/op.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ops/registry.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"
#include "tests/support/numbers.h"

namespace thtrain::graph_calls_test {
namespace {

using Values = std::vector<Expr>;

const OpFromGraph kFormula([](const Values& in) { return Values{tanh(in[0] * in[1]), sum(in[0])}; });

// The outputs in native mode, the same bits as in debug mode, near those of the reference.
std::vector<Tensor> values_in_modes(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                                    const std::vector<Tensor>& values) {
  const std::vector<In> given(inputs.begin(), inputs.end());
  const std::vector<Out> wanted(outputs.begin(), outputs.end());
  const std::vector<Tensor> native = function(given, wanted)(values),
                            reference = function(given, wanted, {}, {.mode = Mode::kReference})(values),
                            debug = function(given, wanted, {}, {.mode = Mode::kDebug})(values);
  for (size_t k = 0; k < native.size(); ++k)
    for (int64_t i = 0; i < native[k].size(); ++i) {
      EXPECT_EQ(native[k].as_double(i), debug[k].as_double(i)) << "output " << k;
      EXPECT_NEAR(native[k].as_double(i), reference[k].as_double(i), 1e-12) << "output " << k;
    }
  return native;
}

size_t calls_in(const std::vector<Expr>& outputs) {
  size_t out = 0;
  for (const Node* node : topological_order(outputs)) out += node->op == &graph_call_op();
  return out;
}

TEST(GraphCalls, EachIsOneNodeAndGivesWhatTheGraphGives) {
  const Expr x = vector("x", {"n"}), y = vector("y", {"n"});
  const Values once = kFormula({x, y}), twice = kFormula({once[0], once[0] + y});
  EXPECT_EQ(calls_in(twice), 2u);
  const Expr plain = tanh(x * y);
  const std::vector<Tensor> got =
      values_in_modes({x, y}, {twice[0], twice[1], tanh(plain * (plain + y)), sum(plain)},
                      {Tensor::vector({0.5, -0.25, 2.0}), Tensor::vector({1.0, 3.0, -1.0})});
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(got[0].as_double(i), got[2].as_double(i));
  EXPECT_NEAR(got[1].as_double(), got[3].as_double(), 1e-15);
}

TEST(GraphCalls, TakesArgumentsOfAnyType) {
  const Expr x = tensor("x", {2, 3}, DType::kFloat32), y = scalar("y");
  EXPECT_EQ(kFormula({x, x})[0].type().text(), "float32[2, 3]");
  EXPECT_EQ(kFormula({y, y})[0].type().text(), "float64[]");
}

TEST(GraphCalls, TheTextReadsBack) {
  const Expr x = vector("x", {3}), y = vector("y", {3});
  const Graph graph{{x, y}, {kFormula({x, y})[0]}, {}};
  EXPECT_TRUE(same_graph(parse_graph(graph_text(graph), find_op), graph)) << graph_text(graph);
}

TEST(GraphCalls, TheProgramShowsItsSteps) {
  const Expr x = vector("x", {3}), y = vector("y", {3});
  const Explanation explained = function({x, y}, {kFormula({x, y})[0]}).explain();
  EXPECT_NE(explained.graph.find("graph_call"), std::string::npos) << explained.graph;
  EXPECT_NE(explained.program.find("mul_tanh"), std::string::npos) << explained.program;
}

TEST(GraphCalls, ItsDerivativeIsThatOfTheGraph) {
  const Expr x = vector("x", {3}), y = vector("y", {3}), c = vector("c", {3});
  const OpFromGraph op([&](const Values& in) { return Values{sqr(in[0]) * c, exp(in[0])}; });
  const Values called = op({x});
  const Expr cost = sum(called[0] * y) + sum(op({called[1]})[0]), plain = sum(sqr(x) * c * y) + sum(sqr(exp(x)) * c);
  const Values wrt{x, y, c}, gradients = grad(cost, wrt), expected = grad(plain, wrt);
  Values outputs = gradients;
  outputs.insert(outputs.end(), expected.begin(), expected.end());
  outputs.push_back(jvp(Values{cost}, Values{x}, Values{y})[0]);
  outputs.push_back(jvp(Values{plain}, Values{x}, Values{y})[0]);
  outputs.push_back(grad(sum(gradients[0]), x));
  outputs.push_back(grad(sum(expected[0]), x));
  const std::vector<Tensor> got = values_in_modes(
      {x, y, c}, outputs,
      {Tensor::vector({0.5, -0.25, 2.0}), Tensor::vector({1.0, 3.0, -1.0}), Tensor::vector({2.0, 0.5, 1.0})});
  auto expect_near = [&](size_t a, size_t b) {
    for (int64_t i = 0; i < got[a].size(); ++i)
      EXPECT_NEAR(got[a].as_double(i), got[b].as_double(i), 1e-12 * std::abs(got[b].as_double(i))) << a << ", " << i;
  };
  for (size_t k = 0; k < 3; ++k) expect_near(k, 3 + k);
  expect_near(6, 7);
  expect_near(8, 9);
}

TEST(GraphCalls, AGivenDerivativeIsUsedInstead) {
  const Expr x = vector("x", {3}), c = vector("c", {3});
  auto product = [&](const Values& in) { return Values{in[0] * c}; };
  const OpFromGraph clipped(product, [](const Values&, const Values&, const Values& cotangents) {
    return Values{clip(cotangents[0], -1, 1)};
  });
  const OpFromGraph of_results(product, [](const Values& in, const Values& results, const Values& cotangents) {
    return Values{cotangents[0] * (results[0] - in[0])};
  });
  const Expr cost = sum(sqr(clipped({x})[0])), other = sum(of_results({x})[0]);
  const std::vector<Tensor> got = values_in_modes({x, c}, {grad(cost, x), grad(other, x), jvp(other, x, x)},
                                                  {Tensor::vector({0.25, -3.0, 2.0}), Tensor::vector({1.0, 1.0, 2.0})});
  EXPECT_EQ(got[0].text(), "[0.5, -1, 1]");
  EXPECT_EQ(got[1].text(), "[0, 0, 2]");
  EXPECT_EQ(got[2].as_double(), 4) << "forward mode takes the given derivative too";
}

TEST(GraphCalls, AnArgumentThatAGivenDerivativeLeavesOutIsDisconnected) {
  const int built = __LINE__ + 1;
  const Expr w = vector("w", {2}), v = vector("v", {2}), d = vector("d", {2});
  const OpFromGraph op([](const Values& in) { return Values{in[0] * in[1]}; },
                       [](const Values& in, const Values&, const Values& d) {
                         return Values{d[0] * in[1], Expr()};
                       });
  const int applied = __LINE__ + 1;
  const Expr y = op({w, v})[0];
  const std::vector<Tensor> got =
      values_in_modes({w, v, d}, {grad(sum(y), w), jvp(y, w, d), grad(sum(y) + sum(v), v)},
                      {Tensor::vector({0.5, 2.0}), Tensor::vector({3.0, -1.0}), Tensor::vector({1.0, 2.0})});
  EXPECT_EQ(got[0].text(), "[3, -1]");
  EXPECT_EQ(got[1].text(), "[3, -2]");
  EXPECT_EQ(got[2].text(), "[1, 1]");
  int called = 0;
  std::string error;
  auto text = [&](const char* call, const char* name, const char* depends, const char* options) {
    return str("error: ", name, ": ", depends, " v float64[2]\n  got:      the path from v ends at ", call,
               " float64[2], built at ", __FILE__, ":", applied, ": no derivative passes it\n  node:     built at ",
               __FILE__, ":", built, "; ", name, " is called at ", __FILE__, ":", called,
               "\n  hint:     leave it out of wrt, or ask for zeros with ", options,
               "{.disconnected = Disconnected::kZero}");
  };
  const std::string call = expr_text(y, 60);
  error = error_text([&] { called = __LINE__, grad(sum(y), v); });
  EXPECT_EQ(error, text(call.c_str(), "grad", "the cost does not depend on", "GradOptions"));
  error = error_text([&] { called = __LINE__, jvp(y, v, d); });
  EXPECT_EQ(error, text(call.c_str(), "jvp", "no output depends on", "JvpOptions"));
}

TEST(GraphCalls, ACapturedValueHasTheDerivativeOfTheGraphWhereThatOfTheArgumentsIsGiven) {
  const Expr x = vector("x", {2}), w = vector("w", {2});
  const OpFromGraph twice([&](const Values& in) { return Values{in[0] * sqr(w)}; },
                          [&](const Values&, const Values&, const Values& d) { return Values{2 * d[0] * w}; });
  const Expr y = twice({x})[0], cost = sum(y) + sum(w);
  const std::vector<Tensor> got =
      values_in_modes({x, w}, {grad(cost, w), grad(cost, x), jvp(y, w, x), jvp(y, x, x), grad(sum(grad(cost, x)), w)},
                      {Tensor::vector({0.25, -3.0}), Tensor::vector({0.5, 2.0})});
  EXPECT_EQ(got[0].text(), "[1.25, -11]") << "1 + 2 x w";
  EXPECT_EQ(got[1].text(), "[1, 4]") << "as given";
  EXPECT_EQ(got[2].text(), "[0.0625, 36]");
  EXPECT_EQ(got[3].text(), "[0.25, -12]");
  EXPECT_EQ(got[4].text(), "[2, 2]") << "through the given one";
}

TEST(GraphCalls, PrintsOnceForEachCall) {
  const Expr x = scalar("x");
  const OpFromGraph shown([](const Values& in) { return Values{sqr(print(in[0], "value"))}; });
  const Expr out = shown({shown({x})[0]})[0];
  for (const Mode mode : {Mode::kReference, Mode::kNative, Mode::kDebug}) {
    Function f = function({x}, {out, grad(out, x)}, {}, {.mode = mode});
    testing::internal::CaptureStderr();
    const std::vector<Tensor> got = f({Tensor(3.0)});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "value: float64[] 3\nvalue: float64[] 9\n");
    EXPECT_EQ(got[0].as_double(), 81);
    EXPECT_EQ(got[1].as_double(), 108);
  }
}

TEST(GraphCalls, ErrorsOfAGivenDerivative) {
  const Expr x = vector("x", {3});
  auto text_of = [&](const GraphGradient& gradient) {
    const OpFromGraph op([](const Values& in) { return Values{in[0] * 2}; }, gradient);
    const std::string text = text_without_node([&] { op({x}); });
    return text.substr(0, text.find("\n  node:"));
  };
  EXPECT_EQ(text_of([](const Values&, const Values&, const Values&) { return Values{}; }),
            "error: op_from_graph: the gradient gives another number of cotangents\n"
            "  expected: 1, one for each argument\n"
            "  got:      0");
  EXPECT_EQ(text_of([](const Values&, const Values&, const Values& d) { return Values{sum(d[0])}; }),
            "error: op_from_graph: the gradient gives a cotangent of another type for argument 0\n"
            "  expected: float64[3]\n"
            "  got:      float64[]");
}

// The call's argument is read again after the call: its body may not compute in the argument's location.
TEST(OpFromGraph, ItsBodyLeavesWhatOthersReadLater) {
  const Expr x = vector("x", {3}), v = cumsum(x);
  const OpFromGraph squares([](const std::vector<Expr>& a) { return std::vector{cumsum(sqr(a[0]))}; });
  const OpFromGraph writes([](const std::vector<Expr>& a) { return std::vector{cumsum(inc_subtensor(a[0][0], 1.0))}; });
  for (const OpFromGraph* op : {&squares, &writes})
    for (Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug}) {
      const std::vector<Tensor> out =
          function({x}, {(*op)({v})[0], cumsum(v)}, {}, {.mode = mode})({Tensor::vector({1.0, 2.0, 3.0})});
      EXPECT_EQ(out[0].text(), op == &squares ? "[1, 10, 46]" : "[2, 5, 11]");
      EXPECT_EQ(out[1].text(), "[1, 4, 10]");
    }
}

// ---- derivatives of single arguments, forward mode -----------------------------------------------------------------

Expr doubled(const Values&, const Values&, const Values& d) {
  return 2 * d[0];
}

// x y c, c captured.
Values product(const Expr& x, const Expr& y, const Expr& c, GraphOpOptions options) {
  return OpFromGraph([&](const Values& in) { return Values{in[0] * in[1] * c}; }, std::move(options))({x, y});
}

TEST(GraphCalls, TheDerivativeOfOneArgumentMayBeGivenAndTheOthersAreTheGraphs) {
  const Expr x = vector("x", {2}), y = vector("y", {2}), c = vector("c", {2}), v = vector("v", {2});
  GraphOpOptions options;
  options.gradient_of[0] = doubled;
  const Expr out = product(x, y, c, options)[0];
  const Values gradients = grad(sum(out), {x, y, c});
  const std::vector<Tensor> got = values_in_modes(
      {x, y, c, v}, {gradients[0], gradients[1], gradients[2], jvp(out, x, v), jvp(out, y, v), jvp(out, c, v)},
      {Tensor::vector({1.0, 2.0}), Tensor::vector({3.0, 4.0}), Tensor::vector({5.0, 6.0}),
       Tensor::vector({1.0, 10.0})});
  const char* const texts[] = {"[2, 2]", "[5, 12]", "[3, 8]", "[2, 20]", "[5, 120]", "[3, 80]"};
  for (size_t k = 0; k < got.size(); ++k) EXPECT_EQ(got[k].text(), texts[k]) << k;
}

TEST(GraphCalls, AnArgumentWhoseGivenDerivativeIsEmptyIsDisconnected) {
  const Expr x = vector("x", {2}), y = vector("y", {2}), c = vector("c", {2});
  GraphOpOptions options;
  options.gradient_of[1] = [](const Values&, const Values&, const Values&) { return Expr(); };
  const Expr out = product(x, y, c, options)[0];
  const Values gradients = grad(sum(out), {x, y}, {.disconnected = Disconnected::kZero});
  const std::vector<Tensor> got = values_in_modes(
      {x, y, c}, gradients, {Tensor::vector({1.0, 2.0}), Tensor::vector({3.0, 4.0}), Tensor::vector({5.0, 6.0})});
  EXPECT_EQ(got[0].text(), "[15, 24]");
  EXPECT_EQ(got[1].text(), "[0, 0]");
}

TEST(GraphCalls, ForwardModeMayBeGiven) {
  const Expr x = vector("x", {2}), y = vector("y", {2}), c = vector("c", {2}), v = vector("v", {2});
  GraphOpOptions options;
  options.tangents = [](const Values& in, const Values& results, const Values& d) {
    return Values{100 * results[0] + in[0] * d[1] + d[0]};
  };
  const Expr out = product(x, y, c, options)[0];
  const std::vector<Tensor> got =
      values_in_modes({x, y, c, v},
                      {jvp(out, x, v), jvp(out, y, v), jvp(out, c, v), jvp(Values{out}, Values{x, c}, Values{v, v})[0],
                       grad(sum(out), x), jvp(jvp(out, y, v), x, v)},
                      {Tensor::vector({1.0, 2.0}), Tensor::vector({3.0, 4.0}), Tensor::vector({5.0, 6.0}),
                       Tensor::vector({1.0, 10.0})});
  // x y c = [15, 48]. The derivative of a derivative is that of the graph that is given.
  const char* const texts[] = {"[1501, 4810]", "[1501, 4820]", "[3, 80]", "[1504, 4890]", "[15, 24]", "[1, 100]"};
  for (size_t k = 0; k < 5; ++k) EXPECT_EQ(got[k].text(), texts[k]) << k;
}

TEST(GraphCalls, AResultWithoutAGivenTangentDoesNotMove) {
  const Expr x = vector("x", {2}), v = vector("v", {2});
  GraphOpOptions options;
  options.tangents = [](const Values&, const Values&, const Values& d) { return Values{Expr(), 3 * d[0]}; };
  const Values out = OpFromGraph([](const Values& in) { return Values{exp(in[0]), 2 * in[0]}; }, options)({x});
  const std::vector<Tensor> got = values_in_modes({x, v}, jvp(out, {x}, {v}, {.disconnected = Disconnected::kZero}),
                                                  {Tensor::vector({1.0, 2.0}), Tensor::vector({1.0, 10.0})});
  EXPECT_EQ(got[0].text(), "[0, 0]");
  EXPECT_EQ(got[1].text(), "[3, 30]");
}

TEST(GraphCalls, MistakesInGivenDerivativesAreUserErrors) {
  const Expr x = vector("x", {3});
  const auto text = [&](GraphOpOptions options) {
    return text_without_node(
        [&] { OpFromGraph([](const Values& in) { return Values{exp(in[0])}; }, std::move(options))({x}); });
  };
  const auto none = [](const Values&, const Values&, const Values&) { return Values{}; };
  EXPECT_EQ(text_without_node([&] { OpFromGraph(nullptr)({x}); }),
            "error: op_from_graph: there is no function that builds the graph\n"
            "  expected: a GraphBuilder\n  got:      an empty std::function");
  GraphOpOptions options{.gradient = none};
  EXPECT_EQ(text(options),
            "error: op_from_graph: the gradient gives another number of cotangents\n"
            "  expected: 1, one for each argument\n  got:      0");
  options.gradient_of[0] = doubled;
  EXPECT_EQ(text(options),
            "error: op_from_graph: the gradient is given twice\n  expected: gradient, or gradient_of\n"
            "  got:      both");
  options.gradient = nullptr;
  options.gradient_of[1] = doubled;
  EXPECT_EQ(text(options),
            "error: op_from_graph: a gradient is given of an argument that is not there\n"
            "  expected: arguments 0 to 0\n  got:      1");
  options.gradient_of = {{0, [](const Values&, const Values&, const Values& d) { return sum(d[0]); }}};
  EXPECT_EQ(text(options),
            "error: op_from_graph: the gradient gives a cotangent of another type for argument 0\n"
            "  expected: float64[3]\n  got:      float64[]");
  EXPECT_EQ(text({.tangents = none}),
            "error: op_from_graph: forward mode gives another number of tangents\n"
            "  expected: 1, one for each result\n  got:      0");
  const auto scalar_tangent = [](const Values&, const Values&, const Values& d) { return Values{sum(d[0])}; };
  EXPECT_EQ(text({.tangents = scalar_tangent}),
            "error: op_from_graph: forward mode gives a tangent of another type for result 0\n"
            "  expected: float64[3]\n  got:      float64[]");
}

}  // namespace
}  // namespace thtrain::graph_calls_test
