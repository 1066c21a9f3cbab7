#include "cli/sweep/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/file_descriptor.h"
#include "compiler/base/system_error.h"

namespace thtrain {

namespace {

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
  for (const Running& one : running_) one.process->wait();
}

bool Processes::start(int64_t id, const std::vector<std::string>& arguments, int threads, const std::string& log) {
  // A pipe that nobody reads would be waited for.
  const FileDescriptor file(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  struct stat status {};
  if (const int error = errno; file.get() < 0) {
    const bool is_there = ::lstat(log.c_str(), &status) == 0;
    throw is_there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) ? no_log(log) : write_error(log, error);
  }
  ::fstat(file.get(), &status);
  if (!S_ISREG(status.st_mode)) throw no_log(log);
  ::fcntl(file.get(), F_SETFL, O_APPEND);
  std::vector<std::string> words = {"/proc/self/exe"};
  if (!launch_.empty()) {  // it may begin in another environment
    words = launch_;
    for (const std::string& word : {std::string("env"), str("OMP_NUM_THREADS=", threads),
                                    std::filesystem::read_symlink("/proc/self/exe").string()})
      words.push_back(word);
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto process = std::make_unique<Process>(Launch{.words = std::move(words),
                                                  .environment = {{"OMP_NUM_THREADS", std::to_string(threads)}},
                                                  .output = file.get(),
                                                  .error = file.get(),
                                                  .signal_at_end = SIGTERM});
  if (process->error() != 0 && !running_.empty()) return false;
  if (process->error() != 0)
    throw UserError(Message{.what = "the process of a run cannot be started",
                            .got = system_error_text(process->error()),
                            .hint = launch_.empty() ? "--jobs lets fewer run at once"
                                                    : str("--launch begins the command with ", launch_.front())});
  running_.push_back({id, log, status.st_size, std::move(process)});
  return true;
}

std::vector<int64_t> Processes::ids() const {
  std::vector<int64_t> out;
  for (const Running& one : running_) out.push_back(one.id);
  return out;
}

void Processes::signal(int number) const {
  for (const Running& one : running_) one.process->signal(number);
}

std::vector<EndedProcess> Processes::ended() {
  std::vector<EndedProcess> out;
  std::erase_if(running_, [&](const Running& one) {
    if (!one.process->has_ended()) return false;
    const ProcessEnd end = one.process->wait();
    out.push_back({one.id, end.exit_code, end.signal, end.exit_code != 0 ? first_error(one.log, one.log_start) : ""});
    return true;
  });
  return out;
}

}  // namespace thtrain
