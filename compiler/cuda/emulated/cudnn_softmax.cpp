// Softmax of the emulated cuDNN, by the references of the ops.
#include "compiler/cuda/emulated/cudnn_objects.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/softmax.h"

namespace thtrain::cuda::emulated {
namespace {

// Along the second axis; y may be x.
Status softmax_forward(cudnnContext* handle, int algorithm, int mode, const void* alpha, cudnnTensorStruct* of_x,
                       const void* x, const void* beta, cudnnTensorStruct* of_y, void* y) {
  return with_cudnn(handle, [&](Machine& m, CUctx_st& context, cudnnContext& h) {
    if (!is_set(of_x) || !is_set(of_y)) return refuse(CUDNN_STATUS_BAD_PARAM, "a descriptor was not set");
    if ((algorithm != CUDNN_SOFTMAX_ACCURATE && algorithm != CUDNN_SOFTMAX_LOG) || mode != CUDNN_SOFTMAX_MODE_CHANNEL)
      return refuse(CUDNN_STATUS_BAD_PARAM, "an algorithm or a mode that thtrain does not ask for");
    if (of_x->lengths != of_y->lengths || of_x->dtype != of_y->dtype)
      return refuse(CUDNN_STATUS_BAD_PARAM, "the results are not as the numbers");
    if (!alpha || !beta || !x || !y) return refuse(CUDNN_STATUS_BAD_PARAM, "an address is null");
    if (!h.stream) return refuse(CUDNN_STATUS_BAD_PARAM, "no stream was set");
    const CudnnArray from{*of_x, x}, to{*of_y, y};
    const auto lie = [from, to](const CUctx_st& in) { return from.rows().lies_in(in) && to.rows().lies_in(in); };
    if (!lie(context))
      return refuse(CUDNN_STATUS_EXECUTION_FAILED, "an array does not lie in one allocation of the device");
    const double by = cudnn_factor(alpha, of_x->dtype), of_old = cudnn_factor(beta, of_x->dtype);
    const std::string what = str("cuDNN softmax ", algorithm, " of ", of_x->dtype, " ", join(of_x->lengths, "x"));
    return ask(m, context, h.stream, what, CUDNN_STATUS_EXECUTION_FAILED, [=, &context] {
      if (!is_there(context, lie(context))) return;
      const Tensor value = from.read(context);
      const Expr in =
          make_input({.dtype = value.dtype(), .dims = Dims(value.shape().begin(), value.shape().end())}, "x");
      const Expr result = algorithm == CUDNN_SOFTMAX_LOG ? log_softmax(in, 1) : softmax(in, 1);
      write_cudnn_results(context, to, evaluate({result}, {{in, value}})[0].contiguous(), by, of_old,
                          from.rows().is_written(context));
    });
  });
}

}  // namespace

void add_softmax(Cudnn& cudnn) {
  cudnn.cudnnSoftmaxForward = softmax_forward;
}

}  // namespace thtrain::cuda::emulated
