// Batch normalization of the emulated cuDNN with given moments, by the references of the ops.
#include "compiler/cuda/emulated/cudnn_objects.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/normalize.h"

namespace thtrain::cuda::emulated {
namespace {

// Scale, shift, mean and variance have the lengths 1, channels, 1, ...
Status batch_norm(cudnnContext* handle, int mode, const void* alpha, const void* beta, cudnnTensorStruct* of_x,
                  const void* x, cudnnTensorStruct* of_y, void* y, cudnnTensorStruct* of_channels, const void* scale,
                  const void* shift, const void* mean, const void* variance, double epsilon) {
  return with_cudnn(handle, [&](Machine& m, CUctx_st& context, cudnnContext& h) {
    if (!is_set(of_x) || !is_set(of_y) || !is_set(of_channels))
      return refuse(CUDNN_STATUS_BAD_PARAM, "a descriptor was not set");
    if (mode != CUDNN_BATCHNORM_SPATIAL) return refuse(CUDNN_STATUS_BAD_PARAM, "a mode that thtrain does not ask for");
    std::vector<int> channels(of_x->lengths.size(), 1);
    channels[1] = of_x->lengths[1];
    if (of_x->lengths != of_y->lengths || of_x->dtype != of_y->dtype || of_channels->lengths != channels ||
        of_channels->dtype != of_x->dtype)
      return refuse(CUDNN_STATUS_BAD_PARAM, "the results or the parameters are not as the numbers");
    if (!alpha || !beta || !x || !y || !scale || !shift || !mean || !variance)
      return refuse(CUDNN_STATUS_BAD_PARAM, "an address is null");
    if (x == y) return refuse(CUDNN_STATUS_BAD_PARAM, "the documentation does not say that it may be in place");
    if (!(epsilon >= 0)) return refuse(CUDNN_STATUS_BAD_PARAM, "epsilon is less than CUDNN_BN_MIN_EPSILON");
    if (!h.stream) return refuse(CUDNN_STATUS_BAD_PARAM, "no stream was set");
    const std::vector<CudnnArray> from{
        {*of_x, x}, {*of_channels, mean}, {*of_channels, variance}, {*of_channels, scale}, {*of_channels, shift}};
    const CudnnArray to{*of_y, y};
    const auto lie = [from, to](const CUctx_st& in) {
      bool out = to.rows().lies_in(in);
      for (const CudnnArray& array : from) out = out && array.rows().lies_in(in);
      return out;
    };
    if (!lie(context))
      return refuse(CUDNN_STATUS_EXECUTION_FAILED, "an array does not lie in one allocation of the device");
    const double by = cudnn_factor(alpha, of_x->dtype), of_old = cudnn_factor(beta, of_x->dtype);
    const std::string what = str("cuDNN batch normalization of ", of_x->dtype, " ", join(of_x->lengths, "x"));
    return ask(m, context, h.stream, what, CUDNN_STATUS_EXECUTION_FAILED, [=, &context] {
      if (!is_there(context, lie(context))) return;
      std::vector<std::pair<Expr, Tensor>> values;
      bool is_written = true;
      for (const CudnnArray& array : from) {
        const Tensor value = array.read(context);
        values.emplace_back(
            make_input({.dtype = value.dtype(), .dims = Dims(value.shape().begin(), value.shape().end())}, "x"), value);
        is_written = is_written && array.rows().is_written(context);
      }
      std::vector<int64_t> axes;
      for (int64_t axis = 0; axis < static_cast<int64_t>(channels.size()); ++axis)
        if (axis != 1) axes.push_back(axis);
      const Moments moments{
          .mean = values[1].first, .squares = {}, .inverse_deviation = 1 / sqrt(values[2].first + epsilon)};
      const Expr result = normalized(values[0].first, moments, axes, values[3].first, values[4].first);
      write_cudnn_results(context, to, evaluate({result}, values)[0].contiguous(), by, of_old, is_written);
    });
  });
}

}  // namespace

void add_batch_norm(Cudnn& cudnn) {
  cudnn.cudnnBatchNormalizationForwardInference = batch_norm;
}

}  // namespace thtrain::cuda::emulated
