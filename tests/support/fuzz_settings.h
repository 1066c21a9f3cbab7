// How many random cases a fuzzer runs, and from which seed: the same two variables for every fuzzer of the tests.
#pragma once

#include <cstdint>
#include <string>

namespace thtrain {

struct FuzzSettings {
  uint64_t seed;
  int64_t cases;

  /// "THTRAIN_FUZZ_SEED=7 THTRAIN_FUZZ_CASES=100": what a failing test prints, as SCOPED_TRACE(settings.text()).
  std::string text() const;
};

/// What the variables THTRAIN_FUZZ_SEED and THTRAIN_FUZZ_CASES say, else the defaults. UserError where one of them is
/// no whole number, or there are no cases.
FuzzSettings fuzz_settings(uint64_t default_seed, int64_t default_cases);

}  // namespace thtrain
