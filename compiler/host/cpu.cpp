#include "compiler/host/cpu.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "compiler/base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace thtrain {
namespace {

std::string hex(uint64_t value) {
  std::ostringstream out;
  out << std::hex << value;
  return out.str();
}

#if defined(__x86_64__)

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Leaf out;
  __get_cpuid_count(leaf, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx);  // zeros where the leaf does not exist
  return out;
}

bool bit(uint32_t word, int index) {
  return (word >> index & 1) != 0;
}

/// Which register states the kernel saves (XCR0); 0 where it says nothing.
uint64_t saved_states(const Leaf& one) {
  if (!bit(one.ecx, 27)) return 0;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

std::string brand() {
  if (cpuid(0x80000000u).eax < 0x80000004u) return {};
  char text[49] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    Leaf part = cpuid(0x80000002u + i);
    std::memcpy(text + 16 * i, &part, 16);
  }
  std::string_view view(text);
  while (!view.empty() && view.front() == ' ') view.remove_prefix(1);
  while (!view.empty() && view.back() == ' ') view.remove_suffix(1);
  return std::string(view);
}

void ask_processor(Cpu& cpu) {
  cpu.architecture = "x86-64";
  Leaf zero = cpuid(0), one = cpuid(1), seven = cpuid(7), seven_1 = cpuid(7, 1), extended = cpuid(0x80000001u);
  char vendor[13] = {};
  std::memcpy(vendor, &zero.ebx, 4);
  std::memcpy(vendor + 4, &zero.edx, 4);
  std::memcpy(vendor + 8, &zero.ecx, 4);
  cpu.vendor = vendor;
  cpu.model = brand();
  int base = static_cast<int>(one.eax >> 8 & 15);
  cpu.family = base == 15 ? base + static_cast<int>(one.eax >> 20 & 255) : base;
  cpu.model_number = static_cast<int>((one.eax >> 4 & 15) | (one.eax >> 12 & 0xf0));

  uint64_t states = saved_states(one);
  bool ymm = (states & 0x06) == 0x06, zmm = (states & 0xe6) == 0xe6;
  cpu.avx2 = ymm && bit(seven.ebx, 5);
  cpu.fma = ymm && bit(one.ecx, 12);
  cpu.avx512f = zmm && bit(seven.ebx, 16);
  cpu.avx512dq = zmm && bit(seven.ebx, 17);
  cpu.avx512bw = zmm && bit(seven.ebx, 30);
  cpu.avx512vl = zmm && bit(seven.ebx, 31);

  std::string& text = cpu.feature_text;
  text = str(cpu.architecture, " ", cpu.vendor, " ", cpu.family, "/", cpu.model_number, "/", one.eax & 15);
  for (auto [has, name] : {std::pair{cpu.avx2, "avx2"},
                           {cpu.fma, "fma"},
                           {cpu.avx512f, "avx512f"},
                           {cpu.avx512dq, "avx512dq"},
                           {cpu.avx512vl, "avx512vl"},
                           {cpu.avx512bw, "avx512bw"}})
    if (has) text += str(" ", name);
  // Leaf 7's edx mixes instructions with switches that a microcode update sets: only the instructions count.
  constexpr uint32_t kInstructions =
      1u << 2 | 1u << 3 | 1u << 5 | 1u << 8 | 1u << 14 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;
  // Left out of the others: what kernel (bit 27 of leaf 1, bit 4 of leaf 7) and hypervisor (31) say of themselves.
  text += str(" bits ", hex(one.ecx & ~(1u << 27 | 1u << 31)), ".", hex(one.edx), ".", hex(seven.ebx), ".",
              hex(seven.ecx & ~(1u << 4)), ".", hex(seven.edx & kInstructions), ".", hex(seven_1.eax), ".",
              hex(extended.ecx), ".", hex(extended.edx), ".", hex(states));
}

#else

void ask_processor(Cpu& cpu) {
#if defined(__aarch64__)
  cpu.architecture = "arm64";
  std::string features = str(hex(getauxval(AT_HWCAP)), ".", hex(getauxval(AT_HWCAP2)));
#else
  cpu.architecture = "other";
  std::string features = "unknown";
#endif
  std::string midr;  // the processor's identification register, where the kernel shows it
  std::ifstream("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1") >> midr;
  cpu.vendor = midr;
  cpu.feature_text = str(cpu.architecture, " ", midr, " bits ", features);
}

#endif

int usable_cores() {
  int cores = 1;
  // The mask of a machine with many processors needs more room than cpu_set_t has.
  for (size_t room = 1024; room <= 1 << 18; room *= 2) {
    std::vector<unsigned long> mask(room / (8 * sizeof(unsigned long)));
    if (sched_getaffinity(0, room / 8, reinterpret_cast<cpu_set_t*>(mask.data())) == 0) {
      cores = CPU_COUNT_S(room / 8, reinterpret_cast<cpu_set_t*>(mask.data()));
      break;
    }
  }
  std::string quota;
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  if (std::getline(file, quota)) cores = std::min(cores, detail::cores_of_quota(quota).value_or(cores));
  return std::max(cores, 1);
}

}  // namespace

namespace detail {
std::optional<int> cores_of_quota(const std::string& text) {
  std::istringstream in(text);
  int64_t quota = 0, period = 0;
  if (!(in >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;  // "max" is no number
  return static_cast<int>(std::clamp<int64_t>((quota + period - 1) / period, 1, 1 << 20));
}
}  // namespace detail

// Of data, in the first three levels. The kernel's files first: of AMD's processors, sysconf() takes the third caches
// of all cores of the package for one (320 MiB where a core reaches 32).
static std::array<int64_t, 3> cache_sizes() {
  std::array<int64_t, 3> out = {sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE),
                                sysconf(_SC_LEVEL3_CACHE_SIZE)};
  for (int index = 0; index < 8; ++index) {
    const std::string folder = str("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    int level = 0;
    std::string type;
    int64_t kibibytes = 0;  // "32768K"
    std::ifstream(folder + "level") >> level;
    std::ifstream(folder + "type") >> type;
    std::ifstream(folder + "size") >> kibibytes;
    if (level >= 1 && level <= 3 && type != "Instruction" && kibibytes > 0)
      out[static_cast<size_t>(level - 1)] = kibibytes << 10;
  }
  return out;
}

static int vector_bytes_of(const std::string& isa) {
  return isa == "avx512" ? 64 : isa == "avx2" ? 32 : 16;
}

std::string Cpu::widest_isa() const {
  if (architecture != "x86-64") return architecture;
  return has_avx512() ? "avx512" : avx2 && fma ? "avx2" : "sse2";
}

static void force_isa(Cpu& cpu, const std::string& isa) {
  const bool is_x86 = isa == "avx512" || isa == "avx2" || isa == "sse2";
  if (cpu.architecture != "x86-64" || !is_x86 || vector_bytes_of(isa) > vector_bytes_of(cpu.widest_isa()))
    throw UserError({.what = "THTRAIN_TARGET names instructions that this processor does not have",
                     .expected = cpu.architecture == "x86-64" ? str("at most ", cpu.widest_isa()) : "no isa",
                     .got = isa});
  cpu.isa = isa;
  cpu.vector_bytes = vector_bytes_of(isa);
}

// `from`: the variable that wants the width.
static void force_vectors(Cpu& cpu, const std::string& from, int wanted) {
  // Wider vectors than the processor's go through memory, where libmvec's functions do not look for them.
  if (cpu.architecture == "x86-64" && wanted > cpu.vector_bytes)
    throw UserError({.what = from + " is wider than this processor's vectors",
                     .expected = str("at most ", cpu.vector_bytes),
                     .got = std::to_string(wanted)});
  cpu.vector_bytes = wanted;
}

Cpu detect_cpu(const char* vector_bytes_override, const TargetParts& forced) {
  Cpu out;
  ask_processor(out);
  out.isa = out.widest_isa();
  out.vector_bytes = vector_bytes_of(out.isa);
  out.cores = forced.cores.value_or(usable_cores());
  const std::array<int64_t, 3> caches = forced.caches ? *forced.caches : cache_sizes();
  out.first_cache_bytes = std::max<int64_t>(0, caches[0]);
  out.second_cache_bytes = std::max<int64_t>(0, caches[1]);
  out.last_cache_bytes = std::max<int64_t>(0, caches[2]);
  if (forced.isa && !forced.is_of_no_processor()) force_isa(out, *forced.isa);
  if (forced.vector_bytes) force_vectors(out, "THTRAIN_TARGET's vectors", *forced.vector_bytes);
  if (vector_bytes_override && *vector_bytes_override) {
    std::string_view text = vector_bytes_override;
    if (text != "16" && text != "32" && text != "64")
      throw UserError({.what = "THTRAIN_VECTOR_BYTES is not a width of vectors",
                       .expected = "16, 32 or 64",
                       .got = std::string(text)});
    const int wanted = std::atoi(vector_bytes_override);
    if (((forced.isa && !forced.is_of_no_processor()) || forced.vector_bytes) && wanted != out.vector_bytes)
      throw UserError({.what = "THTRAIN_VECTOR_BYTES and THTRAIN_TARGET want different widths of vectors",
                       .expected = "one of the two, or the same width",
                       .got = str(wanted, " and ", out.vector_bytes)});
    force_vectors(out, "THTRAIN_VECTOR_BYTES", wanted);
  }
  out.feature_text += str(" vector ", out.vector_bytes);
  if (out.isa != out.widest_isa()) out.feature_text += str(" isa ", out.isa);
  return out;
}

const TargetParts& forced_target() {
  static const TargetParts once = [] {
    const char* text = std::getenv("THTRAIN_TARGET");
    return text && *text ? parse_target(text) : TargetParts();
  }();
  return once;
}

const Cpu& cpu() {
  static const Cpu once = detect_cpu(std::getenv("THTRAIN_VECTOR_BYTES"), forced_target());
  return once;
}

}  // namespace thtrain
