#include "compiler/ops/conv/exchanged.h"

#include <algorithm>
#include <utility>

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

// [rows][columns][length] to [columns][rows][length].
void exchange(StepBuilder& b, DType dtype, const kernel::Operand& from, const kernel::Operand& to, int64_t rows,
              int64_t columns, int64_t length) {
  kernel::Code& code = b.code();
  const int lanes = b.lanes_of(dtype);
  const int64_t whole = length / lanes * lanes, rest = length - whole;
  code.loop("i", b.begin(), b.end(), 1, LoopMark::kSequential, [&](const Term& i) {
    const Term target = code.let("target", i * Term(length)),
               source = code.let("source", (i % Term(rows) * Term(columns) + i / Term(rows)) * Term(length));
    auto copy = [&](const Term& x, const Term& count) {
      b.store(to, target + x, b.load(from, source + x, lanes, 1, count), 1, count);
    };
    if (whole > 0) code.loop("x", 0, whole, lanes, LoopMark::kSequential, [&](const Term& x) { copy(x, {}); });
    if (rest > 0) copy(Term(whole), Term(rest));
  });
  b.finish_kernel("conv_exchange", "images and channels exchanged", rows * columns,
                  std::max<int64_t>(1, (1 << 14) / length));
}

// Filters [f, c, taps] of any layout to row-major [c, f, taps].
void exchange_filters(StepBuilder& b, const Convolution& c, const kernel::Operand& w, const kernel::Operand& to) {
  kernel::Code& code = b.code();
  const int64_t height = c.axes[1].kernel, width = c.axes[2].kernel;
  code.loop("i", b.begin(), b.end(), 1, LoopMark::kSequential, [&](const Term& i) {
    const Term channel = code.let("channel", i / Term(c.f)), filter = code.let("filter", i % Term(c.f));
    code.loop("tap", Term(c.taps()), [&](const Term& tap) {
      const std::vector<Term> k = {tap / Term(height * width), tap / Term(width) % Term(height), tap % Term(width)};
      std::vector<Term> at = {filter, channel};
      at.insert(at.end(), k.end() - static_cast<ptrdiff_t>(c.rank), k.end());
      b.store(to, i * Term(c.taps()) + tap, b.load(w, b.index_of(w, at)));
    });
  });
  b.finish_kernel("conv_exchange", "filters and channels exchanged", c.c * c.f,
                  std::max<int64_t>(1, (1 << 14) / c.taps()));
}

int64_t image_elements(const Convolution& c) {
  return c.n * c.c * c.pixels();
}
int64_t result_elements(const Convolution& c) {
  return c.n * c.f * c.places();
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
  exchange(b, c.dtype, b.input(0), image, c.n, c.c, c.pixels());
  lower_direct(b, exchanged_gradient(c), {image, dy, result}, tiling);
  exchange(b, c.dtype, result, b.output(), c.c, c.f, c.taps());
}

void lower_exchanged(StepBuilder& b, const Convolution& c, const WeightTiling& tiling) {
  const kernel::Operand image = b.workspace(c.dtype, image_elements(c)), w = b.workspace(c.dtype, c.filter_elements()),
                        result = b.workspace(c.dtype, result_elements(c));
  exchange(b, c.dtype, b.input(0), image, c.n, c.c, c.pixels());
  exchange_filters(b, c, b.input(1), w);
  lower_direct_weights(b, exchanged_forward(c), {image, w, result}, tiling);
  exchange(b, c.dtype, result, b.output(), c.f, c.n, c.places());
}

}  // namespace thtrain
