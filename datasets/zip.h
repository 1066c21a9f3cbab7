// Zip archives as .npz needs them: stored and deflated entries, 64-bit sizes, checksums.
//
// Format: PKWARE, APPNOTE.TXT (.ZIP File Format Specification) 6.3, sections 4.3 to 4.5. Errors speak of .npz files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/file.h"
#include "datasets/row_source.h"

namespace thtrain {

struct ZipEntry {
  std::string name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  bool encrypted = false;
  uint32_t crc = 0;
  uint64_t packed = 0;  // bytes in the archive
  uint64_t size = 0;    // bytes unpacked
  uint64_t offset = 0;  // of its local header
};

/// The directory is read and checked at once, the entries when they are asked for.
class ZipReader {
 public:
  /// UserError: the file cannot be read, is no zip archive, is truncated, or its directory is damaged.
  explicit ZipReader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// Unpacks into `out` of entry.size bytes. UserError: damaged (bytes, length or CRC), encrypted, an unknown method.
  void read(const ZipEntry& entry, std::span<std::byte> out) const;
  /// The first bytes, at most entry.size. Not checked against the CRC. UserError as read().
  void read_beginning(const ZipEntry& entry, std::span<std::byte> out) const;
  /// The entry's bytes at any location, unpacked. Those of a packed entry are unpacked once, and its checksum is
  /// checked. UserError as read().
  struct Bytes {
    std::shared_ptr<const ByteSource> source;
    uint64_t offset = 0;  // of the entry's first byte
  };
  Bytes bytes(const ZipEntry& entry) const;
  /// UserError unless read() may be tried: method and encryption are known, and the size is one that `packed` bytes can
  /// give.
  void check(const ZipEntry& entry) const;

 private:
  struct Directory {
    uint64_t offset = 0, bytes = 0, entries = 0;
  };
  Directory find_directory() const;
  uint64_t data_offset(const ZipEntry& entry) const;
  void inflate_entry(const ZipEntry& entry, uint64_t from, std::span<std::byte> out) const;

  InputFile file_;
  std::vector<ZipEntry> entries_;
};

/// Larger sizes and locations have no room in 32 bits.
constexpr uint64_t kWideFrom = 0xffffffff;

/// Stored entries with a fixed date, so equal contents give equal bytes. Atomic as AtomicFile is.
class ZipWriter {
 public:
  /// Sizes and locations from `wide_from` on are written as 64-bit fields (a parameter for the tests). `check` as of
  /// AtomicFile.
  explicit ZipWriter(const std::string& path, uint64_t wide_from = kWideFrom, const std::function<void()>& check = {});
  /// One entry, its bytes in parts; `name` is new, not empty and shorter than 2^16.
  void add(const std::string& name, std::initializer_list<std::span<const std::byte>> parts);
  void commit();

 private:
  AtomicFile file_;
  uint64_t wide_from_;
  std::vector<ZipEntry> entries_;
};

}  // namespace thtrain
