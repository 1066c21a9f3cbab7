// What the tests of the program share: running it in a folder of its own, and looking at what it wrote.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "reports/json.h"

namespace thtrain {

/// How a process ended, and what it wrote.
struct Ended {
  int code = -1;  // 128 + the signal's number where it was ended by one
  std::string out, err;
};

/// A folder under the system's temporary one, removed at the end, in which the program runs.
class Workshop {
 public:
  Workshop();
  ~Workshop();
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const;
  std::string read(const std::string& name) const;
  bool exists(const std::string& name) const;
  /// Every file and folder below, sorted.
  std::vector<std::string> list() const;

  /// Runs `thtrain` with these arguments to its end.
  Ended run(const std::vector<std::string>& arguments) const;
  /// Runs `command` in a shell, to which "$THTRAIN" is the program.
  Ended shell(const std::string& command) const;
  /// Starts it; both outputs go to the file "log".
  pid_t start(const std::vector<std::string>& arguments) const;
  /// Waits for the end of such a process.
  static int wait(pid_t process);

 private:
  std::string path_;
};

/// A tiny experiment on built-in digits, trained within a moment.
std::string tiny_experiment();

/// What `--json` printed, as path -> value; fails the test where that is not exactly one line.
inline std::map<std::string, std::string> one_json_line(const std::string& text) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_TRUE(text.ends_with('\n')) << text;
  return read_json(text, "standard output");
}

/// metrics.jsonl without the seconds.
std::string without_seconds(const std::string& metrics);

/// The bytes of a version 1.0 .npy file: a header of this text (completed with spaces), then `data`.
std::string npy_bytes(const std::string& header, const std::string& data);

/// `text` with LINE for the numbers of lines of run/config.toml ("run/config.toml:LINE:8", "   LINE | type = ..."):
/// which line of a resolved configuration it is does not matter. Fails the test where the line that is quoted is
/// another one.
std::string without_resolved_lines(std::string text, const Workshop& workshop);

/// `text` without the folder of the workshop in its paths.
inline std::string without_folder(std::string text, const Workshop& workshop) {
  const std::string folder = workshop.path() + "/";
  for (size_t at; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
  return text;
}

/// `text` with `to` for each `from`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Until `done` says so, for a minute at most.
template <class Done>
bool wait_until(Done done) {
  using Clock = std::chrono::steady_clock;
  for (Clock::time_point begin = Clock::now(); Clock::now() - begin < std::chrono::minutes(1);
       std::this_thread::sleep_for(std::chrono::milliseconds(2)))
    if (done()) return true;
  return false;
}

}  // namespace thtrain
