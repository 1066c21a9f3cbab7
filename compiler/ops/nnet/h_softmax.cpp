// The softmax in two levels.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

struct Levels {
  Expr x, groups, classes_w, classes_b;  // `groups`: the probability of each
};

Levels levels_of(const Operand& operand, const HSoftmaxWeights& weights) {
  const Expr x = operand.expr(), w = weights.groups_w.expr(), b = weights.groups_b.expr();
  Levels out{x, {}, weights.classes_w.expr(), weights.classes_b.expr()};
  if (x.rank() != 2 || w.rank() != 2 || b.rank() != 1 || out.classes_w.rank() != 3 || out.classes_b.rank() != 2)
    fail_build(operand.where(), "h_softmax: a value has another rank",
               "x [n, inputs], groups_w [inputs, groups], groups_b [groups], classes_w [groups, inputs, size], "
               "classes_b [groups, size]",
               str(value_text(x), ", ", value_text(w), ", ", value_text(b), ", ", value_text(out.classes_w), ", ",
                   value_text(out.classes_b)));
  out.groups = softmax(dot(x, w) + b);
  return out;
}

}  // namespace

Expr h_softmax(const Operand& x, const HSoftmaxWeights& weights, const Operand& labels) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  const Levels levels = levels_of(x, weights);
  const Expr t = labels.expr(), size = length(levels.classes_b, 1);
  if (!is_int(t.dtype()) || t.rank() != 1)
    fail_build(x.where(), "h_softmax: the labels have another type", "integers [n]", value_text(t));
  const Expr group = floor_div(cast(t, DType::kInt64), size), number = cast(t, DType::kInt64) - group * size;
  // The weights of each example's own group.
  const Expr logits = batched_dot(expand_dims(levels.x, {1}), take(levels.classes_w, group));
  const Expr inside =
      softmax(reshape(logits, {t.dims()[0], levels.classes_b.dims()[1]}) + take(levels.classes_b, group));
  return pick_rows(levels.groups, group, Negative::kRefused) * pick_rows(inside, number);
}

Expr h_softmax(const Operand& x, const HSoftmaxWeights& weights, int64_t classes) {
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  const Levels levels = levels_of(x, weights);
  const Dims& of_classes = levels.classes_b.dims();
  const Expr logits = tensordot(levels.x, levels.classes_w, {1}, {1}) + levels.classes_b;  // [n, groups, size]
  const Expr all = expand_dims(levels.groups, {2}) * softmax(logits);
  return slice_axis(reshape(all, {levels.x.dims()[0], of_classes[0] * of_classes[1]}), 1, 0, classes);
}

}  // namespace thtrain
