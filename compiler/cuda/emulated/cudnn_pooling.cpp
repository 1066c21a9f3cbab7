// Pooling of the emulated cuDNN, by the references of the ops.
#include <algorithm>
#include <cmath>

#include "compiler/cuda/emulated/cudnn_objects.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/pool/pool.h"
#include "compiler/ops/pool/windows.h"

namespace thtrain::cuda::emulated {
namespace {

// What is wrong with these descriptors; "" where they fit.
std::string trouble_of(const cudnnPoolingStruct* p, const cudnnTensorStruct* x, const cudnnTensorStruct* y) {
  if (!is_set(p) || !is_set(x) || !is_set(y)) return "a descriptor was not set";
  const size_t axes = p->windows.size();
  if (axes < 2 || x->lengths.size() != axes + 2 || y->lengths.size() != axes + 2)
    return "descriptors of different axes";
  if (x->dtype != y->dtype) return "dtypes differ";
  if (x->lengths[0] != y->lengths[0] || x->lengths[1] != y->lengths[1])
    return "images and results do not belong together";
  for (size_t i = 0; i < axes; ++i) {
    const int rest = x->lengths[2 + i] + 2 * p->padding[i] - p->windows[i];
    if (rest < 0 || rest / p->strides[i] + 1 != y->lengths[2 + i])
      return str("results of length ", y->lengths[2 + i], " along axis ", i);
  }
  return "";
}

// The op of that mode, or its gradient, of images of these lengths.
struct PoolOp {
  const Op* op;
  Props props = {};

  PoolOp(const cudnnPoolingStruct& p, const cudnnTensorStruct& x, bool is_gradient) {
    const bool is_maximum = p.mode == CUDNN_POOLING_MAX_DETERMINISTIC;
    op = is_maximum ? (is_gradient ? &max_pool_gradient_op() : &max_pool_op())
                    : (is_gradient ? &sum_pool_gradient_op() : &sum_pool_op());
    const auto numbers = [](const std::vector<int>& of) { return Ints(of.begin(), of.end()); };
    PoolWindows{numbers(p.windows), numbers(p.strides), numbers(p.padding), numbers(p.padding)}.add_to(props);
    if (is_maximum) return;
    const bool counts_padding = p.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    props.set("divisor", std::string(name_of(counts_padding ? PoolDivisor::kPadded : PoolDivisor::kInside)));
    if (is_gradient) props.set("lengths", Dims(x.lengths.begin() + 2, x.lengths.end()));
  }
  Tensor of(const std::vector<Tensor>& values) const {
    std::vector<Expr> inputs;
    std::vector<std::pair<Expr, Tensor>> given;
    for (const Tensor& value : values) {
      inputs.push_back(
          make_input({.dtype = value.dtype(), .dims = Dims(value.shape().begin(), value.shape().end())}, "x"));
      given.emplace_back(inputs.back(), value);
    }
    return evaluate({apply(*op, inputs, props)}, given)[0].contiguous();
  }
};

bool lie_in(const CUctx_st& context, std::initializer_list<const CudnnArray*> arrays) {
  return std::ranges::all_of(arrays, [&](const CudnnArray* array) { return array->rows().lies_in(context); });
}

// What the library asks for may be done where this says nothing.
std::string trouble_of_call(const cudnnContext& h, std::initializer_list<const void*> addresses) {
  if (std::ranges::count(addresses, nullptr) > 0) return "an address is null";
  return h.stream ? "" : "no stream was set";
}

Status outside_of_memory() {
  return refuse(CUDNN_STATUS_EXECUTION_FAILED, "an array does not lie in one allocation of the device");
}

std::string text_of_pooling(const char* what, const cudnnPoolingStruct& p, const cudnnTensorStruct& x) {
  return str("cuDNN ", what, p.mode, " of ", x.dtype, " ", join(x.lengths, "x"), " w", join(p.windows, "x"), " s",
             join(p.strides, "x"), " p", join(p.padding, "x"));
}

Status pool_forward(cudnnContext* handle, cudnnPoolingStruct* pooling, const void* alpha, cudnnTensorStruct* of_x,
                    const void* x, const void* beta, cudnnTensorStruct* of_y, void* y) {
  return with_cudnn(handle, [&](Machine& m, CUctx_st& context, cudnnContext& h) {
    for (const std::string& trouble : {trouble_of(pooling, of_x, of_y), trouble_of_call(h, {alpha, beta, x, y})})
      if (!trouble.empty()) return refuse(CUDNN_STATUS_BAD_PARAM, trouble);
    const CudnnArray from{*of_x, x}, to{*of_y, y};
    if (!lie_in(context, {&from, &to})) return outside_of_memory();
    const PoolOp op(*pooling, *of_x, false);
    const double by = cudnn_factor(alpha, of_x->dtype), of_old = cudnn_factor(beta, of_x->dtype);
    return ask(m, context, h.stream, text_of_pooling("pooling ", *pooling, *of_x), CUDNN_STATUS_EXECUTION_FAILED,
               [=, &context] {
                 if (!is_there(context, lie_in(context, {&from, &to}))) return;
                 write_cudnn_results(context, to, op.of({from.read(context)}), by, of_old,
                                     from.rows().is_written(context));
               });
  });
}

// Of maxima the library compares x with y: what it does with a y that is not of x nobody says, and here it is NaN.
Status pool_backward(cudnnContext* handle, cudnnPoolingStruct* pooling, const void* alpha, cudnnTensorStruct* of_y,
                     const void* y, cudnnTensorStruct* of_dy, const void* dy, cudnnTensorStruct* of_x, const void* x,
                     const void* beta, cudnnTensorStruct* of_dx, void* dx) {
  return with_cudnn(handle, [&](Machine& m, CUctx_st& context, cudnnContext& h) {
    for (const std::string& trouble : {trouble_of(pooling, of_x, of_y), trouble_of(pooling, of_dx, of_dy),
                                       trouble_of_call(h, {alpha, beta, y, dy, x, dx})})
      if (!trouble.empty()) return refuse(CUDNN_STATUS_BAD_PARAM, trouble);
    if (of_x->lengths != of_dx->lengths || of_x->dtype != of_dx->dtype)
      return refuse(CUDNN_STATUS_BAD_PARAM, "the image and its derivative differ");
    const CudnnArray pooled{*of_y, y}, given{*of_dy, dy}, image{*of_x, x}, to{*of_dx, dx};
    if (!lie_in(context, {&pooled, &given, &image, &to})) return outside_of_memory();
    const bool is_maximum = pooling->mode == CUDNN_POOLING_MAX_DETERMINISTIC;
    const PoolOp op(*pooling, *of_x, true), forward(*pooling, *of_x, false);
    const double by = cudnn_factor(alpha, of_x->dtype), of_old = cudnn_factor(beta, of_x->dtype);
    return ask(m, context, h.stream, text_of_pooling("gradient ", *pooling, *of_x), CUDNN_STATUS_EXECUTION_FAILED,
               [=, &context] {
                 if (!is_there(context, lie_in(context, {&pooled, &given, &image, &to}))) return;
                 bool is_written = given.rows().is_written(context);
                 std::vector<Tensor> values{given.read(context)};
                 bool is_of_x = true;
                 if (is_maximum) {
                   is_written = is_written && image.rows().is_written(context) && pooled.rows().is_written(context);
                   values.insert(values.begin(), image.read(context));
                   is_of_x = same_bits(forward.of({values[0]}), pooled.read(context));
                 }
                 const Tensor results = op.of(values);
                 write_cudnn_results(context, to, results, is_of_x ? by : NAN, of_old, is_written);
               });
  });
}

}  // namespace

void add_poolings(Cudnn& cudnn) {
  cudnn.cudnnPoolingForward = pool_forward;
  cudnn.cudnnPoolingBackward = pool_backward;
}

}  // namespace thtrain::cuda::emulated
