#include "compiler/kernel/target.h"

#include <algorithm>

#include "compiler/base/str.h"

namespace thtrain::kernel {

Language Target::language() const {
  switch (kind) {
    case Kind::kC99:
      return Language::kC99;
    case Kind::kCuda:
      return Language::kCuda;
    case Kind::kCpu:
      break;
  }
  return Language::kCpp;
}

bool Target::is_x86() const {
  return kind == Kind::kCpu && (isa == "avx512" || isa == "avx2" || isa == "sse2");
}

bool Target::has_fma() const {
  return is_device() || (kind == Kind::kCpu && (isa == "avx512" || isa == "avx2" || isa == "arm64"));
}

bool Target::has_gathers() const {
  return kind == Kind::kCpu && (isa == "avx512" || isa == "avx2");
}

int Target::device_number() const {
  const size_t colon = isa.find(':');
  return colon == std::string::npos ? 0 : std::stoi(isa.substr(colon + 1));
}

int Target::registers() const {
  return has_vectors() && vector_bytes == 64 ? 32 : 16;
}

int Target::lanes_of_bytes(size_t element) const {
  return has_vectors() ? std::max(1, vector_bytes / static_cast<int>(element)) : 1;
}

int64_t Target::non_temporal_threshold(int threads) const {
  return memory.non_temporal_bytes == 0 ? 0 : std::max(second_cache_bytes * threads, memory.non_temporal_bytes);
}

std::string size_text(int64_t bytes) {
  if (bytes > 0 && bytes % (1 << 20) == 0) return str(bytes >> 20, "M");
  if (bytes > 0 && bytes % (1 << 10) == 0) return str(bytes >> 10, "K");
  return std::to_string(bytes);
}

std::array<int*, KernelRates::kCount> KernelRates::all() {
  return {&multiply_add,
          &sum,
          &load,
          &crossing_load,
          &shuffle,
          &second_line,
          &fetched_second_line,
          &third_line,
          &fetched_third_line,
          &copied_line,
          &memory_line,
          &apart_memory_line,
          &library_multiply_add,
          &library_narrow_multiply_add,
          &library_line,
          &library_call,
          &wake};
}

std::array<int, KernelRates::kCount> KernelRates::values() const {
  KernelRates copy = *this;
  std::array<int, kCount> out{};
  const auto all = copy.all();
  std::transform(all.begin(), all.end(), out.begin(), [](const int* rate) { return *rate; });
  return out;
}

std::string Target::text() const {
  if (is_device()) return str("isa=", isa, ",cores=", cores);
  if (kind != Kind::kCpu) return str("isa=", isa, ",cores=", cores, replays_calls ? ",replays" : "");
  return str("isa=", isa, ",vectors=", vector_bytes, ",caches=", size_text(first_cache_bytes), "/",
             size_text(second_cache_bytes), "/", size_text(last_cache_bytes), ",cores=", cores,
             ",non_temporal=", size_text(memory.non_temporal_bytes), ",store_prefetch=", memory.store_prefetch_lines,
             ",load_prefetch=", memory.load_prefetch_lines, ",rates=", join(rates.values(), "/"),
             replays_calls ? ",replays" : "");
}

Target Target::with_usual_rates() const {
  Target out = *this;
  out.rates = {};
  return out;
}

std::string Target::code_name() const {
  if (is_device()) return is_emulated() ? "emulated CUDA" : "CUDA";
  return kind == Kind::kC99 ? "scalar C99" : str("vectors of ", vector_bytes, " bytes");
}

const Target& widest_target() {
  static const Target widest;
  return widest;
}

static Target without_vectors(Target::Kind kind, std::string isa, int cores) {
  return {.kind = kind,
          .isa = std::move(isa),
          .vector_bytes = 0,
          .first_cache_bytes = 0,
          .cores = cores,
          .memory = {.store_prefetch_lines = 0},
          .replays_calls = kind == Target::Kind::kCuda};
}

Target c99_target(int cores) {
  return without_vectors(Target::Kind::kC99, "c99", cores);
}

Target cuda_target(int number, int cores) {
  return without_vectors(Target::Kind::kCuda, number == 0 ? kCudaIsa : str(kCudaIsa, ":", number), cores);
}

Target emulated_cuda_target(int cores) {
  return without_vectors(Target::Kind::kCuda, kEmulatedIsa, cores);
}

}  // namespace thtrain::kernel
