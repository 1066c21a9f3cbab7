// The jobs that the tests of several processes start, and what they compare of them.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "compiler/base/random_state.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"

namespace thtrain::ranks_test {

namespace fs = std::filesystem;

// Cores are few: ranks leave theirs while they wait, and are not bound to one.
inline constexpr const char* kLauncher =
    "OMP_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 "
    "--mca btl_base_warn_component_unused 0 -q -n ";

inline bool has_mpi() {
  return fs::exists(fs::path(THTRAIN_BINARY).parent_path() / "libthtrain_mpi.so") &&
         std::system("mpirun --version >/dev/null 2>&1") == 0;
}
#define TH_NEEDS_MPI() \
  if (!has_mpi()) GTEST_SKIP() << "MPI is not installed, or thtrain was built without it"

inline std::string header(const std::string& data) {
  return "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nn_valid = 90\ntest = "
         "\"xt.npy\"\ntest_labels = \"yt.npy\"\n" +
         data + "[output]\nplots = false\n";
}

inline const std::string kDense =
    "[[model.layers]]\ntype = \"dense\"\nunits = 9\nactivation = \"tanh\"\n"
    "[[model.layers]]\ntype = \"batch_norm\"\n[[model.layers]]\ntype = \"dropout\"\nrate = 0.2\n"
    "[[model.layers]]\ntype = \"softmax\"\n";
inline const std::string kTrainer =
    "[trainer]\noptimizer = \"adam\"\nlearning_rate = 0.01\nbatch_size = 22\nshards = 4\nepochs = 3\nclip_norm = 1\n"
    "full_batches_only = false\nvalidation_frequency = 7\ntest_at = \"epoch\"\nmetrics = [\"error\", \"loss\"]\n";

inline void write_data(const Workshop& at) {
  RandomState random(3);
  std::string text;
  while (text.size() < 3000) text += "abcdefg "[random.integer(0, 7)];
  at.write("text.txt", text);
  for (const auto& [end, count] : {std::pair<const char*, int64_t>(".npy", 403), {"t.npy", 50}}) {
    Tensor examples = Tensor::empty(DType::kFloat32, {count, 12}), labels = Tensor::empty(DType::kInt64, {count});
    for (int64_t i = 0; i < count; ++i) {
      labels.data<int64_t>()[i] = i % 3;
      for (int64_t j = 0; j < 12; ++j)
        examples.data<float>()[12 * i + j] =
            static_cast<float>(random.normal() + 0.4 * static_cast<double>(j % 3 == i % 3));
    }
    write_npy(at.path(str("x", end)), examples);
    write_npy(at.path(str("y", end)), labels);
  }
}

// Open MPI frees less than it allocates: the address sanitizer does not look for leaks.
#ifdef __SANITIZE_ADDRESS__
constexpr const char* kNoLeaks = "ASAN_OPTIONS=detect_leaks=0 ";
#else
constexpr const char* kNoLeaks = "";
#endif

inline Ended launch(const Workshop& at, int size, const std::string& words, const std::string& settings = "") {
  return at.shell(str(settings, size > 1 ? kNoLeaks : "", size == 1 ? "OMP_NUM_THREADS=1 " : "",
                      size == 1 ? "" : kLauncher, size == 1 ? "" : str(size), " \"$THTRAIN\" ", words));
}

// All that a run ends with, but for times.
inline void expect_same_run(const Workshop& at, const std::string& one, const std::string& other) {
  EXPECT_EQ(without_seconds(at.read(one + "/metrics.jsonl")), without_seconds(at.read(other + "/metrics.jsonl")));
  for (const char* file : {"/best.npz", "/checkpoint.npz"}) {
    NpzFile expected(at.path(one + file)), found(at.path(other + file));
    ASSERT_EQ(expected.names(), found.names());
    for (const std::string& name : expected.names()) {
      // Times are in these.
      const bool is_before = name.starts_with("run.before/") && name.ends_with("/history");  // of earlier phases
      if (name == "run.seconds" || name == "run.epoch" || name.starts_with("run.history") || is_before) continue;
      const Tensor a = expected.read(name), b = found.read(name);
      ASSERT_EQ(a.type_text(), b.type_text()) << name;
      EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << other << file << ' ' << name;
    }
  }
}

// What mpirun says of a job that was ended is its own.
inline std::string first_error(const Ended& ended) {
  const size_t begin = ended.err.find("error: ");
  const size_t end = std::min(ended.err.find("\n---"), ended.err.find("\n["));
  return begin == std::string::npos ? ended.err : ended.err.substr(begin, std::min(end, ended.err.size()) - begin);
}

inline std::string host() {
  std::array<char, 256> out{};
  ::gethostname(out.data(), out.size() - 1);
  return out.data();
}

}  // namespace thtrain::ranks_test
