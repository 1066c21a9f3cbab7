#include "compiler/cpu/conv/cudnn_algorithms.h"

#include <algorithm>

namespace thtrain {
namespace {

// Images with their zeros, filters that pay, and tiles, of the transforms of Fourier.
constexpr int64_t kMostImage = 256, kMostTaps = 32, kMostTapsOfVolume = 16;

template <class F>
bool each_axis(const Convolution& c, F f) {
  return std::all_of(c.axes.begin(), c.axes.end(), f);
}

bool has_dense_steps(const Convolution& c) {
  return c.dtype == DType::kFloat32 &&
         each_axis(c, [](const ConvAxis& axis) { return axis.stride == 1 && axis.dilation == 1; });
}

bool is_padded_less_than_filters(const Convolution& c) {
  return each_axis(c, [](const ConvAxis& axis) { return axis.before < axis.kernel; });
}

bool has_taps(const Convolution& c, int64_t taps) {
  return c.axes[1].kernel == taps && c.axes[2].kernel == taps;
}

}  // namespace

std::span<const CudnnAlgorithm> cudnn_algorithms() {
  static constexpr CudnnAlgorithm kAll[] = {
#define TH_ALGORITHM(pass, enumerator, number, name, deterministic, method) \
  {ConvPass::pass, number, name, deterministic, CudnnMethod::method},
#include "compiler/cpu/conv/cudnn_algorithms.inc"
  };
  return kAll;
}

const CudnnAlgorithm* cudnn_algorithm(ConvPass pass, int number) {
  for (const CudnnAlgorithm& algorithm : cudnn_algorithms())
    if (algorithm.pass == pass && algorithm.number == number) return &algorithm;
  return nullptr;
}

bool is_documented(const CudnnAlgorithm& algorithm, const Convolution& c) {
  const bool is_volume = c.rank == 3;
  switch (algorithm.method) {
    case CudnnMethod::kProducts:
      // Matrices of patches are of two axes without dilation.
      return algorithm.pass != ConvPass::kForward || algorithm.number != 2 ||
             (!is_volume && each_axis(c, [](const ConvAxis& axis) { return axis.dilation == 1; }));
    case CudnnMethod::kFft:
      return !is_volume && has_dense_steps(c) && is_padded_less_than_filters(c) &&
             each_axis(c, [](const ConvAxis& axis) { return axis.in + 2 * axis.before <= kMostImage; });
    case CudnnMethod::kFftTiles:
      return has_dense_steps(c) && is_padded_less_than_filters(c) && each_axis(c, [&](const ConvAxis& axis) {
               return axis.kernel <= (is_volume ? kMostTapsOfVolume : kMostTaps);
             });
    case CudnnMethod::kWinograd:
      return !is_volume && has_dense_steps(c) && has_taps(c, 3);
    case CudnnMethod::kWinogradNonfused:
      break;
  }
  return !is_volume && has_dense_steps(c) && (has_taps(c, 3) || has_taps(c, 5));
}

}  // namespace thtrain
