#include "compiler/codegen/entry_forms.h"

#include "compiler/base/str.h"

namespace thtrain {
namespace {

// Optimizing the entry of a long program takes the compiler six times as long as all its kernels (2,700 steps: 27
// seconds instead of 4), and gains nothing: it only calls them. g++ allocates registers at length for -O0 too where the
// command line has -fexpensive-optimizations: 5.5 seconds instead of 2.9 for 10,000 nodes.
constexpr const char* kNotOptimized =
    "\n#ifdef __clang__\n__attribute__((optnone, noinline))\n#else\n__attribute__((optimize(\"O0\", "
    "\"no-expensive-optimizations\")))\n#endif\n";

constexpr const char* kEntry = "int thtrain_entry(ThContext* ctx, const ThTensor* args) {\n";

// A processor's kernel takes numbers as their bits, behind the lengths.
std::string lengths_and_bits(const EntryForms::KernelRun& r) {
  std::string out = r.lengths;
  for (const std::string& number : r.numbers) out += str(out.empty() ? "" : ", ", "th_bits(", number, ")");
  return out;
}

// Arrays are braced lists, whose lengths templates find.
class CppForms : public EntryForms {
 public:
  std::string head(bool is_long) const override { return str("extern \"C\"", is_long ? kNotOptimized : " ", kEntry); }
  std::string run(const KernelRun& r) const override {
    const std::string lengths = lengths_and_bits(r);
    const std::string arguments =
        str("(ctx, ", r.kernel, ", ", list(r.buffers), ", ", lengths.empty() ? "" : str("{", lengths, "}, "), r.range);
    return r.grain.empty() ? str("run", arguments, ");")
                           : str("run_parallel", arguments, ", ", r.grain, ", ", r.multiple, ");");
  }
  std::string run_reference(int step, const std::string& buffers) const override {
    return str("run_reference(ctx, ", step, ", ", list(buffers), ");");
  }
  std::string probe(int step, int after, const std::string& buffers, const std::string& iterations) const override {
    return str("probe(ctx, ", step, ", ", after, ", ", list(buffers),
               iterations.empty() ? "" : str(", {", iterations, "}"), ");");
  }
  std::string checked(const Dim& dim, const LengthVariables& variables) const override {
    return checked_length_code(dim, variables);
  }
  std::string differ(size_t check, int too_large, const std::string& left, const std::string& right) const override {
    return str("differ(ctx, ", check, ", ", too_large, ", ", left, ", ", right, ")");
  }

 private:
  static std::string list(const std::string& items) { return str("{", items.empty() ? "0" : items, "}"); }
};

// What a kernel takes is passed to the launch as it is.
class CudaForms : public CppForms {
 public:
  std::string run(const KernelRun& r) const override {
    const bool takes_failure = r.may_fail || r.reads_failure;
    std::string out = str(takes_failure ? "launch_checked(ctx, " : "launch(ctx, ", r.number, " /* ", r.kernel, " */, ",
                          takes_failure ? str((r.may_fail ? 1 : 0) + (r.reads_failure ? 2 : 0), ", ") : "", "{", r.uses,
                          "}, ", r.blocks, ", ", r.threads);
    for (const std::string& list : {r.buffers, r.lengths, join(r.numbers, ", ")})
      if (!list.empty()) out += ", " + list;
    return out + ");";
  }
};

// Arrays are compound literals.
class C99Forms : public EntryForms {
 public:
  std::string head(bool) const override { return kEntry; }
  std::string run(const KernelRun& r) const override {
    const std::string arrays = str(buffers(r.buffers), ", ", lengths(lengths_and_bits(r)), ", ");
    return r.grain.empty()
               ? str(r.kernel, "(ctx, ", arrays, "0, ", r.range, ");")
               : str("run_parallel(ctx, ", r.kernel, ", ", arrays, r.range, ", ", r.grain, ", ", r.multiple, ");");
  }
  std::string run_reference(int step, const std::string& of) const override {
    return str("ctx->call_reference(ctx, ", step, ", ", buffers(of), ");");
  }
  std::string probe(int step, int after, const std::string& of, const std::string& iterations) const override {
    return str("if (ctx->probe) ctx->probe(ctx, ", step, ", ", after, ", ", buffers(of), ", ", lengths(iterations),
               ");");
  }
  std::string checked(const Dim& dim, const LengthVariables& variables) const override {
    return checked_length_calls(dim, variables);
  }
  std::string differ(size_t check, int too_large, const std::string& left, const std::string& right) const override {
    return str("differ_checked(ctx, ", check, ", ", too_large, ", ", left, ", ", right, ")");
  }

 private:
  static std::string buffers(const std::string& items) { return items.empty() ? "0" : str("(void*[]){", items, "}"); }
  static std::string lengths(const std::string& items) {
    return items.empty() ? "0" : str("(const long[]){", items, "}");
  }
};

}  // namespace

const EntryForms& entry_forms(kernel::Language language) {
  static const CppForms cpp;
  static const C99Forms c99;
  static const CudaForms cuda;
  switch (language) {
    case kernel::Language::kC99:
      return c99;
    case kernel::Language::kCuda:
      return cuda;
    case kernel::Language::kCpp:
      break;
  }
  return cpp;
}

}  // namespace thtrain
