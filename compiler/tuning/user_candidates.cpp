#include "compiler/tuning/user_candidates.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "compiler/base/content_hash.h"
#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "compiler/base/file_descriptor.h"
#include "compiler/base/system_error.h"
#include "compiler/tuning/trial_process.h"
#include "compiler/tuning/user_candidate_calls.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::Target;

constexpr size_t kHashDigits = 12;
// Those that candidate_abi.h describes.
constexpr const char* kComputations[] = {"matrix_product", "conv", "conv_input_gradient", "conv_weight_gradient"};

// What the code of a file adds, with its functions.
struct LoadedCandidate {
  DeclaredCandidate declared;
  long (*workspace)(const char*) = nullptr;
  int (*compute)(const ThCandidateCall*) = nullptr;
};

struct File {
  CandidateFile file;
  std::vector<DeclaredCandidate> declared;
  std::mutex mutex = {};                          // guards what follows
  bool is_current = true;                         // false where the file was loaded again with another content
  std::vector<LoadedCandidate> code = {};         // where it is loaded into this process
  std::map<ChoiceKey, AppliesAnswer> asked = {};  // in another process
};

std::mutex files_mutex;
std::vector<std::shared_ptr<File>>& files() {
  static std::vector<std::shared_ptr<File>> all;
  return all;
}

[[noreturn]] void fail(const std::string& path, std::string what, std::string expected = {}, std::string hint = {}) {
  throw UserError({.what = str(path, ": ", what), .expected = std::move(expected), .hint = std::move(hint)});
}

// Of names and versions, which are on one line of the file of times.
constexpr size_t kMostCharacters = 60;

bool is_plain(const std::string& text) {
  auto is_known = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::strchr("_.+- ", c);
  };
  return !text.empty() && text.size() <= kMostCharacters && text.front() != ' ' && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), is_known);
}

// ---- the code of a file --------------------------------------------------------------------------------------------

struct Adding {
  std::vector<LoadedCandidate> found;
  std::optional<Message> trouble;
};

// Of a text that is not plain.
std::string fault_of(const std::string& text) {
  if (text.empty()) return "is empty";
  if (text.size() > kMostCharacters) return str("has ", text.size(), " characters");
  return str("is \"", escaped(text), "\"");
}

void add_one(ThCandidateList* list, const ThCandidate* given) {
  Adding& adding = *static_cast<Adding*>(list->host);
  auto text = [](const char* t) { return std::string(t ? t : ""); };
  const std::string plain = str("letters, digits, spaces within, and _ . + -; at most ", kMostCharacters);
  auto refuse = [&](std::string why, std::string expected) {
    if (!adding.trouble) adding.trouble = Message{.what = std::move(why), .expected = std::move(expected)};
  };
  if (!given) return refuse("a candidate is a null pointer", "list->add(list, &candidate)");
  LoadedCandidate out{
      {text(given->computation), text(given->name), text(given->version)}, given->workspace, given->compute};
  DeclaredCandidate& d = out.declared;
  const std::string which = str("the candidate ", escaped(d.name));
  if (!is_plain(d.name)) return refuse(str("the name of a candidate ", fault_of(d.name)), plain);
  if (!is_plain(d.version)) return refuse(str(which, ": its version ", fault_of(d.version)), plain);
  if (std::find(std::begin(kComputations), std::end(kComputations), d.computation) == std::end(kComputations))
    return refuse(str(which, " is of no computation that may have some: \"", escaped(d.computation), '"'),
                  join(kComputations, ", "));
  if (!given->workspace) return refuse(str(which, " has no function workspace"), "a pointer to one");
  if (!given->compute) return refuse(str(which, " has no function compute"), "a pointer to one");
  if (given->rounding != TH_REORDERED && given->rounding != TH_OTHER)
    return refuse(str(which, " has the rounding ", given->rounding), "TH_REORDERED or TH_OTHER");
  if (given->rounding == TH_OTHER && !(given->error_bound > 0 && std::isfinite(given->error_bound)))
    return refuse(str(which, " has the error bound ", given->error_bound), "a finite number above 0 with TH_OTHER");
  for (const LoadedCandidate& other : adding.found)
    if (other.declared.name == d.name && other.declared.computation == d.computation)
      return refuse(str(which, " is added twice for ", d.computation), "each name once for a computation");
  d.rounding = given->rounding == TH_OTHER ? RoundingClass::kOther : RoundingClass::kReordered;
  d.error_bound = given->rounding == TH_OTHER ? given->error_bound : 0;
  adding.found.push_back(std::move(out));
}

// Of such a file the dynamic linker says that it is not there.
void check_processor(const CandidateFile& file) {
#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
  constexpr Elf64_Half kOwn = EM_X86_64;
#else
  constexpr Elf64_Half kOwn = EM_AARCH64;
#endif
  Elf64_Ehdr head{};
  FileDescriptor opened(open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const ssize_t got = ::read(opened.get(), &head, sizeof head);
  if (got < static_cast<ssize_t>(sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return;
  if (head.e_machine != kOwn || head.e_ident[EI_CLASS] != ELFCLASS64)
    fail(file.path, "is built for another processor", "a shared object with candidates: g++ -shared -fPIC");
#endif
}

/// What objects that are linked with -ffast-math change when they are loaded is as before when this ends: how the
/// processor rounds, in all of the thread's later work.
class RoundingKept {
 public:
  RoundingKept() { std::fegetenv(&before_); }
  ~RoundingKept() { std::fesetenv(&before_); }
  RoundingKept(const RoundingKept&) = delete;
  RoundingKept& operator=(const RoundingKept&) = delete;

 private:
  std::fenv_t before_;
};

// Stays loaded until the process ends.
std::vector<LoadedCandidate> load_code(const CandidateFile& file) {
  if (candidate_file(file.path).hash != file.hash) fail(file.path, "the file changed since it was loaded");
  check_processor(file);
  const RoundingKept rounding;
  void* handle = dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* text = dlerror();
    fail(file.path, "cannot be loaded", "a shared object with candidates: g++ -shared -fPIC", text ? text : "");
  }
  const void* version = dlsym(handle, "thtrain_candidates_version");
  void* entry = dlsym(handle, "thtrain_candidates");
  const std::string expected = "a shared object that defines TH_CANDIDATES { ... } of candidate_abi.h";
  if (!version || !entry) fail(file.path, str("exports no thtrain_candidates", version ? "" : "_version"), expected);
  if (const int built = *static_cast<const int*>(version); built != TH_CANDIDATES_VERSION)
    fail(file.path, str("is built for version ", built, " of the interface of candidates"),
         str("version ", TH_CANDIDATES_VERSION), "build it again with the headers of this thtrain");
  Adding adding;
  ThCandidateList list{add_one, &adding};
  reinterpret_cast<void (*)(ThCandidateList*)>(entry)(&list);
  if (adding.trouble) fail(file.path, adding.trouble->what, adding.trouble->expected);
  if (adding.found.empty()) fail(file.path, "adds no candidates", "list->add(list, &candidate) in TH_CANDIDATES");
  return std::move(adding.found);
}

// Where this process is there to try candidates, or a candidate was tried: its code in this process.
const std::vector<LoadedCandidate>& code_of(File& file) {
  std::lock_guard lock(file.mutex);
  if (file.code.empty()) file.code = load_code(file.file);
  return file.code;
}

// ---- what the others are offered -----------------------------------------------------------------------------------

AppliesAnswer applies_of(File& file, const ChoiceKey& key) {
  {
    std::lock_guard lock(file.mutex);
    if (const auto at = file.asked.find(key); at != file.asked.end()) return at->second;
  }
  AppliesAnswer answer;
  if (is_trial_process()) {
    for (const LoadedCandidate& c : code_of(file))
      if (c.declared.computation == key.computation)
        if (const long bytes = c.workspace(key.properties.c_str()); bytes >= 0) answer[c.declared.name] = bytes;
  } else {
    answer = ask_what_applies(file.file, key);
  }
  std::lock_guard lock(file.mutex);
  return file.asked.try_emplace(key, answer).first->second;
}

Candidate candidate_of(const File& file, const DeclaredCandidate& declared, const ChoiceKey& key, int64_t bytes) {
  const int64_t number = user_call_number(file.file.hash, declared.name, key);
  const std::string name = std::filesystem::path(file.file.path).filename().string();
  return {.name = declared.name,
          .version = str(declared.version, " of ", is_plain(name) ? name : "file", " ", file.file.hash),
          .rounding = declared.rounding,
          .error_bound = declared.rounding == RoundingClass::kOther ? declared.error_bound
                                                                    : std::numeric_limits<double>::infinity(),
          .workspace_bytes = bytes,
          .functions = {"user_candidate"},
          .lower = [=, name = declared.name](kernel::StepBuilder& b) { lower_user_call(b, name, number, bytes); },
          .file = file.file.path};
}

// Of that name alone, unless it is null.
std::vector<Candidate> offered_by(File& file, const ChoiceKey& key, const std::string* name) {
  std::vector<const DeclaredCandidate*> wanted;
  for (const DeclaredCandidate& d : file.declared)
    if (d.computation == key.computation && (!name || d.name == *name)) wanted.push_back(&d);
  {
    std::lock_guard lock(file.mutex);
    if (!file.is_current) return {};
  }
  if (wanted.empty()) return {};
  const AppliesAnswer applies = applies_of(file, key);
  std::vector<Candidate> out;
  for (const DeclaredCandidate* d : wanted)
    if (const auto at = applies.find(d->name); at != applies.end())
      out.push_back(candidate_of(file, *d, key, at->second));
  return out;
}

void add_file(const std::shared_ptr<File>& file) {
  add_user_candidate_function();
  for (const char* computation : kComputations) {
    std::vector<std::string> names;
    for (const DeclaredCandidate& d : file->declared)
      if (d.computation == computation) names.push_back(d.name);
    // Where no process can say what the file declares, it may have any name.
    if (names.empty() && !file->declared.empty()) continue;
    add_candidates({computation,
                    [file](const ChoiceKey& key, const Target&) { return offered_by(*file, key, nullptr); },
                    [file](const ChoiceKey& key, const std::string& name, const Target&) -> std::optional<Candidate> {
                      std::vector<Candidate> found = offered_by(*file, key, &name);
                      return found.empty() ? std::nullopt : std::optional(std::move(found[0]));
                    },
                    std::move(names)});
  }
  files().push_back(file);
}

// One name is one candidate: of two, the second would never be found.
void check_names(const File& file) {
  const std::string expected = "a name of its own";
  for (const DeclaredCandidate& d : file.declared) {
    const std::string what = str("the candidate ", d.name, " of ", d.computation, " has the name of one of ");
    if (is_own_candidate_name(d.computation, d.name)) fail(file.file.path, what + "thtrain's own", expected);
    for (const std::shared_ptr<File>& other : files()) {
      std::lock_guard lock(other->mutex);
      if (!other->is_current || other->file.path == file.file.path) continue;
      for (const DeclaredCandidate& known : other->declared)
        if (known.name == d.name && known.computation == d.computation)
          fail(file.file.path, what + other->file.path, expected);
    }
  }
}

std::shared_ptr<File> file_at(const std::string& path) {
  for (const std::shared_ptr<File>& file : files()) {
    std::lock_guard lock(file->mutex);
    if (file->file.path == path && file->is_current) return file;
  }
  return nullptr;
}

std::shared_ptr<File> loaded_file(const Candidate& candidate) {
  std::lock_guard lock(files_mutex);
  std::shared_ptr<File> out = file_at(candidate.file);
  TH_CHECK(out, "no file ", candidate.file);
  return out;
}

}  // namespace

CandidateFile candidate_file(const std::string& path) {
  const std::string absolute = std::filesystem::absolute(path).lexically_normal().string();
  FileDescriptor file(open(absolute.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (file.get() < 0 || fstat(file.get(), &info) != 0)
    fail(absolute, str("cannot be read: ", system_error_text(errno)), "a shared object with candidates");
  if (!S_ISREG(info.st_mode)) fail(absolute, "is no file", "a shared object with candidates");
  const std::optional<std::string> bytes = read_all(file.get(), static_cast<size_t>(info.st_size));
  if (!bytes) fail(absolute, "cannot be read to its end", "a shared object with candidates");
  return {absolute, content_hash({*bytes}).substr(0, kHashDigits)};
}

void load_candidates(const std::string& path) {
  if (path.empty())
    throw UserError(Message{.what = "load_candidates: the path is empty", .expected = "a shared object"});
  CandidateFile file = candidate_file(path);
  std::lock_guard lock(files_mutex);
  const std::shared_ptr<File> before = file_at(file.path);
  if (before && before->file.hash == file.hash) return;
  auto added = std::make_shared<File>();
  added->declared = ask_what_is_declared(file);
  added->file = std::move(file);
  check_names(*added);
  if (before) {
    std::lock_guard of_file(before->mutex);
    before->is_current = false;
  }
  add_file(added);
}

std::vector<DeclaredCandidate> load_for_trial(const CandidateFile& file) {
  std::lock_guard lock(files_mutex);
  auto added = std::make_shared<File>();
  added->file = file;
  added->code = load_code(file);
  for (const LoadedCandidate& c : added->code) added->declared.push_back(c.declared);
  add_file(added);
  return added->declared;
}

AppliesAnswer applying_in_trial(const ChoiceKey& key) {
  std::lock_guard lock(files_mutex);
  AppliesAnswer out;
  for (const std::shared_ptr<File>& file : files()) out.merge(applies_of(*file, key));
  return out;
}

CandidateFile file_of(const Candidate& candidate) {
  return loaded_file(candidate)->file;
}

void make_callable(const Candidate& candidate, const ChoiceKey& key) {
  if (candidate.file.empty()) return;
  const std::shared_ptr<File> file = loaded_file(candidate);
  for (const LoadedCandidate& c : code_of(*file))
    if (c.declared.name == candidate.name && c.declared.computation == key.computation)
      add_user_call(user_call_number(file->file.hash, candidate.name, key), {key.properties, c.compute});
}

}  // namespace thtrain
