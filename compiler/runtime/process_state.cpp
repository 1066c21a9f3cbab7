#include "compiler/runtime/process_state.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cfenv>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace thtrain {
namespace {

// How numbers are rounded, and whether small ones become 0.
uint32_t floating_point() {
#if defined(__x86_64__)
  constexpr uint32_t kFlags = 0x3F;  // of what happened
  return _mm_getcsr() & ~kFlags;
#else
  return static_cast<uint32_t>(std::fegetround());
#endif
}

void (*handler_of(int number))(int) {
  struct sigaction now {};
  sigaction(number, nullptr, &now);
  return now.sa_handler;
}

bool has_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool is_same(const sigset_t& a, const sigset_t& b) {
  for (int number = 1; number < NSIG; ++number)
    if (sigismember(&a, number) != sigismember(&b, number)) return false;
  return true;
}

}  // namespace

ProcessState::ProcessState() : process_(getpid()), floating_point_(floating_point()) {
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked_);
  for (size_t i = 0; i < kSignals.size(); ++i) handlers_[i] = handler_of(kSignals[i]);
  struct stat info {};
  if (stat(".", &info) == 0) {
    folder_device_ = info.st_dev;
    folder_ = info.st_ino;
  }
}

std::string ProcessState::change() const {
  if (getpid() != process_) _exit(0);
  const ProcessState now;
  if (now.floating_point_ != floating_point_) return kChangedRounding;
  if (!is_same(now.blocked_, blocked_)) return "changed which signals are blocked";
  if (now.handlers_ != handlers_) return "changed what signals do";
  if (now.folder_ != folder_ || now.folder_device_ != folder_device_) return "changed the working folder";
  if (has_children()) return "started a process";
  return {};
}

}  // namespace thtrain
