// Runs of the program from beginning to end: what it prints, a second start, interruption, and resuming to the same
// bits.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include "datasets/npz.h"
#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

using Clock = std::chrono::steady_clock;

void sleep_for(double seconds) {
  timespec time{.tv_sec = static_cast<time_t>(seconds),
                .tv_nsec = static_cast<long>(1e9 * (seconds - int64_t(seconds)))};
  ::nanosleep(&time, nullptr);
}

class CliRun : public testing::Test {
 protected:
  CliRun() { workshop.write("tiny.toml", tiny_experiment()); }

  // The two runs ended with the same bits, times apart.
  void expect_same_run(const std::string& a, const std::string& b) {
    EXPECT_EQ(workshop.read(a + "/best.npz"), workshop.read(b + "/best.npz"));
    EXPECT_EQ(without_seconds(workshop.read(a + "/metrics.jsonl")),
              without_seconds(workshop.read(b + "/metrics.jsonl")));
    auto left = read_npz(workshop.path(a + "/checkpoint.npz")), right = read_npz(workshop.path(b + "/checkpoint.npz"));
    ASSERT_EQ(left.size(), right.size());
    for (const auto& [name, value] : left) {
      if (name == "run.history" || name == "run.epoch") continue;  // they hold seconds
      ASSERT_TRUE(right.contains(name)) << name;
      EXPECT_TRUE(same_bits(value, right.at(name))) << name;
    }
  }
  Workshop workshop;
};

TEST_F(CliRun, TrainTellsWhatItDoes) {
  Ended ended = workshop.run({"train", "tiny.toml"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");  // no terminal, no bar
  for (const char* part :
       {"200 training, 40 validation, 40 test examples; 15,910 parameters", "\nepoch 1  train loss ",
        "\nepoch 3  train loss ", "\ndone after epoch 3, 30 steps, ", "\nbest validation error ", "\ntest error ",
        "\nrun folder runs/tiny-1\n", "\nlearning curves runs/tiny-1/plots/learning_curves.png\n"})
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << "\n" << ended.out;
  for (const char* file : {"best.npz", "checkpoint.npz", "config.toml", "metrics.jsonl", "plots/learning_curves.png",
                           "plots/learning_curves.svg", "run.json"})
    EXPECT_TRUE(workshop.exists(std::string("runs/tiny-1/") + file)) << file;

  Ended quiet = workshop.run({"train", "tiny.toml", "--quiet"});
  EXPECT_EQ(quiet.out.find("epoch 1"), std::string::npos) << quiet.out;
  EXPECT_NE(quiet.out.find("\nrun folder runs/tiny-2\n"), std::string::npos) << quiet.out;
}

TEST_F(CliRun, WithoutAFontTheCurvesAreSvgAlone) {
  Ended ended = workshop.shell("THTRAIN_FONT=none.ttf \"$THTRAIN\" train tiny.toml --run-dir run");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err,
            "warning: pictures: $THTRAIN_FONT names no font that can be read: none.ttf; they are written as SVG alone "
            "(without the variable DejaVu Sans is taken: apt-get install fonts-dejavu-core)\n");
  EXPECT_NE(ended.out.find("\nlearning curves run/plots/learning_curves.svg\n"), std::string::npos) << ended.out;
  EXPECT_EQ(workshop.shell("ls run/plots").out, "learning_curves.svg\n");
}

TEST_F(CliRun, TrainAsJson) {
  Ended ended = workshop.run({"train", "tiny.toml", "--json", "--run-dir", "deep/er/run", "trainer.epochs=2"});
  EXPECT_EQ(ended.code, 0);
  auto values = one_json_line(ended.out);
  EXPECT_EQ(values["epochs"], "2");
  EXPECT_EQ(values["stop_epoch"], "2");
  EXPECT_EQ(values["steps"], "20");
  EXPECT_EQ(values["interrupted"], "false");
  EXPECT_EQ(values["run_dir"], "deep/er/run");
  EXPECT_NE(values["best_epoch"], "");
  for (const char* key : {"valid_error", "test_error"}) {
    std::string error = values[key];
    EXPECT_EQ(error.size() - error.find('.'), 7u) << error;  // six decimals
  }
  std::string metrics = workshop.read("deep/er/run/metrics.jsonl");
  auto best = read_json(metrics.substr(0, metrics.find('\n')), "metrics");
  EXPECT_EQ(best["epoch"], "1");
  EXPECT_EQ(best["valid_error"].size() - best["valid_error"].find('.'), 7u);
}

// A profiled run computes the same, and says where the time went.
TEST_F(CliRun, TrainWithAProfile) {
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "plain"}).code, 0);
  Ended ended = workshop.run({"train", "tiny.toml", "--run-dir", "profiled", "--profile", "--quiet"});
  EXPECT_EQ(ended.code, 0);
  for (const char* part :
       {"profile of train: 30 calls", "of ceiling  code, role\n", " gemm_", ", gradient+update  [",
        "\nroles:   ", "\nlayers:  ", "\npasses:  choose_gradients ", "\nprofile profiled/profile\n"})
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << "\n" << ended.out;
  auto profile = read_json(workshop.read("profiled/profile/profile.json"), "profile.json");
  EXPECT_EQ(profile["calls"], "30");
  EXPECT_EQ(profile["steps.0.calls"], "30");
  EXPECT_EQ(read_json(workshop.read("profiled/profile/trace.json"), "trace.json")["traceEvents.0.ph"], "X");
  expect_same_run("plain", "profiled");
}

TEST_F(CliRun, ASecondStartCompilesNothing) {
  auto compiled = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"train", "tiny.toml", "--verbose", "model.layers.0.units=21"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::string out = workshop.run(arguments).out;
    EXPECT_NE(out.find("\nfirst step done "), std::string::npos) << out;
    return out.find("\n0 kernels compiled in 0.000 s") == std::string::npos;
  };
  compiled({});
  EXPECT_FALSE(compiled({}));
  EXPECT_FALSE(compiled({"trainer.learning_rate=0.02"}));
  EXPECT_FALSE(compiled({"trainer.momentum=0.25", "trainer.epochs=1", "seed=3"}));
}

TEST_F(CliRun, RunsThatStartAtOnceGetFoldersOfTheirOwn) {
  std::vector<pid_t> processes;
  for (int i = 0; i < 3; ++i) processes.push_back(workshop.start({"train", "tiny.toml"}));
  for (pid_t process : processes) EXPECT_EQ(Workshop::wait(process), 0) << workshop.read("log");
  for (const char* name : {"tiny-1", "tiny-2", "tiny-3"})
    EXPECT_TRUE(workshop.exists(std::string("runs/") + name + "/best.npz")) << name;
}

TEST_F(CliRun, ARunThatIsOverResumesToItsEnd) {
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "a"}).code, 0);
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "b"}).code, 0);
  Ended ended = workshop.run({"resume", "b", "--json"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(one_json_line(ended.out)["stop_epoch"], "3");
  EXPECT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "b", "--resume", "--quiet"}).code, 0);
  expect_same_run("a", "b");
}

TEST_F(CliRun, AnotherExperimentIsNotResumed) {
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "a"}).code, 0);
  std::string config = workshop.read("a/config.toml");
  Ended ended = workshop.run({"train", "tiny.toml", "--run-dir", "a", "--resume", "trainer.epochs=4", "seed=8"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: a: the run in this folder is of another experiment\n"
            "  expected: what a/config.toml says\n"
            "  got:      seed: 7 then, 8 now\n"
            "            trainer.epochs: 3 then, 4 now\n"
            "  hint:     `thtrain resume a` goes on with it as it is; after an edit of a/config.toml, with "
            "--accept-edits\n");
  EXPECT_EQ(workshop.read("a/config.toml"), config);
}

TEST_F(CliRun, AnInterruptEndsWithACheckpoint) {
  std::vector<std::string> arguments = {
      "train", "tiny.toml", "--run-dir", "run", "--json", "--quiet", "trainer.epochs=1000000"};
  pid_t process = workshop.start(arguments);
  ASSERT_TRUE(wait_until([&] { return workshop.read("run/metrics.jsonl").size() > 200; })) << workshop.read("log");
  ::kill(process, SIGINT);
  EXPECT_EQ(Workshop::wait(process), 130);
  std::string word = "stopping after this minibatch, with a checkpoint; Ctrl-C again stops at once\n",
              log = workshop.read("log");
  ASSERT_TRUE(log.starts_with(word)) << log;
  auto values = one_json_line(log.substr(word.size()));
  EXPECT_EQ(values["interrupted"], "true");
  // The checkpoint is at the last step.
  Tensor position = read_npz(workshop.path("run/checkpoint.npz")).at("run.position");
  EXPECT_EQ(std::to_string(position.as_int(2)), values["steps"]);

  // A second signal ends it at once, whatever it is doing.
  process = workshop.start({"resume", "run"});
  ASSERT_TRUE(wait_until([&] { return workshop.read("log").find("\nepoch ") != std::string::npos; }));
  ::kill(process, SIGINT);
  ::kill(process, SIGINT);
  EXPECT_EQ(Workshop::wait(process), 130);
}

// The compiler begins, and goes on when the file "go" is there. The first error count waits for it too: every step of
// the first epoch, and no other, is done by then.
TEST_F(CliRun, TheReferenceTrainsWhileTheCompilerIsAtWork) {
  workshop.write("slow-g++",
                 "#!/bin/sh\n[ \"$1\" = --version ] && exec g++ --version\n"
                 "here=${0%/*}\necho began >>\"$here/began\"\n"
                 "while [ ! -e \"$here/go\" ]; do sleep 0.01; done\nexec g++ \"$@\"\n");
  ASSERT_EQ(::chmod(workshop.path("slow-g++").c_str(), 0755), 0);
  EnvironmentVariable compiler("THTRAIN_CXX", workshop.path("slow-g++").c_str()),
      cache("THTRAIN_CACHE_DIR", workshop.path("cache").c_str());
  pid_t process = workshop.start(
      {"train", "tiny.toml", "--run-dir", "run", "--verbose", "compiler.background=true", "trainer.epochs=1000000"});
  EXPECT_TRUE(wait_until([&] { return workshop.read("began").starts_with("began\nbegan\n"); })) << workshop.read("log");
  const std::string told_at_the_beginning = "in the background; training runs in reference mode until it is done";
  EXPECT_TRUE(wait_until([&] { return workshop.read("log").find(told_at_the_beginning) != std::string::npos; }))
      << workshop.read("log");
  // Before the run waits it writes a checkpoint.
  EXPECT_TRUE(wait_until([&] {
    return workshop.exists("run/checkpoint.npz") &&
           read_npz(workshop.path("run/checkpoint.npz")).at("run.position").as_int(2) == 10;
  })) << workshop.read("log");
  EXPECT_FALSE(workshop.exists("run/metrics.jsonl"));
  workshop.write("go", "");
  const std::string before = "\nnative code from step ", after = " on: the bits of this run are its own\n";
  auto switched = [&] {
    std::string log = workshop.read("log");
    size_t at = log.find(before), end = log.find(after);
    return at < end && end != std::string::npos ? log.substr(at + before.size(), end - at - before.size()) : "";
  };
  EXPECT_TRUE(wait_until([&] { return !switched().empty(); })) << workshop.read("log");
  ::kill(process, SIGINT);
  EXPECT_EQ(Workshop::wait(process), 130);
  EXPECT_GT(std::stoll(switched()), 10);
  std::string told = str("\"native code\": \"not at the beginning, from step ", switched(), " on\"");
  EXPECT_NE(workshop.read("run/run.json").find(told), std::string::npos) << workshop.read("run/run.json");

  // It is the same run that goes on, native from its first step: the code is in the cache, though the graph is not, for
  // its messages name another file.
  process = workshop.start({"resume", "run"});
  EXPECT_TRUE(wait_until([&] { return workshop.read("log").find("\nepoch ") != std::string::npos; }));
  ::kill(process, SIGINT);
  EXPECT_EQ(Workshop::wait(process), 130) << workshop.read("log");
  EXPECT_EQ(workshop.read("log").find("other bits"), std::string::npos) << workshop.read("log");
  EXPECT_NE(workshop.read("run/run.json").find(told), std::string::npos) << workshop.read("run/run.json");
}

// What is said of the checkpoint is true: it went with the folder, or is gone.
TEST_F(CliRun, AFolderThatGoesAwayWhileItTrains) {
  auto error_after = [&](const std::string& name, const std::string& change) {
    pid_t process = workshop.start(
        {"train", "tiny.toml", "--run-dir", name, "--quiet", "trainer.epochs=10000000", "trainer.checkpoint_epochs=1"});
    EXPECT_TRUE(wait_until([&] { return workshop.read(name + "/metrics.jsonl").size() > 200; }))
        << workshop.read("log");
    EXPECT_EQ(workshop.shell(change).code, 0);
    EXPECT_EQ(Workshop::wait(process), 2);
    const std::string log = workshop.read("log");
    return log.substr(std::min(log.size(), log.find("  hint:")));
  };
  const std::string text = error_after("moved", "mv moved elsewhere");
  EXPECT_TRUE(
      text.starts_with("  hint:     where the folder has another name now, `thtrain resume` goes on from its "
                       "checkpoint of step "))
      << text;
  EXPECT_EQ(text.find("is kept"), std::string::npos) << text;
  EXPECT_EQ(text.find("mkdir"), std::string::npos) << text;
  EXPECT_TRUE(workshop.exists("elsewhere/checkpoint.npz"));
  error_after("gone", "until rm -rf gone; do :; done 2>&1");
  EXPECT_FALSE(workshop.exists("gone"));
  error_after("another", "mv another third && mkdir another");
  EXPECT_TRUE(std::filesystem::is_empty(workshop.path("another")));
}

// `rm` of what once was a lock, or of all that is there, lets no second writer in.
TEST_F(CliRun, FilesThatAreRemovedLetNoSecondWriterIn) {
  const pid_t process = workshop.start(
      {"train", "tiny.toml", "--run-dir", "run", "--quiet", "trainer.epochs=10000000", "trainer.checkpoint_epochs=1"});
  EXPECT_TRUE(wait_until([&] { return workshop.read("run/metrics.jsonl").size() > 200; })) << workshop.read("log");
  workshop.shell("rm -f run/lock");
  const Ended second = workshop.run({"resume", "run"});
  EXPECT_EQ(second.code, 2);
  EXPECT_TRUE(second.err.starts_with("error: run: another process writes to this run folder\n")) << second.err;
  workshop.shell("find run -type f ! -name '*.tmp-*' -delete");  // the run looks after its unfinished ones
  EXPECT_TRUE(wait_until([&] { return workshop.exists("run/config.toml") && workshop.exists("run/checkpoint.npz"); }));
  ::kill(process, SIGINT);
  EXPECT_EQ(Workshop::wait(process), 130) << workshop.read("log");
  EXPECT_EQ(workshop.run({"eval", "run"}).code, 0);
}

// Data that is streamed is looked at batch by batch, in every epoch anew: a value that goes bad in mid-run ends the
// run with a checkpoint of the steps before it, from which it goes on when the value is mended.
TEST_F(CliRun, AStreamThatGoesBadEndsTheRun) {
  constexpr int kRows = 40, kColumns = 3;
  std::string x, y;
  for (int i = 0; i < kRows * kColumns; ++i) {
    float value = static_cast<float>(i % 7) / 7;
    x.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  for (int i = 0; i < kRows; ++i) y += static_cast<char>(i % 2);
  workshop.write("x.npy", npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (40, 3), }", x));
  workshop.write("y.npy", npy_bytes("{'descr': '|u1', 'fortran_order': False, 'shape': (40,), }", y));
  workshop.write("stream.toml",
                 "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nn_valid = 0\n"
                 "memory_limit = 1e-9\n\n[[model.layers]]\ntype = \"softmax\"\n\n"
                 "[trainer]\nlearning_rate = 0.1\nbatch_size = 10\nepochs = 10000000\ncheckpoint_epochs = 1\n");
  pid_t process = workshop.start({"train", "stream.toml", "--run-dir", "run"});
  ASSERT_TRUE(wait_until([&] { return workshop.read("run/metrics.jsonl").size() > 200; })) << workshop.read("log");
  // Under the time that the file had: a later one ends the run by itself.
  ASSERT_EQ(::kill(process, SIGSTOP), 0);
  const auto written = std::filesystem::last_write_time(workshop.path("x.npy"));
  std::fstream file(workshop.path("x.npy"), std::ios::in | std::ios::out | std::ios::binary);
  float nan = std::numeric_limits<float>::quiet_NaN();
  file.seekp(-static_cast<std::streamoff>(sizeof nan * (2 * kColumns - 1)), std::ios::end);  // row 38, column 1
  file.write(reinterpret_cast<const char*>(&nan), sizeof nan);
  file.close();
  std::filesystem::last_write_time(workshop.path("x.npy"), written);
  ASSERT_EQ(::kill(process, SIGCONT), 0);
  EXPECT_EQ(Workshop::wait(process), 2);
  std::string log = workshop.read("log");
  EXPECT_NE(log.find("x.npy: row 38, column 1: not a finite number\n"
                     "  expected: numbers that are finite in float32\n"
                     "  got:      nan\n"),
            std::string::npos)
      << log;
  auto kept = read_npz(workshop.path("run/checkpoint.npz"));
  EXPECT_GT(kept.at("run.position").as_int(2), 0);
  for (const auto& [name, value] : kept) {
    if (name.starts_with("run.")) continue;
    for (int64_t i = 0; i < value.size(); ++i) EXPECT_TRUE(std::isfinite(value.as_double(i))) << name;
  }
  const std::string step = std::to_string(kept.at("run.position").as_int(2));
  EXPECT_NE(log.find("the checkpoint of step " + step + " is kept: "), std::string::npos) << log;
  file.open(workshop.path("x.npy"), std::ios::in | std::ios::out | std::ios::binary);
  const float value = static_cast<float>((38 * kColumns + 1) % 7) / 7;
  file.seekp(-static_cast<std::streamoff>(sizeof value * (2 * kColumns - 1)), std::ios::end);
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
  file.close();
  std::filesystem::last_write_time(workshop.path("x.npy"), written);
  const std::string epochs = "trainer.epochs=" + std::to_string(kept.at("run.position").as_int(0) + 2);
  ASSERT_EQ(workshop.run({"resume", "run", "--quiet", epochs}).code, 0);
  ASSERT_EQ(workshop.run({"train", "stream.toml", "--run-dir", "whole", "--quiet", epochs}).code, 0);
  const auto resumed = read_npz(workshop.path("run/checkpoint.npz")),
             whole = read_npz(workshop.path("whole/checkpoint.npz"));
  for (const auto& [name, array] : whole) {
    if (name.starts_with("run.")) continue;
    EXPECT_TRUE(same_bits(resumed.at(name), array)) << name;
  }
}

TEST_F(CliRun, KilledAtAnyMomentItResumesToTheSameBits) {
  workshop.write("kill.toml", tiny_experiment() + "checkpoint_seconds = 0.005\n");
  std::vector<std::string> more = {"trainer.epochs=80", "output.plots=false", "--quiet"};
  auto arguments = [&](std::vector<std::string> first) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
  };
  ASSERT_EQ(workshop.run(arguments({"train", "kill.toml", "--run-dir", "warm"})).code, 0);
  Clock::time_point begin = Clock::now();
  ASSERT_EQ(workshop.run(arguments({"train", "kill.toml", "--run-dir", "whole"})).code, 0);
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  expect_same_run("warm", "whole");

  auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> moment(0, seconds);
  int killed = 0;
  for (int round = 0; round < 5; ++round) {
    std::string folder = "killed" + std::to_string(round);
    for (int attempt = 0; attempt < 2; ++attempt) {
      pid_t process = workshop.exists(folder) ? workshop.start({"resume", folder, "--quiet"})
                                              : workshop.start(arguments({"train", "kill.toml", "--run-dir", folder}));
      sleep_for(moment(random));
      ::kill(process, SIGKILL);
      int code = Workshop::wait(process);
      ASSERT_TRUE(code == 0 || code == 128 + SIGKILL) << code << "\n" << workshop.read("log");
      killed += code != 0;
    }
    Ended ended = workshop.exists(folder) ? workshop.run({"resume", folder, "--quiet"})
                                          : workshop.run(arguments({"train", "kill.toml", "--run-dir", folder}));
    ASSERT_EQ(ended.code, 0) << ended.err;
    expect_same_run("whole", folder);
  }
  EXPECT_GT(killed, 0);
}

}  // namespace
}  // namespace thtrain
