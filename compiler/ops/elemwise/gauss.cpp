#include "compiler/ops/elemwise/gauss.h"

#include <cmath>
#include <numbers>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

// The zeros of Legendre's polynomial by Newton's method, on [0, 1].
Expr integral_from_0(const Expr& length, int points, const std::function<Expr(const Expr&)>& f) {
  std::vector<double> at, weights;
  for (int i = 0; i < points; ++i) {
    long double x = std::cos(std::numbers::pi_v<long double> * (i + 0.75L) / (points + 0.5L)), slope = 0;
    for (int step = 0; step < 100; ++step) {
      long double before = 1, now = x;
      for (int n = 2; n <= points; ++n) {
        const long double next = ((2 * n - 1) * x * now - (n - 1) * before) / n;
        before = now;
        now = next;
      }
      slope = points * (x * now - before) / (x * x - 1);
      x -= now / slope;
      if (std::abs(now / slope) < 1e-18L) break;
    }
    at.push_back(static_cast<double>((1 - x) / 2));
    weights.push_back(static_cast<double>(1 / ((1 - x * x) * slope * slope)));
  }
  const Expr long_axis = expand_dims(length, {-1});
  const auto numbers = [&](const std::vector<double>& x) {
    return make_constant(Tensor::of(x, {static_cast<int64_t>(x.size())}).cast(length.dtype()));
  };
  return length * sum(numbers(weights) * f(long_axis * numbers(at)), -1);
}

}  // namespace thtrain
