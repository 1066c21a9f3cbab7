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

// Of a matrix, or of a vector that has one of the two axes.
Term element(StepBuilder& b, const kernel::Operand& operand, const Term& row, const Term& column, bool has_rows) {
  if (operand.type.rank() == 2) return b.index_of(operand, {row, column});
  return operand.type.rank() == 1 ? b.index_of(operand, {has_rows ? row : column}) : Term(0);
}

}  // namespace

void lower_loops_loop_products(StepBuilder& b) {
  const ProductStep step = product_step(b);
  const kernel::Operand& out = b.output();
  const Type &left = step.a.type, &right = step.b.type;
  const DType dtype = out.type.dtype;
  const Dim rows = left.rank() == 2 ? left.dims[0] : 1, columns = right.rank() == 2 ? right.dims[1] : 1;
  b.code().loop("i", b.begin(), b.end(), 1, kernel::LoopMark::kSequential, [&](Term i) {
    b.code().loop("j", b.length(columns), [&](Term j) {
      const Term sum = b.code().var("sum", kernel::constant(dtype, 0));
      b.code().loop("l", b.length(left.dims.back()), [&](Term l) {
        const Term x = b.load(step.a, element(b, step.a, i, l, false)),
                   y = b.load(step.b, element(b, step.b, l, j, true));
        b.code().assign(sum, sum + x * y);
      });
      Term value = factor_term(b, step.alpha, dtype) * sum;
      if (step.reads_c) {
        const kernel::Operand& c = b.input(0);
        value = value + factor_term(b, step.beta, dtype) * b.load(c, element(b, c, i, j, left.rank() == 2));
      }
      b.store(out, element(b, out, i, j, left.rank() == 2), value);
    });
  });
  b.finish_kernel("product_loops", "out0 = alpha in . in + beta in0, by its definition", rows, 1);
}

// Not worth a trial: it is taken by name.
CandidateSource loop_products() {
  using kernel::ChoiceKey, kernel::Target;
  return {"matrix_product",
          [](const ChoiceKey&, const Target&) { return std::vector<Candidate>(); },
          [](const ChoiceKey&, const std::string& name, const Target&) {
            const Candidate loops{
                .name = "loops", .rounding = RoundingClass::kSame, .lower = lower_loops_loop_products};
            return name == loops.name ? std::optional(loops) : std::nullopt;
          },
          {"loops"}};
}

}  // namespace thtrain
