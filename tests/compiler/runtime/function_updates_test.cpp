// Updates of shared variables: every value is computed from the old ones, whatever is done in place.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

Tensor counting(Shape shape, double start = 1) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = start + static_cast<double>(i);
  return out;
}

// Each test runs natively and by the reference.
class FunctionUpdates : public testing::TestWithParam<Mode> {
 protected:
  Function make(const std::vector<In>& inputs, const std::vector<Out>& outputs,
                const std::vector<Update>& updates) const {
    return function(inputs, outputs, updates, {.mode = GetParam()});
  }
};

void expect(const Tensor& got, const Tensor& expected) {
  std::optional<std::string> where = difference(got, expected, 8);
  EXPECT_FALSE(where) << *where;
}

TEST_P(FunctionUpdates, SwapOfTwoVariables) {
  Shared w(Tensor::vector({1.0, 2.0, 3.0}), "w"), v(Tensor::vector({7.0, 8.0, 9.0}), "v");
  Function f = make({}, {}, {{w, v}, {v, w}});
  f({});
  EXPECT_EQ(w.get_value().text(), "[7, 8, 9]");
  EXPECT_EQ(v.get_value().text(), "[1, 2, 3]");
  f({});
  EXPECT_EQ(w.get_value().text(), "[1, 2, 3]");
}

TEST_P(FunctionUpdates, RotationOfThreeWithArithmetic) {
  Shared a(counting({4}), "a"), b(counting({4}, 10), "b"), c(counting({4}, 100), "c");
  Function f = make({}, {}, {{a, b + c}, {b, a + c}, {c, a + b}});
  f({});
  EXPECT_EQ(a.get_value().text(), "[110, 112, 114, 116]");
  EXPECT_EQ(b.get_value().text(), "[101, 103, 105, 107]");
  EXPECT_EQ(c.get_value().text(), "[11, 13, 15, 17]");
}

TEST_P(FunctionUpdates, ReadsAViewOfItself) {
  Shared w(counting({3, 3}), "w");
  Function f = make({}, {}, {{w, w.expr() + transpose(w)}});
  f({});
  EXPECT_EQ(w.get_value().text(), "[[2, 6, 10], [6, 10, 14], [10, 14, 18]]");
}

TEST_P(FunctionUpdates, IsAViewOfItself) {
  Shared w(counting({3, 3}), "w");
  Function f = make({}, {transpose(w)}, {{w, transpose(w)}});
  EXPECT_EQ(f({})[0].text(), "[[1, 4, 7], [2, 5, 8], [3, 6, 9]]");
  EXPECT_EQ(w.get_value().text(), "[[1, 4, 7], [2, 5, 8], [3, 6, 9]]");
}

TEST_P(FunctionUpdates, ReversedPartsOfItself) {
  Shared w(counting({6}), "w");
  Function f = make({}, {}, {{w, subtensor(w, {Slice{{}, {}, -1}}) * 10}});
  f({});
  EXPECT_EQ(w.get_value().text(), "[60, 50, 40, 30, 20, 10]");
}

TEST_P(FunctionUpdates, ShiftIntoItself) {
  Shared w(counting({5}), "w");
  Expr head = subtensor(w, {Slice{0, 4}}), tail = subtensor(w, {Slice{4, 5}});
  Function f = make({}, {}, {{w, concatenate({tail, head})}});
  f({});
  EXPECT_EQ(w.get_value().text(), "[5, 1, 2, 3, 4]");
}

TEST_P(FunctionUpdates, MatrixTimesItself) {
  Shared w(counting({2, 2}), "w");
  Function f = make({}, {}, {{w, w.expr() - 0.5 * dot(w, w)}});
  f({});
  EXPECT_EQ(w.get_value().text(), "[[-2.5, -3], [-4.5, -7]]");
}

TEST_P(FunctionUpdates, OutputIsTheOldValue) {
  Shared w(counting({3}), "w");
  Function f = make({}, {w, w.expr() * 2}, {{w, w.expr() + 1}});
  std::vector<Tensor> out = f({});
  EXPECT_EQ(out[0].text(), "[1, 2, 3]");
  EXPECT_EQ(out[1].text(), "[2, 4, 6]");
  EXPECT_EQ(w.get_value().text(), "[2, 3, 4]");
}

// Row-major order of a transposed value is no view: the copy is a step of its own.
TEST_P(FunctionUpdates, OutputIsACopiedViewOfTheOldValue) {
  Shared w(counting({2, 3}), "w");
  Function f = make({}, {flatten(transpose(w))}, {{w, w.expr() * 2}});
  EXPECT_EQ(f({})[0].text(), "[1, 4, 2, 5, 3, 6]");
  EXPECT_EQ(f({})[0].text(), "[2, 8, 4, 10, 6, 12]");
}

TEST_P(FunctionUpdates, UpdateIsACopiedViewOfAnother) {
  Shared w(counting({2, 3}), "w"), v(counting({6}, 0), "v");
  Function f = make({}, {}, {{w, w.expr() * 2}, {v, flatten(transpose(w))}});
  f({});
  EXPECT_EQ(w.get_value().text(), "[[2, 4, 6], [8, 10, 12]]");
  EXPECT_EQ(v.get_value().text(), "[1, 4, 2, 5, 3, 6]");
}

TEST_P(FunctionUpdates, TwoUpdatesWithOneValue) {
  Shared w(counting({3}), "w"), v(counting({3}, 5), "v");
  Expr value = w.expr() + v.expr();
  Function f = make({}, {value}, {{w, value}, {v, value}});
  EXPECT_EQ(f({})[0].text(), "[6, 8, 10]");
  EXPECT_EQ(w.get_value().text(), "[6, 8, 10]");
  EXPECT_EQ(v.get_value().text(), "[6, 8, 10]");
}

TEST_P(FunctionUpdates, OutputEqualToAnUpdate) {
  Shared w(counting({3}), "w");
  Expr value = w.expr() * 3;
  Function f = make({}, {value, value}, {{w, value}});
  std::vector<Tensor> out = f({});
  EXPECT_EQ(out[0].text(), "[3, 6, 9]");
  EXPECT_EQ(out[1].text(), "[3, 6, 9]");
  EXPECT_FALSE(out[0].shares_memory_with(out[1]));
  EXPECT_FALSE(out[0].shares_memory_with(w.get_value(true)));
  EXPECT_EQ(w.get_value().text(), "[3, 6, 9]");
}

TEST_P(FunctionUpdates, OutputIsAViewOfTheNewValue) {
  Shared w(counting({2, 2}), "w");
  Expr value = w.expr() * 3;
  Function f = make({}, {transpose(value), sum(value)}, {{w, value}});
  std::vector<Tensor> out = f({});
  EXPECT_EQ(out[0].text(), "[[3, 9], [6, 12]]");
  EXPECT_EQ(out[1].text(), "30");
}

TEST_P(FunctionUpdates, NewValueIsReadByAnotherUpdate) {
  Shared w(counting({3}), "w"), velocity(counting({3}, 0), "velocity");
  Expr x = vector("x", {3});
  Expr next = velocity.expr() * 0.5 - x;
  Function f = make({x}, {}, {{velocity, next}, {w, w.expr() + next}});
  f({Tensor::vector({1.0, 1.0, 1.0})});
  EXPECT_EQ(velocity.get_value().text(), "[-1, -0.5, 0]");
  EXPECT_EQ(w.get_value().text(), "[0, 1.5, 3]");
}

TEST_P(FunctionUpdates, ValueIsAnInputOrAConstant) {
  Shared w(counting({2}), "w"), v(counting({2}), "v"), same(counting({2}), "same");
  Expr x = vector("x", {2});
  Function f = make({x}, {x}, {{w, x}, {v, zeros({2})}, {same, same}});
  Tensor given = Tensor::vector({4.0, 5.0});
  EXPECT_FALSE(f({given})[0].shares_memory_with(given));
  EXPECT_EQ(w.get_value().text(), "[4, 5]");
  EXPECT_EQ(v.get_value().text(), "[0, 0]");
  EXPECT_EQ(same.get_value().text(), "[1, 2]");
}

TEST_P(FunctionUpdates, CounterOfIntegers) {
  Shared n(int64_t{3}, "n");
  Function f = make({}, {n}, {{n, n.expr() + 1}});
  EXPECT_EQ(f({})[0].text(), "3");
  EXPECT_EQ(f({})[0].text(), "4");
  EXPECT_EQ(n.get_value().text(), "5");
}

TEST_P(FunctionUpdates, AddressStays) {
  Shared w(counting({4}), "w");
  const void* address = w.get_value(true).raw();
  Function f = make({}, {}, {{w, w.expr() * 2}});
  f({});
  w.set_value(counting({4}, 9));
  f({});
  EXPECT_EQ(w.get_value(true).raw(), address);
  EXPECT_EQ(w.get_value().text(), "[18, 20, 22, 24]");
}

TEST_P(FunctionUpdates, BufferThatWasHandedOverIsUpdated) {
  Shared w(counting({2}), "w");
  Function f = make({}, {}, {{w, w.expr() * 2}});
  f({});
  Tensor own = Tensor::vector({5.0, 6.0});
  w.set_value(own, /*borrow=*/true);
  f({});
  EXPECT_EQ(own.text(), "[10, 12]");
}

// Two products accumulate into one transposed value: the first may not take the copy that the second reads.
TEST_P(FunctionUpdates, CopyOfAViewThatTwoReadersShare) {
  Expr x = matrix("x", {2, 3}), a = matrix("a", {3, 2}), b = matrix("b", {2, 2});
  Expr turned = transpose(x * 2);
  Function f = make({x, a, b}, {turned + dot(a, b), turned - dot(a, b)}, {});
  std::vector<Tensor> out = f({counting({2, 3}), counting({3, 2}), counting({2, 2})});
  EXPECT_EQ(out[0].text(), "[[9, 18], [19, 32], [29, 46]]");
  EXPECT_EQ(out[1].text(), "[[-5, -2], [-11, -12], [-17, -22]]");
}

// Random networks of updates in which variables read each other, whole, transposed and reversed.
TEST_P(FunctionUpdates, RandomUpdatesReadOldValuesOnly) {
  for (int64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(str("seed ", seed));
    RandomState random(seed);
    std::vector<Shared> variables;
    std::vector<Expr> pool;
    auto any = [&] { return pool[static_cast<size_t>(random.integer(0, static_cast<int64_t>(pool.size())))]; };
    for (int i = 0; i < 5; ++i) {
      variables.emplace_back(counting({3, 3}, i), str("v", i));
      pool.push_back(variables.back());
    }
    for (int i = 0; i < 24; ++i) {
      Expr a = any();
      Expr b = any();
      switch (random.integer(0, 6)) {
        case 0:
          pool.push_back(a + b);
          break;
        case 1:
          pool.push_back(transpose(a));
          break;
        case 2:
          pool.push_back(tanh(a) - b);
          break;
        case 3:
          pool.push_back(subtensor(a, {Slice{{}, {}, -1}}));
          break;
        case 4:
          pool.push_back(b + 0.25 * dot(tanh(a), tanh(b)));
          break;
        default:
          pool.push_back(reshape(transpose(a), {3, 3}));
          break;
      }
    }
    std::vector<Update> updates;
    std::vector<Out> outputs;
    std::vector<Expr> values;
    for (const Shared& v : variables) {
      updates.push_back({v.expr(), any()});
      values.push_back(updates.back().value);
    }
    for (int i = 0; i < 4; ++i) {
      outputs.emplace_back(any());
      values.push_back(outputs.back().expr);
    }
    Function f = make({}, outputs, updates);
    for (int call = 0; call < 2; ++call) {
      std::vector<Tensor> expected;
      for (const Tensor& value : evaluate(values, {})) expected.push_back(value.copy());
      std::vector<Tensor> got = f({});
      for (size_t i = 0; i < variables.size(); ++i) expect(variables[i].get_value(), expected[i]);
      for (size_t i = 0; i < got.size(); ++i) expect(got[i], expected[variables.size() + i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, FunctionUpdates, testing::Values(Mode::kNative, Mode::kReference, Mode::kDebug),
                         [](const testing::TestParamInfo<Mode>& info) {
                           return info.param == Mode::kNative      ? "Native"
                                  : info.param == Mode::kReference ? "Reference"
                                                                   : "Debug";
                         });

TEST(FunctionUpdates, SameValueInTheVariablesBufferMakesNoCopy) {
  Shared w(counting({64}), "w");
  Expr x = vector("x", {64});
  Function f = function({x}, {}, {{w, w.expr() - 0.1 * x}});
  EXPECT_EQ(f.info().arena_bytes, 0);
  EXPECT_EQ(f.info().kernels, 1u);
}

TEST(FunctionUpdates, TwoUpdatesOfOneVariable) {
  Shared w(counting({2}), "w");
  int line = __LINE__ + 1;
  Expr once = w.expr() * 2, twice = w.expr() * 3;
  EXPECT_EQ(error_text([&] {
              function({}, {}, {{w, once}, {w, twice}});
            }),
            str("error: function: two updates of one shared variable\n"
                "  got:      w float64[2]\n"
                "  node:     built at ",
                __FILE__, ":", line));
}

TEST(FunctionUpdates, OfAnotherDtype) {
  Shared w(Tensor::vector({1.0F, 2.0F}), "w");
  int line = __LINE__ + 1;
  Expr value = cast(w, DType::kFloat64);
  EXPECT_EQ(error_text([&] {
              function({}, {}, {{w, value}});
            }),
            str("error: function: the update of w has another type\n"
                "  expected: float32[2]\n"
                "  got:      float64[2]\n"
                "  node:     built at ",
                __FILE__, ":", line,
                "\n"
                "  hint:     cast the value to the variable's dtype"));
}

TEST(FunctionUpdates, OfAnotherLengthAtTheCall) {
  Shared w(counting({2}), "w");
  Expr x = vector("x");
  const int line = __LINE__ + 1;
  Function f = function({x}, {}, {{w, x * 2}});
  EXPECT_EQ(error_text([&] { f({counting({3})}); }),
            str("error: specify_lengths: axis 0 has another length\n"
                "  expected: x.0 == 2\n"
                "  got:      3 and 2\n"
                "  node:     built at ",
                __FILE__, ":", line, "; function is called at ", __FILE__, ":", line + 1));
  EXPECT_EQ(w.get_value().text(), "[1, 2]");
}

TEST(FunctionUpdates, OfAnInput) {
  Expr x = vector("x", {2});
  Expr y = x * 2;
  std::string text = error_text([&] { function({x}, {}, {{x, y}}); });
  EXPECT_EQ(text.substr(0, text.find("\n  node")),
            "error: function: only shared variables can be updated\n  got:      x float64[2]");
}

}  // namespace
}  // namespace thtrain
