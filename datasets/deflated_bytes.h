// Bytes at any location of what deflate has packed: a gzipped file, or an entry of a zip archive.
//
// L. P. Deutsch, "DEFLATE compressed data format specification version 1.3", RFC 1951, and "GZIP file format
// specification version 4.3", RFC 1952. Between its blocks the state of an unpacker is the 32 KiB that came before and
// the location in the input; kept every 2 MiB of what is unpacked, these are where unpacking may begin.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "datasets/row_source.h"

namespace thtrain {

class DeflatedBytes : public ByteSource {
 public:
  enum class Format { kGzip, kRaw };  // kGzip: one stream or several; kRaw: of deflate alone

  /// Of the `packed` bytes from `offset` on. Unpacks them once, from the beginning to the end, which finds the
  /// locations and checks the checksums of gzip; 32 KiB stay in memory for each 2 MiB. UserError for data that is
  /// truncated or damaged, as ByteStream's.
  DeflatedBytes(std::shared_ptr<const InputFile> file, uint64_t offset, uint64_t packed, Format format);
  ~DeflatedBytes() override;
  DeflatedBytes(const DeflatedBytes&) = delete;
  DeflatedBytes& operator=(const DeflatedBytes&) = delete;

  /// Bytes unpacked, and their CRC-32.
  uint64_t size() const { return size_; }
  uint32_t crc() const { return crc_; }
  /// Unpacks from where the last call ended, or from the nearest location before: at most 2 MiB more than asked for,
  /// and as much again where one block of deflate is longer.
  void read_at(uint64_t offset, std::span<std::byte> out) const override;
  bool is_sequential() const override { return true; }
  void check_unchanged() const override { file_->check_unchanged(); }
  void list_files(std::vector<OpenedFile>& out) const override { out.push_back(file_->opened()); }

 private:
  class Cursor;
  /// Where unpacking may begin.
  struct Location {
    uint64_t out = 0, in = 0;  // bytes before it, unpacked and packed
    int bits = 0;              // of the byte before `in`, which belong to what follows
    std::vector<std::byte> window;
  };
  const Location& location_before(uint64_t offset) const;
  void find_locations();

  std::shared_ptr<const InputFile> file_;
  uint64_t offset_, packed_;
  Format format_;
  uint64_t size_ = 0;
  uint32_t crc_ = 0;
  std::vector<Location> locations_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Cursor>> idle_;  // those that are somewhere, the last used at the end
};

}  // namespace thtrain
