#include "compiler/cpu/pool/cudnn_pooling.h"

#include "compiler/ops/candidates.h"
#include "compiler/ops/pool/pool.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;

constexpr const char *kPooling = "pool", *kCudnnPooling = "cuDNN", *kAnyMaximum = "cuDNN any maximum";

bool is_gradient(const Pooling& p) {
  return p.op == &max_pool_gradient_op() || p.op == &sum_pool_gradient_op();
}

// Leading axes are images and channels; one or two pooled axes are the last ones of three.
void call_cudnn_pooling(StepBuilder& b, const Pooling& p, const kernel::LibraryFunction& function) {
  const size_t axes = p.windows.axes(), leading = p.image.size() - axes;
  const int64_t channels = leading > 1 ? p.image[leading - 1] : 1;
  int64_t images = 1;
  for (size_t axis = 0; axis < leading; ++axis) images *= p.image[axis];
  auto arguments =
      std::vector<kernel::LibraryArgument>{Dim(static_cast<int64_t>(p.divisor)), Dim(images / channels), Dim(channels)};
  for (size_t k = 0; k < 3; ++k) {
    if (k + axes < 3) {
      for (int64_t number : {1, 1, 1, 1, 0}) arguments.emplace_back(Dim(number));
      continue;
    }
    const size_t axis = k + axes - 3;
    const int64_t length = p.image[leading + axis];
    for (int64_t number : {length, p.windows.window[axis], p.windows.count(axis, length).value(),
                           p.windows.stride[axis], p.windows.before[axis]})
      arguments.emplace_back(Dim(number));
  }
  if (p.op == &sum_pool_gradient_op()) arguments.emplace_back(PointerTo{b.output().index});
  for (size_t i = 0; i < b.node().inputs.size(); ++i) arguments.emplace_back(PointerTo{b.input(i).index});
  arguments.emplace_back(PointerTo{b.output().index});
  b.call_library({function, std::move(arguments)});
}

std::optional<Candidate> find_cudnn_pooling(const ChoiceKey& key, const std::string& name, const Target& target) {
  const Pooling p = *pooling_of(key);
  const bool chooses = p.op == &max_pool_gradient_op();
  if (!target.is_device() || !has_cudnn(p) || name != (chooses ? kAnyMaximum : kCudnnPooling)) return std::nullopt;
  const kernel::LibraryFunction function = cudnn_pool_function(target, p);
  return Candidate{.name = name,
                   .rounding = chooses ? RoundingClass::kOther : RoundingClass::kReordered,
                   .functions = {function.name},
                   .lower = [p, function](StepBuilder& b) { call_cudnn_pooling(b, p, function); },
                   .is_of_device = true};
}

}  // namespace

bool has_cudnn(const Pooling& p) {
  const bool is_maximum = p.op == &max_pool_op() || p.op == &max_pool_gradient_op();
  const bool is_average = !is_maximum && p.op != &max_pool_pick_op() && p.divisor != PoolDivisor::kOne;
  if (!is_float(p.dtype) || !(is_maximum || is_average) || element_count(p.image) > INT32_MAX) return false;
  const PoolWindows& w = p.windows;
  for (size_t k = 0; k < w.axes(); ++k) {
    const int64_t length = p.image[p.image.size() - w.axes() + k], count = w.count(k, length).value();
    const int64_t last = length + 2 * w.before[k] - w.window[k];
    if (last < 0 || last / w.stride[k] + 1 != count) return false;
    // Averages over padding divide by the whole window, those here by what is inside of ours.
    const int64_t end = (count - 1) * w.stride[k] - w.before[k] + w.window[k];
    if (p.divisor == PoolDivisor::kPadded && end > length + w.after[k]) return false;
  }
  return true;
}

kernel::LibraryFunction cudnn_pool_function(const Target& target, const Pooling& p) {
  if (is_gradient(p))
    return p.dtype == DType::kFloat64 ? device_function(target, "cudnn_pool_gradient_f64",
                                                        TH_TEXT_OF(TH_CUDNN_POOL_GRADIENT_PARAMETERS(double)), true)
                                      : device_function(target, "cudnn_pool_gradient_f32",
                                                        TH_TEXT_OF(TH_CUDNN_POOL_GRADIENT_PARAMETERS(float)), true);
  return p.dtype == DType::kFloat64
             ? device_function(target, "cudnn_pool_f64", TH_TEXT_OF(TH_CUDNN_POOL_PARAMETERS(double)), true)
             : device_function(target, "cudnn_pool_f32", TH_TEXT_OF(TH_CUDNN_POOL_PARAMETERS(float)), true);
}

// That which chooses among equal maxima is another derivative than the op's: it is only taken by name.
CandidateSource cudnn_poolings() {
  return {kPooling,
          [](const ChoiceKey& key, const Target& target) {
            std::vector<Candidate> out;
            if (std::optional<Candidate> one = find_cudnn_pooling(key, kCudnnPooling, target)) out.push_back(*one);
            return out;
          },
          find_cudnn_pooling,
          {kCudnnPooling, kAnyMaximum}};
}

}  // namespace thtrain
