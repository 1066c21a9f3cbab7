// Symbols as rows of a matrix that is learned.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y[...] = W[x[...]]: a row for each symbol; the product of a one-hot row with W, without the product. x: [batch,
/// ...], integers from 0 to count - 1 in numbers of any dtype (float32 holds those up to 2^24); a last axis of length 1
/// is left out. W: [count, units] "<name>/W", y: [batch, ..., units]. The gradient of W is 0 but for the rows that were
/// read, and x has none. A number that is no integer, or out of range, is an error when it is read. UserError where
/// `count` is not given and the data has no classes.
///
/// Sgd without momentum, weight decay and clipping changes the rows that were read, in place. Other optimizers walk the
/// whole matrix: their state or their decay moves every row in each step.
///
/// Y. Bengio, R. Ducharme, P. Vincent, C. Jauvin, "A neural probabilistic language model", Journal of Machine Learning
/// Research 3, 2003, section 2; PyTorch's nn.Embedding.
class Embedding : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Embedding;
    static constexpr std::string_view kName = "embedding";
    int64_t units = 1;
    std::optional<int64_t> count = {};
    Init init = {};
    static void describe(Fields<Options>& f);
    std::optional<Symbols> symbols() const { return Symbols{count}; }
  };
  static constexpr bool kExceedsShares = true;
  Embedding(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  int64_t count_;
  Expr w_;
};

}  // namespace thtrain
