// Activation functions by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// f(x), element by element but for softmax:
///
///   linear        x
///   tanh          tanh(x)
///   sigmoid       1 / (1 + exp(-x))
///   relu          max(0, x), with derivative 0 at 0; NaN stays NaN
///   softplus      log(1 + exp(x))
///   elu           x above 0, exp(x) - 1 elsewhere [1]
///   selu          1.0507009873554805 (x above 0, 1.6732632423543772 (exp(x) - 1) elsewhere) [2]
///   gelu          x (1 + erf(x / sqrt(2))) / 2 [3]
///   gelu_tanh     x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 [3]
///   leaky_relu    x above 0, 0.01 x elsewhere [4]
///   swish         x sigmoid(x) [5]
///   hard_sigmoid  min(max((x + 3) / 6, 0), 1), with derivative 0 at -3 and 3 [6]
///   softsign      x / (1 + |x|) [7]
///   softmax       exp(x) / sum(exp(x)), the sum over the last axis
///
/// All are finite for finite x up to 1e4 in size, and their derivatives are. The constants and the ties are PyTorch's.
///
/// [1] D.-A. Clevert, T. Unterthiner, S. Hochreiter, "Fast and accurate deep network learning by exponential linear
/// units", 2015, with alpha = 1. [2] G. Klambauer, T. Unterthiner, A. Mayr, S. Hochreiter, "Self-normalizing neural
/// networks", 2017. [3] D. Hendrycks, K. Gimpel, "Gaussian error linear units", 2016. [4] A. L. Maas, A. Y. Hannun, A.
/// Y. Ng, "Rectifier nonlinearities improve neural network acoustic models", 2013. [5] P. Ramachandran, B. Zoph, Q. V.
/// Le, "Searching for activation functions", 2017, with beta = 1. [6] A. Howard et al., "Searching for MobileNetV3",
/// 2019. [7] J. Bergstra, G. Desjardins, P. Lamblin, Y. Bengio, "Quadratic polynomials learn better image features",
/// 2009.
///
/// UserError for another name.
Expr apply_activation(const std::string& name, const Expr& x);

/// Are all values of that function from 0 to 1?
bool gives_shares(std::string_view name);

/// The names above, in that order.
const std::vector<std::string>& activation_function_names();

}  // namespace thtrain
