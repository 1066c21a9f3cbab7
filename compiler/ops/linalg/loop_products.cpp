// A matrix product by its definition: the products of an element are added one after the other, from the first to the
// last, in the dtype of the matrices. Slow, and the same bits on every machine.
#include "compiler/ops/candidates.h"
#include "compiler/ops/linalg/matrix_product.h"

namespace thtrain {
namespace {

using kernel::StepBuilder;
using kernel::Term;

// A factor that is known, or the scalar in an input.
Term factor_term(StepBuilder& b, const GemmFactor& factor, DType dtype) {
  if (const double* number = std::get_if<double>(&factor)) return kernel::constant(dtype, *number);
  return b.load(b.input(static_cast<size_t>(std::get<int>(factor))), 0);
}

void lower_loops(StepBuilder& b) {
  const ProductStep step = product_step(b);
  const kernel::Operand& out = b.output();
  const DType dtype = out.type.dtype;
  b.code().loop("i", b.begin(), b.end(), 1, kernel::LoopMark::kSequential, [&](Term i) {
    b.code().loop("j", b.length(out.type.dims[1]), [&](Term j) {
      const Term sum = b.code().var("sum", kernel::constant(dtype, 0));
      b.code().loop("l", b.length(step.a.type.dims[1]), [&](Term l) {
        const Term left = b.load(step.a, b.index_of(step.a, {i, l})),
                   right = b.load(step.b, b.index_of(step.b, {l, j}));
        b.code().assign(sum, sum + left * right);
      });
      Term value = factor_term(b, step.alpha, dtype) * sum;
      if (step.reads_c) {
        const kernel::Operand& c = b.input(0);
        value = value + factor_term(b, step.beta, dtype) * b.load(c, b.index_of(c, {i, j}));
      }
      b.store(out, b.index_of(out, {i, j}), value);
    });
  });
  b.finish_kernel("product_loops", "out0 = alpha in . in + beta in0, by its definition", out.type.dims[0], 1);
}

}  // namespace

// Not worth a trial: it is taken by name.
CandidateSource loop_products() {
  using kernel::ChoiceKey, kernel::Target;
  return {"matrix_product",
          [](const ChoiceKey&, const Target&) { return std::vector<Candidate>(); },
          [](const ChoiceKey&, const std::string& name, const Target&) {
            const Candidate loops{.name = "loops", .rounding = RoundingClass::kSame, .lower = lower_loops};
            return name == loops.name ? std::optional(loops) : std::nullopt;
          },
          {"loops"}};
}

}  // namespace thtrain
