// Values and names that the tests of order share.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain {

using Axis = std::optional<int64_t>;

inline const std::vector<DType> kReals = {DType::kInt8,    DType::kInt16,  DType::kInt32,  DType::kInt64,
                                          DType::kUInt8,   DType::kUInt16, DType::kUInt32, DType::kUInt64,
                                          DType::kFloat32, DType::kFloat64};
inline const double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

inline std::string shown(const Axis& axis) {
  return axis ? str(*axis) : "None";
}

inline Tensor numbers(const std::vector<double>& elements, DType dtype = DType::kFloat64) {
  return Tensor::of(elements, {static_cast<int64_t>(elements.size())}).cast(dtype);
}

/// start, start + step, ...
inline Tensor steps(int64_t start, int64_t step, int64_t size) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < size; ++i) out.push_back(start + i * step);
  return integers(out);
}

/// (i * factor) % modulus
inline Tensor residues(const Shape& shape, int64_t factor, int64_t modulus) {
  Tensor out = whole(shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<int64_t>()[i] = out.data<int64_t>()[i] * factor % modulus;
  return out;
}

/// NumPy's linspace
inline Tensor evenly(double start, double stop, int64_t size) {
  std::vector<double> out;
  const double step = (stop - start) / static_cast<double>(size - 1);
  for (int64_t i = 0; i < size; ++i) out.push_back(i == size - 1 ? stop : start + static_cast<double>(i) * step);
  return numbers(out);
}

inline Expr weighed(const Expr& x, const Expr& values, const Shape& shape) {
  return grad(sum(values * make_constant(positive(shape))), x);
}

}  // namespace thtrain
