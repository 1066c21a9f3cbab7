#include "compiler/cpu/conv/correlation.h"

#include <algorithm>
#include <numeric>

#include "compiler/cpu/conv/tiles.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

namespace {

// [group][block][input][tap][filter of the block].
kernel::Operand packed_filters(StepBuilder& b, const Correlation& c, const kernel::Operand& w, int64_t block) {
  const int64_t blocks = ceil_div(c.outputs, block);
  const kernel::Operand out = b.workspace(c.dtype, c.groups * blocks * c.inputs * c.taps() * block);
  const Dims& steps = w.layout.strides;
  const Dim of_input = steps[c.is_gradient ? 0 : 1], of_filter = steps[c.is_gradient ? 1 : 0];
  Dims lengths{c.groups, blocks, c.inputs};
  kernel::Location from{w,
                        {(c.is_gradient ? of_input * c.inputs : of_filter * c.outputs), of_filter * block, of_input}};
  for (size_t axis = 0; axis < c.rank; ++axis) {
    const int64_t taps = c.axes[3 - c.rank + axis].kernel;
    const Dim& step = steps[2 + axis];
    lengths.emplace_back(taps);
    from.strides.push_back(c.is_gradient ? Dim(0) - step : step);
    if (c.is_gradient) from.first = from.first + b.length(step * (taps - 1));
  }
  lengths.emplace_back(block);
  from.strides.push_back(of_filter);
  kernel::Nest nest(lengths);
  nest.work = kMoveWork;
  nest.is_read_again = true;
  if (c.outputs % block != 0) {
    nest.bounds.push_back({Dims(lengths.size(), Dim(0)), 0, c.outputs});
    nest.bounds[0].strides[1] = block;
    nest.bounds[0].strides.back() = 1;
  }
  const Term filter =
      nest.bounds.empty() ? nest.load("filter", from) : nest.load_inside("filter", from, kernel::constant(c.dtype, 0));
  nest.store({out, row_major(lengths).strides}, filter);
  kernel::schedule(b, nest, "conv_pack", str("filters in blocks of ", block));
  return out;
}

// The zeros between the elements of a row left out: the padded image has those elements that some tap reads.
CorrelationAxis in_phases(CorrelationAxis axis) {
  if (axis.gap == 1) return axis;
  axis.phases = axis.gap;
  axis.origin = axis.before;
  axis.gap = 1;
  axis.before = 0;  // then offsets are counted from element 0
  int64_t first = 0, last = 0;
  for (int64_t phase = 0; phase < std::min(axis.phases, axis.out); ++phase) {
    const PhaseTaps taps = axis.taps_of(phase);
    if (taps.count == 0) continue;
    first = std::min(first, taps.offset);
    last = std::max(last, taps.offset + (taps.count - 1) * taps.offset_step + axis.positions_of(phase) - 1);
  }
  axis.before = -first;
  axis.padded = std::max(axis.in, last + 1) - first;
  return axis;
}

}  // namespace

PhaseTaps CorrelationAxis::taps_of(int64_t phase) const {
  if (phases == 1) return {0, 1, kernel, 0, dilation};
  const int64_t step = phases / std::gcd(phases, dilation);
  for (int64_t k = 0; k < std::min(step, kernel); ++k)
    if (const int64_t at = phase + k * dilation - origin; at % phases == 0)
      return {k, step, ceil_div(kernel - k, step), at / phases + before, step * dilation / phases};
  return {0, step, 0, 0, 0};
}

bool CorrelationAxis::has_zeros() const {
  for (int64_t position = 0; position < out; ++position)
    for (int64_t k = 0; k < kernel; ++k)
      if (falls_on_zero(position, k)) return true;
  return false;
}

bool CorrelationAxis::has_empty_positions() const {
  for (int64_t position = 0; position < out; ++position) {
    bool is_empty = true;
    for (int64_t k = 0; k < kernel && is_empty; ++k) is_empty = falls_on_zero(position, k);
    if (is_empty) return true;
  }
  return false;
}

bool Correlation::is_copied() const {
  for (const CorrelationAxis& axis : axes)
    if (!axis.is_bare && (axis.before != 0 || axis.gap != 1 || axis.padded != axis.in)) return true;
  return false;
}

Correlation correlation_of(const Convolution& c) {
  Correlation out{.dtype = c.dtype,
                  .n = c.n,
                  .groups = c.groups,
                  .inputs = c.channels(),
                  .outputs = c.filters(),
                  .axes = {},
                  .is_gradient = c.pass == ConvPass::kInputGradient,
                  .rank = c.rank};
  if (out.is_gradient) std::swap(out.inputs, out.outputs);
  for (size_t i = 0; i < 3; ++i) {
    const ConvAxis& axis = c.axes[i];
    if (out.is_gradient)
      out.axes[i] = {axis.out,    axis.in + axis.span() - 1,    axis.in, axis.kernel, 1, axis.dilation,
                     axis.stride, axis.span() - 1 - axis.before};
    else
      out.axes[i] = {axis.in, axis.padded(), axis.out, axis.kernel, axis.stride, axis.dilation, 1, axis.before};
  }
  out.axes[2] = in_phases(out.axes[2]);
  return out;
}

CorrelationStep step_of(const StepBuilder& b, const Correlation& c) {
  return {b.input(c.is_gradient ? 1 : 0), b.input(c.is_gradient ? 0 : 1), b.output()};
}

std::string name_of_kernel(std::string name, const CorrelationStep& step) {
  return step.epilogue ? str(name, "_", step.epilogue->name()) : name;
}

std::vector<Term> index_of_result(const Correlation& c, const Term& image, const Term& filter,
                                  const std::array<Term, 3>& spatial) {
  std::vector<Term> out = {image, filter};
  out.insert(out.end(), spatial.end() - static_cast<ptrdiff_t>(c.rank), spatial.end());
  return out;
}

int64_t padded_bytes(const Correlation& c) {
  return c.is_copied() ? c.n * c.groups * c.inputs * c.stored_pixels() * static_cast<int64_t>(size_of(c.dtype)) : 0;
}

kernel::Operand padded_images(StepBuilder& b, const Correlation& c, const kernel::Operand& image) {
  if (!c.is_copied()) return image;
  const CorrelationAxis &d = c.axes[0], &h = c.axes[1], &w = c.axes[2];
  const int64_t planes = c.n * c.groups * c.inputs, rows = planes * d.stored() * h.stored(), row_length = w.stored(),
                before = w.before - w.skipped();
  const kernel::Operand out = b.workspace(c.dtype, rows * row_length);
  const int lanes = b.lanes_of(c.dtype);
  kernel::Code& code = b.code();
  const Term zero = kernel::splat(kernel::constant(c.dtype, 0), lanes);
  auto zeros = [&](const Term& row, int64_t first, int64_t last) {
    for (int64_t at = first; at < last; at += lanes)
      b.store(out, row + Term(at), zero, 1, last - at < lanes ? Term(last - at) : Term());
  };
  // The elements of a row that lie inside: q + before in [0, row_length).
  const int64_t first = std::max<int64_t>(0, -before), last = std::min(w.in, row_length - before);
  code.loop("row", b.begin(), b.end(), 1, LoopMark::kSequential, [&](const Term& row) {
    auto gap = [](const CorrelationAxis& axis) { return axis.is_bare ? 1 : axis.gap; };
    const Term y = code.let("y", row % Term(h.stored()) - Term(h.is_bare ? 0 : h.before)),
               z = code.let("z", row / Term(h.stored()) % Term(d.stored()) - Term(d.is_bare ? 0 : d.before)),
               plane = code.let("plane", row / Term(h.stored() * d.stored())),
               to = code.let("to", row * Term(row_length));
    auto holds = [&](const CorrelationAxis& axis, const Term& at) {
      Term inside = at >= Term(0) && at <= Term((axis.in - 1) * gap(axis));
      return gap(axis) == 1 ? inside : inside && at % Term(gap(axis)) == Term(0);
    };
    code.if_(
        holds(h, y) && holds(d, z),
        [&] {
          const Term from =
              code.let("from", ((plane * Term(d.in) + z / Term(gap(d))) * Term(h.in) + y / Term(gap(h))) * Term(w.in));
          if (first >= last) return zeros(to, 0, row_length);
          zeros(to, 0, std::max<int64_t>(0, before));
          const int64_t whole = first + (last - first) / lanes * lanes;
          auto copy = [&](const Term& x, const Term& count) {
            b.store(out, to + x + Term(before), b.load(image, from + x, lanes, 1, count), 1, count);
          };
          if (whole > first)
            code.loop("x", first, whole, lanes, LoopMark::kSequential, [&](const Term& x) { copy(x, {}); });
          if (whole < last) copy(Term(whole), Term(last - whole));
          zeros(to, last + before, row_length);
        },
        [&] { zeros(to, 0, row_length); });
  });
  b.finish_kernel("conv_pad", "images with zeros around them", rows, std::max<int64_t>(1, (1 << 16) / row_length));
  return out;
}

int64_t prepared_bytes(const Correlation& c, int64_t block) {
  const int64_t w = c.groups * ceil_div(c.outputs, block) * block * c.inputs * c.taps();
  return w * static_cast<int64_t>(size_of(c.dtype)) + padded_bytes(c);
}

CorrelationOperands prepare(StepBuilder& b, const Correlation& c, const CorrelationStep& step, int64_t block) {
  CorrelationOperands out{padded_images(b, c, step.image), {}};
  out.w = packed_filters(b, c, step.w, block);
  return out;
}

}  // namespace thtrain
