// Activation functions, elementwise.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- neural networks -----------------------------------------------------------------------------------------------

// Of floats; integers give floatX where the formula has a fraction.

/// max(0, x), with derivative 0 at 0; NaN stays NaN. With a slope: x above 0, slope x elsewhere.
Expr relu(const Operand& x);
Expr relu(const Operand& x, const Operand& slope);

/// x above 0, alpha (e^x - 1) elsewhere; alpha is 1 where it is not given.
Expr elu(const Operand& x);
Expr elu(const Operand& x, const Operand& alpha);

/// 1.0507009873554805 (x above 0, 1.6732632423543772 (e^x - 1) elsewhere).
Expr selu(const Operand& x);

/// x (1 + erf(x / sqrt(2))) / 2, and its approximation x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
Expr gelu(const Operand& x);
Expr gelu_tanh(const Operand& x);

/// x sigmoid(x).
Expr swish(const Operand& x);

/// x / (1 + |x|).
Expr softsign(const Operand& x);

/// Which straight line hard_sigmoid is between 0 and 1.
enum class HardSigmoid : uint8_t {
  kSixth,  // (x + 3) / 6, PyTorch's
  kFifth,  // 0.2 x + 0.5, Theano's and Keras's
};
/// min(max(line, 0), 1), with derivative 0 at both ends.
Expr hard_sigmoid(const Operand& x, HardSigmoid line = HardSigmoid::kSixth);

/// Theano's ultra_fast_sigmoid: (1 + z) / 2, z an approximation of tanh(x / 2) with the sign of x. Of u = |x| / 2 it is
/// 1.5 u / (1 + u) below 1.7, 0.935409070603099 + 0.0458812946797165 (u - 1.7) below 3, and 0.99505475368673 from there
/// on. Its derivative is that of these pieces (Theano's is y (1 - y) of the value y).
Expr ultra_fast_sigmoid(const Operand& x);

}  // namespace thtrain
