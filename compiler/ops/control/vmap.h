// A function of one value as a function of many at once.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ops/control/scan_step.h"

namespace thtrain {

// ---- for other parts of the compiler --------------------------------------------------------------------------------

std::vector<Expr> vmap_all(const ScanStep& step, const std::vector<Operand>& xs, const std::vector<int64_t>& axes,
                           const std::source_location& where);

// ---- control --------------------------------------------------------------------------------------------------------

/// The results of `step` for each element of an axis of `xs`, along a new first axis, as map() gives them; but no loop:
/// each operation is one for all elements (a product of a matrix and a vector becomes one of matrices). `axes`: for
/// each x, negative ones from the end; none: the first of each. These axes have one length. The parameters of `step`
/// are of type Expr, or one std::vector<Expr>; it gives an Expr or a std::vector<Expr>. What it uses from outside is
/// the same for all elements. An operation without a batching rule (a loop that until() ends, a draw of random numbers,
/// a convolution with filters that differ) becomes a loop of its own, and so does if_else() of a condition that
/// differs, in which each element computes the side that it takes. vmap of grad() gives the gradient of each example.
///
/// UserError: no x; an x without axes; axes of different lengths; updates or until() of the step function.
template <class Step>
auto vmap(const Step& step, const std::vector<Operand>& xs, const std::vector<int64_t>& axes = {},
          std::source_location where = std::source_location::current()) {
  return ScanStep::outputs_of<Step>(vmap_all(ScanStep(step), xs, axes, where));
}

}  // namespace thtrain
