#include "nn/layers/softmax.h"

#include <algorithm>

#include "compiler/ops/nnet/softmax.h"
#include "nn/layers/dense.h"

namespace thtrain {

void Softmax::Options::describe(Fields<Options>& f) {
  f.about("The classifier, p = softmax(x W + b): the last layer.");
  describe_layer(f);
  f.field("units", &Options::units)
      .range(at_least(2))
      .unit("classes")
      .synonyms({"outputs", "n_out", "classes", "num_outputs", "out_features"})
      .help("Number of classes. Not given: that of the data.");
  f.field("bias", &Options::bias).help("Whether a bias b is added.");
  describe_init(f, &Options::init);
  describe_trained(f);
}

static int64_t class_count(const Softmax::Options& c, int64_t classes) {
  if (!c.units && classes == 0)
    throw UserError(Message{.what = str("layer ", c.name, ": the number of classes is not known"),
                            .expected = str(c.section.name_of("units"), ", or data with labels"),
                            .config = c.section.position,
                            .hint = "values that are no classes are learned by a last layer of type \"dense\""});
  if (c.units && *c.units < classes)
    throw UserError(Message{.what = str(c.section.name_of("units"), " is below the number of classes in the data"),
                            .expected = str("at least ", classes, " (classes)"),
                            .got = std::to_string(*c.units),
                            .config = c.section.at("units"),
                            .hint = "without units the layer takes as many as the data has"});
  return c.units.value_or(std::max<int64_t>(classes, 2));
}

Softmax::Softmax(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, {class_count(options, input.classes)}) {
  int64_t length = row_length(Options::kName, options, input);
  check_units(options, classes(), length, input.dtype);
  Tensor w = draw_weights(options.init, length, classes(), input.random);
  w_ = add_param("W", w, input.dtype, true).expr();
  if (options.bias) b_ = add_param("b", Tensor::zeros(input.dtype, {classes()}), input.dtype, false).expr();
}

Expr Softmax::logits(const Expr& x, const SparseExamples* sparse) const {
  Scope scope(name(), position());
  return affine(x, w_, b_, sparse);
}

Expr Softmax::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  return softmax(affine(inputs[0], w_, b_, pass.sparse));
}

LayerKind softmax_layer() {
  return layer_kind<Softmax>();
}

}  // namespace thtrain
