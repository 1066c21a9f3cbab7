#include "compiler/host/target_text.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/nearest_name.h"

namespace thtrain {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (size_t at = 0;;) {
    const size_t end = text.find(separator, at);
    out.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return out;
    at = end + 1;
  }
}

std::optional<int64_t> whole_number(std::string_view text, int64_t least, int64_t most) {
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out >= least && out <= most ? std::optional(out) : std::nullopt;
}

// "32K", "4M", "1G", "1000".
std::optional<int64_t> size_of_text(std::string_view text) {
  int shift = 0;
  for (auto [letter, bits] : {std::pair{'K', 10}, {'M', 20}, {'G', 30}})
    if (text.ends_with(letter)) shift = bits;
  if (shift) text.remove_suffix(1);
  const std::optional<int64_t> out = whole_number(text, 0, int64_t{1} << (40 - shift));
  return out ? std::optional(*out << shift) : std::nullopt;
}

[[noreturn]] void refuse(std::string what, std::string expected, std::string_view got, std::string hint = "") {
  throw UserError(Message{.what = "THTRAIN_TARGET " + std::move(what),
                          .expected = std::move(expected),
                          .got = std::string(got),
                          .hint = std::move(hint)});
}

template <class T>
T required(std::optional<T> value, std::string_view key, const char* expected, std::string_view got) {
  if (!value) refuse(str("has no such ", key), expected, got);
  return *value;
}

int lines_of(std::string_view key, std::string_view value) {
  return static_cast<int>(required(whole_number(value, 0, 1024), key, "a number of cache lines from 0 to 1024", value));
}

kernel::KernelRates rates_of(std::string_view key, std::string_view text) {
  kernel::KernelRates out;
  const std::vector<std::string_view> numbers = split(text, '/');
  constexpr const char* kExpected = "17 numbers of hundredths of a cycle from 1 to 100000000, such as 50/400/...";
  if (numbers.size() != kernel::KernelRates::kCount) refuse(str("has no such ", key), kExpected, text);
  for (size_t i = 0; i < numbers.size(); ++i)
    *out.all()[i] = static_cast<int>(required(whole_number(numbers[i], 1, 100'000'000), key, kExpected, text));
  return out;
}

}  // namespace

TargetParts parse_target(std::string_view text) {
  TargetParts out;
  std::set<std::string_view> seen;
  for (const std::string_view entry : split(text, ',')) {
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos)
      refuse("has an entry without a value", "entries such as isa=avx2,caches=32K/256K/4M", entry);
    const std::string_view key = entry.substr(0, equals), value = entry.substr(equals + 1);
    if (!seen.insert(key).second) refuse(str("names ", key, " twice"), "each entry once", text);
    if (key == "isa") {
      constexpr std::string_view kKnown[] = {"avx512", "avx2", "sse2",           "arm64",
                                             "other",  "c99",  kernel::kCudaIsa, kernel::kEmulatedIsa};
      const std::optional<int64_t> device =
          value.starts_with("cuda:") ? whole_number(value.substr(5), 0, 63) : std::nullopt;
      if (!device && std::find(std::begin(kKnown), std::end(kKnown), value) == std::end(kKnown))
        refuse("has no such isa", "avx512, avx2, sse2, c99, cuda, cuda:1 or cuda-emulated", value);
      out.isa = device ? kernel::cuda_target(static_cast<int>(*device)).isa : std::string(value);
    } else if (key == "vectors") {
      if (value != "16" && value != "32" && value != "64") refuse("has no such vectors", "16, 32 or 64", value);
      out.vector_bytes = static_cast<int>(*whole_number(value, 16, 64));
    } else if (key == "caches") {
      const std::vector<std::string_view> sizes = split(value, '/');
      std::array<int64_t, 3> bytes{};
      bool is_valid = sizes.size() == bytes.size();
      for (size_t i = 0; is_valid && i < bytes.size(); ++i) {
        const std::optional<int64_t> size = size_of_text(sizes[i]);
        is_valid = size.has_value();
        if (size) bytes[i] = *size;
      }
      if (!is_valid) refuse("has no such caches", "three sizes such as 32K/256K/4M", value);
      out.caches = bytes;
    } else if (key == "cores") {
      out.cores = static_cast<int>(required(whole_number(value, 1, 1024), key, "a number from 1 to 1024", value));
    } else if (key == "non_temporal") {
      out.non_temporal_bytes = required(size_of_text(value), key, "a size such as 20M; 0: no such stores", value);
    } else if (key == "store_prefetch") {
      out.store_prefetch_lines = lines_of(key, value);
    } else if (key == "load_prefetch") {
      out.load_prefetch_lines = lines_of(key, value);
    } else if (key == "rates") {
      out.rates = rates_of(key, value);
    } else {
      const std::vector<std::string> names = {"isa",          "vectors",        "caches",        "cores",
                                              "non_temporal", "store_prefetch", "load_prefetch", "rates"};
      const std::string near = nearest_name(std::string(key), names);
      refuse(str("has no entry ", key), join(names, ", "), entry, near.empty() ? "" : str("did you mean ", near, '?'));
    }
  }
  const bool is_of_processor = out.vector_bytes || out.caches || out.non_temporal_bytes || out.store_prefetch_lines ||
                               out.load_prefetch_lines || out.rates;
  if (out.is_of_no_processor() && is_of_processor)
    refuse(str("names parts of a processor with isa=", *out.isa), str("isa=", *out.isa, ", with cores or alone"), text);
  return out;
}

}  // namespace thtrain
