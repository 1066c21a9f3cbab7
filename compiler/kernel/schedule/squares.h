// Nests that read along another axis than they write: vectors are made of squares of elements.
#pragma once

#include <optional>
#include <string>

#include "compiler/kernel/schedule/locations.h"

namespace thtrain::kernel {

/// The axes of loops whose elements lie side by side: where the nest stores, and where it loads what lies otherwise.
struct SquareAxes {
  size_t stored, loaded;
};
/// Of a nest without reductions, over `axes` of its tracks: nullopt where no load lies along another axis than the
/// stores, and where squares do not pay.
std::optional<SquareAxes> square_axes(const StepBuilder& b, const Nest& nest, const Tracks& tracks,
                                      const std::vector<LoopAxis>& axes);

/// The kernel of such a nest: squares are loaded along one axis, transposed in registers, and stored along the other.
void schedule_squares(StepBuilder& b, const Nest& nest, const SquareAxes& square, std::string name,
                      std::string comment);

}  // namespace thtrain::kernel
