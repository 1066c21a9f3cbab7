#include "compiler/host/compile_units.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/base/ceil_div.h"
#include "compiler/base/content_hash.h"
#include "compiler/base/str.h"
#include "compiler/codegen/entry_helpers.h"

namespace thtrain {
namespace {

// In bytes of kernels' texts; g++ compiles about 500 of these bytes in a millisecond, and a third as many of helpers,
// which become part of each kernel that calls them. The entry's work includes starting the compiler for it.
// Measured: docs/decisions/0011.
constexpr size_t kWorkOfAnyKernel = 2'500, kWorkOfHelpers = 3;
constexpr size_t kWorkOfEntry = 8'000;
constexpr size_t kShortProgram = 80'000;
constexpr size_t kLeastOfUnit = 32'000, kMostOfUnit = 240'000;

}  // namespace

std::string kernel_symbol(const SourceText& source, const KernelText& kernel) {
  std::string helpers;
  for (uint32_t helper : kernel.helpers) helpers += source.helpers[helper];
  return str("th_", kernel.label, "_", content_hash({interface_text(), helpers, kernel.comment, kernel.code}));
}

std::string unit_text(const SourceText& source, std::span<const std::string> symbols,
                      const std::vector<size_t>& kernels) {
  // In the order of the whole text, where each is before those that need it.
  std::set<uint32_t> helpers;
  for (size_t k : kernels) helpers.insert(source.kernels[k].helpers.begin(), source.kernels[k].helpers.end());
  std::string out = str("// Kernels of thtrain.\n", interface_text());
  for (uint32_t helper : helpers) out += source.helpers[helper];
  for (size_t k : kernels) {
    const KernelText& kernel = source.kernels[k];
    // Weak: two units may have it. Hidden: it is called without a detour.
    out += str("\n", kernel.comment, "extern \"C\" __attribute__((weak, visibility(\"hidden\"))) void ", symbols[k],
               kernel.code);
  }
  return out;
}

std::string entry_text(const SourceText& source, std::span<const std::string> symbols) {
  std::string out = source.comment + interface_text() + "\n";
  for (size_t k = 0; k < symbols.size(); ++k)
    out += str("extern \"C\" __attribute__((visibility(\"hidden\"))) void ", source.kernels[k].name, kKernelParameters,
               "\n    __asm__(\"", symbols[k], "\");\n");
  return str(out, "\n", entry_helpers(source.entry, source.language), "\n", source.entry);
}

size_t compile_work(const SourceText& source, const KernelText& kernel) {
  size_t helpers = 0;
  for (uint32_t helper : kernel.helpers) helpers += source.helpers[helper].size();
  return kWorkOfAnyKernel + kernel.code.size() + kWorkOfHelpers * helpers;
}

bool is_short(const SourceText& source) {
  size_t work = 0;
  for (const KernelText& kernel : source.kernels) work += compile_work(source, kernel);
  return work < kShortProgram;
}

std::vector<std::vector<size_t>> deal_kernels(const std::vector<size_t>& kernels, const SourceText& source,
                                              size_t processes) {
  if (kernels.empty()) return {};
  auto work_of = [&](size_t kernel) { return compile_work(source, source.kernels[kernel]); };
  const size_t all = std::accumulate(kernels.begin(), kernels.end(), size_t{0},
                                     [&](size_t sum, size_t kernel) { return sum + work_of(kernel); });
  const size_t worth = std::clamp<size_t>(all / kLeastOfUnit, 1, processes);
  // As many for each process, which then end at about the same time.
  const size_t count = std::min(kernels.size(), worth * std::max<size_t>(1, ceil_div(all / kMostOfUnit, worth)));

  std::vector<size_t> order = kernels;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return work_of(a) > work_of(b); });
  std::vector<std::vector<size_t>> units(count);
  std::vector<size_t> work(count, 0);
  // Where each process has one unit, the entry comes on top of the last one's.
  if (count == processes) work.back() = kWorkOfEntry + source.entry.size();
  for (size_t kernel : order) {
    const auto least = static_cast<size_t>(std::min_element(work.begin(), work.end()) - work.begin());
    units[least].push_back(kernel);
    work[least] += work_of(kernel);
  }
  std::erase_if(units, [](const std::vector<size_t>& unit) { return unit.empty(); });
  for (std::vector<size_t>& unit : units) std::sort(unit.begin(), unit.end());
  return units;
}

}  // namespace thtrain
