#include "compiler/host/host_compiler.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "compiler/base/content_hash.h"
#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "compiler/base/run_program.h"
#include "compiler/host/shared_object.h"

namespace thtrain {
namespace {

constexpr double kDefaultLimit = 600;  // seconds

/// Runs a compiler with messages in English. A line on standard error says so when it takes long.
Finished run(const std::vector<std::string>& command, int folder, CompilerGroup& group) {
  const double limit = compile_limit();
  auto tell = [&](double seconds) {
    if (seconds < group.word_after || group.was_told.exchange(true)) return;
    std::fprintf(stderr, "thtrain: compiling: %s has been running for %.0f s; Ctrl-C stops it%s\n",
                 printable(command[0]).c_str(), std::floor(seconds),
                 limit > 0 ? str(", and THTRAIN_COMPILE_LIMIT after ", limit, " s").c_str() : "");
  };
  return run_program({.words = command, .environment = {{"LC_ALL", "C"}}, .folder = folder},
                     {.limit_seconds = limit, .is_cancelled = &group.is_cancelled, .waiting = tell});
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The compiler's own first complaint, which may be after lines that only say where.
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
  // Absolute: it is run in another folder.
  if (name.find('/') != std::string::npos) return program_at(name) ? std::filesystem::absolute(name).string() : "";
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && program_at(str(folder, "/", name)))
      return std::filesystem::absolute(str(folder, "/", name)).string();
  return {};
}

std::string why_it_failed(const Finished& version) {
  if (!version.trouble.empty()) return version.trouble;
  std::string line = first_line(version.output);
  if (!line.empty()) return printable(line);
  return version.exit_code == 0 ? "it printed nothing" : str("exit code ", version.exit_code, ", and no output");
}

/// The compiler at `path`, or why it is none.
CompilerSearch identify(EntryStore& store, const std::string& path) {
  auto info = program_at(path);
  if (!info) return {std::nullopt, str(path, " is not a program")};
  std::string name = content_hash({path, std::to_string(info->st_size), std::to_string(info->st_mtim.tv_sec),
                                   std::to_string(info->st_mtim.tv_nsec)});
  if (auto known = store.read("compilers", name)) return {HostCompiler{path, known->content}, ""};
  CompilerGroup alone;
  const Finished version = run({path, "--version"}, AT_FDCWD, alone);
  std::string identity = first_line(version.output);
  if (version.exit_code != 0 || identity.empty())
    return {std::nullopt, str(path, " --version failed: ", why_it_failed(version))};
  store.write("compilers", name, identity);
  return {HostCompiler{path, identity}, ""};
}

}  // namespace

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

double compile_limit() {
  return limit_of("THTRAIN_COMPILE_LIMIT", kDefaultLimit,
                  "seconds that one run of the compiler may take, or 0 for no limit");
}

std::string generated_flags() {
#ifdef THTRAIN_GENERATED_FLAGS
  return THTRAIN_GENERATED_FLAGS;
#else
  return "";
#endif
}

static std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

static std::vector<std::string> with_generated_flags(std::vector<std::string> flags) {
  const std::vector<std::string> added = words_of(generated_flags());
  flags.insert(flags.end(), added.begin(), added.end());
  if (added.empty()) flags.push_back("-nostdlib");  // nothing of it is used, and linking it takes longer than compiling
  return flags;
}

std::vector<std::string> compile_flags(const HostCompiler& compiler, const Cpu& cpu) {
  bool x86 = cpu.architecture == "x86-64";
  // Loops that matter are printed as explicit vectors and run alike at every level, but for g++'s -O1 on long products
  // (8 % slower): what of -O2 they need is listed. The lab's MLP takes 0.7 s so, and 1.05 s with -O2. The
  // vectorizer of straight code is needed too: without it a step of logistic regression takes 1.13 times as long.
  std::vector<std::string> flags = {compiler.is_clang() ? "-O2" : "-O1", "-std=gnu++17"};
  if (!compiler.is_clang())
    flags.insert(flags.end(), {"-fexpensive-optimizations", "-fgcse", "-fschedule-insns2", "-fstrict-aliasing",
                               "-finline-small-functions", "-fno-tree-bit-ccp", "-ftree-pre", "-ftree-vectorize",
                               "-fvect-cost-model=dynamic", "--param", "vect-epilogues-nomask=0"});
  flags.push_back(x86 ? "-march=native" : "-mcpu=native");
  if (x86 && cpu.isa == "avx2" && cpu.avx512f) flags.push_back("-mno-avx512f");
  if (x86 && cpu.isa == "sse2" && cpu.avx2) flags.push_back("-mno-avx");
  if (x86 && cpu.vector_bytes == 64) flags.push_back("-mprefer-vector-width=512");
  // Contraction would change bits with fusion and with the compiler; the other two change none that a program sees.
  // Integers wrap around, as semantics.md says; without -fwrapv a compiler may assume that none does.
  flags.insert(flags.end(), {"-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-fPIC",
                             "-shared", "-fno-exceptions", "-fno-rtti", "-w"});
  return with_generated_flags(std::move(flags));
}

std::vector<std::string> entry_flags() {
  return with_generated_flags({"-O1", "-std=gnu++17", "-ffp-contract=off", "-fwrapv", "-fPIC", "-shared",
                               "-fno-exceptions", "-fno-rtti", "-w"});
}

std::vector<std::string> logged_flags(const HostCompiler& compiler, const Cpu& cpu) {
  std::vector<std::string> flags = compile_flags(compiler, cpu);
  flags.insert(flags.end(), {"-O0", "-g1", "-fsanitize=thread,bounds", "-fno-threadsafe-statics"});
  if (compiler.is_clang())
    flags.insert(flags.end(), {"-mllvm", "-tsan-distinguish-volatile=1"});
  else
    flags.insert(flags.end(), {"--param", "tsan-distinguish-volatile=1"});
  return flags;
}

std::vector<std::string> c99_flags() {
  // The program that compiles C++ compiles C too.
  return with_generated_flags({"-x", "c", "-std=c99", "-pedantic-errors", "-O2", "-ffp-contract=off", "-fno-math-errno",
                               "-fno-trapping-math", "-fwrapv", "-fPIC", "-shared", "-w"});
}

/// Signals by which others end a compiler; the rest is its own crash.
static bool is_from_outside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGXCPU;
}

/// g++ and clang++ run further programs, and tell when one of these was killed.
static bool says_killed(const std::string& output) {
  return output.find("Killed signal terminated program") != std::string::npos ||
         output.find("Terminated signal terminated program") != std::string::npos ||
         output.find("unable to execute command: Killed") != std::string::npos;
}

/// What the system refused it: no fault of the code that it was given.
static bool says_refused(const std::string& output) {
  for (const char* text : {"No space left on device", "Disk quota exceeded", "Cannot allocate memory", "out of memory",
                           "Too many open files", "Permission denied", "Read-only file system"})
    if (output.find(text) != std::string::npos) return true;
  return false;
}

/// The last lines of what a compiler wrote.
static std::string last_lines(std::string output) {
  constexpr size_t kMaxLines = 20, kMaxBytes = 4000;
  while (output.ends_with('\n')) output.pop_back();
  size_t begin = output.size();
  for (size_t lines = 0; begin > 0 && output.size() - begin < kMaxBytes; --begin)
    if (output[begin - 1] == '\n' && ++lines == kMaxLines) break;
  return output.substr(begin);
}

/// A full disk is full where the compiler keeps its temporary files, or where its result goes.
static std::string hint_for(const std::string& output) {
  for (const char* text : {"No space left on device", "Disk quota exceeded"})
    if (output.find(text) != std::string::npos) {
      const char* folder = std::getenv("TMPDIR");
      return str("make room on the disk; TMPDIR (now ", folder && *folder ? folder : "/tmp",
                 ") names the folder of the compiler's temporary files, THTRAIN_CACHE_DIR that of its results\n");
    }
  return "THTRAIN_CXX chooses another compiler\n";
}

static std::string in_lines(const std::string& first, const std::string& output) {
  std::string rest = last_lines(output);
  return rest.empty() || first.empty() ? first + rest : str(first, "\n", rest);
}

namespace {

/// What vector maths and libm are linked by.
std::vector<std::string> libraries(const std::vector<std::string>& flags) {
#if defined(__x86_64__)
  const bool has_vector_maths = std::find(flags.begin(), flags.end(), "-std=c99") == flags.end();
#else
  const bool has_vector_maths = false;
#endif
  return has_vector_maths ? std::vector<std::string>{"-lmvec", "-lm"} : std::vector<std::string>{"-lm"};
}

/// Runs the compiler, which makes `output` of `source`; throws what compile_object throws.
void run_compiler(const std::vector<std::string>& command, const std::string& source, const std::string& output,
                  const CompilerFolder& folder, CompilerGroup& group) {
  const Finished finished = run(command, folder.descriptor, group);
  struct stat info;
  bool written = fstatat(folder.descriptor, output.c_str(), &info, 0) == 0 && info.st_size > 0;
  if (finished.exit_code == 0 && written) return;

  std::string node = str("generated source ", folder.path.empty() ? "" : folder.path + "/", source);
  std::string line = str("command", folder.path.empty() ? "" : " in " + folder.path, ": ", join(command, " "));
  if (finished.out_of_time)
    throw UserError(
        {.what = str("the compiler did not end within ", compile_limit(), " s, and was ended"),
         .got = last_lines(finished.output),
         .node = node,
         .hint = str("THTRAIN_COMPILE_LIMIT sets that time (0: no limit), THTRAIN_CXX the compiler\n", line)});
  if (is_from_outside(finished.signal) || says_killed(finished.output))
    throw UserError({.what = "the compiler was killed",
                     .got = in_lines(finished.trouble, finished.output),
                     .node = node,
                     .hint = str("a system that runs out of memory kills programs\n", line)});
  const std::string other = hint_for(finished.output);
  if (finished.exit_code == 0 || (finished.exit_code == -1 && finished.signal == 0) || says_refused(finished.output))
    throw UserError(
        {.what = str("the compiler ", command[0], " made no code"),
         .got = finished.exit_code == 0 ? "exit code 0, and no file" : in_lines(finished.trouble, finished.output),
         .node = node,
         .hint = other + line});
  // A crash of its own: all that it said. Else its first complaint says it.
  std::string reason =
      finished.exit_code == -1 ? in_lines(finished.trouble, finished.output) : first_error_line(finished.output);
  throw InternalError({.what = "generated code did not compile",
                       .got = reason.empty() ? str("exit code ", finished.exit_code) : reason,
                       .node = node,
                       .hint = other + line});
}

void append(std::vector<std::string>& command, const std::vector<std::string>& words) {
  command.insert(command.end(), words.begin(), words.end());
}

}  // namespace

void compile_object(const HostCompiler& compiler, const std::vector<std::string>& flags, const std::string& source,
                    const std::string& output, const CompilerFolder& folder) {
  std::vector<std::string> command = {compiler.path};
  append(command, flags);
  append(command, {"-o", output, source});
  append(command, libraries(flags));
  CompilerGroup alone;
  run_compiler(command, source, output, folder, alone);
}

void compile_unit(const HostCompiler& compiler, const std::vector<std::string>& flags, const std::string& source,
                  const std::string& output, const CompilerFolder& folder, CompilerGroup& group) {
  std::vector<std::string> command = {compiler.path};
  for (const std::string& flag : flags)
    if (flag != "-shared" && flag != "-nostdlib") command.push_back(flag);
  append(command, {"-ffunction-sections", "-c", "-o", output, source});
  run_compiler(command, source, output, folder, group);
}

void link_objects(const HostCompiler& compiler, const std::vector<std::string>& flags,
                  const std::vector<std::string>& objects, const std::string& source, const std::string& output,
                  const CompilerFolder& folder) {
  // The linker's plugin is for optimizing at link time, which no object is compiled for.
  std::vector<std::string> command = {compiler.path, "-shared", "-fPIC", "-fno-use-linker-plugin"};
  // A sanitizer's flags bring its library, which finds what it watches by tables that nothing refers to.
  const bool is_plain = std::find(flags.begin(), flags.end(), "-nostdlib") != flags.end();
  if (is_plain)
    append(command, {"-nostdlib", "-Wl,--gc-sections"});
  else
    append(command, words_of(generated_flags()));
  append(command, {"-o", output});
  append(command, objects);
  append(command, libraries(flags));
  CompilerGroup alone;
  run_compiler(command, source, output, folder, alone);
}

std::string made_in(const std::function<EntryStore::Workplace()>& make,
                    const std::function<void(const EntryStore::Workplace&)>& compile) {
  constexpr int kTries = 5;
  std::string folder;
  for (int i = 0; i < kTries; ++i) {
    const EntryStore::Workplace location = make();
    folder = location.folder_path;
    try {
      compile(location);
      std::string out = location.result();
      // What is no object is told by who loads or links it.
      if (location.is_untouched() && (is_whole_object(out) || i > 0)) return out;
    } catch (const InternalError&) {
      if (location.is_untouched()) throw;
    } catch (const UserError&) {
      if (location.is_untouched()) throw;
    }
  }
  throw UserError({.what = str("files in the cache folder ", folder, " are changed while the compiler reads them"),
                   .expected = "a folder that no other program writes to",
                   .hint = "THTRAIN_CACHE_DIR names another folder"});
}

std::string small_program(std::string_view source) {
  std::string out = "// Shows whether the compiler is complete.\n";
  std::istringstream lines{std::string(source)};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("#include")) out += line + "\n";
  out += "extern \"C\" double exp(double);\n";
#if defined(__x86_64__)
  out +=
      "typedef double Vector __attribute__((vector_size(16)));\n"
      "extern \"C\" Vector _ZGVbN2v_exp(Vector);\n"
      "extern \"C\" double small_program(double x) {\n"
      "  Vector e = _ZGVbN2v_exp(Vector{x, -x});\n"
      "  return exp(x) + e[0] + e[1];\n"
      "}\n";
#else
  out += "extern \"C\" double small_program(double x) { return exp(x); }\n";
#endif
  return out;
}

}  // namespace thtrain
