// Types, spellings and errors of reductions.
#include <gtest/gtest.h>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_lower.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "tests/support/datasets_support.h"

namespace thtrain::reduce_types_test {
namespace {

Expr input(DType dtype, Dims dims) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, "x");
}

// The text of an error without the line of the test that caused it.
template <class Action>
std::string message(Action action) {
  std::string text = error_text(action);
  size_t at = text.find("\n  node:");
  return at == std::string::npos ? text : text.substr(0, at);
}

TEST(ReduceTypes, DtypesOfTheResults) {
  struct Row {
    DType x, sum, mean, max;
  };
  for (const Row& row : {Row{DType::kBool, DType::kInt64, DType::kFloat64, DType::kBool},
                         Row{DType::kInt8, DType::kInt64, DType::kFloat64, DType::kInt8},
                         Row{DType::kInt64, DType::kInt64, DType::kFloat64, DType::kInt64},
                         Row{DType::kUInt8, DType::kUInt64, DType::kFloat64, DType::kUInt8},
                         Row{DType::kUInt64, DType::kUInt64, DType::kFloat64, DType::kUInt64},
                         Row{DType::kFloat32, DType::kFloat32, DType::kFloat32, DType::kFloat32},
                         Row{DType::kFloat64, DType::kFloat64, DType::kFloat64, DType::kFloat64}}) {
    SCOPED_TRACE(name_of(row.x));
    Expr x = input(row.x, {2, 3});
    EXPECT_EQ(sum(x).dtype(), row.sum);
    EXPECT_EQ(prod(x).dtype(), row.sum);
    EXPECT_EQ(mean(x).dtype(), row.mean);
    EXPECT_EQ(var(x).dtype(), row.mean);
    EXPECT_EQ(thtrain::std(x).dtype(), row.mean);
    EXPECT_EQ(max(x).dtype(), row.max);
    EXPECT_EQ(min(x).dtype(), row.max);
    EXPECT_EQ(argmax(x).dtype(), DType::kInt64);
    EXPECT_EQ(any(x).dtype(), DType::kBool);
  }
  Expr z = input(DType::kComplex64, {2});
  EXPECT_EQ(sum(z).dtype(), DType::kComplex64);
  EXPECT_EQ(mean(z).dtype(), DType::kComplex64);
  EXPECT_EQ(var(z).dtype(), DType::kFloat32);
}

TEST(ReduceTypes, MeanOfIntegersIsFloatX) {
  set_floatX(DType::kFloat32);
  Expr x = input(DType::kInt32, {3});
  EXPECT_EQ(mean(x).dtype(), DType::kFloat32);
  EXPECT_EQ(var(x).dtype(), DType::kFloat32);
  set_floatX(DType::kFloat64);
}

TEST(ReduceTypes, SpellingsOfAxes) {
  Expr x = input(DType::kFloat32, {"n", 3, 4});
  EXPECT_EQ(sum(x).type().text(), "float32[]");
  EXPECT_EQ(sum(x, 0).type().text(), "float32[3, 4]");
  EXPECT_EQ(sum(x, -1).type().text(), "float32[n, 3]");
  EXPECT_EQ(sum(x, {0, 2}).type().text(), "float32[3]");
  EXPECT_EQ(sum(x, {2, -3}, true).type().text(), "float32[1, 3, 1]");
  EXPECT_EQ(sum(x, {0}).type().text(), "float32[3, 4]");
  EXPECT_EQ(sum(x, {}, true).type().text(), "float32[1, 1, 1]");
  EXPECT_EQ(sum(x, std::vector<int64_t>{1}, false).type().text(), "float32[n, 4]");
  EXPECT_EQ(var(x, 1, true, Ddof(1)).type().text(), "float32[n, 1, 4]");
  EXPECT_EQ(argmax(x).type().text(), "int64[]");
  EXPECT_EQ(argmax(x, 1).type().text(), "int64[n, 4]");
  EXPECT_EQ(argmin(x, -3, true).type().text(), "int64[1, 3, 4]");
  EXPECT_EQ(argmin(x, {}, true).type().text(), "int64[1, 1, 1]");
  EXPECT_EQ(sum(2.5).type().text(), "float64[]");
}

TEST(ReduceTypes, EqualAxesGiveEqualProperties) {
  Expr x = input(DType::kFloat32, {2, 3});
  EXPECT_EQ(sum(x).node().props, sum(x, {1, 0}).node().props);
  EXPECT_EQ(sum(x, -1).node().props, sum(x, 1).node().props);
}

TEST(ReduceTypes, RecordsOfReductions) {
  for (const Op* op : reduction_ops()) {
    const Reduction* record = reduction_of(*op);
    ASSERT_TRUE(record) << op->name;
    EXPECT_EQ(record->name, op->name);
    EXPECT_FALSE(op->cases().empty()) << op->name;
  }
  EXPECT_FALSE(reduction_of(argmax_op()));
  EXPECT_FALSE(reduction_of(input_op()));
  EXPECT_EQ(reduction_of(max_op())->identity(DType::kInt64).node().integer, INT64_MIN);
  EXPECT_EQ(reduction_of(min_op())->identity(DType::kUInt64).node().integer, -1);
  const kernel::Accumulation any = accumulation_of(*reduction_of(any_op()), DType::kFloat64);
  EXPECT_EQ(kernel::start(any, DType::kFloat64, 4).type(), (kernel::TermType{DType::kBool, 4, 8}));
}

TEST(ReduceTypes, SumsAndProductsOfIntegersWrapAround) {
  Expr x = input(DType::kInt64, {2});
  Tensor most = Tensor::vector<int64_t>({INT64_MAX, 2});
  EXPECT_EQ(evaluate({sum(x)}, {{x, most}})[0].as_int(), INT64_MIN + 1);
  EXPECT_EQ(evaluate({prod(x)}, {{x, most}})[0].as_int(), -2);
  EXPECT_EQ(evaluate({mean(x)}, {{x, most}})[0].as_double(), std::ldexp(1, 62));
}

TEST(ReduceTypes, SumsOfFloat32RoundOnce) {
  Expr x = input(DType::kFloat32, {3});
  Tensor value = Tensor::vector<float>({16777216, 1, 1});
  EXPECT_EQ(evaluate({sum(x)}, {{x, value}})[0].as_double(), 16777218);
}

TEST(ReduceErrors, AxesThatAreNotThere) {
  Expr x = input(DType::kFloat64, {2, 3});
  EXPECT_EQ(message([&] { sum(x, 2); }),
            "error: sum: there is no axis 2\n"
            "  expected: an axis from -2 to 1\n"
            "  got:      axes [2] of 2 dimensions");
  EXPECT_EQ(message([&] {
              mean(x, {0, -3});
            }),
            "error: mean: there is no axis -3\n"
            "  expected: an axis from -2 to 1\n"
            "  got:      axes [0, -3] of 2 dimensions");
  EXPECT_EQ(message([&] {
              max(x, {1, -1});
            }),
            "error: max: axis 1 is named twice\n"
            "  expected: each axis once\n"
            "  got:      axes [1, -1] of 2 dimensions");
  EXPECT_EQ(message([&] { argmax(input(DType::kInt8, {}), 0); }),
            "error: argmax: there is no axis 0\n"
            "  expected: no axis: a scalar has none\n"
            "  got:      axes [0] of 0 dimensions");
  try {
    sum(x, 2);
  } catch (const UserError& error) {
    const std::string& node = error.messages()[0].node;
    EXPECT_NE(node.find("reduce_types_test.cpp:"), std::string::npos) << node;
  }
}

TEST(ReduceErrors, ExtremaOfNoElements) {
  EXPECT_EQ(message([&] {
              max(input(DType::kFloat64, {0, 3}), 0);
            }),
            "error: max: the maximum or minimum of no elements is undefined\n"
            "  expected: at least 1 element along the reduced axes\n"
            "  got:      x float64[0, 3]");
  EXPECT_EQ(message([&] {
              argmin(input(DType::kFloat32, {4, 0}), 1);
            }),
            "error: argmin: the maximum or minimum of no elements is undefined\n"
            "  expected: at least 1 element along the reduced axes\n"
            "  got:      x float32[4, 0]");
  Expr x = input(DType::kFloat64, {"rows", "columns"});
  Expr y = max(x, 1);
  EXPECT_EQ(message([&] {
              evaluate({y}, {{x, Tensor::zeros(DType::kFloat64, {2, 0})}});
            }),
            "error: max: the maximum or minimum of no elements is undefined\n"
            "  expected: at least 1 element along the reduced axes\n"
            "  got:      float64[rows, columns]");
  EXPECT_EQ(evaluate({y}, {{x, Tensor::zeros(DType::kFloat64, {0, 0})}})[0].shape(), (Shape{0}));
}

TEST(ReduceErrors, ComplexNumbersHaveNoOrder) {
  Expr z = input(DType::kComplex64, {3});
  EXPECT_EQ(message([&] { max(z); }),
            "error: max: is not defined for complex64\n"
            "  expected: bool, integers or floats\n"
            "  got:      x complex64[3]");
  EXPECT_EQ(message([&] { argmax(z); }),
            "error: argmax: is not defined for complex64\n"
            "  expected: bool, integers or floats\n"
            "  got:      x complex64[3]");
}

}  // namespace
}  // namespace thtrain::reduce_types_test
