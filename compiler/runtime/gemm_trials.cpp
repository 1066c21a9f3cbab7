#include "compiler/runtime/gemm_trials.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "compiler/codegen/embedded_text.h"
#include "compiler/ir/variables.h"
#include "compiler/kernel/printer.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/runtime/matrix_products.h"
#include "compiler/runtime/threads.h"

namespace thtrain {
namespace {

using kernel::MatrixProduct;

// How long all trials of one product may take, and one turn of one candidate.
constexpr double kSeconds = 0.4, kTurnSeconds = 0.0005;
constexpr int kLeastTurns = 9;
// A step of training touches much else before it comes back to the same product: operands that the second cache does
// not hold take turns, so that they are not found nearer than they will be there.
constexpr int64_t kFitsCache = 1 << 20;
constexpr size_t kTakeTurns = 3;

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
  lower_gemm(builder, {p, builder.input(0), builder.input(1), builder.output(), a_columns, b_columns, p.n, alpha, beta},
             tiling);
  return std::get<kernel::KernelCall>(builder.take().front());
}

// A translation unit that exports candidate_0, candidate_1, ...: one for each name of a tiling.
std::string source_of(const MatrixProduct& p, const std::vector<std::string>& names, double alpha, double beta,
                      int vector_bytes) {
  const kernel::Dialect& dialect = kernel::dialect_of({.vector_bytes = vector_bytes});
  kernel::Helpers helpers;
  std::string kernels;
  for (size_t i = 0; i < names.size(); ++i) {
    std::optional<GemmTiling> tiling = gemm_tiling_named(names[i]);
    if (!tiling) continue;
    kernel::KernelCall call = kernel_of(p, *tiling, alpha, beta, vector_bytes);
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

template <class T, class Product>
void run_library(Product product, ThContext& context, const MatrixProduct& p, double alpha, const void* a,
                 const void* b, double beta, void* c) {
  product(&context, p.trans_a, p.trans_b, p.m, p.n, p.k, static_cast<T>(alpha), static_cast<const T*>(a),
          stored_a(p).columns, static_cast<const T*>(b), stored_b(p).columns, static_cast<T>(beta), beta != 0,
          static_cast<T*>(c), p.n);
}

struct Operands {
  Tensor a, b, c;
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Small whole numbers: sums stay finite however often the product is accumulated, and no operand is denormal.
Tensor filled(DType dtype, int64_t rows, int64_t columns) {
  Tensor out = Tensor::empty(dtype, {rows, columns});
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      for (int64_t i = 0; i < rows * columns; ++i) out.data<T>()[i] = static_cast<T>(i * 7 % 13 - 6);
  });
  return out;
}

}  // namespace

GemmCandidates::GemmCandidates(const MatrixProduct& product, std::vector<std::string> names, double alpha, double beta,
                               int vector_bytes)
    : product_(product), names_(std::move(names)), kernels_(names_.size()), alpha_(alpha), beta_(beta) {
  auto generated = [](const std::string& name) { return gemm_tiling_named(name).has_value(); };
  if (std::none_of(names_.begin(), names_.end(), generated)) return;
  const auto first = std::find_if(names_.begin(), names_.end(), generated) - names_.begin();
  LoadedObject loaded =
      cache().load_object(source_of(product_, names_, alpha, beta, vector_bytes), str("candidate_", first).c_str());
  if (!loaded.object)
    throw UserError(Message{.what = "no candidate can be compiled", .got = loaded.reason, .hint = "install g++"});
  object_ = loaded.object;
  for (size_t i = 0; i < names_.size(); ++i)
    if (generated(names_[i])) kernels_[i] = reinterpret_cast<Kernel>(object_->symbol(str("candidate_", i).c_str()));
}

void GemmCandidates::run(size_t i, ThContext& context, const void* a, const void* b, void* c) const {
  void* const buffers[] = {const_cast<void*>(a), const_cast<void*>(b), c};
  if (kernels_[i]) return kernels_[i](&context, buffers);
  if (product_.dtype == DType::kFloat64)
    return run_library<double>(context.gemm_f64, context, product_, alpha_, a, b, beta_, c);
  auto product = names_[i].starts_with("oneDNN ") ? context.onednn_f32 : context.gemm_f32;
  run_library<float>(product, context, product_, alpha_, a, b, beta_, c);
}

std::vector<GemmTrial> time_candidates(const MatrixProduct& p, const std::vector<std::string>& names, int threads) {
  GemmCandidates candidates(p, names, p.accumulates ? -0.01 : 1, p.accumulates ? 1 : 0, cpu().vector_bytes);
  ThContext context{};
  context.version = TH_ABI_VERSION;
  context.threads = threads;
  context.parallel_for = parallel_for;
  set_matrix_products(context);
  const auto bytes = static_cast<int64_t>(size_of(p.dtype)) * (p.m * p.k + p.k * p.n + p.m * p.n);
  std::vector<Operands> operands(bytes < kFitsCache ? 1 : kTakeTurns);
  for (Operands& o : operands)
    o = {filled(p.dtype, stored_a(p).rows, stored_a(p).columns), filled(p.dtype, stored_b(p).rows, stored_b(p).columns),
         filled(p.dtype, p.m, p.n)};

  size_t next = 0;
  std::vector<int> calls(names.size());
  std::vector<double> fastest(names.size(), std::numeric_limits<double>::infinity());
  double begin = seconds_now();
  for (int turn = -1; turn < kLeastTurns || seconds_now() - begin < kSeconds; ++turn)
    for (size_t i = 0; i < names.size(); ++i) {
      double start = seconds_now();
      int done = 0;
      while (done == 0 || (calls[i] == 0 ? seconds_now() - start < kTurnSeconds : done < calls[i])) {
        const Operands& o = operands[next++ % operands.size()];
        candidates.run(i, context, o.a.raw(), o.b.raw(), o.c.raw());
        ++done;
      }
      if (turn < 0)
        calls[i] = done;  // the first turn warms up and tells how many calls make a turn
      else
        fastest[i] = std::min(fastest[i], (seconds_now() - start) / done);
    }
  std::vector<GemmTrial> out;
  for (size_t i = 0; i < names.size(); ++i) out.push_back({names[i], fastest[i]});
  return out;
}

}  // namespace thtrain
