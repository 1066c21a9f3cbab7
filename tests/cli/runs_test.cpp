// `thtrain runs`, and the tables of runs.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <sstream>

#include "cli/runs_table.h"
#include "compiler/base/utf8.h"
#include "config/config_node.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

RunRow row(const std::string& folder, const std::string& config, double best, double seconds, int64_t started) {
  RunRow out;
  out.record.folder = folder;
  out.record.config = config;
  out.record.best = best;
  out.record.best_epoch = 7;
  out.record.epochs = 20;
  out.record.test = best + 1;
  out.record.seconds = seconds;
  out.record.started = started;
  out.record.end = RunEnd::kFinished;
  return out;
}

std::vector<RunRow> some_rows() {
  std::vector<RunRow> out = {row("runs/mlp_digits-1", "mlp_digits", 7.5, 12.34, 30),
                             row("runs/sweep/2", "mlp_digits", 6.25, 4000, 10), row("runs/reg-1", "reg", 0.5, 61, 20)};
  out[2].record.metric = {"r2", "", true};
  out[2].record.test.reset();
  out[1].record.end = RunEnd::kKilled;
  out[1].record.phase = "finetune";
  RunRow none = row("runs/none-1", "mlp_digits", 0, 0, 40);
  none.record.best.reset();
  none.record.test.reset();
  none.record.epochs = 0;
  none.record.end = RunEnd::kRunning;
  out.push_back(none);
  RunRow broken;
  broken.record.folder = "runs/b";
  broken.record.started = 15;
  broken.error = "metrics.jsonl, line 3: no valid JSON: it ends too early";
  out.push_back(broken);
  return out;
}

TEST(RunsTable, HasALineForEachRun) {
  std::vector<RunRow> rows = some_rows();
  sort_rows(rows, "");
  EXPECT_EQ(runs_text(rows),
            R"(run                config      best          epoch  epochs  test      time       ended
runs/b             cannot be read: metrics.jsonl, line 3: no valid JSON: it ends too early
runs/sweep/2       mlp_digits  6.250000  %       7      20  7.250000  1 h 6 min  killed, finetune
runs/reg-1         reg              0.5  r2      7      20  -            61.0 s  finished
runs/mlp_digits-1  mlp_digits  7.500000  %       7      20  8.500000     12.3 s  finished
runs/none-1        mlp_digits  -             -           0  -           0.000 s  running
)");
}

TEST(RunsTable, IsCutToTheWidthOfATerminal) {
  std::vector<RunRow> rows = some_rows();
  sort_rows(rows, "name");
  for (int width : {200, 80, 70, 40, 10, 1}) {
    const std::string text = runs_text(rows, width);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
    for (size_t start = 0, end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
      EXPECT_LE(character_count(text.substr(start, end - start)), width) << text;
  }
  EXPECT_EQ(runs_text(rows, 200), runs_text(rows));
  EXPECT_EQ(runs_text(rows, 80), R"(run       config     best          epoch  epochs  test      time       ended
runs/b    cannot be read: metrics.jsonl, line 3: no valid JSON: it ends too earl
run...-1  mlp...its  7.500000  %       7      20  8.500000     12.3 s  finished
run...-1  mlp...its  -             -           0  -           0.000 s  running
run...-1  reg             0.5  r2      7      20  -            61.0 s  finished
run.../2  mlp...its  6.250000  %       7      20  7.250000  1 h 6 min  kil...une
)");
  EXPECT_EQ(cut_in_the_middle("runs/mlp_digits-12", 11), "runs...s-12");
  EXPECT_EQ(cut_in_the_middle("höhenlinien", 7), "hö...en");
  EXPECT_EQ(cut_in_the_middle("runs", 4), "runs");
  EXPECT_EQ(cut_in_the_middle("runs", 2), "..");
}

TEST(RunsTable, IsSorted) {
  auto order = [](const std::string& by) {
    std::vector<RunRow> rows = some_rows();
    RunRow better = rows[2];  // of a metric of which more is better
    better.record.folder = "runs/reg-2";
    better.record.best = 0.75;
    rows.push_back(better);
    sort_rows(rows, by);
    return join(rows, " ", [](const RunRow& r) { return r.record.folder; });
  };
  EXPECT_EQ(order("name"), "runs/b runs/mlp_digits-1 runs/none-1 runs/reg-1 runs/reg-2 runs/sweep/2");
  EXPECT_EQ(order("best"), "runs/b runs/none-1 runs/mlp_digits-1 runs/sweep/2 runs/reg-1 runs/reg-2");
  EXPECT_EQ(order("time"), "runs/b runs/none-1 runs/mlp_digits-1 runs/reg-1 runs/reg-2 runs/sweep/2");
}

std::string without_times(const std::string& text) {
  return std::regex_replace(text, std::regex(" +[0-9.]+ s "), " TIME ");
}

class CliRuns : public testing::Test {
 protected:
  CliRuns() { workshop.write("tiny.toml", tiny_experiment()); }
  void train(const std::string& folder, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"train", "tiny.toml", "--quiet", "--run-dir", folder, "compiler.mode=reference"};
    words.insert(words.end(), more.begin(), more.end());
    Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  Workshop workshop;
};

TEST_F(CliRuns, FilesThatNoRunLeavesAreToldInTheRow) {
  train("runs/good", {"trainer.epochs=3"});
  for (const char* name : {"cut", "empty", "falls", "gone", "half", "twice"})
    fs::copy(workshop.path("runs/good"), workshop.path(str("runs/", name)), fs::copy_options::recursive);
  const std::string lines = workshop.read("runs/good/metrics.jsonl"), config = workshop.read("runs/good/config.toml");
  const size_t second = lines.find('\n') + 1, third = lines.find('\n', second) + 1;
  const std::string one = lines.substr(0, second), two = lines.substr(second, third - second),
                    last = lines.substr(third);
  workshop.write("runs/cut/config.toml", config.substr(0, config.size() / 2));
  workshop.write("runs/empty/metrics.jsonl", "");
  workshop.write("runs/falls/metrics.jsonl", one + last + two);
  fs::remove(workshop.path("runs/gone/metrics.jsonl"));
  workshop.write("runs/half/metrics.jsonl", one);
  workshop.write("runs/twice/metrics.jsonl", lines + last);
  const Ended ended = workshop.run({"runs", "--sort", "name"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::string ends;
  std::istringstream rows(ended.out);
  for (std::string row; std::getline(rows, row);)
    if (const size_t at = row.find("finished"); at != std::string::npos)
      ends += str(row.substr(0, row.find(' ')), ": ", row.substr(at), '\n');
  EXPECT_EQ(ends, R"(runs/cut: finished; config.toml is cut off
runs/empty: finished; metrics.jsonl is empty
runs/falls: finished; metrics.jsonl, line 3: epoch 2 behind epoch 3
runs/gone: finished; metrics.jsonl is missing
runs/good: finished
runs/half: finished; metrics.jsonl has 1 of 3 epochs
runs/twice: finished; metrics.jsonl, line 4: epoch 3 behind epoch 3
)");
  EXPECT_NE(workshop.run({"runs", "--json"}).out.find("\"trouble\": \"metrics.jsonl is missing\""), std::string::npos);
}

TEST_F(CliRuns, ListsWhatIsBelowAFolder) {
  Ended none = workshop.run({"runs"});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err,
            "error: runs: there is no such folder\n"
            "  expected: a folder of runs\n"
            "  hint:     `thtrain train` makes it; `thtrain runs DIR` looks in another one\n");
  fs::create_directories(workshop.path("runs/empty"));
  EXPECT_EQ(workshop.run({"runs"}).out, "runs: no runs\n");
  EXPECT_EQ(workshop.run({"runs", "--json"}).out, "");
  train("runs/tiny-1", {"trainer.epochs=1"});
  train("runs/sweep/b", {"trainer.epochs=2", "trainer.metrics=['accuracy']"});
  workshop.write("runs/broken/config.toml", "");
  workshop.write("runs/half/config.toml", workshop.read("runs/tiny-1/config.toml"));
  workshop.write("runs/half/run.json", "{\"config_file\": \"tiny");
  fs::copy(workshop.path("runs/tiny-1"), workshop.path("runs/torn"));
  workshop.write("runs/torn/checkpoint.npz", workshop.read("runs/tiny-1/checkpoint.npz").substr(0, 1000));
  Ended all = workshop.run({"runs", "--sort", "name"});
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.err, "");
  EXPECT_EQ(without_times(all.out),
            R"(run           config  best                   epoch  epochs  test       time     ended
runs/broken   cannot be read: this is no run folder, or no longer: it holds no run.json
runs/half     cannot be read: run.json: no valid JSON: a string does not end
runs/sweep/b  tiny    35.000000  % accuracy      2       2  47.500000 TIME  finished
runs/tiny-1   tiny    67.500000  %               1       1  70.000000 TIME  finished
runs/torn     cannot be read: checkpoint.npz: the .npz file is truncated
)");
  std::istringstream lines(workshop.run({"runs", "--json", "--sort=name"}).out);
  std::vector<std::map<std::string, std::string>> found;
  for (std::string line; std::getline(lines, line);) found.push_back(read_json(line, "a line"));
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0]["run"], "runs/broken");
  EXPECT_EQ(found[0]["error"], "this is no run folder, or no longer: it holds no run.json");
  EXPECT_EQ(found[2]["run"], "runs/sweep/b");
  EXPECT_EQ(found[2]["metric"], "accuracy");
  EXPECT_EQ(found[2]["config"], "tiny");
  EXPECT_EQ(found[2]["epochs"], "2");
  EXPECT_EQ(found[2]["how"], "finished");
  EXPECT_FALSE(found[2].contains("error"));
  for (const char* key : {"best", "best_epoch", "test", "train_loss", "seconds", "started", "ended", "unit"})
    EXPECT_TRUE(found[2].contains(key)) << key;
  // One run, and another folder.
  EXPECT_EQ(workshop.run({"runs", "runs/tiny-1"}).out.substr(0, 3), "run");
  EXPECT_EQ(workshop.run({"runs", "runs/sweep"}).out.find("tiny-1"), std::string::npos);
}

TEST_F(CliRuns, AreTakenForWhatTheyAreWhileOneGoesOn) {
  const pid_t process =
      workshop.start({"train", "tiny.toml", "--run-dir", "runs/a", "compiler.mode=reference", "trainer.epochs=100000"});
  std::map<std::string, std::string> found;
  for (int i = 0; i < 1000 && found["epochs"] != "3"; ++i) {
    ::usleep(10000);
    if (!workshop.exists("runs/a/metrics.jsonl")) continue;
    found = read_json(workshop.run({"runs", "--json"}).out, "a line");
    EXPECT_EQ(found["how"], "running");
    EXPECT_FALSE(found.contains("ended"));
    if (std::stoi(found["epochs"]) > 3) break;
  }
  EXPECT_GE(std::stoi(found["epochs"]), 3);
  ::kill(process, SIGKILL);
  Workshop::wait(process);
  found = read_json(workshop.run({"runs", "--json"}).out, "a line");
  EXPECT_EQ(found["how"], "killed");
  EXPECT_TRUE(found.contains("ended"));
}

TEST_F(CliRuns, HaveTheTimeThatTrainingTold) {
  auto expect_one_time = [&](const std::vector<std::string>& words, const std::string& folder) {
    const Ended ended = workshop.run(words);
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(one_json_line(ended.out)["seconds"],
              one_json_line(workshop.run({"runs", folder, "--json"}).out)["seconds"]);
  };
  const std::vector<std::string> train = {
      "train", "tiny.toml", "--json", "--quiet", "compiler.mode=reference", "output.plots=false"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), train.begin(), train.end());
    return more;
  };
  expect_one_time(with({"--run-dir", "runs/a", "trainer.epochs=2"}), "runs/a");
  expect_one_time({"resume", "runs/a", "trainer.epochs=4", "--json", "--quiet"}, "runs/a");
  expect_one_time({"resume", "runs/a", "--json", "--quiet"}, "runs/a");  // it is over
  workshop.write("tiny.toml", tiny_experiment() + "[[phase]]\nname = \"one\"\n[[phase]]\nname = \"two\"\n");
  expect_one_time(with({"--run-dir", "runs/b", "trainer.epochs=2"}), "runs/b");
}

TEST_F(CliRuns, AreCompared) {
  train("runs/a", {"trainer.epochs=1", "output.root=x"});
  train("runs/b", {"trainer.epochs=2", "loss.l2=0.5", "output.root=x"});
  train("other/a",
        {"trainer.epochs=1", "output.root=x", "trainer.metrics=['accuracy']", "model.layers=[{type='softmax'}]"});
  Ended two = workshop.run({"compare", "runs/a", "runs/b/"});
  EXPECT_EQ(two.code, 0);
  EXPECT_EQ(two.err, "");
  const std::string png = workshop.exists("compare.png") ? workshop.read("compare.png") : "";  // none without a font
  EXPECT_EQ(without_times(two.out), str(R"(key             a    b
loss.l2         0.0  0.5
trainer.epochs    1    2

run     config  best          epoch  epochs  test       time     ended
runs/a  tiny    67.500000  %      1       1  70.000000 TIME  finished
runs/b  tiny    87.500000  %      1       2  87.500000 TIME  finished
)",
                                        png.empty() ? "" : "curves compare.png\n", "curves compare.svg\n"));
  EXPECT_TRUE(workshop.read("compare.svg").find("<svg") != std::string::npos);
  // Folders of one name have their whole paths, and what was measured otherwise has no curve.
  Ended three = workshop.run({"compare", "--output", "other/c.png", "runs/a", "runs/b", "other/a", "--json"});
  EXPECT_EQ(three.code, 0);
  EXPECT_EQ(three.err, "other/a has no curve: it did not measure the error\n");
  std::map<std::string, std::string> found = one_json_line(three.out);
  EXPECT_EQ(found["differences.loss.l2.runs/b"], "0.5");
  EXPECT_EQ(found["differences.loss.l2.other/a"], "0.0");
  EXPECT_EQ(found["differences.trainer.epochs.runs/b"], "2");
  EXPECT_EQ(found["differences.model.layers.1.type.runs/b"], "\"softmax\"");
  EXPECT_FALSE(found.contains("differences.model.layers.1.type.other/a"));
  EXPECT_EQ(found["runs.2.run"], "other/a");
  EXPECT_EQ(found["runs.2.metric"], "accuracy");
  EXPECT_TRUE(workshop.exists("other/c.svg"));
  EXPECT_NE(workshop.read("other/c.svg"), workshop.read("compare.svg"));
  // Experiments that are alike.
  fs::copy(workshop.path("runs/a"), workshop.path("runs/copy"), fs::copy_options::recursive);
  EXPECT_TRUE(workshop.run({"compare", "runs/a", "runs/copy", "--output", "c.png"})
                  .out.starts_with("the experiments do not differ\n\nrun "));
  // A run that is broken cannot be compared.
  workshop.write("runs/copy/metrics.jsonl", "{}\n");
  Ended broken = workshop.run({"compare", "runs/a", "runs/copy", "--output", "c.png"});
  EXPECT_EQ(broken.code, 2);
  EXPECT_EQ(broken.err,
            "error: runs/copy/metrics.jsonl, line 1: this is not what a run writes\n"
            "  expected: an object with epoch, train_loss and seconds\n"
            "  got:      {}\n");
  EXPECT_TRUE(png.empty() || png.starts_with("\x89PNG"));
}

TEST_F(CliRuns, OfANewerVersionAreToldByEachCommand) {
  train("runs/a", {"trainer.epochs=1"});
  fs::copy(workshop.path("runs/a"), workshop.path("runs/b"), fs::copy_options::recursive);
  std::string facts = workshop.read("runs/b/run.json");
  const size_t at = facts.find("\"version\": \"") + 12, end = facts.find('"', at);
  const std::string now = facts.substr(at, end - at);
  workshop.write("runs/b/run.json", facts.replace(at, end - at, "1000.1"));
  const std::string error =
      str("error: runs/b/run.json: thtrain 1000.1 wrote this run, which is newer than this one\n"
          "  expected: a run of thtrain ",
          now, " or an earlier one\n  hint:     use thtrain 1000.1 or a newer one\n");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"compare", "runs/a", "runs/b"},
                                                  {"resume", "runs/b"},
                                                  {"show", "runs/b"},
                                                  {"eval", "runs/b"}}) {
    const Ended ended = workshop.run(command);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.err, error);
    EXPECT_EQ(ended.out, "");
  }
  EXPECT_EQ(without_times(workshop.run({"runs", "--sort", "name"}).out),
            "run     config  best          epoch  epochs  test       time     ended\n"
            "runs/a  tiny    67.500000  %      1       1  70.000000 TIME  finished\n"
            "runs/b  cannot be read: run.json: thtrain 1000.1 wrote this run, which is newer than this one\n");
}

TEST_F(CliRuns, HaveNamesOfAnyCharacters) {
  const std::string name = "runs/a \"b' \xc3\xbc\nc\x1b[31m";
  train(name, {"trainer.epochs=1"});
  train("runs/d", {"trainer.epochs=1"});
  const std::string shown = "runs/a \"b' \xc3\xbc\\nc\\x1b[31m";
  EXPECT_EQ(without_times(workshop.run({"runs", "--sort", "name"}).out),
            str("run", std::string(22, ' '), "config  best          epoch  epochs  test       time     ended\n", shown,
                "  tiny    67.500000  %      1       1  70.000000 TIME  finished\nruns/d", std::string(19, ' '),
                "tiny    67.500000  %      1       1  70.000000 TIME  finished\n"));
  const Ended drawn = workshop.run({"show", name});
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_TRUE(drawn.out.starts_with(str("pictures in ", shown, "/plots\n"))) << drawn.out;
  EXPECT_TRUE(drawn.out.ends_with(str("\nweights ", shown, "/best.npz\n"))) << drawn.out;
  // What differs is told also where no picture can be written.
  const Ended compared = workshop.run({"compare", name, "runs/d", "--output", "nowhere/x.png"});
  EXPECT_EQ(compared.code, 2);
  EXPECT_TRUE(compared.out.starts_with("the experiments do not differ\n\nrun  ")) << compared.out;
  EXPECT_TRUE(compared.err.starts_with("error: nowhere/x.")) << compared.err;
}

TEST_F(CliRuns, WithoutEpochsHaveNoCurve) {
  train("runs/a", {"trainer.epochs=1"});
  fs::copy(workshop.path("runs/a"), workshop.path("runs/b"), fs::copy_options::recursive);
  workshop.write("runs/b/metrics.jsonl", "{\"epoch\": 1");  // killed in the middle of it
  const Ended ended = workshop.run({"compare", "runs/a", "runs/b"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "b has no curve: metrics.jsonl is empty\n");
}

TEST_F(CliRuns, OfASweepAreComparedByItsFolder) {
  ASSERT_EQ(workshop
                .run({"sweep", "tiny.toml", "--run-dir", "s", "seed=1..3", "trainer.epochs=1",
                      "compiler.mode=reference", "--quiet"})
                .code,
            0);
  fs::remove_all(workshop.path("s/seed=2"));  // as one that was not begun
  const Ended whole = workshop.run({"compare", "s/", "--output", "c.png"});
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_TRUE(whole.out.starts_with("key   seed=1  seed=3\nseed       1       3\n\nrun       config  ")) << whole.out;
  const Ended listed = workshop.run({"compare", "s/logs/", "s/seed=1/", "s/seed=3/", "--output", "c.png"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_EQ(listed.out, whole.out);
  fs::remove_all(workshop.path("s/seed=3"));
  EXPECT_EQ(workshop.run({"compare", "s"}).err,
            "error: thtrain compare: there is nothing to compare with\n"
            "  expected: the folders of two or more runs\n"
            "  got:      s/seed=1\n");
}

}  // namespace
}  // namespace thtrain
