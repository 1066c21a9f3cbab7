#include "compiler/base/run_program.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "compiler/base/clock.h"
#include "compiler/base/error.h"
#include "compiler/base/file_descriptor.h"
#include "compiler/base/system_error.h"

namespace thtrain {
namespace {

constexpr int kPollMilliseconds = 50;  // how soon a signal and the limit are seen
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

/// The slot of a process group in the table of those that run.
class RunningGroup {
 public:
  explicit RunningGroup(pid_t group) {
    for (auto& slot : running_groups) {
      pid_t none = 0;
      if (slot.compare_exchange_strong(none, group)) {
        slot_ = &slot;
        return;
      }
    }
  }
  ~RunningGroup() {
    if (slot_) *slot_ = 0;
  }
  RunningGroup(const RunningGroup&) = delete;
  RunningGroup& operator=(const RunningGroup&) = delete;

 private:
  std::atomic<pid_t>* slot_ = nullptr;
};

/// What a program writes.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) { fcntl(fd, F_SETFL, O_NONBLOCK); }

  void read_or_rest() {
    if (is_closed_) return std::this_thread::sleep_for(rest_ = std::min(2 * rest_, kLongestRest));
    pollfd waiting{fd_, POLLIN, 0};
    if (poll(&waiting, 1, kPollMilliseconds) > 0) read();
  }
  // At most a megabyte at once: between such parts a signal and the limit are seen.
  void read() {
    char buffer[16384];
    for (int parts = 0; !is_closed_ && parts < 64; ++parts) {
      const ssize_t got = ::read(fd_, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0)
        is_closed_ = true;
      else
        text_.append(buffer, static_cast<size_t>(got));
      if (text_.size() > 4 * kMaxOfEachEnd) text_.erase(kMaxOfEachEnd, text_.size() - 2 * kMaxOfEachEnd);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  static constexpr std::chrono::microseconds kLongestRest{20000};
  int fd_;
  std::chrono::microseconds rest_{100};
  bool is_closed_ = false;
  std::string text_;
};

}  // namespace

void set_interrupt_flag(const std::atomic<int>* flag) {
  host_flag = flag;
}

void kill_running_programs() noexcept {
  for (auto& slot : running_groups)
    if (pid_t group = slot.load(); group > 0) kill(-group, SIGKILL);
}

bool is_program_running() noexcept {
  return std::any_of(running_groups.begin(), running_groups.end(), [](const auto& slot) { return slot.load() > 0; });
}

double limit_of(const char* variable, double otherwise, const std::string& expected) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return otherwise;
  double seconds = -1;
  const char* end = text + std::strlen(text);
  auto [rest, error] = std::from_chars(text, end, seconds);
  if (error != std::errc() || rest != end || !std::isfinite(seconds) || seconds < 0)
    throw UserError({.what = str(variable, " is not a time"), .expected = expected, .got = text});
  return seconds;
}

Finished run_program(Launch launch, const RunOptions& options) {
  auto [output_end, written] = make_pipe();
  if (output_end.get() < 0) return {-1, "", str("no pipe: ", system_error_text(errno)), 0, false};
  launch.output = launch.error = written.get();
  Output output(output_end.get());
  SignalsNoted noted;
  Process process(launch);
  written.reset();
  if (process.error() != 0) return {-1, "", str("cannot start it: ", system_error_text(process.error())), 0, false};
  const RunningGroup group(process.id());
  const double begin = seconds_now();
  while (!process.has_ended()) {
    output.read_or_rest();
    const double seconds = seconds_now() - begin;
    if (int number = signal_that_came()) {
      process.stop();
      throw Interrupted(number, str(launch.words[0], " was ended by ", signal_text(number)));
    }
    if (options.limit_seconds > 0 && seconds > options.limit_seconds) {
      process.stop();
      output.read();
      return {-1, output.take(), str("it did not end within ", options.limit_seconds, " s"), 0, true};
    }
    if (options.is_cancelled && *options.is_cancelled) {
      process.stop();
      return {-1, output.take(), "another program of its group failed", SIGTERM, false};
    }
    if (options.waiting) options.waiting(seconds);
  }
  output.read();
  const ProcessEnd end = process.wait();
  if (end.signal == 0) return {end.exit_code, output.take(), "", 0, false};
  return {-1, output.take(), "ended by " + signal_text(end.signal), end.signal, false};
}

}  // namespace thtrain
