// Native code of max_pool_gradient and sum_pool_gradient: every element of the image is written once, or, where windows
// share rows, added to.
#include "compiler/cpu/pool/pool_kernel.h"
#include "compiler/cpu/pool/window_values.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/pool/pool.h"

namespace thtrain {
namespace {

using kernel::Term;

// A row of windows gives every column of the image one number, which goes to one row of the image (the first that has
// the column's maximum) or to all that the windows cover. Columns are done in groups of a stride: group q begins where
// window q does, and the windows that reach into it are q, q - 1, ..., q - reach_.
class PoolGradient : public WindowValues {
 public:
  PoolGradient(kernel::StepBuilder& b, const PoolWindows& windows, Pooled what, PoolDivisor divide_by)
      : WindowValues(b, windows, b.output().type.dims, b.output().type.dtype, what),
        divide_by_(divide_by),
        dy_(b.input(what == Pooled::kPosition ? 1 : 0)),
        is_sum_of_shares_(what == Pooled::kPosition && windows.sharing() > 1),
        reach_((columns().window - 1) / columns().stride),
        kept_((reach_ + window_lanes_ - 1) / window_lanes_ * window_lanes_) {}

  void run(PoolForm form, const std::string& comment) {
    const bool is_buffered = form == PoolForm::kColumns;
    if (is_buffered && is_maximum()) declare_buffers();
    if (is_buffered) sums_ = buffer("of_columns", buffer_columns_);
    if (is_buffered && reach_ > 0) {
      dys_ = buffer("of_windows", kept_ + chunk_ + window_lanes_);
      if (is_maximum()) positions_ = buffer("positions", kept_ + chunk_ + window_lanes_);
    }
    each_image([&](const Term& first_element, const Term& first_window) {
      each_number("plane_of_windows", axes_[0].windows, [&](const Term& plane) {
        const Cover planes = cover(0, plane);
        clear_gap(0, planes, [&](const Term& first, const Term& end) { clear_planes(first_element, first, end); });
        each_number("row_of_windows", axes_[1].windows, [&](const Term& row) {
          const Term number = plane * b_.length(axes_[1].windows) + row;
          const WindowRow at{planes, cover(1, row),
                             code_.let("first_of_row", first_window + number * b_.length(columns().windows))};
          clear_gap(1, at.rows,
                    [&](const Term& first, const Term& end) { clear_rows(first_element, planes, first, end); });
          if (is_buffered)
            row_of_windows(at, first_element);
          else
            windows_of_taps(at, first_element);
        });
        clear_rest(1, [&](const Term& first, const Term& end) { clear_rows(first_element, planes, first, end); });
      });
      clear_rest(0, [&](const Term& first, const Term& end) { clear_planes(first_element, first, end); });
    });
    b_.finish_kernel(b_.node().op->name, str(comment, "; ", text()), images_, grain());
  }

 private:
  bool is_maximum() const { return what_ == Pooled::kPosition; }

  // ---- what no window covers ---------------------------------------------------------------------------------------

  // Between the window before and this one.
  void clear_gap(size_t axis, const Cover& cover, const std::function<void(Term, Term)>& clear) {
    const int64_t gap = axes_[axis].stride - axes_[axis].window;
    if (gap > 0) clear(code_.let("gap", larger_of(cover.start - Term(gap), Term(0))), cover.start);
  }

  void clear_rest(size_t axis, const std::function<void(Term, Term)>& clear) {
    const Axis& a = axes_[axis];
    if (a.length.is_known() && a.covered() == a.length) return;
    const Term windows = b_.length(a.windows), length = b_.length(a.length);
    const Term covered = (windows - Term(1)) * Term(a.stride) + Term(a.window - a.before);
    clear(code_.let("covered", kernel::select(windows > Term(0), smaller_of(covered, length), Term(0))), length);
  }

  void clear_rows(const Term& first_element, const Cover& planes, const Term& first, const Term& end) {
    const Term width = b_.length(columns().length);
    code_.loop("plane", planes.first, planes.end, 1, kernel::LoopMark::kSequential, [&](Term plane) {
      const Term line = first_element + plane * b_.length(axes_[1].length) * width;
      clear_elements(line + first * width, line + end * width);
    });
  }

  void clear_planes(const Term& first_element, const Term& first, const Term& end) {
    const Term plane = b_.length(axes_[1].length * columns().length);
    clear_elements(first_element + first * plane, first_element + end * plane);
  }

  void clear_elements(const Term& first, const Term& end) {
    kernel::each_vector(
        code_, "cleared", code_.let("begin_of_rest", first), code_.let("end_of_rest", end), full_lanes_, {},
        [&](const Term& i, const Term& count) { b_.store(b_.output(), i, constant(0, full_lanes_), 1, count); });
  }

  // ---- a row of windows, in registers ------------------------------------------------------------------------------

  void windows_of_taps(const WindowRow& at, const Term& first_element) {
    const Term windows = b_.length(columns().windows);
    auto each_vector = [&](const std::function<void(const Term& i, const Term& count, const Term& dy)>& body) {
      kernel::each_vector(code_, "i", 0, windows, window_lanes_, {}, [&](const Term& i, const Term& count) {
        Term dy = b_.load(dy_, at.first_window + i, window_lanes_, 1, count);
        if (const Term by = divisor(divide_by_, at, i)) dy = dy / by;
        body(i, count, code_.let("dy", dy));
      });
    };
    if (is_maximum()) {
      each_vector([&](const Term& i, const Term& count, const Term& dy) {
        const Taps x = taps(b_.input(0), at, first_element, i, count);
        store_taps(shares_of(x, reduced(x), dy), at, first_element, i, count);
      });
      return each_image_row(at, [&](const ImageRow& row) { clear_behind_windows(first_element + row.offset); });
    }
    // One row of the image after the other: a processor foresees one run of stores, and not several side by side.
    each_image_row(at, [&](const ImageRow& row) {
      const Term line = code_.let("line", first_element + row.offset);
      each_vector([&](const Term& i, const Term& count, const Term& dy) {
        store_taps_of_row(std::vector<Term>(static_cast<size_t>(columns().window), dy), line, i, count);
      });
      clear_behind_windows(line);
    });
  }

  void clear_behind_windows(const Term& line) {
    if (columns().covered() == columns().length) return;
    clear_elements(line + b_.length(columns().covered()), line + b_.length(columns().length));
  }

  // ---- a row of windows, by columns in buffers ---------------------------------------------------------------------

  void row_of_windows(const WindowRow& at, const Term& first_element) {
    const Axis& row = columns();
    const Dim groups = floor_div(row.length + row.before + row.stride - 1, row.stride);
    if (reach_ > 0) fill(dys_, 0, Term(kept_), constant(0, window_lanes_));
    auto chunk = [&](const Chunk& c) {
      const Term windows = larger_of(Term(0), smaller_of(c.count, b_.length(row.windows) - c.first));
      const Chunk with_windows{
          c.first, row.windows.is_known() && is_one_chunk_ ? b_.length(row.windows) : code_.let("windows", windows)};
      if (is_maximum()) reduce_rows(at, with_windows, first_element);
      if (reach_ > 0)
        keep_windows(at, with_windows, c.count);
      else
        windows_to_columns(at, with_windows, c.count);
      if (reach_ > 0) kept_to_columns(c.count);
      store_rows(at, c, first_element);
    };
    if (is_one_chunk_) return chunk({0, b_.length(groups)});
    code_.loop("chunk", 0, b_.length(groups), Term(chunk_), kernel::LoopMark::kSequential, [&](Term first) {
      chunk({first, code_.let("count_of_chunk", smaller_of(Term(chunk_), b_.length(groups) - first))});
      if (reach_ > 0)
        for (int64_t i = 0; i < kept_; i += window_lanes_) {
          copy_kept(dys_, i);
          if (is_maximum()) copy_kept(positions_, i);
        }
    });
  }

  void copy_kept(const std::string& buffer, int64_t i) {
    code_.store(buffer, Term(i), 1, kernel::load(buffer, dtype_, window_lanes_, Term(chunk_ + i), 1));
  }

  // dy of a vector of windows, divided; 0 for those that do not exist.
  Term dy_of(const WindowRow& at, const Chunk& chunk, const Term& i, const Term& count) {
    Term dy = b_.load(dy_, at.first_window + chunk.first + i, window_lanes_, 1, count);
    if (const Term by = divisor(divide_by_, at, chunk.first + i)) dy = dy / by;
    return code_.let("dy", padded(dy, count, constant(0, window_lanes_)));
  }

  // Its share in column k of the window, whose maximum is in column `position`.
  Term share_of(const Term& dy, const Term& position, int64_t k) const {
    if (!is_maximum() || columns().window == 1) return dy;
    return kernel::select(position == constant(static_cast<double>(k), window_lanes_), dy, constant(0, window_lanes_));
  }

  // Windows that share no columns: each gives its own group's.
  void windows_to_columns(const WindowRow& at, const Chunk& chunk, const Term& groups) {
    const Axis& row = columns();
    kernel::each_vector(code_, "i", 0, chunk.count, window_lanes_, {}, [&](const Term& i, const Term& count) {
      const Term dy = dy_of(at, chunk, i, count), position = is_maximum() ? reduce_columns(i) : Term();
      std::vector<Term> columns;
      for (int64_t k = 0; k < row.stride; ++k)
        columns.push_back(k < row.window ? share_of(dy, position, k) : constant(0, window_lanes_));
      store_columns(sums_, i, columns);
    });
    const Term done = (chunk.count + Term(window_lanes_ - 1)) / Term(window_lanes_) * Term(window_lanes_);
    const Term first = code_.let("first_without", done * Term(row.stride));
    fill(sums_, first, groups * Term(row.stride), constant(0, window_lanes_));
  }

  void keep_windows(const WindowRow& at, const Chunk& chunk, const Term& groups) {
    kernel::each_vector(code_, "i", 0, chunk.count, window_lanes_, {}, [&](const Term& i, const Term& count) {
      code_.store(dys_, i + Term(kept_), 1, dy_of(at, chunk, i, count));
      if (is_maximum()) code_.store(positions_, i + Term(kept_), 1, reduce_columns(i));
    });
    const Term done = (chunk.count + Term(window_lanes_ - 1)) / Term(window_lanes_) * Term(window_lanes_);
    fill(dys_, code_.let("first_without", done + Term(kept_)), groups + Term(kept_), constant(0, window_lanes_));
  }

  void kept_to_columns(const Term& groups) {
    const Axis& row = columns();
    code_.loop("q", 0, groups, Term(window_lanes_), kernel::LoopMark::kVector, [&](Term q) {
      std::vector<Term> sums;
      for (int64_t s = 0; s < row.stride; ++s) {
        Term sum = constant(0, window_lanes_);
        for (int64_t k = s, back = 0; k < row.window; k += row.stride, ++back) {
          const Term at = q + Term(kept_ - back);
          const Term dy = code_.let("dy", kernel::load(dys_, dtype_, window_lanes_, at, 1));
          const Term position = is_maximum() ? kernel::load(positions_, dtype_, window_lanes_, at, 1) : Term();
          sum = code_.let("sum", k == s ? share_of(dy, position, k) : sum + share_of(dy, position, k));
        }
        sums.push_back(sum);
      }
      store_columns(sums_, q, sums);
    });
  }

  // The groups' columns into the rows of the image.
  void store_rows(const WindowRow& at, const Chunk& groups, const Term& first_element) {
    const Axis& row = columns();
    const Term shift = code_.let("shift", groups.first * Term(row.stride) - Term(row.before));
    const Term width = b_.length(row.length);
    const Term first = is_one_chunk_ ? Term(0) : code_.let("first_column", larger_of(shift, Term(0)));
    const Term end =
        is_one_chunk_ ? width : code_.let("end_column", smaller_of(shift + groups.count * Term(row.stride), width));
    each_image_row(at, [&](const ImageRow& image_row) {
      auto store = [&](bool adds) {
        kernel::each_vector(code_, "c", first, end, column_lanes_, {}, [&](const Term& c, const Term& count) {
          const Term to = first_element + image_row.offset + c;
          Term value = of_row(image_row, c - shift);
          if (adds) value = b_.load(b_.output(), to, column_lanes_, 1, count) + value;
          // As the sum of 0 and the shares, which is never -0.
          if (!adds && is_sum_of_shares_) value = value + constant(0, column_lanes_);
          b_.store(b_.output(), to, value, 1, count);
        });
      };
      const Term is_shared =
          is_shared_with_last(0, at.planes, image_row.plane) || is_shared_with_last(1, at.rows, image_row.row);
      if (kernel::is_constant(is_shared, 0))
        store(false);
      else
        code_.if_(
            is_shared, [&] { store(true); }, [&] { store(false); });
    });
  }

  Term is_shared_with_last(size_t axis, const Cover& cover, const Term& in_window) const {
    const int64_t shared = axes_[axis].window - axes_[axis].stride;
    const Term no = kernel::constant_int(DType::kBool, 0);
    if (shared <= 0) return no;
    const Term is_in_last = in_window < Term(shared);
    return kernel::is_constant(is_in_last, 0) ? no : is_in_last && cover.number > Term(0);
  }

  Term of_row(const ImageRow& image_row, const Term& p) {
    const Term sums = kernel::load(sums_, dtype_, column_lanes_, p, 1);
    if (!needs_row()) return sums;
    const Term rows = kernel::load(row_, dtype_, column_lanes_, p, 1);
    Term number = kernel::cast(image_row.position, dtype_);
    if (column_lanes_ > 1) number = kernel::splat(number, column_lanes_);
    return kernel::select(rows == number, sums, constant(0, column_lanes_));
  }

  PoolDivisor divide_by_;
  kernel::Operand dy_;
  bool is_sum_of_shares_;
  int64_t reach_;  // windows before a group's own that reach into it
  int64_t kept_;   // windows before the chunk's, in whole vectors
  std::string sums_, dys_, positions_;
};

}  // namespace

void lower_pool_gradient(kernel::StepBuilder& b, PoolForm form) {
  const PoolWindows windows = PoolWindows::of(b.node());
  if (b.node().op == &max_pool_gradient_op())
    return PoolGradient(b, windows, Pooled::kPosition, PoolDivisor::kOne)
        .run(form, "out0 = in1 at the maximum of each window of in0, else 0");
  const PoolDivisor divisor = divisor_of(b.node().props);
  PoolGradient(b, windows, Pooled::kSum, divisor)
      .run(form, str("out0 = the sum over the windows of in0", divisor == PoolDivisor::kOne ? "" : ", each divided"));
}

void lower_pool_as(kernel::StepBuilder& b, PoolForm form) {
  if (WindowLoops::is_too_wide(PoolWindows::of(b.node()))) return b.call_reference();
  const bool is_gradient = b.node().op == &max_pool_gradient_op() || b.node().op == &sum_pool_gradient_op();
  if (form == PoolForm::kPositions)
    lower_pool_positions(b);
  else if (is_gradient)
    lower_pool_gradient(b, form);
  else
    lower_pooled(b, form);
}

}  // namespace thtrain
