// The result of a run , told from its folder alone, and compared with what the run said itself.
#include "trainers/run_record.h"

#include <filesystem>

#include "compiler/base/file.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

RunFolder folder_for(const std::string& path, const Experiment& e) {
  return RunFolder::create(path, e, {.config_file = "labs/small.toml"});
}

// What the file has without the lines that begin so.
void remove_entries(const std::string& path, const std::vector<std::string>& keys) {
  std::istringstream lines(read_file(path));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    bool is_kept = true;
    for (const std::string& key : keys) is_kept &= !line.starts_with(str("  \"", key, "\""));
    if (is_kept) out += line + "\n";
  }
  std::ofstream(path) << out;
}

// As a version before this one left the folder.
void make_older(const RunFolder& folder) {
  remove_entries(folder.facts_file(), {"started", "metric", "ended"});
}

void expect_as_said(const RunRecord& record, const TrainSummary& summary) {
  EXPECT_EQ(record.best, summary.valid_error);
  EXPECT_EQ(record.best_epoch, summary.best_epoch);
  EXPECT_EQ(record.test, summary.test_error);
  EXPECT_EQ(record.epochs, summary.epochs);
  EXPECT_EQ(record.phase, summary.phase);
  EXPECT_EQ(record.metric, summary.metric);
}

TEST(RunRecord, OfARunThatFinished) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  const int64_t before = utc_now();
  RunFolder folder = folder_for(temporary.path("run"), e);
  TrainSummary summary = train(e, data, folder);
  for (bool is_older : {false, true}) {
    if (is_older) make_older(folder);
    RunRecord record = read_run(folder.path());
    expect_as_said(record, summary);
    EXPECT_EQ(record.folder, temporary.path("run"));
    EXPECT_EQ(record.config, "small");
    EXPECT_EQ(record.config_file, "labs/small.toml");
    EXPECT_EQ(record.epochs, 3);
    EXPECT_TRUE(record.best.has_value());
    EXPECT_TRUE(record.test.has_value());
    EXPECT_EQ(record.train_loss, summary.train_loss);
    EXPECT_STREQ(text_of(record.end), "finished");
    EXPECT_GE(record.started, before);
    ASSERT_TRUE(record.ended.has_value());
    EXPECT_GE(*record.ended, record.started);
    EXPECT_LE(*record.ended, utc_now());
    double seconds = 0;
    for (const EpochReport& epoch : read_checkpoint(folder.checkpoint()).state.history) seconds += epoch.seconds;
    EXPECT_DOUBLE_EQ(record.seconds, seconds);
  }
}

TEST(RunRecord, ByAMetricOfWhichMoreIsBetter) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  e.trainer.metrics = {OneOf<MetricOptions>(*std::find_if(MetricOptions::kinds().begin(), MetricOptions::kinds().end(),
                                                          [](const auto& kind) { return kind.name == "accuracy"; }))};
  Dataset data = load_data(e, "");
  RunFolder folder = folder_for(temporary.path("run"), e);
  TrainSummary summary = train(e, data, folder);
  for (bool is_older : {false, true}) {
    if (is_older) make_older(folder);
    const RunRecord record = read_run(folder.path());
    expect_as_said(record, summary);
    EXPECT_TRUE(record.metric.larger_is_better);
    EXPECT_EQ(record.metric.name, "accuracy");
  }
}

TEST(RunRecord, SaysHowTheRunEnded) {
  TemporaryFolder temporary;
  Dataset data = load_data(reference_experiment(), "");
  auto end = [&](const std::string& name, const Experiment& e, const TrainOptions& options = {}) {
    RunFolder folder = folder_for(temporary.path(name), e);
    try {
      const TrainSummary summary = train(e, data, folder, {}, options);
      expect_as_said(read_run(folder.path()), summary);
    } catch (const Error&) {
    }
    return std::string(text_of(read_run(folder.path()).end));
  };
  Experiment patient = reference_experiment();
  patient.trainer.patience = 12;
  patient.trainer.patience_increase = 1;
  EXPECT_EQ(end("patience", patient), "patience");
  Experiment hurried = reference_experiment();
  hurried.trainer.max_seconds = 1e-9;
  EXPECT_EQ(end("time", hurried), "max_seconds");
  std::atomic<int> stop{1};
  EXPECT_EQ(end("stop", reference_experiment(), {.stop = &stop}), "interrupted");
  Experiment wild = reference_experiment();
  sgd_of(wild).learning_rate = 1e30;
  EXPECT_EQ(end("wild", wild), "not finite");
  EXPECT_NE(read_run(temporary.path("wild")).why, "");
  EXPECT_EQ(read_run(temporary.path("time")).why, "");
  for (const char* name : {"patience", "time", "stop"}) {
    const std::string then = text_of(read_run(temporary.path(name)).end);
    make_older(RunFolder::open(temporary.path(name)));
    EXPECT_STREQ(text_of(read_run(temporary.path(name)).end), then == "interrupted" ? "not finished" : then.c_str());
  }
}

// A folder where the run's files cannot be written any more.
TEST(RunRecord, SaysWhatEndedTheRun) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = folder_for(temporary.path("run"), e);
  TrainHooks hooks{.on_epoch = [&](const EpochReport& report) {
    if (report.epoch != 1) return;
    fs::remove(folder.metrics());
    fs::create_directory(folder.metrics());
  }};
  EXPECT_THROW(train(e, data, folder, hooks), UserError);
  fs::remove(folder.metrics());
  const RunRecord record = read_run(folder.path());
  EXPECT_STREQ(text_of(record.end), "failed");
  EXPECT_EQ(record.why, str(folder.metrics(), ": the file cannot be written"));
}

// While it goes on, the epochs behind its last checkpoint count; and after a kill, which is what this folder is a copy
// of.
TEST(RunRecord, OfARunThatGoesOnAndOfOneThatWasKilled) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = folder_for(temporary.path("run"), e);
  std::vector<EpochReport> reports;
  TrainHooks hooks{.on_epoch = [&](const EpochReport& report) {
    reports.push_back(report);
    fs::copy(folder.path(), temporary.path(str("copy", report.epoch)));
    for (const std::string& path : {folder.path(), temporary.path(str("copy", report.epoch))}) {
      const RunRecord record = read_run(path);
      EXPECT_STREQ(text_of(record.end), path == folder.path() ? "running" : "killed");
      EXPECT_EQ(record.ended.has_value(), path != folder.path());
      EXPECT_EQ(record.epochs, report.epoch);
      EXPECT_EQ(record.train_loss, report.train_loss);
      auto best = std::min_element(reports.begin(), reports.end(), [](const EpochReport& a, const EpochReport& b) {
        return *a.valid_error < *b.valid_error;
      });
      EXPECT_NEAR(*record.best, *best->valid_error, 1e-6);  // six decimals
      EXPECT_EQ(record.best_epoch, best->epoch);
      EXPECT_NEAR(*record.test, *best->test_error, 1e-6);
    }
  }};
  train(e, data, folder, hooks);
  EXPECT_EQ(reports.size(), 3u);
  // The line that is just being written is none yet.
  const std::string copy = temporary.path("copy2/metrics.jsonl"), whole = read_file(copy);
  std::ofstream(copy) << whole.substr(0, whole.size() - 5);
  EXPECT_EQ(read_run(temporary.path("copy2")).epochs, 1);
  // Killed before its first checkpoint.
  fs::remove(temporary.path("copy1/checkpoint.npz"));
  fs::remove(temporary.path("copy1/metrics.jsonl"));
  const RunRecord record = read_run(temporary.path("copy1"));
  EXPECT_STREQ(text_of(record.end), "killed");
  EXPECT_EQ(record.epochs, 0);
  EXPECT_FALSE(record.best);
}

// Resumed, it is running again, and then finished.
TEST(RunRecord, OfARunThatWasResumed) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = folder_for(temporary.path("run"), e);
  std::atomic<int> stop{0};
  TrainHooks hooks{.on_epoch = [&](const EpochReport&) { stop = 1; }};
  train(e, data, folder, hooks, {.stop = &stop});
  const RunRecord stopped = read_run(folder.path());
  EXPECT_STREQ(text_of(stopped.end), "interrupted");
  RunFolder again = RunFolder::open(folder.path());
  TrainHooks look{.on_start = [&](const ModelSummary&) {
    EXPECT_STREQ(text_of(read_run(folder.path()).end), "running");
    fs::copy(folder.path(), temporary.path("copy"));
  }};
  TrainSummary summary = resume(e, data, again, look);
  const RunRecord record = read_run(folder.path());
  expect_as_said(record, summary);
  EXPECT_STREQ(text_of(record.end), "finished");
  EXPECT_EQ(record.started, stopped.started);
  EXPECT_STREQ(text_of(read_run(temporary.path("copy")).end), "killed");
}

TEST(RunRecord, OfAFolderThatIsNoneOrIsBroken) {
  TemporaryFolder temporary;
  EXPECT_EQ(error_text([&] { read_run(temporary.path("none")); }),
            str("error: ", temporary.path("none"),
                ": there is no such run folder\n"
                "  expected: a folder that `thtrain train` made"));
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  RunFolder folder = folder_for(temporary.path("run"), e);
  train(e, data, folder);
  const std::string metrics = read_file(folder.metrics()), facts = read_file(folder.facts_file());
  auto error_with = [&](const std::string& path, const std::string& text) {
    const std::string before = read_file(path);
    std::ofstream(path) << text;
    std::string out = error_text([&] { read_run(folder.path()); });
    std::ofstream(path) << before;
    return out;
  };
  EXPECT_EQ(error_with(folder.metrics(), metrics + "{\"epoch\": 4}\n"),
            str("error: ", folder.metrics(),
                ", line 4: this is not what a run writes\n"
                "  expected: an object with epoch, train_loss and seconds\n"
                "  got:      {\"epoch\": 4}"));
  EXPECT_EQ(error_with(folder.metrics(), "{\"epoch\"\n" + metrics),
            str("error: ", folder.metrics(),
                ", line 1: no valid JSON: it ends too early\n  expected: JSON, as it was written\n  got:      byte 8"));
  std::string odd = facts;
  odd.replace(odd.find("finished"), 8, "eaten");
  EXPECT_EQ(error_with(folder.facts_file(), odd), str("error: ", folder.facts_file(),
                                                      ": this is not what a run writes: its ended.how is unknown\n"
                                                      "  got:      eaten\n"
                                                      "  hint:     put run.json back from a copy"));
  EXPECT_NE(error_with(folder.checkpoint(), "no zip").find("checkpoint.npz"), std::string::npos);
  EXPECT_STREQ(text_of(read_run(folder.path()).end), "finished");
}

TEST(RunFolders, AreFoundBelowAFolder) {
  TemporaryFolder temporary;
  for (const char* name : {"b-1", "a-1", "sweep/2", "sweep/1", ".thtrain-new-1-0", "a-1/checkpoints"})
    fs::create_directories(temporary.path(std::string("runs/") + name));
  for (const char* name : {"b-1", "a-1", "sweep/1", ".thtrain-new-1-0", "a-1/checkpoints"})
    std::ofstream(temporary.path(str("runs/", name, "/config.toml"))) << "";
  std::ofstream(temporary.path("runs/sweep/2/run.json")) << "";
  std::ofstream(temporary.path("runs/file")) << "";
  fs::create_directory_symlink(temporary.path("runs/a-1"), temporary.path("runs/link"));
  const std::string root = temporary.path("runs");
  EXPECT_EQ(run_folders(root),
            (std::vector<std::string>{root + "/a-1", root + "/b-1", root + "/sweep/1", root + "/sweep/2"}));
  EXPECT_EQ(run_folders(root + "/a-1"), std::vector<std::string>{root + "/a-1"});
  EXPECT_EQ(error_text([&] { run_folders(root + "/none"); }),
            str("error: ", root, "/none: there is no such folder\n  expected: a folder of runs"));
  EXPECT_EQ(error_text([&] { run_folders(root + "/file"); }),
            str("error: ", root, "/file: this is no folder\n  expected: a folder of runs"));
}

TEST(RunEnd, TextsAndTimesReadBack) {
  for (RunEnd end : {RunEnd::kRunning, RunEnd::kFinished, RunEnd::kConverged, RunEnd::kPatience, RunEnd::kMaxSeconds,
                     RunEnd::kInterrupted, RunEnd::kPaused, RunEnd::kNonFinite, RunEnd::kFailed, RunEnd::kKilled,
                     RunEnd::kUnfinished})
    EXPECT_EQ(run_end_of(text_of(end)), end);
  EXPECT_EQ(run_end_of("over"), std::nullopt);
  EXPECT_EQ(utc_text(1795432571), "2026-11-23T11:16:11Z");  // date -u -d @1795432571
  EXPECT_EQ(utc_seconds("2026-11-23T11:16:11Z"), 1795432571);
  for (const char* text : {"", "2026-11-23", "2026-11-23T11:16:11", "2026-13-23T11:16:11Z", "2026-11-23T11:16:11Z "})
    EXPECT_EQ(utc_seconds(text), std::nullopt) << text;
}

}  // namespace
}  // namespace thtrain
