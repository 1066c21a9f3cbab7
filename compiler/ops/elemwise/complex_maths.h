// Arithmetic and functions of complex numbers in terms of their parts.
#pragma once

#include "compiler/ops/elemwise/parts.h"

namespace thtrain {

inline Parts operator+(const Parts& a, const Parts& b) {
  return {a.re + b.re, a.im + b.im};
}
inline Parts operator-(const Parts& a, const Parts& b) {
  return {a.re - b.re, a.im - b.im};
}
inline Parts operator-(const Parts& a) {
  return {-a.re, -a.im};
}
/// By the formula (a + ib) (c + id) = (ac - bd) + i (ad + bc), with four products that are rounded each.
inline Parts operator*(const Parts& a, const Parts& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// The same of numbers, for references. (C++'s operator looks for infinities behind NaN; NumPy's does not.)
template <class T>
T product(T a, T b) {
  if constexpr (is_complex_v<T>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else
    return a * b;
}

// The special values of these are those of the C standard's Annex G; nothing overflows or vanishes between.

/// a / b. Both are scaled by powers of two first.
Parts complex_quotient(const Parts& a, const Parts& b);
kernel::Term complex_abs(const Parts& z);
Parts complex_sqrt(const Parts& z);
Parts complex_exp(const Parts& z);
Parts complex_log(const Parts& z);
Parts complex_sinh(const Parts& z);
Parts complex_cosh(const Parts& z);
Parts complex_tanh(const Parts& z);
Parts complex_sin(const Parts& z);
Parts complex_cos(const Parts& z);
Parts complex_tan(const Parts& z);
Parts complex_asinh(const Parts& z);
Parts complex_acosh(const Parts& z);
Parts complex_atanh(const Parts& z);
Parts complex_asin(const Parts& z);
Parts complex_acos(const Parts& z);
Parts complex_atan(const Parts& z);

}  // namespace thtrain
