// Running the program while its calls on files fail: tests/faults/failing_calls.cpp makes them.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {

// Nothing may be loaded before a sanitizer's own library.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHasFaults = false;
#else
inline constexpr bool kHasFaults = true;
#endif

/// Runs `thtrain` in `workshop` with this fault (THTRAIN_FAULT); `hits` gets a line for each call that failed.
inline Ended run_with_fault(const Workshop& workshop, const std::vector<std::string>& arguments,
                            const std::string& fault, std::string& hits) {
  std::string log = workshop.path() + ".faults";
  Ended out;
  {
    EnvironmentVariable preload("LD_PRELOAD", THTRAIN_FAILING_CALLS), what("THTRAIN_FAULT", fault.c_str()),
        where("THTRAIN_FAULT_LOG", log.c_str());
    out = workshop.run(arguments);
  }
  std::ifstream lines(log);
  hits.assign(std::istreambuf_iterator<char>(lines), {});
  std::filesystem::remove(log);
  return out;
}

}  // namespace thtrain
