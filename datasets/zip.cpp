#include "datasets/zip.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "datasets/content.h"
#include "datasets/deflated_bytes.h"

namespace thtrain {

namespace {

constexpr uint32_t kLocalMark = 0x04034b50, kEntryMark = 0x02014b50, kEndMark = 0x06054b50;
constexpr uint32_t kWideEndMark = 0x06064b50, kWideLocatorMark = 0x07064b50;
constexpr size_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kWideEndBytes = 56, kWideLocatorBytes = 20;
constexpr uint32_t kWide = 0xffffffff;  // "this field is in the 64-bit extra field"
constexpr uint16_t kWideExtra = 1, kStored = 0, kDeflated = 8;
constexpr uint64_t kMaxDeflateRatio = 1032;  // deflate's limit: 258 bytes from 2 bits
constexpr uint16_t kFirstDay = 33;           // 1980-01-01, the format's first

/// A little-endian number of the type asked for.
template <class T>
T number_at(std::string_view bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = sizeof(T); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return static_cast<T>(value);
}

template <class T>
void append(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
}

std::string hex(uint32_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (int shift = 28; shift >= 0; shift -= 4) out += kDigits[value >> shift & 15];
  return out;
}

std::string read_text(const InputFile& file, uint64_t offset, uint64_t bytes) {
  std::string out(bytes, '\0');
  file.read_at(offset, std::as_writable_bytes(std::span(out)));
  return out;
}

constexpr const char* kCopyAgain = "copy or write the file again";

UserError damaged_directory(const std::string& path, const std::string& why) {
  return file_error(path, "the directory of the .npz file is damaged", {}, why, kCopyAgain);
}

UserError damaged_entry(const std::string& path, const ZipEntry& entry, std::string expected, std::string got) {
  return file_error(path, str("entry \"", entry.name, "\" is damaged"), std::move(expected), std::move(got),
                    kCopyAgain);
}

/// Replaces the fields of `entry` that are in the 64-bit extra field; false if one is missing there.
bool read_wide_fields(std::string_view extra, ZipEntry& entry) {
  while (extra.size() >= 4) {
    auto kind = number_at<uint16_t>(extra, 0);
    size_t length = number_at<uint16_t>(extra, 2);
    if (extra.size() < 4 + length) break;
    if (kind == kWideExtra) {
      std::string_view fields = extra.substr(4, length);
      for (uint64_t* field : {&entry.size, &entry.packed, &entry.offset}) {
        if (*field != kWide) continue;
        if (fields.size() < 8) return false;
        *field = number_at<uint64_t>(fields, 0);
        fields.remove_prefix(8);
      }
      return true;
    }
    extra.remove_prefix(4 + length);
  }
  return entry.size != kWide && entry.packed != kWide && entry.offset != kWide;
}

}  // namespace

ZipReader::ZipReader(const std::string& path) : file_(path) {
  Directory directory = find_directory();
  std::string text = read_text(file_, directory.offset, directory.bytes);
  std::string_view rest = text;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    if (rest.size() < kEntryBytes || number_at<uint32_t>(rest, 0) != kEntryMark) {
      throw damaged_directory(path, str("entry ", i + 1, " of ", directory.entries, " is not there"));
    }
    size_t name = number_at<uint16_t>(rest, 28), extra = number_at<uint16_t>(rest, 30);
    size_t whole = kEntryBytes + name + extra + number_at<uint16_t>(rest, 32);
    if (rest.size() < whole) throw damaged_directory(path, str("entry ", i + 1, " is cut off"));
    ZipEntry entry{.name = std::string(rest.substr(kEntryBytes, name)),
                   .method = number_at<uint16_t>(rest, 10),
                   .encrypted = (number_at<uint16_t>(rest, 8) & 1) != 0,
                   .crc = number_at<uint32_t>(rest, 16),
                   .packed = number_at<uint32_t>(rest, 20),
                   .size = number_at<uint32_t>(rest, 24),
                   .offset = number_at<uint32_t>(rest, 42)};
    if (!read_wide_fields(rest.substr(kEntryBytes + name, extra), entry)) {
      throw damaged_directory(path, str("entry \"", entry.name, "\" has no 64-bit sizes"));
    }
    // Both are below 2^63, so the sum below does not wrap.
    if (entry.offset > file_.size() || entry.packed > file_.size() || entry.offset + entry.packed > file_.size()) {
      throw damaged_directory(path, str("entry \"", entry.name, "\" lies outside the file"));
    }
    entries_.push_back(std::move(entry));
    rest.remove_prefix(whole);
  }
}

ZipReader::Directory ZipReader::find_directory() const {
  const std::string& path = file_.path();
  uint64_t size = file_.size();
  uint64_t tail_bytes = std::min<uint64_t>(size, kEndBytes + 0xffff);
  std::string tail = read_text(file_, size - tail_bytes, tail_bytes);
  size_t end = tail.size() < kEndBytes ? std::string::npos : tail.size() - kEndBytes;
  while (end != std::string::npos && number_at<uint32_t>(tail, end) != kEndMark)
    end = end == 0 ? std::string::npos : end - 1;
  if (end == std::string::npos) {
    std::string start = file_.beginning();
    if (content_of(start) == Content::kZip) {
      throw file_error(path, "the .npz file is truncated", "a zip archive with a directory at its end",
                       str(size, " bytes without one"), kCopyAgain);
    }
    throw file_error(path, "not an .npz file", "a zip archive, as numpy.savez writes it", content_text(start),
                     content_of(start) == Content::kNpy ? "this is one array: name it .npy" : "");
  }
  Directory out{.offset = number_at<uint32_t>(tail, end + 16),
                .bytes = number_at<uint32_t>(tail, end + 12),
                .entries = number_at<uint16_t>(tail, end + 10)};
  uint64_t end_offset = size - tail_bytes + end;
  if (end_offset >= kWideLocatorBytes) {
    std::string locator = read_text(file_, end_offset - kWideLocatorBytes, kWideLocatorBytes);
    if (number_at<uint32_t>(locator, 0) == kWideLocatorMark) {
      auto wide_offset = number_at<uint64_t>(locator, 8);
      if (wide_offset > end_offset || end_offset - wide_offset < kWideEndBytes) {
        throw damaged_directory(path, "its 64-bit end record lies outside the file");
      }
      std::string wide = read_text(file_, wide_offset, kWideEndBytes);
      if (number_at<uint32_t>(wide, 0) != kWideEndMark)
        throw damaged_directory(path, "its 64-bit end record is not there");
      out = {.offset = number_at<uint64_t>(wide, 48),
             .bytes = number_at<uint64_t>(wide, 40),
             .entries = number_at<uint64_t>(wide, 32)};
    }
  }
  if (out.offset > end_offset || out.bytes > end_offset - out.offset) {
    throw damaged_directory(path, "it lies outside the file");
  }
  return out;
}

void ZipReader::check(const ZipEntry& entry) const {
  if (entry.encrypted) {
    throw file_error(path(), str("entry \"", entry.name, "\" is encrypted"), "an archive without a password", {},
                     "write the file with numpy.savez or numpy.savez_compressed");
  }
  if (entry.method != kStored && entry.method != kDeflated) {
    throw file_error(path(), str("entry \"", entry.name, "\" is packed in a way that is not supported"),
                     "stored (method 0) or deflated (method 8)", str("method ", entry.method),
                     "write the file with numpy.savez or numpy.savez_compressed");
  }
  uint64_t most = entry.method == kStored ? entry.packed : entry.packed * kMaxDeflateRatio + kMaxDeflateRatio;
  if (entry.size > most || (entry.method == kStored && entry.size != entry.packed)) {
    throw damaged_entry(path(), entry, str(entry.size, " bytes unpacked"), str("only ", entry.packed, " bytes packed"));
  }
}

uint64_t ZipReader::data_offset(const ZipEntry& entry) const {
  std::string local = read_text(file_, entry.offset, std::min<uint64_t>(kLocalBytes, file_.size() - entry.offset));
  if (local.size() < kLocalBytes || number_at<uint32_t>(local, 0) != kLocalMark) {
    throw damaged_entry(path(), entry, str("a local header at byte ", entry.offset), "other bytes");
  }
  uint64_t from = entry.offset + kLocalBytes + number_at<uint16_t>(local, 26) + number_at<uint16_t>(local, 28);
  if (from > file_.size() || entry.packed > file_.size() - from) {
    throw damaged_entry(path(), entry, str(entry.packed, " bytes from byte ", from, " on"),
                        str("a file of ", file_.size(), " bytes"));
  }
  return from;
}

void ZipReader::inflate_entry(const ZipEntry& entry, uint64_t from, std::span<std::byte> out) const {
  z_stream stream{};
  TH_CHECK(::inflateInit2(&stream, -MAX_WBITS) == Z_OK, "inflateInit2 failed");
  std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, ::inflateEnd);
  std::string packed(std::min<uint64_t>(entry.packed, 1 << 18), '\0');
  uint64_t read = 0, produced = 0;
  int status = Z_OK;
  bool whole = out.size() == entry.size;
  while (status == Z_OK && (whole || produced < out.size())) {
    if (stream.avail_in == 0 && read < entry.packed) {
      uint64_t count = std::min<uint64_t>(packed.size(), entry.packed - read);
      file_.read_at(from + read, std::as_writable_bytes(std::span(packed).first(count)));
      read += count;
      stream.next_in = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_in = static_cast<uInt>(count);
    }
    // One byte more than expected has room in `spare`, so that an entry that is too long shows.
    Bytef spare;
    uint64_t room = std::min<uint64_t>(out.size() - produced, 1u << 30);
    stream.next_out = room ? reinterpret_cast<Bytef*>(out.data() + produced) : &spare;
    stream.avail_out = room ? static_cast<uInt>(room) : 1;
    uInt before = stream.avail_out;
    status = ::inflate(&stream, Z_NO_FLUSH);
    uint64_t count = before - stream.avail_out;
    if (room == 0 && count > 0) {
      throw damaged_entry(path(), entry, str(entry.size, " bytes unpacked"), "more bytes");
    }
    produced += count;
  }
  if (produced != out.size() || (whole && status != Z_STREAM_END)) {
    throw damaged_entry(path(), entry, str(entry.size, " bytes unpacked"),
                        str(status == Z_DATA_ERROR ? "bytes that cannot be unpacked after " : "", produced, " bytes"));
  }
}

void ZipReader::read(const ZipEntry& entry, std::span<std::byte> out) const {
  check(entry);
  TH_CHECK(out.size() == entry.size, "room of ", out.size(), " bytes for entry ", entry.name, " of ", entry.size);
  uint64_t from = data_offset(entry);
  if (entry.method == kStored)
    file_.read_at(from, out);
  else
    inflate_entry(entry, from, out);
  auto crc = static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size()));
  if (crc != entry.crc) throw damaged_entry(path(), entry, str("CRC ", hex(entry.crc)), str("CRC ", hex(crc)));
}

void ZipReader::read_beginning(const ZipEntry& entry, std::span<std::byte> out) const {
  check(entry);
  TH_CHECK(out.size() <= entry.size, out.size(), " first bytes of ", entry.size);
  uint64_t from = data_offset(entry);
  if (entry.method == kStored)
    file_.read_at(from, out);
  else
    inflate_entry(entry, from, out);
}

ZipReader::Bytes ZipReader::bytes(const ZipEntry& entry) const {
  check(entry);
  const uint64_t from = data_offset(entry);
  auto file = std::make_shared<const InputFile>(path());
  if (entry.method == kStored) return {std::make_shared<const FileBytes>(std::move(file)), from};
  auto packed = std::make_shared<const DeflatedBytes>(std::move(file), from, entry.packed, DeflatedBytes::Format::kRaw);
  if (packed->size() != entry.size)
    throw damaged_entry(path(), entry, str(entry.size, " bytes unpacked"), str(packed->size(), " bytes"));
  if (packed->crc() != entry.crc)
    throw damaged_entry(path(), entry, str("CRC ", hex(entry.crc)), str("CRC ", hex(packed->crc())));
  return {std::move(packed), 0};
}

ZipWriter::ZipWriter(const std::string& path, uint64_t wide_from, const std::function<void()>& check)
    : file_(path, check), wide_from_(wide_from) {}

namespace {

/// What the local and the central header share, from the version to the length of the extra field.
std::string common_header(const ZipEntry& entry, bool wide_sizes, bool wide, size_t extra) {
  std::string out;
  bool ascii =
      std::all_of(entry.name.begin(), entry.name.end(), [](char c) { return static_cast<signed char>(c) > 0; });
  append<uint16_t>(out, wide ? 45 : 20);
  append<uint16_t>(out, ascii ? 0 : 0x800);  // the name is UTF-8
  append<uint16_t>(out, kStored);
  append<uint16_t>(out, 0);
  append<uint16_t>(out, kFirstDay);
  append<uint32_t>(out, entry.crc);
  append<uint32_t>(out, wide_sizes ? kWide : static_cast<uint32_t>(entry.packed));
  append<uint32_t>(out, wide_sizes ? kWide : static_cast<uint32_t>(entry.size));
  append<uint16_t>(out, static_cast<uint16_t>(entry.name.size()));
  append<uint16_t>(out, static_cast<uint16_t>(extra));
  return out;
}

std::string wide_extra(const ZipEntry& entry, bool sizes, bool offset) {
  std::string fields, out;
  if (sizes) append(fields, entry.size);
  if (sizes) append(fields, entry.packed);
  if (offset) append(fields, entry.offset);
  if (fields.empty()) return out;
  append(out, kWideExtra);
  append(out, static_cast<uint16_t>(fields.size()));
  return out + fields;
}

}  // namespace

void ZipWriter::add(const std::string& name, std::initializer_list<std::span<const std::byte>> parts) {
  TH_CHECK(!name.empty() && name.size() < 0x10000, "a zip entry with a name of ", name.size(), " bytes");
  for (const ZipEntry& other : entries_) TH_CHECK(other.name != name, "two zip entries are named ", name);
  ZipEntry entry{.name = name, .offset = file_.written()};
  uLong crc = 0;
  for (std::span<const std::byte> part : parts) {
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
    entry.size += part.size();
  }
  entry.packed = entry.size;
  entry.crc = static_cast<uint32_t>(crc);
  bool wide = entry.size >= wide_from_;
  std::string extra = wide_extra(entry, wide, false), header;
  append(header, kLocalMark);
  file_.write(header + common_header(entry, wide, wide, extra.size()) + name + extra);
  for (std::span<const std::byte> part : parts) file_.write(part.data(), part.size());
  entries_.push_back(std::move(entry));
}

void ZipWriter::commit() {
  uint64_t start = file_.written();
  for (const ZipEntry& entry : entries_) {
    bool wide_sizes = entry.size >= wide_from_, wide_offset = entry.offset >= wide_from_;
    std::string extra = wide_extra(entry, wide_sizes, wide_offset), header;
    append(header, kEntryMark);
    append<uint16_t>(header, 45);
    header += common_header(entry, wide_sizes, wide_sizes || wide_offset, extra.size());
    header.append(10, '\0');  // no comment, disk 0, no attributes
    append<uint32_t>(header, wide_offset ? kWide : static_cast<uint32_t>(entry.offset));
    file_.write(header + entry.name + extra);
  }
  uint64_t end = file_.written(), bytes = end - start, count = entries_.size();
  bool wide = end >= wide_from_ || count >= 0xffff;
  std::string tail;
  if (wide) {
    append(tail, kWideEndMark);
    append<uint64_t>(tail, kWideEndBytes - 12);
    append<uint16_t>(tail, 45);
    append<uint16_t>(tail, 45);
    append<uint64_t>(tail, 0);  // both disk numbers
    for (uint64_t value : {count, count, bytes, start}) append(tail, value);
    append(tail, kWideLocatorMark);
    append<uint32_t>(tail, 0);
    append(tail, end);
    append<uint32_t>(tail, 1);
  }
  append(tail, kEndMark);
  append<uint32_t>(tail, 0);
  for (int i = 0; i < 2; ++i) append<uint16_t>(tail, wide ? 0xffff : static_cast<uint16_t>(count));
  append<uint32_t>(tail, wide ? kWide : static_cast<uint32_t>(bytes));
  append<uint32_t>(tail, wide ? kWide : static_cast<uint32_t>(start));
  append<uint16_t>(tail, 0);
  file_.write(tail);
  file_.commit();
}

}  // namespace thtrain
