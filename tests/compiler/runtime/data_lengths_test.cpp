// Lengths that the data decides: values, gradients, checks, outputs and buffers, in native, reference and debug mode.
#include <gtest/gtest.h>

#include <complex>

#include "compiler/autodiff/forward.h"
#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"
#include "compiler/runtime/shared.h"
#include "tests/support/error_text.h"

namespace thtrain::data_lengths_test {
namespace {

constexpr Mode kModes[] = {Mode::kNative, Mode::kReference, Mode::kDebug};

Tensor bools(const std::vector<int>& values) {
  Tensor out = Tensor::empty(DType::kBool, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) out.data<bool>()[i] = values[i] != 0;
  return out;
}
Tensor numbers(const std::vector<double>& values) {
  return Tensor::of(values, {static_cast<int64_t>(values.size())});
}
Tensor ints(const std::vector<int64_t>& values) {
  return Tensor::of(values, {static_cast<int64_t>(values.size())});
}

const Expr x = tensor_of_rank("x", 1, DType::kFloat64), y = tensor_of_rank("y", 1, DType::kFloat64);
const Expr mask = tensor_of_rank("mask", 1, DType::kBool), other = tensor_of_rank("other", 1, DType::kBool);

void expect_same(const Tensor& got, const Tensor& expected) {
  EXPECT_TRUE(same_bits(got, expected)) << got.type_text() << " " << got.text() << ", expected " << expected.type_text()
                                        << " " << expected.text();
}

// One output, in every mode.
void expect_value(const std::vector<Expr>& inputs, const Expr& output, const std::vector<Tensor>& values,
                  const Tensor& expected) {
  for (Mode mode : kModes) {
    Function f = function({inputs.begin(), inputs.end()}, {output}, {}, {.mode = mode});
    EXPECT_EQ(f.is_native(), mode != Mode::kReference);
    expect_same(f(values)[0].contiguous(), expected);
  }
}

TEST(Nonzero, NamesTheIndicesOfTheTrueElements) {
  const Expr indices = flatnonzero(mask);
  expect_value({mask}, indices, {bools({0, 1, 1, 0, 1})}, ints({1, 2, 4}));
  expect_value({mask}, indices, {bools({0, 0, 0})}, ints({}));
  expect_value({mask}, indices, {bools({1, 1, 1})}, ints({0, 1, 2}));
  expect_value({mask}, indices, {bools({})}, ints({}));
}

TEST(Nonzero, OfNumbersInSeveralAxesGivesAVectorForEach) {
  const Expr m = tensor_of_rank("m", 2, DType::kFloat64);
  const Tensor value = Tensor::matrix<double>({{0, 2, 0}, {-1, 0, 3}});
  for (Mode mode : kModes) {
    const std::vector<Expr> indices = nonzero(m);
    Function f = function({m}, {indices[0], indices[1]}, {}, {.mode = mode});
    const std::vector<Tensor> got = f({value});
    ASSERT_EQ(got.size(), 2);
    expect_same(got[0], ints({0, 1, 1}));
    expect_same(got[1], ints({1, 0, 2}));
  }
}

TEST(Mask, KeepsTheRowsAtWhichItIsTrue) {
  expect_value({x, mask}, x[mask], {numbers({1, 2, 3, 4}), bools({1, 0, 0, 1})}, numbers({1, 4}));
  expect_value({x, mask}, x[mask] * 2 + 1, {numbers({1, 2, 3, 4}), bools({0, 0, 0, 0})}, numbers({}));
  expect_value({x, mask}, x[mask], {numbers({1, 2}), bools({1, 1})}, numbers({1, 2}));
  const Expr m = tensor_of_rank("m", 2, DType::kFloat64);
  expect_value({m, mask}, m[mask], {Tensor::matrix<double>({{1, 2}, {3, 4}, {5, 6}}), bools({1, 0, 1})},
               Tensor::matrix<double>({{1, 2}, {5, 6}}));
}

TEST(Mask, OfTheShapeOfTheValueKeepsElements) {
  const Expr m = tensor_of_rank("m", 2, DType::kFloat64);
  expect_value({m}, m[m > 2], {Tensor::matrix<double>({{1, 5}, {3, 2}})}, numbers({5, 3}));
}

TEST(Mask, HasTwoDerivatives) {
  const Expr cost = sum(pow(x[mask], 3));
  const Expr first = grad(cost, x);
  const Expr second = grad(sum(first * first), x);
  const std::vector<Tensor> values{numbers({1, 2, 3}), bools({1, 0, 1})};
  expect_value({x, mask}, first, values, numbers({3, 0, 27}));
  expect_value({x, mask}, second, values, numbers({36, 0, 972}));  // 2 * 3 x^2 * 6 x
  expect_value({x, mask}, first, {numbers({1, 2, 3}), bools({0, 0, 0})}, numbers({0, 0, 0}));
}

TEST(Mask, IsOneLengthForAllItsUses) {
  // No check is needed, and none is made.
  const Expr both = x[mask] * y[mask];
  EXPECT_EQ(x[mask].type(), y[mask].type());
  expect_value({x, y, mask}, both, {numbers({1, 2, 3}), numbers({4, 5, 6}), bools({0, 1, 1})}, numbers({10, 18}));
}

TEST(Mask, CountsWhereNothingReadsTheElements) {
  // The number of elements is all that the outputs need: they do not read x.
  expect_value({mask}, size(x[mask]), {bools({0, 1, 1})}, Tensor(int64_t{2}));
  expect_value({mask}, sum(ones_like(x[mask])), {bools({0, 1, 1})}, Tensor(2.0));
  expect_value({x, mask}, mean(x[mask]), {numbers({1, 2, 4}), bools({0, 1, 1})}, Tensor(3.0));
}

TEST(Mask, OfAMaskedValue) {
  const Expr chosen = x[x > 0];
  expect_value({x}, chosen[chosen < 3], {numbers({-1, 2, 5, 1, -2})}, numbers({2, 1}));
}

TEST(Mask, ValuesOfTwoMasksAreCheckedAgainstEachOther) {
  const Expr both = x[mask] + x[other];
  const std::vector<Tensor> fits{numbers({1, 2, 3}), bools({1, 1, 0}), bools({0, 1, 1})};
  expect_value({x, mask, other}, both, fits, numbers({3, 5}));
  const std::vector<Tensor> differs{numbers({1, 2, 3}), bools({1, 1, 0}), bools({0, 1, 0})};
  for (Mode mode : kModes) {
    Function f = function({x, mask, other}, {both}, {}, {.mode = mode});
    try {
      f(differs);
      FAIL();
    } catch (const UserError& error) {
      EXPECT_EQ(error.messages()[0].expected, "#mask == #other");
      EXPECT_EQ(error.messages()[0].got, "2 and 1");
    }
    expect_same(f(fits)[0], numbers({3, 5}));  // and the function still works
  }
}

// The mask is always true: the program reads no variable, though the function has one.
TEST(Mask, OfAVariableThatTheProgramDoesNotRead) {
  const Expr x = tensor("x", {5}, DType::kFloat32);
  const Shared w(Tensor::vector<int64_t>({0, 2, 1, -2, 2}), "w");
  for (Mode mode : {Mode::kReference, Mode::kNative, Mode::kDebug}) {
    Function f = function({x}, {x[{eq(w, w), new_axis()}]}, {}, {.mode = mode});
    EXPECT_EQ(f({Tensor::vector<float>({1, 2, 3, 4, 5})})[0].text(), "[[1], [2], [3], [4], [5]]");
  }
}

TEST(Mask, MustHaveTheLengthOfTheAxis) {
  for (Mode mode : kModes) {
    Function f = function({x, mask}, {x[mask]}, {}, {.mode = mode});
    EXPECT_THROW(f({numbers({1, 2, 3}), bools({1, 0})}), UserError);
  }
  EXPECT_EQ(text_without_node([] { masked(x, tensor_of_rank("m", 2, DType::kBool)); }),
            "error: masked: the mask does not fit the value\n"
            "  expected: a bool vector\n"
            "  got:      x float64[x.0] and m bool[m.0, m.1]");
}

TEST(Mask, PartsCanBeIncreased) {
  expect_value({x, mask}, inc_subtensor(x[mask], 10), {numbers({1, 2, 3}), bools({1, 0, 1})}, numbers({11, 2, 13}));
}

TEST(Mask, PartsCanBeReplaced) {
  const std::vector<Tensor> values{numbers({1, 2, 3}), bools({1, 0, 1})};
  expect_value({x, mask}, set_subtensor(x[mask], 10), values, numbers({10, 2, 10}));
  expect_value({x, mask}, set_subtensor(x[mask], -0.0), values, numbers({-0.0, 2, -0.0}));
  expect_value({x, y, mask}, set_subtensor(x[mask], y), {numbers({1, 2, 3}), numbers({7, 8}), bools({1, 0, 1})},
               numbers({7, 2, 8}));
  expect_value({x, y, mask}, set_subtensor(x[mask], y), {numbers({1, 2}), numbers({}), bools({0, 0})}, numbers({1, 2}));
  expect_value({x, mask}, set_subtensor(x[mask], exp(x)[mask]), {numbers({0, 2, 0}), bools({1, 0, 1})},
               numbers({1, 2, 1}));
  expect_value({mask, other}, set_subtensor(mask[other], false), {bools({1, 1, 0}), bools({1, 0, 0})},
               bools({0, 1, 0}));
}

TEST(Mask, RowsCanBeReplacedAndIncreased) {
  const Expr m = tensor_of_rank("m", 2, DType::kFloat64);
  const std::vector<Tensor> values{Tensor::matrix<double>({{1, 2}, {3, 4}, {5, 6}}), bools({1, 0, 1})};
  expect_value({m, mask}, set_subtensor(m[mask], 0), values, Tensor::matrix<double>({{0, 0}, {3, 4}, {0, 0}}));
  const Expr row = tensor("row", {2}, DType::kFloat64);
  expect_value({m, mask, row}, inc_subtensor(m[mask], row), {values[0], values[1], numbers({10, 20})},
               Tensor::matrix<double>({{11, 22}, {3, 4}, {15, 26}}));
  const Expr rows = tensor_of_rank("rows", 2, DType::kFloat64);
  expect_value({m, mask, rows}, set_subtensor(m[mask], rows),
               {values[0], values[1], Tensor::matrix<double>({{7, 8}, {9, 10}})},
               Tensor::matrix<double>({{7, 8}, {3, 4}, {9, 10}}));
}

TEST(Mask, OfTheShapeOfTheValueReplacesAndIncreasesElements) {
  const Expr m = tensor_of_rank("m", 2, DType::kFloat64);
  const Tensor value = Tensor::matrix<double>({{1, 5}, {3, 2}});
  expect_value({m}, set_subtensor(m[m > 2], 0), {value}, Tensor::matrix<double>({{1, 0}, {0, 2}}));
  expect_value({m, y}, set_subtensor(m[m > 2], y), {value, numbers({7, 8})}, Tensor::matrix<double>({{1, 7}, {8, 2}}));
  expect_value({m, y}, inc_subtensor(m[m > 2], y), {value, numbers({7, 8})},
               Tensor::matrix<double>({{1, 12}, {11, 2}}));
  // A vector was chosen from here, so a vector is what is written into.
  expect_value({m}, set_subtensor(flatten(m)[flatten(m > 2)], 0), {value}, numbers({1, 0, 0, 2}));
}

TEST(Mask, ReplacingHasDerivatives) {
  const std::vector<Tensor> values{numbers({1, 2, 3}), numbers({4, 5}), bools({1, 0, 1})};
  const Expr cost = sum(pow(set_subtensor(x[mask], y), 3));
  expect_value({x, y, mask}, grad(cost, x), values, numbers({0, 12, 0}));
  expect_value({x, y, mask}, grad(cost, y), values, numbers({48, 75}));
  const Expr first = grad(cost, y);
  expect_value({x, y, mask}, grad(sum(first * first), y), values, numbers({2 * 48 * 24, 2 * 75 * 30}));
  const Expr moved = jvp({set_subtensor(x[mask], y)}, {x, y}, {x, y})[0];
  expect_value({x, y, mask}, moved, values, numbers({4, 2, 5}));
}

TEST(Mask, AWrongNumberOfValuesIsAnError) {
  for (Mode mode : kModes) {
    for (bool set : {true, false}) {
      Function f =
          function({x, y, mask}, {set ? set_subtensor(x[mask], y) : inc_subtensor(x[mask], y)}, {}, {.mode = mode});
      EXPECT_EQ(text_without_node([&] {
                  f({numbers({1, 2, 3}), numbers({4, 5, 6}), bools({1, 0, 1})});
                }),
                str("error: ", set ? "scatter_set" : "scatter_add", ": the number of ", set ? "new" : "added",
                    " values is not that of the elements that the mask names\n"
                    "  expected: y.0 == #mask\n"
                    "  got:      3 and 2"));
      EXPECT_EQ(f({numbers({1, 2, 3}), numbers({4, 5}), bools({1, 0, 1})})[0].size(), 3) << "and it still works";
    }
  }
}

TEST(Mask, ReplacingAsksForAMaskOfTheSameLength) {
  for (Mode mode : kModes) {
    Function f = function({x, mask}, {set_subtensor(x[mask], 1)}, {}, {.mode = mode});
    EXPECT_EQ(text_without_node([&] {
                f({numbers({1, 2, 3}), bools({1, 0})});
              }),
              "error: scatter_set: the mask has another length\n"
              "  expected: x.0 == mask.0\n"
              "  got:      3 and 2");
  }
}

TEST(Mask, AnUpdateOfAVariableThroughAMaskIsInPlace) {
  for (Mode mode : kModes) {
    Shared state(Tensor::vector({1.0, 2.0, 3.0}), "state");
    Function f = function({mask}, {}, {{state, set_subtensor(state[mask], 9)}}, {.mode = mode});
    if (mode == Mode::kNative) {
      EXPECT_EQ(f.explain().program.find("next value"), std::string::npos);
      EXPECT_EQ(f.explain().program.find("update of"), std::string::npos) << f.explain().program;
    }
    f({bools({0, 1, 1})});
    EXPECT_EQ(state.get_value().text(), "[1, 9, 9]");
  }
}

// The part is a view of the variable, whose old value is returned.
TEST(DataLengths, APartOfAVariableIsAnOutput) {
  for (Mode mode : kModes) {
    Shared state(Tensor::vector({1.0, 2.0, 3.0}), "state");
    const Expr x = vector("x"), count = cast(sum(x), DType::kInt64), part = state.expr()[Slice{.stop = count}];
    Function alone = function({x}, {part}, {}, {.mode = mode});
    EXPECT_EQ(alone({numbers({1, 1})})[0].text(), "[1, 2]");
    Function updated = function({x}, {part, sum(part)}, {{state, state + 1}}, {.mode = mode});
    const std::vector<Tensor> out = updated({numbers({2, -1})});
    EXPECT_EQ(out[0].text(), "[1]");
    EXPECT_EQ(out[1].text(), "1");
    EXPECT_EQ(state.get_value().text(), "[2, 3, 4]");
  }
}

TEST(DataLengths, ArangeOfAComputedValue) {
  const Expr n = tensor_of_rank("n", 1, DType::kInt64);
  expect_value({n}, arange(sum(n)), {ints({1, 3})}, ints({0, 1, 2, 3}));
  expect_value({n}, arange(sum(n)), {ints({1, -3})}, ints({}));
  expect_value({n}, arange(sum(n), 0, -2), {ints({2, 3})}, ints({5, 3, 1}));
  expect_value({n}, sum(pow(arange(max(n), DType::kFloat64), 2)), {ints({1, 4})}, Tensor(14.0));
}

TEST(DataLengths, BuffersWithoutABoundGrowWithTheCall) {
  const Expr n = tensor_of_rank("n", 1, DType::kInt64);
  const Expr numbers_below = arange(sum(n), DType::kFloat64);
  const Expr table = outer(numbers_below, numbers_below);
  Function f = function({n}, {dot(table, numbers_below)});
  for (int64_t size : {3, 200, 0, 5}) {
    const Tensor got = f({ints({size})})[0];
    ASSERT_EQ(got.shape(), Shape{size});
    double squares = 0;
    for (int64_t i = 0; i < size; ++i) squares += static_cast<double>(i * i);
    for (int64_t i = 0; i < size; ++i) EXPECT_EQ(got.data<double>()[i], static_cast<double>(i) * squares);
  }
}

TEST(DataLengths, NegativeOnesAreRefused) {
  const Expr n = tensor_of_rank("n", 1, DType::kInt64);
  for (Mode mode : kModes) {
    Function f = function({n}, {zeros({computed_length(sum(n))})}, {}, {.mode = mode});
    EXPECT_EQ(f({ints({2, 1})})[0].shape(), Shape{3});
    try {
      f({ints({2, -5})});
      FAIL();
    } catch (const UserError& error) {
      EXPECT_EQ(error.messages()[0].what, "the length #sum is -3");
      EXPECT_EQ(error.messages()[0].expected, "at least 0");
    }
  }
}

TEST(DataLengths, BorrowedOutputsAndCopiesOfFunctions) {
  Function f = function({x, mask}, {Out(x[mask], true), Out(x[mask] + 1)});
  const std::vector<Tensor> first = f({numbers({1, 2, 3}), bools({1, 1, 0})});
  const std::vector<Tensor> again = f({numbers({4, 5, 6}), bools({1, 1, 0})});
  EXPECT_TRUE(first[0].shares_memory_with(again[0]));
  expect_same(again[0], numbers({4, 5}));
  expect_same(first[1], numbers({2, 3}));
  Function copy = f;
  const std::vector<Tensor> of_copy = copy({numbers({7, 8, 9}), bools({1, 0, 0})});
  expect_same(of_copy[0], numbers({7}));
  expect_same(again[0], numbers({4, 5}));
}

TEST(DataLengths, UpdatesMustFitTheVariable) {
  const Shared w(numbers({0, 0}), "w");
  for (Mode mode : kModes) {
    Function f = function({x, mask}, {}, {{w.expr(), x[mask]}}, {.mode = mode});
    f({numbers({1, 2, 3}), bools({1, 0, 1})});
    expect_same(w.get_value(), numbers({1, 3}));
    EXPECT_THROW(f({numbers({1, 2, 3}), bools({1, 1, 1})}), UserError);
    expect_same(w.get_value(), numbers({1, 3}));
  }
}

TEST(DataLengths, WarmStartsCompileNothing) {
  auto made = [] {
    const Expr a = tensor_of_rank("a", 1, DType::kFloat64);
    return function({a}, {a[a > 0], arange(sum(cast(a, DType::kInt64)))});
  };
  made();
  Function f = made();  // other serial numbers, the same program
  EXPECT_TRUE(f.info().from_cache);
  const std::vector<Tensor> got = f({numbers({-1, 2, 1})});
  expect_same(got[0], numbers({2, 1}));
  expect_same(got[1], ints({0, 1}));
}

TEST(DataLengths, StepsThatRunThroughTheReferenceKnowThem) {
  using C = std::complex<double>;
  auto made = [](Mode mode) {
    const Expr z = tensor_of_rank("z", 1, DType::kComplex128), chosen = z[mask];
    return function({z, mask}, {pow(chosen, 2.0)}, {}, {.mode = mode});
  };
  const Tensor z = Tensor::vector<C>({{1, 1}, {2, 0}, {0, 3}});
  for (Mode mode : kModes) {
    const Tensor got = made(mode)({z, bools({1, 0, 1})})[0];
    ASSERT_EQ(got.shape(), Shape{2});
    EXPECT_NEAR(std::abs(got.data<C>()[0] - C(0, 2)), 0, 1e-14);
    EXPECT_NEAR(std::abs(got.data<C>()[1] - C(-9, 0)), 0, 1e-14);
    expect_same(made(mode)({z, bools({0, 0, 0})})[0], Tensor::of(std::vector<C>{}, {0}));
  }
  EXPECT_TRUE(made(Mode::kNative).info().from_cache);
  EXPECT_FALSE(made(Mode::kNative).info().reference_steps.empty());
}

TEST(DataLengths, GivensReplaceTheMaskEverywhere) {
  Function f = function({x}, {x[mask], ones_like(x[mask])}, {}, {.givens = {{mask, x > 1}}});
  const std::vector<Tensor> got = f({numbers({1, 2, 3})});
  expect_same(got[0], numbers({2, 3}));
  expect_same(got[1], numbers({1, 1}));
}

TEST(DataLengths, AValueAndItsRewrittenCopyAreRefused) {
  const Expr chosen = x[mask];
  const Expr replaced = substitute(std::vector{chosen}, std::vector{std::pair{mask, other}})[0];
  EXPECT_EQ(text_without_node([&] {
              function({x, mask, other}, {chosen, replaced});
            }).substr(0, 53),
            "error: function: the length #mask has two values\n  go");
}

TEST(DataLengths, ProgramsShowWhoDefinesThem) {
  const Function f = function({x, mask}, {sum(exp(x[mask]) * 2), arange(sum(cast(mask, DType::kInt64)))});
  const std::string program = f.explain().program;
  EXPECT_NE(program.find("defines #mask from "), std::string::npos) << program;
  EXPECT_NE(program.find(", at most "), std::string::npos) << program;
  EXPECT_NE(program.find(", without a bound\n"), std::string::npos) << program;
}

TEST(DataLengths, BodiesUseThoseFromOutside) {
  const Expr chosen = x[mask];
  const Expr doubled = repeat(3, {chosen}, [](const std::vector<Expr>& s) { return std::vector{s[0] * 2}; })[0];
  expect_value({x, mask}, doubled, {numbers({1, 2, 3}), bools({1, 0, 1})}, numbers({8, 24}));
  expect_value({x, mask}, grad(sum(doubled * doubled), x), {numbers({1, 2, 3}), bools({1, 0, 1})},
               numbers({128, 0, 384}));
}

TEST(DataLengths, ProductsAndReductionsOfMaskedRowsAgreeInAllModes) {
  const Expr m = tensor_of_rank("m", 2, DType::kFloat64), w = tensor("w", {7, 3}, DType::kFloat64);
  const Expr rows = m[mask];
  const Expr cost = sum(log(sum(exp(dot(rows, w)), {1}))) / cast(length(rows, 0), DType::kFloat64);
  const std::vector<Expr> outputs{cost, grad(cost, m), grad(cost, w), max(rows, {1})};
  std::vector<double> elements;
  std::vector<int> chosen;
  for (int i = 0; i < 300 * 7; ++i) elements.push_back((i * 37 % 101) / 101.0 - 0.5);
  for (int i = 0; i < 300; ++i) chosen.push_back(i * i % 7 < 3);
  std::vector<double> weights(elements.begin(), elements.begin() + 21);
  const std::vector<Tensor> values{Tensor::of(elements, {300, 7}), Tensor::of(weights, {7, 3}), bools(chosen)};
  const std::vector<Out> wanted(outputs.begin(), outputs.end());
  const std::vector<Tensor> expected = function({m, w, mask}, wanted, {}, {.mode = Mode::kReference})(values);
  for (Mode mode : {Mode::kNative, Mode::kDebug}) {
    const std::vector<Tensor> got = function({m, w, mask}, wanted, {}, {.mode = mode})(values);
    for (size_t k = 0; k < got.size(); ++k) {
      ASSERT_EQ(got[k].shape(), expected[k].shape());
      for (int64_t i = 0; i < got[k].size(); ++i)
        EXPECT_NEAR(got[k].as_double(i), expected[k].as_double(i), 1e-12) << k << ", " << i;
    }
  }
}

TEST(DataLengths, ProfilesCountThem) {
  Function f = function({x, mask}, {exp(x[mask])});
  f.start_profile();
  f({numbers({1, 2, 3}), bools({1, 0, 1})});
  EXPECT_FALSE(f.profile().steps.empty());
}

}  // namespace
}  // namespace thtrain::data_lengths_test
