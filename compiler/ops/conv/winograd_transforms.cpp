#include "compiler/ops/conv/winograd_transforms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/base/error.h"

namespace thtrain {

using kernel::Code;
using kernel::Term;

namespace {

// A transform of each column of a square, then of each row.
void transform(Code& code, int64_t rows, const Winograd::Load& load, const Winograd::Store& store,
               const std::function<Winograd::Vectors(const Winograd::Vectors&)>& line) {
  std::vector<Winograd::Vectors> columns;
  for (int64_t k = 0; k < rows; ++k) {
    Winograd::Vectors column;
    for (int64_t r = 0; r < rows; ++r) column.push_back(code.let("e", load(r, k)));
    columns.push_back(line(column));
  }
  for (size_t r = 0; r < columns[0].size(); ++r) {
    Winograd::Vectors row;
    for (const Winograd::Vectors& column : columns) row.push_back(column[r]);
    const Winograd::Vectors results = line(row);
    for (size_t k = 0; k < results.size(); ++k) store(static_cast<int64_t>(r), static_cast<int64_t>(k), results[k]);
  }
}

}  // namespace

Winograd::Winograd(int64_t positions, int64_t taps, DType dtype, int lanes)
    : positions_(positions), taps_(taps), dtype_(dtype), lanes_(lanes) {
  TH_CHECK(points() == 4 || points() == 6, "winograd: ", points(), " points");
  pairs_ = points() == 4 ? std::vector{1.0} : std::vector{0.625, 1.5};
}

std::vector<double> Winograd::all_points() const {
  std::vector<double> out = {0};
  for (double p : pairs_) {
    out.push_back(p);
    out.push_back(-p);
  }
  return out;
}

double Winograd::denominator(double point) const {
  double out = 1;
  for (double other : all_points())
    if (other != point) out *= point - other;
  return out;
}

Term Winograd::scaled(double factor, const Term& x) const {
  return factor == 1 ? x : x * kernel::splat(kernel::constant(dtype_, factor), lanes_);
}

Term Winograd::added(double factor, const Term& x, const Term& to) const {
  if (factor == 1) return to + x;
  if (factor == -1) return to - x;
  return fma(x, kernel::splat(kernel::constant(dtype_, factor), lanes_), to);
}

// Row i of B^T has the coefficients of the product of x - p over the points p but the i-th; the last row, of all.
Winograd::Vectors Winograd::data_line(Code& code, const Vectors& d) const {
  Vectors out(d.size());
  if (pairs_.size() == 1) {
    const double p = pairs_[0];
    out[0] = added(-p * p, d[0], d[2]);
    out[1] = added(p, d[1], d[2]);
    out[2] = added(-p, d[1], d[2]);
    out[3] = added(-p * p, d[1], d[3]);
  } else {
    const double a = pairs_[0] * pairs_[0], b = pairs_[1] * pairs_[1];
    out[0] = added(a * b, d[0], added(-(a + b), d[2], d[4]));
    for (size_t i = 0; i < 2; ++i) {
      const double p = pairs_[i], other = i == 0 ? b : a;
      const Term even = code.let("even", added(-other, d[2], d[4])), odd = code.let("odd", added(-other, d[1], d[3]));
      out[2 * i + 1] = added(p, odd, even);
      out[2 * i + 2] = added(-p, odd, even);
    }
    out[5] = added(a * b, d[1], added(-(a + b), d[3], d[5]));
  }
  for (Term& x : out) x = code.let("t", x);
  return out;
}

// Row i of G has the powers of point i over its denominator; the last row takes the last tap.
Winograd::Vectors Winograd::filter_line(Code& code, const Vectors& g) const {
  Vectors out = {code.let("t", scaled(1 / denominator(0), g[0]))};
  for (double p : pairs_) {
    const double n = denominator(p);  // that of -p too
    Term even = scaled(1 / n, g[0]), odd = scaled(p / n, g[1]);
    for (size_t k = 2; k < g.size(); ++k) {
      Term& sum = k % 2 == 0 ? even : odd;
      sum = added(std::pow(p, static_cast<double>(k)) / n, g[k], sum);
    }
    even = code.let("even", even);
    odd = code.let("odd", odd);
    out.push_back(code.let("t", even + odd));
    out.push_back(code.let("t", even - odd));
  }
  out.push_back(g.back());
  return out;
}

// Row j of A^T has the powers j of the points; the last one takes the product of infinity too.
Winograd::Vectors Winograd::inverse_line(Code& code, const Vectors& m) const {
  Vectors even, odd, out;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    even.push_back(code.let("even", m[2 * i + 1] + m[2 * i + 2]));
    odd.push_back(code.let("odd", m[2 * i + 1] - m[2 * i + 2]));
  }
  for (int64_t j = 0; j < positions_; ++j) {
    const Vectors& of = j % 2 == 0 ? even : odd;
    Term sum = scaled(std::pow(pairs_[0], static_cast<double>(j)), of[0]);
    if (of.size() > 1) sum = added(std::pow(pairs_[1], static_cast<double>(j)), of[1], sum);
    if (j == 0) sum = sum + m[0];
    if (j == positions_ - 1) sum = sum + m.back();
    out.push_back(code.let("y", sum));
  }
  return out;
}

void Winograd::data(Code& code, const Load& load, const Store& store) const {
  transform(code, points(), load, store, [&](const Vectors& line) { return data_line(code, line); });
}

void Winograd::filter(Code& code, const Load& load, const Store& store) const {
  transform(code, taps_, load, store, [&](const Vectors& line) { return filter_line(code, line); });
}

void Winograd::inverse(Code& code, const Load& load, const Store& store) const {
  transform(code, points(), load, store, [&](const Vectors& line) { return inverse_line(code, line); });
}

double Winograd::growth() const {
  // Sums of the sizes of coefficients: of the product of x - p over points that lie evenly around 0.
  const std::vector<double> points = all_points();
  auto row_sum = [&](auto skips) {
    std::vector<double> product = {1};
    for (double p : points) {
      if (skips(p)) continue;
      product.push_back(0);
      for (size_t k = product.size() - 1; k > 0; --k) product[k] = product[k - 1] - p * product[k];
      product[0] *= -p;
    }
    double sum = 0;
    for (double coefficient : product) sum += std::fabs(coefficient);
    return sum;
  };
  double most = 0;
  for (int64_t i = 0; i < positions_; ++i)
    for (int64_t k = 0; k < taps_; ++k) {
      double sum = i == positions_ - 1 && k == taps_ - 1 ? row_sum([](double) { return false; }) : 0;
      for (double p : points)
        sum += std::pow(std::fabs(p), static_cast<double>(i + k)) / std::fabs(denominator(p)) *
               row_sum([p](double other) { return other == p; });
      most = std::max(most, sum);
    }
  return most;
}

double Winograd::error_bound(double terms) const {
  const double u =
      (dtype_ == DType::kFloat32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon()) / 2;
  constexpr double kTransforms = 20;
  const double n = (terms + kTransforms) * u;
  return n / (1 - n) * growth() * growth();
}

}  // namespace thtrain
