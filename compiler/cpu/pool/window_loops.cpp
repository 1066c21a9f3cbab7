#include "compiler/cpu/pool/window_loops.h"

#include <algorithm>
#include <bit>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::Term;

namespace {

constexpr int64_t kBufferColumns = 1024;  // of 8 bytes at most: three buffers stay in the first cache
constexpr int64_t kWidest = 4096;

int lanes_for(int full, const Dim& elements) {
  if (!elements.is_known()) return full;
  return static_cast<int>(std::min<uint64_t>(
      static_cast<uint64_t>(full), std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(elements.value(), 1)))));
}

}  // namespace

Term larger_of(const Term& a, const Term& b) {
  return kernel::select(a > b, a, b);
}
Term smaller_of(const Term& a, const Term& b) {
  return kernel::select(a < b, a, b);
}
int64_t rounded_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

bool WindowLoops::is_too_wide(const PoolWindows& windows) {
  return std::max(windows.window.back(), windows.stride.back()) > kWidest;
}

Dim WindowLoops::Axis::covered() const {
  return min(length, (windows - 1) * stride - before + window);
}

WindowLoops::WindowLoops(kernel::StepBuilder& b, const PoolWindows& windows, const Dims& image, DType dtype)
    : b_(b), code_(b.code()), dtype_(dtype), full_lanes_(std::max(1, b.lanes_of(dtype))) {
  const size_t axes = windows.axes(), leading = image.size() - axes;
  images_ = product(Dims(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(leading)));
  for (size_t k = 0; k < axes; ++k) {
    Axis& axis = axes_[3 - axes + k];
    axis = {image[leading + k], windows.count(k, image[leading + k]),
            windows.window[k],  windows.stride[k],
            windows.before[k],  windows.after[k]};
    const bool fits = (windows.ignore_border && axis.after == 0) ||
                      (axis.length.is_known() &&
                       (axis.windows.value() - 1) * axis.stride - axis.before + axis.window <= axis.length.value());
    axis.is_cut = axis.before > 0 || !fits;
  }
  const Axis& row = columns();
  window_lanes_ = lanes_for(full_lanes_, row.windows);
  while (window_lanes_ > 1 && window_lanes_ * row.stride + row.window > 2 * kWidest) window_lanes_ /= 2;
  const int64_t room = std::max<int64_t>((kBufferColumns - row.window) / row.stride, 1);
  chunk_ = std::max<int64_t>(room / window_lanes_, 1) * window_lanes_;
  const int64_t of_chunk = chunk_ * row.stride + row.window;
  column_lanes_ =
      lanes_for(full_lanes_, row.length.is_known() ? Dim(std::min(row.length.value(), of_chunk)) : Dim(of_chunk));
  buffer_columns_ = rounded_up(of_chunk, full_lanes_) + full_lanes_;
  // Groups of columns may be more than windows.
  is_one_chunk_ = row.length.is_known() && row.length.value() + row.before <= chunk_ * row.stride;
}

void WindowLoops::each_image(const std::function<void(Term, Term)>& body) {
  code_.loop("image", b_.begin(), b_.end(), 1, LoopMark::kSequential, [&](Term image) {
    body(code_.let("first_element", image * b_.length(image_elements())),
         code_.let("first_window", image * b_.length(image_windows())));
  });
}

void WindowLoops::each_number(const std::string& name, const Dim& count, const std::function<void(Term)>& body) {
  if (count.is(1)) return body(Term(0));
  code_.loop(name, b_.length(count), body);
}

void WindowLoops::each_window_row(const Term& first_window, const std::function<void(const WindowRow&)>& body) {
  each_number("plane_of_windows", axes_[0].windows, [&](const Term& plane) {
    const Cover planes = cover(0, plane);
    each_number("row_of_windows", axes_[1].windows, [&](const Term& row) {
      const Term number = plane * b_.length(axes_[1].windows) + row;
      body({planes, cover(1, row), code_.let("first_of_row", first_window + number * b_.length(columns().windows))});
    });
  });
}

WindowLoops::Cover WindowLoops::cover(size_t axis, const Term& number) {
  const Axis& a = axes_[axis];
  const Term start = code_.let("start", number * Term(a.stride) - Term(a.before));
  if (!a.is_cut) return {number, start, start, start + Term(a.window)};
  return {number, start, code_.let("first", larger_of(start, Term(0))),
          code_.let("last", smaller_of(start + Term(a.window), b_.length(a.length)))};
}

void WindowLoops::each_image_row(const WindowRow& at, const std::function<void(const ImageRow&)>& body) {
  auto row = [&](const Term& plane, const Term& line, const Term& in_planes, const Term& in_rows) {
    const Term offset = (plane * b_.length(axes_[1].length) + line) * b_.length(axes_[2].length);
    body({code_.let("row_offset", offset), in_planes, in_rows, in_planes * Term(axes_[1].window) + in_rows});
  };
  if (has_known_rows()) {
    for (int64_t p = 0; p < axes_[0].window; ++p)
      for (int64_t r = 0; r < axes_[1].window; ++r)
        row(at.planes.start + Term(p), at.rows.start + Term(r), Term(p), Term(r));
    return;
  }
  code_.loop("plane", at.planes.first, at.planes.end, 1, LoopMark::kSequential, [&](Term plane) {
    code_.loop("line", at.rows.first, at.rows.end, 1, LoopMark::kSequential,
               [&](Term line) { row(plane, line, plane - at.planes.start, line - at.rows.start); });
  });
}

void WindowLoops::each_in_window(const std::string& name, int64_t count, bool downwards,
                                 const std::function<void(Term)>& body) {
  auto iteration = [&](const Term& k) { body(downwards ? Term(count - 1) - k : k); };
  if (!is_short(count)) return code_.loop(name, Term(count), iteration);
  for (int64_t k = 0; k < count; ++k) iteration(Term(k));
}

Term WindowLoops::constant(double number, int lanes) const {
  const Term out =
      is_float(dtype_) ? kernel::constant(dtype_, number) : kernel::constant_int(dtype_, static_cast<int64_t>(number));
  return lanes > 1 ? kernel::splat(out, lanes) : out;
}

Term WindowLoops::lane_numbers(int lanes) const {
  return lanes > 1 ? kernel::iota(dtype_, lanes) : constant(0, 1);
}

Term WindowLoops::padded(const Term& vector, const Term& count, const Term& value) const {
  if (!static_cast<bool>(count)) return vector;
  return kernel::select(lane_numbers(vector.lanes()) < kernel::splat(kernel::cast(count, dtype_), vector.lanes()),
                        vector, value);
}

Term WindowLoops::column_of_windows(const std::string& buffer, const Term& i, const Term& k) const {
  const int64_t stride = columns().stride;
  const int lanes = window_lanes_;
  const Term first = i * Term(stride) + k;
  if (lanes == 1 || (stride != 2 && stride != 4)) return kernel::load(buffer, dtype_, lanes, first, Term(stride));
  auto pair = [&](int64_t v) {
    return kernel::even_lanes(kernel::load(buffer, dtype_, lanes, first + Term(v * lanes), 1),
                              kernel::load(buffer, dtype_, lanes, first + Term((v + 1) * lanes), 1));
  };
  return stride == 2 ? pair(0) : kernel::even_lanes(pair(0), pair(2));
}

std::vector<Term> WindowLoops::side_by_side(const std::vector<Term>& columns) {
  if (columns[0].lanes() == 1 || columns.size() == 1) return columns;
  if (columns.size() == 2) return {kernel::zip_low(columns[0], columns[1]), kernel::zip_high(columns[0], columns[1])};
  const Term low02 = code_.let("low02", kernel::zip_low(columns[0], columns[2])),
             low13 = code_.let("low13", kernel::zip_low(columns[1], columns[3])),
             high02 = code_.let("high02", kernel::zip_high(columns[0], columns[2])),
             high13 = code_.let("high13", kernel::zip_high(columns[1], columns[3]));
  return {kernel::zip_low(low02, low13), kernel::zip_high(low02, low13), kernel::zip_low(high02, high13),
          kernel::zip_high(high02, high13)};
}

void WindowLoops::store_columns(const std::string& buffer, const Term& i, const std::vector<Term>& values) {
  const auto stride = static_cast<int64_t>(values.size());
  if (window_lanes_ == 1 || (stride != 2 && stride != 4)) {
    for (int64_t k = 0; k < stride; ++k)
      code_.store(buffer, i * Term(stride) + Term(k), Term(stride), values[static_cast<size_t>(k)]);
    return;
  }
  const std::vector<Term> vectors = side_by_side(values);
  for (int64_t v = 0; v < stride; ++v)
    code_.store(buffer, i * Term(stride) + Term(v * window_lanes_), 1, vectors[static_cast<size_t>(v)]);
}

void WindowLoops::fill(const std::string& buffer, const Term& first, const Term& end, const Term& value) {
  code_.loop("at", first, end, value.lanes(), LoopMark::kVector, [&](Term at) { code_.store(buffer, at, 1, value); });
}

std::string WindowLoops::buffer(const std::string& name, int64_t elements) {
  return code_.local_array(name, {dtype_, 1, 0}, elements).node().name;
}

Term WindowLoops::divisor(PoolDivisor by, const WindowRow& at, const Term& first_window) {
  if (by == PoolDivisor::kOne) return {};
  const Axis& row = columns();
  if (is_whole()) return constant(static_cast<double>(rows_of_window() * row.window), window_lanes_);
  auto covered = [&](size_t axis, const Cover& cover) {
    const Axis& a = axes_[axis];
    if (by == PoolDivisor::kInside || !a.is_cut) return cover.end - cover.first;
    return smaller_of(cover.start + Term(a.window), b_.length(a.length) + Term(a.after)) - cover.start;
  };
  const Term rows = kernel::cast(code_.let("covered_rows", covered(0, at.planes) * covered(1, at.rows)), dtype_);
  if (!row.is_cut)
    return kernel::splat(code_.let("divisor", rows * constant(static_cast<double>(row.window), 1)), window_lanes_);
  auto vector = [&](const Term& number) { return kernel::splat(kernel::cast(number, dtype_), window_lanes_); };
  const Term start = code_.let(
      "start_column", vector(first_window * Term(row.stride) - Term(row.before)) +
                          lane_numbers(window_lanes_) * constant(static_cast<double>(row.stride), window_lanes_));
  const Term end = smaller_of(start + constant(static_cast<double>(row.window), window_lanes_),
                              vector(b_.length(row.length) + Term(by == PoolDivisor::kPadded ? row.after : 0)));
  const Term zero = constant(0, window_lanes_);
  const Term covered_columns = by == PoolDivisor::kPadded ? end - start : end - larger_of(start, zero);
  return code_.let("divisor", covered_columns * kernel::splat(rows, window_lanes_));
}

Dim WindowLoops::grain() const {
  return grain_of(image_elements(), b_.target());
}

std::string WindowLoops::text() const {
  std::vector<int64_t> window, stride;
  for (const Axis& axis : axes_) {
    window.push_back(axis.window);
    stride.push_back(axis.stride);
  }
  return str("windows ", join(window, "x"), ", stride ", join(stride, "x"));
}

}  // namespace thtrain
