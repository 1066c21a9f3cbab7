// Several layers side by side.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = the inputs one after the other along an axis of an example: [batch, a] and [batch, b] give [batch, a + b].
/// Their other lengths agree. No parameters. UserError for other shapes, or one input alone.
class Concat : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Concat;
    static constexpr std::string_view kName = "concat";
    int64_t axis = 0;  // of an example
    static void describe(Fields<Options>& f);
  };
  Concat(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  int64_t axis_;
};

}  // namespace thtrain
