#include "nn/layers/scale.h"

#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void Scale::Options::describe(Fields<Options>& f) {
  f.about("y = g x + b, with a factor g and a shift b of each element that are learned.");
  describe_layer(f);
  f.field("factor", &Options::factor).help("What the factors start at.");
  f.field("shift", &Options::shift).synonyms({"bias"}).help("Whether there is a shift, which starts at 0.");
  f.field("shared", &Options::shared).help("Whether there is one factor and shift for all elements, or one for each.");
  describe_trained(f);
}

Scale::Scale(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, only_input(Options::kName, options, input)) {
  const Shape shape = options.shared ? Shape{} : output_shape();
  Tensor factors = Tensor::empty(DType::kFloat64, shape);
  std::fill_n(factors.data<double>(), factors.size(), options.factor);
  factor_ = add_param("g", factors, input.dtype, false);
  if (options.shift) shift_ = add_param("b", Tensor::zeros(DType::kFloat64, shape), input.dtype, false);
}

Expr Scale::forward(std::span<const Expr> inputs, LayerPass&) const {
  const Expr scaled = factor_ * inputs[0];
  return shift_.has_value() ? scaled + shift_ : scaled;
}

LayerKind scale_layer() {
  return layer_kind<Scale>();
}

}  // namespace thtrain
