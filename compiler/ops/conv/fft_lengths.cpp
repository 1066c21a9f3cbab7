#include "compiler/ops/conv/fft_lengths.h"

#include <algorithm>

#include "compiler/base/ceil_div.h"

namespace thtrain {
namespace {

// The next product of 2, 3, 5 and 7, a multiple of `step`.
int64_t smooth_length(int64_t least, int64_t step) {
  for (int64_t length = ceil_div(least, step) * step;; length += step) {
    int64_t rest = length;
    for (int64_t prime : {2, 3, 5, 7})
      while (rest % prime == 0) rest /= prime;
    if (rest == 1) return length;
  }
}

}  // namespace

bool has_fft(const Convolution& c) {
  return std::all_of(c.axes.begin(), c.axes.end(),
                     [](const ConvAxis& axis) { return axis.stride == 1 && axis.dilation == 1; });
}

std::array<int64_t, 3> fft_lengths(const Convolution& c) {
  std::array<int64_t, 3> out{};
  // Real numbers of an even length are half as many complex ones.
  for (size_t i = 0; i < 3; ++i) out[i] = smooth_length(c.axes[i].padded(), i == 2 && c.axes[i].padded() > 1 ? 2 : 1);
  return out;
}

int64_t fft_terms(const Convolution& c) {
  return c.pass == ConvPass::kForward ? c.channels() : c.pass == ConvPass::kInputGradient ? c.filters() : c.n;
}

}  // namespace thtrain
