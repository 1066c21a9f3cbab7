#include "compiler/ops/conv/library_step.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

kernel::Operand row_major_filters(StepBuilder& b, const Convolution& c, const kernel::Operand& w) {
  const kernel::Operand out = b.workspace(c.dtype, c.f * c.channels() * c.taps());
  kernel::Code& code = b.code();
  const int64_t height = c.axes[1].kernel, width = c.axes[2].kernel;
  code.loop("i", b.begin(), b.end(), 1, LoopMark::kSequential, [&](const Term& i) {
    code.loop("tap", Term(c.taps()), [&](const Term& tap) {
      const std::vector<Term> k = {tap / Term(height * width), tap / Term(width) % Term(height), tap % Term(width)};
      std::vector<Term> at = {i / Term(c.channels()), i % Term(c.channels())};
      at.insert(at.end(), k.end() - static_cast<ptrdiff_t>(c.rank), k.end());
      b.store(out, i * Term(c.taps()) + tap, b.load(w, b.index_of(w, at)));
    });
  });
  b.finish_kernel("conv_filters", "filters in the order of their axes", c.f * c.channels(),
                  std::max<int64_t>(1, (1 << 14) / c.taps()));
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
