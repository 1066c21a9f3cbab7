#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace thtrain {

// A handler reaches nothing but what is static.
static std::atomic<int> g_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

// A reader of the output that has gone stops the run as Ctrl-C does, however many lines it does not read.
static void on_broken_pipe(int number) {
  int none = 0;
  g_signal.compare_exchange_strong(none, number);
}

static void on_signal(int number) {
  if (g_signal.exchange(number) != 0) ::_exit(128 + number);
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

InterruptWatch::InterruptWatch() {
  g_signal = 0;
  for (int number : {SIGINT, SIGTERM}) handle(number, on_signal);
  handle(SIGPIPE, on_broken_pipe);
}
InterruptWatch::~InterruptWatch() {
  for (int number : {SIGINT, SIGTERM, SIGPIPE}) handle(number, SIG_DFL);
}

const std::atomic<int>* InterruptWatch::flag() const {
  return &g_signal;
}
int InterruptWatch::exit_code() const {
  return 128 + g_signal.load();
}

}  // namespace thtrain
