#include "trainers/show/principal_components.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/base/random_state.h"

namespace thtrain {

namespace {

/// RowVectors of one length, one after the other.
struct RowVectors {
  int64_t count, length;
  std::vector<double> numbers = std::vector<double>(static_cast<size_t>(count * length));
  double* at(int64_t i) { return numbers.data() + i * length; }
  const double* at(int64_t i) const { return numbers.data() + i * length; }
};

double dot(const double* a, const double* b, int64_t length) {
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += a[i] * b[i];
  return sum;
}

void add_times(double* to, double factor, const double* from, int64_t length) {
  for (int64_t i = 0; i < length; ++i) to[i] += factor * from[i];
}

// Gram and Schmidt, twice, so that rounding leaves them orthogonal. One that depends on those before it but for
// rounding becomes 0, and stays so: there are no more directions.
void make_orthonormal(RowVectors& v) {
  for (int64_t i = 0; i < v.count; ++i) {
    const double least = 1e-12 * std::sqrt(dot(v.at(i), v.at(i), v.length));
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < i; ++j) add_times(v.at(i), -dot(v.at(i), v.at(j), v.length), v.at(j), v.length);
    const double norm = std::sqrt(dot(v.at(i), v.at(i), v.length));
    for (int64_t k = 0; k < v.length; ++k) v.at(i)[k] = norm > least ? v.at(i)[k] / norm : 0;
  }
}

// The rows of `x` along each of `v`: [count, n].
RowVectors places_along(const RowVectors& x, const RowVectors& v) {
  RowVectors out{v.count, x.count};
  for (int64_t i = 0; i < v.count; ++i)
    for (int64_t row = 0; row < x.count; ++row) out.at(i)[row] = dot(x.at(row), v.at(i), x.length);
  return out;
}

// Eigenvectors of the symmetric matrix whose rows are `a`, by Jacobi's rotations; `a` becomes diagonal.
RowVectors eigenvectors(RowVectors& a) {
  const int64_t n = a.count;
  RowVectors out{n, n};
  for (int64_t i = 0; i < n; ++i) out.at(i)[i] = 1;
  for (int sweep = 0; sweep < 50; ++sweep) {
    double off = 0, all = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) (i == j ? all : off) += a.at(i)[j] * a.at(i)[j];
    if (off <= 1e-30 * (all + off)) break;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        if (a.at(p)[q] == 0) continue;
        const double theta = (a.at(q)[q] - a.at(p)[p]) / (2 * a.at(p)[q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        auto rotate = [&](double& x, double& y) {
          const double old = x;
          x = c * old - s * y;
          y = s * old + c * y;
        };
        for (int64_t k = 0; k < n; ++k) rotate(a.at(k)[p], a.at(k)[q]);
        for (int64_t k = 0; k < n; ++k) rotate(a.at(p)[k], a.at(q)[k]);
        for (int64_t k = 0; k < n; ++k) rotate(out.at(p)[k], out.at(q)[k]);
      }
  }
  return out;
}

// Turns `v` within its own space onto the directions of largest variance, largest first; `along` are the coordinates
// along the old ones, and become those along the new ones. Returns the variances.
std::vector<double> turn_to_principal(RowVectors& v, RowVectors& along) {
  RowVectors covariance{v.count, v.count};
  for (int64_t i = 0; i < v.count; ++i)
    for (int64_t j = 0; j < v.count; ++j)
      covariance.at(i)[j] = dot(along.at(i), along.at(j), along.length) / static_cast<double>(along.length - 1);
  const RowVectors turn = eigenvectors(covariance);
  std::vector<int64_t> order(static_cast<size_t>(v.count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return covariance.at(a)[a] > covariance.at(b)[b]; });
  RowVectors turned{v.count, v.length}, coordinates{v.count, along.length};
  std::vector<double> variances;
  for (int64_t i = 0; i < v.count; ++i) {
    const int64_t from = order[static_cast<size_t>(i)];
    for (int64_t j = 0; j < v.count; ++j) {
      add_times(turned.at(i), turn.at(from)[j], v.at(j), v.length);
      add_times(coordinates.at(i), turn.at(from)[j], along.at(j), along.length);
    }
    variances.push_back(std::max(0.0, covariance.at(from)[from]));
  }
  v = std::move(turned);
  along = std::move(coordinates);
  return variances;
}

// C v of each, for the covariance C of the rows.
RowVectors times_covariance(const RowVectors& x, const RowVectors& along) {
  RowVectors out{along.count, x.length};
  for (int64_t i = 0; i < along.count; ++i)
    for (int64_t row = 0; row < x.count; ++row) add_times(out.at(i), along.at(i)[row], x.at(row), x.length);
  return out;
}

RowVectors centred(const Tensor& x) {
  RowVectors out{x.dim(0), x.dim(1)};
  std::copy_n(x.data<double>(), x.size(), out.numbers.begin());
  std::vector<double> mean(static_cast<size_t>(out.length));
  for (int64_t i = 0; i < out.count; ++i)
    add_times(mean.data(), 1 / static_cast<double>(out.count), out.at(i), out.length);
  for (int64_t i = 0; i < out.count; ++i) add_times(out.at(i), -1, mean.data(), out.length);
  return out;
}

}  // namespace

PrincipalComponents principal_components(const Tensor& x, int64_t k) {
  const RowVectors rows = centred(x.contiguous());
  PrincipalComponents out;
  out.whole =
      dot(rows.numbers.data(), rows.numbers.data(), std::ssize(rows.numbers)) / static_cast<double>(rows.count - 1);
  constexpr int64_t kMore = 8;
  RowVectors v{std::min({k + kMore, rows.count, rows.length}), rows.length};
  RandomState random(1);
  for (double& number : v.numbers) number = random.normal();
  RowVectors along{0, 0};
  std::vector<double> variances;
  for (int round = 0; round < 1000; ++round) {
    make_orthonormal(v);
    along = places_along(rows, v);
    const std::vector<double> before = std::move(variances);
    variances = turn_to_principal(v, along);
    double change = 0;
    for (int64_t i = 0; i < k && !before.empty(); ++i)
      change = std::max(change, std::abs(variances[static_cast<size_t>(i)] - before[static_cast<size_t>(i)]));
    if (!before.empty() && change <= 1e-12 * variances[0]) break;
    v = times_covariance(rows, along);
  }
  out.coordinates = Tensor::empty(DType::kFloat64, {rows.count, k});
  for (int64_t i = 0; i < k; ++i) {
    const double* direction = v.at(i);
    const auto most =
        std::max_element(direction, direction + v.length, [](double a, double b) { return std::abs(a) < std::abs(b); });
    for (int64_t row = 0; row < rows.count; ++row)
      out.coordinates.data<double>()[row * k + i] = *most < 0 ? -along.at(i)[row] : along.at(i)[row];
    out.variances.push_back(variances[static_cast<size_t>(i)]);
  }
  return out;
}

}  // namespace thtrain
