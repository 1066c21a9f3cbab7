// The forward pass and the gradient to the images, as one thing: a correlation of images, that may have zeros around
// and between their elements, with filters that are read in either direction.
#pragma once

#include "compiler/cpu/conv/position_pooling.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/conv/convolution.h"
#include "compiler/ops/linalg/kernel_epilogue.h"

namespace thtrain {

/// Taps first, first + step, ... of an axis, `count` of them, and what the first of them reads for the first position.
struct PhaseTaps {
  int64_t first, step, count;
  int64_t offset, offset_step;  // in elements of the padded image, from tap to tap
};

/// One spatial axis: `out` positions, `stride` apart, over an image of `padded` elements. Element q of the image lies
/// at q gap + before; before may be negative. With `phases` > 1 the zeros between the elements are not there: position
/// x phases + r reads, from element x on, those taps alone that fall on elements; then stride and gap are 1.
struct CorrelationAxis {
  int64_t in, padded, out, kernel, stride, dilation, gap, before;
  int64_t phases = 1, origin = 0;  // element 0, where zeros lie between the elements
  bool is_bare = false;            // kernels read the elements alone, and leave out the taps that fall on zeros

  /// Does tap k of a position fall on a zero, around or between the elements?
  bool falls_on_zero(int64_t position, int64_t k) const {
    const int64_t at = position * stride + k * dilation - (phases > 1 ? origin : before), between = gap * phases;
    return at < 0 || at % between != 0 || at / between >= in;
  }
  /// Positions r, r + phases, ...
  int64_t positions_of(int64_t phase) const { return (out - phase + phases - 1) / phases; }
  PhaseTaps taps_of(int64_t phase) const;
  /// Does a tap of some position fall on a zero?
  bool has_zeros() const;
  /// Do all taps of some position?
  bool has_empty_positions() const;
  /// Elements of the axis in the image that kernels read, and how many in front of them it leaves out.
  int64_t stored() const { return is_bare ? in : padded; }
  int64_t skipped() const { return is_bare ? before : 0; }
};

/// y[n, g, o, position] = sum over i, k of image[n, g, i, position stride + k dilation] w(g, o, i, k).
struct Correlation {
  DType dtype;
  int64_t n, groups, inputs, outputs;  // channels of a group
  std::array<CorrelationAxis, 3> axes;
  bool is_gradient;  // then filters are read as w[g inputs + i, o, K - 1 - k], else as w[g outputs + o, i, k]
  size_t rank;

  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  int64_t positions() const { return axes[0].out * axes[1].out * axes[2].out; }
  int64_t stored_pixels() const { return axes[0].stored() * axes[1].stored() * axes[2].stored(); }
  bool is_copied() const;  // the image that kernels read is not the image
};

/// Of the forward pass or the gradient to the images, whose rows are in phases.
Correlation correlation_of(const Convolution& convolution);

/// What a step with a correlation reads, images row-major and filters [outputs, inputs, taps...] of any layout, and
/// what becomes of its results: they are stored, row-major, or an epilogue takes them.
struct CorrelationStep {
  kernel::Operand image, w, out;       // with an epilogue, `out` is not used
  KernelEpilogue* epilogue = nullptr;  // its indices have an axis for images, one for filters, and the spatial ones
  PositionPooling* pooling = nullptr;  // of direct kernels: the results are windows of positions
  KernelValues* before = nullptr;      // what is pooled, where that is not the sums
};
/// Of a step of conv or conv_input_gradient.
CorrelationStep step_of(const kernel::StepBuilder& builder, const Correlation& c);
/// The kernel's name with that of what it ends with.
std::string name_of_kernel(std::string name, const CorrelationStep& step);
/// A position of the result as an index with all spatial axes: those of `spatial` that the correlation has.
std::vector<kernel::Term> index_of_result(const Correlation& c, const kernel::Term& image, const kernel::Term& filter,
                                          const std::array<kernel::Term, 3>& spatial);

/// The operands of a correlation's kernels, prepared by kernels of their own.
struct CorrelationOperands {
  kernel::Operand image;  // row-major [n, groups inputs, stored...]
  kernel::Operand w;      // row-major [groups, blocks, inputs, taps, block]; 0 beyond the filters
};

/// The images with the zeros of axes that are not bare, row-major [n, groups inputs, stored...]: `image` itself where
/// there are none.
kernel::Operand padded_images(kernel::StepBuilder& builder, const Correlation& c, const kernel::Operand& image);
/// Bytes of workspace that padded_images() takes.
int64_t padded_bytes(const Correlation& c);

/// Bytes of workspace that prepare() takes for filters packed in blocks of `block`.
int64_t prepared_bytes(const Correlation& c, int64_t block);
/// Writes the kernels that pad the images, where that is needed, and pack the filters.
CorrelationOperands prepare(kernel::StepBuilder& builder, const Correlation& c, const CorrelationStep& step,
                            int64_t block);

}  // namespace thtrain
