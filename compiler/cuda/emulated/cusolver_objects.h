// What the sources of the emulated cuSOLVER share. Seen by them alone.
#pragma once

#include <functional>
#include <vector>

#include "compiler/cuda/emulated/math_work.h"
#include "compiler/cuda/math_functions.h"

// A handle is a pointer to one of these.
struct cusolverDnContext {
  CUctx_st* context = nullptr;
  CUstream_st* stream = nullptr;
};
struct cusolverDnParams {
  char mark = 0;
};

namespace thtrain::cuda::emulated {

using Handle = cusolverDnContext;
using Parameters = cusolverDnParams;

Parameters& the_solver_parameters();

inline constexpr size_t kSolverBuffer = 512;  // that every factorization asks for

inline int real_type_of(int type) {
  return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

/// Columns of a matrix. holds_parts: of real numbers, where the call is about complex ones.
struct Columns {
  int dtype;
  void* at;
  int64_t rows, columns, ld;
  bool holds_parts = false;

  bool is_real() const { return dtype == CUDA_R_32F || dtype == CUDA_R_64F; }
  bool is_complex() const { return dtype == CUDA_C_32F || dtype == CUDA_C_64F; }
  DType element() const {
    if (is_complex()) return dtype == CUDA_C_32F ? DType::kComplex64 : DType::kComplex128;
    return dtype == CUDA_R_32F ? DType::kFloat32 : DType::kFloat64;
  }
  DeviceRows rows_of_device() const {
    const auto bytes = static_cast<int64_t>(size_of(element()));
    return {reinterpret_cast<DeviceAddress>(at), columns, ld * bytes, rows * bytes};
  }
  /// One column is a row of it.
  Tensor read(const CUctx_st& context) const {
    Tensor out = Tensor::empty(element(), {columns, rows});
    rows_of_device().read(context, out.raw());
    return out;
  }
  void write(const CUctx_st& context, const Tensor& from, bool is_written) const {
    rows_of_device().write(context, from.contiguous().cast(element()).raw());
    if (is_written) rows_of_device().note_written(context);
  }
};

struct Buffers {
  void* on_device;
  size_t device_bytes;
  int* info;
};

Status solver_buffer_sizes(Handle* handle, size_t* on_device, size_t* on_host);
/// Asks for work(context), which gives info, after the arguments were looked at.
Status factorize(Handle* handle, const Parameters* parameters, const std::vector<Columns>& matrices, int computed_in,
                 const Buffers& buffers, const std::function<int(CUctx_st&)>& work);

/// The functions of QR factorizations.
void add_reflections(Cusolver& functions);

}  // namespace thtrain::cuda::emulated
