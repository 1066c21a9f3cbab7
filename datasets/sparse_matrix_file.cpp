#include "datasets/sparse_matrix_file.h"

#include <numeric>

#include "compiler/base/file.h"
#include "datasets/content.h"
#include "datasets/matrix_market.h"
#include "datasets/sparse_npz.h"
#include "datasets/sparse_rows.h"

namespace thtrain {

SparseTensor read_sparse_matrix(const std::string& path) {
  const bool is_npz = content_of(InputFile(path).beginning()) == Content::kZip;
  SparseTensor out = is_npz ? read_sparse_npz(path) : read_matrix_market(path);
  if (is_complex(out.data.dtype()))
    throw file_error(path, "the elements of the matrix are complex", "real numbers", str(name_of(out.data.dtype())));
  return out;
}

DataArray read_matrix_rows(const std::string& path) {
  const SparseTensor matrix = read_sparse_matrix(path);
  constexpr int64_t kMost = 2147483647;
  if (matrix.columns > kMost)
    throw file_error(path, "the matrix has too many columns", str("at most ", kMost), str(matrix.columns));
  const bool is_csr = matrix.format == SparseFormat::kCsr;
  const auto for_each = [&](auto f) {  // by columns where it is stored so: within a row they rise then too
    for (int64_t i = 0; i + 1 < matrix.indptr.size(); ++i)
      for (int64_t e = matrix.indptr.as_int(i); e < matrix.indptr.as_int(i + 1); ++e) {
        const int64_t j = matrix.indices.as_int(e);
        f(static_cast<size_t>(is_csr ? i : j), is_csr ? j : i, matrix.data.as_double(e));
      }
  };
  std::vector<size_t> begins(static_cast<size_t>(matrix.rows) + 1);
  for_each([&](size_t row, int64_t, double) { ++begins[row + 1]; });
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<size_t> next = begins;
  SparseNumbers numbers{.columns = std::vector<int32_t>(begins.back()), .values = std::vector<double>(begins.back())};
  for_each([&](size_t row, int64_t column, double value) {
    numbers.columns[next[row]] = static_cast<int32_t>(column);
    numbers.values[next[row]++] = value;
  });
  auto source = std::make_shared<const HeldSparseRows>(std::move(numbers), std::move(begins), matrix.columns);
  return {.raw = outline(DType::kFloat64, {matrix.rows, matrix.columns}), .source = std::move(source), .origin = path};
}

}  // namespace thtrain
