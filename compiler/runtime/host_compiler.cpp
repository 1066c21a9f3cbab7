#include "compiler/runtime/host_compiler.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/runtime/content_hash.h"

namespace thtrain {
namespace {

/// The environment of a compiler: ours, with messages in English.
std::vector<std::string> english_environment() {
  std::vector<std::string> out;
  for (char** variable = environ; *variable; ++variable) {
    std::string_view text = *variable;
    bool is_language = text.starts_with("LC_") || text.starts_with("LANG=") || text.starts_with("LANGUAGE=");
    if (!is_language) out.emplace_back(text);
  }
  out.emplace_back("LC_ALL=C");
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::string read_until_closed(int fd) {
  std::string out;
  char buffer[4096];
  while (true) {
    ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return out;
    out.append(buffer, static_cast<size_t>(got));
  }
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The compiler's own first complaint, which may stand after lines that only say where.
std::string first_error_line(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (line.find("error") != std::string::npos || line.find("undefined") != std::string::npos) return line;
  return first_line(output);
}

std::optional<struct stat> program_at(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || access(path.c_str(), X_OK) != 0) return std::nullopt;
  return info;
}

/// `name` itself where it has a slash, else the first program of that name on `path`; "" where there is none.
std::string on_path(const std::string& name, const char* path) {
  if (name.find('/') != std::string::npos) return program_at(name) ? name : "";
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && program_at(str(folder, "/", name))) return str(folder, "/", name);
  return {};
}

/// The compiler at `path`, or why it is none.
CompilerSearch identify(EntryStore& store, const std::string& path) {
  auto info = program_at(path);
  if (!info) return {std::nullopt, str(path, " is not a program")};
  std::string name = content_hash({path, std::to_string(info->st_size), std::to_string(info->st_mtim.tv_sec),
                                   std::to_string(info->st_mtim.tv_nsec)});
  if (auto known = store.read("compilers", name)) return {HostCompiler{path, known->content}, ""};
  detail::Finished version = detail::run_program({path, "--version"});
  std::string identity = first_line(version.output);
  if (version.exit_code != 0 || identity.empty())
    return {std::nullopt, str(path, " --version failed: ", version.trouble.empty() ? identity : version.trouble)};
  store.write("compilers", name, identity);
  return {HostCompiler{path, identity}, ""};
}

}  // namespace

detail::Finished detail::run_program(const std::vector<std::string>& arguments) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return {-1, "", str("no pipe: ", std::strerror(errno))};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, pipe_ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> words = arguments, environment = english_environment();
  pid_t child = 0;
  int error = posix_spawn(&child, words[0].c_str(), &files, &attributes, pointers_to(words).data(),
                          pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(pipe_ends[1]);
  Finished out;
  if (error == 0) out.output = read_until_closed(pipe_ends[0]);
  close(pipe_ends[0]);
  if (error != 0) return {-1, "", str("cannot start it: ", std::strerror(error))};

  int status = 0;
  pid_t waited;
  do waited = waitpid(child, &status, 0);
  while (waited < 0 && errno == EINTR);
  // A host program that ignores SIGCHLD leaves no status: what the program wrote must speak for itself.
  if (waited < 0) return out;
  if (WIFEXITED(status))
    out.exit_code = WEXITSTATUS(status);
  else
    out = {-1, out.output, str("ended by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")")};
  return out;
}

CompilerSearch find_host_compiler(EntryStore& store, const char* wanted, const char* path) {
  if (wanted) {
    if (!*wanted) return {std::nullopt, "THTRAIN_CXX is empty"};
    std::string found = on_path(wanted, path);
    if (found.empty()) return {std::nullopt, str("THTRAIN_CXX names ", wanted, ", which is not a program")};
    return identify(store, found);
  }
  std::string reason;
  for (const char* name : {"g++", "clang++"}) {
    std::string found = on_path(name, path);
    if (found.empty()) continue;
    CompilerSearch search = identify(store, found);
    if (search.compiler) return search;
    reason += str(reason.empty() ? "" : "; ", search.reason);
  }
  return {std::nullopt, reason.empty() ? "neither g++ nor clang++ is on PATH" : reason};
}

std::string generated_flags() {
#ifdef THTRAIN_GENERATED_FLAGS
  return THTRAIN_GENERATED_FLAGS;
#else
  return "";
#endif
}

std::vector<std::string> compile_flags(const HostCompiler& compiler, const Cpu& cpu) {
  bool x86 = cpu.architecture == "x86-64";
  // Loops that matter are printed as explicit vectors and run alike at every level, but for g++'s -O1 on long products
  // (8 % slower): what of -O2 they need is listed. The lab's MLP takes 0.7 s so, and 1.05 s with -O2.
  std::vector<std::string> flags = {compiler.is_clang() ? "-O2" : "-O1", "-std=gnu++17"};
  if (!compiler.is_clang())
    flags.insert(flags.end(), {"-fexpensive-optimizations", "-fgcse", "-fschedule-insns2", "-fstrict-aliasing",
                               "-finline-small-functions", "-fno-tree-bit-ccp", "-ftree-vectorize",
                               "-fvect-cost-model=dynamic", "--param", "vect-epilogues-nomask=0"});
  flags.push_back(x86 ? "-march=native" : "-mcpu=native");
  if (x86 && cpu.vector_bytes == 64) flags.push_back("-mprefer-vector-width=512");
  // Contraction would change bits with fusion and with the compiler; the other two change none that a program sees.
  flags.insert(flags.end(), {"-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared",
                             "-fno-exceptions", "-fno-rtti", "-w"});
  std::istringstream added(generated_flags());
  bool instrumented = false;
  for (std::string flag; added >> flag; instrumented = true) flags.push_back(flag);
  if (!instrumented) flags.push_back("-nostdlib");  // nothing of it is used, and linking it takes longer than compiling
  return flags;
}

void compile_object(const HostCompiler& compiler, const std::vector<std::string>& flags, const std::string& source,
                    const std::string& output) {
  std::vector<std::string> command = {compiler.path};
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"-o", output, source});
#if defined(__x86_64__)
  command.push_back("-lmvec");
#endif
  command.push_back("-lm");
  detail::Finished finished = detail::run_program(command);
  struct stat info;
  bool written = stat(output.c_str(), &info) == 0 && info.st_size > 0;
  if (finished.exit_code == 0 && written) return;
  std::string reason = !finished.trouble.empty() ? finished.trouble : first_error_line(finished.output);
  throw InternalError({.what = "generated code did not compile",
                       .got = reason.empty() ? str("exit code ", finished.exit_code) : reason,
                       .node = str("generated source ", source),
                       .hint = str("command: ", join(command, " "))});
}

}  // namespace thtrain
