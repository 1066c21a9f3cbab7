// What the candidates of the three convolutions are chosen by: lengths that are all known.
#pragma once

#include <array>
#include <optional>

#include "compiler/ir/dtype.h"
#include "compiler/kernel/choice.h"

namespace thtrain {

struct Node;

/// Which of a convolution's three passes.
enum class ConvPass : uint8_t { kForward, kInputGradient, kWeightGradient };

/// One spatial axis. The image has `in` elements and zeros around them.
struct ConvAxis {
  int64_t in = 1, kernel = 1, out = 1, stride = 1, dilation = 1, before = 0, after = 0;

  int64_t padded() const { return in + before + after; }
  int64_t span() const { return (kernel - 1) * dilation + 1; }
  friend bool operator==(const ConvAxis&, const ConvAxis&) = default;
};

/// Images [n, c, in...], filters [f, c / groups, kernel...], results [n, f, out...]; no length is 0.
struct Convolution {
  ConvPass pass = ConvPass::kForward;
  DType dtype = DType::kFloat32;
  int64_t n = 1, c = 1, f = 1, groups = 1;
  size_t rank = 2;
  std::array<ConvAxis, 3> axes = {};  // depth, height, width; of fewer, the last ones

  int64_t channels() const { return c / groups; }  // of a group
  int64_t filters() const { return f / groups; }
  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  int64_t positions() const { return axes[0].out * axes[1].out * axes[2].out; }
  int64_t filter_elements() const { return f * channels() * taps(); }
  int64_t pixels() const { return axes[0].in * axes[1].in * axes[2].in; }
  double flops() const;
  bool is_padded() const;
  friend bool operator==(const Convolution&, const Convolution&) = default;
};

/// "conv", "conv_input_gradient", "conv_weight_gradient": the computation, and the op.
const char* name_of(ConvPass pass);
/// "conv float32 b16 i64x56x56 k64x3x3 p1:1x1:1": dtype, images, channels and lengths, filters and lengths; where they
/// are not 1 or 0, stride s, padding p, dilation d, groups g.
kernel::ChoiceKey key_of(const Convolution& convolution);
/// Back from a key; nullopt where it is none.
std::optional<Convolution> convolution_of(const kernel::ChoiceKey& key);
/// The convolution of a node of one of the three ops; nullopt where a length is not known or 0, or filters are
/// unshared.
std::optional<Convolution> known_convolution(const Node& node);

}  // namespace thtrain
