// The candidates of thtrain's own for convolutions on a device (docs/decisions/0017), and the rule that picks one where
// nothing was measured.
#include "compiler/ops/conv/device_candidates.h"

#include <algorithm>

#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/device_direct.h"
#include "compiler/ops/conv/device_fft.h"
#include "compiler/ops/conv/device_patches.h"
#include "compiler/ops/conv/device_winograd.h"
#include "compiler/ops/fft/fft_functions.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::DeviceTiling;
using kernel::StepBuilder;
using kernel::Target;

constexpr std::string_view kPatches = "patches ", kWinograd = "winograd ";
constexpr int64_t kWinogradTiles[] = {2, 4};
constexpr const char *kFft = "FFT", *kCufft = "cuFFT";

Candidate by_patches(const Convolution& c, const DeviceTiling& tiling) {
  return {.name = str(kPatches, name_of(tiling)),
          .workspace_bytes = patch_workspace(c),
          .lower = [c, tiling](StepBuilder& b) { lower_patch_product(b, c, tiling); }};
}

Candidate by_definition(const Convolution& c, const DeviceDirect& direct) {
  return {.name = name_of(direct), .lower = [c, direct](StepBuilder& b) { lower_device_direct(b, c, direct); }};
}

Candidate by_winograd(const Convolution& c, int64_t tile) {
  return {.name = str(kWinograd, tile),
          .rounding = RoundingClass::kOther,
          .error_bound = device_winograd_error_bound(c, tile),
          .workspace_bytes = device_winograd_workspace(c, tile),
          .lower = [c, tile](StepBuilder& b) { lower_device_winograd(b, c, tile); }};
}

Candidate by_fft(const Convolution& c) {
  return {.name = kFft,
          .rounding = RoundingClass::kOther,
          .error_bound = device_fft_error_bound(c),
          .workspace_bytes = device_fft_workspace(c, false),
          .lower = [c](StepBuilder& b) { lower_device_fft(b, c, false); }};
}

Candidate by_cufft(const Convolution& c, const Target& target) {
  return {.name = kCufft,
          .rounding = RoundingClass::kOther,
          .error_bound = device_fft_error_bound(c),
          .workspace_bytes = device_fft_workspace(c, true),
          .functions = {cufft_function(target, c.dtype).name},
          .lower = [c](StepBuilder& b) { lower_device_fft(b, c, true); },
          .is_of_device = true};
}

// Of fewer taps transforms never pay; a trial takes no more memory than cuDNN may (cuda/cudnn_handle.h).
bool is_worth_transforms(const Convolution& c) {
  constexpr int64_t kLeastTaps = 25, kMostBytes = int64_t{1} << 30;
  return has_fft(c) && c.taps() >= kLeastTaps && device_fft_workspace(c, false) <= kMostBytes;
}

std::vector<Candidate> offer(const ChoiceKey& key, const Target& target) {
  constexpr double kNear = 2;
  std::vector<Candidate> out;
  if (!target.is_device()) return out;
  const Convolution c = *convolution_of(key);
  for (const DeviceDirect& direct : device_directs(c, target)) out.push_back(by_definition(c, direct));
  for (const DeviceTiling& tiling : patch_tilings(c, target, kNear)) out.push_back(by_patches(c, tiling));
  for (const int64_t tile : kWinogradTiles)
    if (is_device_winograd(c)) out.push_back(by_winograd(c, tile));
  if (is_worth_transforms(c)) out.insert(out.end(), {by_fft(c), by_cufft(c, target)});
  return out;
}

std::optional<Candidate> find(const ChoiceKey& key, const std::string& name, const Target& target) {
  if (!target.is_device()) return std::nullopt;
  const Convolution c = *convolution_of(key);
  if (const std::optional<DeviceDirect> direct = device_direct_named(name))
    return is_possible(*direct, c, target) ? std::optional(by_definition(c, *direct)) : std::nullopt;
  for (const int64_t tile : kWinogradTiles)
    if (is_device_winograd(c) && name == str(kWinograd, tile)) return by_winograd(c, tile);
  if (has_fft(c) && name == kFft) return by_fft(c);
  if (has_fft(c) && name == kCufft) return by_cufft(c, target);
  if (name.starts_with(kPatches)) {
    const std::optional<DeviceTiling> tiling = kernel::device_tiling_named(name.substr(kPatches.size()));
    if (tiling && kernel::is_possible(*tiling, c.dtype)) return by_patches(c, *tiling);
  }
  return std::nullopt;
}

CandidateSource device_kernels(ConvPass pass) {
  std::vector<std::string> names = {str(kPatches, "tile #x#"), kFft, kCufft};
  for (const int64_t tile : kWinogradTiles) names.push_back(str(kWinograd, tile));
  if (pass != ConvPass::kWeightGradient) names.emplace_back("direct #x#");
  return {name_of(pass), offer, find, std::move(names)};
}

}  // namespace

std::string usual_on_device(const Convolution& c, const Target& target, double tolerance) {
  constexpr int64_t kChannelsOfWinograd = 32;  // of fewer the transforms take as long as the products
  const std::vector<DeviceDirect> directs = device_directs(c, target);
  if (!directs.empty()) return name_of(directs.front());
  if (is_device_winograd(c) && std::min(c.c, c.f) >= kChannelsOfWinograd)
    for (const int64_t tile : {4, 2})
      if (device_winograd_error_bound(c, tile) <= tolerance) return str(kWinograd, tile);
  return str(kPatches, name_of(patch_tilings(c, target).front()));
}

CandidateSource device_forward() {
  return device_kernels(ConvPass::kForward);
}

CandidateSource device_input_gradients() {
  return device_kernels(ConvPass::kInputGradient);
}

CandidateSource device_weight_gradients() {
  return device_kernels(ConvPass::kWeightGradient);
}

}  // namespace thtrain
