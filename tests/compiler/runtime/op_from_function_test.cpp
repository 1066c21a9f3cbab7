// Ops that are C++ functions: in every mode, under derivatives, in loops, from the cache, and when they fail.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "compiler/api.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/registry.h"
#include "compiler/runtime/compile.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"
#include "tests/support/op_case_runner.h"

namespace thtrain::op_from_function_test {
namespace {

using Values = std::vector<Expr>;
using Tensors = std::vector<Tensor>;

// y[i] = x[i + 1] - x[i], of any float.
Tensors differences_of(const Tensors& in) {
  Tensor y = Tensor::empty(in[0].dtype(), {in[0].size() - 1});
  visit(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < y.size(); ++i) y.data<T>()[i] = in[0].data<T>()[i + 1] - in[0].data<T>()[i];
  });
  return {y};
}

std::vector<Type> one_less(const std::vector<Type>& in) {
  return {{.dtype = in[0].dtype, .dims = {in[0].dims[0] - 1}}};
}

Values moved_back(const Values&, const Values&, const Values& d) {
  const Expr zero = zeros({1}, d[0].dtype());
  return {join(0, {zero, d[0]}) - join(0, {d[0], zero})};
}

const OpFromFunction& differences() {
  static const OpFromFunction op(
      {.name = "my.differences",
       .version = "1",
       .compute = differences_of,
       .types = one_less,
       .gradient = moved_back,
       .tangents = [](const Values&, const Values&, const Values& d) { return Values{diff(d[0])}; }});
  return op;
}

// sqr(x) and the truth of x > 0, elementwise; forward mode follows from the gradient.
const OpFromFunction& squares() {
  static const OpFromFunction op(
      {.name = "squares",
       .version = "1",
       .compute =
           [](const Tensors& in) {
             Tensor y = Tensor::empty(DType::kFloat64, in[0].shape()),
                    is_above = Tensor::empty(DType::kBool, in[0].shape());
             for (int64_t i = 0; i < y.size(); ++i) {
               const double x = in[0].data<double>()[i];
               y.data<double>()[i] = x * x;
               is_above.data<bool>()[i] = x > 0;
             }
             return Tensors{y, is_above};
           },
       .types =
           [](const std::vector<Type>& in) {
             Type truth = in[0];
             truth.dtype = DType::kBool;
             return std::vector{in[0], truth};
           },
       .gradient = [](const Values& x, const Values&, const Values& d) { return Values{2 * d[0] * x[0]}; }});
  return op;
}

Tensors in_mode(Mode mode, const std::vector<Expr>& inputs, const Values& outputs, const Tensors& values) {
  return function({inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, {}, {.mode = mode})(values);
}

void expect_in_modes(const std::vector<Expr>& inputs, const Values& outputs, const Tensors& values,
                     const std::vector<std::string>& texts) {
  for (Mode mode : {Mode::kReference, Mode::kNative, Mode::kDebug, Mode::kNanGuard}) {
    const Tensors got = in_mode(mode, inputs, outputs, values);
    for (size_t k = 0; k < texts.size(); ++k)
      EXPECT_EQ(got[k].text(), texts[k]) << "mode " << static_cast<int>(mode) << ", output " << k;
  }
}

TEST(OpFromFunction, ComputesInEveryMode) {
  const Expr x = vector("x", {"n"});
  const Values y = squares()({differences()({2 * x})[0]});
  expect_in_modes({x}, {y[0] + 1, y[1]}, {Tensor::vector({1.0, 4.0, 2.0})}, {"[37, 17]", "[true, false]"});
  const Function f = function({x}, {y[0]});
  EXPECT_EQ(f.info().reference_steps, (std::vector<std::string>{"my.differences", "squares"}));
}

TEST(OpFromFunction, ReadsAnyLayoutAndAnyTypeThatItsRuleTakes) {
  const Expr x = tensor("x", {3, 2}, DType::kFloat32);
  expect_in_modes({x}, {differences()({x.T()[1]})[0], differences()({x[{Slice{.step = -1}, 0}]})[0]},
                  {Tensor::matrix({{1.0F, 2.0F}, {4.0F, 7.0F}, {2.0F, 3.0F}})}, {"[5, -4]", "[2, -3]"});
}

TEST(OpFromFunction, HasTheDerivativesThatAreGiven) {
  const Expr x = vector("x", {"n"}), v = vector("v", {"n"});
  const Expr y = differences()({x})[0], cost = sum(sqr(y)), z = squares()({x})[0];
  expect_in_modes({x, v}, {grad(cost, x), jvp(y, x, v), jvp(z, x, v), hessian(sum(z * x), x)},
                  {Tensor::vector({1.0, 4.0, 2.0}), Tensor::vector({1.0, 0.0, 2.0})},
                  {"[-6, 10, -4]", "[-1, 2]", "[2, 0, 8]", "[[6, 0, 0], [0, 24, 0], [0, 0, 12]]"});
}

TEST(OpFromFunction, IsCalledInLoopsBranchesAndForEachExample) {
  const Expr x = vector("x", {3}), rows = matrix("rows", {2, 3}), c = scalar("c");
  ScanOptions twice;
  twice.outputs_info = {x};
  twice.n_steps = 2;
  const auto [states, updates] = scan([](const Values& in) { return squares()({in[0]})[0]; }, twice);
  const Expr chosen = if_else(
      c > 0, [&] { return squares()({x})[0]; }, [&] { return x; });
  const Expr each = vmap([](const Expr& row) { return differences()({row})[0]; }, {rows});
  expect_in_modes({x, rows, c}, {states[-1], grad(sum(states[-1]), x), chosen, each},
                  {Tensor::vector({1.0, 2.0, -1.0}), Tensor::matrix({{1.0, 2.0, 4.0}, {0.0, 5.0, 1.0}}), Tensor(1.0)},
                  {"[1, 16, 1]", "[4, 32, -4]", "[1, 4, 1]", "[[1, 2], [5, -4]]"});
}

// A process that starts later builds its ops and its graph anew. Does it find the program?
TEST(OpFromFunction, AProgramWithOneIsFoundInTheCache) {
  int calls = 0;
  const auto made = [&](const std::string& version, double factor) {
    const OpFromFunction op({.name = "scaled", .version = version, .compute = [&calls, factor](const Tensors& in) {
                               ++calls;
                               return Tensors{Tensor(factor * in[0].as_double())};
                             }});
    const Expr x = scalar("x");
    return function({x}, {op({exp(x)})[0] + 1});
  };
  EXPECT_FALSE(made("one", 2).info().from_cache);
  Function again = made("one", 2);
  EXPECT_TRUE(again.info().from_cache);
  EXPECT_EQ(again({Tensor(0.0)})[0].as_double(), 3);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(made("two", 3).info().from_cache);
  EXPECT_EQ(made("two", 3)({Tensor(0.0)})[0].as_double(), 4);
}

TEST(OpFromFunction, TwoOfOneNameInAProgramFromTheCacheStayTwo) {
  const auto made = [](double factor) {
    return OpFromFunction({.name = "times", .version = "1", .compute = [factor](const Tensors& in) {
                             return Tensors{Tensor(factor * in[0].as_double())};
                           }});
  };
  const auto program = [&] {
    const Expr x = scalar("x");
    return function({x}, {made(2)({x})[0], made(3)({x})[0]});
  };
  program();
  Function again = program();
  EXPECT_TRUE(again.info().from_cache);
  const Tensors got = again({Tensor(1.0)});
  EXPECT_EQ(got[0].as_double(), 2);
  EXPECT_EQ(got[1].as_double(), 3);
}

// The text of a graph says nothing of the code of an op that no list has.
TEST(OpFromFunction, AnOpWithoutAVersionIsPlannedAnew) {
  const auto made = [](Props props) {
    static const Op op{
        .name = "my.plus_one",
        .doc = "x + 1",
        .infer = [](const TypeArgs& a) { return std::vector{a.type(0)}; },
        .reference = [](const ReferenceArgs& a) { return std::vector{Tensor(a.inputs[0].as_double() + 1)}; },
        .calls_reference = true};
    const Expr x = scalar("x");
    return function({x}, {apply(op, {x}, std::move(props))});
  };
  made({});
  EXPECT_FALSE(made({}).info().from_cache);
  made({{"version", std::string("1")}});
  Function found = made({{"version", std::string("1")}});
  EXPECT_TRUE(found.info().from_cache);
  EXPECT_EQ(found({Tensor(2.0)})[0].as_double(), 3);
}

TEST(OpFromFunction, MultivariateNormalIsFoundInTheCache) {
  const auto made = [] {
    RandomStreams rng(1);
    const Expr c = matrix("c", {2, 2});
    return function({c}, {rng.multivariate_normal({3}, zeros({2}), c)});
  };
  made();
  EXPECT_TRUE(made().info().from_cache);
}

// ---- mistakes ------------------------------------------------------------------------------------------------------

std::string call_error(const std::function<Tensors(const Tensors&)>& compute, Mode mode, int* built) {
  const Expr x = vector("x", {"n"});
  const OpFromFunction op({.name = "mine", .version = "1", .compute = compute});
  const Expr y = (*built = __LINE__, op({x})[0]);
  return without_call(error_text([&] { in_mode(mode, {x}, {y}, {Tensor::vector({1.0, 2.0})}); }));
}

TEST(OpFromFunction, WhatItsFunctionThrowsOrGivesWronglyIsAUserError) {
  int built = 0;
  for (Mode mode : {Mode::kReference, Mode::kNative, Mode::kDebug}) {
    const auto text = [&](const std::string& what, const std::string& fields, const std::string& hint) {
      return str("error: mine: its function ", what, "\n", fields, "  node:     built at ", __FILE__, ":", built,
                 hint.empty() ? "" : "\n  hint:     ", hint);
    };
    const std::string rule = "the type rule, FunctionOpRules::types, says what the function gives";
    std::string got = call_error([](const Tensors&) -> Tensors { throw std::runtime_error("no disk"); }, mode, &built);
    EXPECT_EQ(got, text("has thrown an exception", "  got:      no disk\n", ""));
    got = call_error([](const Tensors&) -> Tensors { throw 3; }, mode, &built);
    EXPECT_EQ(got, text("has thrown an exception", "  got:      no std::exception\n", ""));
    got = call_error([](const Tensors&) -> Tensors { throw UserError({.what = "x is not sorted"}); }, mode, &built);
    EXPECT_EQ(got, str("error: x is not sorted\n  node:     built at ", __FILE__, ":", built));
    got = call_error([](const Tensors&) { return Tensors{}; }, mode, &built);
    EXPECT_EQ(got, text("gives another number of results", "  expected: 1\n  got:      0\n", rule));
    got = call_error([](const Tensors&) { return Tensors{Tensor::vector({1.0})}; }, mode, &built);
    EXPECT_EQ(got, text("gives result 0 of another type", "  expected: float64[2]\n  got:      float64[1]\n", rule));
    got = call_error([](const Tensors& in) { return Tensors{in[0].cast(DType::kFloat32)}; }, mode, &built);
    EXPECT_EQ(got, text("gives result 0 of another type", "  expected: float64[2]\n  got:      float32[2]\n", rule));
  }
}

TEST(OpFromFunction, WhatItThrowsAfterAnUpdateSaysThatVariablesMayHaveChanged) {
  const OpFromFunction fails({.name = "mine", .version = "1", .compute = [](const Tensors& in) -> Tensors {
                                if (in[0].as_double() > 2) throw UserError(Message{.what = "too much", .hint = "less"});
                                return in;
                              }});
  const std::string usual = "error: too much\n  hint:     less";
  for (const Mode mode : {Mode::kReference, Mode::kNative}) {
    const Shared v(Tensor(1.0), "v");
    const Expr x = scalar("x");
    const auto text_of = [&](const Values& outputs, const Expr& next) {
      Function f = function({x}, {outputs.begin(), outputs.end()}, {{v, next}},
                            {.mode = mode, .unused_inputs = UnusedInputs::kAllowed});
      return text_without_node([&] { f({3.0}); });
    };
    const std::string late =
        usual + (mode == Mode::kNative ? "; shared variables that this call updates may have changed already" : "");
    EXPECT_EQ(text_of({}, v * fails({x})[0]), usual);
    EXPECT_EQ(v.get_value().as_double(), 1);
    EXPECT_EQ(text_of({fails({x})[0]}, v * 3.0), late);
    EXPECT_EQ(v.get_value().as_double(), mode == Mode::kNative ? 3 : 1);
    // In a loop whose state lies in the variable: the third iteration fails, after two writes.
    v.set_value(Tensor(1.0));
    const Expr last = repeat(5, {v}, [&](const Values& s) { return Values{fails({s[0]})[0] + 1.0}; })[0];
    EXPECT_EQ(text_of({}, last), late);
    EXPECT_EQ(v.get_value().as_double(), mode == Mode::kNative ? 3 : 1);
  }
}

TEST(OpFromFunction, RulesThatFailAreUserErrors) {
  const auto copy = [](const Tensors& in) { return in; };
  const Expr x = vector("x", {3}), i = ivector("i");
  int line = 0;
  const auto error_of = [&](const auto& f) { return error_text([&] { f(); }); };
  const auto text = [&](const std::string& what) {
    return str("error: ", what, "\n  node:     built at ", __FILE__, ":", line);
  };

  std::string got =
      error_of([&] { line = __LINE__, OpFromFunction({.name = "a b", .version = "1", .compute = copy}); });
  EXPECT_EQ(got, text("op_from_function: the op has no name that texts can show\n"
                      "  expected: FunctionOpRules::name of letters, digits, \"_\" and \".\"\n  got:      \"a b\""));
  got = error_of([&] { line = __LINE__, OpFromFunction({.name = "tanh", .version = "1", .compute = copy}); });
  EXPECT_EQ(got, text("op_from_function: thtrain has an op named tanh\n  expected: another name\n  got:      tanh"));
  got = error_of([&] { line = __LINE__, OpFromFunction({.name = "mine", .version = "", .compute = copy}); });
  EXPECT_EQ(got, text("op_from_function: mine has no version\n  expected: FunctionOpRules::version, which is another "
                      "text when the function computes something else\n  got:      \"\""));
  got = error_of([&] { line = __LINE__, OpFromFunction({.name = "mine", .version = "1", .compute = nullptr}); });
  EXPECT_EQ(got, text("op_from_function: mine has no function\n  expected: FunctionOpRules::compute\n"
                      "  got:      an empty std::function"));

  const OpFromFunction refuses({.name = "mine", .version = "1", .compute = copy, .types = [](const std::vector<Type>&) {
                                  throw std::out_of_range("two arguments are needed");
                                  return std::vector<Type>();
                                }});
  got = error_of([&] { line = __LINE__, refuses({x}); });
  EXPECT_EQ(got, text("mine: its type rule has thrown an exception\n  got:      two arguments are needed"));
  const OpFromFunction none({.name = "mine", .version = "1", .compute = copy, .types = [](const std::vector<Type>&) {
                               return std::vector<Type>();
                             }});
  got = error_of([&] { line = __LINE__, none({x}); });
  EXPECT_EQ(got, text("mine: the type rule gives no result\n  expected: a type or more\n  got:      x float64[3]"));
  const OpFromFunction plain({.name = "mine", .version = "1", .compute = copy});
  got = error_of([&] { line = __LINE__, plain({}); });
  EXPECT_EQ(got, text("mine: without an argument the type of the result must be given\n"
                      "  expected: a type rule, FunctionOpRules::types"));
  got = error_of([&] { line = __LINE__, plain({Expr()}); });
  EXPECT_EQ(got,
            str("error: mine: an argument is an empty expression\n  expected: an expression that was built before\n"
                "  got:      Expr(), which has no value\n  node:     built at ",
                __FILE__, ":", line, "\n  hint:     Expr::has_value() tells whether there is one"));
}

TEST(OpFromFunction, DerivativesThatAreWrongOrMissingAreUserErrors) {
  const auto copy = [](const Tensors& in) { return in; };
  const Expr x = vector("x", {3}), v = vector("v", {3});
  const auto made = [&](GraphGradient gradient, GraphTangents tangents = nullptr) {
    const OpFromFunction op({.name = "mine",
                             .version = "1",
                             .compute = copy,
                             .gradient = std::move(gradient),
                             .tangents = std::move(tangents)});
    return op({x})[0];
  };
  const auto text = [](const auto& f) { return text_without_node([&] { f(); }); };
  EXPECT_EQ(text([&] { grad(sum(made(nullptr)), x); }),
            "error: grad: the op mine has no rule for its gradient\n"
            "  got:      mine float64[3], on which the derivative depends\n"
            "  hint:     give the op a gradient, or a connection that is false where a result has no derivative; "
            "stop_gradient(x) takes x as constant");
  EXPECT_EQ(text([&] { grad(sum(made([](const Values&, const Values&, const Values&) { return Values{}; })), x); }),
            "error: mine: its gradient gives another number of cotangents\n"
            "  expected: 1, one for each argument\n  got:      0");
  EXPECT_EQ(text([&] {
              grad(sum(made([](const Values&, const Values&, const Values& d) { return Values{sum(d[0])}; })), x);
            }),
            "error: mine: its gradient gives a cotangent of another type for argument 0\n"
            "  expected: float64[3]\n  got:      float64[]");
  EXPECT_EQ(text([&] {
              jvp(made(nullptr, [](const Values&, const Values&, const Values& d) { return Values{sum(d[0])}; }), x, v);
            }),
            "error: mine: its forward mode gives a tangent of another type for result 0\n"
            "  expected: float64[3]\n  got:      float64[]");
  EXPECT_EQ(
      text([&] { grad(sum(made([](const Values&, const Values&, const Values&) { return Values{Expr()}; })), x); }),
      "error: grad: the cost does not depend on x float64[3]\n"
      "  hint:     leave it out of wrt, or ask for zeros with GradOptions{.disconnected = Disconnected::kZero}");
}

}  // namespace
}  // namespace thtrain::op_from_function_test
