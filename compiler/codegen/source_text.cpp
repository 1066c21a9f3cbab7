#include "compiler/codegen/source_text.h"

#include "compiler/base/str.h"
#include "compiler/codegen/embedded_text.h"

namespace thtrain {

std::string interface_text() {
  return str(
      embedded::entry_abi_h, "\n",
      "static inline long th_max(long a, long b) { return a > b ? a : b; }\n"
      "static inline long th_min(long a, long b) { return a < b ? a : b; }\n"
      "static inline long th_bits(double x) { long b; __builtin_memcpy(&b, &x, sizeof b); return b; }\n"
      "static inline long th_floor_div(long a, long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }\n");
}

std::string whole_text(const SourceText& source) {
  std::string out = source.comment + interface_text();
  for (const std::string& helper : source.helpers) out += helper;
  out += "\n";
  for (const KernelText& kernel : source.kernels)
    out += str(kernel.comment, "static void ", kernel.name, kernel.code, "\n");
  return out + source.entry;
}

}  // namespace thtrain
