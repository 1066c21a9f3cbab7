// argmin and argmax in native code: every schedule, the first of equal elements, the first NaN.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "compiler/ir/compare.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/native_program.h"

namespace thtrain::arg_extremum_test {
namespace {

// Few numbers, so that the extremum is met often; a NaN now and then.
Tensor few_values(DType dtype, const Shape& shape, double nan_in) {
  std::mt19937_64 random(5);
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    const bool is_nan = is_float(dtype) && static_cast<double>(random() % 10000) < 10000 * nan_in;
    out.data<double>()[i] = is_nan           ? std::numeric_limits<double>::quiet_NaN()
                            : is_bool(dtype) ? static_cast<double>(random() % 50 == 0)
                                             : static_cast<double>(random() % 100);
  }
  return out.cast(dtype);
}

struct Row {
  Shape shape;
  std::optional<int64_t> axis;
};

// argmax and argmin of x and of its transpose.
std::vector<Expr> positions(const Expr& x, std::optional<int64_t> axis) {
  return {argmax(x, axis), argmin(x, axis), argmax(transpose(x), axis), argmin(transpose(x), axis)};
}

void expect_positions(const Row& row, DType dtype, const Dims& dims, const Target& target) {
  const Expr x = make_input({.dtype = dtype, .dims = dims}, "x");
  const std::vector<Expr> outputs = positions(x, row.axis);
  NativeProgram program({{x}, outputs, {}}, target);
  for (double nan_in : {0.0, 0.01}) {
    if (nan_in > 0 && !is_float(dtype)) continue;
    const Tensor values = few_values(dtype, row.shape, nan_in);
    const std::vector<Tensor> expected = evaluate(outputs, {{x, values}}), got = program({values});
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(difference(got[i], expected[i], 0), std::nullopt)
          << name_of(dtype) << shape_text(row.shape) << " axis " << row.axis.value_or(-1) << ", output " << i << ", "
          << target.text();
  }
}

// More than 127 rows, which lanes of a byte do not number; strips of more than 1024 columns; axes in the middle; rows
// that are short, or longer than a block that is searched again.
TEST(ArgExtremum, FirstOfEqualElementsInEverySchedule) {
  const Row rows[] = {{{300, 21}, 0}, {{3, 1100}, 0},  {{5, 140, 19}, 1}, {{40, 3}, 1},
                      {{2, 4200}, 1}, {{4, 5, 6}, {}}, {{1, 7}, 0},       {{2, 130, 2}, 1}};
  for (DType dtype : kAllDTypes) {
    if (is_complex(dtype)) continue;
    for (const Row& row : rows)
      for (int bytes : {16, 64})
        if (const Target target{"g++", bytes}; why_not(target).empty())
          expect_positions(row, dtype, Dims(row.shape.begin(), row.shape.end()), target);
  }
}

TEST(ArgExtremum, OfLengthsThatTheCallKnows) {
  for (DType dtype : {DType::kFloat32, DType::kInt8, DType::kBool})
    for (const Row& row : {Row{{300, 21}, 0}, Row{{5, 140, 19}, 1}, Row{{3, 1100}, 1}, Row{{1, 5}, 0}}) {
      Dims dims{"n", "m", "k"};
      dims.resize(row.shape.size());
      expect_positions(row, dtype, dims, {"g++", 32});
    }
}

TEST(ArgExtremum, MoreRowsThanLanesOfTwoBytesNumber) {
  const Expr x = make_input({.dtype = DType::kInt16, .dims = {70000, 3}}, "x");
  const std::vector<Expr> outputs{argmax(x, 0), argmin(x, 0)};
  Tensor values = Tensor::zeros(DType::kInt16, {70000, 3});
  const auto at = [&](int64_t row, int64_t column) -> int16_t& { return values.data<int16_t>()[3 * row + column]; };
  at(69999, 0) = 9, at(40000, 1) = at(65535, 1) = 7, at(32766, 2) = at(32767, 2) = 5;
  at(5, 0) = -3, at(32768, 1) = at(66000, 1) = -3, at(69998, 2) = -1;
  const std::vector<Tensor> got = NativeProgram({{x}, outputs, {}}, {"g++", 32})({values});
  EXPECT_EQ(difference(got[0], Tensor::vector<int64_t>({69999, 40000, 32766}), 0), std::nullopt);
  EXPECT_EQ(difference(got[1], Tensor::vector<int64_t>({5, 32768, 69998}), 0), std::nullopt);
}

// One kernel asks whether any lane is better, the other whether any sign is set: helpers of their own, though masks and
// integers may be vectors of one type.
TEST(ArgExtremum, NextToElementsAtPositions) {
  const Expr x = make_input({.dtype = DType::kFloat64, .dims = {2, 40}}, "x"),
             y = make_input({.dtype = DType::kFloat64, .dims = {40}}, "y"),
             at = make_input({.dtype = DType::kInt64, .dims = {40}}, "at");
  Tensor values = Tensor::zeros(DType::kFloat64, {2, 40}), elements = Tensor::zeros(DType::kFloat64, {40}),
         positions = Tensor::zeros(DType::kInt64, {40});
  values.data<double>()[33] = values.data<double>()[45] = elements.data<double>()[33] = 2;
  for (int64_t i = 0; i < 40; ++i) positions.data<int64_t>()[i] = 39 - i;
  const std::vector<Expr> inputs{x, y, at}, outputs{argmax(x, 1), sum(take(y, at) * 3.0)};
  const std::vector<Tensor> got = NativeProgram({inputs, outputs, {}}, {"g++", 32})({values, elements, positions});
  EXPECT_EQ(difference(got[0], Tensor::vector<int64_t>({33, 5}), 0), std::nullopt);
  EXPECT_EQ(*got[1].data<double>(), 6);
}

}  // namespace
}  // namespace thtrain::arg_extremum_test
