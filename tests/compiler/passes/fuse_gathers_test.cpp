// Reads through an index as loads of the loops that want them: what is fused, what stays, values, errors, claims.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/fuse_reductions.h"
#include "compiler/plan/in_place.h"
#include "tests/support/error_text.h"
#include "tests/support/native_program.h"
#include "tests/support/steps.h"

namespace thtrain::fuse_gathers_test {
namespace {

Expr input(DType dtype, Dims dims, const std::string& name) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, name);
}
Expr floats(Dims dims, const std::string& name) {
  return input(DType::kFloat64, std::move(dims), name);
}
Expr indices(Dims dims, const std::string& name) {
  return input(DType::kInt64, std::move(dims), name);
}

Graph fused(const std::vector<Expr>& outputs) {
  Graph after = fuse_elementwise(fuse_reductions({leaves_of(outputs), outputs, {}}, {}), {});
  verify(after, "fuse_elementwise");
  return after;
}

Steps steps(const std::vector<Expr>& outputs) {
  return steps_of(fused(outputs));
}

const Expr w = floats({9, 5}, "w"), b = floats({"n", 5}, "b"), p = floats({"n", 7}, "p"), v = floats({11}, "v");
const Expr which = indices({"n"}, "which"), labels = indices({"n"}, "labels");

TEST(FuseGathers, AreLoadsOfTheLoopThatWantsThem) {
  EXPECT_EQ(steps({sqr(take(w, which)) + b}), Steps{"fused"});
  EXPECT_EQ(steps({tanh(take(v, which)) + take(v, labels)}), Steps{"fused"}) << "two of one source";
  EXPECT_EQ(steps({sqr(pick_rows(p, labels))}), Steps{"fused"});
  EXPECT_EQ(steps({sqr(w[{which, labels}])}), Steps{"fused"}) << "two indices for each element";
  EXPECT_EQ(steps({-mean(pick_rows(p, labels))}), Steps{"fused_reduction"});
  EXPECT_EQ(steps({sum(sqr(take(w, which)), 1)}), Steps{"fused_reduction"});
  EXPECT_EQ(steps({softmax(take(w, which) + b)}), Steps{"fused_reduction"});
  EXPECT_EQ(steps({b * dimshuffle(sum(b, 1) + take(v, which), {0, -1})}), Steps{"fused_reduction"}) << "a row's number";
  EXPECT_EQ(steps({exp(take(take(v, which), labels))}), (Steps{"gather", "fused"})) << "the outer one";
}

TEST(FuseGathers, ComputeWhatTheyReadBefore) {
  EXPECT_EQ(steps({exp(take(sqr(w), which))}), (Steps{"fused", "fused"}));
  // Read at its own index too, by the loop that gathers from it: no loop has all of it when it needs it.
  Expr y = exp(v), same = indices({11}, "same");
  EXPECT_EQ(steps({take(y, same) * y}), (Steps{"fused", "fused"}));
  EXPECT_EQ(steps({take(y, same) * 2 + sqr(y)}), (Steps{"fused", "fused"}));
  EXPECT_EQ(steps({-mean(pick_rows(log_softmax(p), labels))}), (Steps{"fused_reduction", "fused_reduction"}));
  Expr shifted = same + 1;
  EXPECT_EQ(steps({take(v, shifted) + cast(shifted, DType::kFloat64)}), (Steps{"fused", "fused"}));
}

TEST(FuseGathers, Stay) {
  Expr taken = take(w, which);
  EXPECT_EQ(steps({taken}), Steps{"gather"}) << "nobody reads it";
  EXPECT_EQ(steps({exp(taken), taken}), (Steps{"gather", "fused"})) << "it is a result too";
  EXPECT_EQ(steps({exp(taken), dot(taken, transpose(w))}), (Steps{"gather", "fused", "dot"})) << "another reader";
  EXPECT_EQ(steps({taken * 2.0, sum(exp(taken), 0)}), (Steps{"gather", "fused", "fused", "sum"})) << "two loops";
  EXPECT_EQ(steps({take(v, Operand(3).expr()) * 2.0}), (Steps{"gather", "fused"})) << "a constant index";
  EXPECT_EQ(steps({exp(take(v, indices({5000}, "many")))}), (Steps{"gather", "fused"})) << "many single elements";
  Expr z = input(DType::kComplex64, {4}, "z");
  EXPECT_EQ(steps({real(take(z, which))}), (Steps{"gather", "fused"})) << "a complex number is two loads";
}

TEST(FuseGathers, TwiceChangesNothing) {
  Graph once = fused({-mean(pick_rows(p, labels)), sqr(take(w, which)) + b});
  EXPECT_TRUE(same_graph(once, fuse_elementwise(fuse_reductions(once, {}), {})));
}

// ---- values --------------------------------------------------------------------------------------------------------

Tensor numbers(DType dtype, const Shape& shape, double step, double modulus, double first) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<double>()[i] = first + std::fmod(static_cast<double>(i) * step, modulus);
  return out.cast(dtype);
}

// Results that a test collects: one program of each mode computes them all.
class Results {
 public:
  Expr add_input(const Expr& variable, const Tensor& value) {
    inputs_.emplace_back(variable);
    values_.push_back(value);
    return variable;
  }
  void add(const Expr& result, const std::string& what) {
    EXPECT_EQ(steps({result}).size(), 1u) << what;
    results_.push_back(result);
    names_.push_back(what);
  }

  // Native and debug mode against the reference.
  void check() {
    std::vector<Out> outputs(results_.begin(), results_.end());
    std::vector<Tensor> expected = function(inputs_, outputs, {}, {.mode = Mode::kReference})(values_),
                        native = function(inputs_, outputs)(values_),
                        checked = function(inputs_, outputs, {}, {.mode = Mode::kDebug})(values_);
    for (size_t i = 0; i < results_.size(); ++i) {
      EXPECT_EQ(difference(native[i], expected[i], 64), std::nullopt) << names_[i];
      EXPECT_EQ(difference(checked[i], expected[i], 64), std::nullopt) << names_[i];
    }
  }

 private:
  std::vector<In> inputs_;
  std::vector<Tensor> values_;
  std::vector<Expr> results_;
  std::vector<std::string> names_;
};

TEST(FuseGathers, RowsAndColumnsOfEveryShape) {
  struct Case {
    Shape x, indices;
    int64_t axis;
  };
  const std::vector<Case> cases{{{6, 3}, {4}, 0},    {{5, 37}, {7}, 0},    {{3, 6}, {21}, 1},    {{2, 5, 3}, {2, 4}, 1},
                                {{7}, {40}, 0},      {{7}, {3}, 0},        {{1, 9}, {2}, 0},     {{5, 3}, {0}, 0},
                                {{4, 1}, {5, 1}, 0}, {{3, 4, 17}, {5}, 2}, {{2, 3, 19}, {4}, 1}, {{0, 4}, {3}, 1}};
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt16})
    for (bool named : {false, true}) {
      Results results;
      for (size_t n = 0; n < cases.size(); ++n) {
        const Case& c = cases[n];
        auto dims = [&](const Shape& shape, const std::string& name) {
          Dims out;
          for (size_t i = 0; i < shape.size(); ++i)
            out.push_back(named ? Dim::named(str(name, n, "_", i)) : Dim(shape[i]));
          return out;
        };
        const double length = static_cast<double>(c.x[static_cast<size_t>(c.axis)]);
        Expr x = results.add_input(input(dtype, dims(c.x, "x"), str("x", n)), numbers(dtype, c.x, 7, 13, -4));
        Expr at = results.add_input(indices(dims(c.indices, "at"), str("at", n)),
                                    numbers(DType::kInt64, c.indices, 5, 2 * length, -length));
        Expr taken = take(x, at, c.axis);
        results.add(sqr(taken) + taken,
                    str(shape_text(c.x), " at ", shape_text(c.indices), " ", name_of(dtype), named));
      }
      results.check();
    }
}

TEST(FuseGathers, IndicesOfEveryDtype) {
  Results results;
  Expr x = results.add_input(input(DType::kFloat32, {9, 6}, "x"), numbers(DType::kFloat32, {9, 6}, 5, 11, -3));
  for (DType dtype : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kUInt8, DType::kUInt64}) {
    const std::string name(name_of(dtype));
    Expr at =
        results.add_input(input(dtype, {35}, "at_" + name), numbers(dtype, {35}, 5, 6, is_signed_int(dtype) ? -6 : 0));
    Expr row = results.add_input(input(dtype, {9}, "row_" + name), numbers(dtype, {9}, 5, 6, 0));
    results.add(exp(take(x, at, 1)), "take " + name);
    results.add(-mean(pick_rows(x, row)), "pick " + name);
    results.add(sqr(x[{at, at}]), "two axes " + name);
  }
  Expr bools = results.add_input(input(DType::kBool, {9}, "bools"), numbers(DType::kBool, {9}, 1, 2, 0));
  Expr at = results.add_input(indices({21}, "at"), numbers(DType::kInt64, {21}, 5, 9, 0));
  results.add(switch_(take(bools, at), 2.0, 3.0), "bools");
  results.check();
}

TEST(FuseGathers, InRowReductions) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    Results results;
    for (const auto& [rows, columns] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 10}, {5, 130}, {40, 3}, {40, 10}, {9, 30}}) {
      const std::string size = str("_", rows, "x", columns);
      auto given = [&](const char* name, const Shape& shape, double step, double first) {
        Dims dims(shape.begin(), shape.end());
        return results.add_input(input(dtype, dims, name + size), numbers(dtype, shape, step, 2, first));
      };
      auto placed = [&](const char* name, int64_t n, double step, double modulus, double first) {
        return results.add_input(indices({n}, name + size), numbers(DType::kInt64, {n}, step, modulus, first));
      };
      Expr x = given("x", {12, columns}, 0.37, -1), y = given("y", {rows, columns}, 0.23, -1);
      Expr u = given("u", {rows, 15}, 0.41, -1), scales = given("scales", {7}, 0.5, 1);
      Expr at = placed("at", rows, 5, 24, -12), row = placed("row", rows, 3, 7, 0);
      Expr column = placed("column", columns, 4, 30, -15);
      results.add(softmax(take(x, at) + y), "rows" + size);
      results.add(softmax(take(u, column, 1) * y), "columns" + size);
      Expr inner = placed("inner", columns, 3, static_cast<double>(columns), 0);
      results.add(softmax(x[{dimshuffle(at, {0, -1}), inner}] + y), "elements" + size);
      results.add(sum(sqr(take(x, at)), 1), "sums of rows" + size);
      results.add(y / dimshuffle(sum(exp(y), 1) * take(scales, row), {0, -1}), "a row's number" + size);
      if (rows == 1) continue;
      results.add(sum(sqr(take(x, at)), 0), "sums of columns" + size);
      Expr label = placed("label", rows, 2, static_cast<double>(columns), 0);
      results.add(-mean(pick_rows(y, label)), "nll" + size);
    }
    results.check();
  }
}

TEST(FuseGathers, OfATransposedSource) {
  Results results;
  Expr x = results.add_input(input(DType::kFloat32, {19, 5}, "x"), numbers(DType::kFloat32, {19, 5}, 0.37, 2, -1));
  Expr at = results.add_input(indices({4}, "at"), numbers(DType::kInt64, {4}, 3, 5, 0));
  results.add(tanh(take(transpose(x), at)), "rows of x^T");
  results.check();
}

TEST(FuseGathers, WithEveryCompilerAndWidth) {
  Expr x = input(DType::kFloat32, {12, 37}, "x"), at = indices({23}, "at"), u = floats({23, 15}, "u");
  Expr row = indices({23}, "row"), column = input(DType::kInt16, {37}, "column"), scales = floats({7}, "scales");
  Graph graph{{x, at, u, row, column, scales}, {}, {}};
  graph.outputs = {sqr(take(x, at)),
                   softmax(take(x, at)),
                   exp(take(u, column, 1)),
                   tanh(take(scales, row)) * sum(u, 1),
                   u * dimshuffle(sum(u, 1) * take(scales, row), {0, -1}),
                   -mean(pick_rows(u, row)),
                   sum(sqr(take(u, column, 1)), 1),
                   sqr(u[{row, row}])};
  const std::vector<Tensor> values{
      numbers(DType::kFloat32, {12, 37}, 0.37, 2, -1), numbers(DType::kInt64, {23}, 5, 24, -12),
      numbers(DType::kFloat64, {23, 15}, 0.41, 2, -1), numbers(DType::kInt64, {23}, 3, 7, 0),
      numbers(DType::kInt16, {37}, 4, 30, -15),        numbers(DType::kFloat64, {7}, 0.5, 3, 1)};
  std::vector<std::pair<Expr, Tensor>> bound;
  for (size_t i = 0; i < values.size(); ++i) bound.emplace_back(graph.inputs[i], values[i]);
  const std::vector<Tensor> expected = evaluate(graph.outputs, bound);
  for (const Target& target : all_targets()) {
    if (!why_not(target).empty()) continue;
    const std::vector<Tensor> got = NativeProgram(graph, target)(values);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(difference(got[i], expected[i], 64), std::nullopt) << target.text() << " " << i;
  }
}

// ---- errors --------------------------------------------------------------------------------------------------------

std::string failure(const std::vector<Expr>& inputs, const std::vector<Tensor>& values, const Expr& result, Mode mode,
                    bool fuse = true) {
  FunctionOptions options{.mode = mode};
  if (!fuse) options.without = {"fuse_reductions", "fuse_elementwise"};
  try {
    function({inputs.begin(), inputs.end()}, {result}, {}, options)(values);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(FuseGathers, ABadIndexIsTheSameErrorInEveryMode) {
  Expr x = floats({6, 4}, "x"), at = indices({3}, "at"), row = indices({6}, "row"), u = floats({2, 30}, "u");
  Expr column = indices({21}, "column"), open = floats({"m", 30}, "open");
  auto whole = [](std::vector<int64_t> numbers) { return Tensor::of(numbers, {static_cast<int64_t>(numbers.size())}); };
  std::vector<int64_t> wide(21, 3);
  wide[19] = -31;
  Tensor xs = Tensor::zeros(DType::kFloat64, {6, 4}), us = Tensor::zeros(DType::kFloat64, {2, 30});
  struct Case {
    std::vector<Expr> inputs;
    std::vector<Tensor> values;
    Expr result;
    std::string says;
  };
  const std::vector<Case> cases{
      {{x, at}, {xs, whole({0, 6, 1})}, sqr(take(x, at)), "take: the index 6 is outside axis 0"},
      {{x, at}, {xs, whole({0, 1, -7})}, sum(sqr(take(x, at)), 1), "take: the index -7 is outside axis 0"},
      {{u, column}, {us, whole(wide)}, exp(take(u, column, 1)), "take: the index -31 is outside axis 1"},
      // Nothing is read through them, and they are wrong all the same.
      {{open, column},
       {Tensor::zeros(DType::kFloat64, {0, 30}), whole(wide)},
       exp(take(open, column, 1)),
       "take: the index -31 is outside axis 1"},
      {{x, row}, {xs, whole({0, 1, 2, 3, 4, 0})}, -mean(pick_rows(x, row)), "pick_rows: the index of row 4 is 4"},
      {{x, row}, {xs, whole({0, 1, -5, 3, 2, 0})}, sqr(pick_rows(x, row)), "pick_rows: the index of row 2 is -5"},
      {{x, row}, {xs, whole({0, 1, 2, 3, 4, 0})}, sqr(x[{row, row}]), "gather: the index 4 is outside axis 1"},
      {{x, row},
       {xs, whole({0, 1, -1, 3, 2, 0})},
       sqr(pick_rows(x, row, Negative::kRefused)),
       "pick_rows: the label of row 2 is -1"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.says);
    EXPECT_EQ(steps({c.result}).size(), 1u);
    std::string text = failure(c.inputs, c.values, c.result, Mode::kNative);
    EXPECT_NE(text.find(c.says), std::string::npos) << text;
    EXPECT_NE(text.find("fuse_gathers_test.cpp:"), std::string::npos) << text;
    EXPECT_EQ(text, failure(c.inputs, c.values, c.result, Mode::kNative, false));
    EXPECT_EQ(text, failure(c.inputs, c.values, c.result, Mode::kReference));
    EXPECT_EQ(text, failure(c.inputs, c.values, c.result, Mode::kDebug));
  }
}

TEST(FuseGathers, AVariableIsWrittenAfterTheCheck) {
  Shared s(Tensor::zeros(DType::kFloat64, {4, 5}), "s");
  Expr at = indices({4}, "at");
  Function f = function({at, w}, {}, {{s, s.expr() + 1.0 + take(w, at)}});
  Tensor table = Tensor::zeros(DType::kFloat64, {9, 5});
  std::string text = text_without_node([&] { f({Tensor::vector<int64_t>({0, 1, 2, 9}), table}); });
  EXPECT_EQ(text,
            "error: take: the index 9 is outside axis 0\n"
            "  expected: -9 <= index < 9");
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(s.get_value().as_double(i), 0) << i;
  f({Tensor::vector<int64_t>({0, 1, 2, -9}), table});
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(s.get_value().as_double(i), 1) << i;
}

// ---- in place ------------------------------------------------------------------------------------------------------

TEST(FuseGathers, NothingIsWrittenOverASourceOrItsIndices) {
  Expr x = floats({6}, "x"), at = indices({6}, "at");
  const Graph graph = fused({take(x, at) + x * cast(at, DType::kFloat64)});
  const Node& node = graph.outputs[0].node();
  ASSERT_EQ(node.op->name, "fused");
  ASSERT_EQ(node.inputs.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    bool at_its_own_index = access_of(node, i) == Access::kElement;
    EXPECT_EQ(may_overwrite(node, 0, i), at_its_own_index && is_float(node.inputs[i].dtype())) << i;
  }
  EXPECT_FALSE(can_update_in_place(node, 0, x.node()));
}

TEST(FuseGathers, AnUpdateByItsOwnGatheredValue) {
  Shared s(Tensor::vector<double>({1, 2, 3, 4, 5, 6, 7, 8, 9}), "s");
  Expr at = indices({9}, "at");
  Function f = function({at}, {}, {{s, take(s.expr(), at) + 10.0 * s.expr()}}, {.mode = Mode::kDebug});
  f({Tensor::vector<int64_t>({8, 7, 6, 5, 4, 3, 2, 1, 0})});
  Tensor after = s.get_value();
  for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(after.as_double(i), static_cast<double>(9 - i + 10 * (i + 1))) << i;
}

TEST(FuseGathers, ATemporaryThatIsGatheredIsNotOverwritten) {
  Expr x = floats({40}, "x"), at = indices({40}, "at"), other = floats({40}, "other");
  Tensor reversed = Tensor::empty(DType::kInt64, {40});
  for (int64_t i = 0; i < 40; ++i) reversed.data<int64_t>()[i] = 39 - i;
  std::vector<Tensor> values{numbers(DType::kFloat64, {40}, 0.7, 3, -1), reversed,
                             numbers(DType::kFloat64, {40}, 0.3, 2, 0)};
  // y dies in the loop that reads it through the index, and at its own index.
  Expr y = exp(x) * other;
  for (const Expr& result : {tanh(take(y, at)) + other, take(y, at) - y}) {
    std::vector<In> variables{x, at, other};
    Tensor expected = function(variables, {dot(result, other)}, {}, {.mode = Mode::kReference})(values)[0];
    EXPECT_EQ(difference(function(variables, {dot(result, other)})(values)[0], expected, 64), std::nullopt);
    EXPECT_EQ(
        difference(function(variables, {dot(result, other)}, {}, {.mode = Mode::kDebug})(values)[0], expected, 64),
        std::nullopt);
  }
}

}  // namespace
}  // namespace thtrain::fuse_gathers_test
