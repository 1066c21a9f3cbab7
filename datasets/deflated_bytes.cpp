#include "datasets/deflated_bytes.h"

#include <zlib.h>

#include <algorithm>
#include <array>

namespace thtrain {

namespace {

constexpr uint64_t kBetweenLocations = uint64_t{2} << 20;
constexpr size_t kWindow = 32768, kInput = size_t{1} << 16;

std::string data_of(DeflatedBytes::Format format) {
  return format == DeflatedBytes::Format::kGzip ? "the gzip data is " : "the deflated data is ";
}

/// A z_stream that is given the packed bytes of a file.
class Unpacker {
 public:
  Unpacker(const InputFile& file, DeflatedBytes::Format format, uint64_t begin, uint64_t end, int window_bits)
      : file_(file), format_(format), at_(begin), end_(end) {
    TH_CHECK(::inflateInit2(&stream, window_bits) == Z_OK, "inflateInit2 failed");
  }
  ~Unpacker() { ::inflateEnd(&stream); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// One call of inflate. UserError where it needs more than there is, or finds what is wrong.
  int unpack(int flush) {
    if (stream.avail_in == 0) fill();
    const bool is_at_end = stream.avail_in == 0;
    const int status = ::inflate(&stream, flush);
    if (status == Z_STREAM_END || status == Z_OK) return status;
    if (status == Z_BUF_ERROR && !is_at_end) return Z_OK;
    if (status == Z_BUF_ERROR) throw error("truncated", nullptr);
    throw error("damaged", stream.msg ? stream.msg : "bytes that cannot be unpacked");
  }
  /// Where the next packed byte is.
  uint64_t location() const { return at_ - stream.avail_in; }
  /// The next bytes, without taking them.
  bool has_more(std::array<unsigned char, 2>& next) {
    if (stream.avail_in < 2) {
      at_ = location();
      fill();
    }
    if (stream.avail_in < 2) return false;
    next = {stream.next_in[0], stream.next_in[1]};
    return true;
  }

  z_stream stream{};

 private:
  void fill() {
    const auto count = static_cast<size_t>(std::min<uint64_t>(input_.size(), end_ - at_));
    file_.read_at(at_, std::span(input_).first(count));
    at_ += count;
    stream.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream.avail_in = static_cast<uInt>(count);
  }

  UserError error(const char* what, const char* said) const {
    return file_error(file_.path(), data_of(format_) + what, {}, said ? said : "", "copy the file again");
  }

  const InputFile& file_;
  DeflatedBytes::Format format_;
  uint64_t at_, end_;  // of the file: what follows input_, and the end
  std::vector<std::byte> input_ = std::vector<std::byte>(kInput);
};

}  // namespace

/// An unpacker that is at some byte.
class DeflatedBytes::Cursor {
 public:
  Cursor(const DeflatedBytes& bytes, const Location& location)
      : unpacker_(*bytes.file_, bytes.format_, location.in, bytes.offset_ + bytes.packed_, -MAX_WBITS),
        at_(location.out) {
    z_stream& stream = unpacker_.stream;
    if (location.bits != 0) {
      std::byte shared;
      bytes.file_->read_at(location.in - 1, {&shared, 1});
      ::inflatePrime(&stream, location.bits, static_cast<int>(shared) >> (8 - location.bits));
    }
    if (!location.window.empty())
      ::inflateSetDictionary(&stream, reinterpret_cast<const Bytef*>(location.window.data()),
                             static_cast<uInt>(location.window.size()));
  }

  uint64_t at() const { return at_; }
  bool is_at_end() const { return is_at_end_; }

  /// The next bytes; how many came, fewer at the end of a stream.
  size_t read(std::span<std::byte> out) {
    z_stream& stream = unpacker_.stream;
    size_t done = 0;
    while (done < out.size() && !is_at_end_) {
      const size_t room = std::min<size_t>(out.size() - done, 1u << 30);
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      stream.avail_out = static_cast<uInt>(room);
      is_at_end_ = unpacker_.unpack(Z_NO_FLUSH) == Z_STREAM_END;
      done += room - stream.avail_out;
    }
    at_ += done;
    return done;
  }

 private:
  Unpacker unpacker_;
  uint64_t at_;
  bool is_at_end_ = false;
};

DeflatedBytes::DeflatedBytes(std::shared_ptr<const InputFile> file, uint64_t offset, uint64_t packed, Format format)
    : file_(std::move(file)), offset_(offset), packed_(packed), format_(format) {
  find_locations();
}

DeflatedBytes::~DeflatedBytes() = default;

void DeflatedBytes::find_locations() {
  const bool is_gzip = format_ == Format::kGzip;
  Unpacker unpacker(*file_, format_, offset_, offset_ + packed_, is_gzip ? MAX_WBITS + 16 : -MAX_WBITS);
  z_stream& stream = unpacker.stream;
  std::vector<std::byte> out(size_t{1} << 18);
  bool begins = true;  // a stream
  uLong crc = 0;
  if (!is_gzip) {
    locations_.push_back({.out = 0, .in = offset_, .bits = 0, .window = {}});
    begins = false;
  }
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = unpacker.unpack(Z_BLOCK);
    const size_t got = out.size() - stream.avail_out;
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(out.data()), got);
    size_ += got;
    if (status == Z_STREAM_END) {
      std::array<unsigned char, 2> next{};
      if (!is_gzip || !unpacker.has_more(next) || next != std::array<unsigned char, 2>{0x1f, 0x8b}) break;
      TH_CHECK(::inflateReset(&stream) == Z_OK, "inflateReset failed");
      begins = true;
      continue;
    }
    const bool is_between_blocks = (stream.data_type & 128) != 0 && (stream.data_type & 64) == 0;
    if (!is_between_blocks || (!begins && size_ - locations_.back().out < kBetweenLocations)) continue;
    Location location{.out = size_, .in = unpacker.location(), .bits = stream.data_type & 7, .window = {}};
    if (!begins) {
      location.window.resize(kWindow);
      uInt length = 0;
      ::inflateGetDictionary(&stream, reinterpret_cast<Bytef*>(location.window.data()), &length);
      location.window.resize(length);
    }
    locations_.push_back(std::move(location));
    begins = false;
  }
  crc_ = static_cast<uint32_t>(crc);
}

const DeflatedBytes::Location& DeflatedBytes::location_before(uint64_t offset) const {
  auto after = std::upper_bound(locations_.begin(), locations_.end(), offset,
                                [](uint64_t at, const Location& location) { return at < location.out; });
  return *(after - 1);
}

void DeflatedBytes::read_at(uint64_t offset, std::span<std::byte> out) const {
  constexpr size_t kMostIdle = 4;
  TH_CHECK(offset + out.size() <= size_, "bytes ", offset, " + ", out.size(), " of ", size_, " unpacked ones");
  std::vector<std::byte> skipped;
  while (!out.empty()) {
    const Location& location = location_before(offset);
    std::unique_ptr<Cursor> cursor;
    {
      std::lock_guard lock(mutex_);
      auto best = idle_.end();
      for (auto one = idle_.begin(); one != idle_.end(); ++one)
        if ((*one)->at() >= location.out && (*one)->at() <= offset &&
            (best == idle_.end() || (*one)->at() > (*best)->at()))
          best = one;
      if (best != idle_.end()) {
        cursor = std::move(*best);
        idle_.erase(best);
      }
    }
    if (!cursor) cursor = std::make_unique<Cursor>(*this, location);
    skipped.resize(std::min<uint64_t>(offset - cursor->at(), size_t{1} << 18));
    while (cursor->at() < offset && !cursor->is_at_end())
      cursor->read(std::span(skipped).first(std::min<uint64_t>(skipped.size(), offset - cursor->at())));
    const size_t got = cursor->at() == offset ? cursor->read(out) : 0;
    if (got == 0) throw changed_while_read(file_->path());
    offset += got;
    out = out.subspan(got);
    if (cursor->is_at_end()) continue;
    std::lock_guard lock(mutex_);
    if (idle_.size() == kMostIdle) idle_.erase(idle_.begin());
    idle_.push_back(std::move(cursor));
  }
}

}  // namespace thtrain
