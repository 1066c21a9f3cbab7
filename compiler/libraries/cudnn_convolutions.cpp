// The three convolutions by cuDNN.
#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/cuda/cudnn_handle.h"
#include "compiler/cuda/device_program.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/libraries/device_functions.h"

namespace thtrain {
namespace {

int number_of(int64_t length) {
  TH_CHECK(length >= 0 && length <= INT_MAX, "a length of ", length, " for cuDNN");
  return static_cast<int>(length);
}

// One axis is two of which the first has length 1.
cuda::CudnnConvolution described(const Convolution& c, bool is_turned_round, bool tf32) {
  cuda::CudnnConvolution out{.pass = c.pass,
                             .dtype = c.dtype == DType::kFloat64 ? cuda::CUDNN_DATA_DOUBLE : cuda::CUDNN_DATA_FLOAT,
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

template <class T, bool Tf32>
void cudnn_conv(ThContext* context, int place, TH_CONV_CUDNN_PARAMETERS(T)) {
  DeviceCalls::call_library(context, place, [&](DeviceCalls& calls) {
    const Convolution convolution = TH_CONV_OF_PARAMETERS((sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64));
    const long back = is_turned_round ? convolution.taps() - 1 : 0;
    const bool is_forward = convolution.pass == ConvPass::kForward;
    calls.on().libraries.cudnn.convolve(calls.library_stream(), described(convolution, is_turned_round != 0, Tf32),
                                        algorithm, is_forward ? a : a - back, is_forward ? b - back : b, out);
  });
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
  return out;
}

}  // namespace thtrain
