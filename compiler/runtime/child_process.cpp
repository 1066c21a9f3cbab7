#include "compiler/runtime/child_process.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "compiler/base/system_error.h"
#include "compiler/runtime/trusted_folder.h"

namespace thtrain {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kDefaultLimit = 600;
constexpr int kPollMilliseconds = 50;  // how soon a signal and the limit are seen
constexpr double kGraceSeconds = 0.5;  // a compiler removes its temporary files when it is asked to end
// Of the output, so much of its beginning and of its end is kept.
constexpr size_t kMaxOfEachEnd = size_t{128} << 10;

// What handlers of signals reach must be static.
std::atomic<const std::atomic<int>*> host_flag{nullptr};
std::atomic<int> own_flag{0};
std::array<std::atomic<pid_t>, 64> running_groups{};
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// The second signal does not wait for anything.
void on_signal(int number) {
  if (own_flag.exchange(number) == 0) return;
  kill_running_programs();
  signal(number, SIG_DFL);
  raise(number);
}

/// While it lives, signals that would end this process by their default are noted in own_flag.
class SignalsNoted {
 public:
  SignalsNoted() {
    std::lock_guard lock(mutex());
    if (count()++ > 0) return;
    own_flag = 0;
    for (int number : kSignals) {
      struct sigaction now {};
      if (sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) continue;
      struct sigaction ours {};
      ours.sa_handler = on_signal;
      ours.sa_flags = SA_RESTART;
      sigaction(number, &ours, nullptr);
    }
  }
  ~SignalsNoted() {
    std::lock_guard lock(mutex());
    if (--count() > 0) return;
    for (int number : kSignals) {
      struct sigaction now {};
      if (sigaction(number, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == on_signal)
        signal(number, SIG_DFL);
    }
    // One that came just now, too late for a program to be ended, still ends this process.
    if (int number = own_flag.exchange(0)) raise(number);
  }
  SignalsNoted(const SignalsNoted&) = delete;
  SignalsNoted& operator=(const SignalsNoted&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex once;
    return once;
  }
  static int& count() {
    static int once = 0;
    return once;
  }
};

int signal_that_came() {
  const std::atomic<int>* flag = host_flag.load();
  int number = flag ? flag->load() : 0;
  return number != 0 ? number : own_flag.load();
}

/// The place of a process group in the table of those that run.
class RunningGroup {
 public:
  explicit RunningGroup(pid_t group) {
    for (auto& place : running_groups) {
      pid_t none = 0;
      if (place.compare_exchange_strong(none, group)) {
        place_ = &place;
        return;
      }
    }
  }
  ~RunningGroup() {
    if (place_) *place_ = 0;
  }
  RunningGroup(const RunningGroup&) = delete;
  RunningGroup& operator=(const RunningGroup&) = delete;

 private:
  std::atomic<pid_t>* place_ = nullptr;
};

/// The environment of a compiler: ours, with messages in English.
std::vector<std::string> english_environment() {
  std::vector<std::string> out;
  for (char** variable = environ; *variable; ++variable) {
    std::string_view text = *variable;
    bool is_language = text.starts_with("LC_") || text.starts_with("LANG=") || text.starts_with("LANGUAGE=");
    if (!is_language) out.emplace_back(text);
  }
  out.emplace_back("LC_ALL=C");
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// "SIGKILL (Killed)"
std::string signal_text(int number) {
#if defined(__GLIBC__)
  if (const char* name = sigabbrev_np(number)) return str("SIG", name, " (", sigdescr_np(number), ")");
#endif
  return str("signal ", number, " (", strsignal(number), ")");
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void sleep_for(double seconds) {
  timespec time{0, static_cast<long>(seconds * 1e9)};
  nanosleep(&time, nullptr);
}

/// A program that was started: waits for it and ends it.
class Child {
 public:
  Child(pid_t child, int output, std::string name, const RunOptions& options)
      : child_(child), output_(output), name_(std::move(name)), options_(options), group_(child) {}

  Finished wait() {
    while (!has_ended()) {
      read_or_rest();
      double seconds = seconds_since(begin_);
      if (int number = signal_that_came()) {
        end();
        throw Interrupted(number, str(name_, " was ended by ", signal_text(number)));
      }
      const bool is_silent = silence_ > 0 && seconds_since(heard_) > silence_;
      if (is_silent || (options_.limit_seconds > 0 && seconds > options_.limit_seconds)) {
        end();
        read_what_is_there();
        const std::string trouble = is_silent ? str("it wrote nothing for ", silence_, " s")
                                              : str("it did not end within ", options_.limit_seconds, " s");
        return {-1, std::move(text_), trouble, 0, true};
      }
      if (options_.group && options_.group->is_cancelled) {
        end();
        return {-1, std::move(text_), "another program of its group failed", SIGTERM, false};
      }
      if (options_.word_after > 0 && seconds > options_.word_after && !std::exchange(told_, true)) tell();
    }
    read_what_is_there();
    if (options_.ends_others) kill(-child_, SIGKILL);
    return reap();
  }

 private:
  // It is not reaped: its group's number stays its own.
  bool has_ended() {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid == child_;
    // A host program that ignores SIGCHLD leaves no status: what the program wrote must speak for itself.
    return errno == ECHILD && is_closed_;
  }

  void read_or_rest() {
    if (is_closed_) {
      sleep_for(rest_ = std::min(2 * rest_, 0.02));
      return;
    }
    pollfd waiting{output_, POLLIN, 0};
    if (poll(&waiting, 1, kPollMilliseconds) > 0) read_what_is_there();
  }

  // At most a megabyte at once: between such parts a signal and the limit are seen.
  void read_what_is_there() {
    const size_t before = read_;
    read_parts();
    if (!options_.limit_of_silence || read_ == before) return;
    heard_ = Clock::now();
    silence_ = options_.limit_of_silence(text_);
  }

  void read_parts() {
    char buffer[16384];
    for (int parts = 0; !is_closed_ && parts < 64; ++parts) {
      ssize_t got = ::read(output_, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0)
        is_closed_ = true;
      else
        append({buffer, static_cast<size_t>(got)});
    }
  }

  void append(std::string_view part) {
    read_ += part.size();
    text_.append(part);
    if (text_.size() > 4 * kMaxOfEachEnd) text_.erase(kMaxOfEachEnd, text_.size() - 2 * kMaxOfEachEnd);
  }

  void end() {
    kill(-child_, SIGTERM);
    for (Clock::time_point asked = Clock::now(); !has_ended() && seconds_since(asked) < kGraceSeconds;)
      sleep_for(0.005);
    kill(-child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  Finished reap() {
    int status = 0;
    pid_t waited;
    do waited = waitpid(child_, &status, 0);
    while (waited < 0 && errno == EINTR);
    if (waited < 0) return {0, std::move(text_), "", 0, false};
    if (WIFEXITED(status)) return {WEXITSTATUS(status), std::move(text_), "", 0, false};
    int number = WTERMSIG(status);
    return {-1, std::move(text_), "ended by " + signal_text(number), number, false};
  }

  void tell() const {
    if (options_.group && options_.group->was_told.exchange(true)) return;
    std::string limit = options_.limit_seconds > 0
                            ? str(", and THTRAIN_COMPILE_LIMIT after ", options_.limit_seconds, " s")
                            : std::string();
    std::fprintf(stderr, "thtrain: compiling: %s has been running for %.0f s; Ctrl-C stops it%s\n",
                 printable(name_).c_str(), std::floor(seconds_since(begin_)), limit.c_str());
  }

  pid_t child_;
  int output_;
  std::string name_;
  const RunOptions& options_;
  RunningGroup group_;
  Clock::time_point begin_ = Clock::now(), heard_ = begin_;
  double silence_ = 0;  // from heard_ on; 0: none
  size_t read_ = 0;     // bytes
  double rest_ = 0.0001;
  bool is_closed_ = false, told_ = false;
  std::string text_;
};

/// The process, or 0 and the error's number.
std::pair<pid_t, int> spawn(const std::vector<std::string>& arguments, int folder, int output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  if (folder != AT_FDCWD) posix_spawn_file_actions_addfchdir_np(&files, folder);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> words = arguments, environment = english_environment();
  pid_t child = 0;
  int error = posix_spawn(&child, words[0].c_str(), &files, &attributes, pointers_to(words).data(),
                          pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return {error == 0 ? child : 0, error};
}

}  // namespace

void set_interrupt_flag(const std::atomic<int>* flag) {
  host_flag = flag;
}

void kill_running_programs() noexcept {
  for (auto& place : running_groups)
    if (pid_t group = place.load(); group > 0) kill(-group, SIGKILL);
}

bool is_program_running() noexcept {
  return std::any_of(running_groups.begin(), running_groups.end(), [](const auto& place) { return place.load() > 0; });
}

double compile_limit() {
  const char* text = std::getenv("THTRAIN_COMPILE_LIMIT");
  if (!text || !*text) return kDefaultLimit;
  double seconds = -1;
  const char* end = text + std::strlen(text);
  auto [rest, error] = std::from_chars(text, end, seconds);
  if (error != std::errc() || rest != end || !std::isfinite(seconds) || seconds < 0)
    throw UserError({.what = "THTRAIN_COMPILE_LIMIT is not a time",
                     .expected = "seconds that one run of the compiler may take, or 0 for no limit",
                     .got = text});
  return seconds;
}

Finished run_program(const std::vector<std::string>& arguments, const RunOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, "", str("no pipe: ", system_error_text(errno)), 0, false};
  FileDescriptor output(ends[0]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  SignalsNoted noted;
  auto [child, error] = spawn(arguments, options.folder, ends[1]);
  close(ends[1]);
  if (error != 0) return {-1, "", str("cannot start it: ", system_error_text(error)), 0, false};
  return Child(child, output.get(), arguments[0], options).wait();
}

}  // namespace thtrain
