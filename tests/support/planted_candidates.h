// Shared objects with candidates for matrix products, good and bad ones, built for a test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "compiler/base/str.h"

namespace thtrain {

/// Builds FOLDER/NAME.so by the system's g++ from C++ text; returns its path.
inline std::string built_object(const std::string& folder, const std::string& name, const std::string& text) {
  const std::string base = folder + "/" + name;
  std::ofstream(base + ".cpp") << text;
  const std::string command = str("g++ -std=c++20 -O2 -shared -fPIC -I '", THTRAIN_SOURCE_DIR, "' '", base,
                                  ".cpp' -o '", base, ".so.new' && mv '", base, ".so.new' '", base, ".so'");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return base + ".so";
}

/// What a planted candidate does besides the product: statements with `call`, before (`first`) and after it (`last`).
struct Planted {
  std::string first = {}, last = {};
  std::string name = "mine", version = "1";
  long workspace = 0;  // bytes
  std::string workspace_code = {};
  std::string only = {};     // a part of the properties of the keys that it computes
  std::string at_load = {};  // statements of thtrain_candidates()
};

/// Computes float32 products by their definition.
inline std::string planted_text(const Planted& planted) {
  return str(R"(#include "compiler/tuning/candidate_abi.h"
#include <signal.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unistd.h>

// No two builds are alike: what is remembered of the file of an earlier test is not of this one.
extern const char* const planted_at;
const char* const planted_at = ")",
             std::chrono::system_clock::now().time_since_epoch().count(), R"(";

static long workspace(const char* properties) {
  )",
             planted.workspace_code, R"(
  const bool applies = std::strncmp(properties, "float32 ", 8) == 0 && std::strstr(properties, ")",
             planted.only, R"(");
  return applies ? )",
             planted.workspace, R"( : -1;
}

static float* element(const ThArray& x, long i, long j) {
  return static_cast<float*>(x.data) + i * x.strides[0] + j * x.strides[1];
}

static int compute(const ThCandidateCall* call) {
  )",
             planted.first, R"(
  for (long i = 0; i < call->out.lengths[0]; ++i)
    for (long j = 0; j < call->out.lengths[1]; ++j) {
      float sum = 0;
      for (long k = 0; k < call->a.lengths[1]; ++k) sum += *element(call->a, i, k) * *element(call->b, k, j);
      float* out = element(call->out, i, j);
      const float before = call->adds ? static_cast<float>(call->beta) * *out : 0;
      *out = static_cast<float>(call->alpha) * sum + before;
    }
  )",
             planted.last, R"(
  return 0;
}

TH_CANDIDATES {
  )",
             planted.at_load, R"(
  static const ThCandidate mine = {"matrix_product", ")",
             planted.name, "\", \"", planted.version, R"(", TH_REORDERED, 0, workspace, compute};
  list->add(list, &mine);
}
)");
}

inline std::string planted_object(const std::string& folder, const std::string& name, const Planted& planted) {
  return built_object(folder, name, planted_text(planted));
}

}  // namespace thtrain
