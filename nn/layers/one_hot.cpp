#include "nn/layers/one_hot.h"

#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

void OneHot::Options::describe(Fields<Options>& f) {
  f.about("Each symbol, which is an integer, as a row of zeros with a one at its index.");
  describe_layer(f);
  describe_count(f);
}

Shape symbol_shape(Shape example) {
  if (!example.empty() && example.back() == 1) example.pop_back();
  return example;
}

Expr symbols_of(const Expr& x, int64_t count) {
  const Dim& last = x.dims().back();
  Expr symbols = x.rank() > 1 && last.is(1) ? squeeze(x, {static_cast<int64_t>(x.rank()) - 1}) : x;
  Expr in_range = logical_and(ge(symbols, 0), lt(symbols, count));
  if (is_float(symbols.dtype())) in_range = logical_and(in_range, eq(symbols, floor(symbols)));
  return check(cast(symbols, DType::kInt64), in_range, str("symbols are integers from 0 to ", count - 1));
}

static Shape with_count(const OneHot::Options& options, const LayerInput& input) {
  Shape out = symbol_shape(only_input(OneHot::Options::kName, options, input));
  out.push_back(symbol_count(options, input));
  return out;
}

OneHot::OneHot(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, with_count(options, input)), dtype_(input.dtype) {}

Expr OneHot::forward(std::span<const Expr> inputs, LayerPass&) const {
  const int64_t count = output_shape().back();
  return one_hot(symbols_of(inputs[0], count), count, dtype_);
}

LayerKind one_hot_layer() {
  return layer_kind<OneHot>();
}

}  // namespace thtrain
