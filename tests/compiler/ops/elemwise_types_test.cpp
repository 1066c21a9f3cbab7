// Dtype rules, broadcasting, messages and lengths of elementwise ops.
#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/unbroadcast.h"

namespace thtrain {
namespace {

Expr input(DType dtype, Dims dims = {}, std::string name = "x") {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, std::move(name));
}

DType parse_dtype(std::string_view name) {
  return dtype_named(name).value();
}

/// The whole text of the UserError, without the line that says where the node was built.
template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    std::string text = error.what();
    size_t node = text.find("\n  node:");
    if (node == std::string::npos) return text;
    size_t end = text.find('\n', node + 1);
    return text.substr(0, node) + (end == std::string::npos ? "" : text.substr(end));
  }
  return "no error";
}

struct DTypeRow {
  const Op& op;
  std::vector<std::string_view> inputs;
  std::string_view output;
};

TEST(ElemwiseTypes, DTypeRules) {
  const DTypeRow rows[] = {
      // Within a kind as NumPy; with a float, integers take its dtype; complex keeps the wider component.
      {add_op(), {"bool", "bool"}, "bool"},
      {add_op(), {"bool", "uint8"}, "uint8"},
      {add_op(), {"int8", "int32"}, "int32"},
      {add_op(), {"int8", "uint8"}, "int16"},
      {add_op(), {"int32", "uint32"}, "int64"},
      {add_op(), {"int64", "uint32"}, "int64"},
      {add_op(), {"int64", "float32"}, "float32"},
      {add_op(), {"float32", "float64"}, "float64"},
      {add_op(), {"int64", "complex64"}, "complex64"},
      {add_op(), {"float64", "complex64"}, "complex128"},
      {mul_op(), {"bool", "bool"}, "bool"},
      // Where truth values have no arithmetic of their own they count as int64.
      {sub_op(), {"bool", "bool"}, "int64"},
      {neg_op(), {"bool"}, "int64"},
      {sqr_op(), {"bool"}, "int64"},
      {sign_op(), {"bool"}, "int64"},
      {pow_op(), {"bool", "bool"}, "int64"},
      {pow_op(), {"int8", "int8"}, "int8"},
      {pow_op(), {"int64", "float32"}, "float32"},
      {floor_div_op(), {"bool", "bool"}, "int64"},
      {floor_div_op(), {"uint8", "int8"}, "int16"},
      {mod_op(), {"int32", "float32"}, "float32"},
      // Integers and truth values become floatX.
      {true_div_op(), {"int32", "int8"}, "float32"},
      {true_div_op(), {"bool", "bool"}, "float32"},
      {true_div_op(), {"int64", "float64"}, "float64"},
      {exp_op(), {"int64"}, "float32"},
      {exp_op(), {"float64"}, "float64"},
      {sqrt_op(), {"uint8"}, "float32"},
      {sigmoid_op(), {"bool"}, "float32"},
      {arctan2_op(), {"int8", "int8"}, "float32"},
      {floor_op(), {"int16"}, "int16"},
      {round_op(), {"bool"}, "bool"},
      {abs_op(), {"complex64"}, "float32"},
      {abs_op(), {"uint16"}, "uint16"},
      {real_op(), {"complex128"}, "float64"},
      {conj_op(), {"complex64"}, "complex64"},
      {maximum_op(), {"bool", "int8"}, "int8"},
      {clip_op(), {"int8", "uint8", "int32"}, "int32"},
      {lt_op(), {"int8", "float64"}, "bool"},
      {eq_op(), {"complex64", "int8"}, "bool"},
      {isnan_op(), {"int8"}, "bool"},
      {logical_and_op(), {"int64", "uint64"}, "bool"},
      {bitwise_and_op(), {"bool", "int8"}, "int8"},
      {bitwise_not_op(), {"bool"}, "bool"},
      {switch_op(), {"float64", "int8", "float32"}, "float32"},
  };
  set_floatX(DType::kFloat32);
  for (const DTypeRow& row : rows) {
    std::vector<Expr> inputs;
    for (std::string_view dtype : row.inputs) inputs.push_back(input(parse_dtype(dtype), {3}));
    Expr out = elementwise(row.op, inputs, {}, std::source_location::current());
    EXPECT_EQ(name_of(out.dtype()), row.output) << row.op.name << " of " << join(row.inputs, ", ");
  }
  set_floatX(DType::kFloat64);
}

TEST(ElemwiseTypes, FloatXIsWrittenIntoTheGraph) {
  Expr n = input(DType::kInt32);
  set_floatX(DType::kFloat32);
  Expr y = exp(n);
  set_floatX(DType::kFloat64);
  EXPECT_EQ(y.node().inputs[0].node().op, &cast_op());
  EXPECT_EQ(clone_with_inputs(y.node(), y.node().inputs, {})->types[0].dtype, DType::kFloat32);
  EXPECT_EQ(exp(n).dtype(), DType::kFloat64);
}

TEST(ElemwiseTypes, LiteralsTakeTheirNeighboursDType) {
  Expr f = input(DType::kFloat32, {2}), n = input(DType::kInt8, {2}), z = input(DType::kComplex64, {2});
  EXPECT_EQ((f * 2).dtype(), DType::kFloat32);
  EXPECT_EQ((0.1 + f).dtype(), DType::kFloat32);
  EXPECT_EQ((n - 1).dtype(), DType::kInt8);
  EXPECT_EQ((n * 0.5).dtype(), DType::kFloat64);
  EXPECT_EQ((z * 0.5).dtype(), DType::kComplex64);
  EXPECT_EQ(pow(f, 2).dtype(), DType::kFloat32);
  EXPECT_EQ((n > 0.5).dtype(), DType::kBool);
  EXPECT_EQ(switch_(n > 0, f, 0).dtype(), DType::kFloat32);
  EXPECT_EQ(clip(n, -1, 1).dtype(), DType::kInt8);
  EXPECT_EQ(message_of([&] { n + 1000; }),
            "error: the number 1000 does not fit int8\n"
            "  hint:     cast the other operand to a wider dtype");
}

TEST(ElemwiseTypes, CastIsNothingWhereTheDTypeFitsAlready) {
  Expr x = input(DType::kFloat32, {2});
  EXPECT_TRUE(cast(x, DType::kFloat32).same(x));
  EXPECT_EQ(cast(x, DType::kInt8).type().text(), "int8[2]");
  EXPECT_TRUE(real(x).same(x));
  EXPECT_TRUE(conj(x).same(x));
  EXPECT_EQ(imag(x).type().text(), "float32[2]");
}

TEST(ElemwiseTypes, Broadcasting) {
  struct Row {
    Dims a, b;
    std::string result;
    std::vector<std::string> checks;
  };
  const Row rows[] = {
      {{3, 4}, {3, 4}, "3, 4", {}},
      {{3, 4}, {4}, "3, 4", {}},
      {{3, 4}, {}, "3, 4", {}},
      {{4}, {3, 1}, "3, 4", {}},
      {{2, 1, 5}, {4, 1}, "2, 4, 5", {}},
      {{1}, {0}, "0", {}},
      {{0, 3}, {1, 1}, "0, 3", {}},
      {{1, 1}, {1}, "1, 1", {}},
      {{"n", 4}, {"n", 4}, "n, 4", {}},
      {{"n", 4}, {1, 4}, "n, 4", {}},
      {{"n"}, {}, "n", {}},
      // What cannot be proved is checked when a call begins; a known length is preferred.
      {{"n"}, {"m"}, "n", {"n == m"}},
      {{"n"}, {5}, "5", {"n == 5"}},
      {{5}, {"n"}, "5", {"5 == n"}},
      {{"n", 3}, {"m", 2, 3}, "m, 2, 3", {"n == 2"}},
  };
  for (const Row& row : rows) {
    Expr a = input(DType::kFloat32, row.a), b = input(DType::kFloat32, row.b);
    std::vector<LengthCheck> checks;
    std::vector<Expr> inputs{a, b};
    Origin origin;
    std::vector<Type> types = add_op().infer({add_op(), inputs, {}, {}, origin, &checks});
    EXPECT_EQ(dims_text(types[0].dims), row.result) << dims_text(row.a) << " and " << dims_text(row.b);
    std::vector<std::string> texts;
    for (const LengthCheck& check : checks) texts.push_back(str(check.left.text(), " == ", check.right.text()));
    EXPECT_EQ(texts, row.checks) << dims_text(row.a) << " and " << dims_text(row.b);
  }
}

TEST(ElemwiseTypes, Messages) {
  Expr a = input(DType::kFloat32, {"batch", 3}, "a"), b = input(DType::kFloat32, {4}, "b");
  Expr z = input(DType::kComplex64, {}, "z"), n = input(DType::kInt64, {2}, "n"), u = input(DType::kUInt64, {2}, "u");
  EXPECT_EQ(message_of([&] { a + b; }),
            "error: add: lengths of axis 1 differ; only a length known to be 1 is broadcast\n"
            "  expected: 3 == 4\n"
            "  got:      a float32[batch, 3], b float32[4]");
  EXPECT_EQ(message_of([&] { n* u; }),
            "error: mul: no dtype holds both int64 and uint64\n"
            "  got:      n int64[2], u uint64[2]\n"
            "  hint:     cast one of them");
  EXPECT_EQ(message_of([&] { z < z; }),
            "error: lt: is not defined for these dtypes\n"
            "  expected: bool, integers, floats\n"
            "  got:      z complex64[], z complex64[]");
  EXPECT_EQ(message_of([&] { erf(z); }),
            "error: erf: is not defined for these dtypes\n"
            "  expected: bool, integers, floats\n"
            "  got:      z complex64[]");
  EXPECT_EQ(message_of([&] { bitwise_or(n, b); }),
            "error: bitwise_or: is not defined for these dtypes\n"
            "  expected: bool, integers\n"
            "  got:      n int64[2], b float32[4]");
  EXPECT_EQ(message_of([&] { cast(z, DType::kFloat32); }),
            "error: cast: is not defined for these dtypes\n"
            "  expected: bool, integers, floats\n"
            "  got:      z complex64[]\n"
            "  hint:     real(z), imag(z) or abs(z) says which part is meant");
}

TEST(ElemwiseTypes, LengthsAreFollowedThroughArithmetic) {
  Expr n = length(input(DType::kFloat32, {"rows", 8}), 0), m = length(input(DType::kFloat32, {"columns"}), 0);
  EXPECT_EQ(symbolic_value(n * 2 + m - 1)->text(), (Dim("rows") * 2 + Dim("columns") - 1).text());
  EXPECT_EQ(symbolic_value(floor_div(n + 4, 2)).value(), floor_div(Dim("rows") + 4, 2));
  EXPECT_EQ(symbolic_value(mod(n, 3)).value(), Dim("rows") - floor_div(Dim("rows"), 3) * 3);
  EXPECT_EQ(symbolic_value(maximum(n, m)).value(), max(Dim("rows"), Dim("columns")));
  EXPECT_EQ(symbolic_value(minimum(n, 3)).value(), min(Dim("rows"), Dim(3)));
  EXPECT_EQ(symbolic_value(neg(n)).value(), Dim(0) - Dim("rows"));
  Expr i = input(DType::kInt32, {}, "i");
  EXPECT_EQ(symbolic_value(cast(i, DType::kInt64)).value(), symbolic_value(i).value());
  EXPECT_FALSE(symbolic_value(cast(n, DType::kUInt64)));
  EXPECT_FALSE(symbolic_value(floor_div(n, 0)));
  EXPECT_FALSE(symbolic_value(floor_div(n, m)));
  EXPECT_FALSE(symbolic_value(cast(n, DType::kInt8)));
  EXPECT_FALSE(symbolic_value(cast(n, DType::kFloat32)));
  EXPECT_FALSE(symbolic_value(cast(input(DType::kFloat64, {}, "y"), DType::kInt64)));
  EXPECT_FALSE(symbolic_value(cast(make_constant(Tensor(2.5)) * 2, DType::kInt64)));
  const Expr b = input(DType::kBool, {}, "b"), small = input(DType::kUInt8, {}, "small");
  EXPECT_FALSE(symbolic_value(b + b));
  EXPECT_FALSE(symbolic_value(cast(small - 5, DType::kInt64)));
  EXPECT_EQ(symbolic_value(cast(small, DType::kInt64)).value(), symbolic_value(small).value());
}

TEST(ElemwiseTypes, UnbroadcastGivesTheTypeOfTheInput) {
  Expr cotangent = input(DType::kFloat64, {2, "n", 4});
  for (const Dims& dims :
       {Dims{}, Dims{4}, Dims{1}, Dims{"n", 1}, Dims{1, 1, 1}, Dims{2, "n", 4}, Dims{2, "m", 4}, Dims{2, 1, 4}})
    for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kComplex64}) {
      Expr like = input(dtype, dims);
      EXPECT_EQ(unbroadcast(cotangent, like).type().text(), like.type().text());
    }
  Expr x = input(DType::kFloat64, {2, 3});
  Tensor ones = Tensor::matrix<double>({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(evaluate({unbroadcast(x, input(DType::kFloat64, {3}))}, {{x, ones}})[0].text(), "[5, 7, 9]");
  EXPECT_EQ(evaluate({unbroadcast(x, input(DType::kFloat64, {2, 1}))}, {{x, ones}})[0].text(), "[[6], [15]]");
  EXPECT_EQ(evaluate({unbroadcast(x, input(DType::kFloat64, {}))}, {{x, ones}})[0].text(), "21");
}

TEST(ElemwiseTypes, EveryRecordIsComplete) {
  for (const Op* op : elementwise_ops()) {
    const ScalarOp& record = *op->scalar;
    EXPECT_FALSE(record.doc.empty()) << op->name;
    EXPECT_TRUE(record.signature && record.reference && (record.code || record.complex_code)) << op->name;
    EXPECT_GE(op->cases().size(), 5u) << op->name;
    EXPECT_TRUE(!op->commutative || record.arity == 2) << op->name;
  }
  EXPECT_EQ(scalar_ops().size(), elementwise_ops().size());
}

TEST(ElemwiseTypes, BuildersNoteTheCallersLine) {
  Expr x = input(DType::kFloat32, {2});
  const int line = __LINE__ + 1;
  const Expr y = x + 1;
  EXPECT_EQ(y.node().origin.line, line);
  EXPECT_NE(std::string(y.node().origin.file).find("elemwise_types_test.cpp"), std::string::npos);
  EXPECT_EQ(exp(x).node().origin.line, __LINE__);
}

}  // namespace
}  // namespace thtrain
