#include "nn/init.h"

#include <cmath>

namespace thtrain {

// row[j] += factor * other[j]; along rows, so that no sum is reordered whatever the compiler vectorizes.
static void add_scaled(double* row, double factor, const double* other, int64_t n) {
  for (int64_t j = 0; j < n; ++j) row[j] += factor * other[j];
}

namespace {

// H = I - v v^T, v of the rows from `first` on, applied to the columns from `first` on of a row-major matrix.
struct Reflection {
  std::vector<double> v;
  int64_t first;

  void apply(double* a, int64_t columns) const {
    std::vector<double> sums(columns - first, 0.0);  // v^T a
    for (size_t i = 0; i < v.size(); ++i)
      add_scaled(sums.data(), v[i], a + (first + i) * columns + first, columns - first);
    for (size_t i = 0; i < v.size(); ++i)
      add_scaled(a + (first + i) * columns + first, -v[i], sums.data(), columns - first);
  }
};

}  // namespace

static double length_of(const std::vector<double>& v) {
  double squares = 0;
  for (double x : v) squares += x * x;
  return std::sqrt(squares);
}

// The reflection that maps column k (from row k on) to a multiple of e_1; v is scaled so that v^T v == 2.
static Reflection reflection_of(const double* a, int64_t rows, int64_t columns, int64_t k) {
  Reflection out{.v = std::vector<double>(rows - k), .first = k};
  for (int64_t i = k; i < rows; ++i) out.v[i - k] = a[i * columns + k];
  out.v[0] += std::copysign(length_of(out.v), out.v[0]);  // away from cancellation
  double length = length_of(out.v);
  for (double& x : out.v) x = length > 0 ? x / length * std::sqrt(2.0) : 0;
  return out;
}

Tensor orthonormal_columns(Tensor a) {
  int64_t rows = a.dim(0), columns = a.dim(1);
  TH_CHECK(rows >= columns && a.is_contiguous(), "orthonormal columns of ", a.type_text());
  double* r = a.data<double>();
  std::vector<Reflection> reflections;
  std::vector<double> signs(columns);
  for (int64_t k = 0; k < columns; ++k) {
    reflections.push_back(reflection_of(r, rows, columns, k));
    reflections.back().apply(r, columns);
    signs[k] = r[k * columns + k] < 0 ? -1 : 1;
  }
  Tensor out = Tensor::zeros(DType::kFloat64, {rows, columns});
  double* q = out.data<double>();
  for (int64_t k = 0; k < columns; ++k) q[k * columns + k] = 1;
  for (int64_t k = columns; k-- > 0;) reflections[k].apply(q, columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) q[i * columns + j] *= signs[j];
  return out;
}

static Tensor orthogonal(int64_t n_in, int64_t n_out, double scale, RandomState& random) {
  Tensor drawn = Tensor::of(random.normal(0, 1, static_cast<size_t>(n_in * n_out)), {n_in, n_out});
  auto transposed = [](const Tensor& a) { return a.view({a.dim(1), a.dim(0)}, {1, a.dim(1)}, 0).copy(); };
  bool wide = n_in < n_out;
  Tensor q = orthonormal_columns(wide ? transposed(drawn) : drawn);
  if (wide) q = transposed(q);
  for (int64_t i = 0; i < q.size(); ++i) q.data<double>()[i] *= scale;
  return q;
}

Tensor draw_weights(const Init& init, int64_t n_in, int64_t n_out, RandomState& random) {
  return draw_weights(init, {n_in, n_out}, n_in, n_out, random);
}

Tensor draw_weights(const Init& init, const Shape& shape, int64_t n_in, int64_t n_out, RandomState& random) {
  auto count = static_cast<size_t>(element_count(shape));
  double in = static_cast<double>(n_in), both = static_cast<double>(n_in + n_out);
  auto uniform = [&](double bound) { return Tensor::of(random.uniform(-bound, bound, count), shape); };
  auto normal = [&](double deviation) { return Tensor::of(random.normal(0, deviation, count), shape); };
  switch (init.law) {
    case Init::Law::kGlorotUniform:
      return uniform(init.scale * std::sqrt(6 / both));
    case Init::Law::kGlorotNormal:
      return normal(init.scale * std::sqrt(2 / both));
    case Init::Law::kHeUniform:
      return uniform(init.scale * std::sqrt(6 / in));
    case Init::Law::kHeNormal:
      return normal(init.scale * std::sqrt(2 / in));
    case Init::Law::kNormal:
      return normal(init.deviation);
    case Init::Law::kUniform:
      return uniform(init.range);
    case Init::Law::kOrthogonal:
      return orthogonal(shape[0], element_count(shape) / shape[0], init.scale, random).reshape(shape);
    case Init::Law::kConstant: {
      Tensor out = Tensor::empty(DType::kFloat64, shape);
      for (size_t i = 0; i < count; ++i) out.data<double>()[i] = init.value;
      return out;
    }
    case Init::Law::kZeros:
      return Tensor::zeros(DType::kFloat64, shape);
  }
  TH_CHECK(false, "no such initializer");
  __builtin_unreachable();
}

}  // namespace thtrain
