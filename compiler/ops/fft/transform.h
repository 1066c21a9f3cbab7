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

/// Calls a function with fft's parameters (fft_functions.h), from the numbers of `in` to those of `out`.
void call_transform(kernel::StepBuilder& builder, const kernel::LibraryFunction& function, const Transform& transform,
                    const kernel::Operand& in, const kernel::Operand& out);
/// The step on a device: by the chosen candidate where the lengths of the axes are known, else by
/// lower_transform_lines.
void lower_on_device(kernel::StepBuilder& builder);
/// Kernels of a device in which a block of threads takes a line. Along an axis of known length each prime factor p
/// takes n p products of complex numbers, and 4 takes two factors 2; along others the definition is computed, n^2.
void lower_transform_lines(kernel::StepBuilder& builder);

/// Room for the complex numbers of such a transform, twice; one of complex numbers leaves the first alone.
struct LineMemory {
  kernel::Operand numbers, other;
};
/// The same kernels from `in` to `out`, which may be one where they are complex.
void transform_lines(kernel::StepBuilder& builder, const Transform& transform, const kernel::Operand& in,
                     const kernel::Operand& out, const LineMemory& memory);
/// Elements that transform_lines() takes itself: the roots of 1 along each axis of known length.
int64_t line_roots(const std::array<int64_t, 3>& lengths);

}  // namespace thtrain
