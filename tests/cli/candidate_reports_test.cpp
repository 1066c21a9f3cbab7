// What is shown and said of candidates of shared objects, and what is remembered of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"
#include "tests/support/faulty_run.h"
#include "tests/support/planted_candidates.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

class CandidateReports : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    objects_ = new Workshop;
    planted_object(objects_->path(), "mine",
                   {.workspace_code = "if (const char* log = std::getenv(\"THTRAIN_TEST_LOG\"))\n"
                                      "  if (std::FILE* file = std::fopen(log, \"a\")) {\n"
                                      "    std::fputs(\"asked\\n\", file);\n    std::fclose(file);\n  }"});
    planted_object(objects_->path(), "crasher", {.first = "std::abort();", .name = "crasher"});
    // The corner of a digit is black; no number of a trial there is 0.
    planted_object(objects_->path(), "sly",
                   {.last = "if (*element(call->a, 0, 0) == 0) *element(call->out, 1, 2) += 100;",
                    .name = "sly",
                    .only = "20x784x10 NN"});
  }
  static void TearDownTestSuite() {
    delete objects_;
    objects_ = nullptr;
  }
  // Five choices.
  void write(const std::string& name, const std::string& more = {}) const {
    fs::copy_file(objects_->path(name + ".so"), workshop_.path(name + ".so"), fs::copy_options::overwrite_existing);
    workshop_.write("e.toml",
                    str("[data]\nsource = \"digits\"\nn_train = 40\nn_valid = 20\nn_test = 20\n"
                        "[[model.layers]]\ntype = \"dense\"\nunits = 30\n[[model.layers]]\ntype = \"softmax\"\n"
                        "[trainer]\nbatch_size = 20\nepochs = 1\n[output]\nplots = false\n[compiler]\nthreads = 1\n",
                        "candidate_files = [\"", name, ".so\"]\nonly_candidates = [\"", name, "\"]\n", more));
  }
  std::string plain(const std::string& text) const {
    return std::regex_replace(text, std::regex(workshop_.path() + "/"), "");
  }
  size_t times_asked() const {
    const std::string log = workshop_.exists("log") ? workshop_.read("log") : std::string();
    return static_cast<size_t>(std::count(log.begin(), log.end(), '\n'));
  }

  static Workshop* objects_;
  Workshop workshop_;
  EnvironmentVariable cache_{"THTRAIN_CACHE_DIR", workshop_.path("cache").c_str()},
      log_{"THTRAIN_TEST_LOG", workshop_.path("log").c_str()};
};
Workshop* CandidateReports::objects_ = nullptr;

size_t count(const std::string& text, const std::string& part) {
  size_t out = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

// ---- its name ------------------------------------------------------------------------------------------------------

TEST_F(CandidateReports, ExplainNamesItAndItsFile) {
  write("mine");
  const Ended program = workshop_.run({"explain", "e.toml", "--stage=program"});
  ASSERT_EQ(program.code, 0) << program.err;
  EXPECT_EQ(count(program.out, "-- candidate mine of mine.so  # "), 5u) << program.out;
  EXPECT_EQ(count(program.out, "user_candidate"), 0u);
  const Ended code = workshop_.run({"explain", "e.toml", "--stage=cpp"});
  const std::string unbroken = std::regex_replace(code.out, std::regex("\n *// +"), " ");
  EXPECT_EQ(count(unbroken, "], by the candidate mine of mine.so"), 5u);
  ASSERT_EQ(workshop_.run({"explain", "e.toml", "--html", "page.html"}).code, 0);
  EXPECT_EQ(count(workshop_.read("page.html"), ">candidate mine of mine.so</td>"), 5u);
}

TEST_F(CandidateReports, TheProfileNamesItAndItsFile) {
  write("mine");
  const Ended ended = workshop_.run({"train", "e.toml", "--quiet", "--profile", "--run-dir", "run"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(count(ended.out, "candidate mine of mine.so, "), 5u) << ended.out;
  EXPECT_EQ(count(ended.out, "user_candidate"), 0u) << ended.out;
  size_t files = 0;
  for (const std::string& name : workshop_.list())
    if (name.starts_with("run/profile/") && count(workshop_.read(name), "\"candidate mine of mine.so\"") > 0) ++files;
  EXPECT_GE(files, 2u) << "the table's numbers and the time line";
}

// ---- warnings ------------------------------------------------------------------------------------------------------

TEST_F(CandidateReports, ACrashingOneIsSaidOnceAndNotTriedForEachChoice) {
  write("crasher");
  const std::string crashed = "it was ended by SIGABRT (Aborted) in compute()",
                    key = "matrix_product float32 20x784x30 NN",
                    warning =
                        "thtrain: warning: the candidate crasher of crasher.so is not taken for 5 choices, of "
                        "which the first is " +
                        key + ": " + crashed + "; only_candidates allows no other there, and is not followed\n";
  for (int start = 0; start < 2; ++start) {
    const Ended ended = workshop_.run({"train", "e.toml", "--quiet"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(plain(ended.err), warning);
  }
  std::string table;
  for (const std::string& name : workshop_.list())
    if (name.starts_with("cache/tuning/") && workshop_.read(name).find("refused ") != std::string::npos)
      table = workshop_.read(name);
  EXPECT_EQ(count(table, "] " + crashed + "\n"), 2u) << table;
  EXPECT_EQ(count(table, "] it was not tried: " + crashed + " for matrix_product float32 "), 3u) << table;
}

TEST_F(CandidateReports, OnlyARefusedOneIsTimedByTune) {
  write("crasher");
  const Ended ended = workshop_.run({"tune", "e.toml"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(count(ended.out, "* crasher: not taken: it was "), 5u) << ended.out;
  EXPECT_EQ(count(ended.out, "= none: each was refused\n"), 5u) << ended.out;
  EXPECT_EQ(count(ended.err, "warning: the candidate crasher of "), 1u) << ended.err;
}

// Its results are right for the numbers of the trial.
TEST_F(CandidateReports, DebugNamesOneThatIsWrongForOtherNumbers) {
  write("sly");
  workshop_.write("e.toml", std::regex_replace(workshop_.read("e.toml"),
                                               std::regex("type = \"dense\"\nunits = 30\n"
                                                          "\\[\\[model.layers\\]\\]\n"),
                                               ""));
  EXPECT_EQ(workshop_.run({"train", "e.toml", "--quiet"}).err, "") << "a trial sees other numbers";
  const Ended ended = workshop_.run({"train", "e.toml", "--quiet", "compiler.mode=\"debug\""});
  EXPECT_EQ(ended.code, 2);
  const std::string text = std::regex_replace(plain(ended.err), std::regex("at \\[1, 2\\]: .*"), "at [1, 2]: NUMBERS");
  EXPECT_EQ(
      text,
      "error: debug: native code and reference differ in step 2 (dot  [softmax]), output 0, which the candidate sly "
      "computes\n"
      "  got:      at [1, 2]: NUMBERS\n"
      "  node:     softmax, built at nn/layers/dense.cpp:27\n"
      "  config:   e.toml:6:1\n"
      "      6 | [[model.layers]]\n"
      "        | ^^^^^^^^^^^^^^^^\n"
      "  hint:     that candidate is of sly.so;\n"
      "            the checkpoint of step 0 is kept: `thtrain resume runs/e-2` goes on from it\n");
}

// ---- what is remembered --------------------------------------------------------------------------------------------

TEST_F(CandidateReports, WhichKeysItComputesIsAskedOnce) {
  write("mine");
  ASSERT_EQ(workshop_.run({"check", "e.toml"}).code, 0);
  const size_t first = times_asked();
  EXPECT_GE(first, 5u);
  ASSERT_EQ(workshop_.run({"check", "e.toml"}).code, 0);
  EXPECT_EQ(times_asked(), first);
  // Another content is another file.
  fs::remove(workshop_.path("mine.so"));
  planted_object(workshop_.path(), "mine", {.only = "20x784x10 NN"});
  const Ended ended = workshop_.run({"check", "e.toml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(ended.err.starts_with("error: compiler.only_candidates: there is no candidate mine here\n")) << ended.err;
}

// The times are not where they were asked for, and what says so is not about compiled code alone.
TEST_F(CandidateReports, AFolderOfTimesThatCannotBeWrittenIsOneWarning) {
  if (!kHasFaults) GTEST_SKIP() << "the sanitizer's library must come first";
  write("mine");
  ASSERT_EQ(workshop_.run({"check", "e.toml"}).code, 0);
  for (const auto& [trouble, text] :
       {std::pair("ENOSPC", "no space left on device"), {"EROFS", "read-only file system"}}) {
    for (const std::string& name : workshop_.list())
      if (name.starts_with("cache/tuning/")) fs::remove(workshop_.path(name));
    std::string hits;
    const Ended ended = run_with_fault(workshop_, {"tune", "e.toml", "--only", "library"},
                                       str("rename ", workshop_.path("cache"), "/tuning/* 1 0 ", trouble), hits);
    EXPECT_NE(hits, "");
    EXPECT_EQ(ended.code, 0);
    const std::string err =
        std::regex_replace(plain(ended.err), std::regex("kept in [^ ]*/thtrain-[A-Za-z0-9]{6} "), "kept in PRIVATE ");
    EXPECT_TRUE(
        err.starts_with(str("thtrain: warning: cache folder cache cannot be used (", text,
                            "): what was measured is kept in PRIVATE until the program ends\nthtrain: choice 1")))
        << err;
    EXPECT_EQ(count(err, "warning"), 1u) << err;
    EXPECT_TRUE(ended.out.ends_with("5 choices for 1 thread, forgotten when this program ends: see the warning\n"))
        << ended.out;
  }
}

}  // namespace
}  // namespace thtrain
