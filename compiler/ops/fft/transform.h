// What the three ops of transforms have in common: the transform that a node is, and its kernels on a device.
#pragma once

#include <array>

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// An array as count x n[0] x n[1] x n[2] x inner numbers in time.
struct Transform {
  enum Kind : int64_t { kComplex, kRealToHalf, kHalfToReal };
  Kind kind;
  Dim count = 1;
  std::array<Dim, 3> n = {1, 1, 1};
  Dim inner = 1;
  bool inverse = false;
  int64_t norm = 0;

  Dim elements() const { return n[0] * n[1] * n[2]; }
};

/// One block of threads takes a line. Along an axis of known length each prime factor p takes n p products of complex
/// numbers, and 4 takes two factors 2; along others the definition is computed, n^2.
void lower_device_transform(kernel::StepBuilder& b, const Transform& transform);

}  // namespace thtrain
