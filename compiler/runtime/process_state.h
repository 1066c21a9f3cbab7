// What code that is called may not change of the process around it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>

namespace thtrain {

constexpr const char* kChangedRounding = "changed how the processor rounds";

/// The state of this process and thread where it was built.
class ProcessState {
 public:
  ProcessState();
  /// What differs now: kChangedRounding, "changed the working folder"; empty where nothing does. In a process that is a
  /// copy (fork) the copy ends.
  std::string change() const;

 private:
  // Those that thtrain handles, or lets end a process that is tried.
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGBUS, SIGABRT, SIGALRM};

  pid_t process_;
  uint32_t floating_point_;
  sigset_t blocked_;
  std::array<void (*)(int), kSignals.size()> handlers_;
  dev_t folder_device_ = 0;
  ino_t folder_ = 0;
};

}  // namespace thtrain
