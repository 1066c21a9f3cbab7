#include "trainers/written_version.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include "compiler/base/build_info.h"
#include "compiler/base/error.h"
#include "compiler/base/str.h"

namespace thtrain {

static std::vector<uint64_t> numbers_of(std::string_view text) {
  std::vector<uint64_t> out;
  const char *at = text.data(), *end = at + text.size();
  for (uint64_t number = 0;; ++at) {
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return out;
    out.push_back(number);
    at = stop;
    if (at == end || *at != '.') return out;
  }
}

bool is_newer_version(std::string_view a, std::string_view b) {
  std::vector<uint64_t> left = numbers_of(a), right = numbers_of(b);
  const size_t size = std::max(left.size(), right.size());
  left.resize(size);
  right.resize(size);
  return left > right;
}

void refuse_newer_version(const std::string& path, const std::string& what, const std::string& written) {
  if (!is_newer_version(written, version)) return;
  throw UserError(
      Message{.what = str(path, ": thtrain ", written, " wrote this ", what, ", which is newer than this one"),
              .expected = str("a ", what, " of thtrain ", version, " or an earlier one"),
              .hint = str("use thtrain ", written, " or a newer one")});
}

}  // namespace thtrain
