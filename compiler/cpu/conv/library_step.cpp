#include "compiler/cpu/conv/library_step.h"

#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {
namespace {

using kernel::StepBuilder;

kernel::Operand row_major_filters(StepBuilder& b, const Convolution& c, const kernel::Operand& w) {
  const kernel::Operand out = b.workspace(c.dtype, c.f * c.channels() * c.taps());
  kernel::Operand to = out;
  to.type.dims = w.type.dims;
  to.layout = row_major(w.type.dims);
  move_kernel(b, kernel::placed(w), kernel::placed(to), "conv_filters", "filters in the order of their axes", true);
  return out;
}

}  // namespace

std::array<kernel::Operand, 2> row_major_inputs(StepBuilder& b, const Convolution& c) {
  std::array<kernel::Operand, 2> out = {b.input(0), b.input(1)};
  if (c.pass == ConvPass::kWeightGradient) return out;
  kernel::Operand& w = out[c.pass == ConvPass::kForward ? 1 : 0];
  if (!is_row_major(w.type.dims, w.layout)) w = row_major_filters(b, c, w);
  return out;
}

int64_t row_major_bytes(const Convolution& c) {
  if (c.pass == ConvPass::kWeightGradient) return 0;
  return c.f * c.channels() * c.taps() * static_cast<int64_t>(size_of(c.dtype));
}

LibraryArguments conv_arguments(const Convolution& c) {
  LibraryArguments out = {Dim(static_cast<int64_t>(c.pass)), Dim(c.n), Dim(c.c), Dim(c.f), Dim(c.groups)};
  for (const ConvAxis& axis : c.axes)
    for (int64_t number : {axis.in, axis.kernel, axis.out, axis.stride, axis.dilation, axis.before})
      out.emplace_back(Dim(number));
  return out;
}

}  // namespace thtrain
