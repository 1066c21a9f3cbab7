#include "cli/sweep/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "compiler/base/error.h"
#include "compiler/base/system_error.h"
#include "datasets/file.h"

namespace thtrain {

namespace {

// "NAME=value" of every variable, with this number of threads.
std::vector<std::string> environment(int threads) {
  std::vector<std::string> out = {str("OMP_NUM_THREADS=", threads)};
  for (char** at = environ; *at; ++at)
    if (!std::string_view(*at).starts_with("OMP_NUM_THREADS=")) out.emplace_back(*at);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

/// Signals that ask to stop wait while it lives, so that none meets a child that still has the handlers of its parent.
class StopsBlocked {
 public:
  StopsBlocked() {
    sigset_t stops;
    ::sigemptyset(&stops);
    for (int number : kStops) ::sigaddset(&stops, number);
    ::sigprocmask(SIG_BLOCK, &stops, &before_);
  }
  ~StopsBlocked() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  StopsBlocked(const StopsBlocked&) = delete;
  StopsBlocked& operator=(const StopsBlocked&) = delete;

  /// In the child: what came meanwhile ends it, but for signals that are ignored.
  void unblock_in_child() const {
    for (int number : kStops) {
      struct sigaction now {};
      if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::signal(number, SIG_DFL);
    }
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  static constexpr std::array kStops = {SIGINT, SIGTERM, SIGHUP};
  sigset_t before_;
};

// Between fork() and the new program only what a handler of signals may call.
[[noreturn]] void become(char* const* arguments, char* const* variables, int log, pid_t parent,
                         const StopsBlocked& stops) {
  stops.unblock_in_child();
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(128 + SIGTERM);  // it ended before that held
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(log, 1) < 0 || ::dup2(log, 2) < 0) ::_exit(127);
  ::execve("/proc/self/exe", arguments, variables);
  ::_exit(127);
}

// The first line from byte `start` on that begins as errors do.
std::string first_error(const std::string& path, int64_t start) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(start);
  const std::string begin = "error: ";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(begin)) return line.substr(begin.size());
  return "";
}

UserError no_log(const std::string& path) {
  return UserError(Message{.what = str(path, ": the log of a run cannot be written"),
                           .expected = "a file, or a name that is free",
                           .got = "a link, a pipe or a device"});
}

}  // namespace

Processes::~Processes() {
  signal(SIGTERM);
  for (const auto& [process, what] : processes_) ::waitpid(process, nullptr, 0);
}

bool Processes::start(int64_t id, const std::vector<std::string>& arguments, int threads, const std::string& log) {
  std::vector<std::string> words = arguments, variables = environment(threads);
  words.insert(words.begin(), "thtrain");
  std::vector<char*> word_pointers = pointers(words), variable_pointers = pointers(variables);
  // A pipe that nobody reads would be waited for.
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  struct stat status {};
  if (const int error = errno; file < 0) {
    const bool is_there = ::lstat(log.c_str(), &status) == 0;
    throw is_there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) ? no_log(log) : write_error(log, error);
  }
  ::fstat(file, &status);
  if (!S_ISREG(status.st_mode)) {
    ::close(file);
    throw no_log(log);
  }
  ::fcntl(file, F_SETFL, O_APPEND);
  const pid_t parent = ::getpid();
  const StopsBlocked stops;
  const pid_t process = ::fork();
  if (process == 0) become(word_pointers.data(), variable_pointers.data(), file, parent, stops);
  const int error = errno;
  ::close(file);
  if (process < 0 && !processes_.empty()) return false;
  if (process < 0)
    throw UserError(Message{.what = "the process of a run cannot be started",
                            .got = system_error_text(error),
                            .hint = "--jobs lets fewer run at once"});
  processes_[process] = {id, log, status.st_size};
  return true;
}

std::vector<int64_t> Processes::ids() const {
  std::vector<int64_t> out;
  for (const auto& [process, what] : processes_) out.push_back(what.id);
  return out;
}

void Processes::signal(int number) const {
  for (const auto& [process, what] : processes_) ::kill(process, number);
}

std::vector<EndedProcess> Processes::ended() {
  std::vector<EndedProcess> out;
  for (auto at = processes_.begin(); at != processes_.end();) {
    int status = 0;
    if (::waitpid(at->first, &status, WNOHANG) != at->first) {
      ++at;
      continue;
    }
    EndedProcess one{.id = at->second.id};
    if (WIFSIGNALED(status)) one.signal = WTERMSIG(status);
    one.code = WIFSIGNALED(status) ? 128 + one.signal : WEXITSTATUS(status);
    if (one.code != 0) one.message = first_error(at->second.log, at->second.log_start);
    if (one.code == 127 && one.message.empty()) one.message = "the program cannot be started anew";
    out.push_back(std::move(one));
    at = processes_.erase(at);
  }
  return out;
}

}  // namespace thtrain
