// The system's C++ compiler: finding it, and compiling generated sources into shared objects with it.
#pragma once

#include <fcntl.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/host/cpu.h"
#include "compiler/store/entry_store.h"

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
/// Of a program's entry, which calls its kernels and computes nothing that takes long. What the loops of kernels need
/// of compile_flags() is a quarter of the time of compiling it.
std::vector<std::string> entry_flags();
/// Those of compile_flags(), but that nothing is optimized, lines are known, and each load and store calls a function
/// that the text defines, as the thread sanitizer's does; so does an index outside of an array of known size. Not with
/// what a build for a sanitizer adds.
std::vector<std::string> logged_flags(const HostCompiler& compiler, const Cpu& cpu);
/// Of C99, in the strict dialect and for any processor.
std::vector<std::string> c99_flags();

/// How long one run of the host compiler may take, in seconds: THTRAIN_COMPILE_LIMIT, else 600; 0 for no limit.
/// UserError where the variable holds no such number.
double compile_limit();

/// Compilers that run side by side for one program.
struct CompilerGroup {
  std::atomic<bool> is_cancelled{false};  // what runs is ended; its result is of no use
  std::atomic<bool> was_told{false};      // the line on standard error is for all of them
  double word_after = 10;                 // so many seconds it is written; a compiler is rarely that long at work
};

/// What the build adds to the flags, apart by spaces; empty in ordinary builds.
std::string generated_flags();

/// The current folder of a compiler: names that do not begin with '/' are found there. By descriptor, so that no other
/// user can exchange it.
struct CompilerFolder {
  int descriptor = AT_FDCWD;
  std::string path = {};  // for messages
};

/// Compiles `source` (a name that ends in .cpp, or in .c with c99_flags()) into the shared object `output`. Errors have
/// the command, the compiler's complaint and the source's path. InternalError where it does not compile. UserError
/// where the compiler was killed from outside (by a user, or for want of memory) or did not end within compile_limit().
/// Interrupted where the user asks to stop. A line on standard error says that the compiler is waited for when it takes
/// long.
void compile_object(const HostCompiler& compiler, const std::vector<std::string>& flags, const std::string& source,
                    const std::string& output, const CompilerFolder& folder = {});

/// Compiles `source` into the relocatable object `output`, to be linked. Flags and errors are those of compile_object.
void compile_unit(const HostCompiler& compiler, const std::vector<std::string>& flags, const std::string& source,
                  const std::string& output, const CompilerFolder& folder, CompilerGroup& group);

/// Links `objects` of compile_unit into the shared object `output`, which keeps what its exported functions need.
/// Errors are those of compile_object and name `source`, the text of the whole.
void link_objects(const HostCompiler& compiler, const std::vector<std::string>& flags,
                  const std::vector<std::string>& objects, const std::string& source, const std::string& output,
                  const CompilerFolder& folder);

/// What `compile` makes in a workplace of `make`. Where somebody changes the files in the cache folder meanwhile, it is
/// tried again; UserError where that goes on. Else the errors of `compile`.
std::string made_in(const std::function<EntryStore::Workplace()>& make,
                    const std::function<void(const EntryStore::Workplace&)>& compile);

/// A program that every complete compiler compiles with our flags. It includes the headers that `source` includes.
/// Where `source` does not compile, this one tells whose fault it is: the compiler's, where it does not compile either.
std::string small_program(std::string_view source);

}  // namespace thtrain
