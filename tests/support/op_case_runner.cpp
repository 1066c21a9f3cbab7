#include "tests/support/op_case_runner.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/pool/pool.h"
#include "compiler/ops/reduce/fused_reduction.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"

namespace thtrain {

// beta c + alpha a . b: also of factors that are 0.
static bool is_scaled_product(const Op& op) {
  return &op == &gemm_op() || &op == &gemv_op() || &op == &ger_op();
}

bool takes_any_values(const Op& op) {
  if (is_scaled_product(op)) return true;
  for (const Op* known :
       {&argmin_op(), &argmax_op(), &sort_op(), &argsort_op(), &softmax_op(), &log_softmax_op(), &fused_reduction_op(),
        &max_pool_op(), &max_pool_gradient_op(), &max_pool_pick_op(), &sum_pool_op(), &sum_pool_gradient_op()})
    if (&op == known) return true;
  return reduction_of(op) || (op.scalar && &op != &cast_op());
}

// Complex numbers whose parts are zeros of both signs, infinities, NaN, and numbers whose exponentials leave the range:
// functions of complex numbers have a rule for most pairs of them, but for an imaginary infinity with an infinity or
// NaN: of that the signs are not defined.
static Tensor hard_complex(const Shape& shape, DType dtype, uint64_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> special{0.0, -0.0, 1, -1, 0.5, -2, 3, 800, -800, kInfinity, -kInfinity, NAN};
  std::mt19937_64 random(seed);
  Tensor out = Tensor::empty(DType::kComplex128, shape);
  for (int64_t k = 0; k < out.size(); ++k) {
    const double re = special[random() % special.size()], im = special[random() % special.size()];
    const bool is_defined = std::isfinite(re) || !std::isinf(im);
    out.data<std::complex<double>>()[k] = {re, is_defined ? im : 1};
  }
  return out.cast(dtype);
}

// Products and quotients of large parts overflow on the way, in an order of their own.
static bool overflows_on_the_way(const Op& op) {
  return op.name == "mul" || op.name == "sqr" || op.name == "abs" || op.name == "true_div";
}

// Complex numbers at which kernels pass from one rule to another: the largest number and a sixteenth of it, where
// exponentials leave the range, where cosh and sinh are one, where squares leave the range.
static Tensor complex_limits(const Shape& shape, DType dtype, uint64_t seed) {
  const bool f32 = dtype == DType::kComplex64;
  const double largest = f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const std::vector<double> limits{largest,
                                   largest / 16,
                                   f32 ? 88. : 709.,
                                   f32 ? 12. : 22.,
                                   f32 ? 0x1p126 : 0x1p1022,
                                   f32 ? 0x1p-100 : 0x1p-960,
                                   f32 ? 0x1p60 : 0x1p500,
                                   f32 ? 0x1p-60 : 0x1p-500};
  const std::vector<double> others{0.0, 0.5, 1, 3, std::numeric_limits<double>::infinity()};
  std::mt19937_64 random(seed);
  Tensor out = Tensor::empty(DType::kComplex128, shape);
  for (int64_t k = 0; k < out.size(); ++k) {
    const double limit = limits[random() % limits.size()];
    const double other = random() % 4 == 0 ? limit : others[random() % others.size()];
    const double re = random() % 2 ? limit : other, im = re == limit ? other : limit;
    out.data<std::complex<double>>()[k] = {random() % 2 ? re : -re, random() % 2 ? im : -im};
  }
  return out.cast(dtype);
}

// Complex numbers of these real parts; the imaginary ones are the same in another order.
static Tensor of_parts(const Tensor& real, DType dtype) {
  Tensor out = Tensor::empty(DType::kComplex128, real.shape());
  for (int64_t k = 0, n = real.size(); k < n; ++k)
    out.data<std::complex<double>>()[k] = {real.as_double(k), real.as_double((k * 5 + 2) % n)};
  return out.cast(dtype);
}

std::vector<Tensor> make_hard_values(const Op& op, const std::vector<Type>& types, uint64_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kUneven = 1.5184892492433937;  // the large ones over it are no whole numbers after rounding
  std::vector<double> special{1, 1, -1, 2, -2, 3, 0.5, -0.5, 6, 0.1, 0.3};
  // Of matrix products those whose sums are exact in any order.
  if (is_scaled_product(op)) special = {1, 1, -1, 2, -2, 3, 0.5, -0.5, 6};
  // Not of products: whether these overflow depends on their order.
  if (&op != &prod_op() && !is_scaled_product(op))
    special.insert(special.end(),
                   {800, -800, kUneven, kUneven, 363734536943023, -363734536943023, 375469217691158, -375469217691158});
  const size_t finite = special.size();
  special.insert(special.end(), {kInfinity, -kInfinity, NAN});
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> chance(0, 1);
  std::vector<Tensor> out;
  for (const Type& type : types) {
    const Shape shape = case_shape(type, kCaseLength);
    if (op.scalar && is_complex(type.dtype)) {
      const auto draw = seed % 4 == 3 && !overflows_on_the_way(op) ? complex_limits : hard_complex;
      out.push_back(draw(shape, type.dtype, seed * 10 + out.size()));
      continue;
    }
    const double share = share_of_true(shape, seed);
    Tensor value = Tensor::empty(DType::kFloat64, shape);
    for (int64_t k = 0; k < value.size(); ++k) {
      // An infinity or NaN here and there: one is enough for a whole slice.
      double x = special[random() % (k % 16 == 5 ? special.size() : finite)];
      if (op.scalar && k % 8 == 2 && !op.scalar->edge_cases.empty())
        x = op.scalar->edge_cases[(seed + static_cast<size_t>(k / 8)) % op.scalar->edge_cases.size()];
      if (chance(random) >= share) x = random() % 2 ? 0.0 : -0.0;
      // Which parts of a complex product are NaN with an infinity follows from its order.
      if (&op == &prod_op() && is_complex(type.dtype) && std::isinf(x)) x = 1;
      if (is_int(type.dtype) && !(std::abs(x) < 100 && x == std::trunc(x))) x = 5;
      value.data<double>()[k] = is_unsigned_int(type.dtype) ? std::abs(x) : x;
    }
    // Negative quotients that were rounded towards zero, in float32 and in float64.
    if (op.scalar && seed % 3 == 0 && out.size() < 2 && value.size() > 2 && is_float(type.dtype)) {
      const double pairs[2][2] = {{-132678, -564847}, {4.3, 2.4}};
      for (size_t k : {0, 1}) value.data<double>()[k + 1] = pairs[out.size()][k];
    }
    // The last element decides for its slice.
    const bool few = seed % 3 == 1, most = seed % 3 == 2;
    for (int64_t k = value.size() / 2; (few || most) && k < value.size(); ++k) {
      double& x = value.data<double>()[k];
      if ((k + 1 == value.size()) == few)
        x = x == 0 ? 1 : x;
      else
        x = 0;
    }
    out.push_back(is_complex(type.dtype) && &op != &prod_op() ? of_parts(value, type.dtype) : value.cast(type.dtype));
  }
  return out;
}

std::complex<double> complex_element(const Tensor& x, int64_t i) {
  if (x.dtype() == DType::kComplex64) return x.contiguous().data<std::complex<float>>()[i];
  return x.dtype() == DType::kComplex128 ? x.contiguous().data<std::complex<double>>()[i] : x.as_double(i);
}

Expr projection(const std::vector<Expr>& outputs, uint64_t seed) {
  std::mt19937_64 random(seed);
  Expr total;
  for (const Expr& out : outputs) {
    if (out.type().kind != TypeKind::kTensor || !is_float(out.dtype())) continue;
    Tensor weights = Tensor::empty(DType::kFloat64, out.type().known_shape());
    for (int64_t i = 0; i < weights.size(); ++i)
      weights.data<double>()[i] = std::uniform_real_distribution<double>(0.5, 1.5)(random);
    Expr part = sum(out * make_constant(weights.cast(out.dtype())));
    total = total.has_value() ? total + part : part;
  }
  return total;
}

}  // namespace thtrain
