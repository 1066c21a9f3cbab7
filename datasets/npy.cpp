#include "datasets/npy.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "compiler/base/escape.h"
#include "datasets/content.h"
#include "datasets/memory.h"

namespace thtrain {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kPreamble = 12;  // the longest: magic, version, four bytes of length
constexpr uint64_t kMaxHeader = kMaxNpyHeader - kPreamble;
constexpr size_t kMaxRank = 64;  // NumPy's limit

bool machine_is_little_endian() {
  return std::endian::native == std::endian::little;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string supported_dtypes() {
  return join(kAllDTypes, ", ", [](DType dtype) { return name_of(dtype); });
}

/// Reads the header's text: the literal of a Python dictionary with three keys.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path, NpyHeader& header)
      : text_(text), path_(path), header_(header) {}

  void parse() {
    expect('{');
    bool seen[3] = {};
    while (!accept('}')) {
      std::string key = string();
      expect(':');
      int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0) fail(str("the key '", excerpt(key), "' is unknown"));
      if (seen[which]) fail(str("the key '", key, "' appears twice"));
      seen[which] = true;
      if (which == 0) descr();
      if (which == 1) header_.fortran_order = boolean();
      if (which == 2) shape();
      if (!accept(',') && !peek('}')) fail("a comma or } is missing");
    }
    if (at_ != text_.size()) fail("text follows the dictionary");
    for (int i = 0; i < 3; ++i) {
      if (!seen[i]) fail(str("the key '", i == 0 ? "descr" : i == 1 ? "fortran_order" : "shape", "' is missing"));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw file_error(path_, "the header of the .npy file is malformed",
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", excerpt(text_), why);
  }
  [[noreturn]] void fail_dtype(const std::string& got, const char* hint) const {
    throw file_error(path_, "the dtype of the .npy file is not supported", supported_dtypes(), got, hint);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool peek(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool accept(char c) {
    skip_space();
    bool found = peek(c);
    if (found) ++at_;
    skip_space();
    return found;
  }
  void expect(char c) {
    if (!accept(c)) fail(str("'", c, "' was expected at character ", at_ + 1));
  }
  bool accept_word(std::string_view word) {
    bool found = text_.substr(at_, word.size()) == word;
    if (found) at_ += word.size();
    return found;
  }
  std::string string() {
    if (!peek('\'') && !peek('"')) fail(str("a quoted text was expected at character ", at_ + 1));
    size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail("a quote is not closed");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) fail("fortran_order is neither True nor False");
    return false;
  }

  void descr() {
    if (peek('[') || peek('(')) fail_dtype("a structured dtype (records)", "save one array of numbers");
    std::string code = string(), plain = code;
    char order = '=';
    if (!plain.empty() && std::string_view("<>|=").find(plain[0]) != std::string_view::npos) {
      order = plain[0];
      plain.erase(0, 1);
    }
    header_.swapped = (order == '<' && !machine_is_little_endian()) || (order == '>' && machine_is_little_endian());
    constexpr std::pair<std::string_view, DType> kCodes[] = {
        {"b1", DType::kBool},       {"i1", DType::kInt8},    {"i2", DType::kInt16},   {"i4", DType::kInt32},
        {"i8", DType::kInt64},      {"u1", DType::kUInt8},   {"u2", DType::kUInt16},  {"u4", DType::kUInt32},
        {"u8", DType::kUInt64},     {"f4", DType::kFloat32}, {"f8", DType::kFloat64}, {"c8", DType::kComplex64},
        {"c16", DType::kComplex128}};
    for (const auto& [name, dtype] : kCodes) {
      if (plain != name) continue;
      header_.dtype = dtype;
      if (size_of(dtype) == 1) header_.swapped = false;
      return;
    }
    char kind = plain.empty() ? '?' : plain[0];
    std::string_view meaning = plain == "f2" ? "float16"
                               : kind == 'f' ? "long double"
                               : kind == 'c' ? "complex long double"
                               : kind == 'O' ? "Python objects"
                               : kind == 'S' ? "byte strings"
                               : kind == 'U' ? "strings"
                               : kind == 'V' ? "raw bytes or records"
                               : kind == 'M' ? "dates"
                               : kind == 'm' ? "time spans"
                                             : "an unknown code";
    bool castable = kind == 'f' || kind == 'M' || kind == 'm', text = kind == 'O' || kind == 'S' || kind == 'U';
    fail_dtype(str("'", excerpt(code), "' (", meaning, ")"),
               castable ? "convert it in NumPy: numpy.save(path, array.astype(numpy.float32))"
               : text   ? "numbers are needed; numpy.unique(texts, return_inverse=True)[1] makes class numbers of texts"
                        : "");
  }

  void shape() {
    expect('(');
    while (!accept(')')) {
      size_t start = at_;
      if (peek('-')) ++at_;
      size_t digits = at_;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
      if (at_ == digits) fail("a length of the shape is not an integer");
      std::string_view number = text_.substr(start, at_ - start);
      int64_t length = 0;
      bool fits = true;
      for (char c : text_.substr(digits, at_ - digits)) {
        fits = fits && !__builtin_mul_overflow(length, int64_t{10}, &length) &&
               !__builtin_add_overflow(length, int64_t{c - '0'}, &length);
      }
      if (!fits || start != digits) impossible(std::string(number));
      header_.shape.push_back(length);
      if (peek('L')) ++at_;  // Python 2 wrote its long integers so
      if (header_.shape.size() > kMaxRank) fail("the shape has more than 64 axes");
      if (!accept(',') && !peek(')')) fail("a comma or ) is missing in the shape");
    }
  }
  [[noreturn]] void impossible(const std::string& length) const {
    throw file_error(path_, "the shape in the .npy header is impossible",
                     "lengths that are not negative and give less than 2^63 bytes",
                     str("a length of ", excerpt(length)));
  }

  std::string_view text_;
  const std::string& path_;
  NpyHeader& header_;
  size_t at_ = 0;
};

UserError not_npy(const std::string& path, std::string_view beginning) {
  std::string hint;
  switch (content_of(beginning)) {
    case Content::kZip:
      hint = "an array in an .npz file is named so: file.npz[name]";
      break;
    case Content::kGzip:
      hint = str("unpack it: gunzip ", path);
      break;
    case Content::kIdx:
      hint = "source = \"idx\" reads IDX files";
      break;
    case Content::kText:
      hint = "source = \"csv\" reads tables of numbers";
      break;
    default:
      break;
  }
  return file_error(path, "not a .npy file", "an array as numpy.save writes it", content_text(beginning), hint);
}

/// Where the elements begin. `head` holds at least the first kPreamble bytes of the file, or all of a shorter one.
uint64_t header_end(std::span<const std::byte> head, uint64_t file_bytes, const std::string& path, NpyHeader& header) {
  std::string_view bytes = text_of(head).substr(0, kPreamble);
  if (bytes.substr(0, kMagic.size()) != kMagic) throw not_npy(path, text_of(head));
  auto at = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])); };
  auto need = [&](uint64_t count) {
    if (file_bytes < count) {
      throw file_error(path, "the .npy file is truncated", str("a header of ", count, " bytes"),
                       str(file_bytes, " bytes"), "copy or write the file again");
    }
  };
  need(kMagic.size() + 2);
  header.version = static_cast<int>(at(6));
  if (header.version < 1 || header.version > 3 || at(7) != 0) {
    throw file_error(path, "the version of the .npy file is not supported", "version 1.0, 2.0 or 3.0",
                     str("version ", at(6), ".", at(7)));
  }
  size_t start = header.version == 1 ? 10 : 12;
  need(start);
  uint64_t length = at(8) | at(9) << 8;
  if (header.version > 1) length |= at(10) << 16 | at(11) << 24;
  if (length > kMaxHeader) {
    throw file_error(path, "the header of the .npy file is malformed",
                     str("a header of at most ", kMaxHeader, " bytes"), str(length, " bytes"));
  }
  need(start + length);
  return start + length;
}

/// The bytes of the array fit int64 and the file.
void check_size(const NpyHeader& header, uint64_t file_bytes, const std::string& path) {
  auto bytes = static_cast<int64_t>(size_of(header.dtype));
  bool fits = true;
  for (int64_t length : header.shape)
    fits = fits && !__builtin_mul_overflow(bytes, std::max<int64_t>(length, 1), &bytes);
  if (!fits) {
    throw file_error(path, "the shape in the .npy header is impossible",
                     "lengths that are not negative and give less than 2^63 bytes", header.type_text());
  }
  uint64_t needed = header.data_bytes();
  if (needed > file_bytes - header.data_offset) {
    throw file_error(path, "the .npy file is truncated, or its header is wrong",
                     str(header.data_offset, " bytes of header and ", needed, " of ", header.type_text()),
                     str(file_bytes, " bytes"), "copy or write the file again");
  }
}

/// Copies a strided array into a row-major one, without Tensor::copy's cost per element.
Tensor row_major(const Tensor& from) {
  if (from.is_contiguous()) return from;
  Tensor out = Tensor::empty(from.dtype(), from.shape());
  size_t width = size_of(from.dtype()), last = from.rank() - 1;
  Shape outer(from.shape().begin(), from.shape().end() - 1);
  auto stride = from.strides()[last] * static_cast<int64_t>(width);
  auto* to = static_cast<std::byte*>(out.raw());
  for_each_index(outer, [&](const Shape& index) {
    int64_t offset = 0;
    for (size_t i = 0; i < last; ++i) offset += index[i] * from.strides()[i];
    const auto* source = static_cast<const std::byte*>(from.raw()) + offset * static_cast<int64_t>(width);
    for (int64_t i = 0; i < from.shape()[last]; ++i, to += width, source += stride) std::memcpy(to, source, width);
  });
  return out;
}

/// NumPy pads its headers, so that elements lie at even addresses; others may not.
bool is_aligned(const NpyHeader& header) {
  return header.data_offset % size_of(header.dtype) == 0;
}

/// Any byte but 0 is true; a C++ bool may only hold 0 and 1.
void make_bools(Tensor array) {
  auto* bytes = static_cast<unsigned char*>(array.raw());
  for (size_t i = 0; i < array.bytes(); ++i) bytes[i] = bytes[i] != 0;
}

Tensor finish(const NpyHeader& header, const Tensor& raw) {
  Tensor out = row_major(raw);
  if (header.swapped) swap_bytes(out);
  if (header.dtype == DType::kBool) make_bools(out);
  return out;
}

/// `file` holds at least all of the header.
NpyHeader parse_header(std::span<const std::byte> file, uint64_t file_bytes, const std::string& path) {
  NpyHeader header;
  header.data_offset = header_end(file, file_bytes, path, header);
  size_t start = header.version == 1 ? 10 : 12;
  HeaderParser(text_of(file.subspan(start, header.data_offset - start)), path, header).parse();
  check_size(header, file_bytes, path);
  return header;
}

}  // namespace

Shape NpyHeader::strides() const {
  if (!fortran_order) return row_major_strides(shape);
  Shape out = row_major_strides(Shape(shape.rbegin(), shape.rend()));
  std::reverse(out.begin(), out.end());
  return out;
}

std::string NpyHeader::type_text() const {
  return str(name_of(dtype), shape_text(shape));
}

NpyHeader read_npy_header(const InputFile& file) {
  NpyHeader ignored;
  std::string head = file.beginning();
  std::string whole(header_end(std::as_bytes(std::span(head)), file.size(), file.path(), ignored), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(whole)));
  return parse_header(std::as_bytes(std::span(whole)), file.size(), file.path());
}

NpyHeader read_npy_header(const std::string& path) {
  return read_npy_header(InputFile(path));
}

Tensor read_npy_elements(const InputFile& file, const NpyHeader& header) {
  require_memory(file.path(), header.type_text(), header.data_bytes());
  Tensor flat = Tensor::empty(header.dtype, {element_count(header.shape)});
  file.read_at(header.data_offset, {static_cast<std::byte*>(flat.raw()), flat.bytes()});
  return flat.view(header.shape, header.strides(), 0);
}

Tensor read_npy(const std::string& path) {
  InputFile file(path);
  NpyHeader header = read_npy_header(file);
  return finish(header, read_npy_elements(file, header));
}

NpyHeader parse_npy_header(std::string_view beginning, uint64_t file_bytes, const std::string& path) {
  return parse_header(std::as_bytes(std::span(beginning)), file_bytes, path);
}

Tensor parse_npy(Tensor file, const std::string& path) {
  auto* bytes = static_cast<std::byte*>(file.raw());
  NpyHeader header = parse_header({bytes, file.bytes()}, file.bytes(), path);
  if (!is_aligned(header)) {
    Tensor flat = Tensor::empty(header.dtype, {element_count(header.shape)});
    if (flat.bytes() != 0) std::memcpy(flat.raw(), bytes + header.data_offset, flat.bytes());
    return finish(header, flat.view(header.shape, header.strides(), 0));
  }
  return finish(header, Tensor::wrap(header.dtype, header.shape, header.strides(), bytes + header.data_offset,
                                     std::make_shared<Tensor>(std::move(file))));
}

void swap_bytes(Tensor array) {
  TH_CHECK(array.is_contiguous(), "swap_bytes of a strided array");
  size_t width = size_of(array.dtype()) / (is_complex(array.dtype()) ? 2 : 1);
  auto* bytes = static_cast<std::byte*>(array.raw());
  for (size_t i = 0; i < array.bytes(); i += width) std::reverse(bytes + i, bytes + i + width);
}

std::string npy_header_text(const Tensor& array) {
  DType dtype = array.dtype();
  char kind = dtype == DType::kBool  ? 'b'
              : is_complex(dtype)    ? 'c'
              : is_float(dtype)      ? 'f'
              : is_signed_int(dtype) ? 'i'
                                     : 'u';
  char order = size_of(dtype) == 1 ? '|' : machine_is_little_endian() ? '<' : '>';
  std::string lengths = join(array.shape(), ", ");
  if (array.rank() == 1) lengths += ',';
  std::string text =
      str("{'descr': '", order, kind, size_of(dtype), "', 'fortran_order': False, 'shape': (", lengths, "), }");
  // NumPy leaves room for the first length to grow to 21 digits, and lets the elements begin at a multiple of 64.
  if (array.rank() > 0) text.append(21 - std::to_string(array.dim(0)).size(), ' ');
  constexpr size_t kStart = 10;
  text.append(64 - (kStart + text.size() + 1) % 64, ' ');
  text += '\n';
  TH_CHECK(text.size() <= 0xffff, "a .npy header of ", text.size(), " bytes");
  std::string out(kMagic);
  out += '\1';
  out += '\0';
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

void write_npy(const std::string& path, const Tensor& array) {
  Tensor elements = row_major(array);
  AtomicFile file(path);
  file.write(npy_header_text(array));
  file.write(elements.raw(), elements.bytes());
  file.commit();
}

}  // namespace thtrain
