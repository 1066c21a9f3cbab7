#include "compiler/cpu/conv/exchanged.h"

#include <utility>

#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {
namespace {

using kernel::StepBuilder;

// The same elements, row-major under these lengths.
kernel::Operand seen_as(kernel::Operand operand, const Dims& dims) {
  operand.type.dims = dims;
  operand.layout = row_major(dims);
  return operand;
}

// Copies elements of any axes to where the first two axes are exchanged.
void exchange(StepBuilder& b, const kernel::Operand& from, const kernel::Operand& to, const char* comment) {
  kernel::Location source = kernel::placed(from);
  std::swap(source.strides[0], source.strides[1]);
  Dims dims = from.type.dims;
  std::swap(dims[0], dims[1]);
  move_kernel(b, source, kernel::placed(seen_as(to, dims)), "conv_exchange", comment, true);
}
void exchange_images(StepBuilder& b, const kernel::Operand& from, const kernel::Operand& to, int64_t rows,
                     int64_t columns, int64_t length) {
  exchange(b, seen_as(from, {rows, columns, length}), to, "images and channels exchanged");
}

int64_t image_elements(const Convolution& c) {
  return c.n * c.c * c.pixels();
}
int64_t result_elements(const Convolution& c) {
  return c.n * c.f * c.positions();
}

}  // namespace

bool is_exchangeable(const Convolution& c) {
  return c.groups == 1;
}

Correlation exchanged_gradient(const Convolution& c) {
  Correlation out{.dtype = c.dtype,
                  .n = c.c,
                  .groups = 1,
                  .inputs = c.n,
                  .outputs = c.f,
                  .axes = {},
                  .is_gradient = false,
                  .rank = c.rank};
  for (size_t i = 0; i < 3; ++i) {
    const ConvAxis& axis = c.axes[i];
    out.axes[i] = {axis.in, axis.padded(), axis.kernel, axis.out, axis.dilation, axis.stride, 1, axis.before};
  }
  return out;
}

Convolution exchanged_forward(const Convolution& c) {
  Convolution out = c;
  out.pass = ConvPass::kWeightGradient;
  out.n = c.c;
  out.c = c.n;
  for (ConvAxis& axis : out.axes) {
    std::swap(axis.kernel, axis.out);
    std::swap(axis.stride, axis.dilation);
  }
  return out;
}

int64_t exchanged_workspace(const Convolution& c, const DirectTiling& tiling, const kernel::Target& target) {
  return workspace_of(tiling, exchanged_gradient(c), target) +
         (image_elements(c) + c.filter_elements()) * static_cast<int64_t>(size_of(c.dtype));
}

int64_t exchanged_workspace(const Convolution& c, const WeightTiling& tiling, const kernel::Target& target) {
  return workspace_of(tiling, exchanged_forward(c), target) +
         (image_elements(c) + c.filter_elements() + result_elements(c)) * static_cast<int64_t>(size_of(c.dtype));
}

void lower_exchanged(StepBuilder& b, const Convolution& c, const DirectTiling& tiling) {
  const kernel::Operand image = b.workspace(c.dtype, image_elements(c)),
                        result = b.workspace(c.dtype, c.filter_elements());
  kernel::Operand dy = b.input(1);
  std::swap(dy.type.dims[0], dy.type.dims[1]);
  std::swap(dy.layout.strides[0], dy.layout.strides[1]);
  exchange_images(b, b.input(0), image, c.n, c.c, c.pixels());
  lower_direct(b, exchanged_gradient(c), {image, dy, result}, tiling);
  exchange_images(b, result, b.output(), c.c, c.f, c.taps());
}

void lower_exchanged(StepBuilder& b, const Convolution& c, const WeightTiling& tiling) {
  const kernel::Operand image = b.workspace(c.dtype, image_elements(c)), w = b.workspace(c.dtype, c.filter_elements()),
                        result = b.workspace(c.dtype, result_elements(c));
  exchange_images(b, b.input(0), image, c.n, c.c, c.pixels());
  exchange(b, b.input(1), w, "filters and channels exchanged");
  lower_direct_weights(b, exchanged_forward(c), {image, w, result}, tiling);
  exchange_images(b, result, b.output(), c.f, c.n, c.positions());
}

}  // namespace thtrain
