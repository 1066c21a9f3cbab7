#include "tests/support/fuzz_settings.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "compiler/base/error.h"

namespace thtrain {
namespace {

template <class T>
T from_environment(const char* name, T fallback) {
  const char* variable = std::getenv(name);
  if (variable == nullptr) return fallback;
  const std::string_view text(variable);
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw UserError(Message{.what = str(name, " is no whole number"), .expected = "like 12", .got = std::string(text)});
  return value;
}

}  // namespace

std::string FuzzSettings::text() const {
  return str("THTRAIN_FUZZ_SEED=", seed, " THTRAIN_FUZZ_CASES=", cases);
}

FuzzSettings fuzz_settings(uint64_t default_seed, int64_t default_cases) {
  const FuzzSettings out{from_environment("THTRAIN_FUZZ_SEED", default_seed),
                         from_environment("THTRAIN_FUZZ_CASES", default_cases)};
  if (out.cases < 1) throw UserError(Message{.what = "THTRAIN_FUZZ_CASES asks for no cases", .got = str(out.cases)});
  return out;
}

}  // namespace thtrain
