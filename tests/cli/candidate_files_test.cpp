// Candidates of the user's shared objects, lists of candidates, and what is said of both.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "cli/tuning_progress.h"
#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"
#include "tests/support/faulty_run.h"
#include "tests/support/planted_candidates.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

const char* const kHead =
    "[[model.layers]]\ntype = \"softmax\"\n[trainer]\nbatch_size = 20\nepochs = 1\n"
    "[output]\nplots = false\n[compiler]\nthreads = 1\n";

class CandidateFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    objects_ = new Workshop;
    planted_object(objects_->path(), "mine", {.only = "20x784x10 NN"});
    planted_object(objects_->path(), "crasher",
                   {.first = "*(volatile int*)0 = 1;", .name = "crasher", .only = "20x784x10 NN"});
    planted_object(objects_->path(), "liar",
                   {.last = "*element(call->out, 1, 2) += 1e-3f;", .name = "liar", .only = "20x784x10 NN"});
  }
  static void TearDownTestSuite() {
    delete objects_;
    objects_ = nullptr;
  }
  // Relative to the experiment file.
  void write(const std::string& more) const {
    for (const char* name : {"mine.so", "crasher.so", "liar.so"})
      fs::copy_file(objects_->path(name), workshop_.path(name), fs::copy_options::overwrite_existing);
    workshop_.write("e.toml",
                    str("[data]\nsource = \"digits\"\nn_train = 40\nn_valid = 20\nn_test = 20\n", kHead, more));
  }
  std::string plain(const std::string& text) const {
    return std::regex_replace(text, std::regex(workshop_.path() + "/"), "");
  }

  static Workshop* objects_;
  Workshop workshop_;
  EnvironmentVariable cache_{"THTRAIN_CACHE_DIR", workshop_.path("cache").c_str()};
};
Workshop* CandidateFiles::objects_ = nullptr;

TEST_F(CandidateFiles, AreTimedWithTheOthersAndRefusedWithTheReason) {
  write("candidate_files = [\"mine.so\", \"crasher.so\"]\n");
  const Ended ended = workshop_.run({"tune", "e.toml", "--only", "mine", "--only", "crasher", "--only", "library"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  std::string out = std::regex_replace(ended.out, std::regex("[0-9.]+ sec, [0-9.]+ GFLOP/s"), "TIME");
  const size_t mine = out.find("* mine: TIME\n");
  EXPECT_NE(mine, std::string::npos) << out;
  EXPECT_NE(out.find("* crasher: not taken: it was ended by SIGSEGV (Segmentation fault) in compute()\n"),
            std::string::npos)
      << out;
  EXPECT_EQ(plain(ended.err),
            "thtrain: choice 1 of 2: timing 3 candidates for matrix_product float32 20x784x10 NN\n"
            "thtrain: choice 2 of 2: timing 1 candidate for matrix_product float32 784x20x10 TN added\n");
}

// The run goes on, and the next one does not try again.
TEST_F(CandidateFiles, ARunTakesTheGoodAndGoesOnWithoutTheBad) {
  write("candidate_files = [\"mine.so\", \"crasher.so\", \"liar.so\"]\n");
  const std::string key = "matrix_product float32 20x784x10 NN: ";
  for (const auto& [name, warning] :
       {std::pair<std::string, std::string>("mine", ""),
        {"crasher",
         "thtrain: warning: the candidate crasher of crasher.so is not taken for " + key +
             "it was ended by SIGSEGV (Segmentation fault) in compute(); only_candidates allows no other there, and is "
             "not followed\n"},
        {"liar", "thtrain: warning: the candidate liar of liar.so is not taken for " + key + "wrong result: "}}) {
    for (int start = 0; start < 2; ++start) {
      const Ended ended = workshop_.run({"train", "e.toml", "--quiet", "compiler.only_candidates=[\"" + name + "\"]"});
      EXPECT_EQ(ended.code, 0) << ended.err;
      EXPECT_TRUE(plain(ended.err).starts_with(warning)) << plain(ended.err);
      EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), warning.empty() ? 0 : 1) << ended.err;
    }
    const std::string program =
        workshop_.run({"explain", "e.toml", "--stage=program", "compiler.only_candidates=[\"" + name + "\"]"}).out;
    EXPECT_EQ(program.find("-- candidate mine of mine.so  # ") != std::string::npos, name == "mine") << program;
  }
}

TEST_F(CandidateFiles, DebugNamesAWrongOne) {
  write("candidate_files = [\"liar.so\"]\nonly_candidates = [\"liar\"]\nmode = \"debug\"\n");
  const Ended ended = workshop_.run({"train", "e.toml", "--quiet"});
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_NE(ended.err.find("which the candidate liar computes"), std::string::npos) << ended.err;
  EXPECT_NE(plain(ended.err).find("hint:     that candidate is of liar.so;\n"), std::string::npos) << ended.err;
  EXPECT_TRUE(ended.err.starts_with("error: ")) << ended.err;
  EXPECT_EQ(ended.err.find("please report"), std::string::npos) << ended.err;
}

TEST_F(CandidateFiles, WhatIsNoneIsALocatedError) {
  write("candidate_files = [\"none.so\", \"e.toml\"]\n");
  const Ended ended = workshop_.run({"check", "e.toml"});
  EXPECT_EQ(ended.code, 2);
  const std::string location =
      "  config:   e.toml:15:19\n     15 | candidate_files = [\"none.so\", \"e.toml\"]\n        |                   "
      "^^^^^^^^^^^^^^^^^^^^^\n";
  EXPECT_EQ(plain(ended.err),
            "error: none.so: cannot be read: no such file or folder\n"
            "  expected: a shared object with candidates\n" +
                location +
                "error: e.toml: cannot be loaded\n"
                "  expected: a shared object with candidates: g++ -shared -fPIC\n" +
                location + "  hint:     e.toml: invalid ELF header\n");
}

// ---- lists ---------------------------------------------------------------------------------------------------------

std::string without_names(const std::string& text) {
  return std::regex_replace(text, std::regex("expected: .*"), "expected: NAMES");
}

TEST_F(CandidateFiles, PatternsThatMatchNothingAreSaidByEveryCommand) {
  write("exclude_candidates = [\"libary\", \"tile *\"]\n");
  const std::string expected =
      "error: compiler.exclude_candidates: there is no candidate libary here\n"
      "  expected: NAMES\n"
      "  got:      libary\n"
      "  config:   e.toml:15:22\n"
      "     15 | exclude_candidates = [\"libary\", \"tile *\"]\n"
      "        |                      ^^^^^^^^^^^^^^^^^^^^\n"
      "  hint:     `*` stands for any characters; COMPUTATION:NAME is of one computation\n";
  for (const char* command : {"check", "train", "tune"}) {
    const Ended ended = workshop_.run({command, "e.toml"});
    EXPECT_EQ(ended.code, 2) << command;
    EXPECT_EQ(without_names(plain(ended.err)), expected) << command;
    EXPECT_NE(ended.err.find("expected: matrix_product: library, "), std::string::npos) << ended.err;
  }
  EXPECT_FALSE(workshop_.exists("runs")) << "no run was begun";
}

TEST_F(CandidateFiles, PatternsOfOptionsAreNamedByThem) {
  write("exclude_candidates = [\"oneDNN\"]\n");
  for (const char* option : {"--only", "--include", "--exclude"}) {
    const Ended ended = workshop_.run({"tune", "e.toml", option, "libary", "--exclude", "tile *"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(without_names(ended.err), str("error: ", option,
                                            ": there is no candidate libary here\n  expected: NAMES\n"
                                            "  got:      libary\n"
                                            "  hint:     `*` stands for any characters; COMPUTATION:NAME is of one "
                                            "computation\n"));
  }
  const Ended ended = workshop_.run({"tune", "e.toml", "--exclude=tile *", "--include", "loops"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("* loops: "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("* library: "), std::string::npos) << ended.out;
  for (const char* none : {"* tile ", "* oneDNN"}) EXPECT_EQ(ended.out.find(none), std::string::npos) << none;
}

// ---- progress ------------------------------------------------------------------------------------------------------

TEST(TuningProgress, SaysWhatIsWaitedFor) {
  const TrialProgress compiling{{"conv", "float32 b20 i1x28x28 k2x5x5"}, "compiling", "rows 6x4", 0.5};
  EXPECT_EQ(
      tuning_text({.choice = 3, .choices = 12, .seconds = 5, .part = 0.5}, compiling, 200),
      "tuning 3/12 [===             ] 21 %  19.0 s left  compiling rows 6x4 for conv float32 b20 i1x28x28 k2x5x5");
  EXPECT_EQ(tuning_text({.choice = 3, .choices = 12, .seconds = 5, .part = 0.5}, compiling, 31),
            "tuning 3/12 [===             ]");
  const TrialProgress trying{{"matrix_product", "float32 2x2x2 NN"}, "trying", "mine", 0.9};
  EXPECT_EQ(
      tuning_text({.choice = 4, .seconds = 5, .part = 0.9}, trying, 200),
      "tuning 4 [==============  ] 90 %  0.556 s left for this one  trying mine for matrix_product float32 2x2x2 NN");
}

// ---- the file of times ---------------------------------------------------------------------------------------------

std::string file_of_times(const Workshop& workshop) {
  for (const std::string& name : workshop.list())
    if (name.starts_with("cache/tuning/") && workshop.read(name).find("matrix_product") != std::string::npos)
      return name;
  return "";
}

TEST_F(CandidateFiles, ADamagedFileOfTimesIsKeptAndSaid) {
  write("");
  ASSERT_EQ(workshop_.run({"tune", "e.toml", "--only", "library"}).code, 0);
  const std::string name = file_of_times(workshop_), whole = workshop_.read(name);
  ASSERT_NE(name, "");
  std::string other_version = whole;
  other_version.replace(other_version.find("thtrain-entry-"), 15, "thtrain-entry-0");
  for (const std::string& bytes : {whole.substr(0, whole.size() / 2), std::string("garbage\n"), std::string(),
                                   std::string(whole.size(), '\xFF'), other_version}) {
    workshop_.write(name, bytes);
    const Ended ended = workshop_.run({"check", "e.toml"});
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(plain(ended.err),
              str("thtrain: warning: the times of implementations on this machine are not used: ", name,
                  ": it was cut, altered, or written by another version of thtrain; it is kept as ", name,
                  ".damaged, and `thtrain tune` measures them again\n"));
    EXPECT_FALSE(workshop_.exists(name));
    EXPECT_EQ(workshop_.read(name + ".damaged"), bytes);
    EXPECT_EQ(workshop_.run({"check", "e.toml"}).err, "") << "said once";
  }
  ASSERT_EQ(workshop_.run({"tune", "e.toml", "--only", "library"}).code, 0);
  EXPECT_EQ(file_of_times(workshop_), name);
}

TEST_F(CandidateFiles, AFileOfTimesThatCannotBeReadStays) {
  if (!kHasFaults) GTEST_SKIP() << "the sanitizer's library must come first";
  write("");
  ASSERT_EQ(workshop_.run({"tune", "e.toml", "--only", "library"}).code, 0);
  const std::string name = file_of_times(workshop_), whole = workshop_.read(name);
  std::string hits;
  const Ended ended = run_with_fault(workshop_, {"tune", "e.toml", "--only", "library"},
                                     str("open ", workshop_.path(name), " 1 0 EACCES"), hits);
  EXPECT_NE(hits, "");
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(plain(ended.err).starts_with(
      str("thtrain: warning: the times of implementations on this machine cannot be read: ", name,
          ": permission denied; nothing is remembered until that file can be read, or is removed\n")))
      << plain(ended.err);
  EXPECT_EQ(workshop_.read(name), whole);
  EXPECT_EQ(workshop_.run({"check", "e.toml"}).err, "");
}

}  // namespace
}  // namespace thtrain
