#include "nn/layers/factorization.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "nn/layers/dense.h"

namespace thtrain {

void Factorization::Options::describe(Fields<Options>& f) {
  f.about(
      "A factorization machine: y = x W + b and the products of all pairs of inputs, each weighted by the inner "
      "product of "
      "their rows of V. Of examples of the sources `ratings` and `coordinates`, the factorization of a matrix.");
  describe_layer(f);
  f.field("factors", &Options::factors)
      .range(at_least(1))
      .unit("numbers")
      .synonyms({"rank", "units", "embedding_dim"})
      .help("Numbers of each input's row of V.");
  describe_init(f, &Options::init);
  describe_trained(f);
}

Factorization::Factorization(const Options& options, const LayerInput& input) : Layer(Options::kName, options, {1}) {
  const int64_t length = row_length(Options::kName, options, input);
  check_units(options, options.factors, length, input.dtype);
  w_ = add_param("W", Tensor::zeros(input.dtype, {length, 1}), input.dtype, true).expr();
  v_ = add_param("V", draw_weights(options.init, length, options.factors, input.random), input.dtype, true).expr();
  b_ = add_param("b", Tensor::zeros(input.dtype, {1}), input.dtype, false).expr();
}

Expr Factorization::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  const Expr& x = inputs[0];
  Expr sums, squares;
  if (pass.sparse && x.same(pass.sparse->x)) {
    const Expr used = pass.sparse->used(v_);
    SparseExamples squared = *pass.sparse;
    squared.values = sqr(squared.values);
    sums = pass.sparse->times_used(used);
    squares = squared.times_used(sqr(used));
  } else {
    sums = dot(x, v_);
    squares = dot(sqr(x), sqr(v_));
  }
  const Expr pairs = 0.5 * sum(sqr(sums) - squares, 1, true);
  return affine(x, w_, b_, pass.sparse) + pairs;
}

LayerKind factorization_layer() {
  return layer_kind<Factorization>();
}

}  // namespace thtrain
