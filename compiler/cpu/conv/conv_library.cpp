// The candidates of the three convolutions that call libraries.
#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/cpu/conv/fft.h"
#include "compiler/cpu/conv/library_step.h"
#include "compiler/cpu/conv/patches.h"
#include "compiler/ops/candidates.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;

// A new number where the runtime's function became another.
constexpr const char* kPatchesVersion = "1";
constexpr const char* kOneDnnVersion = "1";
constexpr const char* kFftVersion = "2";
constexpr const char* kOneDnn = "oneDNN";
constexpr const char* kFft = "FFT";

std::vector<Candidate> offer_patches(const ChoiceKey& key, const Target&) {
  const Convolution c = *convolution_of(key);
  auto candidate = [&](const char* name, bool by_slabs) {
    return Candidate{.name = name,
                     .version = kPatchesVersion,
                     .workspace_bytes = patches_workspace(c, by_slabs),
                     .functions = {conv_patches_function(c.dtype).name},
                     .lower = [c, by_slabs](StepBuilder& builder) { lower_patches(builder, c, by_slabs); }};
  };
  return {candidate(kPatches, false), candidate(kPatchesBySlabs, true)};
}

void lower_onednn(StepBuilder& b, const Convolution& c) {
  LibraryArguments arguments = conv_arguments(c);
  for (const kernel::Operand& input : row_major_inputs(b, c)) arguments.emplace_back(PointerTo{input.index});
  arguments.emplace_back(PointerTo{b.output().index});
  b.call_library({conv_onednn_function(), std::move(arguments)});
}

std::vector<Candidate> offer_onednn(const ChoiceKey& key, const Target&) {
  const Convolution c = *convolution_of(key);
  if (c.dtype != DType::kFloat32) return {};
  return {{.name = kOneDnn,
           .version = kOneDnnVersion,
           .workspace_bytes = row_major_bytes(c),
           .functions = {conv_onednn_function().name},
           .lower = [c](StepBuilder& builder) { lower_onednn(builder, c); }}};
}

std::optional<Candidate> find_fft(const ChoiceKey& key, const std::string& name, const Target&) {
  const Convolution c = *convolution_of(key);
  if (name != kFft || !has_fft(c)) return std::nullopt;
  return Candidate{.name = kFft,
                   .version = kFftVersion,
                   .rounding = RoundingClass::kOther,
                   .error_bound = fft_error_bound(c),
                   .workspace_bytes = fft_workspace(c),
                   .functions = {conv_fft_function(c.dtype).name},
                   .lower = [c](StepBuilder& builder) { lower_fft(builder, c); }};
}

// Few taps never pay for transforms; spectra of many filters take more memory than a trial may.
std::vector<Candidate> offer_fft(const ChoiceKey& key, const Target& target) {
  constexpr int64_t kLeastTaps = 25, kMostBytes = 256 << 20;
  const Convolution c = *convolution_of(key);
  if (!has_fft(c) || c.taps() < kLeastTaps || fft_workspace(c) > kMostBytes) return {};
  return {*find_fft(key, kFft, target)};
}

}  // namespace

#define TH_CONV_PASS(pass, patches, onednn, fft)                                 \
  CandidateSource patches() {                                                    \
    return {name_of(pass), offer_patches, nullptr, {kPatches, kPatchesBySlabs}}; \
  }                                                                              \
  CandidateSource onednn() {                                                     \
    return {name_of(pass), offer_onednn, nullptr, {kOneDnn}};                    \
  }                                                                              \
  CandidateSource fft() {                                                        \
    return {name_of(pass), offer_fft, find_fft, {kFft}};                         \
  }
TH_CONV_PASS(ConvPass::kForward, patches_forward, onednn_forward, fft_forward)
TH_CONV_PASS(ConvPass::kInputGradient, patches_input_gradients, onednn_input_gradients, fft_input_gradients)
TH_CONV_PASS(ConvPass::kWeightGradient, patches_weight_gradients, onednn_weight_gradients, fft_weight_gradients)
#undef TH_CONV_PASS

}  // namespace thtrain
