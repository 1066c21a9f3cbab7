// The system's C++ compiler: finding it, and compiling generated sources into shared objects with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/cpu.h"
#include "compiler/runtime/entry_store.h"

namespace thtrain {

struct HostCompiler {
  std::string path;
  std::string identity;  // the first line of `--version`
  bool is_clang() const { return identity.find("clang") != std::string::npos; }
};

struct CompilerSearch {
  std::optional<HostCompiler> compiler;
  std::string reason;  // why there is none: "neither g++ nor clang++ is on PATH"
};

/// `wanted` (the value of THTRAIN_CXX: a path or a name on PATH; empty means no compiler at all), or where it is null
/// g++, else clang++, on `path` (the value of PATH, may be null). The identity of a binary that was met before (same
/// path, size and time of change) comes from `store`, so only the first program to meet one runs it.
CompilerSearch find_host_compiler(EntryStore& store, const char* wanted, const char* path);

/// The flags for this processor, without files, and with what the build adds (THTRAIN_GENERATED_FLAGS, such as those of
/// a sanitizer).
std::vector<std::string> compile_flags(const HostCompiler& compiler, const Cpu& cpu);

/// What the build adds to the flags, apart by spaces; empty in ordinary builds.
std::string generated_flags();

/// Compiles `source` (a path that ends in .cpp) into the shared object `output`. InternalError, with the command, the
/// first line of the compiler's complaint and the source's path, where that fails.
void compile_object(const HostCompiler& compiler, const std::vector<std::string>& flags, const std::string& source,
                    const std::string& output);

namespace detail {
struct Finished {
  int exit_code = 0;   // -1 where the program could not be started or was ended by a signal
  std::string output;  // standard output and error together
  std::string trouble;  // for exit code -1: why
};
/// Runs arguments[0] with no shell, in the C locale, in a process group of its own (Ctrl-C is not for it).
Finished run_program(const std::vector<std::string>& arguments);
}  // namespace detail

}  // namespace thtrain
