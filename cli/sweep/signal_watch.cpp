#include "cli/sweep/signal_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "compiler/base/error.h"
#include "compiler/base/system_error.h"

namespace thtrain {

// A handler reaches nothing but what is static.
static std::atomic<int> g_first{0}, g_stops{0};
static int g_pipe[2] = {-1, -1};  // a byte in it wakes wait()

static constexpr std::array kWatchedSignals = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE};

static void wake() {
  const int before = errno;
  (void)!::write(g_pipe[1], "", 1);  // a full pipe wakes as well
  errno = before;
}

static void on_stop(int number) {
  if (g_stops.fetch_add(1) == 0) g_first = number;
  wake();
}
static void on_child(int) {
  wake();
}
static void on_broken_pipe(int) {}  // write() returns

SignalWatch::SignalWatch() {
  g_first = g_stops = 0;
  if (::pipe2(g_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
    throw UserError(Message{.what = "no pipe can be made",
                            .expected = "two descriptors that are free",
                            .got = system_error_text(errno),
                            .hint = "`ulimit -n` raises the limit of a process"});
  for (size_t i = 0; i < kWatchedSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = kWatchedSignals[i] == SIGCHLD   ? on_child
                        : kWatchedSignals[i] == SIGPIPE ? on_broken_pipe
                                                        : on_stop;
    action.sa_flags = SA_RESTART;
    ::sigaction(kWatchedSignals[i], nullptr, &before_[i]);
    if (kWatchedSignals[i] == SIGCHLD || before_[i].sa_handler != SIG_IGN)
      ::sigaction(kWatchedSignals[i], &action, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  for (size_t i = 0; i < kWatchedSignals.size(); ++i) ::sigaction(kWatchedSignals[i], &before_[i], nullptr);
  for (int descriptor : g_pipe) ::close(descriptor);
}

int SignalWatch::stops() const {
  return g_stops;
}
int SignalWatch::signal() const {
  return g_first;
}

void SignalWatch::wait(double seconds) {
  pollfd woken{g_pipe[0], POLLIN, 0};
  if (::poll(&woken, 1, static_cast<int>(seconds * 1000)) <= 0) return;
  char bytes[64];
  while (::read(g_pipe[0], bytes, sizeof bytes) > 0) {
  }
}

}  // namespace thtrain
