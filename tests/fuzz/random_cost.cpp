#include "tests/fuzz/random_cost.h"

#include <cmath>
#include <functional>

#include "compiler/ir/graph.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

constexpr int64_t kRows = 3, kColumns = 4;

class Grammar {
 public:
  Grammar(std::mt19937_64& random, DType dtype) : random_(random), dtype_(dtype) {
    auto input = [&](const char* name, DType of, Dims dims) { return make_input({.dtype = of, .dims = dims}, name); };
    x_ = input("x", dtype, {kRows, kColumns});
    z_ = input("z", dtype, {kRows, kColumns});
    y_ = input("y", dtype, {kRows, kColumns});
    mask_ = input("mask", DType::kBool, {kRows, kColumns});
    labels_ = input("labels", DType::kInt64, {kRows});
  }

  RandomCost cost() {
    RandomCost out;
    const int terms = 1 + below(3);
    out.weight = 0;
    for (int i = 0; i < terms; ++i) {
      const double factor = pick<double>({1, -1, 0.5, 3, 0.125, -2});
      Expr term = total(one_term());
      if (factor != 1) term = below(2) ? factor * term : term * factor;
      out.cost = out.cost.has_value() ? out.cost + term : term;
      out.weight += std::abs(factor);
    }
    if (below(4) == 0) out.cost = out.cost / 7;
    out.wrt = {x_};
    for (const Expr& leaf : leaves_of(std::vector{out.cost}))
      if (leaf.same(z_)) out.wrt.push_back(z_);
    out.inputs = {{x_, extremes()}, {z_, extremes()}, {y_, targets()}, {mask_, masks()}, {labels_, label_values()}};
    return out;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  template <class T>
  T pick(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<int>(all.size()))];
  }

  // ---- expressions

  // What a term is a function of; one value may be met several times.
  Expr argument() {
    switch (below(8)) {
      case 0:
        return z_;
      case 1:
        return 2 * x_;
      case 2:
        return -x_;
      case 3:
        return x_ + z_;
      case 4:
        return x_ - z_;
      default:
        return x_;
    }
  }
  Expr positive() { return below(2) ? abs(argument()) + 0.125 : sqr(argument()) + 0.5; }

  Expr probability(const Expr& u) {
    switch (below(6)) {
      case 0:
        return 1 / (1 + exp(-u));
      case 1:
        return exp(u) / (1 + exp(u));
      case 2:
        return 0.5 * (1 + tanh(0.5 * u));
      case 3:
        return reciprocal(exp(-u) + 1);
      default:
        return sigmoid(u);
    }
  }
  Expr rest_of(const Expr& p) { return below(2) ? log(1 - p) : log1p(-p); }

  Expr of_a_probability() {
    const Expr p = probability(argument());
    switch (below(8)) {
      case 0:
        return -(y_ * log(p) + (1 - y_) * rest_of(p));
      case 1:
        return -y_ * log(p) - (1 - y_) * rest_of(p);
      case 2:
        return -switch_(mask_, log(p), rest_of(p));
      case 3:
        return log(p) - rest_of(p);
      case 4:
        return log(p / (1 - p));
      case 5:
        return p * log(p) + (1 - p) * rest_of(p);
      case 6:
        return -sqr(1 - p) * log(p);
      default:
        return -log(switch_(mask_, p, 1 - p));
    }
  }

  Expr hyperbolic_tangent(const Expr& u) {
    switch (below(6)) {
      case 0:
        return (exp(u) - exp(-u)) / (exp(u) + exp(-u));
      case 1:
        return (exp(2 * u) - 1) / (exp(2 * u) + 1);
      case 2:
        return (1 - exp(-2 * u)) / (1 + exp(-2 * u));
      case 3:
        return 2 * sigmoid(2 * u) - 1;
      default:
        return tanh(u);
    }
  }
  Expr of_a_tanh() {
    const Expr u = argument(), t = hyperbolic_tangent(u);
    switch (below(9)) {
      case 0:
        return log(1 - sqr(t));
      case 1:
        return log(1 + t);
      case 2:
        return log(1 - t);
      case 3:
        return 0.5 * log((1 + t) / (1 - t));
      case 4:
        return log1p(-sqr(t));
      case 5:
        return 0.5 * (log1p(t) - log1p(-t));
      case 6:
        return log(0.5 - 0.5 * t);
      case 7:
        return log(0.5 * t + 0.5);
      default:
        return t;
    }
  }

  // Rows, columns, all elements.
  Axes axes() {
    switch (below(5)) {
      case 0:
        return 0;
      case 1:
        return {0, 1};
      case 2:
        return {};
      default:
        return 1;
    }
  }

  Expr distribution(const Expr& u) {
    const Expr e = exp(u), away = exp(u - max(u, 1, true));
    switch (below(9)) {
      case 0:
        return e / sum(e, 1, true);
      case 1:
        return away / sum(away, 1, true);
      case 2:
        return e * (1 / sum(e, 1, true));
      case 3:
        return exp(u - log(sum(e, 1, true)));
      case 4:
        return e / expand_dims(sum(e, 1), {1});
      case 5:
        return e / sum(e, axes(), true);
      case 6:
        return e / sum(e, 0);
      case 7:
        return exp(u - log(sum(e, axes(), true)));
      default:
        return softmax(u);
    }
  }
  Expr of_a_distribution() {
    const Expr p = distribution(argument());
    switch (below(6)) {
      case 0:
        return -sum(y_ * log(p), 1);
      case 1:
        return -log(pick_rows(p, labels_));
      case 2:
        return -pick_rows(log(p), labels_);
      case 3:
        return sum(p * log(p), 1);
      case 4:
        return sum(switch_(mask_, log(p), 0), 1);
      default:
        return sum(p * (log(p) - log(distribution(argument()))), 1);
    }
  }

  Expr of_exponentials() {
    const Expr u = argument(), a = positive();
    switch (below(20)) {
      case 0:
        return log(sum(exp(u), axes(), below(2) == 0));
      case 1:
        return log(mean(exp(u), axes(), below(2) == 0));
      case 2: {
        const Expr m = max(u, 1, true);
        return log(sum(exp(u - m), 1, true)) + m;
      }
      case 3:
        return log(prod(exp(u), axes()));
      case 4:
        return log(1 - exp(-a));
      case 5:
        return log1p(-exp(-a));
      case 6:
        return log(1 + exp(u));
      case 7:
        return log1p(exp(u)) - u;
      case 8:
        return softplus(u) - softplus(-u);
      case 9:
        return log(cosh(u));
      case 10:
        return log(exp(u + a) - exp(u));
      case 11:
        return log(exp(x_) + exp(z_));
      case 12:
        return log(1 - erf(u));
      case 13:
        return log(erfc(u));
      case 14:
        return log(exp(a) - 1);
      case 15:
        return log(1 + erf(u));
      case 16:
        return log((exp(u) + exp(-u)) / 2);
      case 17:
        return log(exp(x_) + exp(z_) + exp(-u));
      case 18: {
        const int64_t axis = below(2);
        return sum(exp(u) * y_, axis) / sum(exp(u), axis);
      }
      default:
        return log(sqr(u) * a);
    }
  }

  Expr of_inverses() {
    switch (below(4)) {
      case 0:
        return exp(log(positive()));
      case 1:
        return expm1(log1p(positive()));
      case 2:
        return log(exp(argument()));
      default:
        return sigmoid(argument());
    }
  }

  Expr one_term() {
    switch (below(9)) {
      case 0:
      case 1:
      case 2:
        return of_a_probability();
      case 3:
        return of_a_tanh();
      case 4:
      case 5:
        return of_a_distribution();
      case 6:
        return of_inverses();
      default:
        return of_exponentials();
    }
  }

  // A sum or a mean, of a part of the elements or of all.
  Expr total(const Expr& term) {
    Expr value = term;
    if (value.dims() == x_.dims() && below(3) == 0)
      value = below(2) ? switch_(mask_, value, 0) : switch_(mask_, value, z_);
    return below(3) == 0 ? mean(value) : sum(value);
  }

  // ---- values

  Tensor extremes() {
    const int kind = below(4);
    return drawn(kRows * kColumns, [&] {
      const double size = kind == 0   ? pick<double>({0, 0.5, 1, 2, 3})
                          : kind == 1 ? pick<double>({0, 1e-30, 1e-10, 1e-5, 20, 40, 50})
                                      : pick<double>({0, 1e-20, 0.25, 1, 5, 18, 20, 37, 50, 90, 110, 400, 750, 1000});
      const double moved = size * (1 + static_cast<double>(below(100)) / 1000);
      return below(2) ? -moved : moved;
    });
  }
  Tensor targets() {
    const bool soft = below(2);
    return drawn(kRows * kColumns, [&] { return soft ? pick<double>({0, 0.25, 0.5, 1}) : below(2); });
  }
  template <class F>
  Tensor drawn(int64_t count, F f) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(f());
    return Tensor::of(values, {kRows, kColumns}).cast(dtype_);
  }
  Tensor masks() {
    return drawn(kRows * kColumns, [&] { return below(2); }).cast(DType::kBool);
  }
  Tensor label_values() {
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < kRows; ++i) labels.push_back(below(kColumns));
    return Tensor::of(labels, {kRows});
  }

  std::mt19937_64& random_;
  DType dtype_;
  Expr x_, z_, y_, mask_, labels_;
};

}  // namespace

RandomCost random_cost(std::mt19937_64& random) {
  const DType dtype = random() % 2 ? DType::kFloat32 : DType::kFloat64;
  return Grammar(random, dtype).cost();
}

}  // namespace thtrain
