// A factorization machine; of pairs of two numbers, the factorization of a matrix.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y = x W + 1/2 sum_f ((x V)_f^2 - x^2 V^2_f) + b, squares by element: the products x_i x_j of all pairs of inputs,
/// each weighted by the inner product of their rows of V. Where x is 1 at a row and at a column of a matrix, else 0,
/// that is the factorization of the matrix into V's rows of both, with a bias for each row and column. x: [batch, in],
/// W: [in, 1] "<name>/W", V: [in, factors] "<name>/V", b: [1] "<name>/b", y: [batch, 1]. W and b start at 0, V as
/// `init` says. Of sparse examples only the rows of W and V of the columns that are in the minibatch are read, and have
/// a gradient. UserError where one example is not a row of numbers.
///
/// S. Rendle, "Factorization machines", ICDM 2010, equations 1 and 5; Y. Koren, R. Bell, C. Volinsky, "Matrix
/// factorization techniques for recommender systems", IEEE Computer 42(8), 2009, equation 4.
class Factorization : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = Factorization;
    static constexpr std::string_view kName = "factorization";
    int64_t factors = 8;
    Init init = {};
    static void describe(Fields<Options>& f);
    std::optional<int64_t> outputs() const { return 1; }
  };
  static constexpr bool kTakesRows = true;
  static constexpr bool kExceedsShares = true;
  Factorization(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  Expr w_, v_, b_;
};

}  // namespace thtrain
