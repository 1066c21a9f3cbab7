#include "compiler/base/process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>

#include "compiler/base/clock.h"
#include "compiler/base/file_descriptor.h"
#include "compiler/base/str.h"

namespace thtrain {
namespace {

constexpr double kGraceSeconds = 0.5;  // a compiler removes its temporary files when it is asked to end

// What a new process needs to become the program, made before: it shares this one's memory until then.
struct Prepared {
  std::vector<char*> words, environment;
  int files[3], folder, report;
  int signal_at_end;
  pid_t parent;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& set) {
  std::vector<std::string> out;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    if (!set.contains(std::string(text.substr(0, text.find('='))))) out.emplace_back(text);
  }
  for (const auto& [name, value] : set) out.push_back(str(name, "=", value));
  return out;
}

// Numbers above 2: none is in the way of another that is put there instead.
FileDescriptor file_for(int given, int flags) {
  const FileDescriptor nothing(given < 0 ? open("/dev/null", flags | O_CLOEXEC) : -1);
  return FileDescriptor(fcntl(given < 0 ? nothing.get() : given, F_DUPFD_CLOEXEC, 3));
}

// Only what a handler of signals may call, and nothing that changes memory of the parent.
[[noreturn]] void become(const Prepared& p) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler == SIG_DFL) continue;
    const bool may_be_ignored = number == SIGINT || number == SIGTERM || number == SIGHUP;
    if (now.sa_handler != SIG_IGN || !may_be_ignored) ::signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setpgid(0, 0);
  bool is_ready = true;
  for (int i = 0; i < 3; ++i) is_ready = is_ready && dup2(p.files[i], i) == i;
  if (p.folder != AT_FDCWD) is_ready = is_ready && fchdir(p.folder) == 0;
  if (p.signal_at_end != 0) {
    prctl(PR_SET_PDEATHSIG, p.signal_at_end);
    if (getppid() != p.parent) _exit(128 + p.signal_at_end);  // it ended before that held
  }
  if (is_ready) execvpe(p.words[0], p.words.data(), p.environment.data());
  const int error = errno;
  (void)!::write(p.report, &error, sizeof error);
  _exit(127);
}

// Not fork(): a process with much memory would wait for the copy of its page tables.
pid_t make_process(const Prepared& p) {
  const pid_t child = vfork();
  if (child == 0) become(p);
  return child;
}

}  // namespace

Process::Process(const Launch& launch) {
  std::vector<std::string> words = launch.words, environment = environment_with(launch.environment);
  const FileDescriptor files[] = {file_for(launch.input, O_RDONLY), file_for(launch.output, O_WRONLY),
                                  file_for(launch.error, O_WRONLY)};
  auto [report, written] = make_pipe();  // the errno of what fails; it closes where the program runs
  FileDescriptor report_end(fcntl(written.get(), F_DUPFD_CLOEXEC, 3));
  written.reset();
  for (const int file : {files[0].get(), files[1].get(), files[2].get(), report_end.get()})
    if (file < 0) error_ = errno;
  if (error_ != 0) return;
  const Prepared prepared{pointers_to(words),
                          pointers_to(environment),
                          {files[0].get(), files[1].get(), files[2].get()},
                          launch.folder,
                          report_end.get(),
                          launch.signal_at_end,
                          getpid()};
  // No handler of this process may run in the new one.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = make_process(prepared);
  if (child < 0) error_ = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return;
  id_ = child;
  report_end.reset();
  if (const std::optional<std::string> error = read_all(report.get(), sizeof error_)) {
    std::memcpy(&error_, error->data(), sizeof error_);
    wait();
  }
}

Process::~Process() {
  if (id_ == 0) return;
  signal(SIGKILL);
  wait();
}

bool Process::has_ended() const {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid == id_;
  return errno == ECHILD;  // a program that ignores SIGCHLD is not told how it ended
}

void Process::signal(int number) const {
  if (id_ > 0) kill(-id_, number);
}

ProcessEnd Process::wait() {
  int status = 0;
  pid_t waited;
  do waited = waitpid(id_, &status, 0);
  while (waited < 0 && errno == EINTR);
  id_ = 0;
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

ProcessEnd Process::stop() {
  signal(SIGTERM);
  for (const double asked = seconds_now(); !has_ended() && seconds_now() - asked < kGraceSeconds;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  signal(SIGKILL);
  return wait();
}

std::string signal_text(int number) {
#if defined(__GLIBC__)
  if (const char* name = sigabbrev_np(number)) return str("SIG", name, " (", sigdescr_np(number), ")");
#endif
  return str("signal ", number, " (", strsignal(number), ")");
}

}  // namespace thtrain
