#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "compiler/runtime/child_process.h"

namespace thtrain {

// A handler reaches nothing but what is static.
static std::atomic<int> g_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

static void on_signal(int number) {
  if (g_signal.exchange(number) == 0) return;
  kill_running_programs();
  ::_exit(128 + number);
}

static void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
}

InterruptWatch::InterruptWatch() {
  g_signal = 0;
  handle(on_signal);
  set_interrupt_flag(&g_signal);
}
InterruptWatch::~InterruptWatch() {
  set_interrupt_flag(nullptr);
  handle(SIG_DFL);
}

const std::atomic<int>* InterruptWatch::flag() const {
  return &g_signal;
}
int InterruptWatch::exit_code() const {
  return 128 + g_signal.load();
}

}  // namespace thtrain
