#include "nn/layers/mean_steps.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

void MeanSteps::Options::describe(Fields<Options>& f) {
  f.about("The mean over the steps of each sequence.");
  describe_layer(f);
}

static const Shape& shape_of_step(const MeanSteps::Options& options, const LayerInput& input) {
  require_sequence(MeanSteps::Options::kName, options, input);
  return input.shapes[0];
}

MeanSteps::MeanSteps(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, shape_of_step(options, input)) {}

Expr MeanSteps::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  const Expr& x = inputs[0];
  if (!pass.mask.has_value()) return mean(x, 0);
  std::vector<int64_t> others;
  for (size_t axis = 2; axis < x.rank(); ++axis) others.push_back(static_cast<int64_t>(axis));
  const Expr mask = expand_dims(pass.mask, others);
  return sum(where(gt(mask, 0), x, 0), 0) / sum(mask, 0);
}

LayerKind mean_steps_layer() {
  return layer_kind<MeanSteps>();
}

}  // namespace thtrain
