#include "nn/layers/prelu.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

void Prelu::Options::describe(Fields<Options>& f) {
  f.about("y = x where x is above 0, else a x, with a slope a that is learned.");
  describe_layer(f);
  f.field("slope", &Options::slope).synonyms({"alpha", "negative_slope"}).help("What the slopes start at.");
  f.field("shared", &Options::shared).help("Whether there is one slope for all elements, or one for each.");
  describe_trained(f);
}

static Tensor filled(const Shape& shape, double value) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = value;
  return out;
}

Prelu::Prelu(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, only_input(Options::kName, options, input)) {
  slope_ = add_param("slope", filled(options.shared ? Shape{} : output_shape(), options.slope), input.dtype, false);
}

Expr Prelu::forward(std::span<const Expr> inputs, LayerPass&) const {
  const Expr& x = inputs[0];
  return where(x > 0, x, slope_ * x);
}

LayerKind prelu_layer() {
  return layer_kind<Prelu>();
}

}  // namespace thtrain
