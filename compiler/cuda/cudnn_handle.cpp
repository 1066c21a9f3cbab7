#include "compiler/cuda/cudnn_handle.h"

#include <algorithm>

#include "compiler/cpu/conv/cudnn_algorithms.h"
#include "compiler/cuda/library_calls.h"

namespace thtrain::cuda {
namespace {

constexpr int kMostAlgorithms = 16;  // of one pass

// A factor as cuDNN reads it, on the host: float, or double for arrays of doubles.
union Factor {
  float of_float;
  double of_double;
};

Factor factor_of(int dtype, double value) {
  Factor out{};
  if (dtype == CUDNN_DATA_DOUBLE)
    out.of_double = value;
  else
    out.of_float = static_cast<float>(value);
  return out;
}

ConvPass pass_of(const CudnnConvolution& c) {
  return static_cast<ConvPass>(c.pass);
}

// Elements from one index to the next, of arrays without gaps.
std::array<int, 5> strides_of(const std::array<int, 5>& lengths, int rank) {
  std::array<int, 5> out = {};
  int64_t elements = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    const auto at = static_cast<size_t>(axis);
    TH_CHECK(elements <= INT32_MAX, "an array of more elements than cuDNN counts");
    out[at] = static_cast<int>(elements);
    elements *= lengths[at];
  }
  return out;
}

bool is_of_tensor_cores(int math) {
  return math == CUDNN_TENSOR_OP_MATH || math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
}

bool may_be_picked(const CudnnConvolution& c, const CudnnAlgorithmFound& found) {
  const CudnnAlgorithm* const known = cudnn_algorithm(pass_of(c), found.algorithm);
  return found.status == CUDNN_STATUS_SUCCESS && found.determinism == CUDNN_DETERMINISTIC && known &&
         known->is_deterministic && known->method == CudnnMethod::kProducts &&
         found.workspace_bytes <= kMostPickedBytes && (c.math != CUDNN_FMA_MATH || !is_of_tensor_cores(found.math));
}

}  // namespace

const Cudnn& CudnnHandle::use(const LibraryStream& at) {
  device_.use();
  const Cudnn& f = of_use(libraries_.cudnn(), "cuDNN");
  if (!handle_) TH_MATH(f, cudnnCreate, &handle_);
  TH_MATH(f, cudnnSetStream, handle_, at.stream);
  return f;
}

cudnnTensorStruct* CudnnHandle::descriptor_of(const Cudnn& f, const Array& array) {
  if (const auto known = arrays_.find(array); known != arrays_.end()) return known->second;
  cudnnTensorStruct* out = nullptr;
  const std::array<int, 5> strides = strides_of(array.lengths, array.axes);
  TH_MATH(f, cudnnCreateTensorDescriptor, &out);
  TH_MATH(f, cudnnSetTensorNdDescriptor, out, array.dtype, array.axes, array.lengths.data(), strides.data());
  return arrays_[array] = out;
}

CudnnHandle::Plan& CudnnHandle::plan_of(const Cudnn& f, const CudnnConvolution& c) {
  if (const auto known = plans_.find(c); known != plans_.end()) return known->second;
  Plan plan{.x = descriptor_of(f, {c.dtype, c.axes + 2, c.x}), .y = descriptor_of(f, {c.dtype, c.axes + 2, c.y})};
  TH_MATH(f, cudnnCreateFilterDescriptor, &plan.w);
  TH_MATH(f, cudnnSetFilterNdDescriptor, plan.w, c.dtype, CUDNN_TENSOR_NCHW, c.axes + 2, c.w.data());
  TH_MATH(f, cudnnCreateConvolutionDescriptor, &plan.convolution);
  TH_MATH(f, cudnnSetConvolutionNdDescriptor, plan.convolution, c.axes, c.padding.data(), c.stride.data(),
          c.dilation.data(), c.mode, c.dtype);
  TH_MATH(f, cudnnSetConvolutionGroupCount, plan.convolution, c.groups);
  TH_MATH(f, cudnnSetConvolutionMathType, plan.convolution, c.math);
  return plans_.emplace(c, std::move(plan)).first->second;
}

int CudnnHandle::picked(const Cudnn& f, const CudnnConvolution& c, const Plan& plan) {
  std::array<CudnnAlgorithmFound, kMostAlgorithms> all = {};
  int count = 0;
  switch (pass_of(c)) {
    case ConvPass::kForward:
      TH_MATH(f, cudnnGetConvolutionForwardAlgorithm_v7, handle_, plan.x, plan.w, plan.convolution, plan.y,
              kMostAlgorithms, &count, reinterpret_cast<cudnnConvolutionFwdAlgoPerfStruct*>(all.data()));
      break;
    case ConvPass::kInputGradient:
      TH_MATH(f, cudnnGetConvolutionBackwardDataAlgorithm_v7, handle_, plan.w, plan.y, plan.convolution, plan.x,
              kMostAlgorithms, &count, reinterpret_cast<cudnnConvolutionBwdDataAlgoPerfStruct*>(all.data()));
      break;
    case ConvPass::kWeightGradient:
      TH_MATH(f, cudnnGetConvolutionBackwardFilterAlgorithm_v7, handle_, plan.x, plan.y, plan.convolution, plan.w,
              kMostAlgorithms, &count, reinterpret_cast<cudnnConvolutionBwdFilterAlgoPerfStruct*>(all.data()));
      break;
  }
  const auto end = all.begin() + count;
  const auto first = std::find_if(all.begin(), end, [&](const auto& found) { return may_be_picked(c, found); });
  if (first == end)
    throw InternalError({.what = "cuDNN names no algorithm for a convolution that is deterministic and adds the "
                                 "products as they are",
                         .got = str(name_of(pass_of(c)), ", ", count, " algorithms")});
  return first->algorithm;
}

size_t CudnnHandle::workspace_bytes(const Cudnn& f, const CudnnConvolution& c, const Plan& plan, int algorithm) {
  size_t out = 0;
  switch (pass_of(c)) {
    case ConvPass::kForward:
      TH_MATH(f, cudnnGetConvolutionForwardWorkspaceSize, handle_, plan.x, plan.w, plan.convolution, plan.y, algorithm,
              &out);
      break;
    case ConvPass::kInputGradient:
      TH_MATH(f, cudnnGetConvolutionBackwardDataWorkspaceSize, handle_, plan.w, plan.y, plan.convolution, plan.x,
              algorithm, &out);
      break;
    case ConvPass::kWeightGradient:
      TH_MATH(f, cudnnGetConvolutionBackwardFilterWorkspaceSize, handle_, plan.x, plan.y, plan.convolution, plan.w,
              algorithm, &out);
      break;
  }
  return out;
}

void CudnnHandle::convolve(const LibraryStream& at, const CudnnConvolution& c, int algorithm, const void* a,
                           const void* b, void* out) {
  const std::lock_guard lock(mutex_);
  const Cudnn& f = use(at);
  Plan& plan = plan_of(f, c);
  if (algorithm == kFirstPick) {
    if (plan.pick == kFirstPick) plan.pick = picked(f, c, plan);
    algorithm = plan.pick;
  }
  auto known = plan.workspaces.find(algorithm);
  if (known == plan.workspaces.end())
    known = plan.workspaces.emplace(algorithm, workspace_bytes(f, c, plan, algorithm)).first;
  const size_t bytes = known->second;
  void* const workspace = bytes == 0 ? nullptr : reinterpret_cast<void*>(at.workspace(bytes));
  const Factor one = factor_of(c.dtype, 1), zero = factor_of(c.dtype, 0);
  switch (pass_of(c)) {
    case ConvPass::kForward:
      TH_MATH(f, cudnnConvolutionForward, handle_, &one, plan.x, a, plan.w, b, plan.convolution, algorithm, workspace,
              bytes, &zero, plan.y, out);
      break;
    case ConvPass::kInputGradient:
      TH_MATH(f, cudnnConvolutionBackwardData, handle_, &one, plan.w, a, plan.y, b, plan.convolution, algorithm,
              workspace, bytes, &zero, plan.x, out);
      break;
    case ConvPass::kWeightGradient:
      TH_MATH(f, cudnnConvolutionBackwardFilter, handle_, &one, plan.x, a, plan.y, b, plan.convolution, algorithm,
              workspace, bytes, &zero, plan.w, out);
      break;
  }
}

CudnnHandle::PoolingPlan& CudnnHandle::plan_of(const Cudnn& f, const CudnnPooling& p) {
  if (const auto known = pooling_plans_.find(p); known != pooling_plans_.end()) return known->second;
  PoolingPlan plan{.x = descriptor_of(f, {p.dtype, p.axes + 2, p.x}),
                   .y = descriptor_of(f, {p.dtype, p.axes + 2, p.y})};
  TH_MATH(f, cudnnCreatePoolingDescriptor, &plan.pooling);
  TH_MATH(f, cudnnSetPoolingNdDescriptor, plan.pooling, p.mode, CUDNN_PROPAGATE_NAN, p.axes, p.window.data(),
          p.padding.data(), p.stride.data());
  return pooling_plans_.emplace(p, plan).first->second;
}

void CudnnHandle::pool(const LibraryStream& at, const CudnnPooling& p, const void* x, void* y) {
  const std::lock_guard lock(mutex_);
  const Cudnn& f = use(at);
  const PoolingPlan& plan = plan_of(f, p);
  const Factor one = factor_of(p.dtype, 1), zero = factor_of(p.dtype, 0);
  TH_MATH(f, cudnnPoolingForward, handle_, plan.pooling, &one, plan.x, x, &zero, plan.y, y);
}

void CudnnHandle::pool_gradient(const LibraryStream& at, const CudnnPooling& p, const void* x, const void* dy,
                                void* dx) {
  const std::lock_guard lock(mutex_);
  const Cudnn& f = use(at);
  const PoolingPlan& plan = plan_of(f, p);
  const Factor one = factor_of(p.dtype, 1), zero = factor_of(p.dtype, 0);
  const void* y = dy;
  if (p.mode == CUDNN_POOLING_MAX_DETERMINISTIC) {
    size_t bytes = p.dtype == CUDNN_DATA_DOUBLE ? sizeof(double) : sizeof(float);
    for (int axis = 0; axis < p.axes + 2; ++axis) bytes *= static_cast<size_t>(p.y[static_cast<size_t>(axis)]);
    void* const maxima = reinterpret_cast<void*>(at.workspace(bytes));
    TH_MATH(f, cudnnPoolingForward, handle_, plan.pooling, &one, plan.x, x, &zero, plan.y, maxima);
    y = maxima;
  }
  TH_MATH(f, cudnnPoolingBackward, handle_, plan.pooling, &one, plan.y, y, plan.y, dy, plan.x, x, &zero, plan.x, dx);
}

void CudnnHandle::softmax(const LibraryStream& at, const CudnnSoftmax& of, const void* x, void* y) {
  const std::lock_guard lock(mutex_);
  const Cudnn& f = use(at);
  cudnnTensorStruct* const rows = descriptor_of(f, {of.dtype, 4, {of.lengths[0], of.lengths[1], of.lengths[2], 1}});
  const Factor one = factor_of(of.dtype, 1), zero = factor_of(of.dtype, 0);
  TH_MATH(f, cudnnSoftmaxForward, handle_, of.algorithm, CUDNN_SOFTMAX_MODE_CHANNEL, &one, rows, x, &zero, rows, y);
}

void CudnnHandle::batch_norm(const LibraryStream& at, const CudnnBatchNorm& of, const void* x, const void* scale,
                             const void* shift, const void* mean, const void* variance, void* y) {
  const std::lock_guard lock(mutex_);
  const Cudnn& f = use(at);
  cudnnTensorStruct* const all = descriptor_of(f, {of.dtype, 4, {of.lengths[0], of.lengths[1], of.lengths[2], 1}});
  cudnnTensorStruct* const channels = descriptor_of(f, {of.dtype, 4, {1, of.lengths[1], 1, 1}});
  const Factor one = factor_of(of.dtype, 1), zero = factor_of(of.dtype, 0);
  TH_MATH(f, cudnnBatchNormalizationForwardInference, handle_, CUDNN_BATCHNORM_SPATIAL, &one, &zero, all, x, all, y,
          channels, scale, shift, mean, variance, 0.0);
}

}  // namespace thtrain::cuda
