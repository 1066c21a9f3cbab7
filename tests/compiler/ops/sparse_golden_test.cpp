// Sparse matrices against SciPy, in both formats: by the references and natively.
#include <gtest/gtest.h>

#include <map>

#include "compiler/api.h"
#include "tests/support/golden_lines.h"

namespace thtrain::sparse_golden_test {
namespace {

using Values = std::map<std::string, Tensor>;

/// What the cases are made of: each builder's result under "name part".
std::map<std::string, Expr> results_of(const Sparse& a, const Values& values) {
  std::map<std::string, Expr> out;
  const auto constant = [&](const char* name) { return make_constant(values.at(name).cast(a.dtype())); };
  const auto give = [&](const std::string& name, const Sparse& x) {
    const Sparse result = remove_zeros(x);
    EXPECT_EQ(result.format, a.format) << name;
    out[name + " dense"] = dense(result);
    out[name + " data"] = result.data;
    out[name + " indices"] = result.indices;
    out[name + " indptr"] = result.indptr;
  };
  const Expr tall = constant("tall"), wide = constant("wide"), row = subtensor(tall, {all(), 0}), column = wide[0],
             like = constant("like");
  const Sparse csr_other = csr_from_dense(constant("other"));
  const Sparse other = a.format == SparseFormat::kCsr ? csr_other : to_csc(csr_other);
  give("same", a);
  out["times_vector dense"] = dot(a, row);
  out["times_matrix dense"] = dot(a, tall);
  out["vector_times dense"] = dot(column, a);
  out["matrix_times dense"] = dot(wide, a);
  give("negated", -a);
  give("scaled", a * Operand(3));
  give("rows_scaled", row_scale(a, column));
  give("columns_scaled", column_scale(a, row));
  give("times_dense", multiply(a, like));
  out["plus_dense dense"] = a + like;
  out["sum dense"] = sum(a);
  out["sum_0 dense"] = sum(a, 0);
  out["sum_1 dense"] = sum(a, 1);
  out["diagonal dense"] = diagonal(a);
  give("plus", a + other);
  give("minus", a - other);
  give("product", multiply(a, other));
  give("squared", structured(a, [](const Expr& x) { return x * x; }));
  out["times_sparse dense"] = dense(dot(a, other.T()));
  const auto flags = [](const Sparse& x) { return cast(x, DType::kInt8); };
  const auto numbers = [](std::vector<int64_t> of) {
    return make_constant(Tensor::of<int64_t>(of, {static_cast<int64_t>(of.size())}));
  };
  give("rows_between", subtensor(a, {Slice{.start = 1, .stop = 4}}));
  give("rows_backwards", subtensor(a, {Slice{.step = -2}}));
  give("rows_listed", subtensor(a, {numbers({3, -1, 0, 3})}));
  give("columns_between", subtensor(a, {all(), Slice{.start = 2, .stop = -1}}));
  give("columns_backwards", subtensor(a, {all(), Slice{.start = 5, .stop = 1, .step = -1}}));
  give("columns_listed", subtensor(a, {all(), numbers({6, 0, 0, -3})}));
  give("part", subtensor(a, {Slice{.start = 2}, numbers({1, 6})}));
  give("no_rows", subtensor(a, {Slice{.start = 4, .stop = 2}}));
  give("no_columns", subtensor(a, {all(), Slice{.start = 3, .stop = 3}}));
  out["element dense"] = elements(a, 4, 6);
  out["elements dense"] = elements(a, numbers({0, 4, -2, 1}), numbers({0, 6, 5, -1}));
  give("above", vstack({a, csr_other, subtensor(a, {Slice{.start = 2, .stop = 3}})}));
  give("beside", hstack({a, csr_other, subtensor(a, {all(), Slice{.start = 1, .stop = 3}})}));
  give("added_to_columns", structured(a, row, [](const Expr& x, const Expr& v) { return x + v; }));
  give("different", flags(neq(a, other)));
  out["equal dense"] = cast(eq(a, csr_other), DType::kInt8);
  if (!is_complex(a.dtype())) {
    give("less", flags(lt(a, other)));
    give("greater", flags(gt(a, csr_other)));
    give("maximum", structured(a, other, [](const Expr& x, const Expr& y) { return maximum(x, y); }));
    out["at_most dense"] = cast(le(a, other), DType::kInt8);
    out["at_least dense"] = cast(ge(a, other), DType::kInt8);
    out["above_one dense"] = cast(gt(a, 1), DType::kInt8);
  }
  give("transposed_twice", a.format == SparseFormat::kCsr ? to_csr(to_csc(a)) : to_csc(to_csr(a)));
  return out;
}

// One function of all results for each format and dtype: the matrices differ in what they store.
void compare(SparseFormat format, DType dtype, Mode mode, size_t expected) {
  const std::string form = format == SparseFormat::kCsr ? "csr" : "csc";
  Values values;
  std::vector<GoldenLine> lines;
  for (const GoldenLine& line : golden_lines("sparse_ops.txt")) {
    if (line.name == "input")
      values[line.arguments[0]] = line.result(*dtype_named(line.arguments[1]));
    else if (line.arguments[0] == form && values.at(line.arguments[1]).dtype() == dtype)
      lines.push_back(line);
  }
  const Sparse a = format == SparseFormat::kCsr ? csr_matrix("a", 5, 7, dtype) : csc_matrix("a", 5, 7, dtype);
  const std::map<std::string, Expr> results = results_of(a, values);
  std::vector<Out> outputs;
  for (const auto& [name, result] : results) outputs.emplace_back(name, result);
  Function f = function(inputs_of({a}), outputs, {}, {.mode = mode});
  std::map<std::string, std::map<std::string, Tensor>> got;
  size_t compared = 0;
  for (const GoldenLine& line : lines) {
    const std::string& matrix = line.arguments[1];
    SCOPED_TRACE(line.text);
    if (!got.contains(matrix))
      got[matrix] = f.named(arguments_of({SparseTensor::from_dense(values.at(matrix), format)}));
    const Tensor& result = got[matrix].at(line.name + " " + line.arguments[2]);
    EXPECT_EQ(result.text(), line.result(result.dtype()).text());
    ++compared;
  }
  EXPECT_EQ(compared, expected);
}

TEST(SparseValues, OfRowsAreSciPys) {
  compare(SparseFormat::kCsr, DType::kFloat64, Mode::kReference, 496);
  compare(SparseFormat::kCsr, DType::kFloat32, Mode::kReference, 124);
  compare(SparseFormat::kCsr, DType::kInt64, Mode::kReference, 124);
  compare(SparseFormat::kCsr, DType::kComplex128, Mode::kReference, 109);
}
TEST(SparseValues, OfColumnsAreSciPys) {
  compare(SparseFormat::kCsc, DType::kFloat64, Mode::kReference, 496);
  compare(SparseFormat::kCsc, DType::kComplex128, Mode::kReference, 109);
}
TEST(SparseValues, OfRowsAreSciPysNatively) {
  compare(SparseFormat::kCsr, DType::kFloat64, Mode::kNative, 496);
}
TEST(SparseValues, OfColumnsAreSciPysNatively) {
  compare(SparseFormat::kCsc, DType::kFloat32, Mode::kNative, 124);
}

}  // namespace
}  // namespace thtrain::sparse_golden_test
