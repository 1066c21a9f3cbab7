#include "compiler/base/legacy_distributions.h"

#include <algorithm>
#include <cmath>

namespace thtrain::legacy {

double standard_exponential(RandomState& state) {
  return -std::log(1.0 - state.random_sample());
}

double standard_gamma(RandomState& state, double shape) {
  if (shape == 1.0) return standard_exponential(state);
  if (shape == 0.0) return 0.0;
  if (shape < 1.0) {
    while (true) {
      const double u = state.random_sample(), e = standard_exponential(state);
      if (u <= 1.0 - shape) {
        const double x = std::pow(u, 1.0 / shape);
        if (x <= e) return x;
      } else {
        const double y = -std::log((1 - u) / shape);
        const double x = std::pow(1.0 - shape + shape * y, 1.0 / shape);
        if (x <= e + y) return x;
      }
    }
  }
  const double b = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9 * b);
  while (true) {
    double x, v;
    do {
      x = state.standard_normal();
      v = 1.0 + c * x;
    } while (v <= 0.0);
    v = v * v * v;
    const double u = state.random_sample();
    if (u < 1.0 - 0.0331 * (x * x) * (x * x)) return b * v;
    if (std::log(u) < 0.5 * x * x + b * (1.0 - v + std::log(v))) return b * v;
  }
}

double beta(RandomState& state, double a, double b) {
  if (a > 1.0 || b > 1.0) {
    const double first = standard_gamma(state, a), second = standard_gamma(state, b);
    return first / (first + second);
  }
  while (true) {
    const double u = state.random_sample(), v = state.random_sample();
    const double x = std::pow(u, 1.0 / a), y = std::pow(v, 1.0 / b);
    if (x + y > 1.0) continue;
    if (x + y > 0) return x / (x + y);
    // Both powers underflowed.
    double log_x = std::log(u) / a, log_y = std::log(v) / b;
    const double largest = log_x > log_y ? log_x : log_y;
    log_x -= largest;
    log_y -= largest;
    return std::exp(log_x - std::log(std::exp(log_x) + std::exp(log_y)));
  }
}

double laplace(RandomState& state, double location, double scale) {
  double u;
  do {
    u = state.random_sample();
  } while (u == 0.0);
  return u >= 0.5 ? location - scale * std::log(2.0 - u - u) : location + scale * std::log(u + u);
}

double logistic(RandomState& state, double location, double scale) {
  double u;
  do {
    u = state.random_sample();
  } while (u == 0.0);
  return location + scale * std::log(u / (1.0 - u));
}

namespace {

// log(gamma(x)) for x >= 1 by Stirling's series at x + n >= 7.
double log_gamma(double x) {
  static constexpr double kSeries[10] = {8.333333333333333e-02,  -2.777777777777778e-03, 7.936507936507937e-04,
                                         -5.952380952380952e-04, 8.417508417508418e-04,  -1.917526917526918e-03,
                                         6.410256410256410e-03,  -2.955065359477124e-02, 1.796443723688307e-01,
                                         -1.39243221690590e+00};
  constexpr double kLogTwoPi = 1.8378770664093453e+00;
  if (x == 1.0 || x == 2.0) return 0.0;
  const int64_t n = x < 7.0 ? static_cast<int64_t>(7 - x) : 0;
  double moved = x + static_cast<double>(n);
  const double square = (1.0 / moved) * (1.0 / moved);
  double sum = kSeries[9];
  for (int k = 8; k >= 0; --k) {
    sum *= square;
    sum += kSeries[k];
  }
  double out = sum / moved + 0.5 * kLogTwoPi + (moved - 0.5) * std::log(moved) - moved;
  for (int64_t k = 1; k <= n; ++k) {
    out -= std::log(moved - 1.0);
    moved -= 1.0;
  }
  return out;
}

int64_t poisson_by_rejection(RandomState& state, double rate) {
  const double root = std::sqrt(rate), log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), bound = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = state.random_sample() - 0.5, v = state.random_sample();
    const double us = 0.5 - std::fabs(u);
    const int64_t k = static_cast<int64_t>(std::floor((2 * a / us + b) * u + rate + 0.43));
    if (us >= 0.07 && v <= bound) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double kd = static_cast<double>(k);
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -rate + kd * log_rate - log_gamma(static_cast<double>(k + 1)))
      return k;
  }
}

// p at most 1/2.
class BinomialByInversion {
 public:
  BinomialByInversion(int64_t n, double p) : n_(n), p_(p), q_(1.0 - p) {
    const double count = static_cast<double>(n), mean = count * p;
    none_ = std::exp(count * std::log(q_));
    bound_ = static_cast<int64_t>(std::min(count, mean + 10.0 * std::sqrt(mean * q_ + 1)));
  }

  int64_t draw(RandomState& state) const {
    int64_t x = 0;
    double px = none_, u = state.random_sample();
    while (u > px) {
      ++x;
      if (x > bound_) {
        x = 0;
        px = none_;
        u = state.random_sample();
      } else {
        u -= px;
        px = (static_cast<double>(n_ - x + 1) * p_ * px) / (static_cast<double>(x) * q_);
      }
    }
    return x;
  }

 private:
  int64_t n_, bound_;
  double p_, q_, none_;
};

// Stirling's correction of log(x!) in BTPE, with the constant that NumPy has (13680; the paper's is 13860).
double stirling(double x) {
  const double square = x * x;
  return (13680. - (462. - (132. - (99. - 140. / square) / square) / square) / square) / x / 166320.;
}

// p at most 1/2. Names of constants are the paper's.
class Btpe {
 public:
  Btpe(int64_t n, double p) : n_(n), r_(p), q_(1.0 - p), count_(static_cast<double>(n)) {
    const double fm = count_ * r_ + r_;
    m_ = static_cast<int64_t>(std::floor(fm));
    const double mode = static_cast<double>(m_);
    p1_ = std::floor(2.195 * std::sqrt(count_ * r_ * q_) - 4.6 * q_) + 0.5;
    xm_ = mode + 0.5;
    xl_ = xm_ - p1_;
    xr_ = xm_ + p1_;
    c_ = 0.134 + 20.5 / (15.3 + mode);
    double a = (fm - xl_) / (fm - xl_ * r_);
    lambda_left_ = a * (1.0 + a / 2.0);
    a = (xr_ - fm) / (xr_ * q_);
    lambda_right_ = a * (1.0 + a / 2.0);
    p2_ = p1_ * (1.0 + 2.0 * c_);
    p3_ = p2_ + c_ / lambda_left_;
    p4_ = p3_ + c_ / lambda_right_;
  }

  int64_t draw(RandomState& state) const {
    while (true) {
      const double u = state.random_sample() * p4_;
      double v = state.random_sample();
      if (u <= p1_) return static_cast<int64_t>(std::floor(xm_ - p1_ * v + u));  // the triangle
      int64_t y;
      if (u <= p2_) {  // parallelograms
        const double x = xl_ + (u - p1_) / c_;
        v = v * c_ + 1.0 - std::fabs(static_cast<double>(m_) - x + 0.5) / p1_;
        if (v > 1.0) continue;
        y = static_cast<int64_t>(std::floor(x));
      } else if (u <= p3_) {  // the left tail
        if (v == 0.0) continue;
        y = static_cast<int64_t>(std::floor(xl_ + std::log(v) / lambda_left_));
        if (y < 0) continue;
        v = v * (u - p2_) * lambda_left_;
      } else {  // the right tail
        if (v == 0.0) continue;
        y = static_cast<int64_t>(std::floor(xr_ - std::log(v) / lambda_right_));
        if (y > n_) continue;
        v = v * (u - p3_) * lambda_right_;
      }
      if (accepts(y, v)) return y;
    }
  }

 private:
  bool accepts(int64_t y, double v) const {
    const int64_t k = std::abs(y - m_);
    const double nrq = count_ * r_ * q_, distance = static_cast<double>(k);
    if (!(k > 20 && distance < nrq / 2.0 - 1)) {
      const double s = r_ / q_, a = s * static_cast<double>(n_ + 1);
      double f = 1.0;
      for (int64_t i = m_ + 1; i <= y; ++i) f *= a / static_cast<double>(i) - s;
      for (int64_t i = y + 1; i <= m_; ++i) f /= a / static_cast<double>(i) - s;
      return v <= f;
    }
    const double rho = (distance / nrq) * ((distance * (distance / 3.0 + 0.625) + 0.16666666666666666) / nrq + 0.5);
    const double t = static_cast<double>(-k * k) / (2 * nrq), log_v = std::log(v);
    if (log_v < t - rho) return true;
    if (log_v > t + rho) return false;
    const double x1 = static_cast<double>(y + 1), f1 = static_cast<double>(m_ + 1),
                 z = static_cast<double>(n_ + 1 - m_), w = static_cast<double>(n_ - y + 1);
    return log_v <= xm_ * std::log(f1 / x1) + (static_cast<double>(n_ - m_) + 0.5) * std::log(z / w) +
                        static_cast<double>(y - m_) * std::log(w * r_ / (x1 * q_)) + stirling(f1) + stirling(z) +
                        stirling(x1) + stirling(w);
  }

  int64_t n_, m_;
  double r_, q_, count_, p1_, xm_, xl_, xr_, c_, lambda_left_, lambda_right_, p2_, p3_, p4_;
};

// The numbers that a method needs of n and p are kept for the next draw: most have the same.
template <class Method>
int64_t drawn_by(RandomState& state, int64_t n, double p) {
  struct Prepared {
    int64_t n;
    double p;
    Method method;
  };
  thread_local Prepared last{0, 0.5, Method(0, 0.5)};
  if (last.n != n || last.p != p) last = {n, p, Method(n, p)};
  return last.method.draw(state);
}

bool is_inverted(int64_t n, double p) {
  return p * static_cast<double>(n) <= 30.0;
}

int64_t binomial_below_half(RandomState& state, int64_t n, double p) {
  return is_inverted(n, p) ? drawn_by<BinomialByInversion>(state, n, p) : drawn_by<Btpe>(state, n, p);
}

}  // namespace

int64_t poisson(RandomState& state, double rate) {
  if (rate >= 10) return poisson_by_rejection(state, rate);
  if (rate == 0) return 0;
  const double end = std::exp(-rate);
  double product = state.random_sample();
  int64_t x = 0;
  for (; product > end; ++x) product *= state.random_sample();
  return x;
}

int64_t binomial(RandomState& state, int64_t n, double p) {
  return p <= 0.5 ? binomial_below_half(state, n, p) : n - binomial_below_half(state, n, 1.0 - p);
}

void binomials(RandomState& state, int64_t n, double p, int64_t* out, int64_t count) {
  const bool is_below_half = p <= 0.5;
  const double chance = is_below_half ? p : 1.0 - p;
  const auto draw_all = [&](const auto& method) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t drawn = method.draw(state);
      out[i] = is_below_half ? drawn : n - drawn;
    }
  };
  is_inverted(n, chance) ? draw_all(BinomialByInversion(n, chance)) : draw_all(Btpe(n, chance));
}

int64_t geometric(RandomState& state, double p) {
  if (p < 0.333333333333333333333333)
    return static_cast<int64_t>(std::ceil(std::log(1.0 - state.random_sample()) / std::log(1.0 - p)));
  int64_t x = 1;
  double sum = p, term = p;
  const double q = 1.0 - p, u = state.random_sample();
  for (; u > sum; ++x) {
    term *= q;
    sum += term;
  }
  return x;
}

void multinomial(RandomState& state, int64_t n, const double* p, int64_t categories, int64_t* counts) {
  std::fill(counts, counts + categories, 0);
  if (categories == 0) return;
  double rest = 1.0;
  for (int64_t k = 0; k + 1 < categories; ++k) {
    const double chance = p[k] / rest;
    if (n > 0 && chance != 0) binomials(state, n, chance, &counts[k], 1);  // which draws there too
    n -= counts[k];
    if (n <= 0) return;
    rest -= p[k];
  }
  counts[categories - 1] = n;
}

}  // namespace thtrain::legacy
