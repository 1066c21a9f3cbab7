// Builders of elementwise expressions. Inputs broadcast by NumPy's rules; see each record for dtypes and derivatives.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- arithmetic ----------------------------------------------------------------------------------------------------

Expr add(const Operand& a, const Operand& b);
Expr sub(const Operand& a, const Operand& b);
Expr mul(const Operand& a, const Operand& b);
Expr true_div(const Operand& a, const Operand& b);   // integers give floatX
Expr floor_div(const Operand& a, const Operand& b);  // rounds towards minus infinity; x // 0 is 0 for integers
Expr mod(const Operand& a, const Operand& b);        // takes the sign of b; x % 0 is 0 for integers
std::pair<Expr, Expr> divmod(const Operand& a, const Operand& b);
Expr pow(const Operand& a, const Operand& b);
Expr neg(const Operand& x);
Expr abs(const Operand& x);
Expr sign(const Operand& x);  // -1, 0, 1; NaN stays; of complex numbers x / |x|, and 0 of 0
Expr sqr(const Operand& x);
Expr sqrt(const Operand& x);
Expr reciprocal(const Operand& x);
/// The smallest integer not below a / b: floor_div(a, b), and 1 more where b does not divide a. Of integers x / 0 is 0.
Expr ceil_intdiv(const Operand& a, const Operand& b);

// ---- exponentials and logarithms -----------------------------------------------------------------------------------

Expr exp(const Operand& x);
Expr exp2(const Operand& x);
Expr expm1(const Operand& x);
Expr log(const Operand& x);
Expr log2(const Operand& x);
Expr log10(const Operand& x);
Expr log1p(const Operand& x);

// ---- rounding ------------------------------------------------------------------------------------------------------

Expr floor(const Operand& x);
Expr ceil(const Operand& x);
Expr trunc(const Operand& x);
Expr round(const Operand& x);  // half to even
/// The nearest integer, of two the one farther from 0: C's round, Theano's mode half_away_from_zero.
Expr round_half_away(const Operand& x);

// ---- trigonometry --------------------------------------------------------------------------------------------------

Expr sin(const Operand& x);
Expr cos(const Operand& x);
Expr tan(const Operand& x);
Expr arcsin(const Operand& x);
Expr arccos(const Operand& x);
Expr arctan(const Operand& x);
Expr arctan2(const Operand& y, const Operand& x);
Expr sinh(const Operand& x);
Expr cosh(const Operand& x);
Expr tanh(const Operand& x);
Expr arcsinh(const Operand& x);
Expr arccosh(const Operand& x);
Expr arctanh(const Operand& x);
/// Degrees as radians, x pi / 180, and radians as degrees.
Expr deg2rad(const Operand& x);
Expr rad2deg(const Operand& x);

// ---- special functions ---------------------------------------------------------------------------------------------

Expr sigmoid(const Operand& x);
Expr softplus(const Operand& x);
Expr erf(const Operand& x);
Expr erfc(const Operand& x);
Expr erfcx(const Operand& x);
Expr erfinv(const Operand& x);
Expr erfcinv(const Operand& p);
Expr gammaln(const Operand& x);
Expr psi(const Operand& x);
Expr gamma(const Operand& x);
Expr i0e(const Operand& x);
Expr i1e(const Operand& x);
Expr j0(const Operand& x);
Expr j1(const Operand& x);
/// The derivative of order n, from 1 on, of psi, and that of order 1; of x > 0, NaN elsewhere. By shifts and the
/// asymptotic series: within 1e-14 of the value.
Expr polygamma(int64_t n, const Operand& x);
Expr trigamma(const Operand& x);
/// The modified Bessel functions of the first kind of order 0 and 1: e^|x| i0e(x), e^|x| i1e(x).
Expr i0(const Operand& x);
Expr i1(const Operand& x);
/// Bessel functions of the first kind of whole order n, from -20 to 20: J_n(x), the modified I_n(x), and
/// e^-|x| I_n(x). By recurrences and Gauss's rule, in doubles: within 1e-12 of J_n's largest values near x, and of I_n.
Expr jv(int64_t n, const Operand& x);
Expr iv(int64_t n, const Operand& x);
Expr ive(int64_t n, const Operand& x);
/// The integral of t^(a - 1) e^-t from 0 to x and from x on, over Gamma(a), for a and x >= 0, NaN elsewhere. By Gauss's
/// rule, in doubles: within 2e-14 of gammainc where a <= 10 and 3e-13 where a <= 1e4; so gammaincc where x > a + 1,
/// else it is 1 - gammainc.
Expr gammainc(const Operand& a, const Operand& x);
Expr gammaincc(const Operand& a, const Operand& x);
/// The same integrals, not divided by Gamma(a).
Expr gammal(const Operand& a, const Operand& x);
Expr gammau(const Operand& a, const Operand& x);
/// The probability of a value above x, where it is the sum of the squares of `degrees` normal draws.
Expr chi2sf(const Operand& x, const Operand& degrees);
/// log(p / (1 - p)).
Expr logit(const Operand& p);
/// log(1 - e^-x) for x > 0, without a cancellation.
Expr log1mexp(const Operand& x);
/// x log(x) and x log(y), 0 where x is 0.
Expr xlogx(const Operand& x);
Expr xlogy0(const Operand& x, const Operand& y);

// ---- compare and choose --------------------------------------------------------------------------------------------

Expr maximum(const Operand& a, const Operand& b);  // NaN if either is; a tie's derivative goes to a
Expr minimum(const Operand& a, const Operand& b);
Expr clip(const Operand& x, const Operand& low, const Operand& high);  // passes derivatives at both bounds
Expr lt(const Operand& a, const Operand& b);
Expr le(const Operand& a, const Operand& b);
Expr gt(const Operand& a, const Operand& b);
Expr ge(const Operand& a, const Operand& b);
Expr eq(const Operand& a, const Operand& b);
Expr neq(const Operand& a, const Operand& b);
Expr isnan(const Operand& x);
Expr isinf(const Operand& x);
/// NumPy's isclose: |a - b| <= atol + rtol |b|, or equal; NaN is close to nothing, to NaN where `equal_nan` says so.
Expr isclose(const Operand& a, const Operand& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Is each pair of elements close? A scalar.
Expr allclose(const Operand& a, const Operand& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// low < x < high, and low <= x <= high: Theano's names.
Expr inopenrange(const Operand& x, const Operand& low, const Operand& high);
Expr inclosedrange(const Operand& x, const Operand& low, const Operand& high);

/// yes where the condition is not 0, else no, elementwise: both are computed, and broadcast with the condition. The
/// name of NumPy and PyTorch, and the preferred one; texts of graphs call the op "switch".
Expr where(const Operand& condition, const Operand& yes, const Operand& no);
/// The same under Theano's name, for formulae that come from there: `where` is preferred.
Expr switch_(const Operand& condition, const Operand& yes, const Operand& no);

// ---- logic and bits ------------------------------------------------------------------------------------------------

Expr logical_and(const Operand& a, const Operand& b);
Expr logical_or(const Operand& a, const Operand& b);
Expr logical_not(const Operand& x);
Expr bitwise_and(const Operand& a, const Operand& b);
Expr bitwise_or(const Operand& a, const Operand& b);
Expr bitwise_xor(const Operand& a, const Operand& b);
Expr bitwise_not(const Operand& x);
/// Is one of the two true, and not the other? Numbers count as true unless they are 0.
Expr logical_xor(const Operand& a, const Operand& b);

// ---- dtypes and complex numbers ------------------------------------------------------------------------------------

Expr cast(const Operand& x, DType dtype);
Expr real(const Operand& x);
Expr imag(const Operand& x);
Expr conj(const Operand& x);
/// The complex number of a real and an imaginary part: complex64 of float32, complex128 of float64.
Expr complex(const Operand& re, const Operand& im);
/// The angle of a complex number, from -pi to pi; of a real one 0 or pi.
Expr angle(const Operand& z);
/// The complex number of that modulus and angle.
Expr complex_from_polar(const Operand& modulus, const Operand& angle);

// ---- arithmetic ----------------------------------------------------------------------------------------------------

/// The operators of add, sub, mul, true_div, mod and neg.
inline Expr operator+(const Operand& a, const Operand& b) {
  return add(a, b);
}
inline Expr operator-(const Operand& a, const Operand& b) {
  return sub(a, b);
}
inline Expr operator*(const Operand& a, const Operand& b) {
  return mul(a, b);
}
inline Expr operator/(const Operand& a, const Operand& b) {
  return true_div(a, b);
}
inline Expr operator%(const Operand& a, const Operand& b) {
  return mod(a, b);
}
inline Expr operator-(const Operand& x) {
  return neg(x);
}

/// x += y is x = x + y: the handle x names another value from then on. Other handles on the old value keep it, nothing
/// is written in place, and dtype and lengths are those of the sum. A part such as x[0] and a shared variable have no
/// +=: inc_subtensor(x[0], y), and an update of the function.
inline Expr& operator+=(Expr& x, const Operand& y) {
  return x = add(Operand(x, y.where()), y);
}
inline Expr& operator-=(Expr& x, const Operand& y) {
  return x = sub(Operand(x, y.where()), y);
}
inline Expr& operator*=(Expr& x, const Operand& y) {
  return x = mul(Operand(x, y.where()), y);
}
inline Expr& operator/=(Expr& x, const Operand& y) {
  return x = true_div(Operand(x, y.where()), y);
}
inline Expr& operator%=(Expr& x, const Operand& y) {
  return x = mod(Operand(x, y.where()), y);
}

// ---- compare and choose --------------------------------------------------------------------------------------------

/// The operators of lt, le, gt and ge. There is no ==, != or && of expressions: eq, neq, logical_and say what is meant.
inline Expr operator<(const Operand& a, const Operand& b) {
  return lt(a, b);
}
inline Expr operator<=(const Operand& a, const Operand& b) {
  return le(a, b);
}
inline Expr operator>(const Operand& a, const Operand& b) {
  return gt(a, b);
}
inline Expr operator>=(const Operand& a, const Operand& b) {
  return ge(a, b);
}

// ---- logic and bits ------------------------------------------------------------------------------------------------

/// The operators of bitwise_and, bitwise_or, bitwise_xor and bitwise_not, which of bools are and, or, xor and not:
/// (x > 0) & ~mask.
inline Expr operator&(const Operand& a, const Operand& b) {
  return bitwise_and(a, b);
}
inline Expr operator|(const Operand& a, const Operand& b) {
  return bitwise_or(a, b);
}
inline Expr operator^(const Operand& a, const Operand& b) {
  return bitwise_xor(a, b);
}
inline Expr operator~(const Operand& x) {
  return bitwise_not(x);
}

}  // namespace thtrain
