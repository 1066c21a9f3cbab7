#include "reports/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "compiler/base/error.h"
#include "compiler/base/file.h"

namespace thtrain {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";

// ---- checksums -----------------------------------------------------------------------------------------------------

static constexpr std::array<uint32_t, 256> kCrcOfByte = [] {
  std::array<uint32_t, 256> out{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);  // the polynomial, reflected
    out[byte] = crc;
  }
  return out;
}();

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (char c : bytes) crc = crc >> 8 ^ kCrcOfByte[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

static uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8U;
}

// ---- protocol buffers ----------------------------------------------------------------------------------------------

namespace {

/// The `count` low bytes of a number, the lowest first.
std::string little_endian(uint64_t value, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += static_cast<char>(value >> 8 * i & 0xff);
  return out;
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

/// The fields of one message.
class ProtoMessage {
 public:
  ProtoMessage& integer(int field, int64_t value) {
    bytes_ += key(field, 0) + varint(static_cast<uint64_t>(value));
    return *this;
  }
  ProtoMessage& float64(int field, double value) {
    bytes_ += key(field, 1) + little_endian(std::bit_cast<uint64_t>(value), 8);
    return *this;
  }
  ProtoMessage& float32(int field, float value) {
    bytes_ += key(field, 5) + little_endian(std::bit_cast<uint32_t>(value), 4);
    return *this;
  }
  /// A string, a message, or numbers in a row.
  ProtoMessage& bytes(int field, std::string_view value) {
    bytes_ += key(field, 2) + varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoMessage& doubles(int field, const std::vector<double>& values) {
    std::string packed;
    for (double value : values) packed += little_endian(std::bit_cast<uint64_t>(value), 8);
    return bytes(field, packed);
  }
  const std::string& text() const { return bytes_; }

 private:
  static std::string key(int field, uint64_t type) { return varint(static_cast<uint64_t>(field) << 3 | type); }
  std::string bytes_;
};

ProtoMessage event_now() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return ProtoMessage().float64(1, now.count());
}

uint32_t big_endian(std::string_view bytes) {
  uint32_t out = 0;
  for (char c : bytes) out = out << 8 | static_cast<unsigned char>(c);
  return out;
}

}  // namespace

// ---- histograms ----------------------------------------------------------------------------------------------------

HistogramSummary histogram_of(std::span<const double> values, int buckets) {
  TH_CHECK(!values.empty() && buckets > 0, "a histogram of ", values.size(), " numbers in ", buckets, " buckets");
  HistogramSummary out;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  out.min = *least;
  out.max = *most;
  out.count = static_cast<double>(values.size());
  for (double value : values) {
    out.sum += value;
    out.sum_of_squares += value * value;
  }
  // Halves: the difference of the largest numbers is infinite.
  const double width = 2 * ((out.max / 2 - out.min / 2) / buckets);
  if (!(out.min + width > out.min) || !(out.max - width < out.max)) {
    out.limits = {out.max};
    out.counts = {out.count};
    return out;
  }
  for (int i = 1; i < buckets; ++i) out.limits.push_back(out.min + width * i);
  out.limits.push_back(out.max);
  out.counts.resize(out.limits.size());
  for (double value : values) {
    const auto at = std::upper_bound(out.limits.begin(), out.limits.end(), value);
    ++out.counts[std::min(static_cast<size_t>(at - out.limits.begin()), out.counts.size() - 1)];
  }
  return out;
}

// ---- the file ------------------------------------------------------------------------------------------------------

bool is_event_file(std::string_view name) {
  return name.starts_with(kPrefix);
}

static std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

// Readers take the files of a folder in the order of their names.
static int64_t seconds_for(const std::string& folder) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  int64_t out = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!is_event_file(name)) continue;
    int64_t then = 0;
    const char* first = name.data() + kPrefix.size();
    if (std::from_chars(first, name.data() + name.size(), then).ec == std::errc()) out = std::max(out, then + 1);
  }
  return out;
}

EventFile::EventFile(const std::string& folder, int64_t first_step) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%010lld", static_cast<long long>(seconds_for(folder)));
  path_ = str(folder, '/', kPrefix, seconds, '.', host_name(), '.', ::getpid());
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw write_error(path_, errno);
  try {
    record(event_now().bytes(3, "brain.Event:2").text());
    record(event_now().integer(2, first_step).bytes(7, ProtoMessage().integer(1, 1).text()).text());
  } catch (const UserError&) {
    ::close(descriptor_);
    throw;
  }
}

EventFile::~EventFile() {
  ::close(descriptor_);
}

void EventFile::record(const std::string& event) {
  const std::string length = little_endian(event.size(), 8);
  std::string bytes = length + little_endian(masked_crc(length), 4) + event + little_endian(masked_crc(event), 4);
  const off_t end = ::lseek(descriptor_, 0, SEEK_END);
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written < 0 ? errno : ENOSPC;
      if (end >= 0) (void)!::ftruncate(descriptor_, end);  // no part of an event stays
      throw write_error(path_, error);
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

void EventFile::value(const std::string& tag, int64_t step, const std::string& fields) {
  const std::string value = ProtoMessage().bytes(1, tag).text() + fields;
  record(event_now().integer(2, step).bytes(5, ProtoMessage().bytes(1, value).text()).text());
}

void EventFile::scalar(const std::string& tag, int64_t step, double number) {
  value(tag, step, ProtoMessage().float32(2, static_cast<float>(number)).text());
}

void EventFile::histogram(const std::string& tag, int64_t step, const HistogramSummary& values) {
  ProtoMessage histo;
  histo.float64(1, values.min).float64(2, values.max).float64(3, values.count);
  histo.float64(4, values.sum).float64(5, values.sum_of_squares);
  histo.doubles(6, values.limits).doubles(7, values.counts);
  value(tag, step, ProtoMessage().bytes(5, histo.text()).text());
}

void EventFile::picture(const std::string& tag, int64_t step, const std::string& png) {
  // The signature, and the header that comes first: its length and name, width, height, depth, kind of colours.
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
  if (!png.starts_with(kSignature) || png.size() < 26) return;
  const std::string_view bytes = png;
  constexpr std::array<int, 7> kChannels = {1, 1, 3, 3, 2, 1, 4};  // by the kind: grey, -, RGB, palette, ...
  const size_t kind = static_cast<unsigned char>(bytes[25]);
  ProtoMessage image;
  image.integer(1, big_endian(bytes.substr(20, 4))).integer(2, big_endian(bytes.substr(16, 4)));
  image.integer(3, kind < kChannels.size() ? kChannels[kind] : 3).bytes(4, png);
  value(tag, step, ProtoMessage().bytes(4, image.text()).text());
}

void EventFile::text(const std::string& tag, int64_t step, const std::string& text) {
  constexpr int kString = 7;  // DT_STRING
  const std::string shape = ProtoMessage().bytes(2, ProtoMessage().integer(1, 1).text()).text();
  const std::string tensor = ProtoMessage().integer(1, kString).bytes(2, shape).bytes(8, text).text();
  const std::string plugin = ProtoMessage().bytes(1, "text").text();
  value(tag, step, ProtoMessage().bytes(8, tensor).bytes(9, ProtoMessage().bytes(1, plugin).text()).text());
}

}  // namespace thtrain
