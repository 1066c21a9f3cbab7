#include "compiler/host/cache.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

#include "compiler/base/content_hash.h"
#include "compiler/base/error.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/host/compile_units.h"
#include "compiler/host/unit_build.h"
#include "compiler/store/cache_folder.h"

namespace thtrain {
namespace {

constexpr const char* kObjects = "objects";
constexpr const char* kPrograms = "programs";
constexpr const char* kChecks = "checks";
constexpr int kMostProcesses = 32;  // compilers at once: each takes 50 MB or more

}  // namespace

std::string CompileInput::hash() const {
  if (!program_) return content_hash({text_});
  std::string parts;
  auto add = [&](std::string_view part) { parts += content_hash({part}); };
  add(interface_text());
  if (program_->language == kernel::Language::kC99) add("C99");
  if (program_->language == kernel::Language::kCuda) return content_hash({host_text(*program_)});
  add(program_->comment);
  for (const std::string& helper : program_->helpers) add(helper);
  for (const KernelText& kernel : program_->kernels) {
    add(kernel.name);
    add(kernel.comment);
    add(kernel.code);
  }
  add(program_->entry);
  return content_hash({parts});
}

Cache::Cache(const Options& options, const Cpu& cpu) : store_(options.folder, options.owner), cpu_(cpu) {
  search_ = find_host_compiler(store_, options.compiler, options.path);
  if (!search_.compiler) return;
  cpp_.flags = compile_flags(*search_.compiler, cpu_);
  c99_.flags = c99_flags();
  logged_.flags = logged_flags(*search_.compiler, cpu_);
  for (Compilation* one : {&cpp_, &c99_, &logged_})
    one->compiler_part =
        content_hash({search_.compiler->identity, join(one->flags, " "), join(entry_flags(), " ")}).substr(0, 16);
}

std::string Cache::name_of_entry(const std::string& content, CompileKind kind) const {
  return str(content, "-", compilation(kind).compiler_part);
}

/// What decides an object besides the compiler. Names are "<content>-<compiler>".
std::string Cache::object_name(const CompileInput& source) const {
  return content_hash({"object", std::to_string(TH_ABI_VERSION), source.hash(), cpu_.feature_text, generated_flags()});
}

void Cache::count_hits(int64_t kernels) {
  std::lock_guard lock(mutex_);
  stats_.kernel_hits += kernels;
}

std::shared_ptr<const SharedObject> Cache::already_loaded(const std::string& name) {
  std::lock_guard lock(mutex_);
  auto found = loaded_.find(name);
  return found == loaded_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<const SharedObject> Cache::open(const std::string& name, const EntryStore::Entry& entry,
                                                const char* symbol, std::string& trouble) {
  auto object = thtrain::load_object(entry, trouble);
  if (!object) return nullptr;
  if (symbol && !object->exports(symbol)) {
    trouble = str(entry.path, " exports no ", symbol);
    return nullptr;
  }
  std::lock_guard lock(mutex_);
  loaded_[name] = object;
  return object;
}

std::optional<EntryStore::Entry> Cache::stored_object(const std::string& content, CompileKind kind) {
  return search_.compiler ? store_.read(kObjects, name_of_entry(content, kind) + ".so")
                          : store_.read_any(kObjects, content, ".so");
}

void Cache::require_complete_compiler(std::string_view source) {
  try {
    made_in([&] { return store_.workplace(kChecks, "small_program.cpp", small_program(source)); },
            [this](const EntryStore::Workplace& location) { compile_in(location, CompileKind::kCpp); });
  } catch (const InternalError& error) {
    Message message = error.messages()[0];
    message.what = str("the compiler ", search_.compiler->path, " is not complete");
    message.expected = "one that compiles a small program with the same flags";
    throw UserError(message);
  }
}

void Cache::compile_in(const EntryStore::Workplace& location, CompileKind kind) const {
  compile_object(*search_.compiler, compilation(kind).flags, location.source, location.output,
                 {location.folder->get(), location.folder_path});
}

std::string Cache::compile_whole(const std::string& name, const std::string& text, CompileKind kind) {
  const char* suffix = kind == CompileKind::kC99 ? ".c" : ".cpp";
  return made_in([&] { return store_.workplace(kObjects, name + suffix, text); },
                 [&](const EntryStore::Workplace& location) { compile_in(location, kind); });
}

std::string Cache::compile_in_units(const std::string& name, const std::string& text, const SourceText& source,
                                    int64_t& compiled) {
  store_.write_plain(kObjects, name + ".cpp", text);
  UnitBuild build({.store = &store_,
                   .compiler = &*search_.compiler,
                   .flags = &cpp_.flags,
                   .key = str(TH_ABI_VERSION, " ", cpu_.feature_text, " ", generated_flags()),
                   .compiler_part = cpp_.compiler_part,
                   .processes = static_cast<size_t>(std::min(cpu_.cores, kMostProcesses))},
                  source);
  std::string object = build.run(str(kObjects, "/", name, ".cpp"));
  compiled = static_cast<int64_t>(build.compiled());
  return object;
}

EntryStore::Entry Cache::compile(const std::string& name, const CompileInput& source) {
  auto begin = std::chrono::steady_clock::now();
  const std::string text = source.whole();
  int64_t compiled = source.kernels();
  std::string object;
  try {
    const bool has_units = source.program() && source.language() == kernel::Language::kCpp;
    object = has_units && !is_short(*source.program()) ? compile_in_units(name, text, *source.program(), compiled)
                                                       : compile_whole(name, text, source.kind());
  } catch (const InternalError&) {
    require_complete_compiler(text);
    throw;
  }
  std::string path = store_.write(kObjects, name + ".so", object);
  // Where somebody removed or changed it at once, the bytes are still those that the compiler made.
  std::optional<EntryStore::Entry> entry = store_.read(kObjects, name + ".so");
  if (!entry) entry = EntryStore::Entry{path, object, name + ".so", nullptr, ""};
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::lock_guard lock(mutex_);
  stats_.kernels_compiled += compiled;
  stats_.kernel_hits += source.kernels() - compiled;
  stats_.compile_seconds += seconds.count();
  return std::move(*entry);
}

LoadedObject Cache::load_object(const CompileInput& source, const char* symbol) {
  std::string content = object_name(source), name = name_of_entry(content, source.kind()), trouble;
  if (auto object = already_loaded(name)) {
    count_hits(source.kernels());
    return {object, ""};
  }
  if (auto entry = stored_object(content, source.kind())) {
    if (auto object = open(name, *entry, symbol, trouble)) {
      count_hits(source.kernels());
      return {object, ""};
    }
  }
  if (!search_.compiler) {
    if (trouble.empty() && !store_.refusal().empty())
      trouble = str("cache folder ", store_.folder(), " cannot be used (", store_.refusal(), ")");
    return {nullptr, trouble.empty() ? search_.reason : str(search_.reason, "; ", trouble)};
  }
  EntryStore::Entry made = compile(name, source);
  if (auto object = open(name, made, symbol, trouble)) return {object, ""};
  if (symbol && thtrain::load_object(made, trouble))
    throw UserError({.what = str("what the compiler ", search_.compiler->path, " made is not what was asked for"),
                     .got = str(made.path, " exports no ", symbol),
                     .hint = "THTRAIN_CXX chooses another compiler"});
  throw UserError({.what = str("what the compiler ", search_.compiler->path, " made cannot be loaded"),
                   .got = trouble,
                   .hint = str("THTRAIN_CXX chooses another compiler; where neither the cache folder nor TMPDIR may "
                               "hold files that are executed, set THTRAIN_CACHE_DIR (now ",
                               store_.folder(), ")")});
}

bool Cache::has_object(const CompileInput& source) {
  return stored_object(object_name(source), source.kind()).has_value();
}

std::optional<std::string> Cache::load_program(std::string_view key) {
  std::string content = content_hash({"program", key, cpu_.feature_text, generated_flags()});
  auto entry = search_.compiler ? store_.read(kPrograms, name_of_entry(content, CompileKind::kCpp))
                                : store_.read_any(kPrograms, content, "");
  if (!entry) return std::nullopt;
  std::lock_guard lock(mutex_);
  ++stats_.program_hits;
  return std::move(entry->content);
}

void Cache::store_program(std::string_view key, std::string_view bytes) {
  std::string content = content_hash({"program", key, cpu_.feature_text, generated_flags()});
  store_.write(kPrograms, name_of_entry(content, CompileKind::kCpp), bytes);
}

CompileStats Cache::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

std::string Cache::folder_text() const {
  if (!store_.is_replaced()) return store_.folder();
  std::string extra = store_.private_folder();
  return str(extra, " (", store_.folder().empty() ? "no home folder" : store_.folder(), " cannot be used)");
}

std::string Cache::compiler_text() const {
  return search_.compiler ? search_.compiler->identity : search_.reason;
}

namespace {
std::atomic<Cache*> process_cache = nullptr;
}

Cache& cache() {
  static Cache once({default_cache_folder(), geteuid(), std::getenv("THTRAIN_CXX"), std::getenv("PATH")}, cpu());
  process_cache.store(&once, std::memory_order_release);
  return once;
}

CompileStats compile_stats() {
  Cache* made = process_cache.load(std::memory_order_acquire);
  return made ? made->stats() : CompileStats{};
}

std::string cache_folder_text() {
  Cache* made = process_cache.load(std::memory_order_acquire);
  return made ? made->folder_text() : default_cache_folder();
}

}  // namespace thtrain
