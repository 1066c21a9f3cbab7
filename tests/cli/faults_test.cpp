// The file system fails: at chosen locations, with the whole message, and at every call in turn. tests/faults/ makes
// it.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "datasets/npz.h"
#include "tests/support/faulty_run.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

// Every file of the run "run", also while its folder is made.
const std::string kRunFiles = "run|run/*|./.thtrain-new-*";

class Faults : public testing::Test {
 protected:
  // The softmax of a few digits: one epoch of 3 minibatches, its checkpoints at steps 0 and 3.
  static void SetUpTestSuite() {
    shop_ = new Workshop;
    shop_->write("tiny.toml",
                 "seed = 7\n\n[data]\nsource = \"digits\"\nn_train = 60\nn_valid = 20\nn_test = 20\n\n"
                 "[[model.layers]]\ntype = \"softmax\"\n\n[trainer]\nbatch_size = 20\nepochs = 1\n");
    ASSERT_EQ(shop_->run({"train", "tiny.toml", "--run-dir", "whole"}).code, 0);
    // A run with a checkpoint after its first epoch, of two.
    ASSERT_EQ(shop_->run({"train", "tiny.toml", "--run-dir", "half"}).code, 0);
    std::string config = replaced(shop_->read("half/config.toml"), "\nepochs = 1\n", "\nepochs = 2\n");
    shop_->write("half/config.toml", config);
    fs::copy(shop_->path("half"), shop_->path("two"), fs::copy_options::recursive);
    ASSERT_EQ(shop_->run({"resume", "two", "--accept-edits"}).code, 0);
  }
  static void TearDownTestSuite() {
    delete shop_;
    shop_ = nullptr;
  }
  void SetUp() override {
    if (!kHasFaults) GTEST_SKIP() << "the sanitizer's library must come first";
  }

  static void begin(bool resumed) {
    fs::remove_all(shop_->path("run"));
    if (resumed) fs::copy(shop_->path("half"), shop_->path("run"), fs::copy_options::recursive);
  }
  static std::vector<std::string> command(bool resumed) {
    if (resumed) return {"resume", "run", "--accept-edits", "--quiet"};
    return {"train", "tiny.toml", "--run-dir", "run", "--quiet"};
  }

  // A new folder stays where the message says so, and where the run ended.
  static void expect_folder_as_told(bool resumed, const Ended& ended) {
    if (!resumed) {
      EXPECT_EQ(shop_->exists("run"), ended.code == 0 || ended.err.find(" is kept: ") != std::string::npos);
    }
  }

  // No half of a file stayed. What is in the folder goes on to the same bits; or the folder is gone, and new it
  // was.
  static void expect_intact(bool resumed) {
    for (const auto& entry : fs::directory_iterator(shop_->path()))
      EXPECT_EQ(entry.path().native().find(".thtrain-new-"), std::string::npos) << entry.path();
    if (!shop_->exists("run")) {
      EXPECT_FALSE(resumed);
      return;
    }
    for (const auto& entry : fs::recursive_directory_iterator(shop_->path("run"))) {
      std::string name = entry.path().filename();
      EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
    }
    std::string metrics = shop_->read("run/metrics.jsonl");
    EXPECT_TRUE(metrics.empty() || metrics.ends_with("}\n")) << metrics;
    if (!seen_.insert(contents() + (resumed ? "two" : "whole")).second) return;  // it went on from the very same
    Ended ended = shop_->run(command(true));
    EXPECT_EQ(ended.code, 0) << ended.err;
    expect_same_run(resumed ? "two" : "whole");
  }
  // Of every file in the folder; of metrics.jsonl without the seconds.
  static std::string contents() {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(shop_->path("run"))) {
      std::string name = entry.path().lexically_relative(shop_->path());
      if (!entry.is_directory()) files[name] = shop_->read(name);
    }
    files["run/metrics.jsonl"] = without_seconds(files["run/metrics.jsonl"]);
    std::string out;
    for (const auto& [name, bytes] : files) out += str(name, ' ', bytes.size(), ' ', bytes);
    return out;
  }
  static void expect_same_run(const std::string& expected) {
    EXPECT_TRUE(shop_->read("run/best.npz") == shop_->read(expected + "/best.npz"));
    EXPECT_EQ(without_seconds(shop_->read("run/metrics.jsonl")),
              without_seconds(shop_->read(expected + "/metrics.jsonl")));
    auto left = read_npz(shop_->path("run/checkpoint.npz")),
         right = read_npz(shop_->path(expected + "/checkpoint.npz"));
    for (const auto& [name, value] : left)
      if (name != "run.history" && name != "run.epoch") {  // they hold seconds
        EXPECT_TRUE(right.contains(name) && same_bits(value, right.at(name))) << name;
      }
  }

  static Workshop* shop_;
  static std::set<std::string> seen_;
};
Workshop* Faults::shop_ = nullptr;
std::set<std::string> Faults::seen_;

// ---- chosen locations -----------------------------------------------------------------------------------------------

struct Location {
  bool resumed;
  const char* fault;
  const char* message;  // after a line end; "": the run does not notice
};

const Location kLocations[] = {
    // A new folder.
    {false, "mkdir ./.thtrain-new-* 1 1 EACCES", R"(
error: run: the folder cannot be made
  got:      permission denied
  hint:     choose another folder with --run-dir, or another root for new ones with output.root
)"},
    {false, "open ./.thtrain-new-*/config.toml.tmp-* 1 1 EACCES", R"(
error: run/config.toml: the file cannot be written
  expected: write permission for the folder run
  got:      permission denied
)"},
    {false, "write ./.thtrain-new-*/run.json.tmp-* 1 1 ENOSPC", R"(
error: run/run.json: the file cannot be written
  expected: free space on its disk
  got:      a full disk
  hint:     make room and try again; an earlier file of this name is unchanged
)"},
    {false, "open ./.thtrain-new-* 1 1 EMFILE", R"(
error: run: the folder cannot be opened
  got:      too many open files
)"},
    {false, "flock ./.thtrain-new-* 1 1 ENOLCK", ""},
    {false, "rename run 1 1 EACCES", R"(
error: run: the folder cannot be made
  got:      permission denied
  hint:     choose another folder with --run-dir, or another root for new ones with output.root
)"},
    // The first checkpoint: without it the folder is not kept.
    {false, "write run/checkpoint.npz.tmp-* 1 0 short,ENOSPC", R"(
error: run/checkpoint.npz: the file cannot be written
  expected: free space on its disk
  got:      a full disk
  hint:     make room and try again; an earlier file of this name is unchanged
)"},
    // run.json with what decides bits, after the first checkpoint.
    {false, "rename run/run.json 1 1 EIO", R"(
error: run/run.json: the file cannot be written
  got:      input/output error
)"},
    // At the end of the epoch.
    {false, "open run/metrics.jsonl 1 1 EACCES", R"(
error: run/metrics.jsonl: the file cannot be written
  expected: write permission for the folder run
  got:      permission denied
  hint:     the checkpoint of step 0 is kept: `thtrain resume run` goes on from it
)"},
    {false, "write run/metrics.jsonl 1 0 short,ENOSPC", R"(
error: run/metrics.jsonl: the file cannot be written
  expected: free space on its disk
  got:      a full disk
  hint:     make room and try again; an earlier file of this name is unchanged;
            the checkpoint of step 0 is kept: `thtrain resume run` goes on from it
)"},
    {false, "close run/metrics.jsonl 1 1 EIO", R"(
error: run/metrics.jsonl: the file cannot be written
  got:      input/output error
  hint:     the checkpoint of step 0 is kept: `thtrain resume run` goes on from it
)"},
    {false, "write run/best.npz.tmp-* 1 0 EDQUOT", R"(
error: run/best.npz: the file cannot be written
  expected: free space on its disk
  got:      a full quota
  hint:     make room and try again; an earlier file of this name is unchanged;
            the checkpoint of step 0 is kept: `thtrain resume run` goes on from it
)"},
    {false, "fsync run/checkpoint.npz.tmp-* 2 1 EIO", R"(
error: run/checkpoint.npz: the file cannot be written
  got:      input/output error
  hint:     the checkpoint of step 0 is kept: `thtrain resume run` goes on from it
)"},
    {false, "close run/checkpoint.npz.tmp-* 2 1 EIO", R"(
error: run/checkpoint.npz: the file cannot be written
  got:      input/output error
  hint:     the checkpoint of step 0 is kept: `thtrain resume run` goes on from it
)"},
    {false, "rename run/checkpoint.npz 2 1 EACCES", R"(
error: run/checkpoint.npz: the file cannot be written
  expected: write permission for the folder run
  got:      permission denied
  hint:     the checkpoint of step 0 is kept: `thtrain resume run` goes on from it
)"},
    {false, "mkdir run/plots 1 1 ENOSPC", R"(
error: run/plots: the folder cannot be made
  expected: a folder where this user may make one
  got:      no space left on device
  hint:     the checkpoint of step 3 is kept: `thtrain resume run` goes on from it
)"},
    {false, "write run/plots/* 1 1 ENOSPC", R"(
error: run/plots/learning_curves.png: the file cannot be written
  expected: free space on its disk
  got:      a full disk
  hint:     make room and try again; an earlier file of this name is unchanged;
            the checkpoint of step 3 is kept: `thtrain resume run` goes on from it
)"},
    {false, "fsync run 1 0 EIO", ""},  // a folder that cannot be synced is no error
    // Calls that do a part, or are interrupted, are repeated.
    {false, "write run/*|./.thtrain-new-*.tmp-* 1 0 short", ""},
    {true, "write run/*.tmp-* 1 40 EINTR", ""},
    {true, "read run/* 1 0 short", ""},
    // A resumption.
    {true, "stat run 1 1 EACCES", R"(
error: run: the run folder cannot be read
  expected: a folder that `thtrain train` made
  got:      permission denied
)"},
    {true, "stat run/config.toml 1 1 EIO", R"(
error: run/config.toml: the file cannot be read
  got:      input/output error
)"},
    {true, "read run/config.toml 1 1 EIO", R"(
error: cannot read the experiment run/config.toml
  expected: a TOML file
  got:      input/output error
)"},
    {true, "open run/run.json 1 1 EACCES", R"(
error: run/run.json: the file may not be read
  expected: read permission for this user
  got:      permission denied
  hint:     run: chmod u+r run/run.json
)"},
    {true, "open run 1 1 EACCES", R"(
error: run: the folder cannot be opened
  got:      permission denied
)"},
    {true, "open run/metrics.jsonl.tmp-* 1 1 EROFS", R"(
error: run/metrics.jsonl: the file cannot be written
  expected: write permission for the folder run
  got:      a read-only file system
)"},
    {true, "stat run/checkpoint.npz 1 1 EIO", R"(
error: run/checkpoint.npz: the file cannot be read
  got:      input/output error
)"},
    {true, "open run/checkpoint.npz 1 1 EACCES", R"(
error: run/checkpoint.npz: the file may not be read
  expected: read permission for this user
  got:      permission denied
  hint:     run: chmod u+r run/checkpoint.npz
)"},
    {true, "read run/checkpoint.npz 5 1 EIO", R"(
error: run/checkpoint.npz: the file cannot be read
  got:      input/output error
)"},
    {true, "rename run/metrics.jsonl 1 1 EIO", R"(
error: run/metrics.jsonl: the file cannot be written
  got:      input/output error
)"},
    {true, "write run/checkpoint.npz.tmp-* 1 0 ENOSPC", R"(
error: run/checkpoint.npz: the file cannot be written
  expected: free space on its disk
  got:      a full disk
  hint:     make room and try again; an earlier file of this name is unchanged;
            the checkpoint of step 3 is kept: `thtrain resume run` goes on from it
)"},
};

TEST_F(Faults, EachLocationHasItsMessage) {
  const std::string edited = "edited since the checkpoint: trainer.epochs: 1 then, 2 now\n";
  for (const Location& location : kLocations) {
    SCOPED_TRACE(location.fault);
    begin(location.resumed);
    std::string hits, message = location.message;
    Ended ended = run_with_fault(*shop_, command(location.resumed), location.fault, hits);
    EXPECT_NE(hits, "");
    EXPECT_EQ(ended.code, message.empty() ? 0 : 2);
    if (ended.err.starts_with(edited)) ended.err.erase(0, edited.size());
    EXPECT_EQ(message.empty() ? ended.err : "\n" + ended.err, message);
    expect_folder_as_told(location.resumed, ended);
    expect_intact(location.resumed);
  }
}

// What reads and writes nothing of a run.
TEST_F(Faults, OtherCommands) {
  std::string hits;
  Ended ended = run_with_fault(*shop_, {"eval", "whole"}, "read whole/best.npz 1 1 EIO", hits);
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "error: whole/best.npz: the file cannot be read\n  got:      input/output error\n");
  ended = run_with_fault(*shop_, {"train", "tiny.toml"}, "mkdir runs 1 1 EACCES", hits);
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: runs/tiny-1: the folder cannot be made\n  got:      permission denied\n"
            "  hint:     choose another folder with --run-dir, or another root for new ones with output.root\n");
  EXPECT_FALSE(shop_->exists("runs"));
}

// ---- every call in turn ---------------------------------------------------------------------------------------------

class FaultSweep : public Faults, public testing::WithParamInterface<std::tuple<bool, const char*>> {};

// The n-th call fails, for n = 1, 2, ... until a run goes through without meeting it.
TEST_P(FaultSweep, EndsWithOneMessageAndLosesNothing) {
  auto [resumed, call] = GetParam();
  int n = 1;
  for (std::string hits = "?"; !hits.empty() && n < 1000 && !HasFailure(); ++n) {
    begin(resumed);
    std::string fault = str(call, ' ', kRunFiles, ' ', n, " 1 EIO");
    Ended ended = run_with_fault(*shop_, command(resumed), fault, hits);
    SCOPED_TRACE(str(fault, ": ", hits, ended.err));
    // What looks at folders may fail (syncing them, finding what was left in them), and so may closing what was read.
    std::string path = hits.substr(0, hits.find('\n')).substr(hits.find(' ') + 1);
    bool is_file = path.find('.', path.rfind('/') + 2) != std::string::npos;
    bool is_tolerated = !is_file || std::string(call) == "close" || std::string(call) == "stat";
    EXPECT_TRUE(ended.code == 2 || (ended.code == 0 && is_tolerated)) << ended.code;
    if (ended.code == 2) {
      size_t at = ended.err.find("error: ");
      EXPECT_NE(at, std::string::npos);
      EXPECT_EQ(ended.err.find("error: ", at + 1), std::string::npos);
      EXPECT_EQ(ended.err.find("thtrain-new"), std::string::npos);
      EXPECT_EQ(ended.err.find("report"), std::string::npos);
      expect_folder_as_told(resumed, ended);
    }
    expect_intact(resumed);
  }
  EXPECT_GT(n, std::string(call) == "ftruncate" ? 1 : 2);  // metrics.jsonl alone is cut
}

std::vector<std::tuple<bool, const char*>> sweeps() {
  std::vector<std::tuple<bool, const char*>> out;
  for (const char* call : {"open", "write", "fsync", "close", "rename", "mkdir", "ftruncate"})
    out.emplace_back(false, call);
  for (const char* call : {"open", "read", "stat", "rename"}) out.emplace_back(true, call);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Calls, FaultSweep, testing::ValuesIn(sweeps()), [](const auto& info) {
  return std::string(std::get<1>(info.param)) + (std::get<0>(info.param) ? "OfAResumption" : "OfANewRun");
});

}  // namespace
}  // namespace thtrain
