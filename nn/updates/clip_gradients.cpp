#include "nn/updates/clip_gradients.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {

std::vector<Expr> clip_by_value(const std::vector<Expr>& gradients, const Expr& bound) {
  Scope scope("clip_by_value");
  std::vector<Expr> out;
  for (const Expr& gradient : gradients) out.push_back(clip(gradient, -bound, bound));
  return out;
}

Expr global_norm(const std::vector<Expr>& gradients) {
  if (gradients.empty()) throw UserError(Message{.what = "global_norm: there are no gradients"});
  Expr squares;
  for (const Expr& gradient : gradients) {
    Expr of_one = sum(sqr(gradient));
    squares = squares.has_value() ? squares + of_one : of_one;
  }
  return sqrt(squares);
}

std::vector<Expr> clip_by_global_norm(const std::vector<Expr>& gradients, const Expr& bound) {
  Scope scope("clip_by_global_norm");
  Expr factor = minimum(bound / (global_norm(gradients) + 1e-6), 1);
  std::vector<Expr> out;
  for (const Expr& gradient : gradients) out.push_back(gradient * factor);
  return out;
}

}  // namespace thtrain
