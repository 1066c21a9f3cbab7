#include "datasets/sparse_npz.h"

#include <algorithm>
#include <span>

#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "datasets/coordinates.h"
#include "datasets/npz.h"

namespace thtrain {
namespace {

constexpr const char* kSortHint =
    "matrix.sum_duplicates(), before scipy.sparse.save_npz, sorts the indices and adds what is given twice";

class SparseNpz {
 public:
  explicit SparseNpz(const std::string& path) : path_(path), file_(path) {}

  SparseTensor read() const {
    if (!is_sparse_npz(file_))
      throw file_error(path_, "there is no sparse matrix in the archive",
                       "arrays format, shape and data, as scipy.sparse.save_npz writes them",
                       file_.names().empty() ? "no arrays" : join(file_.names(), ", "));
    const std::string format = format_text();
    const auto [rows, columns] = shape();
    if (format == "coo") return from_coordinates(rows, columns);
    if (format != "csr" && format != "csc")
      throw file_error(path_, "a sparse matrix in another format", "csr, csc or coo", excerpt(format, 40),
                       "matrix.tocsr() before scipy.sparse.save_npz");
    SparseTensor out{.format = format == "csr" ? SparseFormat::kCsr : SparseFormat::kCsc,
                     .data = vector("data"),
                     .indices = integers("indices"),
                     .indptr = integers("indptr"),
                     .rows = rows,
                     .columns = columns};
    if (out.indices.dtype() != out.indptr.dtype() || out.indices.dtype() != DType::kInt32) {
      out.indices = out.indices.cast(DType::kInt64);
      out.indptr = out.indptr.cast(DType::kInt64);
    }
    if (const auto fault = out.fault())
      throw file_error(path_, fault->what, fault->expected, {},
                       fault->expected.starts_with("ascending") ? kSortHint : "");
    return out;
  }

 private:
  // A text of NumPy's dtype S3 (U3 from SciPy before 1.0): no tensor has it.
  std::string format_text() const {
    constexpr uint64_t kLengths = 10, kMost = 4096;
    const uint64_t size = file_.size("format");
    std::string bytes(std::min(size, kMost), '\0');
    const ZipReader::Bytes entry = file_.bytes("format");
    entry.source->read_at(entry.offset, std::as_writable_bytes(std::span(bytes)));
    const bool is_array = size <= kMost && size >= kLengths && bytes.starts_with("\x93NUMPY\x01");
    const uint64_t header = is_array ? static_cast<uint8_t>(bytes[8]) + 256u * static_cast<uint8_t>(bytes[9]) : 0;
    if (!is_array || kLengths + header > size)
      throw file_error(path_, "the array format holds no text", "csr, csc or coo");
    std::string out = bytes.substr(kLengths + header);
    std::erase(out, '\0');
    return out;
  }

  Tensor vector(const std::string& name) const {
    Tensor out = file_.read(name);
    if (out.rank() != 1) throw file_error(path_, str("the array ", name, " is no vector"), "one axis", out.type_text());
    return out;
  }

  Tensor integers(const std::string& name) const {
    Tensor out = vector(name);
    if (!is_int(out.dtype()) || out.dtype() == DType::kUInt64)
      throw file_error(path_, str("the array ", name, " has no indices"), "int32 or int64", out.type_text());
    return out;
  }

  std::pair<int64_t, int64_t> shape() const {
    const Tensor lengths = integers("shape");
    if (lengths.size() != 2 || lengths.as_int(0) < 0 || lengths.as_int(1) < 0)
      throw file_error(path_, "the array shape is not that of a matrix", "two lengths", lengths.text());
    return {lengths.as_int(0), lengths.as_int(1)};
  }

  SparseTensor from_coordinates(int64_t rows, int64_t columns) const {
    require_believable_rows(path_, "", rows, file_state(path_).size);
    const Tensor row = integers("row"), column = integers("col");
    Coordinates elements{.values = vector("data")};
    if (row.size() != elements.values.size() || column.size() != elements.values.size())
      throw file_error(path_, "the arrays row, col and data differ in length", "as many of each",
                       str(row.size(), ", ", column.size(), " and ", elements.values.size()));
    for (int64_t e = 0; e < row.size(); ++e) {
      const int64_t i = row.as_int(e), j = column.as_int(e);
      if (i < 0 || i >= rows || j < 0 || j >= columns)
        throw file_error(path_, str("element ", e, " is outside of the matrix"),
                         str("rows below ", rows, ", columns below ", columns), str("row ", i, ", column ", j),
                         "rows, columns and elements count from 0");
      elements.rows.push_back(i);
      elements.columns.push_back(j);
    }
    EqualPlaces equal{};
    if (std::optional<SparseTensor> out = csr_of(elements, rows, columns, equal)) return *out;
    throw file_error(path_,
                     str("elements ", equal.first, " and ", equal.second, " are both in row ",
                         elements.rows[equal.second], ", column ", elements.columns[equal.second]),
                     "each place once", {}, kSortHint);
  }

  const std::string& path_;
  NpzFile file_;
};

}  // namespace

bool is_sparse_npz(const NpzFile& file) {
  return file.contains("format") && file.contains("shape") && file.contains("data");
}

SparseTensor read_sparse_npz(const std::string& path) {
  return SparseNpz(path).read();
}

void write_sparse_npz(const std::string& path, const SparseTensor& matrix, const std::function<void()>& check) {
  matrix.check();
  ZipWriter zip(path, kWideFrom, check);
  const auto add = [&](const char* name, const std::string& header, const void* elements, uint64_t bytes) {
    zip.add(str(name, ".npy"), {std::as_bytes(std::span(header)), {static_cast<const std::byte*>(elements), bytes}});
  };
  const auto add_array = [&](const char* name, const Tensor& array) {
    const Tensor elements = array.contiguous();
    add(name, npy_header_text(elements), elements.raw(), elements.bytes());
  };
  add_array("indices", matrix.indices);
  add_array("indptr", matrix.indptr);
  const std::string_view format = matrix.format == SparseFormat::kCsr ? "csr" : "csc";
  std::string header = npy_header_text(Tensor(int8_t{0}));
  header.replace(header.find("|i1"), 3, "|S3");
  add("format", header, format.data(), format.size());
  add_array("shape", Tensor::vector<int64_t>({matrix.rows, matrix.columns}));
  add_array("data", matrix.data);
  zip.commit();
}

}  // namespace thtrain
