// What random plans draw from: numbers, types, and the values that a plan has so far.
#pragma once

#include <cmath>
#include <limits>
#include <random>

#include "compiler/api.h"
#include "tests/fuzz/random_program.h"

namespace thtrain {

/// A plan in the making. An index is the number of a value; kNone: there is no such value.
class PlanDraws {
 public:
  using Args = const std::vector<Expr>&;

  explicit PlanDraws(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u + 1) { plan_.seed = seed; }

 protected:
  // ---- draws ---------------------------------------------------------------------------------------------------

  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  bool one_in(size_t n) { return below(n) == 0; }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }

  DType some_dtype() {
    if (!one_in(4)) return main_;
    return pick({DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32, DType::kBool, DType::kUInt8,
                 DType::kInt8, DType::kInt16, DType::kUInt64, DType::kComplex64, DType::kComplex128});
  }

  double some_number() {
    if (is_hard_ && one_in(6))
      return pick({std::nan(""), static_cast<double>(INFINITY), -static_cast<double>(INFINITY), -0.0, 0.0, 1e38, -1e-38,
                   700.0, -120.0});
    if (is_tied_) return pick({-1.0, 0.0, 0.5, 1.0, 1.5});
    const double x = uniform(-1, 1) + uniform(-1, 1);
    if (is_wide_) return x * std::exp2(uniform(-20, 20));
    return one_in(8) ? std::round(x) : x;
  }

  Tensor some_values(DType dtype, const Shape& shape) {
    Tensor out = Tensor::empty(DType::kFloat64, shape);
    for (int64_t i = 0; i < out.size(); ++i) {
      double& x = out.data<double>()[i];
      x = is_float(dtype) || is_complex(dtype) ? some_number() : static_cast<double>(below(5));
      if (is_signed_int(dtype)) x -= 2;
    }
    return out.cast(dtype);
  }

  // ---- values --------------------------------------------------------------------------------------------------

  // A value for which `is_fit` holds, late ones more often; npos if there is none.
  template <class F>
  size_t find(F is_fit) {
    std::vector<size_t> fit;
    for (size_t i = 0; i < values_.size(); ++i)
      if (is_fit(values_[i])) {
        fit.push_back(i);
        if (i + 5 > values_.size()) fit.push_back(i);
      }
    return fit.empty() ? kNone : fit[below(fit.size())];
  }
  size_t any_value() {
    return find([](const Expr&) { return true; });
  }
  size_t some_float() {
    return find([](const Expr& e) { return is_float(e.dtype()); });
  }
  size_t of_rank(size_t rank) {
    return find([&](const Expr& e) { return is_float(e.dtype()) && e.rank() == rank; });
  }
  // A value that broadcasts with `like`, of its dtype where there is one.
  size_t operand_for(size_t like) {
    const Expr x = values_[like];
    auto fits = [&](const Expr& e) {
      const size_t rank = std::min(e.rank(), x.rank());
      for (size_t i = 1; i <= rank; ++i) {
        const Dim &a = e.dims()[e.rank() - i], &b = x.dims()[x.rank() - i];
        if (!(a == b) && !a.is(1) && !b.is(1)) return false;
      }
      return one_in(4) || e.dtype() == x.dtype();
    };
    return find(fits);
  }

  static constexpr int64_t kMaxElements = 600;
  static bool is_small(const Expr& e) {
    if (e.type().kind != TypeKind::kTensor || e.rank() > 4) return false;
    int64_t elements = 1;
    for (const Dim& dim : e.dims()) elements *= dim.is_known() ? std::max<int64_t>(dim.value(), 1) : 5;
    return elements <= kMaxElements;
  }

  // Keeps the statement if it is typed.
  bool add(std::string text, std::vector<size_t> arguments, std::function<Expr(Args)> make) {
    for (size_t index : arguments)
      if (index == kNone) return false;
    std::vector<Expr> given;
    for (size_t index : arguments) given.push_back(values_[index]);
    Expr value;
    try {
      value = make(given);
    } catch (const UserError&) {
      return false;
    }
    if (!value.has_value() || !is_small(value)) return false;
    plan_.statements.push_back({std::move(text), std::move(arguments), std::move(make)});
    values_.push_back(value);
    return true;
  }

  Dims some_dims() {
    const size_t rank = pick<size_t>({0, 1, 1, 2, 2, 2, 3});
    Dims out;
    for (size_t i = 0; i < rank; ++i) out.push_back(one_in(8) ? Dim(1) : lengths_[below(3)]);
    return out;
  }

  static constexpr size_t kNone = ~size_t(0);

  std::mt19937_64 random_;
  ProgramPlan plan_;
  std::vector<Expr> values_;
  Dim lengths_[3] = {Dim(1), Dim(1), Dim(1)};
  bool is_hard_ = false, is_wide_ = false, is_tied_ = false, named_ = false;
  DType main_ = DType::kFloat64;
};

}  // namespace thtrain
