// Native code of max_pool_gradient where windows share elements: the place of each window's maximum is found first,
// then every element of the image is written once, with the sum of dy over the windows whose maximum it is.
#include <algorithm>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/pool/pool.h"
#include "compiler/ops/pool/pool_kernel.h"
#include "compiler/ops/pool/window_loops.h"
#include "compiler/ops/pool/window_values.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::Term;

constexpr int64_t kBufferBytes = 32 << 10;  // of all buffers, so that they stay in the first cache

// Rows of windows are done in blocks, each step of the work for the whole block: what a step loads was stored so long
// before that the processor need not wait for it. Group g of rows of the image begins where row g of windows does, and
// has as many rows as windows step; the rows of windows that reach into it are g, g - 1, ..., g - reach_.
class PoolPlaces : public WindowValues {
 public:
  PoolPlaces(kernel::StepBuilder& b, const PoolWindows& windows)
      : WindowValues(b, windows, b.output().type.dims, b.output().type.dtype, Pooled::kPlace),
        reach_((rows().window - 1) / rows().stride),
        groups_((length(1) + rows().before + rows().stride - 1) / rows().stride) {
    const Axis& row = columns();
    const int64_t lanes = window_lanes_, steps = (length(2) + row.stride - 1) / row.stride;
    windows_ = rounded_up(windows_of(2), lanes);
    line_ = rounded_up(std::max(windows_ * row.stride + lanes, length(2) + row.before) + row.window, full_lanes_);
    kept_ = rounded_up((row.window - 1) / row.stride, lanes);
    pitch_ =
        rounded_up(kept_ + std::max(windows_, rounded_up(steps, lanes)) + row.before / row.stride + 1, full_lanes_);
    block_ = groups_;
    while (block_ > 1 && buffer_elements() * static_cast<int64_t>(size_of(dtype_)) > kBufferBytes) --block_;
    const int64_t blocks = (groups_ + block_ - 1) / block_;
    block_ = (groups_ + blocks - 1) / blocks;
  }

  void run() {
    xs_ = buffer("lines", lines_of_block() * line_ + full_lanes_);
    bests_ = buffer("bests", lines_of_block() * windows_);
    columns_ = buffer("columns", lines_of_block() * windows_);
    dys_ = buffer("of_windows", (block_ + reach_) * pitch_);
    places_ = buffer("places", (block_ + reach_) * pitch_);
    // What is between the rows of the buffers stays 0.
    fill(xs_, 0, Term(lines_of_block() * line_), constant(0, full_lanes_));
    for (const std::string* of_windows : {&dys_, &places_})
      fill(*of_windows, 0, Term((block_ + reach_) * pitch_), constant(0, full_lanes_));
    each_image([&](const Term& first_element, const Term& first_window) {
      if (block_ == groups_) return block(0, groups_, first_element, first_window);
      fill(dys_, 0, Term(reach_ * pitch_), constant(0, full_lanes_));
      code_.loop("block", 0, groups_, Term(block_), LoopMark::kSequential, [&](Term first) {
        block(first, code_.let("end_of_block", smaller_of(first + Term(block_), Term(groups_))), first_element,
              first_window);
        for (const std::string* of_windows : {&dys_, &places_})
          if (reach_ > 0) keep_last_rows(*of_windows);
      });
    });
    b_.finish_kernel(b_.node().op->name, str("out0 = in1 at the maximum of each window of in0, else 0; ", text()),
                     images_, grain());
  }

 private:
  const Axis& rows() const { return axes_[1]; }
  int64_t length(size_t axis) const { return axes_[axis].length.value(); }
  int64_t windows_of(size_t axis) const { return axes_[axis].windows.value(); }
  int64_t lines_of_block() const { return (block_ - 1) * rows().stride + rows().window; }
  int64_t buffer_elements() const { return lines_of_block() * (line_ + 2 * windows_) + 2 * (block_ + reach_) * pitch_; }

  void block(const Term& first_group, const Term& end_group, const Term& first_element, const Term& first_window) {
    const Term above = first_group * Term(rows().stride) - Term(rows().before);
    const Term first_line = code_.let("first_line", larger_of(above, Term(0)));
    const Term end_line = code_.let("end_line", smaller_of(above + Term(lines_of_block()), Term(length(1))));
    code_.loop("line", first_line, end_line, 1, LoopMark::kSequential, [&](Term line) {
      copy_line(code_.let("from", first_element + line * Term(length(2))),
                code_.let("to", (line - first_line) * Term(line_)));
    });
    code_.loop("line", 0, end_line - first_line, 1, LoopMark::kSequential, [&](Term line) {
      find_columns(code_.let("from", line * Term(line_)), code_.let("to", line * Term(windows_)));
    });
    auto each_group = [&](const std::function<void(const Term& group, const Term& at)>& body) {
      code_.loop("group", first_group, end_group, 1, LoopMark::kSequential, [&](Term group) {
        body(group, code_.let("row_at", (group - first_group + Term(reach_)) * Term(pitch_) + Term(kept_)));
      });
    };
    each_group([&](const Term& group, const Term& at) {
      auto find = [&] { find_places(group, first_line, at, first_window); };
      if (windows_of(1) == groups_) return find();
      code_.if_(group < Term(windows_of(1)), find, [&] {
        code_.loop("i", 0, Term(windows_of(2)), Term(window_lanes_), LoopMark::kVector,
                   [&](Term i) { code_.store(dys_, at + i, 1, constant(0, window_lanes_)); });
      });
    });
    each_group([&](const Term& group, const Term& at) {
      for (int64_t row = 0; row < rows().stride; ++row) {
        const Term line = code_.let("line", group * Term(rows().stride) + Term(row - rows().before));
        auto gather = [&] { gather_line(row, at, code_.let("to", first_element + line * Term(length(2)))); };
        if (rows().before == 0 && groups_ * rows().stride <= length(1))
          gather();
        else
          code_.if_(line >= Term(0) && line < Term(length(1)), gather);
      }
    });
  }

  void each_cache_line(int64_t elements, const std::function<void(int64_t)>& body) const {
    for (int64_t i = 0; i < elements; i += 64 / static_cast<int64_t>(size_of(dtype_))) body(i);
  }

  // A line of the image, its first and last elements repeated where windows stick out: they are in these windows too,
  // and change no maximum.
  void copy_line(const Term& from, const Term& to) {
    const Axis& row = columns();
    const int lanes = column_lanes_;
    each_cache_line(length(2), [&](int64_t i) {
      b_.prefetch(b_.input(0), from + Term(block_ * rows().stride * length(2) + i), kernel::Prefetch::kL1);
      b_.prefetch(b_.output(), from + Term(i), kernel::Prefetch::kWrite);
    });
    auto repeated = [&](const Term& element) { return lanes > 1 ? kernel::splat(element, lanes) : element; };
    if (row.before > 0) {
      const Term first = code_.let("first", repeated(b_.load(b_.input(0), from)));
      for (int64_t c = 0; c < row.before; c += lanes) code_.store(xs_, to + Term(c), 1, first);
    }
    kernel::each_vector(code_, "c", 0, Term(length(2)), lanes, {}, [&](const Term& c, const Term& count) {
      code_.store(xs_, to + Term(row.before) + c, 1, b_.load(b_.input(0), from + c, lanes, 1, count));
    });
    const int64_t end = (windows_of(2) - 1) * row.stride + row.window;
    if (end <= row.before + length(2)) return;
    const Term last = code_.let("last", repeated(b_.load(b_.input(0), from + Term(length(2) - 1))));
    for (int64_t c = row.before + length(2); c < end; c += lanes) code_.store(xs_, to + Term(c), 1, last);
  }

  // The maxima of a line in all windows, and in which of their columns these are.
  void find_columns(const Term& from, const Term& to) {
    code_.loop("i", 0, Term(windows_of(2)), Term(window_lanes_), LoopMark::kVector, [&](Term i) {
      Found found;
      for (int64_t k = 0; k < columns().window; ++k) {
        const Found here{code_.let("x", column_of_windows(xs_, i, from + Term(k))), number_in_row(i, k)};
        found = k == 0 ? here : better(found, here);
      }
      code_.store(bests_, to + i, 1, found.best);
      code_.store(columns_, to + i, 1, found.place);
    });
  }

  // dy of a row of windows, and the numbers of the elements that are their maxima, counted in each window row by row.
  void find_places(const Term& group, const Term& first_line, const Term& at, const Term& first_window) {
    const Axis& row = columns();
    const Term start = code_.let("start", group * Term(rows().stride) - Term(rows().before));
    std::vector<Term> lines, first_numbers;
    for (int64_t r = 0; r < rows().window; ++r) {
      Term line = start + Term(r), number = Term(r);
      if (r < rows().before) {
        line = larger_of(line, Term(0));
        number = larger_of(number, Term(0) - start);
      }
      if (rows().is_cut) line = smaller_of(line, Term(length(1) - 1));
      lines.push_back(code_.let("from", (line - first_line) * Term(windows_)));
      first_numbers.push_back(r < rows().before ? code_.let("number", vector(number * Term(row.window)))
                                                : constant(static_cast<double>(r * row.window), window_lanes_));
    }
    const Term first = code_.let("first_of_row", first_window + group * Term(windows_of(2)));
    each_cache_line(windows_of(2), [&](int64_t i) {
      b_.prefetch(b_.input(1), first + Term(block_ * windows_of(2) + i), kernel::Prefetch::kL1);
    });
    kernel::each_vector(code_, "i", 0, Term(windows_of(2)), window_lanes_, {}, [&](const Term& i, const Term& count) {
      const Term dy = b_.load(b_.input(1), first + i, window_lanes_, 1, count);
      code_.store(dys_, at + i, 1, padded(dy, count, constant(0, window_lanes_)));
      Found of_window;
      for (size_t r = 0; r < lines.size(); ++r) {
        const Found of_row{
            code_.let("x", kernel::load(bests_, dtype_, window_lanes_, lines[r] + i, 1)),
            code_.let("number", first_numbers[r] + kernel::load(columns_, dtype_, window_lanes_, lines[r] + i, 1))};
        of_window = r == 0 ? of_row : better(of_window, of_row);
      }
      code_.store(places_, at + i, 1, of_window.place);
    });
  }

  struct Found {
    Term best, place;
  };

  // The later one where it is greater, or the first NaN.
  Found better(const Found& before, const Found& later) {
    const Term is_better = code_.let("is_better", !(later.best <= before.best) && before.best == before.best);
    return {code_.let("best", kernel::select(is_better, later.best, before.best)),
            code_.let("place", kernel::select(is_better, later.place, before.place))};
  }

  // Of column k of each window: k, or the number of the first column in the image where k is before it.
  Term number_in_row(const Term& i, int64_t k) {
    const Axis& row = columns();
    const Term number = constant(static_cast<double>(k), window_lanes_);
    if (k >= row.before) return number;
    const Term outside = code_.let(
        "outside", vector(Term(row.before) - i * Term(row.stride)) -
                       lane_numbers(window_lanes_) * constant(static_cast<double>(row.stride), window_lanes_));
    return code_.let("column", larger_of(outside, number));
  }

  Term vector(const Term& number) const {
    const Term out = kernel::cast(number, dtype_);
    return window_lanes_ > 1 ? kernel::splat(out, window_lanes_) : out;
  }

  // Row `row` of a group, whose row of windows is at `at` in the buffers.
  void gather_line(int64_t row, const Term& at, const Term& to) {
    const int64_t stride = columns().stride, of_vectors = window_lanes_ * stride;
    const int64_t in_vectors = length(2) / of_vectors * of_vectors;
    auto columns_from = [&](const Term& step, int64_t left) {
      std::vector<Term> sums;
      for (int64_t column = 0; column < stride; ++column) sums.push_back(sum_of_column(row, column, at + step));
      store_side_by_side(sums, code_.let("to_columns", to + step * Term(stride)), left);
    };
    if (in_vectors > 0)
      code_.loop("step", 0, Term(in_vectors / stride), Term(window_lanes_), LoopMark::kVector,
                 [&](Term step) { columns_from(step, of_vectors); });
    if (in_vectors < length(2)) columns_from(Term(in_vectors / stride), length(2) - in_vectors);
  }

  // Every stride-th column of the image, from `column` on. The sums of the rows of windows are added from the upper row
  // on, as lower_pool_gradient() does.
  Term sum_of_column(int64_t row, int64_t column, const Term& at) {
    const Axis& axis = columns();
    const int64_t first_k = (column + axis.before) % axis.stride, ahead = (column + axis.before) / axis.stride;
    Term sum = constant(0, window_lanes_);
    for (int64_t back = reach_; back >= 0; --back) {
      const int64_t r = row + back * rows().stride;
      if (r >= rows().window) continue;
      Term of_row = constant(0, window_lanes_);
      for (int64_t k = first_k, windows_back = 0; k < axis.window; k += axis.stride, ++windows_back) {
        const Term i = at + Term(ahead - windows_back - back * pitch_);
        const Term is_it = kernel::load(places_, dtype_, window_lanes_, i, 1) ==
                           constant(static_cast<double>(r * axis.window + k), window_lanes_);
        const Term dy = kernel::load(dys_, dtype_, window_lanes_, i, 1);
        of_row = code_.let("of_row", kernel::select(is_it, windows_back == 0 ? dy : of_row + dy, of_row));
      }
      sum = code_.let("sum", sum + of_row);
    }
    return sum;
  }

  // Columns of the image, of which `left` exist.
  void store_side_by_side(const std::vector<Term>& sums, const Term& to, int64_t left) {
    const std::vector<Term> vectors = side_by_side(sums);
    for (size_t v = 0; v < vectors.size(); ++v) {
      const int64_t first = static_cast<int64_t>(v) * window_lanes_;
      if (first >= left) break;
      const int64_t count = std::min<int64_t>(left - first, window_lanes_);
      b_.store(b_.output(), to + Term(first), vectors[v], 1, count < window_lanes_ ? Term(count) : Term());
    }
  }

  void keep_last_rows(const std::string& of_windows) {
    code_.loop("kept", 0, Term(reach_ * pitch_), full_lanes_, LoopMark::kVector, [&](Term i) {
      code_.store(of_windows, i, 1, kernel::load(of_windows, dtype_, full_lanes_, i + Term(block_ * pitch_), 1));
    });
  }

  int64_t reach_, groups_;
  int64_t line_ = 0, pitch_ = 0;  // elements of a line of the image, and of a row of windows, in the buffers
  int64_t windows_ = 0;           // of a row, in whole vectors
  int64_t kept_ = 0;              // zeros before a row of windows
  int64_t block_ = 0;             // groups of rows that are done at once
  std::string xs_, bests_, columns_, dys_, places_;
};

}  // namespace

void lower_pool_places(kernel::StepBuilder& b) {
  PoolPlaces(b, PoolWindows::of(b.node())).run();
}

}  // namespace thtrain
