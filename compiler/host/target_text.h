// The text of THTRAIN_TARGET: what of the machine generated code is to take as given, in place of what is found.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/kernel/target.h"

namespace thtrain {

/// What a text names of a target; the rest is the machine's own.
struct TargetParts {
  std::optional<std::string> isa;
  std::optional<int> vector_bytes;
  std::optional<std::array<int64_t, 3>> caches;  // bytes of the first, second and last
  std::optional<int> cores;
  std::optional<int64_t> non_temporal_bytes;
  std::optional<int> store_prefetch_lines, load_prefetch_lines;
  std::optional<kernel::KernelRates> rates;

  /// Scalar C99 and devices are made for no processor.
  bool is_of_no_processor() const { return isa == "c99" || (isa && isa->starts_with(kernel::kCudaIsa)); }
};

/// "isa=avx2,caches=32K/256K/4M", "isa=c99,cores=2": entries of kernel::Target::text() in any order, each at most once.
/// UserError, which names THTRAIN_TARGET, where the text is none of these.
TargetParts parse_target(std::string_view text);

}  // namespace thtrain
