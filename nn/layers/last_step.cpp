#include "nn/layers/last_step.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "nn/sequences.h"

namespace thtrain {

void LastStep::Options::describe(Fields<Options>& f) {
  f.about("The last step of each sequence.");
  describe_layer(f);
}

static const Shape& shape_of_step(const LastStep::Options& options, const LayerInput& input) {
  require_sequence(LastStep::Options::kName, options, input);
  return input.shapes[0];
}

LastStep::LastStep(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, shape_of_step(options, input)) {}

Expr LastStep::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  const Expr& x = inputs[0];
  if (!pass.mask.has_value()) return x[-1];
  const Expr last = cast(sum(pass.mask, 0), DType::kInt64) - 1, batch = length(x, 1);
  return take(rows_of_steps(x), last * batch + arange(batch));
}

LayerKind last_step_layer() {
  return layer_kind<LastStep>();
}

}  // namespace thtrain
