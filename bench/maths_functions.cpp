// The table of functions of vector mathematics: libm's long double and the stated bounds of each.
#include <cmath>

#include "bench/maths.h"
#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

namespace {

template <Expr (*f)(const Operand&)>
MathsFunction one(const char* name, long double (*exact)(long double), double float32_ulps, double float64_ulps) {
  return {name,
          1,
          [](const Expr& x, const Expr&) { return f(x); },
          [exact](long double x, long double) { return exact(x); },
          float32_ulps,
          float64_ulps};
}
template <Expr (*f)(const Operand&, const Operand&)>
MathsFunction two(const char* name, long double (*exact)(long double, long double), double float32_ulps,
                  double float64_ulps) {
  return {name, 2, [](const Expr& x, const Expr& y) { return f(x, y); }, exact, float32_ulps, float64_ulps};
}

long double exact_sigmoid(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
long double exact_softplus(long double x) {
  return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace

const std::vector<MathsFunction>& maths_functions() {
  static const std::vector<MathsFunction> all = {
      one<exp>("exp", std::exp, 3.0, 3.3),
      one<exp2>("exp2", std::exp2, 1.2, 1.9),
      one<expm1>("expm1", std::expm1, 2.5, 3.2),
      one<log>("log", std::log, 4.1, 1.9),
      one<log2>("log2", std::log2, 2.7, 2.4),
      one<log10>("log10", std::log10, 3.5, 2.3),
      one<log1p>("log1p", std::log1p, 2.1, 2.2),
      two<pow>("pow", std::pow, 1, 1.6),
      one<sin>("sin", std::sin, 2.3, 3.5),
      one<cos>("cos", std::cos, 2.4, 3.9),
      one<tan>("tan", std::tan, 4.1, 3.7),
      one<arcsin>("arcsin", std::asin, 3.2, 3.1),
      one<arccos>("arccos", std::acos, 2.4, 2.3),
      one<arctan>("arctan", std::atan, 2.9, 2.9),
      two<arctan2>("arctan2", std::atan2, 3.6, 3),
      one<sinh>("sinh", std::sinh, 2.1, 2.3),
      one<cosh>("cosh", std::cosh, 2.5, 2.2),
      one<tanh>("tanh", std::tanh, 2.5, 2.75),
      one<arcsinh>("arcsinh", std::asinh, 2.3, 2.5),
      one<arccosh>("arccosh", std::acosh, 2.9, 3.5),
      one<arctanh>("arctanh", std::atanh, 2.2, 2.6),
      one<sigmoid>("sigmoid", exact_sigmoid, 3.9, 4),
      one<softplus>("softplus", exact_softplus, 3.3, 4.2),
      one<erf>("erf", std::erf, 4.1, 2.8),
      one<erfc>("erfc", std::erfc, 1.7, 2.1),
  };
  return all;
}

}  // namespace thtrain
