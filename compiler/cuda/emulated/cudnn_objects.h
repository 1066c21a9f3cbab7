// The objects of the emulated cuDNN. Seen by the sources of this folder alone.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "compiler/base/str.h"
#include "compiler/cuda/cudnn_functions.h"
#include "compiler/cuda/emulated/math_work.h"

// A handle is a pointer to one of these. What was not set has no lengths.
struct cudnnContext {
  CUctx_st* context = nullptr;
  CUstream_st* stream = nullptr;
};
struct cudnnTensorStruct {
  int dtype = 0;
  std::vector<int> lengths = {};
};
struct cudnnFilterStruct {
  int dtype = 0;
  std::vector<int> lengths = {};
};
struct cudnnConvolutionStruct {
  int mode = 0, computed_in = 0, groups = 1, math = 0;
  std::vector<int> padding = {}, strides = {}, dilations = {};
};
struct cudnnPoolingStruct {
  int mode = 0;
  std::vector<int> windows = {}, padding = {}, strides = {};
};

namespace thtrain::cuda::emulated {

/// Those that live, by their handles.
template <class T>
std::map<const void*, std::unique_ptr<T>>& cudnn_objects() {
  static std::map<const void*, std::unique_ptr<T>> all;
  return all;
}
/// Is it one, and was it set?
template <class T>
bool is_set(const T* object) {
  if (cudnn_objects<T>().count(object) == 0) return false;
  if constexpr (std::is_same_v<T, cudnnConvolutionStruct> || std::is_same_v<T, cudnnPoolingStruct>)
    return !object->padding.empty();
  else
    return !object->lengths.empty();
}

/// f(machine, context, handle).
template <class F>
Status with_cudnn(cudnnContext* handle, F f) {
  return in_library(CUDNN_STATUS_NOT_INITIALIZED, CUDNN_STATUS_EXECUTION_FAILED, [&](Machine& m, CUctx_st& context) {
    if (!handle) return refuse(CUDNN_STATUS_BAD_PARAM, "the handle is null");
    cudnnContext* const known = found(cudnn_objects<cudnnContext>(), handle, context);
    return known ? f(m, context, *known)
                 : refuse(CUDNN_STATUS_NOT_INITIALIZED, "no handle of cuDNN of the current context");
  });
}

inline DType dtype_of_cudnn(int dtype) {
  return dtype == CUDNN_DATA_DOUBLE ? DType::kFloat64 : DType::kFloat32;
}

/// A row-major array on the device, as a descriptor and an address say it.
struct CudnnArray {
  int dtype = 0;
  std::vector<int> lengths = {};
  DeviceAddress at = 0;

  template <class Descriptor>
  CudnnArray(const Descriptor& of, const void* address)
      : dtype(of.dtype), lengths(of.lengths), at(reinterpret_cast<DeviceAddress>(address)) {}
  Shape shape() const { return {lengths.begin(), lengths.end()}; }
  DeviceRows rows() const {
    int64_t bytes = static_cast<int64_t>(size_of(dtype_of_cudnn(dtype)));
    for (const int length : lengths) bytes *= length;
    return {at, 1, bytes, bytes};
  }
  Tensor read(const CUctx_st& context) const {
    Tensor out = Tensor::empty(dtype_of_cudnn(dtype), shape());
    rows().read(context, out.raw());
    return out;
  }
};

/// A factor on the host: a float, or a double for arrays of doubles.
inline double cudnn_factor(const void* at, int dtype) {
  return dtype == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(at) : double{*static_cast<const float*>(at)};
}

/// array = alpha results + beta array, and whether that is of numbers that somebody has written.
void write_cudnn_results(const CUctx_st& context, const CudnnArray& array, const Tensor& results, double alpha,
                         double beta, bool is_written);

/// Put these functions into the table.
void add_convolutions(Cudnn& cudnn);
void add_poolings(Cudnn& cudnn);
void add_softmax(Cudnn& cudnn);
void add_batch_norm(Cudnn& cudnn);

}  // namespace thtrain::cuda::emulated
