#include "compiler/ops/conv/device_conv.h"

#include <algorithm>
#include <limits>

namespace thtrain {

using kernel::StepBuilder;
using kernel::Term;

namespace {

Term both(const Term& a, const Term& b) {
  return static_cast<bool>(a) ? a && b : b;
}

}  // namespace

DeviceConv::DeviceConv(StepBuilder& b, const Convolution& c) : b_(b), c_(c) {
  const bool is_forward = c.pass == ConvPass::kForward, is_weight = c.pass == ConvPass::kWeightGradient;
  image_ = c.pass == ConvPass::kInputGradient ? &b.output() : &b.input(0);
  filters_ = is_weight ? &b.output() : &b.input(is_forward ? 1 : 0);
  results_ = is_forward ? &b.output() : &b.input(1);
  // Twice what positions and taps reach, also those beyond the last tile.
  int64_t most = std::max({c.n * c.positions(), c.n * c.pixels(), c.c * c.taps(), c.f * c.taps()});
  for (const ConvAxis& axis : c.axes) most = std::max(most, axis.padded() + axis.span());
  dtype_ = most < std::numeric_limits<int32_t>::max() / 2 ? DType::kInt32 : DType::kInt64;
}

std::vector<int64_t> DeviceConv::lengths(int64_t first, int64_t ConvAxis::*length) const {
  std::vector<int64_t> out{first};
  for (size_t i = 3 - c_.rank; i < 3; ++i) out.push_back(c_.axes[i].*length);
  return out;
}

std::vector<size_t> DeviceConv::axes(size_t first) const {
  std::vector<size_t> out{first};
  for (size_t i = 0; i < c_.rank; ++i) out.push_back(2 + i);
  return out;
}

std::vector<Term> DeviceConv::positions(const Term& number, const std::vector<int64_t>& lengths) {
  std::vector<Term> out(lengths.size(), constant(0));
  Term rest = number;
  const auto is_last = [&](size_t i) {
    return std::all_of(lengths.begin(), lengths.begin() + static_cast<ptrdiff_t>(i),
                       [](int64_t length) { return length == 1; });
  };
  for (size_t i = lengths.size(); i-- > 0;) {
    if (is_last(i)) {
      out[i] = rest;
      break;
    }
    if (lengths[i] == 1) continue;
    const Term quotient = b_.code().let("rest", rest / constant(lengths[i]));
    out[i] = b_.code().let("at", rest - quotient * constant(lengths[i]));
    rest = quotient;
  }
  return out;
}

Term DeviceConv::along(const kernel::Operand& operand, size_t axis, const Term& number) {
  return kernel::cast(number, DType::kInt64) * b_.length(operand.layout.strides[axis]);
}

Term DeviceConv::element(const kernel::Operand& operand, const std::vector<size_t>& axes,
                         const std::vector<int64_t>& lengths, const Term& number) {
  // Axes that lie as one are counted as one.
  std::vector<size_t> of;
  std::vector<int64_t> joined;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dims& strides = operand.layout.strides;
    if (!of.empty() && strides[of.back()] == strides[axes[i]] * Dim(lengths[i])) {
      of.back() = axes[i];
      joined.back() *= lengths[i];
    } else {
      of.push_back(axes[i]);
      joined.push_back(lengths[i]);
    }
  }
  const std::vector<Term> at = positions(number, joined);
  Term out = 0;
  for (size_t i = 0; i < of.size(); ++i) out = out + along(operand, of[i], at[i]);
  return out;
}

void DeviceConv::load_inside(const Term& to, const kernel::Operand& from, const Term& condition, const Term& n,
                             const Term& channel, const SpatialTerms& at) {
  const auto load = [&] {
    Term index = along(from, 0, n) + along(from, 1, channel);
    for (size_t i = 0; i < c_.rank; ++i) index = index + along(from, 2 + i, at[3 - c_.rank + i]);
    b_.code().assign(to, b_.load(from, b_.code().let("element", index)));
  };
  static_cast<bool>(condition) ? b_.code().if_(condition, load) : load();
}

void DeviceConv::load_image(const Term& to, const Term& n, const Term& c, const SpatialTerms& position,
                            const SpatialTerms& tap) {
  SpatialTerms at;
  Term is_inside;
  for (size_t i = 0; i < 3; ++i) {
    const ConvAxis& axis = c_.axes[i];
    at[i] = b_.code().let(
        "pixel", position[i] * constant(axis.stride) + tap[i] * constant(axis.dilation) - constant(axis.before));
    if (axis.before > 0) is_inside = both(is_inside, at[i] >= constant(0));
    if (axis.after > 0) is_inside = both(is_inside, at[i] < constant(axis.in));
  }
  load_inside(to, image(), is_inside, n, c, at);
}

void DeviceConv::load_result(const Term& to, const Term& n, const Term& f, const SpatialTerms& pixel,
                             const SpatialTerms& tap) {
  SpatialTerms at;
  Term is_there;
  for (size_t i = 0; i < 3; ++i) {
    const ConvAxis& axis = c_.axes[i];
    const Term steps = b_.code().let("steps", pixel[i] + constant(axis.before) - tap[i] * constant(axis.dilation));
    at[i] = axis.stride == 1 ? steps : b_.code().let("position", steps / constant(axis.stride));
    if (axis.stride > 1) is_there = both(is_there, steps == at[i] * constant(axis.stride));
    if (axis.in > 1 || axis.before > 0 || axis.after > 0)
      is_there = both(is_there, steps >= constant(0) && at[i] < constant(axis.out));
  }
  load_inside(to, results(), is_there, n, f, at);
}

std::pair<Term, SpatialTerms> DeviceConv::split(const Term& of, int64_t first, int64_t ConvAxis::*length) {
  const std::vector<Term> at = positions(number(of), lengths(first, length));
  SpatialTerms spatial{constant(0), constant(0), constant(0)};
  std::copy(at.begin() + 1, at.end(), spatial.end() - static_cast<ptrdiff_t>(c_.rank));
  return {at[0], spatial};
}

Term DeviceConv::left(const Term& row, const Term& term) {
  const Term of = number(term);
  Term out;
  if (c_.pass == ConvPass::kForward)
    out = along(filters(), 0, filter(row)) + element(filters(), axes(1), lengths(c_.channels(), &ConvAxis::kernel), of);
  else if (c_.pass == ConvPass::kInputGradient)
    out = along(filters(), 1, number(row)) + along(filters(), 0, filter(0)) +
          element(filters(), axes(0), lengths(c_.filters(), &ConvAxis::kernel), of);
  else
    out = along(results(), 1, filter(row)) + element(results(), axes(0), lengths(c_.n, &ConvAxis::out), of);
  return b_.code().let("element", out);
}

void DeviceConv::load_right(const Term& to, const Term& column, const Term& term) {
  if (c_.pass == ConvPass::kWeightGradient) {
    const auto [n, position] = split(term, c_.n, &ConvAxis::out);
    const auto [c, tap] = split(column, c_.channels(), &ConvAxis::kernel);
    return load_image(to, n, channel(kernel::cast(c, DType::kInt64)), position, tap);
  }
  const bool is_forward = c_.pass == ConvPass::kForward;
  const auto [n, place] = split(column, c_.n, is_forward ? &ConvAxis::out : &ConvAxis::in);
  const auto [input, tap] = split(term, is_forward ? c_.channels() : c_.filters(), &ConvAxis::kernel);
  load_right(to, n, place, input, tap);
}

void DeviceConv::load_right(const Term& to, const Term& n, const SpatialTerms& place, const Term& input,
                            const SpatialTerms& tap) {
  const Term of = kernel::cast(input, DType::kInt64);
  if (c_.pass == ConvPass::kForward)
    load_image(to, n, channel(of), place, tap);
  else
    load_result(to, n, filter(of), place, tap);
}

Term DeviceConv::result(const Term& row, const Term& column) {
  const kernel::Operand& out = b_.output();
  const Term of = number(column);
  if (c_.pass == ConvPass::kForward)
    return along(out, 1, filter(row)) + element(out, axes(0), lengths(c_.n, &ConvAxis::out), of);
  if (c_.pass == ConvPass::kInputGradient)
    return along(out, 1, channel(row)) + element(out, axes(0), lengths(c_.n, &ConvAxis::in), of);
  return along(out, 0, filter(row)) + element(out, axes(1), lengths(c_.channels(), &ConvAxis::kernel), of);
}

PatchProduct patch_product(const Convolution& c) {
  switch (c.pass) {
    case ConvPass::kForward:
      return {c.filters(), c.n * c.positions(), c.channels() * c.taps()};
    case ConvPass::kInputGradient:
      return {c.channels(), c.n * c.pixels(), c.filters() * c.taps()};
    case ConvPass::kWeightGradient:
      break;
  }
  return {c.filters(), c.channels() * c.taps(), c.n * c.positions()};
}

}  // namespace thtrain
