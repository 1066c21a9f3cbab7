#include "compiler/ops/linalg/matrix_product.h"

#include "compiler/ops/linalg/matrix_layout.h"

namespace thtrain {
namespace {

using kernel::LibraryCall;
using kernel::Operand;
using kernel::PointerTo;
using kernel::StepBuilder;

bool is_known(const Dim& dim) {
  return dim.is_known();
}

// What the chooser says about a product of known lengths; a length of 0 or 1 is left to the library.
std::string choice(StepBuilder& builder, const GemmCall& call) {
  const kernel::MatrixProduct& p = call.product;
  if (!builder.chooser() || p.m < 2 || p.n < 2 || p.k < 1) return "library";
  return builder.chooser()->choose(p);
}

}  // namespace

void copy_addend(StepBuilder& b) {
  if (b.overwrites(0)) return;
  const Expr& source = b.node().inputs[0];
  b.code().loop("i", b.begin(), b.end(), 1, kernel::LoopMark::kSequential, [&](kernel::Term i) {
    if (source.rank() == 1) {
      b.store(b.output(), i, b.load(b.input(0), b.index_of(b.input(0), {i})));
    } else {
      b.code().loop("j", b.length(source.dims()[1]), [&](kernel::Term j) {
        b.store(b.output(), b.index_of(b.output(), {i, j}), b.load(b.input(0), b.index_of(b.input(0), {i, j})));
      });
    }
  });
  b.finish_kernel("copy", "out0 = in0, to be accumulated into", source.dims()[0]);
}

void lower_matrix_product(StepBuilder& builder, const Operand& a, const Operand& b, const GemmFactor& alpha,
                          const GemmFactor& beta) {
  MatrixLayout p = *matrix_layout(a.type.dims, a.layout), q = *matrix_layout(b.type.dims, b.layout);
  const Dim &m = a.type.dims[0], &k = a.type.dims[1], &n = b.type.dims[1];
  const Operand& c = builder.output();
  const double* known_beta = std::get_if<double>(&beta);
  const bool reads_c = !known_beta || *known_beta != 0;
  std::string name = "library";
  if (is_known(m) && is_known(n) && is_known(k) && is_known(p.leading) && is_known(q.leading)) {
    GemmCall call{{a.type.dtype, m.value(), n.value(), k.value(), p.transposed, q.transposed, reads_c},
                  a,
                  b,
                  c,
                  p.leading.value(),
                  q.leading.value(),
                  n.value(),
                  alpha,
                  beta};
    name = choice(builder, call);
    if (std::optional<GemmTiling> tiling = gemm_tiling_named(name)) {
      // Our kernels read what is added where it lies; a library adds in place.
      if (reads_c && !builder.overwrites(0)) {
        if (is_row_major(builder.input(0).type.dims, builder.input(0).layout))
          call.addend = &builder.input(0);
        else
          copy_addend(builder);
      }
      return lower_gemm(builder, call, *tiling);
    }
  }
  if (reads_c) copy_addend(builder);
  using Argument = std::variant<Dim, double, PointerTo, kernel::ScalarOf>;
  auto factor = [&](const GemmFactor& f) -> Argument {
    if (const double* number = std::get_if<double>(&f)) return *number;
    return kernel::ScalarOf{builder.input(static_cast<size_t>(std::get<int>(f))).index};
  };
  std::string function = name.starts_with("oneDNN ")       ? "onednn_f32"
                         : a.type.dtype == DType::kFloat32 ? "gemm_f32"
                                                           : "gemm_f64";
  builder.call_library({function,
                        {Dim(p.transposed), Dim(q.transposed), m, n, k, factor(alpha), PointerTo{a.index}, p.leading,
                         PointerTo{b.index}, q.leading, factor(beta), Dim(reads_c), PointerTo{c.index}, max(n, 1)}});
}

}  // namespace thtrain
