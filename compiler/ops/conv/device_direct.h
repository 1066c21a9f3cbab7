// Convolutions of few channels on a device, by the definition: a block of threads takes positions of images, with all
// filters' elements that it needs in shared memory. A thread has several positions, and for each some results of the
// same position; each element of the images that it loads takes part in all of these. The forward pass and the gradient
// to the images, whose few channels are those of the results.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel/target.h"
#include "compiler/ops/conv/device_conv.h"

namespace thtrain {

/// Of a thread: results of a position (4, 8 or 16), and positions (1, 2 or 4).
struct DeviceDirect {
  int rows = 8, positions = 2;
};

/// "direct 8x2"; and back (nullopt where it is no such name).
std::string name_of(const DeviceDirect& direct);
std::optional<DeviceDirect> device_direct_named(std::string_view name);

/// Is it a pass that has such kernels, and do the filters' elements of a block fit its shared memory?
bool is_possible(const DeviceDirect& direct, const Convolution& c, const kernel::Target& target);
/// Those that are worth a trial, the one that is taken without measurements first; none where there are more than 4
/// channels on both sides.
std::vector<DeviceDirect> device_directs(const Convolution& c, const kernel::Target& target);
/// Writes the step of the pass.
void lower_device_direct(kernel::StepBuilder& builder, const Convolution& c, const DeviceDirect& direct);

}  // namespace thtrain
