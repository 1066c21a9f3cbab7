#include "trainers/show/tsne.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace thtrain {

namespace {

constexpr double kTiny = 2.220446049250313e-16;  // below it a similarity counts as this

/// A symmetric n x n matrix in rows.
struct Square {
  int64_t n;
  std::vector<double> numbers = std::vector<double>(static_cast<size_t>(n * n));
  double* row(int64_t i) { return numbers.data() + i * n; }
  const double* row(int64_t i) const { return numbers.data() + i * n; }
};

Square squared_distances(const Tensor& x) {
  const int64_t n = x.dim(0), d = x.dim(1);
  Square out{n};
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < d; ++k) {
        const double difference = x.data<double>()[i * d + k] - x.data<double>()[j * d + k];
        sum += difference * difference;
      }
      out.row(i)[j] = out.row(j)[i] = sum;
    }
  return out;
}

// p_(j|i) of one i, whose entropy is log(perplexity): the width of the Gaussian is found by bisection.
void conditional(double* row, int64_t i, int64_t n, double perplexity) {
  std::vector<double> distances(row, row + n);
  double beta = 1, low = 0, high = std::numeric_limits<double>::infinity();
  double nearest = std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < n; ++j)
    if (j != i) nearest = std::min(nearest, distances[static_cast<size_t>(j)]);
  for (int step = 0; step < 100; ++step) {
    double sum = 0, weighted = 0;
    for (int64_t j = 0; j < n; ++j) {
      const double distance = distances[static_cast<size_t>(j)] - nearest;  // so that the largest is 1
      row[j] = j == i ? 0 : std::exp(-beta * distance);
      sum += row[j];
      weighted += distance * row[j];
    }
    const double difference = std::log(sum) + beta * weighted / sum - std::log(perplexity);
    for (int64_t j = 0; j < n; ++j) row[j] /= sum;
    if (std::abs(difference) <= 1e-5) return;
    (difference > 0 ? low : high) = beta;
    beta = std::isinf(high) ? beta * 2 : (low + high) / 2;
  }
}

// p_ij = (p_(j|i) + p_(i|j)) / 2n.
Square similarities(const Tensor& x, double perplexity) {
  Square out = squared_distances(x);
  for (int64_t i = 0; i < out.n; ++i) conditional(out.row(i), i, out.n, perplexity);
  double sum = 0;
  for (int64_t i = 0; i < out.n; ++i)
    for (int64_t j = 0; j < i; ++j) {
      out.row(i)[j] = out.row(j)[i] = out.row(i)[j] + out.row(j)[i];
      sum += 2 * out.row(i)[j];
    }
  for (int64_t i = 0; i < out.n; ++i)
    for (int64_t j = 0; j < out.n; ++j) out.row(i)[j] = i == j ? 0 : std::max(out.row(i)[j] / sum, kTiny);
  return out;
}

/// The points in two vectors, and the numerators 1 / (1 + |y_i - y_j|^2) of the similarities between them.
struct Plane {
  std::vector<double> x, y;
  Square numerators;
  double sum = 0;  // of all of them

  void compute() {
    const int64_t n = numerators.n;
    sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      double* row = numerators.row(i);
      const double at_x = x[static_cast<size_t>(i)], at_y = y[static_cast<size_t>(i)];
      for (int64_t j = 0; j < n; ++j) {
        const double dx = at_x - x[static_cast<size_t>(j)], dy = at_y - y[static_cast<size_t>(j)];
        row[j] = 1 / (1 + dx * dx + dy * dy);
      }
      row[i] = 0;
      for (int64_t j = 0; j < n; ++j) sum += row[j];
    }
  }
};

// Equation 5: 4 sum_j (p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2).
void gradient(const Plane& plane, const Square& p, double exaggeration, std::vector<double>& dx,
              std::vector<double>& dy) {
  const int64_t n = p.n;
  for (int64_t i = 0; i < n; ++i) {
    const double *of = p.row(i), *numerators = plane.numerators.row(i);
    double sum = 0, sum_x = 0, sum_y = 0;
    for (int64_t j = 0; j < n; ++j) {
      const double force = (exaggeration * of[j] - numerators[j] / plane.sum) * numerators[j];
      sum += force;
      sum_x += force * plane.x[static_cast<size_t>(j)];
      sum_y += force * plane.y[static_cast<size_t>(j)];
    }
    const auto at = static_cast<size_t>(i);
    dx[at] = 4 * (sum * plane.x[at] - sum_x);
    dy[at] = 4 * (sum * plane.y[at] - sum_y);
  }
}

/// Of one coordinate of all points: gradient descent with momentum, and a gain that grows where the direction stays.
struct Descent {
  std::vector<double> update, gain;
  explicit Descent(int64_t n) : update(static_cast<size_t>(n)), gain(static_cast<size_t>(n), 1.0) {}

  void step(std::vector<double>& coordinates, const std::vector<double>& gradient, double momentum, double rate) {
    for (size_t i = 0; i < coordinates.size(); ++i) {
      gain[i] = std::max(0.01, update[i] * gradient[i] < 0 ? gain[i] + 0.2 : gain[i] * 0.8);
      update[i] = momentum * update[i] - rate * gain[i] * gradient[i];
      coordinates[i] += update[i];
    }
  }
};

double divergence_of(const Plane& plane, const Square& p) {
  double out = 0;
  for (int64_t i = 0; i < p.n; ++i)
    for (int64_t j = 0; j < p.n; ++j)
      if (i != j) out += p.row(i)[j] * std::log(p.row(i)[j] / std::max(plane.numerators.row(i)[j] / plane.sum, kTiny));
  return out;
}

Plane begin_at(const Tensor& first) {
  const int64_t n = first.dim(0);
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) mean += first.as_double(2 * i) / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) squares += (first.as_double(2 * i) - mean) * (first.as_double(2 * i) - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(n)), scale = deviation > 0 ? 1e-4 / deviation : 1;
  Plane out{{}, {}, Square{n}};
  for (int64_t i = 0; i < n; ++i) {
    out.x.push_back(scale * first.as_double(2 * i));
    out.y.push_back(scale * first.as_double(2 * i + 1));
  }
  return out;
}

}  // namespace

Tsne tsne(const Tensor& given, const Tensor& first, const TsneOptions& options) {
  const Tensor x = given.contiguous();
  const int64_t n = x.dim(0);
  const Square p = similarities(x, std::min(options.perplexity, static_cast<double>(n - 1) / 3));
  constexpr int64_t kExaggerated = 250;
  constexpr double kExaggeration = 12;
  const double rate = std::max(static_cast<double>(n) / kExaggeration / 4, 50.0);
  Plane plane = begin_at(first);
  Descent along_x(n), along_y(n);
  std::vector<double> dx(static_cast<size_t>(n)), dy(static_cast<size_t>(n));
  for (int64_t i = 0; i < options.iterations; ++i) {
    const bool is_early = i < kExaggerated;
    plane.compute();
    gradient(plane, p, is_early ? kExaggeration : 1, dx, dy);
    along_x.step(plane.x, dx, is_early ? 0.5 : 0.8, rate);
    along_y.step(plane.y, dy, is_early ? 0.5 : 0.8, rate);
  }
  plane.compute();
  Tsne out{Tensor::empty(DType::kFloat64, {n, 2}), divergence_of(plane, p)};
  for (int64_t i = 0; i < n; ++i) {
    out.coordinates.data<double>()[2 * i] = plane.x[static_cast<size_t>(i)];
    out.coordinates.data<double>()[2 * i + 1] = plane.y[static_cast<size_t>(i)];
  }
  return out;
}

}  // namespace thtrain
