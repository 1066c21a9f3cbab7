#include "compiler/libraries/blas.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "compiler/base/error.h"

namespace thtrain {
namespace {

/// A variable of the environment that has another value in one scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

bool user_chose_kernels() {
  const char* text = std::getenv("OPENBLAS_CORETYPE");
  return text && *text;
}

/// The first of the libraries that can be loaded; null, with a line for each in `complaints`, where none can.
void* open_first(std::span<const char* const> names, int flags, std::vector<std::string>& complaints) {
  for (const char* name : names) {
    if (void* library = dlopen(name, flags)) return library;
    const char* text = dlerror();
    complaints.push_back(text ? text : str(name, ": cannot be loaded"));
  }
  return nullptr;
}

/// Of a library that is not there: the dynamic linker names it first. (Of one that it needs, it names that one.)
bool says_missing(const std::string& complaint, std::string_view name) {
  return complaint.starts_with(name) && complaint.ends_with("No such file or directory");
}

[[noreturn]] void throw_not_loaded(std::span<const char* const> names, const std::vector<std::string>& complaints) {
  for (size_t i = 0; i < names.size(); ++i)
    if (!says_missing(complaints[i], names[i]))
      throw UserError({.what = "OpenBLAS is installed, but cannot be loaded: matrix products need it",
                       .expected = names[i],
                       .got = complaints[i],
                       .hint = "`ulimit -v` tells whether the memory of this process is limited"});
  throw UserError({.what = "OpenBLAS is not installed: matrix products need it",
                   .expected = names.front(),
                   .got = join(complaints, "\n"),
                   .hint = "apt-get install libopenblas0"});
}

void* load_with_kernels(std::span<const char* const> names, const Cpu& cpu, std::vector<std::string>& complaints) {
  // Read by the library while it is loaded: with one thread it starts none of its own.
  ScopedVariable threads("OPENBLAS_NUM_THREADS", "1");
  std::optional<ScopedVariable> coretype;
  if (auto choice = openblas_coretype(cpu); choice && !user_chose_kernels())
    coretype.emplace("OPENBLAS_CORETYPE", *choice);
  return open_first(names, RTLD_NOW | RTLD_LOCAL, complaints);
}

}  // namespace

std::optional<std::string> openblas_coretype(const Cpu& cpu) {
  if (cpu.architecture != "x86-64") return std::nullopt;  // arm64's detection falls back to good kernels
  if (cpu.vendor == "AuthenticAMD") {
    // Known to 0.3.21: Zen to Zen 4 (families 0x17 and 0x19) and all older ones. Newer ones fall to Barcelona.
    if (cpu.family <= 0x19) return std::nullopt;
  } else if (cpu.vendor != "GenuineIntel") {
    return std::nullopt;
  }
  // Intel's models are known one by one and new ones fall to Prescott; these two are what the known ones get.
  if (cpu.has_avx512()) return "SkylakeX";
  if (cpu.avx2 && cpu.fma) return "Haswell";
  return std::nullopt;
}

void* Blas::symbol(const char* name) const {
  void* found = dlsym(library, name);
  TH_CHECK(found, version, " has no function ", name);
  return found;
}

// 0: before AVX; 1: AVX; 2: AVX2 with FMA; 3: AVX-512, and what is not known.
static int generation_of(std::string_view corename) {
  for (std::string_view old : {"Prescott",  "Core2",  "Penryn",  "Dunnington", "Nehalem", "Katmai",        "Coppermine",
                               "Northwood", "Banias", "Atom",    "Athlon",     "Opteron", "Opteron(SSE3)", "Barcelona",
                               "Bobcat",    "Nano",   "generic", "Generic",    "Unknown", "unknown"})
    if (corename == old) return 0;
  for (std::string_view avx : {"Sandybridge", "Bulldozer", "Piledriver", "Steamroller"})
    if (corename == avx) return 1;
  for (std::string_view avx2 : {"Haswell", "Zen", "Excavator"})
    if (corename == avx2) return 2;
  return 3;
}

bool Blas::has_old_kernels() const {
  return generation_of(corename) == 0;
}

bool detail::are_older(const std::string& corename, const Cpu& cpu) {
  return generation_of(corename) < (cpu.has_avx512() ? 3 : cpu.avx2 && cpu.fma ? 2 : 0);
}

Blas detail::load_blas(std::span<const char* const> names, const Cpu& cpu) {
  Blas out;
  std::vector<std::string> not_there, complaints;
  out.library = open_first(names, RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL, not_there);
  out.was_loaded = out.library != nullptr;
  if (!out.library) out.library = load_with_kernels(names, cpu, complaints);
  if (!out.library) throw_not_loaded(names, complaints);
  auto text_of = [&](const char* function) -> std::string {
    auto call = reinterpret_cast<const char* (*)()>(dlsym(out.library, function));
    const char* text = call ? call() : nullptr;
    return text ? text : "unknown";
  };
  out.corename = text_of("openblas_get_corename");
  std::string config = text_of("openblas_get_config");  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  out.version = config.substr(0, config.find(' ', config.find(' ') + 1));
  auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(out.library, "openblas_set_num_threads"));
  if (set_threads) set_threads(1);
  out.sgemm = out.lapack<std::remove_pointer_t<CblasGemm<float>>>("cblas_sgemm");
  out.dgemm = out.lapack<std::remove_pointer_t<CblasGemm<double>>>("cblas_dgemm");
  out.sgemv = out.lapack<std::remove_pointer_t<CblasGemv<float>>>("cblas_sgemv");
  out.dgemv = out.lapack<std::remove_pointer_t<CblasGemv<double>>>("cblas_dgemv");
  out.sger = out.lapack<std::remove_pointer_t<CblasGer<float>>>("cblas_sger");
  out.dger = out.lapack<std::remove_pointer_t<CblasGer<double>>>("cblas_dger");
  return out;
}

std::string forced_kernels_text() {
  if (!user_chose_kernels()) return {};
  try {
    if (!detail::are_older(blas().corename, cpu())) return {};
  } catch (const UserError&) {
    return {};  // there is no library
  }
  return str("OPENBLAS_CORETYPE=", std::getenv("OPENBLAS_CORETYPE"), " forces kernels older than this processor's");
}

const Blas& blas() {
  static const Blas once = [] {
    const char* const names[] = {"libopenblas.so.0", "libopenblas.so"};
    Blas out = detail::load_blas(names, cpu());
    if (out.has_old_kernels() && cpu().avx2 && !user_chose_kernels()) {
      std::string text = str("thtrain: warning: ", out.version, " uses its ", out.corename, " kernels on ", cpu().model,
                             ": matrix products are several times slower than they could be");
      auto better = openblas_coretype(cpu());
      if (out.was_loaded && better)
        text += str("; it was loaded before thtrain: set OPENBLAS_CORETYPE=", *better, " before the program starts");
      std::fprintf(stderr, "%s\n", text.c_str());
    }
    return out;
  }();
  return once;
}

}  // namespace thtrain
