// Files of a run that somebody removes while it trains, and folders that go away.
#include <filesystem>

#include "tests/support/run_result.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

TEST(LostFiles, AreWrittenAgain) {
  TemporaryFolder temporary;
  const Experiment e = reference_experiment();
  const Dataset data = load_data(e, "");
  RunFolder whole = RunFolder::create(temporary.path("whole"), e);
  train(e, data, whole);
  const std::string config = read_file(whole.config());
  for (int64_t at = 1; at <= e.trainer.epochs; ++at)
    for (const char* name : {"config.toml", "run.json", "metrics.jsonl", "checkpoint.npz", "best.npz"}) {
      const std::string path = temporary.path(str(name, at));
      SCOPED_TRACE(path);
      RunFolder folder = RunFolder::create(path, e);
      std::string said;
      bool is_removed = false;
      TrainHooks hooks{.on_epoch =
                           [&](const EpochReport& report) {
                             if (report.epoch == at) is_removed = fs::remove(folder.file(name));
                           },
                       .on_message = [&](const std::string& line) { said += line + "\n"; }};
      const TrainSummary summary = train(e, data, folder, hooks);
      EXPECT_EQ(summary.epochs, e.trainer.epochs);
      expect_same(result_of(folder), result_of(whole));
      EXPECT_EQ(read_file(folder.config()), config);
      EXPECT_EQ(RunFolder::open(path).facts().end, RunEnd::kFinished);
      const bool is_told = is_removed && name != std::string("run.json") && name != std::string("checkpoint.npz");
      EXPECT_EQ(said, !is_told ? ""
                               : str("warning: ", folder.file(name),
                                     " was removed while the run was at work: it is written again\n"));
      resume(e, data, folder);
      expect_same(result_of(folder), result_of(whole));
    }
}

// Another folder of that name is left alone, whatever it holds.
TEST(LostFiles, AFolderThatGoesAwayEndsTheRun) {
  TemporaryFolder temporary;
  const Experiment e = reference_experiment();
  const Dataset data = load_data(e, "");
  const std::string path = temporary.path("run");
  for (bool comes_another : {false, true}) {
    RunFolder folder = RunFolder::create(path, e);
    TrainHooks hooks{.on_epoch = [&](const EpochReport& report) {
      if (report.epoch != 2) return;
      fs::rename(path, temporary.path(str("elsewhere", comes_another)));
      if (comes_another) temporary.write("run/run.json", "mine");
    }};
    EXPECT_EQ(
        error_text([&] { train(e, data, folder, hooks); }),
        str("error: ", path, ": the folder of the run was removed or renamed while the run was at work\n  got:      ",
            comes_another ? "another one of that name" : "nothing of that name",
            "\n  hint:     where the folder has another name now, `thtrain resume` goes on from its checkpoint of "
            "step 0"));
    EXPECT_EQ(fs::exists(path), comes_another);
    RunFolder moved = RunFolder::open(temporary.path(str("elsewhere", comes_another)));
    EXPECT_EQ(resume(e, data, moved).epochs, 3);
  }
  EXPECT_EQ(read_file(path + "/run.json"), "mine");
  EXPECT_EQ(std::distance(fs::directory_iterator(path), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace thtrain
