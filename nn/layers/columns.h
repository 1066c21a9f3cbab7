// Some of the numbers of each example.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = x[:, first : first + count]: one of the inputs of a model whose examples hold several in a row.
/// x: [batch, in], y: [batch, count]. No parameters. UserError where an example is not a row of so many numbers.
class Columns : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Columns;
    static constexpr std::string_view kName = "columns";
    int64_t first = 0;
    int64_t count = 1;
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kTakesRows = true;
  Columns(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  int64_t first_;
};

}  // namespace thtrain
