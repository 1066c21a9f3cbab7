#include "compiler/ops/random/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/base/legacy_distributions.h"
#include "compiler/base/str.h"

namespace thtrain {
namespace {

using Number = DrawnNumber;

Number real(double value) {
  return {.real = value};
}
Number whole(int64_t value) {
  return {.whole = value};
}

// NaN is let through where it makes NaN and nothing else, as in NumPy.
bool is_scale(double x) {
  return !(x < 0);
}
bool is_positive(double x) {
  return x > 0 && !std::isinf(x);
}
bool takes_any_scale(const Number* p) {
  return is_scale(p[1].real);
}

// The largest rate of which every number fits into int64: NumPy's limit.
double largest_rate() {
  const double largest = static_cast<double>(std::numeric_limits<int64_t>::max());
  return largest - std::sqrt(largest) * 10;
}

constexpr Distribution::Parameter kUnused{"", false};

}  // namespace

const std::array<Distribution, kDistributions>& distributions() {
  static const std::array<Distribution, kDistributions> all{{
      {"uniform",
       "low + (high - low) u, for a u of 53 bits, 0 <= u < 1",
       "",
       {{{"low", false}, {"high", false}}},
       2,
       false,
       "a finite high - low",
       [](const Number* p) { return std::isfinite(p[1].real - p[0].real); },
       [](RandomState& s, const Number* p) { return real(s.uniform(p[0].real, p[1].real)); },
       Reparametrization::kBetween},
      {"normal",
       "mean + deviation z, for a normal z by the polar method: numbers come in pairs, the state keeps the second",
       "; G. Marsaglia, T. A. Bray, SIAM Review 6(3), 1964 (polar method)",
       {{{"mean", false}, {"deviation", false}}},
       2,
       false,
       "deviation >= 0",
       takes_any_scale,
       [](RandomState& s, const Number* p) { return real(s.normal(p[0].real, p[1].real)); },
       Reparametrization::kLocationScale},
      {"lognormal",
       "exp(mean + sigma z), for a normal z",
       "; G. Marsaglia, T. A. Bray, SIAM Review 6(3), 1964 (polar method)",
       {{{"mean", false}, {"sigma", false}}},
       2,
       false,
       "sigma >= 0",
       takes_any_scale,
       [](RandomState& s, const Number* p) { return real(std::exp(s.normal(p[0].real, p[1].real))); },
       Reparametrization::kExpOfNormal},
      {"exponential",
       "-scale log(1 - u)",
       "",
       {{{"scale", false}, kUnused}},
       1,
       false,
       "scale >= 0",
       [](const Number* p) { return is_scale(p[0].real); },
       [](RandomState& s, const Number* p) { return real(p[0].real * legacy::standard_exponential(s)); },
       Reparametrization::kScale},
      {"laplace",
       "location + scale z, for z of the density exp(-|z|) / 2",
       "",
       {{{"location", false}, {"scale", false}}},
       2,
       false,
       "scale >= 0",
       takes_any_scale,
       [](RandomState& s, const Number* p) { return real(legacy::laplace(s, p[0].real, p[1].real)); },
       Reparametrization::kLocationScale},
      {"logistic",
       "location + scale log(u / (1 - u))",
       "",
       {{{"location", false}, {"scale", false}}},
       2,
       false,
       "scale >= 0",
       takes_any_scale,
       [](RandomState& s, const Number* p) { return real(legacy::logistic(s, p[0].real, p[1].real)); },
       Reparametrization::kLocationScale},
      {"gamma",
       "of the density x^(shape - 1) exp(-x / scale) up to a factor",
       "; J. H. Ahrens, U. Dieter, Computing 12, 1974; G. Marsaglia, W. W. Tsang, ACM TOMS 26(3), 2000",
       {{{"shape", false}, {"scale", false}}},
       2,
       false,
       "finite shape >= 0 and scale >= 0",
       [](const Number* p) { return (p[0].real == 0 || is_positive(p[0].real)) && is_scale(p[1].real); },
       [](RandomState& s, const Number* p) { return real(p[1].real * legacy::standard_gamma(s, p[0].real)); },
       Reparametrization::kNone},
      {"beta",
       "of the density x^(a - 1) (1 - x)^(b - 1) up to a factor",
       "; M. D. Johnk, Metrika 8, 1964",
       {{{"a", false}, {"b", false}}},
       2,
       false,
       "finite a > 0 and b > 0",
       [](const Number* p) { return is_positive(p[0].real) && is_positive(p[1].real); },
       [](RandomState& s, const Number* p) { return real(legacy::beta(s, p[0].real, p[1].real)); },
       Reparametrization::kNone},
      {"chisquare",
       "the sum of the squares of `freedom` normal numbers: 2 gamma(freedom / 2)",
       "; J. H. Ahrens, U. Dieter, Computing 12, 1974; G. Marsaglia, W. W. Tsang, ACM TOMS 26(3), 2000",
       {{{"freedom", false}, kUnused}},
       1,
       false,
       "a finite freedom > 0",
       [](const Number* p) { return is_positive(p[0].real); },
       [](RandomState& s, const Number* p) { return real(2.0 * legacy::standard_gamma(s, p[0].real / 2.0)); },
       Reparametrization::kNone},
      {"poisson",
       "k with the probability rate^k exp(-rate) / k!",
       "; W. Hormann, Insurance: Mathematics and Economics 12, 1993 (PTRS)",
       {{{"rate", false}, kUnused}},
       1,
       true,
       "rate >= 0, and below 9.2e18",
       [](const Number* p) { return p[0].real >= 0 && p[0].real <= largest_rate(); },
       [](RandomState& s, const Number* p) { return whole(legacy::poisson(s, p[0].real)); },
       Reparametrization::kNone},
      {"binomial",
       "how many of n trials succeed, each with probability p",
       "; V. Kachitvichyanukul, B. W. Schmeiser, Communications of the ACM 31(2), 1988 (BTPE)",
       {{{"n", true}, {"p", false}}},
       2,
       true,
       "n >= 0 and 0 <= p <= 1",
       [](const Number* p) { return p[0].whole >= 0 && p[1].real >= 0 && p[1].real <= 1; },
       [](RandomState& s, const Number* p) { return whole(legacy::binomial(s, p[0].whole, p[1].real)); },
       Reparametrization::kNone},
      {"geometric",
       "trials until the first success, each with probability p",
       "",
       {{{"p", false}, kUnused}},
       1,
       true,
       "0 < p <= 1",
       [](const Number* p) { return p[0].real > 0 && p[0].real <= 1; },
       [](RandomState& s, const Number* p) { return whole(legacy::geometric(s, p[0].real)); },
       Reparametrization::kNone},
      {"randint",
       "low <= k < high, all equally probable: masked words; those that are too large are drawn again",
       "",
       {{{"low", true}, {"high", true}}},
       2,
       true,
       "low < high",
       [](const Number* p) { return p[0].whole < p[1].whole; },
       [](RandomState& s, const Number* p) { return whole(s.integer(p[0].whole, p[1].whole)); },
       Reparametrization::kNone},
      {"random_integers",
       "low <= k <= high, all equally probable",
       "",
       {{{"low", true}, {"high", true}}},
       2,
       true,
       "low <= high",
       [](const Number* p) { return p[0].whole <= p[1].whole; },
       [](RandomState& s, const Number* p) {
         const uint64_t low = static_cast<uint64_t>(p[0].whole), high = static_cast<uint64_t>(p[1].whole);
         return whole(static_cast<int64_t>(low + s.interval(high - low)));
       },
       Reparametrization::kNone},
  }};
  return all;
}

const Distribution* find_distribution(std::string_view name) {
  for (const Distribution& one : distributions())
    if (one.name == name) return &one;
  return nullptr;
}

std::array<DrawnNumber, 2> DrawParameters::at(const Distribution& of, int64_t element) const {
  std::array<DrawnNumber, 2> out{};
  for (size_t k = 0; k < of.count; ++k) {
    const int64_t at = locations[k].step * element;
    if (of.parameters[k].is_whole)
      out[k].whole = static_cast<const int64_t*>(locations[k].first)[at];
    else
      out[k].real = static_cast<const double*>(locations[k].first)[at];
  }
  return out;
}

std::optional<int64_t> DrawParameters::first_unfit(const Distribution& of, int64_t n) const {
  bool varies = false;
  for (size_t k = 0; k < of.count; ++k) varies = varies || locations[k].step != 0;
  for (int64_t i = 0; i < (varies ? n : std::min<int64_t>(n, 1)); ++i)
    if (!of.fits(at(of, i).data())) return i;
  return std::nullopt;
}

std::string unfit_what(const Distribution& of) {
  return str(of.name, ": a parameter is out of range");
}

std::string unfit_expected(const Distribution& of, const std::string& element) {
  return str(of.range, "; it is not so for element ", element, " of the result, counted from 1");
}

}  // namespace thtrain
