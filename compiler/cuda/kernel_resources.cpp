#include "compiler/cuda/kernel_resources.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace thtrain::cuda {
namespace {

// What is read of a 64-bit ELF file with sections: those of the names .nv.info, whose records have a format, an
// attribute and a size, and .nv.shared.KERNEL.
class Cubin {
 public:
  explicit Cubin(const std::string& bytes) : bytes_(bytes) {
    const uint64_t sections = at<uint64_t>(0x28), each = at<uint16_t>(0x3a);
    const auto section = [&](uint64_t number) {
      const uint64_t begin = sections + number * each;
      return Section{at<uint32_t>(begin), at<uint32_t>(begin + 4), at<uint64_t>(begin + 24), at<uint64_t>(begin + 32),
                     at<uint32_t>(begin + 40)};
    };
    const Section names = section(at<uint16_t>(0x3e));
    Section info{}, symbols{};
    for (uint64_t i = 0; i < at<uint16_t>(0x3c); ++i) {
      const Section now = section(i);
      const std::string name = text(names, now.name);
      if (name == ".nv.info") info = now;
      if (now.type == 2) symbols = now;
      if (name.starts_with(".nv.shared.")) shared_[name.substr(11)] = now.size;
    }
    const Section symbol_names = section(symbols.link);
    for (uint64_t p = info.offset; p < info.offset + info.size;) {
      const bool has_bytes = at<uint8_t>(p) == 4;
      const uint8_t attribute = at<uint8_t>(p + 1);
      if (has_bytes && (attribute == 0x2f || attribute == 0x11)) {
        const std::string name = text(symbol_names, at<uint32_t>(symbols.offset + 24 * at<uint32_t>(p + 4)));
        (attribute == 0x2f ? registers_ : frames_)[name] = at<uint32_t>(p + 8);
      }
      p += 4 + (has_bytes ? at<uint16_t>(p + 2) : 0U);
    }
  }

  std::map<std::string, KernelResources> kernels() const {
    std::map<std::string, KernelResources> out;
    for (const auto& [name, registers] : registers_)
      out[name] = {registers, frames_.contains(name) ? frames_.at(name) : 0,
                   shared_.contains(name) ? shared_.at(name) : 0};
    return out;
  }

 private:
  struct Section {
    uint32_t name, type;
    uint64_t offset, size;
    uint32_t link;
  };
  template <class T>
  T at(uint64_t offset) const {
    T out{};
    if (offset + sizeof out > bytes_.size()) throw std::out_of_range("the cubin ends too early");
    std::memcpy(&out, bytes_.data() + offset, sizeof out);
    return out;
  }
  std::string text(const Section& names, uint32_t offset) const { return bytes_.c_str() + names.offset + offset; }

  const std::string& bytes_;
  std::map<std::string, uint32_t> registers_, frames_;
  std::map<std::string, uint64_t> shared_;
};

struct Multiprocessor {
  int threads, blocks;
  int64_t shared_bytes;
  int64_t registers = 65536;
};

Multiprocessor multiprocessor_of(int compute_capability) {
  if (compute_capability < 80) return {1024, 16, 64 << 10};
  if (compute_capability == 80) return {2048, 32, 164 << 10};
  if (compute_capability == 86 || compute_capability == 87) return {1536, 16, 100 << 10};
  if (compute_capability == 89 || compute_capability >= 120) return {1536, 24, 100 << 10};
  return {2048, 32, 228 << 10};
}

}  // namespace

std::map<std::string, KernelResources> kernel_resources(const std::string& cubin) {
  return Cubin(cubin).kernels();
}

int resident_threads(int compute_capability) {
  return multiprocessor_of(compute_capability).threads;
}

int resident_blocks(const KernelResources& kernel, int threads, int compute_capability) {
  constexpr int64_t kWarp = 32, kUnit = 256,
                    kOfBlock = 1 << 10;  // registers of a warp; shared bytes that a block takes
  const Multiprocessor of = multiprocessor_of(compute_capability);
  const int64_t warps = (threads + kWarp - 1) / kWarp;
  const int64_t registers = (kernel.registers * kWarp + kUnit - 1) / kUnit * kUnit;
  const int64_t shared = static_cast<int64_t>(kernel.shared) + (compute_capability < 80 ? 0 : kOfBlock);
  int64_t out = std::min<int64_t>(of.blocks, of.threads / (warps * kWarp));
  if (registers > 0) out = std::min(out, of.registers / (registers * warps));
  if (shared > 0) out = std::min(out, of.shared_bytes / shared);
  return static_cast<int>(out);
}

}  // namespace thtrain::cuda
