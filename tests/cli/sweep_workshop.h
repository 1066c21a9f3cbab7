// The runs that the tests of `thtrain sweep` make, and what they compare of them.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <thread>

#include "compiler/base/str.h"
#include "tests/support/cli_support.h"
#include "trainers/run_lock.h"
#include "trainers/run_record.h"

namespace thtrain {

// "0.0  finished" and "0.001 s  finished" -> "S finished"
inline std::string without_times(const std::string& text) {
  static const std::regex time(" +[0-9.]+( s)?  (finished|not finite|failed|interrupted|killed|dropped)"),
      columns("epochs  seconds +end");
  return std::regex_replace(std::regex_replace(text, time, " S $2"), columns, "epochs S end");
}
// sweep.csv without its column of seconds.
inline std::string without_seconds_column(const std::string& csv) {
  static const std::regex seconds(",[0-9]+\\.[0-9]{3},");
  return std::regex_replace(csv, seconds, ",S,");
}

inline bool waits_for(const std::function<bool()>& what, double seconds = 60) {
  const auto began = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() < seconds) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

// The processes whose parent is this one.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string state;
    pid_t its_parent = 0;
    if (rest >> state >> its_parent && its_parent == parent && state != "Z") out.push_back(std::stoi(name));
  }
  return out;
}

class CliSweep : public testing::Test {
 protected:
  CliSweep() {
    workshop.write("tiny.toml", tiny_experiment() + "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  }
  // A sweep of these lists into a folder, of one epoch, one run at once.
  static std::vector<std::string> short_sweep(const std::string& folder, const std::vector<std::string>& lists) {
    std::vector<std::string> out = {"sweep", "tiny.toml", "--run-dir", folder};
    out.insert(out.end(), lists.begin(), lists.end());
    out.insert(out.end(), {"trainer.epochs=1", "--jobs", "1"});
    return out;
  }
  // The error of a sweep of these words, which makes nothing.
  std::string refused(std::vector<std::string> words) {
    const std::vector<std::string> before = workshop.list();
    words.insert(words.begin(), {"sweep", "tiny.toml"});
    const Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(workshop.list(), before);
    return ended.err;
  }
  // Sweeps whose runs take a while, two at once.
  static std::vector<std::string> slow(const std::string& folder) {
    return {"sweep",
            "tiny.toml",
            "--run-dir",
            folder,
            "--jobs",
            "2",
            "--threads",
            "1",
            "trainer.learning_rate=0.1,0.05",
            "seed=1..2",
            "trainer.epochs=60"};
  }
  static std::vector<std::string> slow_runs() {
    return {"learning_rate=0.1,seed=1", "learning_rate=0.1,seed=2", "learning_rate=0.05,seed=1",
            "learning_rate=0.05,seed=2"};
  }
  void expect_same_runs(const std::string& folder, const std::string& other) {
    for (const std::string& run : slow_runs()) {
      SCOPED_TRACE(run);
      const std::string a = str(folder, '/', run, '/'), b = str(other, '/', run, '/');
      EXPECT_EQ(workshop.read(a + "best.npz"), workshop.read(b + "best.npz"));
      EXPECT_EQ(without_seconds(workshop.read(a + "metrics.jsonl")),
                without_seconds(workshop.read(b + "metrics.jsonl")));
    }
    EXPECT_EQ(without_seconds_column(workshop.read(folder + "/sweep.csv")),
              without_seconds_column(workshop.read(other + "/sweep.csv")));
  }
  bool has_epochs(const std::string& folder, const std::string& run) {
    const std::string metrics = workshop.read(str(folder, '/', run, "/metrics.jsonl"));
    return std::count(metrics.begin(), metrics.end(), '\n') > 2;
  }
  Workshop workshop;
};

}  // namespace thtrain
