// Sparse matrices as SciPy saves them.
#include "datasets/sparse_npz.h"

#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "datasets/npz.h"
#include "tests/fuzz/parsers/parser.h"
#include "tests/fuzz/parsers/scratch_file.h"

namespace thtrain::fuzz {
namespace {

bool parse(std::string_view bytes) {
  try {
    const SparseTensor matrix = read_sparse_npz(scratch_file().holding(bytes));
    require(!matrix.fault(), "a matrix was read whose parts are none");
    return true;
  } catch (const UserError&) {
    return false;
  }
}

// As SciPy saves elements in coordinates.
void write_coordinates(const std::string& path) {
  ZipWriter zip(path);
  const auto add = [&](const char* name, const std::string& header, std::span<const std::byte> elements) {
    zip.add(name, {std::as_bytes(std::span(header)), elements});
  };
  const auto add_array = [&](const char* name, const Tensor& array) {
    add(name, npy_header_text(array), {static_cast<const std::byte*>(array.raw()), array.bytes()});
  };
  add_array("row.npy", Tensor::vector<int32_t>({2, 0, 2}));
  add_array("col.npy", Tensor::vector<int32_t>({1, 3, 0}));
  std::string header = npy_header_text(Tensor(int8_t{0}));
  header.replace(header.find("|i1"), 3, "|S3");
  add("format.npy", header, std::as_bytes(std::span("coo", 3)));
  add_array("shape.npy", Tensor::vector<int64_t>({3, 4}));
  add_array("data.npy", Tensor::vector<float>({1, 2, 3}));
  zip.commit();
}

std::vector<std::string> seeds() {
  const std::string path = scratch_file().holding("") + ".npz";
  std::vector<std::string> out;
  for (const SparseFormat format : {SparseFormat::kCsr, SparseFormat::kCsc}) {
    write_sparse_npz(path, SparseTensor::from_dense(Tensor::matrix({{1.0, 0.0, 2.0}, {0.0, 0.0, -3.0}}), format));
    out.push_back(read_file(path));
  }
  write_coordinates(path);
  out.push_back(read_file(path));
  unlink(path.c_str());
  return out;
}

}  // namespace

const Parser kSparseNpz = {"sparse_npz", parse, seeds};

}  // namespace thtrain::fuzz
