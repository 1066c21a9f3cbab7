// A node of fft, rfft or irfft as libraries and kernels of devices see it.
#pragma once

#include <array>

#include "compiler/ir/node.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// Of an array of count x n[0] x n[1] x n[2] x inner numbers in time, along the axes of n.
struct Transform {
  enum Kind : int64_t { kComplex, kRealToHalf, kHalfToReal } kind;
  Dim count = 1;
  std::array<Dim, 3> n = {1, 1, 1};
  Dim inner = 1;
  bool inverse = false;
  int64_t norm = 0;  // divides by 1, by the root of n[0] n[1] n[2], by n[0] n[1] n[2]

  Dim elements() const { return n[0] * n[1] * n[2]; }
};
Transform transform_of(const Node& node);

/// Calls a function with fft's parameters (fft_functions.h) for the step, on the numbers of `in`.
void call_transform(kernel::StepBuilder& builder, const kernel::LibraryFunction& function, const Transform& transform,
                    const kernel::Operand& in);
/// The step on a device: by the chosen candidate where the lengths of the axes are known, else by
/// lower_transform_lines.
void lower_on_device(kernel::StepBuilder& builder);
/// Kernels of a device in which a block of threads takes a line. Along an axis of known length each prime factor p
/// takes n p products of complex numbers, and 4 takes two factors 2; along others the definition is computed, n^2.
void lower_transform_lines(kernel::StepBuilder& builder);

}  // namespace thtrain
