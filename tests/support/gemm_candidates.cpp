#include "tests/support/gemm_candidates.h"

#include "compiler/codegen/embedded_text.h"
#include "compiler/ir/variables.h"
#include "compiler/kernel/printer.h"
#include "compiler/ops/linalg/linalg.h"

namespace thtrain {
namespace {

struct Stored {
  int64_t rows, columns;
};
Stored stored_a(const MatrixProduct& p) {
  return p.trans_a ? Stored{p.k, p.m} : Stored{p.m, p.k};
}
Stored stored_b(const MatrixProduct& p) {
  return p.trans_b ? Stored{p.n, p.k} : Stored{p.k, p.n};
}

kernel::KernelCall kernel_of(const MatrixProduct& p, const GemmTiling& tiling, double alpha, double beta,
                             int vector_bytes) {
  auto [a_rows, a_columns] = stored_a(p);
  auto [b_rows, b_columns] = stored_b(p);
  Expr a = tensor("a", {p.m, p.k}, p.dtype), b = tensor("b", {p.k, p.n}, p.dtype), c = dot(a, b);
  auto operand = [](int i, const Expr& e) { return kernel::Operand{i, e.type(), row_major(e.dims())}; };
  kernel::StepBuilder builder(c.node(), {operand(0, a), operand(1, b)}, {operand(2, c)},
                              {.vector_bytes = vector_bytes});
  GemmCall call{p, builder.input(0), builder.input(1), builder.output(), a_columns, b_columns, p.n, alpha, beta};
  if (p.count) call.batch = {{p.count, p.m * p.k, p.k * p.n, p.m * p.n}};
  lower_gemm(builder, call, tiling);
  return std::get<kernel::KernelCall>(builder.take().front());
}

// A translation unit that exports candidate_0, candidate_1, ...: one for each name of a tiling.
std::string source_of(const MatrixProduct& p, const std::vector<std::string>& names, double alpha, double beta,
                      int vector_bytes) {
  const kernel::Dialect& dialect = kernel::dialect_of({.vector_bytes = vector_bytes});
  kernel::Helpers helpers;
  std::string kernels;
  for (size_t i = 0; i < names.size(); ++i) {
    kernel::KernelCall call = kernel_of(p, gemm_tiling_named(names[i]).value(), alpha, beta, vector_bytes);
    std::string name = str("gemm_", i);
    kernels += kernel::print_function(*call.function, dialect, helpers).named(name);
    std::string all = call.range.text(), run_all = str(name, "(ctx, b, 0, 0, ", all, ")");
    kernels += str("extern \"C\" void candidate_", i, "(ThContext* ctx, void* const* buffers) {\n  void* const b[] = {",
                   join(call.operands, ", ", [](int k) { return str("buffers[", k, "]"); }), "};\n  ");
    if (!call.grain.is(0))
      kernels += str("if (ctx->threads > 1 && ", all, " > ", call.grain.text(), ") ctx->parallel_for(ctx, ", name,
                     ", b, 0, ", all, ", ", call.grain.text(), ", ", call.multiple, "); else ");
    kernels += str(run_all, ";\n}\n");
  }
  return str("// Candidates of a matrix product.\n", embedded::entry_abi_h, "\n", helpers.text(), kernels);
}

}  // namespace

GemmCandidates::GemmCandidates(const MatrixProduct& product, std::vector<std::string> names, double alpha, double beta,
                               int vector_bytes)
    : names_(std::move(names)) {
  LoadedObject loaded = cache().load_object(source_of(product, names_, alpha, beta, vector_bytes), "candidate_0");
  TH_CHECK(loaded.object, "the tilings of a product do not compile: ", loaded.reason);
  object_ = loaded.object;
  for (size_t i = 0; i < names_.size(); ++i)
    kernels_.push_back(reinterpret_cast<Kernel>(object_->symbol(str("candidate_", i).c_str())));
}

void GemmCandidates::run(size_t i, ThContext& context, const void* a, const void* b, void* c) const {
  void* const buffers[] = {const_cast<void*>(a), const_cast<void*>(b), c};
  kernels_[i](&context, buffers);
}

}  // namespace thtrain
