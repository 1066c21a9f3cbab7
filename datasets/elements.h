// The loops over every number of the examples: what takes the time of reading them. Compiled for speed
// (cmake/trainer.cmake).
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/ir/tensor.h"

namespace thtrain {

/// `count` elements of `from`, of a real dtype in this machine's byte order at any address, times `scale` (computed in
/// float64, and rounded once) into `out`, float or double. A bool is any byte.
template <class To>
void convert_elements(DType dtype, const std::byte* from, int64_t count, double scale, To* out);
extern template void convert_elements<float>(DType, const std::byte*, int64_t, double, float*);
extern template void convert_elements<double>(DType, const std::byte*, int64_t, double, double*);

/// Is none of a contiguous float32 or float64 tensor infinite or NaN?
bool has_only_finite(const Tensor& tensor);

}  // namespace thtrain
