#include "compiler/ops/elemwise/series.h"

namespace thtrain {

kernel::Term polynomial_of(const std::vector<double>& coefficients, const kernel::Term& x) {
  kernel::Term out = kernel::constant(x.dtype(), coefficients[0]);
  for (size_t i = 1; i < coefficients.size(); ++i)
    out = kernel::fma(out, x, kernel::constant(x.dtype(), coefficients[i]));
  return out;
}

kernel::Term value_of(const Series& series, const kernel::Term& x) {
  const auto number = [&](double value) { return kernel::constant(x.dtype(), value); };
  const kernel::Term at = (x - number((series.from + series.to) / 2)) * number(2 / (series.to - series.from));
  return polynomial_of(x.dtype() == DType::kFloat32 ? series.of_float : series.of_double, at);
}

}  // namespace thtrain
