// Products of matrices as the emulated cuBLAS and cuBLASLt compute them. Seen by these alone.
#pragma once

#include <complex>
#include <vector>

#include "compiler/cuda/emulated/math_work.h"
#include "compiler/cuda/math_functions.h"
#include "compiler/ops/linalg/matrix_product.h"

namespace thtrain::cuda::emulated {

/// A matrix of a batch as it is stored, and as the product reads it.
struct Stored {
  int op;
  int64_t rows, columns;  // as stored
  int64_t ld;
  const void* at;
  int64_t stride;  // elements from one matrix to the next

  template <class T>
  DeviceRows of(int64_t matrix) const {
    constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
    return {reinterpret_cast<DeviceAddress>(at) + static_cast<DeviceAddress>(matrix * stride * kBytes), columns,
            ld * kBytes, rows * kBytes};
  }
};

/// op(A), row-major.
template <class T>
Tensor as_read(const CUctx_st& context, const Stored& stored, int64_t matrix) {
  std::vector<T> columns(static_cast<size_t>(stored.rows * stored.columns));
  stored.of<T>(matrix).read(context, columns.data());
  const bool is_plain = stored.op == CUBLAS_OP_N;
  Tensor out =
      Tensor::empty(dtype_of<T>(), is_plain ? Shape{stored.rows, stored.columns} : Shape{stored.columns, stored.rows});
  for (int64_t j = 0; j < stored.columns; ++j)
    for (int64_t i = 0; i < stored.rows; ++i) {
      T x = columns[static_cast<size_t>(j * stored.rows + i)];
      if constexpr (is_complex_v<T>)
        if (stored.op == CUBLAS_OP_C) x = std::conj(x);
      out.data<T>()[is_plain ? i * stored.columns + j : j * stored.rows + i] = x;
    }
  return out;
}

/// C = alpha op(A) op(B) + beta C, for each of a batch.
template <class T>
struct Product {
  int64_t m, n, k, count;
  T alpha, beta;
  Stored a, b, c;

  bool reads_factors() const { return k > 0 && alpha != T(0); }
  // Only what is read and written must be there.
  bool lies_in(const CUctx_st& context) const {
    bool out = true;
    for (int64_t i = 0; i < count; ++i) {
      out = out && c.of<T>(i).lies_in(context);
      if (reads_factors()) out = out && a.of<T>(i).lies_in(context) && b.of<T>(i).lies_in(context);
    }
    return out;
  }
  /// Matrix i. `are_written`: was everything else written that its results depend on?
  void run(const CUctx_st& context, int64_t i, bool tf32, bool are_written) const {
    Tensor product = Tensor::zeros(dtype_of<T>(), {m, n});
    bool is_written = are_written;
    if (reads_factors()) {
      is_written = is_written && a.of<T>(i).is_written(context) && b.of<T>(i).is_written(context);
      Tensor left = as_read<T>(context, a, i), right = as_read<T>(context, b, i);
      if (tf32) {
        round_to_tf32(left);
        round_to_tf32(right);
      }
      reference_products(left, right, 1, m, k, n, product);
    }
    const DeviceRows columns = c.of<T>(i);
    std::vector<T> results(static_cast<size_t>(m * n));
    if (beta != T(0)) {
      is_written = is_written && columns.is_written(context);
      columns.read(context, results.data());
    }
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        T& to = results[static_cast<size_t>(column * m + row)];
        const T share = beta == T(0) ? T(0) : beta * to;
        to = reads_factors() ? alpha * product.data<T>()[row * n + column] + share : share;
      }
    columns.write(context, results.data());
    if (is_written) columns.note_written(context);
  }
};

}  // namespace thtrain::cuda::emulated
