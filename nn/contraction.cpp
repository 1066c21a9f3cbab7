#include "nn/contraction.h"

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "nn/layers/dense.h"
#include "nn/layers/rbm.h"

namespace thtrain {

// s' of a layer that ends in that operation; empty for others.
static Expr slope_of(const Expr& h) {
  const std::string op = h.node().op ? h.node().op->name : "";
  if (op == "sigmoid") return h * (1 - h);
  if (op == "tanh") return 1 - sqr(h);
  return {};
}

Expr contraction_penalty(const ModelOutput& hidden, const ConfigPosition& where) {
  const Layer* layer = hidden.layer;
  const auto* dense = dynamic_cast<const Dense*>(layer);
  const bool is_known = dense || dynamic_cast<const Rbm*>(layer);
  const bool is_linear = dense && dense->activation() == "linear";
  const Expr slope = is_known && !is_linear ? slope_of(hidden.value) : Expr();
  if (!is_linear && !slope.has_value())
    throw UserError(Message{.what = str("the layer ", layer ? layer->name() : "", " has no contraction penalty"),
                            .expected = "a dense layer with the activation sigmoid, tanh or linear, or an rbm layer",
                            .got = dense   ? str("a dense layer with the activation ", dense->activation())
                                   : layer ? str("type = \"", layer->type(), '"')
                                           : "a value of no layer",
                            .config = where});
  Scope scope("contraction");
  const Expr columns = sum(sqr(layer->params().front().expr()), 0);  // of W
  if (is_linear) return sum(columns);
  return mean(sum(sqr(slope) * columns, 1));
}

}  // namespace thtrain
