// The cache's folder fails: a run is none the worse for it, but for a warning.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <sstream>

#include "datasets/npz.h"
#include "tests/support/faulty_run.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

// Compiles and links the same once; copies the result from then on.
const char* const kCompiler =
    "#!/bin/sh\n[ \"$1\" = --version ] && exec g++ --version\n"
    "for word; do case $last in -o) output=$word;; *) case $word in *.cpp|tmp/*) inputs=\"$inputs $word\";; esac;; "
    "esac;"
    " last=$word; done\n"
    "known=${0%/*}/compiled/$(cat $inputs | cksum | tr ' ' -)\n"
    "[ -e \"$known\" ] || { g++ \"$@\" || exit; cp \"$output\" \"$known\"; exit; }\ncat \"$known\" >\"$output\"\n";

class CacheFaults : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    shop_ = new Workshop;
    shop_->write("tiny.toml",
                 "seed = 7\n\n[data]\nsource = \"digits\"\nn_train = 60\nn_valid = 20\nn_test = 20\n\n"
                 "[[model.layers]]\ntype = \"dense\"\nunits = 40\nactivation = \"tanh\"\n"
                 "[[model.layers]]\ntype = \"softmax\"\n\n[trainer]\nbatch_size = 20\nepochs = 1\n"
                 "[output]\nplots = false\n");
    shop_->write("g++", kCompiler);
    fs::create_directory(shop_->path("compiled"));
    ASSERT_EQ(::chmod(shop_->path("g++").c_str(), 0755), 0);
  }
  static void TearDownTestSuite() {
    delete shop_;
    shop_ = nullptr;
  }
  static Workshop* shop_;
};
Workshop* CacheFaults::shop_ = nullptr;

// What the compiler has just written must be read back: nothing else can be loaded. One message names a file of
// `hits`, of which there are several where compilers ran at once.
void expect_read_error(const std::string& call, const std::string& hits, const Ended& ended) {
  EXPECT_TRUE(call == "open" || call == "read") << call;
  bool is_named = false;
  std::istringstream lines(hits);
  for (std::string word, path; lines >> word && std::getline(lines >> std::ws, path);)
    is_named = is_named || ended.err.starts_with(str("error: ", path, ": "));
  EXPECT_TRUE(is_named) << ended.err;
  EXPECT_EQ(ended.err.find("error: ", 1), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("report"), std::string::npos) << ended.err;
}

// The n-th call on a file that matches `pattern` fails, for n = 1, 2, ... until a run goes through without meeting it;
// and, for n = 1, all that follow. `target` is THTRAIN_TARGET's value.
void expect_warnings(const Workshop& workshop, const std::string& call, const std::string& pattern,
                     const char* target) {
  EnvironmentVariable compiler("THTRAIN_CXX", workshop.path("g++").c_str()),
      folder("THTRAIN_CACHE_DIR", workshop.path("cache").c_str()), limits("THTRAIN_TARGET", target);
  std::vector<std::string> command = {"train", "tiny.toml", "--run-dir", "run", "--quiet"};
  auto begin = [&] {
    for (const char* made : {"run", "cache"}) fs::remove_all(workshop.path(made));
  };
  begin();
  ASSERT_EQ(workshop.run(command).code, 0);
  std::string best = workshop.read("run/best.npz"), hits = "?";
  for (int n = 0; !hits.empty() && n < 200 && !testing::Test::HasFailure(); ++n) {
    begin();
    std::string fault = str(call, ' ', workshop.path(pattern), ' ', n ? n : 1, ' ', n ? 1 : 0, " ENOSPC");
    Ended ended = run_with_fault(workshop, command, fault, hits);
    SCOPED_TRACE(str(fault, ": ", hits));
    if (ended.code == 2) {
      expect_read_error(call, hits, ended);
      continue;
    }
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(workshop.read("run/best.npz") == best);
    EXPECT_TRUE(ended.err.empty() || ended.err.starts_with("thtrain: warning: ")) << ended.err;
    EXPECT_EQ(ended.err.find("error:"), std::string::npos) << ended.err;
  }
  EXPECT_EQ(hits, "");
}

// Measuring the limits of memory takes longer than the run: that is done only where what it found is to be kept.
TEST_P(CacheFaults, AreAWarning) {
  if (!kHasFaults) GTEST_SKIP() << "the sanitizer's library must come first";
  expect_warnings(*shop_, GetParam(), "cache*", "caches=32K/256K/4M");
  expect_warnings(*shop_, GetParam(), "cache/tuning*", nullptr);
}
INSTANTIATE_TEST_SUITE_P(Calls, CacheFaults, testing::Values("mkdir", "open", "write", "rename", "close", "read"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace thtrain
