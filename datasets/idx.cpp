#include "datasets/idx.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "compiler/base/file.h"
#include "datasets/byte_stream.h"
#include "datasets/content.h"
#include "datasets/memory.h"
#include "datasets/npy.h"

namespace thtrain {

namespace {

constexpr const char* kNotAsLong = "the IDX file is truncated, or its header is wrong";

constexpr std::pair<unsigned, DType> kCodes[] = {{0x08, DType::kUInt8},   {0x09, DType::kInt8},
                                                 {0x0b, DType::kInt16},   {0x0c, DType::kInt32},
                                                 {0x0d, DType::kFloat32}, {0x0e, DType::kFloat64}};

[[noreturn]] void fail_short(const ByteStream& stream, const std::string& expected) {
  throw file_error(stream.path(), kNotAsLong, expected, str(stream.bytes_read(), " bytes", stream.unpacked()),
                   "copy the file again");
}

std::string sizes_text(const IdxHeader& header, uint64_t elements) {
  return str(header.data_offset, " bytes of header and ", elements, " of ", name_of(header.dtype),
             shape_text(header.shape));
}

UserError not_idx(const ByteStream& stream) {
  std::string beginning = stream.file().beginning();
  Content content = content_of(beginning);
  std::string got = stream.packed() ? "a gzipped file of something else" : content_text(beginning);
  return file_error(stream.path(), "not an IDX file", "a file in MNIST's IDX format", got,
                    content == Content::kNpy    ? "source = \"npy\" reads .npy files"
                    : content == Content::kText ? "source = \"csv\" reads tables of numbers"
                                                : "");
}

/// The bytes of the elements, as far as the file can have them.
uint64_t check_size(const ByteStream& stream, const IdxHeader& header) {
  auto bytes = static_cast<int64_t>(size_of(header.dtype));
  bool fits = true;
  for (int64_t length : header.shape)
    fits = fits && !__builtin_mul_overflow(bytes, std::max<int64_t>(length, 1), &bytes);
  if (!fits) {
    throw file_error(stream.path(), "the shape in the IDX header is impossible",
                     "lengths that give less than 2^63 bytes", str(name_of(header.dtype), shape_text(header.shape)));
  }
  uint64_t needed = static_cast<uint64_t>(element_count(header.shape)) * size_of(header.dtype);
  uint64_t most = stream.most_bytes() - std::min(stream.most_bytes(), header.data_offset);
  if (needed > most) {
    throw file_error(stream.path(), kNotAsLong, sizes_text(header, needed),
                     str(stream.packed() ? "at most " : "", stream.most_bytes(), " bytes", stream.unpacked()),
                     "copy the file again");
  }
  if (!stream.packed() && needed < most) {
    throw file_error(stream.path(), "the IDX file is longer than its header says", sizes_text(header, needed),
                     str(stream.most_bytes(), " bytes"));
  }
  return needed;
}

IdxHeader read_header(ByteStream& stream) {
  unsigned char mark[4] = {};
  size_t got = stream.read(std::as_writable_bytes(std::span(mark)));
  if (got < 4 || mark[0] != 0 || mark[1] != 0) throw not_idx(stream);
  const auto* code = std::find_if(std::begin(kCodes), std::end(kCodes), [&](auto& c) { return c.first == mark[2]; });
  if (code == std::end(kCodes)) {
    throw file_error(stream.path(), "the IDX file holds numbers of an unknown type",
                     join(kCodes, ", ", [](auto& c) { return str(c.first, " (", name_of(c.second), ")"); }),
                     str("type ", unsigned{mark[2]}));
  }
  IdxHeader header{
      .dtype = code->second, .shape = {}, .data_offset = 4 + 4 * uint64_t{mark[3]}, .packed = stream.packed()};
  for (unsigned axis = 0; axis < mark[3]; ++axis) {
    unsigned char length[4];
    if (stream.read(std::as_writable_bytes(std::span(length))) < 4)
      fail_short(stream, str("a header of ", header.data_offset, " bytes"));
    header.shape.push_back(int64_t{length[0]} << 24 | int64_t{length[1]} << 16 | int64_t{length[2]} << 8 | length[3]);
  }
  return header;
}

}  // namespace

IdxHeader read_idx_header(const std::string& path) {
  ByteStream stream(path);
  IdxHeader header = read_header(stream);
  check_size(stream, header);
  return header;
}

void check_idx_size(const std::string& path, uint64_t unpacked) {
  ByteStream stream(path);
  const IdxHeader header = read_header(stream);
  const uint64_t elements = check_size(stream, header), needed = header.data_offset + elements;
  if (unpacked < needed)
    throw file_error(path, kNotAsLong, sizes_text(header, elements), str(unpacked, " bytes", stream.unpacked()),
                     "copy the file again");
  if (unpacked > needed)
    throw file_error(path, "the IDX file is longer than its header says", sizes_text(header, elements),
                     str("more bytes", stream.unpacked()));
}

Tensor read_idx(const std::string& path) {
  ByteStream stream(path);
  IdxHeader header = read_header(stream);
  uint64_t needed = check_size(stream, header);
  require_memory(path, str(name_of(header.dtype), shape_text(header.shape)), needed);
  Tensor out = Tensor::empty(header.dtype, header.shape);
  if (stream.read({static_cast<std::byte*>(out.raw()), out.bytes()}) < out.bytes())
    fail_short(stream, sizes_text(header, needed));
  std::byte more;
  if (stream.read({&more, 1}) != 0) {
    throw file_error(path, "the IDX file is longer than its header says", sizes_text(header, needed),
                     str("more bytes", stream.unpacked()));
  }
  if (std::endian::native == std::endian::little) swap_bytes(out);
  return out;
}

}  // namespace thtrain
