// Tensors of numbers that a seed decides, for tests that only want some.
#pragma once

#include "compiler/base/random_state.h"
#include "compiler/ir/tensor.h"
#include "compiler/ir/type.h"

namespace thtrain {

/// Floats: normal around 0 with deviation 0.5. Integers: from 0 to 4, neighbours different.
inline Tensor numbers(const Type& type, uint64_t seed) {
  const Shape shape = type.known_shape();
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  const std::vector<double> drawn = RandomState(seed).normal(0, 0.5, static_cast<size_t>(out.size()));
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<double>()[i] = is_int(type.dtype) ? static_cast<double>((i * 3 + static_cast<int64_t>(seed)) % 5)
                                               : drawn[static_cast<size_t>(i)];
  return out.cast(type.dtype);
}

inline Tensor drawn(const Shape& shape, uint64_t seed) {
  return numbers({.dtype = DType::kFloat64, .dims = Dims(shape.begin(), shape.end())}, seed);
}

}  // namespace thtrain
