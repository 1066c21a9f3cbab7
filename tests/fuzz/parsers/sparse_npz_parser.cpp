// Sparse matrices as SciPy saves them. Hardly a changed archive has the right checksums; of inputs that begin with
// "parts" the archive is written here: each array as the first letter of its name, two bytes of length, and its file.
#include "datasets/sparse_npz.h"

#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "datasets/npz.h"
#include "tests/fuzz/parsers/parser.h"
#include "tests/fuzz/parsers/scratch_file.h"

namespace thtrain::fuzz {
namespace {

constexpr std::string_view kParts = "parts";
constexpr const char* kNames[] = {"format", "shape", "data", "indices", "pointers", "row", "col"};

std::string archive_of(std::string_view parts) {
  const std::string path = scratch_file().holding("") + ".npz";
  ZipWriter zip(path);
  std::string used;
  while (parts.size() > 2) {
    const char letter = parts[0];
    const size_t length = static_cast<uint8_t>(parts[1]) + 256u * static_cast<uint8_t>(parts[2]);
    const std::string_view array = parts.substr(3, length);
    parts.remove_prefix(3 + array.size());
    for (const char* name : kNames) {
      if (name[0] != letter || used.find(letter) != used.npos) continue;
      used += letter;
      zip.add(letter == 'p' ? "indptr.npy" : str(name, ".npy"), {std::as_bytes(std::span(array))});
    }
  }
  zip.commit();
  const std::string out = read_file(path);
  unlink(path.c_str());
  return out;
}

// The other way round.
std::string parts_of(const std::string& archive) {
  const NpzFile file(scratch_file().holding(archive));
  std::string out(kParts);
  for (const std::string& name : file.names()) {
    std::string array(file.size(name), '\0');
    const ZipReader::Bytes entry = file.bytes(name);
    entry.source->read_at(entry.offset, std::as_writable_bytes(std::span(array)));
    out += name == "indptr" ? 'p' : name[0];
    out += static_cast<char>(array.size() % 256);
    out += static_cast<char>(array.size() / 256);
    out += array;
  }
  return out;
}

bool parse(std::string_view bytes) {
  const bool are_parts = bytes.starts_with(kParts);
  try {
    const std::string archive = are_parts ? archive_of(bytes.substr(kParts.size())) : std::string(bytes);
    const SparseTensor matrix = read_sparse_npz(scratch_file().holding(archive));
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
  for (const std::string& archive : std::vector(out)) out.push_back(parts_of(archive));
  return out;
}

}  // namespace

const Parser kSparseNpz = {"sparse_npz", parse, seeds};

}  // namespace thtrain::fuzz
