#include "datasets/idx.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <utility>

#include "datasets/file.h"
#include "datasets/npy.h"

namespace thtrain {

namespace {

constexpr uint64_t kMaxDeflateRatio = 1032;

constexpr std::pair<unsigned, DType> kCodes[] = {{0x08, DType::kUInt8},   {0x09, DType::kInt8},
                                                 {0x0b, DType::kInt16},   {0x0c, DType::kInt32},
                                                 {0x0d, DType::kFloat32}, {0x0e, DType::kFloat64}};

std::string hex_byte(unsigned value) {
  constexpr char kDigits[] = "0123456789abcdef";
  return {kDigits[value >> 4 & 15], kDigits[value & 15]};
}

/// A file read from its start, unpacked on the way if it is gzipped.
class Stream {
 public:
  explicit Stream(const std::string& path) : file_(path), gz_(::gzopen(path.c_str(), "rb"), ::gzclose) {
    if (!gz_) throw file_error(path, "the file cannot be read");
    ::gzbuffer(gz_.get(), 1 << 17);
    packed_ = ::gzdirect(gz_.get()) == 0;
  }

  const std::string& path() const { return file_.path(); }
  /// The most bytes that can come, unpacked.
  uint64_t most_bytes() const { return packed_ ? file_.size() * kMaxDeflateRatio : file_.size(); }
  uint64_t bytes_read() const { return read_; }
  const char* unpacked() const { return packed_ ? " unpacked" : ""; }

  /// The number of bytes read: fewer than asked for at the end. The gzip checksum is checked when the end is read.
  size_t read(std::span<std::byte> out) {
    size_t done = 0;
    while (done < out.size()) {
      auto ask = static_cast<unsigned>(std::min<size_t>(out.size() - done, 1u << 30));
      int n = ::gzread(gz_.get(), out.data() + done, ask);
      int status = Z_OK;
      const char* message = ::gzerror(gz_.get(), &status);
      if (status == Z_BUF_ERROR) throw file_error(path(), "the gzip data is truncated", {}, {}, "copy the file again");
      if (n < 0 || status != Z_OK) {
        // zlib puts the path before what it says.
        std::string said = message;
        if (said.starts_with(path() + ": ")) said.erase(0, path().size() + 2);
        throw file_error(path(), "the gzip data is damaged", {}, said, "copy the file again");
      }
      if (n == 0) break;
      done += static_cast<size_t>(n);
      read_ += static_cast<uint64_t>(n);
    }
    return done;
  }

 private:
  InputFile file_;  // opened first: its errors say more
  std::unique_ptr<gzFile_s, int (*)(gzFile)> gz_;
  bool packed_ = false;
  uint64_t read_ = 0;
};

[[noreturn]] void fail_short(const Stream& stream, const std::string& expected) {
  throw file_error(stream.path(), "the IDX file is truncated, or its header is wrong", expected,
                   str(stream.bytes_read(), " bytes", stream.unpacked()), "copy the file again");
}

}  // namespace

Tensor read_idx(const std::string& path) {
  Stream stream(path);
  unsigned char mark[4] = {};
  size_t got = stream.read(std::as_writable_bytes(std::span(mark)));
  if (got < 4 || mark[0] != 0 || mark[1] != 0) {
    std::string bytes = join(std::span(mark, got), " ", [](unsigned char c) { return hex_byte(c); });
    throw file_error(path, "not an IDX file", "the bytes 00 00, a code of the dtype and the number of axes first",
                     got == 0 ? "an empty file" : bytes);
  }
  const auto* code = std::find_if(std::begin(kCodes), std::end(kCodes), [&](auto& c) { return c.first == mark[2]; });
  if (code == std::end(kCodes)) {
    throw file_error(path, "the dtype of the IDX file is not supported",
                     join(kCodes, ", ", [](auto& c) { return str(hex_byte(c.first), " ", name_of(c.second)); }),
                     str("code ", hex_byte(mark[2])));
  }
  DType dtype = code->second;
  uint64_t header = 4 + 4 * uint64_t{mark[3]};
  Shape shape;
  auto bytes = static_cast<int64_t>(size_of(dtype));
  bool fits = true;
  for (unsigned axis = 0; axis < mark[3]; ++axis) {
    unsigned char length[4];
    if (stream.read(std::as_writable_bytes(std::span(length))) < 4)
      fail_short(stream, str("a header of ", header, " bytes"));
    shape.push_back(int64_t{length[0]} << 24 | int64_t{length[1]} << 16 | int64_t{length[2]} << 8 | length[3]);
    fits = fits && !__builtin_mul_overflow(bytes, std::max<int64_t>(shape.back(), 1), &bytes);
  }
  std::string type = str(name_of(dtype), shape_text(shape));
  if (!fits) {
    throw file_error(path, "the shape in the IDX header is impossible", "lengths that give less than 2^63 bytes", type);
  }
  uint64_t needed = static_cast<uint64_t>(element_count(shape)) * size_of(dtype);
  std::string expected = str(header, " bytes of header and ", needed, " of ", type);
  if (needed > stream.most_bytes()) {
    throw file_error(path, "the IDX file is truncated, or its header is wrong", expected,
                     str("at most ", stream.most_bytes(), " bytes", stream.unpacked()), "copy the file again");
  }
  Tensor out = Tensor::empty(dtype, shape);
  if (stream.read({static_cast<std::byte*>(out.raw()), out.bytes()}) < out.bytes()) fail_short(stream, expected);
  std::byte more;
  if (stream.read({&more, 1}) != 0) {
    throw file_error(path, "the IDX file is longer than its header says", expected,
                     str("more bytes", stream.unpacked()));
  }
  if (std::endian::native == std::endian::little) swap_bytes(out);
  return out;
}

}  // namespace thtrain
