// cuDNN as candidates of the three convolutions on a device: each of its algorithms, and its own first pick.
#include <algorithm>

#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/cpu/conv/cudnn_algorithms.h"
#include "compiler/cpu/conv/fft.h"
#include "compiler/cpu/conv/library_step.h"
#include "compiler/cpu/conv/winograd.h"
#include "compiler/cpu/conv/winograd_weights.h"
#include "compiler/ops/candidates.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;

// A new number where the runtime's function became another.
constexpr const char* kCudnnVersion = "1";
constexpr const char* kCudnnTf32 = "cuDNN TF32";
constexpr int kPick = -1;  // what cuDNN's heuristics name (cuda/cudnn_handle.h)

std::string name_of(const CudnnAlgorithm& algorithm) {
  return str(kCudnn, ' ', algorithm.name);
}

// Filters that are turned round along all of their spatial axes, which cuDNN reads so by itself.
bool is_turned_round(const Convolution& c, const kernel::Operand& w) {
  Layout layout = w.layout;
  const size_t first = layout.strides.size() - c.rank;
  for (size_t axis = first; axis < layout.strides.size(); ++axis) layout.strides[axis] = Dim(0) - layout.strides[axis];
  return is_row_major(w.type.dims, layout);
}

void lower_cudnn(StepBuilder& b, const Convolution& c, const kernel::LibraryFunction& function, int algorithm) {
  const size_t filters = c.pass == ConvPass::kForward ? 1 : 0;
  const bool is_turned = c.pass != ConvPass::kWeightGradient && is_turned_round(c, b.input(filters));
  const auto inputs = is_turned ? std::array{b.input(0), b.input(1)} : row_major_inputs(b, c);
  LibraryArguments arguments = conv_arguments(c);
  arguments.insert(arguments.end(), {Dim(is_turned ? 1 : 0), Dim(algorithm), PointerTo{inputs[0].index},
                                     PointerTo{inputs[1].index}, PointerTo{b.output().index}});
  b.call_library({function, std::move(arguments)});
}

Candidate candidate_of(const Convolution& c, const Target& target, std::string name, int algorithm, bool tf32 = false) {
  const kernel::LibraryFunction function = conv_cudnn_function(target, c.dtype, tf32);
  return {.name = std::move(name),
          .version = kCudnnVersion,
          .workspace_bytes = row_major_bytes(c),
          .functions = {function.name},
          .lower = [c, function, algorithm](StepBuilder& builder) { lower_cudnn(builder, c, function, algorithm); },
          .is_of_device = true};
}

// NVIDIA states no bounds: these are of the same transforms by the tiles and lengths of this compiler.
double bound_of(const CudnnAlgorithm& algorithm, const Convolution& c) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const bool is_fft = algorithm.method == CudnnMethod::kFft || algorithm.method == CudnnMethod::kFftTiles;
  if (is_fft) return has_fft(c) ? fft_error_bound(c) : kUnknown;
  const int64_t tile = algorithm.method == CudnnMethod::kWinograd ? 2 : 4;
  if (c.pass == ConvPass::kWeightGradient)
    return is_winograd_weights(c, tile) ? winograd_weights_error_bound(c, tile) : kUnknown;
  const Correlation as = correlation_of(c);
  return is_winograd(as, tile) ? winograd_error_bound(as, tile) : kUnknown;
}

Candidate candidate_of(const Convolution& c, const Target& target, const CudnnAlgorithm& algorithm) {
  Candidate out = candidate_of(c, target, name_of(algorithm), algorithm.number);
  out.deterministic = algorithm.is_deterministic;
  if (algorithm.method == CudnnMethod::kProducts) return out;
  out.rounding = RoundingClass::kOther;
  out.error_bound = bound_of(algorithm, c);
  return out;
}

std::vector<Candidate> offer_cudnn(const ChoiceKey& key, const Target& target) {
  std::vector<Candidate> out;
  const Convolution c = *convolution_of(key);
  if (!target.is_device() || !has_cudnn(c)) return out;
  for (const CudnnAlgorithm& algorithm : cudnn_algorithms())
    if (algorithm.pass == c.pass && is_documented(algorithm, c)) out.push_back(candidate_of(c, target, algorithm));
  return out;
}

// The pick is one of the algorithms: no trial of its own.
std::optional<Candidate> find_cudnn(const ChoiceKey& key, const std::string& name, const Target& target) {
  const Convolution c = *convolution_of(key);
  if (!target.is_device() || !has_cudnn(c)) return std::nullopt;
  if (name == kCudnn) return candidate_of(c, target, name, kPick);
  if (name == kCudnnTf32 && c.dtype == DType::kFloat32) {
    Candidate out = candidate_of(c, target, name, kPick, true);
    out.rounding = RoundingClass::kOther;
    return out;
  }
  for (const CudnnAlgorithm& algorithm : cudnn_algorithms())
    if (algorithm.pass == c.pass && name == name_of(algorithm)) return candidate_of(c, target, algorithm);
  return std::nullopt;
}

CandidateSource cudnn_of(ConvPass pass) {
  std::vector<std::string> names{kCudnn, kCudnnTf32};
  for (const CudnnAlgorithm& algorithm : cudnn_algorithms())
    if (algorithm.pass == pass) names.push_back(name_of(algorithm));
  return {thtrain::name_of(pass), offer_cudnn, find_cudnn, std::move(names)};
}

}  // namespace

// Zeros behind an axis count only as far as taps read them.
bool has_cudnn(const Convolution& c) {
  return std::all_of(c.axes.begin(), c.axes.end(), [](const ConvAxis& axis) {
    const int64_t last = axis.in + 2 * axis.before - axis.span();
    return last >= 0 && last / axis.stride + 1 == axis.out;
  });
}

CandidateSource cudnn_forward() {
  return cudnn_of(ConvPass::kForward);
}
CandidateSource cudnn_input_gradients() {
  return cudnn_of(ConvPass::kInputGradient);
}
CandidateSource cudnn_weight_gradients() {
  return cudnn_of(ConvPass::kWeightGradient);
}

}  // namespace thtrain
