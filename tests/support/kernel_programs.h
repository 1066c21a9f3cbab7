// Programs of a few kernels by hand, long enough to be compiled in units.
#pragma once

#include <string>
#include <vector>

#include "compiler/base/str.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/codegen/source_text.h"
#include "compiler/host/cache.h"

namespace thtrain {

/// A kernel that adds `value` to the sum, in a text of `bytes`: a compiler reads past the comment at once.
inline KernelText adding_kernel(size_t number, int value, size_t bytes = 50'000) {
  return {str("k", number, "_add"),
          "add",
          "// sum + value\n",
          str("(ThContext* ctx, void* const* buffers, const long* lengths, long begin, long end) {\n  /*",
              std::string(bytes, '.'), "*/\n  *(int*)buffers[0] = helper_sum(*(int*)buffers[0], ", value, ");\n}\n"),
          {0}};
}

/// Its entry returns the sum of `values`, each added by a kernel of its own.
inline SourceText adding_program(const std::vector<int>& values, size_t bytes = 50'000) {
  SourceText out;
  out.comment = "// A program.\n";
  out.helpers = {"static inline int helper_sum(int a, int b) { return a + b; }\n"};
  out.entry =
      "extern \"C\" int thtrain_entry(ThContext* ctx, const ThTensor* args) {\n"
      "  int sum = 0;\n  void* const b[] = {(void*)&sum};\n";
  for (size_t i = 0; i < values.size(); ++i) {
    out.kernels.push_back(adding_kernel(i, values[i], bytes));
    out.entry += str("  ", out.kernels[i].name, "(ctx, b, 0, 0, 0);\n");
  }
  out.entry += "  return sum;\n}\n";
  return out;
}

/// What the entry returns; -1 where nothing was loaded.
inline int sum_of(const LoadedObject& loaded) {
  return loaded.object ? reinterpret_cast<ThEntry>(loaded.object->symbol("thtrain_entry"))(nullptr, nullptr) : -1;
}

}  // namespace thtrain
