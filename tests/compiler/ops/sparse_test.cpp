// Derivatives of sparse matrices, their values as arguments and variables, and what is said where something is wrong.
#include <gtest/gtest.h>

#include <random>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "tests/support/error_text.h"

namespace thtrain::sparse_test {
namespace {

// Rows of 2, 0, 3 and 1 elements in 5 columns.
SparseTensor some(DType dtype = DType::kFloat64, SparseFormat format = SparseFormat::kCsr) {
  return {.format = format,
          .data = Tensor::vector<double>({1.5, -2, 4.5, 3, -1, 2.5}).cast(dtype),
          .indices = Tensor::vector<int32_t>({1, 4, 0, 1, 3, 2}),
          .indptr = Tensor::vector<int32_t>({0, 2, 2, 5, 6}),
          .rows = format == SparseFormat::kCsr ? 4 : 5,
          .columns = format == SparseFormat::kCsr ? 5 : 4};
}

Tensor numbers(const Shape& shape, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = static_cast<double>(random() % 2000) / 1000 - 1;
  return out;
}

void expect_close(const Tensor& got, const Tensor& want) {
  const auto where = difference(got, want, 1e-12);
  EXPECT_FALSE(where) << *where << "\n" << got.text() << "\n" << want.text();
}

// ---- derivatives

// Of a matrix in both formats: outputs of all builders, by the elements and by the dense operand.
TEST(SparseGradients, AreThoseOfDifferences) {
  for (SparseFormat format : {SparseFormat::kCsr, SparseFormat::kCsc}) {
    const SparseTensor value = some(DType::kFloat64, format);
    const Sparse a =
        format == SparseFormat::kCsr ? csr_matrix("a", 4, 5, DType::kFloat64) : csc_matrix("a", 5, 4, DType::kFloat64);
    const Expr x = tensor("x", {value.columns, 3}, DType::kFloat64), y = tensor("y", {value.rows}, DType::kFloat64);
    const Sparse e = structured(a, [](const Expr& d) { return exp(d); });
    const std::vector<Expr> outputs = {dot(e, x),
                                       dot(y, a),
                                       dense(row_scale(e, y)),
                                       sum(e, 0),
                                       sum(e, 1),
                                       diagonal(e),
                                       dense(e + a),
                                       dense(multiply(e, a)),
                                       dense(dot(e, a.T())),
                                       dense(to_csr(a)),
                                       dense(to_csc(a)),
                                       sampled_dot(a, dot(a, x), x).data,
                                       dense(csr_from_dense(dense(a)))};
    const std::vector<std::pair<Expr, Tensor>> values = {{a.data, value.data},
                                                         {a.parts()[1], value.indices},
                                                         {a.parts()[2], value.indptr},
                                                         {x, numbers({value.columns, 3})},
                                                         {y, numbers({value.rows}, 2)}};
    const GradReport report = verify_grad(outputs, {a.data, x, y}, values);
    EXPECT_TRUE(report.is_right) << report.text;
    // The second order, and forward mode.
    Expr cost = sum(e);
    for (const Expr& output : outputs) cost = cost + sum(output * output);
    const std::vector<Expr> first = grad(cost, {a.data, x, y});
    const GradReport second = verify_grad(first, {a.data, x, y}, values, {.tolerance = 1e-4, .elements = 20});
    EXPECT_TRUE(second.is_right) << second.text;
  }
}

TEST(SparseGradients, ForwardModeIsThatOfTheDenseMatrix) {
  const SparseTensor value = some();
  const Sparse a = csr_matrix("a", 4, 5, DType::kFloat64);
  const Expr x = tensor("x", {5, 3}, DType::kFloat64), t = tensor("t", {5, 3}, DType::kFloat64);
  const std::vector<Expr> wrt = {a.data, x}, tangents = {a.data * 2, t};
  const std::vector<Expr> sparse = jvp({dot(a, x)}, wrt, tangents), whole = jvp({dot(dense(a), x)}, wrt, tangents);
  Function f = function(inputs_of({a, x, t}), {sparse[0], whole[0]}, {}, {.mode = Mode::kReference});
  const auto out = f(arguments_of({value, numbers({5, 3}), numbers({5, 3}, 2)}));
  expect_close(out[0], out[1]);
}

// No backward pass makes a matrix of the sparse one's shape, and the update of the weights touches those rows alone
// that elements name: no gradient of their size is made.
TEST(SparseGradients, NeedMemoryForTheElementsAlone) {
  const Sparse a = csr_matrix("a", 1000, 1'000'000, DType::kFloat32);
  const Shared w(Tensor::zeros(DType::kFloat32, {1'000'000, 3}), "w");
  const Expr target = tensor("target", {1000, 3}, DType::kFloat32);
  const Expr error = dot(a, w) - target, cost = mean(error * error);
  Function step = function(inputs_of({a, target}), {cost}, {{w, w - 0.1f * grad(cost, {w})[0]}});
  EXPECT_LT(step.info().arena_bytes, 100'000);
}

// ---- values

TEST(SparseValue, IsMadeOfADenseOneAndBack) {
  for (SparseFormat format : {SparseFormat::kCsr, SparseFormat::kCsc})
    for (DType dtype : {DType::kFloat32, DType::kInt64, DType::kComplex128}) {
      const SparseTensor value = some(dtype, format);
      const SparseTensor again = SparseTensor::from_dense(value.dense(), format);
      EXPECT_EQ(again.data.text(), value.data.text());
      EXPECT_EQ(again.indices.text(), value.indices.text());
      EXPECT_EQ(again.indptr.text(), value.indptr.text());
      EXPECT_EQ(value.dense().shape(), (format == SparseFormat::kCsr ? Shape{4, 5} : Shape{5, 4}));
    }
}

TEST(SparseShared, TakesAnotherNumberOfElements) {
  const SharedSparse a(some(), "a");
  const Expr x = tensor("x", {5}, DType::kFloat64);
  Function f = function({x}, {dot(a, x)});
  const Tensor ones = numbers({5});
  expect_close(f({ones})[0], function({x}, {dot(make_constant(some().dense()), x)})({ones})[0]);
  const SparseTensor other{.data = Tensor::vector<double>({2}),
                           .indices = Tensor::vector<int32_t>({4}),
                           .indptr = Tensor::vector<int32_t>({0, 0, 0, 0, 1}),
                           .rows = 4,
                           .columns = 5};
  a.set_value(other);
  EXPECT_EQ(a.get_value().dense().text(), other.dense().text());
  expect_close(f({ones})[0], function({x}, {dot(make_constant(other.dense()), x)})({ones})[0]);
}

TEST(SparseShared, UpdatesChangeTheElements) {
  const SharedSparse a(some(), "a");
  const Expr cost = sum(structured(a, [](const Expr& d) { return d * d; }));
  Function step = function({}, {cost}, {{a.data(), a.data() - 0.5 * grad(cost, {a.data()})[0]}});
  EXPECT_EQ(step({})[0].as_double(), 1.5 * 1.5 + 4 + 20.25 + 9 + 1 + 6.25);
  EXPECT_EQ(a.get_value().data.text(), "[0, 0, 0, 0, 0, 0]");
}

TEST(SparseCoordinates, OfOnePlaceAreAdded) {
  const Expr values = tensor("v", {"n"}, DType::kFloat64), rows = tensor("i", {"n"}, DType::kInt64),
             columns = tensor("j", {"n"}, DType::kInt64);
  const Sparse a = csr_from_coordinates(values, rows, columns, {3, 4});
  Function f = function({values, rows, columns}, {dense(a), a.data});
  const auto out = f({Tensor::vector<double>({1, 2, 4, 8}), Tensor::vector<int64_t>({2, 0, 2, 2}),
                      Tensor::vector<int64_t>({3, 1, 3, 0})});
  EXPECT_EQ(out[0].text(), "[[0, 2, 0, 0], [0, 0, 0, 0], [8, 0, 0, 5]]");
  EXPECT_EQ(out[1].text(), "[2, 8, 5]");
}

// A thread takes rows by the elements in them: one row has nearly all.
TEST(SparseDot, GivesTheSameBitsWithTwoThreads) {
  std::vector<int32_t> indices, indptr{0};
  for (int i = 0; i < 500; ++i) {
    for (int j = 0; j < (i == 250 ? 20000 : 3); ++j) indices.push_back(j + i);
    indptr.push_back(static_cast<int32_t>(indices.size()));
  }
  const auto stored = static_cast<int64_t>(indices.size());
  const SparseTensor value{.data = numbers({stored}),
                           .indices = Tensor::of(indices, {stored}),
                           .indptr = Tensor::of(indptr, {501}),
                           .rows = 500,
                           .columns = 21000};
  const Sparse a = csr_matrix("a", 500, 21000, DType::kFloat64);
  const Expr x = tensor("x", {21000, 40}, DType::kFloat64), y = tensor("y", {500, 40}, DType::kFloat64);
  const std::vector<Tensor> arguments = arguments_of({value, numbers({21000, 40}, 2), numbers({500, 40}, 3)});
  std::vector<std::vector<Tensor>> out;
  for (int threads : {1, 2})
    out.push_back(function(inputs_of({a, x, y}), {dot(a, x), dot(a.T(), y), sampled_dot(a, y, x).data}, {},
                           {.threads = threads})(arguments));
  for (size_t i = 0; i < out[0].size(); ++i) EXPECT_TRUE(same_bits(out[0][i], out[1][i])) << i;
}

// ---- errors

std::string fault_of(const SparseTensor& value) {
  return text_without_node([&] { value.check(); });
}

TEST(SparseErrors, OfValues) {
  SparseTensor x = some();
  EXPECT_EQ(fault_of(x), "no error");
  x.indices = Tensor::vector<int32_t>({4, 1, 0, 1, 3, 2});
  EXPECT_EQ(fault_of(x),
            "error: sparse matrix: in row 0 the index 1 follows 4\n  expected: ascending indices, each once");
  x.indices = Tensor::vector<int32_t>({1, 4, 0, 1, 3, 5});
  EXPECT_EQ(fault_of(x),
            "error: sparse matrix: row 3 has an element with the index 5\n  expected: at least 0 and less than 5");
  x.indices = Tensor::vector<int32_t>({1, 4, 0, 1});
  EXPECT_EQ(fault_of(x), "error: sparse matrix: 6 elements and 4 indices\n  expected: as many");
  x = some();
  x.indptr = Tensor::vector<int32_t>({0, 2, 1, 5, 6});
  EXPECT_EQ(fault_of(x),
            "error: sparse matrix: indptr is 2 at row 1, and 1 after it\n  expected: numbers that do not fall");
  x.indptr = Tensor::vector<int32_t>({0, 2, 2, 5, 5});
  EXPECT_EQ(
      fault_of(x),
      "error: sparse matrix: indptr begins with 0 and ends with 5\n  expected: from 0 to the number of elements, 6");
  x.indptr = Tensor::vector<int32_t>({0, 2, 6});
  EXPECT_EQ(fault_of(x), "error: sparse matrix: indptr has 3 elements\n  expected: one more than the 4 rows");
  x.indptr = Tensor::vector<int64_t>({0, 2, 2, 5, 6});
  EXPECT_EQ(fault_of(x),
            "error: sparse matrix: its parts are no vectors, or indices have no dtype of indices\n  expected: int32 or "
            "int64, both the same");
}

// By calls, in every mode.
TEST(SparseErrors, OfArguments) {
  const Sparse a = csr_matrix("a", 4, 5, DType::kFloat64);
  const Expr x = tensor("x", {5}, DType::kFloat64);
  for (Mode mode : {Mode::kNative, Mode::kReference}) {
    Function f = function(inputs_of({a, x}), {dot(a, x)}, {}, {.mode = mode});
    const auto fault = [&](const Tensor& indices, const Tensor& indptr) {
      return text_without_node([&] { f({some().data, indices, indptr, numbers({5})}); });
    };
    EXPECT_EQ(fault(Tensor::vector<int32_t>({1, 1, 0, 1, 3, 2}), some().indptr),
              "error: sparse matrix: the indices of row 0 are not in order\n  expected: ascending indices, each once");
    EXPECT_EQ(fault(Tensor::vector<int32_t>({1, 4, 0, 3, 1, 2}), some().indptr),
              "error: sparse matrix: the indices of row 2 are not in order\n  expected: ascending indices, each once");
    EXPECT_EQ(fault(Tensor::vector<int32_t>({1, 4, -1, 1, 3, 2}), some().indptr),
              "error: sparse matrix: the index of a stored element is -1\n  expected: at least 0 and less than 5");
    EXPECT_EQ(fault(some().indices, Tensor::vector<int32_t>({0, 2, 1, 5, 6})),
              "error: sparse matrix: indptr is no list of rows at row 1\n  expected: numbers that begin with 0, do not "
              "fall, and end with 6");
    EXPECT_EQ(fault(some().indices, Tensor::vector<int32_t>({0, 2, 2, 5, 5})),
              "error: sparse matrix: indptr is no list of rows at row 3\n  expected: numbers that begin with 0, do not "
              "fall, and end with 6");
  }
}

TEST(SparseErrors, OfLengths) {
  const SharedSparse a(some(), "a");
  const Expr x = tensor("x", {"n", 3}, DType::kFloat64);
  Function f = function({x}, {dot(a, x)});
  EXPECT_EQ(text_without_node([&] {
              f({numbers({4, 3})});
            }),
            "error: sparse dot: axis 0 has another length\n  expected: n == 5\n  got:      4 and 5");
}

}  // namespace
}  // namespace thtrain::sparse_test
