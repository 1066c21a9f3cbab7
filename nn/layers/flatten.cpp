#include "nn/layers/flatten.h"

#include "compiler/ops/shape/shape.h"

namespace thtrain {

Expr Flatten::forward(const Expr& x) const {
  return flatten(x, 2);
}

}  // namespace thtrain
