// The cache on disk of compiled code and finished programs, by content.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/codegen/source_text.h"
#include "compiler/host/cpu.h"
#include "compiler/host/host_compiler.h"
#include "compiler/host/shared_object.h"
#include "compiler/store/entry_store.h"

namespace thtrain {

/// A loaded object, or why there is none: no compiler was found, and nobody compiled this source before.
struct LoadedObject {
  std::shared_ptr<const SharedObject> object;
  std::string reason;
};

/// Since the process began.
struct CompileStats {
  int64_t kernels_compiled = 0;
  int64_t kernel_hits = 0;  // kernels that were found instead: on disk, or loaded already
  int64_t program_hits = 0;
  double compile_seconds = 0;
};

/// Which flags a text is compiled by: logged C++ calls a function of its own, "__tsan_read4" and the like, at each load
/// and store (logged_flags).
enum class CompileKind : uint8_t { kCpp, kC99, kLoggedCpp };

/// What is compiled and loaded: the text of one translation unit, which counts as one kernel, or a program's.
class CompileInput {
 public:
  CompileInput(std::string_view text, bool is_logged = false) : text_(text), is_logged_(is_logged) {}
  CompileInput(const std::string& text) : text_(text) {}
  CompileInput(const char* text) : text_(text) {}
  CompileInput(const SourceText& program) : program_(&program) {}

  const SourceText* program() const { return program_; }
  kernel::Language language() const { return program_ ? program_->language : kernel::Language::kCpp; }
  CompileKind kind() const {
    return language() == kernel::Language::kC99 ? CompileKind::kC99
           : is_logged_                         ? CompileKind::kLoggedCpp
                                                : CompileKind::kCpp;
  }
  std::string whole() const { return program_ ? host_text(*program_) : std::string(text_); }
  std::string hash() const;
  int64_t kernels() const { return program_ ? static_cast<int64_t>(program_->kernels.size()) : 1; }

 private:
  std::string_view text_;
  const SourceText* program_ = nullptr;
  bool is_logged_ = false;
};

/// Objects are keyed by source text, compiler, flags and processor; programs by the caller's key and the same. Where no
/// compiler is found, an entry that agrees in all but the compiler serves. All functions may be called from several
/// threads; processes may share a folder.
class Cache {
 public:
  struct Options {
    std::string folder;
    uid_t owner = 0;
    const char* compiler = nullptr;  // THTRAIN_CXX; null to search PATH
    const char* path = nullptr;      // PATH
  };
  Cache(const Options& options, const Cpu& cpu);

  /// The object of `source`: already loaded, else from the folder, else compiled now (compile_object's errors where
  /// that fails; the source is kept). An entry that cannot be loaded, or does not export `symbol`, is compiled again.
  /// UserError where the compiler is to blame: it does not compile a small program either, or what it made cannot be
  /// loaded or does not export `symbol` (null: not asked).
  ///
  /// A program that is not short (is_short) is compiled in units, as many at once as the process may use cores, and of
  /// its kernels those alone that no program had before (UnitBuild).
  LoadedObject load_object(const CompileInput& source, const char* symbol = nullptr);
  /// Is it in the folder, so that nothing need be compiled?
  bool has_object(const CompileInput& source);

  /// The bytes stored under `key` (the caller's hash of everything that decides them but compiler, flags, processor).
  std::optional<std::string> load_program(std::string_view key);
  void store_program(std::string_view key, std::string_view bytes);

  CompileStats stats() const;
  /// For `thtrain info`: the folder, or the private one with the reason to look at it.
  std::string folder_text() const;
  /// "g++ (Debian 12.2.0-14) 12.2.0", or why there is none.
  std::string compiler_text() const;
  bool has_compiler() const { return search_.compiler.has_value(); }

 private:
  std::string object_name(const CompileInput& source) const;
  /// Of an object or a program.
  std::string name_of_entry(const std::string& content, CompileKind kind) const;
  std::optional<EntryStore::Entry> stored_object(const std::string& content, CompileKind kind);
  std::shared_ptr<const SharedObject> already_loaded(const std::string& name);
  void count_hits(int64_t kernels);
  /// Null, with the reason in `trouble`, where it cannot be loaded or does not export `symbol`.
  std::shared_ptr<const SharedObject> open(const std::string& name, const EntryStore::Entry& entry, const char* symbol,
                                           std::string& trouble);
  /// UserError where the compiler does not compile a small program with the headers of `source`.
  void require_complete_compiler(std::string_view source);
  void compile_in(const EntryStore::Workplace& location, CompileKind kind) const;
  /// The object's bytes, and how many kernels were compiled for it and found.
  std::string compile_whole(const std::string& name, const std::string& text, CompileKind kind);
  std::string compile_in_units(const std::string& name, const std::string& text, const SourceText& source,
                               int64_t& compiled);
  EntryStore::Entry compile(const std::string& name, const CompileInput& source);

  EntryStore store_;
  Cpu cpu_;
  CompilerSearch search_;
  /// What depends on the kind.
  struct Compilation {
    std::vector<std::string> flags = {};
    std::string compiler_part = {};  // of every name, empty without a compiler
  };
  const Compilation& compilation(CompileKind kind) const {
    return kind == CompileKind::kC99 ? c99_ : kind == CompileKind::kLoggedCpp ? logged_ : cpp_;
  }
  Compilation cpp_, c99_, logged_;
  mutable std::mutex mutex_;  // guards the two below
  CompileStats stats_;
  std::map<std::string, std::weak_ptr<const SharedObject>> loaded_;
};

/// The process's cache: default_cache_folder(), THTRAIN_CXX and PATH as they are at the first call.
Cache& cache();

/// How often and how long this process compiled; zeros where the cache was never used.
CompileStats compile_stats();

/// For `thtrain info`.
std::string cache_folder_text();

}  // namespace thtrain
