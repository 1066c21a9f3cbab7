#include "compiler/ops/elemwise/complex_maths.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace thtrain {
namespace {

using kernel::copy_sign;
using kernel::fabs;
using kernel::math;
using kernel::select;
using kernel::Term;

// What differs between float32 and float64.
struct Limits {
  double largest;    // finite number
  double overflows;  // e^x is finite up to here
  double far;        // from here on cosh x = |sinh x| = e^|x| / 2
  int digits, bias;  // of the fraction; of the exponent
};

const Limits& limits_of(DType dtype) {
  static const Limits float32{std::numeric_limits<float>::max(), 88, 12, 23, 127};
  static const Limits float64{std::numeric_limits<double>::max(), 709, 22, 52, 1023};
  return dtype == DType::kFloat32 ? float32 : float64;
}

Term number(const Term& like, double value) {
  return kernel::constant(like.dtype(), value);
}
Term is_finite(const Term& x) {
  return fabs(x) <= number(x, limits_of(x.dtype()).largest);
}
Term is_infinite(const Term& x) {
  return fabs(x) > number(x, limits_of(x.dtype()).largest);
}
Term is_nan(const Term& x) {
  return x != x;
}
Term infinity(const Term& like) {
  return number(like, std::numeric_limits<double>::infinity());
}
Term nan(const Term& like) {
  return number(like, std::numeric_limits<double>::quiet_NaN());
}
Term larger(const Term& a, const Term& b) {
  return select(a < b, b, a);
}

// i z and -i z.
Parts turned_left(const Parts& z) {
  return {-z.im, z.re};
}
Parts turned_right(const Parts& z) {
  return {z.im, -z.re};
}

// The exponent of a finite number that is not 0, as a float: x / 2^e is in [1, 2), or below for the subnormal ones.
Term exponent(const Term& x) {
  const Limits& limits = limits_of(x.dtype());
  const DType integer = x.dtype() == DType::kFloat32 ? DType::kInt32 : DType::kInt64;
  const Term bits = shift_right(kernel::bit_cast(fabs(x), integer), kernel::constant_int(integer, limits.digits));
  return kernel::cast(larger(bits, kernel::constant_int(integer, 1)) - kernel::constant_int(integer, limits.bias),
                      x.dtype());
}

// 1 or 0 with the sign of x: what an infinity or a finite number counts as with an infinity.
Term boxed(const Term& x) {
  return copy_sign(select(is_infinite(x), number(x, 1), number(x, 0)), x);
}

// |y| as cosh and sinh of it need it: e^|y| is `factor` (E + 1) with E = expm1(|y|) where that is finite.
struct Hyperbolic {
  Term sinh, cosh, factor;  // without and with the sign; times the factor, which keeps both from overflowing
};

Hyperbolic hyperbolic(const Term& x) {
  const Limits& limits = limits_of(x.dtype());
  const Term size = fabs(x), one = number(x, 1), half = number(x, 0.5), limit = number(x, limits.overflows);
  const Term exceeds = size > limit;
  const Term minus_one = math("expm1", {select(exceeds, size - limit, size)});
  const Term e = minus_one + one, is_far = size > number(x, limits.far);
  const Term inverse = one / e;
  const Term sinh = select(is_far, half * e, half * (minus_one + minus_one * inverse));
  const Term cosh = select(is_far, half * e, one + half * (minus_one * minus_one) * inverse);
  return {copy_sign(sinh, x), cosh, select(exceeds, number(x, std::exp(limits.overflows)), one)};
}

// Where a square root's argument is so large or small that squares of it are not numbers: by which power of 4 to
// multiply it, and by which power of 2 the root is too large then.
struct Scaling {
  Term of_argument, of_root;
};

Scaling scaling_of_root(const Term& size) {
  const bool f32 = size.dtype() == DType::kFloat32;
  const Term is_large = size > number(size, f32 ? 0x1p126 : 0x1p1022), one = number(size, 1);
  const Term is_small = size < number(size, f32 ? 0x1p-100 : 0x1p-960);
  return {select(is_large, number(size, 0.0625), select(is_small, number(size, f32 ? 0x1p48 : 0x1p108), one)),
          select(is_large, number(size, 4), select(is_small, number(size, f32 ? 0x1p-24 : 0x1p-54), one))};
}

// sqrt(1 - z) and sqrt(1 + z), from which W. Kahan, Branch Cuts for Complex Elementary Functions, 1987, has the inverse
// sine and cosine. Of a z so large that products of the two overflow, those of z / 16 (where 1 is nothing), and log 16.
struct Roots {
  Term x;  // the real part of z, or of z / 16
  Parts minus, plus;
  Term logarithm;
};

Roots roots(const Parts& z) {
  const Term limit = number(z.re, limits_of(z.re.dtype()).largest / 16);
  const Term is_large = fabs(z.re) > limit || fabs(z.im) > limit;
  const Term one = number(z.re, 1), by = select(is_large, number(z.re, 0.0625), one);
  const Term x = z.re * by, y = z.im * by;
  return {x, complex_sqrt({one - x, -y}), complex_sqrt({one + x, y}),
          select(is_large, number(z.re, 4 * std::numbers::ln2), number(z.re, 0))};
}

// The inverse hyperbolic sine of the imaginary part of conj(a) b.
Term rise(const Parts& a, const Parts& b, const Term& logarithm) {
  const Term of = math("asinh", {a.re * b.im - a.im * b.re});
  return of + copy_sign(logarithm, of);
}

}  // namespace

// (a + ib) / (c + id) = (ac + bd) / (cc + dd) + i (bc - ad) / (cc + dd).
Parts complex_quotient(const Parts& a, const Parts& b) {
  const auto power = [&](const Parts& z) { return exponent(larger(fabs(z.re), fabs(z.im))); };
  const auto scaled = [](const Parts& z, const Term& by) { return Parts(scale(z.re, by), scale(z.im, by)); };
  const auto times_conjugate = [](const Parts& u, const Parts& v) {
    return Parts(u.re * v.re + u.im * v.im, u.im * v.re - u.re * v.im);
  };
  const Term power_a = power(a), power_b = power(b);
  const Parts u = scaled(a, -power_a), v = scaled(b, -power_b);
  const Term size = v.re * v.re + v.im * v.im;
  const Parts product = times_conjugate(u, v);
  const Parts plain = scaled({product.re / size, product.im / size}, power_a - power_b);

  // Both parts NaN: a number over 0, an infinity over a number, a number over an infinity.
  const Term zero = number(a.re, 0), inf = infinity(a.re);
  const Term is_lost = is_nan(plain.re) && is_nan(plain.im);
  const Term by_zero = b.re == zero && b.im == zero && !(is_nan(a.re) && is_nan(a.im));
  const Term of_infinity = (is_infinite(a.re) || is_infinite(a.im)) && is_finite(b.re) && is_finite(b.im);
  const Term by_infinity = (is_infinite(b.re) || is_infinite(b.im)) && is_finite(a.re) && is_finite(a.im);
  const Term side = copy_sign(inf, b.re);
  const Parts infinite = times_conjugate({boxed(a.re), boxed(a.im)}, b);
  const Parts vanishing = times_conjugate(a, {boxed(b.re), boxed(b.im)});
  const auto chosen = [&](const Term& found, const Term& over_zero, const Term& large, const Term& small) {
    return select(is_lost && by_zero, side * over_zero,
                  select(is_lost && of_infinity, inf * large, select(is_lost && by_infinity, zero * small, found)));
  };
  return {chosen(plain.re, a.re, infinite.re, vanishing.re), chosen(plain.im, a.im, infinite.im, vanishing.im)};
}

Term complex_abs(const Parts& z) {
  return math("hypot", {z.re, z.im});
}

// With t = sqrt((|x| + |z|) / 2): t + i y / 2t for x >= 0, else |y| / 2t + i t.
Parts complex_sqrt(const Parts& z) {
  const Scaling scaling = scaling_of_root(larger(fabs(z.re), fabs(z.im)));
  const Term x = z.re * scaling.of_argument, y = z.im * scaling.of_argument, zero = number(x, 0);
  const Term t = sqrt((fabs(x) + math("hypot", {x, y})) * number(x, 0.5));
  const Term other = select(t == zero, fabs(y), fabs(y) / (t + t)), is_left = x < zero;
  const Term re = select(is_left, other, t) * scaling.of_root;
  const Term im = copy_sign(select(is_left, t, other) * scaling.of_root, z.im);
  // A NaN has no sign to go by; an infinite imaginary part decides alone.
  const Term is_up = is_infinite(z.im);
  return {select(is_up, infinity(x), re), select(is_up, z.im, im)};
}

// e^x (cos y + i sin y).
Parts complex_exp(const Parts& z) {
  const Term &x = z.re, &y = z.im;
  const Term limit = number(x, limits_of(x.dtype()).overflows), zero = number(x, 0), inf = infinity(x);
  const Term exceeds = x > limit;
  const Term e = math("exp", {select(exceeds, x - limit, x)});
  const Term factor = select(exceeds, number(x, std::exp(limits_of(x.dtype()).overflows)), number(x, 1));
  const Term turns = is_finite(y);
  const Term re = (e * math("cos", {y})) * factor, im = (e * math("sin", {y})) * factor;
  return {select(turns, re, select(x == inf, inf, select(x == -inf, zero, re))),
          select(y == zero, y, select(!turns && x == -inf, copy_sign(zero, y), im))};
}

// With m the larger of |x| and |y| and n the other one: log m + log(1 + (n / m)^2) / 2, in which neither the sum nor a
// square overflows, and in which what cancels is small compared with the imaginary part.
Parts complex_log(const Parts& z) {
  const Term a = fabs(z.re), b = fabs(z.im), inf = infinity(a), zero = number(a, 0);
  const Term is_steep = a < b;
  const Term large = select(is_steep, b, a), small = select(is_steep, a, b);
  const Term ratio = select(small == zero, zero, small / large);
  const Term re = math("log", {large}) + number(a, 0.5) * math("log1p", {ratio * ratio});
  return {select(a == inf || b == inf, inf, re), math("atan2", {z.im, z.re})};
}

// sinh x cos y + i cosh x sin y.
Parts complex_sinh(const Parts& z) {
  const Term &x = z.re, &y = z.im;
  const Hyperbolic of = hyperbolic(x);
  const Term zero = number(x, 0), no_angle = !is_finite(y);
  const Term re = (of.sinh * math("cos", {y})) * of.factor, im = (of.cosh * math("sin", {y})) * of.factor;
  return {select(no_angle && x == zero, x, select(no_angle && is_infinite(x), infinity(x), re)),
          select(y == zero, y, im)};
}

// cosh x cos y + i sinh x sin y.
Parts complex_cosh(const Parts& z) {
  const Term &x = z.re, &y = z.im;
  const Hyperbolic of = hyperbolic(x);
  const Term zero = number(x, 0), no_angle = !is_finite(y);
  const Term re = (of.cosh * math("cos", {y})) * of.factor, im = (of.sinh * math("sin", {y})) * of.factor;
  const Term vanishes = (no_angle && x == zero) || y == zero;
  return {select(no_angle && is_infinite(x), infinity(x), re),
          select(vanishes, copy_sign(zero, x) * copy_sign(number(x, 1), y), im)};
}

// (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y); far out it is 1 + 4 i sin y cos y e^-2x.
Parts complex_tanh(const Parts& z) {
  const Term &x = z.re, &y = z.im;
  const Term size = fabs(x), one = number(x, 1), half = number(x, 0.5), zero = number(x, 0);
  const Term minus_one = math("expm1", {size});
  const Term inverse = one / (minus_one + one);
  const Term sinh = half * (minus_one + minus_one * inverse), cosh = one + half * (minus_one * minus_one) * inverse;
  const Term sin = math("sin", {y}), cos = math("cos", {y}), turn = sin * cos;
  const Term below = sinh * sinh + cos * cos, is_far = size > number(x, limits_of(x.dtype()).far);
  const Term turns = is_finite(y);
  const Term re = copy_sign(select(is_far, one, sinh * cosh / below), x);
  const Term im = select(is_far, (number(x, 4) * turn) * (inverse * inverse), turn / below);
  const Term lost = !turns && !is_infinite(x);
  return {select(is_nan(x), x, select(lost && x != zero, nan(x), select(x == zero, x, re))),
          select(y == zero, y, select(!turns && is_infinite(x), copy_sign(zero, y), select(is_nan(x), x, im)))};
}

Parts complex_sin(const Parts& z) {
  return turned_right(complex_sinh(turned_left(z)));
}
Parts complex_cos(const Parts& z) {
  return complex_cosh(turned_left(z));
}
Parts complex_tan(const Parts& z) {
  return turned_right(complex_tanh(turned_left(z)));
}

Parts complex_asin(const Parts& z) {
  const Term &x = z.re, &y = z.im;
  const Roots of = roots(z);
  const Term re = math("atan2", {of.x, of.minus.re * of.plus.re - of.minus.im * of.plus.im});
  const Term im = rise(of.minus, of.plus, of.logarithm);
  const Term is_far = is_infinite(x) || is_infinite(y), lost = is_nan(x) || is_nan(y);
  const Term angle = select(lost, nan(x), math("atan2", {boxed(x), fabs(boxed(y))}));
  return {select(is_far, angle, select(x == number(x, 0), x, re)), select(is_far, copy_sign(infinity(x), y), im)};
}

Parts complex_acos(const Parts& z) {
  const Term &x = z.re, &y = z.im;
  const Roots of = roots(z);
  const Term re = number(x, 2) * math("atan2", {of.minus.re, of.plus.re});
  const Term im = rise(of.plus, of.minus, of.logarithm);
  const Term is_far = is_infinite(x) || is_infinite(y), lost = is_nan(x) || is_nan(y);
  const Term angle = select(lost, nan(x), math("atan2", {fabs(boxed(y)), boxed(x)}));
  const Term straight = select(x == number(x, 0), number(x, std::numbers::pi / 2), re);
  return {select(is_far, angle, straight), select(is_far, -copy_sign(infinity(x), y), im)};
}

Parts complex_asinh(const Parts& z) {
  return turned_left(complex_asin(turned_right(z)));
}

// i or -i times the inverse cosine: the one whose real part is not negative.
Parts complex_acosh(const Parts& z) {
  const Parts of = complex_acos(z);
  return {fabs(of.im), copy_sign(of.re, z.im)};
}

// log(1 + 4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x) (1 + x) - y^2) / 2 of x >= 0. Where squares overflow, all
// numbers are scaled; next to the poles the logarithm is log(2 / |y|) / 2.
Parts complex_atanh(const Parts& z) {
  const bool f32 = z.re.dtype() == DType::kFloat32;
  const Term &x = z.re, &y = z.im;
  const Term limit = number(x, f32 ? 0x1p60 : 0x1p500), zero = number(x, 0);
  const Term by = select(fabs(x) > limit || fabs(y) > limit, number(x, f32 ? 0x1p-70 : 0x1p-520), number(x, 1));
  const Term size = fabs(x) * by, up = y * by, minus = by - size;
  const Term below = minus * minus + up * up;
  const Term half = number(x, 0.5), is_pole = fabs(x) == number(x, 1) && fabs(y) < number(x, f32 ? 0x1p-60 : 0x1p-500);
  const Term re = select(is_pole, half * (number(x, std::numbers::ln2) - math("log", {fabs(y)})),
                         number(x, 0.25) * math("log1p", {number(x, 4) * size / below * by}));
  const Term im = half * math("atan2", {(up + up) * by, minus * (by + size) - up * up});
  const Term is_far = is_infinite(x) || is_infinite(y);
  const Term quarter = select(is_nan(y), y, copy_sign(number(x, std::numbers::pi / 2), y));
  return {copy_sign(select(is_far || x == zero, zero, re), x), select(is_far, quarter, im)};
}

Parts complex_atan(const Parts& z) {
  return turned_right(complex_atanh(turned_left(z)));
}

}  // namespace thtrain
