// The convolutions of the emulated cuDNN, by the reference of the ops; what its algorithms compute after NVIDIA's
// documentation of cuDNN 9, and workspaces that no two of them have alike, which each leaves full of NaN.
#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/cpu/conv/cudnn_algorithms.h"
#include "compiler/cuda/emulated/cudnn_objects.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/evaluate.h"

namespace thtrain::cuda::emulated {
namespace {

using Tensors = cudnnTensorStruct;
using Filters = cudnnFilterStruct;
using Described = cudnnConvolutionStruct;

// The convolution that these descriptors say; `trouble` where they do not fit.
struct Fitted {
  Convolution convolution = {};
  std::string trouble = {};
};

Fitted fitted(ConvPass pass, const Tensors* x, const Filters* w, const Tensors* y, const Described* c) {
  if (!is_set(x) || !is_set(w) || !is_set(y) || !is_set(c)) return {{}, "a descriptor was not set"};
  const size_t axes = c->padding.size();
  if (x->lengths.size() != axes + 2 || w->lengths.size() != axes + 2 || y->lengths.size() != axes + 2)
    return {{}, "descriptors of different axes"};
  if (axes < 2 || axes > 3) return {{}, str(axes, " axes")};
  if (x->dtype != w->dtype || x->dtype != y->dtype || x->dtype != c->computed_in) return {{}, "dtypes differ"};
  Convolution out{.pass = pass,
                  .dtype = dtype_of_cudnn(x->dtype),
                  .n = x->lengths[0],
                  .c = x->lengths[1],
                  .f = w->lengths[0],
                  .groups = c->groups,
                  .rank = axes};
  if (out.c % out.groups != 0 || out.f % out.groups != 0 || w->lengths[1] != out.channels() || y->lengths[0] != out.n ||
      y->lengths[1] != out.f)
    return {{}, "images, filters and results do not belong together"};
  for (size_t i = 0; i < axes; ++i) {
    ConvAxis& axis = out.axes[3 - axes + i];
    axis = {.in = x->lengths[2 + i],
            .kernel = w->lengths[2 + i],
            .out = y->lengths[2 + i],
            .stride = c->strides[i],
            .dilation = c->dilations[i],
            .before = c->padding[i],
            .after = c->padding[i]};
    if (axis.padded() < axis.span() || (axis.padded() - axis.span()) / axis.stride + 1 != axis.out)
      return {{}, str("results of length ", axis.out, " along axis ", i)};
  }
  return {out, ""};
}

// ---- algorithms

// The order in which the heuristics name them: those that thtrain does not pick by itself come first.
std::vector<const CudnnAlgorithm*> in_order_of_heuristics(ConvPass pass) {
  std::vector<const CudnnAlgorithm*> out;
  for (const CudnnAlgorithm& algorithm : cudnn_algorithms())
    if (algorithm.pass == pass) out.push_back(&algorithm);
  const auto is_last = [](const CudnnAlgorithm* a) {
    return a->is_deterministic && a->method == CudnnMethod::kProducts;
  };
  std::stable_partition(out.begin(), out.end(), [&](const CudnnAlgorithm* a) { return !is_last(a); });
  return out;
}

bool has_dilation(const Convolution& c) {
  return std::any_of(c.axes.begin(), c.axes.end(), [](const ConvAxis& axis) { return axis.dilation > 1; });
}

// Computed indices are of taps that are neighbours.
bool computes(const CudnnAlgorithm* algorithm, const Convolution& c) {
  if (!algorithm || !is_documented(*algorithm, c)) return false;
  return algorithm->pass != ConvPass::kForward || algorithm->number != 1 || !has_dilation(c);
}

size_t workspace_of(const CudnnAlgorithm& algorithm, const Convolution& c) {
  if (algorithm.method == CudnnMethod::kProducts && algorithm.number == 0) return 0;
  return static_cast<size_t>(256 * (algorithm.number + 1) + 4 * c.positions());
}

// fit_of(): what the descriptors say, under the lock.
template <class Fit>
Status list_algorithms(cudnnContext* handle, Fit fit_of, int asked, int* count, void* results) {
  return with_cudnn(handle, [&](Machine&, CUctx_st&, cudnnContext&) {
    const Fitted fit = fit_of();
    if (!fit.trouble.empty()) return refuse(CUDNN_STATUS_BAD_PARAM, fit.trouble);
    if (asked < 1 || !count || !results) return refuse(CUDNN_STATUS_BAD_PARAM, "nothing is asked for");
    auto* const out = static_cast<CudnnAlgorithmFound*>(results);
    *count = 0;
    for (const bool is_computed : {true, false})
      for (const CudnnAlgorithm* algorithm : in_order_of_heuristics(fit.convolution.pass)) {
        if (*count == asked || computes(algorithm, fit.convolution) != is_computed) continue;
        out[(*count)++] = {.algorithm = algorithm->number,
                           .status = is_computed ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED,
                           .milliseconds = is_computed ? static_cast<float>(*count) : -1.0F,
                           .workspace_bytes = is_computed ? workspace_of(*algorithm, fit.convolution) : 0,
                           .determinism = algorithm->is_deterministic ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC,
                           .math = CUDNN_DEFAULT_MATH,
                           .reserved = {}};
      }
    return CUDNN_STATUS_SUCCESS;
  });
}

template <class Fit>
Status tell_workspace(cudnnContext* handle, Fit fit_of, int algorithm, size_t* bytes) {
  return with_cudnn(handle, [&](Machine&, CUctx_st&, cudnnContext&) {
    const Fitted fit = fit_of();
    if (!fit.trouble.empty()) return refuse(CUDNN_STATUS_BAD_PARAM, fit.trouble);
    const CudnnAlgorithm* const known = cudnn_algorithm(fit.convolution.pass, algorithm);
    if (!computes(known, fit.convolution))
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, str("algorithm ", algorithm, " does not compute this convolution"));
    *bytes = workspace_of(*known, fit.convolution);
    return CUDNN_STATUS_SUCCESS;
  });
}

// ---- convolutions

// Filters whose taps lie backwards.
template <class T>
void turn_round(Tensor& w, int64_t taps) {
  for (int64_t first = 0; first < w.size(); first += taps)
    std::reverse(w.data<T>() + first, w.data<T>() + first + taps);
}

void turn_filters_round(Tensor& w, int64_t taps) {
  w.dtype() == DType::kFloat64 ? turn_round<double>(w, taps) : turn_round<float>(w, taps);
}

struct Call {
  Convolution convolution;
  CudnnArray a, b, out;
  bool is_turned, is_tf32;  // filters; products
  double alpha, beta;
  DeviceRows workspace;

  bool lies_in(const CUctx_st& context) const {
    return a.rows().lies_in(context) && b.rows().lies_in(context) && out.rows().lies_in(context) &&
           workspace.lies_in(context);
  }
  void run(const CUctx_st& context) const {
    const bool is_written = a.rows().is_written(context) && b.rows().is_written(context);
    Tensor left = a.read(context), right = b.read(context);
    const ConvPass pass = convolution.pass;
    if (is_turned && pass == ConvPass::kForward) turn_filters_round(right, convolution.taps());
    if (is_turned && pass == ConvPass::kInputGradient) turn_filters_round(left, convolution.taps());
    if (is_tf32) {
      round_to_tf32(left);
      round_to_tf32(right);
    }
    const kernel::ChoiceKey key = key_of(convolution);
    const thtrain::Graph node = find_computation(key.computation)->example(key.properties).value();
    Tensor results = evaluate(node.outputs, {{node.inputs[0], left}, {node.inputs[1], right}})[0].contiguous();
    if (is_turned && pass == ConvPass::kWeightGradient) turn_filters_round(results, convolution.taps());
    const std::vector<char> nothing(workspace.whole(), '\xff');
    if (!nothing.empty()) workspace.write(context, nothing.data());
    write_cudnn_results(context, out, results, alpha, beta, is_written);
  }
};

template <class Fit, class A, class B, class Out>
Status convolve(cudnnContext* handle, Fit fit_of, const void* alpha, const A* of_a, const void* a, const B* of_b,
                const void* b, const Described* described, int algorithm, void* workspace, size_t bytes,
                const void* beta, const Out* of_out, void* out) {
  return with_cudnn(handle, [&](Machine& m, CUctx_st& context, cudnnContext& h) {
    const Fitted fit = fit_of();
    if (!fit.trouble.empty()) return refuse(CUDNN_STATUS_BAD_PARAM, fit.trouble);
    if (!alpha || !beta || !a || !b || !out) return refuse(CUDNN_STATUS_BAD_PARAM, "an address is null");
    if (!h.stream) return refuse(CUDNN_STATUS_BAD_PARAM, "no stream was set");
    const CudnnAlgorithm* const known = cudnn_algorithm(fit.convolution.pass, algorithm);
    if (!computes(known, fit.convolution))
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, str("algorithm ", algorithm, " does not compute this convolution"));
    const size_t needed = workspace_of(*known, fit.convolution);
    if (bytes < needed || (needed > 0 && !workspace))
      return refuse(CUDNN_STATUS_BAD_PARAM, str("the workspace has not the ", needed, " bytes that were asked for"));
    const auto held = static_cast<int64_t>(needed);
    const Call call{fit.convolution,
                    {*of_a, a},
                    {*of_b, b},
                    {*of_out, out},
                    described->mode == CUDNN_CONVOLUTION,
                    described->math == CUDNN_DEFAULT_MATH && of_a->dtype == CUDNN_DATA_FLOAT,
                    cudnn_factor(alpha, of_a->dtype),
                    cudnn_factor(beta, of_a->dtype),
                    {reinterpret_cast<DeviceAddress>(workspace), needed > 0 ? 1 : 0, held, held}};
    if (!call.lies_in(context))
      return refuse(CUDNN_STATUS_EXECUTION_FAILED, "an array does not lie in one allocation of the device");
    const std::string what =
        str("cuDNN algorithm ", algorithm, " of ", key_of(fit.convolution).text(), call.is_tf32 ? " TF32" : "");
    return ask(m, context, h.stream, what, CUDNN_STATUS_EXECUTION_FAILED, [&context, call] {
      if (is_there(context, call.lies_in(context))) call.run(context);
    });
  });
}

// ---- the functions

Status list_forward(cudnnContext* handle, Tensors* x, Filters* w, Described* c, Tensors* y, int asked, int* count,
                    cudnnConvolutionFwdAlgoPerfStruct* results) {
  return list_algorithms(
      handle, [=] { return fitted(ConvPass::kForward, x, w, y, c); }, asked, count, results);
}
Status list_backward_data(cudnnContext* handle, Filters* w, Tensors* dy, Described* c, Tensors* dx, int asked,
                          int* count, cudnnConvolutionBwdDataAlgoPerfStruct* results) {
  return list_algorithms(
      handle, [=] { return fitted(ConvPass::kInputGradient, dx, w, dy, c); }, asked, count, results);
}
Status list_backward_filter(cudnnContext* handle, Tensors* x, Tensors* dy, Described* c, Filters* dw, int asked,
                            int* count, cudnnConvolutionBwdFilterAlgoPerfStruct* results) {
  return list_algorithms(
      handle, [=] { return fitted(ConvPass::kWeightGradient, x, dw, dy, c); }, asked, count, results);
}

Status workspace_forward(cudnnContext* handle, Tensors* x, Filters* w, Described* c, Tensors* y, int algorithm,
                         size_t* bytes) {
  return tell_workspace(
      handle, [=] { return fitted(ConvPass::kForward, x, w, y, c); }, algorithm, bytes);
}
Status workspace_backward_data(cudnnContext* handle, Filters* w, Tensors* dy, Described* c, Tensors* dx, int algorithm,
                               size_t* bytes) {
  return tell_workspace(
      handle, [=] { return fitted(ConvPass::kInputGradient, dx, w, dy, c); }, algorithm, bytes);
}
Status workspace_backward_filter(cudnnContext* handle, Tensors* x, Tensors* dy, Described* c, Filters* dw,
                                 int algorithm, size_t* bytes) {
  return tell_workspace(
      handle, [=] { return fitted(ConvPass::kWeightGradient, x, dw, dy, c); }, algorithm, bytes);
}

Status convolve_forward(cudnnContext* handle, const void* alpha, Tensors* of_x, const void* x, Filters* of_w,
                        const void* w, Described* c, int algorithm, void* workspace, size_t bytes, const void* beta,
                        Tensors* of_y, void* y) {
  return convolve(
      handle, [=] { return fitted(ConvPass::kForward, of_x, of_w, of_y, c); }, alpha, of_x, x, of_w, w, c, algorithm,
      workspace, bytes, beta, of_y, y);
}
Status convolve_backward_data(cudnnContext* handle, const void* alpha, Filters* of_w, const void* w, Tensors* of_dy,
                              const void* dy, Described* c, int algorithm, void* workspace, size_t bytes,
                              const void* beta, Tensors* of_dx, void* dx) {
  return convolve(
      handle, [=] { return fitted(ConvPass::kInputGradient, of_dx, of_w, of_dy, c); }, alpha, of_w, w, of_dy, dy, c,
      algorithm, workspace, bytes, beta, of_dx, dx);
}
Status convolve_backward_filter(cudnnContext* handle, const void* alpha, Tensors* of_x, const void* x, Tensors* of_dy,
                                const void* dy, Described* c, int algorithm, void* workspace, size_t bytes,
                                const void* beta, Filters* of_dw, void* dw) {
  return convolve(
      handle, [=] { return fitted(ConvPass::kWeightGradient, of_x, of_dw, of_dy, c); }, alpha, of_x, x, of_dy, dy, c,
      algorithm, workspace, bytes, beta, of_dw, dw);
}

}  // namespace

void add_convolutions(Cudnn& cudnn) {
  cudnn.cudnnGetConvolutionForwardAlgorithm_v7 = list_forward;
  cudnn.cudnnGetConvolutionBackwardDataAlgorithm_v7 = list_backward_data;
  cudnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7 = list_backward_filter;
  cudnn.cudnnGetConvolutionForwardWorkspaceSize = workspace_forward;
  cudnn.cudnnGetConvolutionBackwardDataWorkspaceSize = workspace_backward_data;
  cudnn.cudnnGetConvolutionBackwardFilterWorkspaceSize = workspace_backward_filter;
  cudnn.cudnnConvolutionForward = convolve_forward;
  cudnn.cudnnConvolutionBackwardData = convolve_backward_data;
  cudnn.cudnnConvolutionBackwardFilter = convolve_backward_filter;
}

}  // namespace thtrain::cuda::emulated
