#include "compiler/ops/pool/windows.h"

#include <algorithm>

#include "compiler/ops/shape/length_list.h"

namespace thtrain {

PoolWindows PoolWindows::of(const Props& props) {
  return {.window = props.get<Ints>("window"),
          .stride = props.get<Ints>("stride"),
          .before = props.get<Ints>("before"),
          .after = props.get<Ints>("after"),
          .ignore_border = props.get<bool>("ignore_border")};
}

void PoolWindows::add_to(Props& props) const {
  props.set("window", window);
  props.set("stride", stride);
  props.set("before", before);
  props.set("after", after);
  props.set("ignore_border", ignore_border);
}

Dim PoolWindows::count(size_t k, const Dim& length) const {
  const Dim space = length + before[k] + after[k] - window[k];
  if (ignore_border) return at_least_zero(floor_div(space, stride[k]) + 1);
  Dim out = at_least_zero(floor_div(space + stride[k] - 1, stride[k])) + 1;
  // Does the last one begin inside the image, or before it?
  const bool may_begin_behind = stride[k] > window[k] || after[k] > 0;
  return may_begin_behind ? min(out, floor_div(length + before[k] - 1, stride[k]) + 1) : out;
}

Dims PoolWindows::pooled(const Dims& image) const {
  Dims out = image;
  for (size_t k = 0; k < axes(); ++k) {
    Dim& length = out[image.size() - axes() + k];
    length = count(k, length);
  }
  return out;
}

int64_t PoolWindows::sharing() const {
  int64_t out = 1;
  for (size_t k = 0; k < axes(); ++k) out *= (window[k] - 1) / stride[k] + 1;
  return out;
}

void PoolWindows::require_fit(const TypeArgs& args, const Dims& image) const {
  const size_t n = axes();
  if (n < 1 || n > 3) args.fail(str("windows of ", n, " axes"), "1 to 3 axes");
  if (image.size() < n) args.fail(str("a window of ", n, " axes"), str("a value of at least ", n, " axes"));
  if (stride.size() != n) args.fail(str(stride.size(), " strides for a window of ", n, " axes"), "one for each axis");
  if (before.size() != n || after.size() != n)
    args.fail(str(before.size(), " paddings for a window of ", n, " axes"), "one for each axis");
  for (size_t k = 0; k < n; ++k) {
    const size_t axis = image.size() - n + k;
    const std::string of_axis = str(" of axis ", axis);
    if (window[k] < 1) args.fail(str("the window", of_axis, " has the length ", window[k]), "a length of at least 1");
    if (stride[k] < 1) args.fail(str("the stride", of_axis, " is ", stride[k]), "a step of at least 1");
    for (int64_t padding : {before[k], after[k]})
      if (padding < 0 || padding >= window[k])
        args.fail(str("the padding ", padding, of_axis, " does not fit its window ", window[k]),
                  str("0 <= padding < ", window[k]), "a window of nothing but padding has no value");
    const Dim& length = image[axis];
    require_at_most(args, 1, length, str("axis ", axis, " is empty"));
    if (length.is_known() && count(k, length).is(0))
      args.fail(str("the window ", window[k], of_axis, " is longer than the padded axis, ",
                    length.value() + before[k] + after[k]),
                {}, "with ignore_border false a window may stick out at the end");
  }
}

std::string_view name_of(PoolDivisor divisor) {
  return divisor == PoolDivisor::kOne ? "one" : divisor == PoolDivisor::kInside ? "inside" : "padded";
}

PoolDivisor divisor_of(const Props& props) {
  const std::string& name = props.get<std::string>("divisor");
  for (PoolDivisor divisor : {PoolDivisor::kOne, PoolDivisor::kInside, PoolDivisor::kPadded})
    if (name_of(divisor) == name) return divisor;
  TH_CHECK(false, "no such divisor of pooled sums: ", name);
  return {};
}

int64_t divisor_of(const PoolWindows& windows, PoolDivisor divisor, const Shape& image, const Shape& at) {
  int64_t out = 1;
  if (divisor == PoolDivisor::kOne) return out;
  for (size_t k = 0; k < windows.axes(); ++k) {
    const size_t axis = image.size() - windows.axes() + k;
    int64_t begin = at[axis] * windows.stride[k] - windows.before[k], end = begin + windows.window[k];
    if (divisor == PoolDivisor::kInside) begin = std::max<int64_t>(begin, 0);
    out *= std::min(end, image[axis] + (divisor == PoolDivisor::kPadded ? windows.after[k] : 0)) - begin;
  }
  return out;
}

}  // namespace thtrain
