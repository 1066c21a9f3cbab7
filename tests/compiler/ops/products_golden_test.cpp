// Products of tensors against NumPy, with known and with named lengths, by reference and natively; and what is no
// product.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/print.h"
#include "tests/support/datasets_support.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

// Element i of operand number k is (7 i + 3 k) mod 11 - 5.
Tensor operand(const Shape& shape, size_t k) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<double>()[i] = static_cast<double>((7 * i + 3 * static_cast<int64_t>(k)) % 11 - 5);
  return out;
}

struct ProductCase {
  std::string text;
  std::vector<Expr> inputs;
  std::vector<Tensor> values;
  Expr result;
};

// Lengths that are not known are inputs' own: equal ones are found out by the call.
ProductCase case_of(const GoldenLine& line, size_t number, bool is_known) {
  ProductCase out{line.text, {}, {}, {}};
  const size_t of_lists = line.name == "einsum" || line.name == "tensordot"                   ? 1
                          : line.name == "tensordot_axes" || line.name == "batched_tensordot" ? 2
                                                                                              : 0;
  for (size_t i = of_lists; i < line.arguments.size(); ++i) {
    const Shape shape = parse_list(line.arguments[i]);
    const Tensor value = operand(shape, i - of_lists);
    Type type = type_of(value);
    const std::string name = str("x", number, "_", i);
    for (size_t axis = 0; axis < type.rank() && !is_known; ++axis)
      if (shape[axis] != 1) type.dims[axis] = Dim::named(str(name, ".", axis));
    out.inputs.push_back(make_input(type, name));
    out.values.push_back(value);
  }
  const std::vector<Expr>& x = out.inputs;
  auto list = [&](size_t i) { return parse_list(line.arguments[i]); };
  if (line.name == "matmul") out.result = matmul(x[0], x[1]);
  if (line.name == "batched_dot") out.result = batched_dot(x[0], x[1]);
  if (line.name == "tensordot") out.result = tensordot(x[0], x[1], std::stoll(line.arguments[0]));
  if (line.name == "tensordot_axes") out.result = tensordot(x[0], x[1], list(0), list(1));
  if (line.name == "batched_tensordot") out.result = batched_tensordot(x[0], x[1], list(0), list(1));
  if (line.name == "kron") out.result = kron(x[0], x[1]);
  if (line.name == "einsum") out.result = einsum(line.arguments[0], {x.begin(), x.end()});
  return out;
}

class ProductsOfNumPy : public ::testing::TestWithParam<bool> {};

TEST_P(ProductsOfNumPy, AreOurs) {
  const std::vector<GoldenLine> lines = golden_lines("products.txt");
  EXPECT_GT(lines.size(), 100u);
  for (size_t begin = 0; begin < lines.size(); begin += 40) {
    std::vector<ProductCase> cases;
    std::vector<In> inputs;
    std::vector<Out> outputs;
    std::vector<Tensor> values;
    for (size_t i = begin; i < std::min(begin + 40, lines.size()); ++i) {
      SCOPED_TRACE(lines[i].text);
      const ProductCase& c = cases.emplace_back(case_of(lines[i], i, GetParam()));
      inputs.insert(inputs.end(), c.inputs.begin(), c.inputs.end());
      values.insert(values.end(), c.values.begin(), c.values.end());
      outputs.emplace_back(c.result);
    }
    for (Mode mode : {Mode::kReference, Mode::kNative}) {
      const std::vector<Tensor> got = function(inputs, outputs, {}, {.mode = mode, .tune = Tune::kNever})(values);
      for (size_t i = 0; i < cases.size(); ++i) {
        const Tensor expected = lines[begin + i].result(DType::kFloat64);
        ASSERT_EQ(got[i].shape(), expected.shape()) << cases[i].text;
        for (int64_t k = 0; k < expected.size(); ++k)
          ASSERT_EQ(got[i].as_double(k), expected.as_double(k)) << cases[i].text << " at " << k;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProductsOfNumPy, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "KnownLengths" : "NamedLengths"; });

Expr of_shape(const char* name, Dims dims, DType dtype = DType::kFloat64) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, name);
}

// Multiplications of the products of matrices that a value needs.
int64_t products_in(const Expr& value) {
  int64_t out = 0;
  for (const Node* node : topological_order(std::vector{value}))
    if (node->op == &dot_op()) out += node->op->cost(*node).flops.value() / 2;
  return out;
}

TEST(Einsum, MultipliesInTheOrderOfTheFewestOperations) {
  // [2, 1000] . [1000, 3] . [3, 500]: 6,000 + 3,000 products from the left, 3,000,000 from the right.
  const Expr a = of_shape("a", {2, 1000}), b = of_shape("b", {1000, 3}), c = of_shape("c", {3, 500});
  EXPECT_EQ(products_in(einsum("ij,jk,kl->il", {a, b, c})), 9000);
  EXPECT_EQ(products_in(einsum("kl,ij,jk->li", {c, a, b})), 9000);
  // Seven operands, two at a time: a vector times each of six matrices.
  const Expr v = of_shape("v", {30}), m = of_shape("m", {30, 30});
  EXPECT_EQ(products_in(einsum("ab,bc,cd,de,ef,fg,g->a", {m, m, m, m, m, m, v})), 6 * 30 * 30);
  EXPECT_EQ(expr_text(einsum("ij,jk->ik", {a, b})), expr_text(dot(a, b)));
}

TEST(Einsum, APairOfAxesIsAProductWithoutCopies) {
  const Expr q = of_shape("q", {2, 5, 3, 4}), k = of_shape("k", {2, 7, 3, 4});
  Function f = function({q, k}, {einsum("bqhd,bkhd->bhqk", {q, k})}, {}, {.tune = Tune::kNever});
  EXPECT_EQ(f.explain().program.find("copy"), std::string::npos) << f.explain().program;
}

TEST(Products, AnInnerLengthOfOneIsNotRepeated) {
  const Expr one = of_shape("one", {2, 1, 1}), column = of_shape("column", {4, 1}), m = tensor3("m"), n = matrix("n");
  const Tensor ones = operand({2, 1, 1}, 0), fits = operand({2, 1, 3}, 1), longer = operand({2, 2, 3}, 1);
  Function f = function({one, m}, {matmul(one, m)}, {}, {.tune = Tune::kNever});
  EXPECT_EQ(f({ones, fits})[0].shape(), (Shape{2, 1, 3}));
  EXPECT_THROW(f({ones, longer}), UserError);
  Function g = function({column, n}, {tensordot(column, n, 1)}, {}, {.tune = Tune::kNever});
  EXPECT_EQ(g({operand({4, 1}, 0), operand({1, 3}, 1)})[0].shape(), (Shape{4, 3}));
  EXPECT_THROW(g({operand({4, 1}, 0), operand({2, 3}, 1)}), UserError);
}

// Whatever lengths are known to be 1.
TEST(Products, KeepTheDtypeOfTheirOperands) {
  for (DType dtype : {DType::kBool, DType::kInt8, DType::kUInt16, DType::kFloat32}) {
    const auto of = [&](const Dims& dims) { return tensor("x", dims, dtype); };
    const Expr rows = matmul(of({1, 4}), of({5, 4, 3})), columns = matmul(of({5, 2, 4}), of({5, 4, 1})),
               batched = batched_tensordot(of({5, 3, 1}), of({5, 3, 2}), {1}, {1});
    for (const Expr& product : {rows, columns, batched}) EXPECT_EQ(product.dtype(), dtype);
  }
  const Expr a = tensor("a", {1, 2}, DType::kInt8), b = tensor("b", {1, 2, 1}, DType::kInt8);
  const Tensor y = function({a, b}, {matmul(a, b)})({Tensor::vector<int8_t>({100, 50}).view({1, 2}, {2, 1}, 0),
                                                     Tensor::vector<int8_t>({1, 1}).view({1, 2, 1}, {2, 1, 1}, 0)})[0];
  EXPECT_EQ(y.text(), "[[[-106]]]");  // 150 - 256, as in NumPy
}

TEST(Products, MistakesAreTold) {
  const Expr a = of_shape("a", {2, 3}), b = of_shape("b", {4, 5}), v = of_shape("v", {3}), s = of_shape("s", {}),
             t = of_shape("t", {2, 3, 4}), u = of_shape("u", {3, 4, 5});
  struct Row {
    std::function<Expr()> build;
    std::string text;
  };
  const Row rows[] = {
      {[&] { return matmul(a, s); },
       "error: matmul: an operand is a scalar\n  expected: vectors, matrices, or batches of matrices\n  got:      s "
       "float64[]\n  hint:     write a * b"},
      {[&] { return matmul(a, b); },
       "error: dot: inner lengths differ\n  expected: 3 == 4\n  got:      a float64[2, 3], b float64[4, 5]"},
      {[&] { return matmul(t, u); },
       "error: matmul: the lengths of axis 0 of the batch differ\n  expected: equal lengths, or 1\n  got:      left t "
       "float64[2, 3, 4], right u float64[3, 4, 5]"},
      {[&] {
         return matmul(of_shape("p", {2, 1, 1}), t);
       },
       "error: matmul: inner lengths differ\n  expected: 1 == 3\n  got:      p float64[2, 1, 1], t float64[2, 3, 4]"},
      {[&] { return batched_dot(v, a); },
       "error: batched_dot: an operand has another rank than 2 or 3\n  expected: [batch, k] or [batch, m, k]\n  got:   "
       "   "
       "v float64[3]"},
      {[&] { return tensordot(a, b, 3); },
       "error: tensordot: 3 axes\n  expected: from 0 to 2\n  got:      left a float64[2, 3], right b float64[4, 5]"},
      {[&] {
         return tensordot(a, b, {0, 1}, {0});
       },
       "error: tensordot: 2 axes of a and 1 of b\n  expected: as many of both\n  got:      left a float64[2, 3], right "
       "b "
       "float64[4, 5]"},
      {[&] { return tensordot(a, b, {0}, {0}); },
       "error: tensordot: axis 0 of a and axis 0 of b differ in length\n  expected: pairs of equal length\n  got:      "
       "left a float64[2, 3], right b float64[4, 5]"},
      {[&] {
         return tensordot(a, a, {0, 0}, {0, 1});
       },
       "error: tensordot: an axis is named twice\n  expected: different axes\n  got:      left a float64[2, 3], right "
       "a "
       "float64[2, 3]"},
      {[&] { return batched_tensordot(t, t, {0}, {0}); },
       "error: batched_tensordot: the first axis is that of the batch\n  expected: other axes\n  got:      left t "
       "float64[2, 3, 4], right t float64[2, 3, 4]"},
      {[&] { return einsum("ij,jk->ik", {a}); },
       "error: einsum: 2 terms for 1 operands\n  expected: a term for each operand\n  got:      \"ij,jk->ik\" of a "
       "float64[2, 3]"},
      {[&] { return einsum("ijk->i", {a}); },
       "error: einsum: \"ijk\" is for 3 axes, and the operand has 2\n  expected: a letter for each axis\n  got:      "
       "\"ijk->i\" of a float64[2, 3]\n  hint:     \"...\" are axes without a letter"},
      {[&] {
         return einsum("ij,jk->ik", {a, b});
       },
       "error: einsum: the letter j is of the lengths 3 and 4\n  expected: equal lengths, or 1\n  got:      "
       "\"ij,jk->ik\" of a float64[2, 3], b float64[4, 5]"},
      {[&] { return einsum("ii->i", {a}); },
       "error: einsum: the letter i is of the lengths 2 and 3\n  expected: equal lengths\n  got:      \"ii->i\" of a "
       "float64[2, 3]"},
      {[&] { return einsum("ij->ijk", {a}); },
       "error: einsum: the result has a letter that no operand has\n  expected: letters of operands\n  got:      "
       "\"ij->ijk\" of a float64[2, 3]"},
      {[&] {
         return einsum("ij,ik->jkz", {a, a});
       },
       "error: einsum: the result has a letter that no operand has\n  expected: letters of operands\n  got:      "
       "\"ij,ik->jkz\" of a float64[2, 3], a float64[2, 3]"},
      {[&] { return einsum("ij->ii", {a}); },
       "error: einsum: the result has a letter twice\n  expected: different letters\n  got:      \"ij->ii\" of a "
       "float64[2, 3]"},
      {[&] { return einsum("i1->i", {a}); },
       "error: einsum: what is '1'?\n  expected: letters, \"...\" once in an operand, commas and \"->\"\n  got:      "
       "\"i1->i\" of a float64[2, 3]"},
      {[&] { return einsum("......->", {a}); },
       "error: einsum: what is '.'?\n  expected: letters, \"...\" once in an operand, commas and \"->\"\n  got:      "
       "\"......->\" of a float64[2, 3]"},
      {[&] { return matrix_transpose(v); },
       "error: matrix_transpose: no matrix\n  expected: 2 axes or more\n  got:      v float64[3]"},
  };
  for (const Row& row : rows) {
    std::string text = error_text(row.build);
    if (const size_t at = text.find("\n  node:     "); at != std::string::npos) {  // the line of this test
      const size_t end = text.find('\n', at + 1);
      text.erase(at, end == std::string::npos ? end : end - at);
    }
    EXPECT_EQ(text, row.text);
  }
}

}  // namespace
}  // namespace thtrain
