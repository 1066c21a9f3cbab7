// What programs call of cuDNN: the three convolutions, pooling, softmax and batch normalization.
#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/cpu/pool/cudnn_pooling.h"
#include "compiler/cuda/cudnn_handle.h"
#include "compiler/cuda/device_program.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/libraries/device_functions.h"
#include "compiler/ops/nnet/normalize_candidates.h"
#include "compiler/ops/nnet/softmax_candidates.h"

namespace thtrain {
namespace {

int number_of(int64_t length) {
  TH_CHECK(length >= 0 && length <= INT_MAX, "a length of ", length, " for cuDNN");
  return static_cast<int>(length);
}

int number_of(DType dtype) {
  return dtype == DType::kFloat64 ? cuda::CUDNN_DATA_DOUBLE : cuda::CUDNN_DATA_FLOAT;
}

template <class T>
constexpr DType kDTypeOf = sizeof(T) == sizeof(double) ? DType::kFloat64 : DType::kFloat32;

// One axis is two of which the first has length 1.
cuda::CudnnConvolution described(const Convolution& c, bool is_turned_round, bool tf32) {
  cuda::CudnnConvolution out{.pass = static_cast<int>(c.pass),
                             .dtype = number_of(c.dtype),
                             .math = tf32 ? cuda::CUDNN_DEFAULT_MATH : cuda::CUDNN_FMA_MATH,
                             .mode = is_turned_round ? cuda::CUDNN_CONVOLUTION : cuda::CUDNN_CROSS_CORRELATION,
                             .axes = c.axes[0] == ConvAxis{.after = c.axes[0].after} ? 2 : 3,
                             .groups = number_of(c.groups),
                             .x = {number_of(c.n), number_of(c.c)},
                             .w = {number_of(c.f), number_of(c.channels())},
                             .y = {number_of(c.n), number_of(c.f)}};
  const size_t count = static_cast<size_t>(out.axes), first = 3 - count;
  for (size_t i = 0; i < count; ++i) {
    const ConvAxis& axis = c.axes[first + i];
    out.x[2 + i] = number_of(axis.in);
    out.w[2 + i] = number_of(axis.kernel);
    out.y[2 + i] = number_of(axis.out);
    out.padding[i] = number_of(axis.before);
    out.stride[i] = number_of(axis.stride);
    out.dilation[i] = number_of(axis.dilation);
  }
  return out;
}

template <class T>
void call_convolution(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, cuda::CudnnConvolution c,
                      int algorithm, const T* a, const T* b, T* out) {
  libraries.cudnn.convolve(at, c, algorithm, a, b, out);
}

template <class T, bool Tf32>
void cudnn_conv(ThContext* context, const int* uses, int use_count, TH_CONV_CUDNN_PARAMETERS(T)) {
  const Convolution convolution = TH_CONV_OF_PARAMETERS(kDTypeOf<T>);
  const long back = is_turned_round ? convolution.taps() - 1 : 0;
  const bool is_forward = convolution.pass == ConvPass::kForward;
  DeviceCalls::ask_library<call_convolution<T>>(context, {uses, static_cast<size_t>(use_count)},
                                                described(convolution, is_turned_round != 0, Tf32), algorithm,
                                                is_forward ? a : a - back, is_forward ? b - back : b, out);
}

struct PooledAxis {
  long in, window, out, stride, padding;
};

cuda::CudnnPooling described(DType dtype, int divisor, long n, long c, const std::array<PooledAxis, 3>& axes) {
  const auto by = static_cast<PoolDivisor>(divisor);
  const bool is_volume = axes[0].in > 1 || axes[0].window > 1;
  cuda::CudnnPooling out{.dtype = number_of(dtype),
                         .mode = by == PoolDivisor::kInside   ? cuda::CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
                                 : by == PoolDivisor::kPadded ? cuda::CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                                                              : cuda::CUDNN_POOLING_MAX_DETERMINISTIC,
                         .axes = is_volume ? 3 : 2,
                         .x = {number_of(n), number_of(c)},
                         .y = {number_of(n), number_of(c)}};
  for (size_t i = 0, k = is_volume ? 0 : 1; k < axes.size(); ++i, ++k) {
    out.x[2 + i] = number_of(axes[k].in);
    out.y[2 + i] = number_of(axes[k].out);
    out.window[i] = number_of(axes[k].window);
    out.stride[i] = number_of(axes[k].stride);
    out.padding[i] = number_of(axes[k].padding);
  }
  return out;
}

#define TH_POOLED_AXIS(axis)                                            \
  PooledAxis {                                                          \
    axis##_in, axis##_window, axis##_out, axis##_stride, axis##_padding \
  }
#define TH_POOLING_OF_PARAMETERS(T) \
  described(kDTypeOf<T>, divisor, n, c, {TH_POOLED_AXIS(depth), TH_POOLED_AXIS(height), TH_POOLED_AXIS(width)})

template <class T>
void call_pooling(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, cuda::CudnnPooling p, const T* x,
                  T* y) {
  libraries.cudnn.pool(at, p, x, y);
}

template <class T>
void cudnn_pool(ThContext* context, const int* uses, int use_count, TH_CUDNN_POOL_PARAMETERS(T)) {
  DeviceCalls::ask_library<call_pooling<T>>(context, {uses, static_cast<size_t>(use_count)},
                                            TH_POOLING_OF_PARAMETERS(T), x, y);
}

template <class T>
void call_pooling_gradient(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, cuda::CudnnPooling p,
                           const T* x, const T* dy, T* dx) {
  libraries.cudnn.pool_gradient(at, p, x, dy, dx);
}

template <class T>
void cudnn_pool_gradient(ThContext* context, const int* uses, int use_count, TH_CUDNN_POOL_GRADIENT_PARAMETERS(T)) {
  DeviceCalls::ask_library<call_pooling_gradient<T>>(context, {uses, static_cast<size_t>(use_count)},
                                                     TH_POOLING_OF_PARAMETERS(T), x, dy, dx);
}

template <class T>
void call_softmax(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, cuda::CudnnSoftmax of, const T* x,
                  T* y) {
  libraries.cudnn.softmax(at, of, x, y);
}

template <class T>
void cudnn_softmax(ThContext* context, const int* uses, int use_count, TH_CUDNN_SOFTMAX_PARAMETERS(T)) {
  const cuda::CudnnSoftmax of{.dtype = number_of(kDTypeOf<T>),
                              .algorithm = is_logarithm ? cuda::CUDNN_SOFTMAX_LOG : cuda::CUDNN_SOFTMAX_ACCURATE,
                              .lengths = {number_of(outer), number_of(n), number_of(inner)}};
  DeviceCalls::ask_library<call_softmax<T>>(context, {uses, static_cast<size_t>(use_count)}, of, x, y);
}

template <class T>
void call_batch_norm(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, cuda::CudnnBatchNorm of,
                     const T* x, const T* parameters, T* y) {
  const long channels = of.lengths[1];
  libraries.cudnn.batch_norm(at, of, x, parameters, parameters + channels, parameters + 2 * channels,
                             parameters + 3 * channels, y);
}

template <class T>
void cudnn_batch_norm(ThContext* context, const int* uses, int use_count, TH_CUDNN_BATCH_NORM_PARAMETERS(T)) {
  const cuda::CudnnBatchNorm of{.dtype = number_of(kDTypeOf<T>),
                                .lengths = {number_of(outer), number_of(channels), number_of(inner)}};
  DeviceCalls::ask_library<call_batch_norm<T>>(context, {uses, static_cast<size_t>(use_count)}, of, x, parameters, y);
}

}  // namespace

NamedFunctions cudnn_functions() {
  NamedFunctions out;
  auto add = [&](const char* name, auto* function) {
    detail::add_device_function(out, str("cudnn_", name), "cuDNN", reinterpret_cast<void*>(function),
                                [](bool is_emulated) -> const cuda::Opened<cuda::Cudnn>& {
                                  return is_emulated ? cuda::emulated::cudnn() : cuda::math_libraries().cudnn();
                                });
  };
  add("conv_f32", cudnn_conv<float, false>);
  add("conv_f64", cudnn_conv<double, false>);
  add("conv_tf32", cudnn_conv<float, true>);
  add("pool_f32", cudnn_pool<float>);
  add("pool_f64", cudnn_pool<double>);
  add("pool_gradient_f32", cudnn_pool_gradient<float>);
  add("pool_gradient_f64", cudnn_pool_gradient<double>);
  add("softmax_f32", cudnn_softmax<float>);
  add("softmax_f64", cudnn_softmax<double>);
  add("batch_norm_f32", cudnn_batch_norm<float>);
  add("batch_norm_f64", cudnn_batch_norm<double>);
  return out;
}

}  // namespace thtrain
