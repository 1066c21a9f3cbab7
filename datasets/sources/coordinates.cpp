#include "datasets/sources/coordinates.h"

#include "compiler/base/file.h"
#include "datasets/data_fields.h"
#include "datasets/sources/joined.h"
#include "datasets/sparse_matrix_file.h"

namespace thtrain {

StoredElements read_elements(const std::string& path) {
  const SparseTensor matrix = read_sparse_matrix(path);
  if (matrix.stored() == 0) throw file_error(path, "the matrix has no elements", "at least one, which is an example");
  constexpr int64_t kMost = 2147483647;
  if (matrix.rows > kMost - matrix.columns)
    throw file_error(path, "the matrix has too many rows and columns", str("at most ", kMost, " together"),
                     str(matrix.rows, " and ", matrix.columns));
  const bool is_csr = matrix.format == SparseFormat::kCsr;
  ElementList out(matrix.rows, matrix.columns);
  for (int64_t i = 0; i + 1 < matrix.indptr.size(); ++i)
    for (int64_t e = matrix.indptr.as_int(i); e < matrix.indptr.as_int(i + 1); ++e) {
      const int64_t j = matrix.indices.as_int(e);
      out.add(is_csr ? i : j, is_csr ? j : i, matrix.data.as_double(e));
    }
  return {out.take(), out.width()};
}

void CoordinatesConfig::fill(DatasetOptions& out) const {
  SetFiles::fill(out);
  out.read = [](const DatasetOptions& options, DType floatx) {
    SourceData data = read_sets(options, floatx, [](const std::string& path, uint64_t) {
      const StoredElements read = read_elements(path);
      const int64_t n = read.elements.y.dim(0);
      constexpr uint64_t kBytes = 2 * (sizeof(double) + sizeof(int32_t)) + sizeof(size_t);
      return JoinedPart{outline(DType::kFloat64, {n, read.width}),
                        read.elements.y,
                        read.elements.x,
                        {},
                        static_cast<uint64_t>(n) * kBytes};
    });
    data.streamed = false;
    return data;
  };
}

std::optional<Split> CoordinatesConfig::read_examples(const std::string& path, const KnownData&) const {
  const StoredElements read = read_elements(path);
  return Split({.raw = outline(DType::kFloat64, {read.elements.y.dim(0), read.width}),
                .source = read.elements.x,
                .origin = path},
               {.raw = read.elements.y, .origin = path}, Targets::kValues, scale);
}

void CoordinatesConfig::describe(Fields<CoordinatesConfig>& f) {
  f.about(
      "The stored elements of a sparse matrix, each an example with its value to approximate: a Matrix Market file, or "
      "an .npz of `scipy.sparse.save_npz` (csr, csc or coo). An example is 1 at its row and, behind all rows, at its "
      "column, else 0, and only these are kept. They are in the order of the rows: `split = \"shuffled\"` draws those "
      "that validate. Paths are looked for as those of `npy`.");
  f.field("standardize_targets", &CoordinatesConfig::standardize_targets)
      .help("The same as `standardize` for the values; predictions are in their units.");
  describe_sets(f, "Files");
  f.check([](const CoordinatesConfig& c, Findings& findings) { check_sparse(c, findings); });
}

Kind<DataConfig> coordinates_source() {
  return kind<CoordinatesConfig, DataConfig>();
}

}  // namespace thtrain
