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

std::string checked_number_text() {
  return "struct ThNumber {\n"
         "  long value;\n"
         "  bool fits;\n"
         "  ThNumber(long value, bool fits = true) : value(value), fits(fits) {}\n"
         "};\n"
         "static inline ThNumber operator+(ThNumber a, ThNumber b) {\n"
         "  bool over = __builtin_add_overflow(a.value, b.value, &a.value);\n"
         "  return ThNumber(a.value, a.fits && b.fits && !over);\n"
         "}\n"
         "static inline ThNumber operator*(ThNumber a, ThNumber b) {\n"
         "  bool over = __builtin_mul_overflow(a.value, b.value, &a.value);\n"
         "  return ThNumber(a.value, a.fits && b.fits && !over);\n"
         "}\n"
         "static inline ThNumber th_max(ThNumber a, ThNumber b) {\n"
         "  return ThNumber(th_max(a.value, b.value), a.fits && b.fits);\n"
         "}\n"
         "static inline ThNumber th_min(ThNumber a, ThNumber b) {\n"
         "  return ThNumber(th_min(a.value, b.value), a.fits && b.fits);\n"
         "}\n"
         "static inline ThNumber th_floor_div(ThNumber a, ThNumber b) {\n"
         "  return ThNumber(th_floor_div(a.value, b.value), a.fits && b.fits);\n"
         "}\n";
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
