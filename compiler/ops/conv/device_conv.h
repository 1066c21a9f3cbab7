// What kernels of a device share that compute a convolution of known lengths: where its operands lie, and how a number
// of a thread becomes positions and taps.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {

/// The products of a group as one of matrices: rows, columns and terms.
struct PatchProduct {
  int64_t rows, columns, terms;
};
/// Forward filters, (images, positions) and (channels, taps); to the images channels, (images, pixels) and (filters,
/// taps); to the filters filters, (channels, taps) and (images, positions).
PatchProduct patch_product(const Convolution& c);

/// Along the three spatial axes; 0 along those that the convolution does not have.
using SpatialTerms = std::array<kernel::Term, 3>;

/// Numbers of positions are int32 where all lengths allow that, since a device divides these faster.
class DeviceConv {
 public:
  DeviceConv(kernel::StepBuilder& b, const Convolution& c);

  /// The images, filters and results of the step, given or made.
  const kernel::Operand& image() const { return *image_; }
  const kernel::Operand& filters() const { return *filters_; }
  const kernel::Operand& results() const { return *results_; }

  /// An int64 as positions are counted.
  kernel::Term number(const kernel::Term& of) const { return kernel::cast(of, dtype_); }
  kernel::Term constant(int64_t value) const { return kernel::constant_int(dtype_, value); }
  /// A number's positions along axes of these lengths, in row-major order.
  std::vector<kernel::Term> positions(const kernel::Term& number, const std::vector<int64_t>& lengths);
  /// The element of an operand for a number that counts along its axes `axes`, in this order. Of each axis the number
  /// goes through `lengths`.
  kernel::Term element(const kernel::Operand& operand, const std::vector<size_t>& axes,
                       const std::vector<int64_t>& lengths, const kernel::Term& number);
  /// The int64 `number` times an operand's stride along an axis.
  kernel::Term along(const kernel::Operand& operand, size_t axis, const kernel::Term& number);

  /// Of which group the next are; 0 where there is one.
  void set_group(const kernel::Term& group) { group_ = group; }
  /// The first axis of length `first`, and the spatial ones, of a number that counts along all of them.
  std::pair<kernel::Term, SpatialTerms> split(const kernel::Term& number, int64_t first, int64_t ConvAxis::*length);
  /// The element of the left factor, filters or the gradient of results, that has this row and term.
  kernel::Term left(const kernel::Term& row, const kernel::Term& term);
  /// Assigns the element of the right factor, the patches, to a variable, where it is inside of what is read.
  void load_right(const kernel::Term& to, const kernel::Term& column, const kernel::Term& term);
  /// The same for what split() gives of a column and a term; of the passes whose columns are images.
  void load_right(const kernel::Term& to, const kernel::Term& n, const SpatialTerms& place, const kernel::Term& input,
                  const SpatialTerms& tap);
  /// The element of the output.
  kernel::Term result(const kernel::Term& row, const kernel::Term& column);

  /// Assigns x[n, c, position stride + tap dilation - before] to a variable, where that is inside of the image.
  void load_image(const kernel::Term& to, const kernel::Term& n, const kernel::Term& c, const SpatialTerms& position,
                  const SpatialTerms& tap);
  /// Assigns y[n, f, position] for the position whose tap reads the pixel, where there is one.
  void load_result(const kernel::Term& to, const kernel::Term& n, const kernel::Term& f, const SpatialTerms& pixel,
                   const SpatialTerms& tap);

 private:
  std::vector<int64_t> lengths(int64_t first, int64_t ConvAxis::*length) const;
  std::vector<size_t> axes(size_t first) const;
  kernel::Term filter(const kernel::Term& of_group) { return number(of_group + group_ * kernel::Term(c_.filters())); }
  kernel::Term channel(const kernel::Term& of_group) { return number(of_group + group_ * kernel::Term(c_.channels())); }
  void load_inside(const kernel::Term& to, const kernel::Operand& from, const kernel::Term& condition,
                   const kernel::Term& n, const kernel::Term& channel, const SpatialTerms& at);

  kernel::StepBuilder& b_;
  const Convolution& c_;
  DType dtype_;
  const kernel::Operand *image_, *filters_, *results_;
  kernel::Term group_ = 0;
};

}  // namespace thtrain
