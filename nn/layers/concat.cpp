#include "nn/layers/concat.h"

#include "compiler/ops/shape/shape.h"

namespace thtrain {

void Concat::Options::describe(Fields<Options>& f) {
  f.about("Its `inputs`, joined along one axis.");
  describe_layer(f);
  f.field("axis", &Options::axis)
      .range(at_least(0))
      .synonyms({"dim"})
      .help("The axis of an example along which they are joined; along the others their lengths are equal.");
}

static Shape joined(const Concat::Options& options, const LayerInput& input) {
  std::vector<Shape> shapes = several_inputs(Concat::Options::kName, options, input);
  const auto axis = static_cast<size_t>(options.axis);
  Shape out = shapes[0];
  int64_t total = 0;
  for (Shape& shape : shapes) {
    if (axis >= shape.size())
      fail_layer(Concat::Options::kName, options, input, str("inputs with an axis ", axis), "axes count from 0");
    total += shape[axis];
    shape[axis] = out[axis];
    if (shape != out)
      fail_layer(Concat::Options::kName, options, input, str("inputs that differ along axis ", axis, " only"),
                 "a flatten layer makes rows of an input");
  }
  out[axis] = total;
  return out;
}

Concat::Concat(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, joined(options, input)), axis_(options.axis) {}

Expr Concat::forward(std::span<const Expr> inputs, LayerPass&) const {
  return concatenate({inputs.begin(), inputs.end()}, axis_ + 1);
}

LayerKind concat_layer() {
  return layer_kind<Concat>();
}

}  // namespace thtrain
