// Makes one row of each example.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y[i] = the elements of x[i] in row-major order. x: [batch, ...], y: [batch, product of the others]. A view; no
/// parameters.
class Flatten : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Flatten;
    static constexpr std::string_view kName = "flatten";
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kKeepsNumbers = true;
  Flatten(const Options& options, const LayerInput& input)
      : Layer(Options::kName, options, {element_count(only_input(Options::kName, options, input))}) {}

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;
};

}  // namespace thtrain
