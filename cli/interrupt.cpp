#include "cli/interrupt.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "compiler/base/run_program.h"

namespace thtrain {

// A handler reaches nothing but what is static.
static std::atomic<int> g_signal{0};  // the first that came
static std::atomic<int> g_stop{0};    // not 0: the run is to end
static std::atomic<bool> g_has_bar{false}, g_is_quiet{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

static void say(const char* text) {
  if (g_is_quiet) return;
  int before = errno;
  if (g_has_bar) (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);
  (void)!::write(STDERR_FILENO, text, std::strlen(text));
  errno = before;
}

static void on_signal(int number) {
  if (g_signal.exchange(number) != 0) {
    kill_running_programs();
    ::_exit(128 + number);
  }
  g_stop = 1;
  if (is_program_running()) return say("stopping; the compiler is ended\n");
  say(number == SIGINT ? "stopping after this minibatch, with a checkpoint; Ctrl-C again stops at once\n"
                       : "stopping after this minibatch, with a checkpoint; a second signal stops at once\n");
}

static void on_write_error(int) {}  // write() returns; unlike an ignored signal, what is started has it as ever

static struct sigaction action_of(void (*handler)(int)) {
  struct sigaction out {};
  out.sa_handler = handler;
  out.sa_flags = SA_RESTART;
  return out;
}

void expect_write_errors() {
  struct sigaction action = action_of(on_write_error);
  ::sigaction(SIGXFSZ, &action, nullptr);
}

InterruptWatch::InterruptWatch(bool quiet) {
  g_is_quiet = quiet;
  g_signal = g_stop = 0;
  g_has_bar = ::isatty(STDERR_FILENO) != 0;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action = action_of(kSignals[i] == SIGPIPE ? on_write_error : on_signal);
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
  set_interrupt_flag(&g_signal);
}
InterruptWatch::~InterruptWatch() {
  set_interrupt_flag(nullptr);
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

const std::atomic<int>* InterruptWatch::flag() const {
  return &g_stop;
}
void InterruptWatch::ask() {
  g_stop = 1;
}
int InterruptWatch::exit_code() const {
  int number = g_signal;
  return number != 0 ? 128 + number : 0;
}

}  // namespace thtrain
