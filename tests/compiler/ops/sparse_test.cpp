// Derivatives of sparse matrices, their values as arguments and variables, and what is said where something is wrong.
#include <gtest/gtest.h>

#include <random>
#include <set>

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
                                       dense(csr_from_dense(dense(a))),
                                       dense(subtensor(e, {Slice{.step = -2}, Slice{.start = 1}})),
                                       elements(e, 2, 1),
                                       elements(e, make_constant(Tensor::vector<int64_t>({2, 0, 2})), 1),
                                       dense(vstack({e, a})),
                                       dense(hstack({a, e})),
                                       dense(multiply(a, subtensor(x, {all(), 0}))),
                                       structured(a, e, [](const Expr& u, const Expr& v) { return u * tanh(v); }).data};
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

// The dense matrix is the variable, and stays so: its elements that are 0 have derivatives too, to the second order.
TEST(SparseGradients, OfTheRegularKindAreThoseOfAllElements) {
  Tensor value = some().dense();
  const Expr m = tensor("m", {4, 5}, DType::kFloat64), x = tensor("x", {5, 3}, DType::kFloat64),
             y = tensor("y", {4}, DType::kFloat64);
  const std::vector<std::pair<Expr, Tensor>> values = {{m, value}, {x, numbers({5, 3})}, {y, numbers({4}, 2)}};
  for (SparseFormat format : {SparseFormat::kCsr, SparseFormat::kCsc}) {
    const Sparse a = regular(format == SparseFormat::kCsr ? csr_from_dense(m) : csc_from_dense(m), m);
    const Sparse plain = csr_from_dense(x * 2);
    const std::vector<Expr> outputs = {dot(a, x),
                                       dot(y, a),
                                       dense(row_scale(-a, y)),
                                       dense(column_scale(a * 3, subtensor(x, {all(), 0}))),
                                       sum(a),
                                       sum(a, 0),
                                       sum(a.T(), 0),
                                       diagonal(a),
                                       dense(a + a),
                                       a + m,
                                       dense(multiply(a, m)),
                                       dense(multiply(a, a)),
                                       dense(dot(a, plain)),
                                       dense(to_csr(to_csc(remove_zeros(a)))),
                                       dense(cast(cast(a, DType::kFloat32), DType::kFloat64)) * 0,
                                       dense(subtensor(a, {Slice{.step = -2}, Slice{.start = 1}})),
                                       elements(a, 0, 0),
                                       elements(a, make_constant(Tensor::vector<int64_t>({1, 0, 2})), 1),
                                       dense(vstack({a, csr_from_dense(m)})),
                                       dense(hstack({csr_from_dense(m), a}))};
    const GradReport report = verify_grad({outputs.begin(), outputs.end() - 2}, {m, x, y}, values);
    EXPECT_TRUE(report.is_right) << report.text;
    Expr cost = sum(a);
    for (size_t i = 0; i + 2 < outputs.size(); ++i) cost = cost + sum(outputs[i] * outputs[i]);
    const GradReport second =
        verify_grad(grad(cost, {m, x, y}), {m, x, y}, values, {.tolerance = 1e-4, .elements = 25});
    EXPECT_TRUE(second.is_right) << second.text;
    // Stacked with a structured matrix each keeps its kind: of elements that are 0 the regular one alone has a
    // derivative.
    const Expr stacked = grad(sum(outputs[outputs.size() - 2]) + sum(outputs.back()), {m})[0];
    EXPECT_EQ(function({m}, {stacked}, {}, {.mode = Mode::kReference})({value})[0].text(),
              "[[2, 4, 2, 2, 4], [2, 2, 2, 2, 2], [4, 4, 2, 4, 2], [2, 2, 4, 2, 2]]");
  }
}

// The kind is an op of the graph. A function that takes no derivative has nothing of it, and one that takes it has the
// dense product.
TEST(SparseGradients, ShowTheirKind) {
  const Sparse a = csr_matrix("a", 4, 5, DType::kFloat64);
  const Expr x = tensor("x", {5}, DType::kFloat64), whole = dense(a);
  const Expr structured_cost = sum(tanh(dot(a, x))), regular_cost = sum(tanh(dot(regular(a, whole), x)));
  const auto ops_of = [&](const Expr& cost, const Expr& wrt) {
    std::set<std::string> out;
    const std::vector<Expr> roots = {cost, grad(cost, {wrt})[0]};
    for (const Node* node : topological_order(roots)) out.insert(node->op->name);
    return out;
  };
  EXPECT_TRUE(ops_of(structured_cost, a.data).contains("csr_sampled_dot"));
  EXPECT_FALSE(ops_of(structured_cost, a.data).contains("regular_gradient"));
  EXPECT_FALSE(ops_of(regular_cost, whole).contains("csr_sampled_dot"));
  EXPECT_TRUE(ops_of(regular_cost, whole).contains("regular_gradient"));
  const Explanation text = function(inputs_of({a, x}), {regular_cost}).explain();
  EXPECT_NE(text.graph.find("regular_gradient"), std::string::npos);
  EXPECT_EQ(text.canonical.find("regular_gradient"), std::string::npos);
}

// Whatever the builder: a matrix of 4 GB is nowhere in the graph of its gradients.
TEST(SparseGradients, NameNoMatrixOfTheShape) {
  const Dim rows(1000), columns(1'000'000);
  for (SparseFormat format : {SparseFormat::kCsr, SparseFormat::kCsc}) {
    const auto matrix = [&](const char* name) {
      return format == SparseFormat::kCsr ? csr_matrix(name, rows, columns) : csc_matrix(name, rows, columns);
    };
    const Sparse a = matrix("a"), b = matrix("b");
    const Expr x = tensor("x", {columns, 3}, a.dtype()), y = tensor("y", {rows, 3}, a.dtype()),
               r = tensor("r", {rows}, a.dtype()), c = tensor("c", {columns}, a.dtype());
    const std::vector<Sparse> made = {row_scale(a, r),
                                      column_scale(a, c),
                                      multiply(a, c),
                                      multiply(a, expand_dims(r, {1})),
                                      structured(a, c, [](const Expr& u, const Expr& v) { return u + v; }),
                                      a + b,
                                      multiply(a, b),
                                      vstack({a, b}),
                                      hstack({a, b}),
                                      subtensor(a, {Slice{.stop = 900}, Slice{.step = 2}}),
                                      sampled_dot(a, y, x),
                                      remove_zeros(a),
                                      to_csr(a),
                                      to_csc(a)};
    Expr cost = sum(tanh(dot(a, x))) + sum(tanh(dot(a.T(), y))) + sum(tanh(diagonal(a))) + sum(tanh(sum(a, 0))) +
                sum(tanh(sum(a, 1))) + elements(a, 3, 4);
    for (const Sparse& each : made) cost = cost + sum(tanh(each.data));
    const std::vector<Expr> wrt = {a.data, b.data, x, y, r, c};
    const std::vector<Expr> first = grad(cost, wrt);
    Expr again = cost;
    for (const Expr& g : first) again = again + sum(g * g);
    const std::vector<Expr> second = grad(again, wrt);
    for (const Node* node : topological_order(second))
      for (const Type& type : node->types) {
        const int64_t size = type.elements().is_known() ? type.elements().value() : 0;
        EXPECT_LT(size, 10'000'000) << node->op->name << " " << type.text();
      }
  }
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

TEST(SparseParts, AreSortedAndAdded) {
  const Expr values = tensor("v", {"n"}, DType::kFloat64), indices = tensor("j", {"n"}, DType::kInt32),
             indptr = tensor("p", {"m"}, DType::kInt32);
  const Sparse a = csr_from_unsorted(values, indices, indptr, 4);
  Function f = function({values, indices, indptr}, {a.data, a.indices, a.indptr});
  const auto out = f({Tensor::vector<double>({1, 2, 4, 8}), Tensor::vector<int32_t>({3, 0, 3, 2}),
                      Tensor::vector<int32_t>({0, 0, 3, 4})});
  EXPECT_EQ(out[0].text() + out[1].text() + out[2].text(), "[2, 5, 8][0, 3, 2][0, 0, 2, 3]");
}

// Of matrices with one row, one column, or none.
TEST(SparseSelection, OfFewRowsIsThatOfTheDenseMatrix) {
  for (const Shape& shape : {Shape{1, 6}, Shape{6, 1}, Shape{0, 4}, Shape{4, 0}, Shape{1, 1}}) {
    Tensor value = numbers(shape);
    for (int64_t i = 0; i < value.size(); i += 2) value.data<double>()[i] = 0;
    const Expr x = tensor("x", Dims(shape.begin(), shape.end()), DType::kFloat64);
    for (bool is_csr : {true, false}) {
      const Sparse a = is_csr ? csr_from_dense(x) : csc_from_dense(x);
      const Slice tail{.start = 1}, backwards{.step = -1};
      const std::vector<Expr> sparse = {dense(subtensor(a, {tail})),
                                        dense(subtensor(a, {all(), tail})),
                                        dense(subtensor(a, {backwards, backwards})),
                                        dense(vstack({a, a})),
                                        dense(hstack({a, a})),
                                        cast(eq(a, a * 2), DType::kInt8),
                                        cast(dense(lt(a, a * 2)), DType::kInt8)};
      const std::vector<Expr> whole = {
          subtensor(x, {tail}), subtensor(x, {all(), tail}),      subtensor(x, {backwards, backwards}), vstack({x, x}),
          hstack({x, x}),       cast(eq(x, x * 2), DType::kInt8), cast(lt(x, x * 2), DType::kInt8)};
      const auto run = [&](const std::vector<Expr>& outputs) {
        return function({x}, std::vector<Out>(outputs.begin(), outputs.end()), {}, {.mode = Mode::kReference})({value});
      };
      const auto got = run(sparse), want = run(whole);
      for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].text(), want[i].text()) << i;
    }
  }
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

// The sums over pairs are there for derivatives alone.
TEST(SparseDot, OfTwoSortsNothing) {
  const Sparse a = csr_matrix("a", 4, 5, DType::kFloat64), b = csr_matrix("b", 5, 3, DType::kFloat64);
  const std::string program = function(inputs_of({a, b}), {dot(a, b).data}).explain().program;
  EXPECT_EQ(program.find("argsort"), std::string::npos) << program;
  EXPECT_EQ(program.find("csr_transposed"), std::string::npos) << program;
  EXPECT_NE(program.find("csr_product_sorted"), std::string::npos) << program;
}

// Rows of very many columns are sorted by transposing, and those whose columns only a call knows.
TEST(SparseDot, OfTwoIntoManyColumns) {
  for (const Dim& columns : {Dim(70000), Dim("columns")}) {
    const Sparse a = csr_matrix("a", 2, 3, DType::kFloat64), b = csr_matrix("b", 3, columns, DType::kFloat64);
    const Sparse c = dot(a, b);
    const Expr x = tensor("x", {columns}, DType::kFloat64);
    const Expr cost = sum(sqr(c.data));
    const std::vector<Expr> by = grad(cost, {a.data, b.data});
    Function f = function(inputs_of({a, b, x}), {c.data, c.indices, c.indptr, by[0], by[1]}, {},
                          {.unused_inputs = UnusedInputs::kAllowed});
    // [1, 0, 2] and nothing, times elements 1 and 2 in columns 5 and 69999, none, 4 and 3 in columns 0 and 5.
    const auto got =
        f({Tensor::vector<double>({1, 2}), Tensor::vector<int32_t>({0, 2}), Tensor::vector<int32_t>({0, 2, 2}),
           Tensor::vector<double>({1, 2, 4, 3}), Tensor::vector<int32_t>({5, 69999, 0, 5}),
           Tensor::vector<int32_t>({0, 2, 2, 4}), Tensor::zeros(DType::kFloat64, {70000})});
    EXPECT_TRUE(same_bits(got[0], Tensor::vector<double>({8, 7, 2}))) << got[0].text();
    EXPECT_TRUE(same_bits(got[1], Tensor::vector<int32_t>({0, 5, 69999}))) << got[1].text();
    EXPECT_TRUE(same_bits(got[2], Tensor::vector<int32_t>({0, 3, 3}))) << got[2].text();
    EXPECT_TRUE(same_bits(got[3], Tensor::vector<double>({22, 106}))) << got[3].text();
    EXPECT_TRUE(same_bits(got[4], Tensor::vector<double>({14, 4, 32, 28}))) << got[4].text();
  }
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
  EXPECT_EQ(
      fault_of(x),
      "error: sparse matrix: indptr is 2 at row 1, and 1 after it\n  expected: numbers that do not fall, up to 6");
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

TEST(SparseErrors, OfBuilders) {
  const Sparse a = csr_matrix("a", 4, 5, DType::kFloat64), b = csr_matrix("b", 4, 6, DType::kFloat64);
  const Expr x = tensor("x", {4, 5}, DType::kFloat32), v = tensor("v", {4}, DType::kFloat64);
  const auto text = [](const std::function<void()>& f) { return text_without_node(f); };
  EXPECT_EQ(
      text([&] { subtensor(a, {0}); }),
      "error: subtensor of a sparse matrix: an index is neither a slice nor a vector\n  expected: slices, integer "
      "vectors or masks\n  hint:     elements(a, i, j) has single elements, a slice i : i + 1 a row");
  EXPECT_EQ(
      text([&] { subtensor(a, std::vector<Index>{}); }),
      "error: subtensor of a sparse matrix: 0 indices are given\n  expected: one of rows, or one of rows and one of "
      "columns");
  EXPECT_EQ(text([&] {
              vstack({a, b});
            }),
            "error: vstack: matrices of 5 and of 6 columns\n  expected: the same number of columns");
  EXPECT_EQ(text([&] { hstack(std::vector<SparseOperand>{}); }),
            "error: hstack: there is no matrix\n  expected: one or more");
  EXPECT_EQ(text([&] { lt(a, b); }), "error: lt: sparse matrices of different shapes\n  got:      [4, 5] and [4, 6]");
  EXPECT_EQ(text([&] { multiply(a, v); }),
            "error: multiply: axis 0 has another length\n  expected: 4 == 5\n  got:      v float64[4]");
  EXPECT_EQ(text([&] { row_scale(a, x); }),
            "error: row_scale: the factors are no vector\n  expected: one axis\n  got:      x float32[4, 5]");
  EXPECT_EQ(text([&] { regular(a, x); }),
            "error: regular: the dense form is no matrix of the sparse one's dtype, or that is no float\n  expected: a "
            "matrix of float32 or float64, both the same\n  got:      a.data float64[a_stored] and x float32[4, 5]");
  Function f = function(inputs_of({a}), {elements(a, 4, 0)}, {}, {.mode = Mode::kReference});
  EXPECT_EQ(text([&] { f(arguments_of({some()})); }),
            "error: take: the index 4 is outside axis 0\n  expected: -4 <= index < 4");
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
  const Expr x = tensor("x", {"n", 3}, DType::kFloat64);
  Function f = function({x}, {dot(SharedSparse(some(), "a"), x)});
  EXPECT_EQ(text_without_node([&] {
              f({numbers({4, 3})});
            }),
            "error: sparse dot: axis 0 has another length\n  expected: n == 5\n  got:      4 and 5");
}

}  // namespace
}  // namespace thtrain::sparse_test
