#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace thtrain {

// A handler reaches nothing but what is static.
static std::atomic<int> g_signal{0};
static std::atomic<bool> g_has_bar{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

static void say(const char* text) {
  int before = errno;
  if (g_has_bar) (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);
  (void)!::write(STDERR_FILENO, text, std::strlen(text));
  errno = before;
}

static void on_signal(int number) {
  if (int none = 0; !g_signal.compare_exchange_strong(none, number)) ::_exit(128 + number);
  say(number == SIGINT ? "stopping after this minibatch, with a checkpoint; Ctrl-C again stops at once\n"
                       : "stopping after this minibatch, with a checkpoint; a second signal stops at once\n");
}

static void on_write_error(int) {}  // write() returns; unlike an ignored signal, what is started has it as ever

static void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

static bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void expect_write_errors() {
  handle(SIGXFSZ, on_write_error);
}

InterruptWatch::InterruptWatch() {
  g_signal = 0;
  g_has_bar = ::isatty(STDERR_FILENO) != 0;
  for (int number : kSignals)
    if (!is_ignored(number)) handle(number, on_signal);
  handle(SIGPIPE, on_write_error);
}
InterruptWatch::~InterruptWatch() {
  for (int number : kSignals)
    if (!is_ignored(number)) handle(number, SIG_DFL);
  handle(SIGPIPE, SIG_DFL);
}

const std::atomic<int>* InterruptWatch::flag() const {
  return &g_signal;
}
void InterruptWatch::ask() {
  int none = 0;
  g_signal.compare_exchange_strong(none, -1);
}
int InterruptWatch::exit_code() const {
  int number = g_signal;
  return number > 0 ? 128 + number : 0;
}

}  // namespace thtrain
