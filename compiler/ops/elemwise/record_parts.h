// What the tables of elementwise records are written with: kinds of dtypes, code for some kinds, wrapping integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <cmath>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "compiler/ops/elemwise/complex_maths.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"

namespace thtrain {

using Exprs = std::vector<Expr>;
using kernel::Term;
using ScalarCode = std::function<std::vector<Term>(std::span<const Term>, const Signature&)>;
using ComplexCode = std::function<std::vector<Parts>(std::span<const Parts>, const Signature&)>;

/// code1<kFloats>(f): the term f(x) for inputs of those kinds, no code for the others. With code2, f(a, b).
template <unsigned kinds, class F>
ScalarCode code1(F f) {
  return [f](std::span<const Term> in, const Signature& s) {
    return kind_of(s.inputs[0]) & kinds ? std::vector<Term>{f(in[0])} : std::vector<Term>{};
  };
}
template <unsigned kinds, class F>
ScalarCode code2(F f) {
  return [f](std::span<const Term> in, const Signature& s) {
    return kind_of(s.inputs[0]) & kinds ? std::vector<Term>{f(in[0], in[1])} : std::vector<Term>{};
  };
}
/// complex1(f): the value f(z) of a complex number; with complex2, f(a, b).
template <class F>
ComplexCode complex1(F f) {
  return [f](std::span<const Parts> in, const Signature&) { return std::vector<Parts>{f(in[0])}; };
}
template <class F>
ComplexCode complex2(F f) {
  return [f](std::span<const Parts> in, const Signature&) { return std::vector<Parts>{f(in[0], in[1])}; };
}
/// A function of the target's table of mathematics.
inline ScalarCode math_code(const char* function) {
  return [function](std::span<const Term> in, const Signature& s) {
    return is_float(s.inputs[0]) ? std::vector<Term>{kernel::math(function, {in.begin(), in.end()})}
                                 : std::vector<Term>{};
  };
}

// What errors become, for ScalarOp::spread.

/// The same: neg, abs, whatever changes no faster than its input.
inline double spread_same(const double*, const double* e, double) {
  return e[0];
}
inline double spread_sum(const double*, const double* e, double) {
  return e[0] + e[1];
}
inline double spread_larger(const double*, const double* e, double) {
  return std::max(e[0], e[1]);
}
/// e over the distance from `pole` at the far end: of log(x - pole), and relatively of 1 / (x - pole).
inline double relative_error(double x, double e, double pole) {
  const double distance = std::abs(x - pole);
  return e == 0 ? 0 : e < distance ? e / (distance - e) : std::numeric_limits<double>::infinity();
}

// Integers wrap around; in C++ only unsigned ones do, and narrow ones would become int first.
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class T>
T wrapping_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  else
    return a - b;
}
template <class T>
T wrapping_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return product(a, b);
}

// Builders from an op.
inline Expr unary(const Op& op, const Operand& x, Props props = {}) {
  return elementwise(op, {x.expr()}, std::move(props), x.where());
}
inline Expr binary(const Op& op, const Operand& a, const Operand& b) {
  return elementwise(op, resolve({&a, &b}), {}, a.where());
}

}  // namespace thtrain
