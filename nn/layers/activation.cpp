#include "nn/layers/activation.h"

#include "nn/activations.h"

namespace thtrain {

Expr Activation::forward(const Expr& x) const {
  return apply_activation(activation_, x);
}

}  // namespace thtrain
