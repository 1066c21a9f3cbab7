#include "trainers/run_folder.h"

#include <filesystem>

#include "compiler/base/file.h"
#include "datasets/npz.h"
#include "datasets/sources/npy.h"
#include "reports/json.h"
#include "tests/support/training_support.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

TEST(RunFolder, HoldsWhatDescribesTheRun) {
  TemporaryFolder temporary;
  std::string path = temporary.path("runs/first");
  RunFolder folder =
      RunFolder::create(path + "/", small_experiment(), {{"thtrain", "train", "a b.toml"}, "a b.toml", "/data"});
  EXPECT_EQ(folder.path(), path);
  EXPECT_EQ(read_file(folder.config()), resolved_toml(small_experiment()));
  folder.write_facts(1234, {{"threads", "2"}});
  std::map<std::string, std::string> facts = read_json(read_file(folder.facts_file()), "run.json");
  EXPECT_EQ(facts.at("seed"), "1234");
  EXPECT_EQ(facts.at("pins.threads"), "2");
  EXPECT_NE(facts.at("build"), "");
  RunFolder again = RunFolder::open(path);
  EXPECT_EQ(again.facts().command_line, (std::vector<std::string>{"thtrain", "train", "a b.toml"}));
  EXPECT_EQ(again.facts().config_file, "a b.toml");
  EXPECT_EQ(again.facts().config_folder, "/data");
  for (const auto& entry : fs::directory_iterator(temporary.path("runs"))) EXPECT_EQ(entry.path(), path);
}

TEST(RunFolder, AnEmptyFolderIsFilledWhereItIs) {
  TemporaryFolder temporary;
  const std::string path = temporary.path("run"), link = temporary.path("link");
  fs::create_directories(path + "/lost+found");  // of a file system
  fs::permissions(path, fs::perms::owner_all);
  fs::create_directory_symlink("run", link);
  {
    const RunFolder folder = RunFolder::create(link + "/", small_experiment());
    EXPECT_EQ(folder.path(), link);
    EXPECT_EQ(read_file(path + "/config.toml"), read_file(folder.config()));
    EXPECT_THROW(RunFolder::create(path, small_experiment()), UserError);  // it has the lock
  }
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  fs::remove(link);
  fs::create_directory_symlink("nowhere", link);
  EXPECT_EQ(error_text([&] { RunFolder::create(link, small_experiment()); }),
            str("error: ", link,
                ": there is a link to a folder that is not there at this path\n"
                "  expected: a folder that does not exist yet, or an empty one\n"
                "  got:      a link to nowhere\n"
                "  hint:     make the folder that it names, or remove the link"));
}

TEST(RunFolder, TheWorkingFolderIsFilledAndStays) {
  TemporaryFolder temporary;
  const fs::path before = fs::current_path();
  fs::create_directories(temporary.path("run"));
  fs::current_path(temporary.path("run"));
  for (const char* name : {".", "../run", "./"}) {
    RunFolder::create(name, small_experiment());  // it gives way to the next one
    EXPECT_TRUE(fs::exists("config.toml")) << name;
  }
  EXPECT_TRUE(fs::equivalent(temporary.path("run"), "."));
  fs::current_path(before);
}

// A process that is killed while it fills a folder leaves run.json, or part of it; one of an earlier version a lock.
TEST(RunFolder, AFolderThatWasFilledInPartGivesWay) {
  TemporaryFolder temporary;
  const std::string path = temporary.path("run");
  for (const char* left : {"lock", "run.json.tmp-17-0", "run.json", "config.toml.tmp-17-0"}) {
    temporary.write(str("run/", left), left == std::string("run.json") ? "{\"version\": \"0.0.1\"}\n" : "");
    EXPECT_TRUE(fs::exists(RunFolder::create(path, small_experiment()).facts_file())) << left;
    fs::remove_all(path);
  }
  temporary.write("run/config.toml", "mine");
  EXPECT_THROW(RunFolder::create(path, small_experiment()), UserError);
  EXPECT_EQ(read_file(path + "/config.toml"), "mine");
}

TEST(RunFolder, NothingIsOverwritten) {
  TemporaryFolder temporary;
  std::string path = temporary.path("run");
  RunFolder held = RunFolder::create(path, small_experiment());
  EXPECT_EQ(error_text([&] { RunFolder::create(path, small_experiment()); }),
            str("error: ", path,
                ": there is a run in this folder already, or something else\n"
                "  expected: a folder that does not exist yet, or an empty one\n"
                "  hint:     `thtrain resume ",
                path, "` goes on with a run; --run-dir names another folder"));
  temporary.write("file", "x");
  EXPECT_THROW(RunFolder::create(temporary.path("file"), small_experiment()), UserError);
  EXPECT_EQ(error_text([&] { RunFolder::create(temporary.path("file/run"), small_experiment()); }).substr(0, 6),
            "error:");
  EXPECT_EQ(read_file(temporary.path("file")), "x");
}

// A process that was killed while it compiled leaves no more than that, and nobody has its lock.
TEST(RunFolder, AnUnfinishedRunGivesWay) {
  TemporaryFolder temporary;
  std::string path = temporary.path("run");
  Experiment other = small_experiment();
  other.seed = 99;
  auto leave = [&] {
    RunFolder::create(path, small_experiment());
    temporary.write("run/table.json", "{}");
    temporary.write("run/lock", "1\n");
  };
  leave();
  {
    RunFolder folder = RunFolder::create(path + "/", other);
    EXPECT_NE(read_file(folder.config()).find("seed = 99"), std::string::npos);
    EXPECT_FALSE(fs::exists(folder.table()));
    EXPECT_THROW(RunFolder::create(path, other), UserError);  // it has the lock
  }
  leave();
  temporary.write("run/checkpoint.npz.tmp-17-2", "");  // killed while it wrote the first one
  EXPECT_FALSE(fs::exists(RunFolder::create(path, other).path() + "/checkpoint.npz.tmp-17-2"));
  for (const char* more : {"run/checkpoint.npz", "run/metrics.jsonl", "run/notes"}) {
    leave();
    temporary.write(more, "");
    EXPECT_THROW(RunFolder::create(path, other), UserError) << more;
    EXPECT_EQ(read_file(temporary.path(more)), "");
    fs::remove(temporary.path(more));
  }
  leave();
  RunFolder::open(path).write_facts(1, {{"threads", "2"}});  // there was a checkpoint
  EXPECT_THROW(RunFolder::create(path, other), UserError);
}

TEST(RunFolder, OpensOnlyRuns) {
  TemporaryFolder temporary;
  EXPECT_EQ(error_text([&] { RunFolder::open(temporary.path("no")); }),
            str("error: ", temporary.path("no"),
                ": there is no such run folder\n  expected: a folder that `thtrain train` made"));
  EXPECT_EQ(error_text([&] { RunFolder::open(temporary.path()); }),
            str("error: ", temporary.path(),
                ": this is no run folder: it holds no config.toml\n"
                "  expected: a folder that `thtrain train` made"));
  temporary.write("sweep/sweep.json", "{}");
  EXPECT_EQ(error_text([&] { RunFolder::open(temporary.path("sweep")); }),
            str("error: ", temporary.path("sweep"),
                ": this is no run folder: it holds no config.toml\n"
                "  expected: a folder that `thtrain train` made\n"
                "  hint:     this is the folder of a sweep; name the folder of one of its runs"));
  temporary.write("cut/config.toml", "");
  std::string cut = temporary.path("cut"),
              text = str("error: ", cut,
                         ": this is no run folder, or no longer: it holds no run.json\n"
                         "  expected: a folder that `thtrain train` made, with config.toml and "
                         "run.json\n"
                         "  hint:     put run.json back from a copy; `thtrain train ",
                         cut, "/config.toml` begins another run");
  EXPECT_EQ(error_text([&] { RunFolder::open(cut + "/"); }), text);
  temporary.write("cut/best.npz", "");
  EXPECT_EQ(error_text([&] { RunFolder::open(cut); }),
            str(text, ";\n            `thtrain eval ", cut, "/config.toml --weights ", cut,
                "/best.npz` measures its weights"));
}

TEST(RunFolder, PrefersTheBestWeights) {
  TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.path("run"), small_experiment());
  EXPECT_THROW(folder.weights(), UserError);
  EXPECT_FALSE(folder.has_checkpoint());
  write_npz(folder.checkpoint(), {{"a", Tensor(1.0)}});
  EXPECT_TRUE(folder.has_checkpoint());
  EXPECT_EQ(folder.weights(), folder.checkpoint());
  write_npz(folder.best(), {{"a", Tensor(1.0)}});
  EXPECT_EQ(folder.weights(), folder.best());
}

TEST(RunFolder, WhatIsWrittenComesIntoNoFolderThatTookItsPlace) {
  TemporaryFolder temporary;
  const std::string path = temporary.path("run"), moved = temporary.path("moved");
  RunFolder folder = RunFolder::create(path, small_experiment());
  write_npz(folder.best(), {{"a", Tensor(1.0)}}, folder.in_place_check());
  fs::rename(path, moved);
  fs::create_directory(path);
  const std::string text = str("error: ", path,
                               ": the folder of the run was removed or renamed while the run was at work\n"
                               "  got:      another one of that name");
  EXPECT_EQ(error_text([&] { write_npz(folder.best(), {{"a", Tensor(2.0)}}, folder.in_place_check()); }), text);
  EXPECT_EQ(error_text([&] { folder.write_facts(1, {}); }), text);
  EXPECT_TRUE(fs::is_empty(path));
  EXPECT_TRUE(fs::exists(moved + "/best.npz"));
}

TEST(RunFolder, PathsInItsConfigurationAreAbsolute) {
  TemporaryFolder temporary;
  temporary.write("data/x.npy", "");
  temporary.write("data/y.npy.gz", "");
  temporary.write("w.npz", "");
  Experiment experiment = small_experiment();
  NpyConfig files;
  files.train = "data/x.npy";
  files.train_labels = "data/y.npy";
  experiment.data = files;
  experiment.model.weights = "w.npz";
  RunFolder folder = RunFolder::create(temporary.path("run"), experiment, {.config_folder = temporary.path()});
  std::string text = read_file(folder.config());
  for (const char* name : {"data/x.npy", "data/y.npy", "w.npz"})
    EXPECT_NE(text.find(str('"', temporary.path(name), '"')), std::string::npos) << text;
  EXPECT_THROW(RunFolder::create(temporary.path("other"), experiment), UserError);
  EXPECT_FALSE(fs::exists(temporary.path("other")));
}

TEST(RunFolder, NewNamesCountUp) {
  TemporaryFolder temporary;
  EXPECT_EQ(new_run_path(temporary.path("runs"), "configs/mlp.toml"), temporary.path("runs/mlp-1"));
  fs::create_directories(temporary.path("runs/mlp-1"));
  EXPECT_EQ(new_run_path(temporary.path("runs"), "configs/mlp.toml"), temporary.path("runs/mlp-2"));
}

}  // namespace
}  // namespace thtrain
