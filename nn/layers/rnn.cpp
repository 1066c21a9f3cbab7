#include "nn/layers/rnn.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "nn/activations.h"

namespace thtrain {

void Rnn::Options::describe(Fields<Options>& f) {
  f.about("Sequences step by step: h_t = activation(x_t W + b + h_(t-1) U).");
  describe_recurrent(f);
  f.field("activation", &Options::activation)
      .one_of(activation_function_names())
      .synonyms({"nonlinearity"})
      .help("Function that is applied to each output.");
}

Rnn::Rnn(const Options& options, const LayerInput& input)
    : Recurrent(Options::kName, options, input, 1, {"h"}), activation_(options.activation) {}

std::vector<Expr> Rnn::step(const Expr& z, const std::vector<Expr>& before) const {
  return {apply_activation(activation_, z + dot(before[0], u()))};
}

LayerKind rnn_layer() {
  return layer_kind<Rnn>();
}

}  // namespace thtrain
