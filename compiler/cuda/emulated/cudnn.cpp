// The emulated cuDNN: handles and descriptors. Arrays are row-major, without gaps.
#include <algorithm>

#include "compiler/cuda/emulated/cudnn_objects.h"
#include "compiler/cuda/emulated/math_libraries.h"

namespace thtrain::cuda::emulated {
namespace {

Status version_of_cudnn(int part, int* value) {
  *value = part == MAJOR_VERSION ? 9 : 0;
  return CUDNN_STATUS_SUCCESS;
}

Status create_cudnn(cudnnContext** out) {
  return in_library(CUDNN_STATUS_NOT_INITIALIZED, CUDNN_STATUS_EXECUTION_FAILED, [&](Machine& m, CUctx_st& context) {
    if (refused_in_capture(m, "a new handle") != CUDA_SUCCESS) return Status{CUDNN_STATUS_NOT_INITIALIZED};
    auto handle = std::make_unique<cudnnContext>(cudnnContext{&context});
    *out = handle.get();
    cudnn_objects<cudnnContext>()[*out] = std::move(handle);
    return Status{CUDNN_STATUS_SUCCESS};
  });
}

Status destroy_cudnn(cudnnContext* handle) {
  return with_cudnn(handle, [&](Machine& m, CUctx_st& context, cudnnContext&) {
    drain(m, context);
    cudnn_objects<cudnnContext>().erase(handle);
    return CUDNN_STATUS_SUCCESS;
  });
}

Status set_stream_of_cudnn(cudnnContext* handle, CUstream_st* stream) {
  return with_cudnn(handle, [&](Machine& m, CUctx_st& context, cudnnContext& h) {
    if (!found(m.streams, stream, context)) return no_handle("stream");
    h.stream = stream;
    return CUDNN_STATUS_SUCCESS;
  });
}

// ---- descriptors, which need no device

template <class T>
Status create_descriptor(T** out) {
  std::lock_guard lock(mutex());
  auto made = std::make_unique<T>();
  *out = made.get();
  cudnn_objects<T>()[*out] = std::move(made);
  return CUDNN_STATUS_SUCCESS;
}

template <class T>
Status destroy_descriptor(T* descriptor) {
  std::lock_guard lock(mutex());
  return cudnn_objects<T>().erase(descriptor) == 1 ? CUDNN_STATUS_SUCCESS
                                                   : refuse(CUDNN_STATUS_BAD_PARAM, "no such descriptor");
}

// set(descriptor) of one that lives; it says what is wrong.
template <class T, class F>
Status set_descriptor(T* descriptor, F set) {
  std::lock_guard lock(mutex());
  if (cudnn_objects<T>().count(descriptor) == 0) return refuse(CUDNN_STATUS_BAD_PARAM, "no such descriptor");
  const std::string trouble = set(*descriptor);
  return trouble.empty() ? CUDNN_STATUS_SUCCESS : refuse(CUDNN_STATUS_BAD_PARAM, trouble);
}

bool is_dtype(int dtype) {
  return dtype == CUDNN_DATA_FLOAT || dtype == CUDNN_DATA_DOUBLE;
}

bool are_positive(int count, const int* numbers) {
  return std::all_of(numbers, numbers + count, [](int n) { return n >= 1; });
}

Status set_tensor(cudnnTensorStruct* tensor, int dtype, int rank, const int* lengths, const int* strides) {
  return set_descriptor(tensor, [&](cudnnTensorStruct& t) -> std::string {
    if (!is_dtype(dtype)) return "a dtype that thtrain does not ask for";
    if (rank < 4 || rank > 8) return str("a tensor of ", rank, " axes: of 4 to 8 are there");
    if (!are_positive(rank, lengths)) return "a length is not positive";
    int64_t elements = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (strides[axis] != elements) return "strides that thtrain does not set";
      elements *= lengths[axis];
    }
    t = {dtype, {lengths, lengths + rank}};
    return "";
  });
}

Status set_filter(cudnnFilterStruct* filter, int dtype, int format, int rank, const int* lengths) {
  return set_descriptor(filter, [&](cudnnFilterStruct& f) -> std::string {
    if (!is_dtype(dtype) || format != CUDNN_TENSOR_NCHW) return "a dtype or a format that thtrain does not ask for";
    if (rank < 4 || rank > 8) return str("filters of ", rank, " axes: of 4 to 8 are there");
    if (!are_positive(rank, lengths)) return "a length is not positive";
    f = {dtype, {lengths, lengths + rank}};
    return "";
  });
}

Status set_convolution(cudnnConvolutionStruct* convolution, int axes, const int* padding, const int* strides,
                       const int* dilations, int mode, int computed_in) {
  return set_descriptor(convolution, [&](cudnnConvolutionStruct& c) -> std::string {
    if (axes < 1 || axes > 6) return str(axes, " axes");
    if (std::any_of(padding, padding + axes, [](int n) { return n < 0; })) return "a padding is negative";
    if (!are_positive(axes, strides) || !are_positive(axes, dilations)) return "a stride or a dilation is not positive";
    if (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION) return "no such mode";
    if (!is_dtype(computed_in)) return "a dtype that thtrain does not ask for";
    c.mode = mode;
    c.computed_in = computed_in;
    c.padding.assign(padding, padding + axes);
    c.strides.assign(strides, strides + axes);
    c.dilations.assign(dilations, dilations + axes);
    return "";
  });
}

Status set_pooling(cudnnPoolingStruct* pooling, int mode, int of_nan, int axes, const int* windows, const int* padding,
                   const int* strides) {
  return set_descriptor(pooling, [&](cudnnPoolingStruct& p) -> std::string {
    if (mode < CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING || mode > CUDNN_POOLING_MAX_DETERMINISTIC ||
        of_nan != CUDNN_PROPAGATE_NAN)
      return "a mode that thtrain does not set";
    if (axes < 1 || axes > 3) return str(axes, " axes");
    if (!are_positive(axes, windows) || !are_positive(axes, strides)) return "a window or a stride is not positive";
    for (int i = 0; i < axes; ++i)
      if (padding[i] < 0 || padding[i] >= windows[i]) return "a padding that thtrain does not set";
    p = {mode, {windows, windows + axes}, {padding, padding + axes}, {strides, strides + axes}};
    return "";
  });
}

Status set_groups(cudnnConvolutionStruct* convolution, int groups) {
  return set_descriptor(convolution, [&](cudnnConvolutionStruct& c) -> std::string {
    if (groups < 1) return "no group";
    c.groups = groups;
    return "";
  });
}

Status set_math_of_convolution(cudnnConvolutionStruct* convolution, int math) {
  return set_descriptor(convolution, [&](cudnnConvolutionStruct& c) -> std::string {
    if (math != CUDNN_DEFAULT_MATH && math != CUDNN_FMA_MATH) return "a mode that thtrain does not set";
    c.math = math;
    return "";
  });
}

template <class T>
void mix(const Tensor& results, double alpha, double beta, Tensor& to) {
  for (int64_t i = 0; i < to.size(); ++i) {
    const T share = beta == 0 ? T(0) : static_cast<T>(beta) * to.data<T>()[i];
    to.data<T>()[i] = static_cast<T>(alpha) * results.data<T>()[i] + share;
  }
}

}  // namespace

void write_cudnn_results(const CUctx_st& context, const CudnnArray& array, const Tensor& results, double alpha,
                         double beta, bool is_written) {
  const DeviceRows rows = array.rows();
  Tensor to = Tensor::empty(results.dtype(), results.shape());
  if (beta != 0) {
    is_written = is_written && rows.is_written(context);
    rows.read(context, to.raw());
  }
  if (results.dtype() == DType::kFloat64)
    mix<double>(results, alpha, beta, to);
  else
    mix<float>(results, alpha, beta, to);
  rows.write(context, to.raw());
  if (is_written) rows.note_written(context);
}

const Opened<Cudnn>& cudnn() {
  static const Opened<Cudnn> once = [] {
    Opened<Cudnn> out{};
    out.version = "emulated";
    out.functions = {.cudnnGetProperty = version_of_cudnn,
                     .cudnnCreate = create_cudnn,
                     .cudnnDestroy = destroy_cudnn,
                     .cudnnSetStream = set_stream_of_cudnn,
                     .cudnnCreateTensorDescriptor = create_descriptor<cudnnTensorStruct>,
                     .cudnnSetTensorNdDescriptor = set_tensor,
                     .cudnnDestroyTensorDescriptor = destroy_descriptor<cudnnTensorStruct>,
                     .cudnnCreateFilterDescriptor = create_descriptor<cudnnFilterStruct>,
                     .cudnnSetFilterNdDescriptor = set_filter,
                     .cudnnDestroyFilterDescriptor = destroy_descriptor<cudnnFilterStruct>,
                     .cudnnCreateConvolutionDescriptor = create_descriptor<cudnnConvolutionStruct>,
                     .cudnnSetConvolutionNdDescriptor = set_convolution,
                     .cudnnSetConvolutionGroupCount = set_groups,
                     .cudnnSetConvolutionMathType = set_math_of_convolution,
                     .cudnnDestroyConvolutionDescriptor = destroy_descriptor<cudnnConvolutionStruct>,
                     .cudnnCreatePoolingDescriptor = create_descriptor<cudnnPoolingStruct>,
                     .cudnnSetPoolingNdDescriptor = set_pooling};
    add_convolutions(out.functions);
    add_poolings(out.functions);
    add_softmax(out.functions);
    add_batch_norm(out.functions);
    return out;
  }();
  return once;
}

}  // namespace thtrain::cuda::emulated
