// Native code of max_pool_gradient where windows share elements: the position of each window's maximum is found first,
// then every element of the image is written once, with the sum of dy over the windows whose maximum it is.
#include <algorithm>
#include <map>

#include "compiler/cpu/pool/pool_kernel.h"
#include "compiler/cpu/pool/window_loops.h"
#include "compiler/cpu/pool/window_values.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/pool/pool.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::Term;

constexpr int64_t kBufferBytes = 32 << 10;  // of all buffers, so that they stay in the first cache

// Rows of windows are done in blocks, each step of the work for the whole block: what a step loads was stored so long
// before that the processor need not wait for it. Within a step vectors of columns are done one after the other, each
// from the upper row of the block to the last, with what neighbouring rows share in registers.
//
// Group g of rows of the image begins where row g of windows does, and has as many rows as windows step; the rows of
// windows that reach into it are g, g - 1, ..., g - reach_. Row g of windows covers kept_lines_ lines that the row
// before covers too, and new_lines_ others.
class PoolPositions : public WindowValues {
 public:
  PoolPositions(kernel::StepBuilder& b, const PoolWindows& windows)
      : WindowValues(b, windows, b.output().type.dims, b.output().type.dtype, Pooled::kPosition),
        reach_((rows().window - 1) / rows().stride),
        groups_((length(1) + rows().before + rows().stride - 1) / rows().stride),
        kept_lines_(std::max<int64_t>(rows().window - rows().stride, 0)),
        new_lines_(rows().window - kept_lines_) {
    const Axis& row = columns();
    const int64_t lanes = window_lanes_;
    steps_ = rounded_up((length(2) + row.stride - 1) / row.stride, lanes);
    windows_ = rounded_up(windows_of(2), lanes);
    line_ = rounded_up(std::max(windows_ * row.stride + lanes, length(2) + row.before) + row.window, full_lanes_);
    kept_ = rounded_up((row.window - 1) / row.stride, lanes);
    pitch_ = rounded_up(kept_ + std::max(windows_, steps_) + row.before / row.stride + 1, full_lanes_);
    block_ = groups_;
    while (block_ > 1 && buffer_elements() * static_cast<int64_t>(size_of(dtype_)) > kBufferBytes) --block_;
    const int64_t blocks = (groups_ + block_ - 1) / block_;
    block_ = (groups_ + blocks - 1) / blocks;
  }

  void run() {
    xs_ = buffer("lines", lines_of_block() * line_ + full_lanes_);
    dys_ = buffer("of_windows", block_ * pitch_);
    positions_ = buffer("positions", block_ * pitch_);
    const bool has_blocks = block_ < groups_ && reach_ > 0;
    if (has_blocks) sums_ = buffer("sums", partial_sums() * steps_);
    // What is between the rows of the buffers stays 0.
    fill(xs_, 0, Term(lines_of_block() * line_), constant(0, full_lanes_));
    for (const std::string* of_windows : {&dys_, &positions_})
      fill(*of_windows, 0, Term(block_ * pitch_), constant(0, full_lanes_));
    each_image([&](const Term& first_element, const Term& first_window) {
      if (block_ == groups_) return block(0, groups_, first_element, first_window);
      if (has_blocks) fill(sums_, 0, Term(partial_sums() * steps_), constant(0, window_lanes_));
      code_.loop("block", 0, groups_, Term(block_), LoopMark::kSequential, [&](Term first) {
        block(first, code_.let("end_of_block", smaller_of(first + Term(block_), Term(groups_))), first_element,
              first_window);
      });
    });
    b_.finish_kernel(b_.node().op->name, str("out0 = in1 at the maximum of each window of in0, else 0; ", text()),
                     images_, grain());
  }

 private:
  struct Found {
    Term best, position;
  };

  const Axis& rows() const { return axes_[1]; }
  int64_t length(size_t axis) const { return axes_[axis].length.value(); }
  int64_t windows_of(size_t axis) const { return axes_[axis].windows.value(); }
  int64_t lines_of_block() const { return kept_lines_ + block_ * new_lines_; }
  int64_t buffer_elements() const {
    return lines_of_block() * line_ + 2 * block_ * pitch_ + (block_ < groups_ ? partial_sums() * steps_ : 0);
  }

  void block(const Term& first_group, const Term& end_group, const Term& first_element, const Term& first_window) {
    const Term start = code_.let("start", first_group * Term(rows().stride) - Term(rows().before));
    nan_ = code_.var("nan", constant(0, column_lanes_));
    for (int64_t k = 0; k < kept_lines_; ++k)
      copy_line(code_.let("line", inside(start + Term(k))), Term(k * line_), first_element);
    each_group(first_group, end_group, [&](const Term& group, const Term& in_block) {
      const Term first = code_.let("first_line", group * Term(rows().stride) + Term(kept_lines_ - rows().before));
      for (int64_t k = 0; k < new_lines_; ++k)
        copy_line(code_.let("line", inside(first + Term(k))),
                  (in_block * Term(new_lines_) + Term(kept_lines_ + k)) * Term(line_), first_element);
      copy_windows(group, row_at(in_block), first_window);
    });
    auto find = [&](bool may_be_nan) {
      may_be_nan_ = may_be_nan;
      code_.loop("i", 0, Term(windows_of(2)), Term(window_lanes_), LoopMark::kSequential,
                 [&](Term i) { find_positions(i, first_group, end_group, first_element); });
    };
    const Term any_nan = code_.let("any_nan", column_lanes_ > 1 ? kernel::reduce_lanes("add", nan_) : nan_);
    code_.if_(
        any_nan == any_nan, [&] { find(false); }, [&] { find(true); });
    const int64_t stride = columns().stride, of_vectors = window_lanes_ * stride;
    const int64_t in_vectors = length(2) / of_vectors * of_vectors;
    if (in_vectors > 0)
      code_.loop("step", 0, Term(in_vectors / stride), Term(window_lanes_), LoopMark::kSequential,
                 [&](Term step) { add_shares(step, of_vectors, first_group, end_group, first_element, first_window); });
    if (in_vectors < length(2))
      add_shares(Term(in_vectors / stride), length(2) - in_vectors, first_group, end_group, first_element,
                 first_window);
  }

  void each_group(const Term& first_group, const Term& end_group,
                  const std::function<void(const Term& group, const Term& in_block)>& body) {
    code_.loop("group", first_group, end_group, 1, LoopMark::kSequential,
               [&](Term group) { body(group, code_.let("in_block", group - first_group)); });
  }

  // Where a row of windows begins in the buffers.
  Term row_at(const Term& in_block) const { return in_block * Term(pitch_) + Term(kept_); }

  // The line itself, or the one nearest to it.
  Term inside(const Term& line) const {
    const Term not_before = rows().before > 0 ? larger_of(line, Term(0)) : line;
    return rows().is_cut || groups_ > windows_of(1) ? smaller_of(not_before, Term(length(1) - 1)) : not_before;
  }

  // A line of the image, its first and last elements repeated where windows stick out: they are in these windows too,
  // and change no maximum.
  void copy_line(const Term& line, const Term& position, const Term& first_element) {
    const Axis& row = columns();
    const int lanes = column_lanes_;
    const Term from = code_.let("from", first_element + line * Term(length(2))), to = code_.let("to", position);
    auto repeated = [&](const Term& element) { return lanes > 1 ? kernel::splat(element, lanes) : element; };
    if (row.before > 0) {
      const Term first = code_.let("first", repeated(b_.load(b_.input(0), from)));
      for (int64_t c = 0; c < row.before; c += lanes) code_.store(xs_, to + Term(c), 1, first);
    }
    kernel::each_vector(code_, "c", 0, Term(length(2)), lanes, {}, [&](const Term& c, const Term& count) {
      const Term x = code_.let("x", b_.load(b_.input(0), from + c, lanes, 1, count));
      code_.assign(nan_, kernel::select(x == x, nan_, x));
      code_.store(xs_, to + Term(row.before) + c, 1, x);
    });
    const int64_t end = (windows_of(2) - 1) * row.stride + row.window;
    if (end <= row.before + length(2)) return;
    const Term last = code_.let("last", repeated(b_.load(b_.input(0), from + Term(length(2) - 1))));
    for (int64_t c = row.before + length(2); c < end; c += lanes) code_.store(xs_, to + Term(c), 1, last);
  }

  // dy of a row of windows; 0 for a row that does not exist.
  void copy_windows(const Term& group, const Term& to, const Term& first_window) {
    auto copy = [&] {
      const Term first = code_.let("first_of_row", first_window + group * Term(windows_of(2)));
      kernel::each_vector(code_, "i", 0, Term(windows_of(2)), window_lanes_, {}, [&](const Term& i, const Term& count) {
        const Term dy = b_.load(b_.input(1), first + i, window_lanes_, 1, count);
        code_.store(dys_, to + i, 1, padded(dy, count, constant(0, window_lanes_)));
      });
    };
    if (windows_of(1) == groups_) return copy();
    code_.if_(group < Term(windows_of(1)), copy,
              [&] { fill(dys_, to, to + Term(windows_), constant(0, window_lanes_)); });
  }

  // The maxima of a line in windows i and those behind it, and in which of their columns these are.
  Found found_in_line(const Term& line, const Term& i) {
    const Term from = code_.let("from", line * Term(line_));
    Found found;
    for (int64_t k = 0; k < columns().window; ++k) {
      const Found here{column_of_line(from, i, k), number_in_row(i, k)};
      found = k == 0 ? here : better(found, here);
    }
    return found;
  }

  // Neighbouring columns 2 apart come from the same two vectors.
  Term column_of_line(const Term& from, const Term& i, int64_t k) {
    if (window_lanes_ == 1 || columns().stride != 2 || k % 2 == 0)
      return code_.let("x", column_of_windows(xs_, i, from + Term(k)));
    const Term first = i * Term(2) + (from + Term(k - 1));
    return code_.let("x", kernel::odd_lanes(kernel::load(xs_, dtype_, window_lanes_, first, 1),
                                            kernel::load(xs_, dtype_, window_lanes_, first + Term(window_lanes_), 1)));
  }

  // Prefetching is divided between the two steps that compute: more at once is more than the processor waits for.

  // body(row, element) for what a group of rows has in the columns that a vector of windows steps over: one element of
  // each 64 bytes.
  void each_cache_line(const Term& i, const Term& group, const Term& first_element,
                       const std::function<void(int64_t row, const Term& element)>& body) {
    const Term line = group * Term(rows().stride) - Term(rows().before);
    const Term first = code_.let("first", first_element + line * Term(length(2)) + i * Term(columns().stride));
    const int64_t of_line = 64 / static_cast<int64_t>(size_of(dtype_));
    for (int64_t row = 0; row < rows().stride; ++row)
      for (int64_t c = 0; c < window_lanes_ * columns().stride; c += of_line)
        body(row, first + Term(row * length(2) + c));
  }

  // What this block writes.
  void prefetch_output(const Term& i, const Term& group, const Term& first_element) {
    each_cache_line(i, group, first_element,
                    [&](int64_t, const Term& element) { b_.prefetch(b_.output(), element, kernel::Prefetch::kWrite); });
  }

  // What the next block reads of the image and of dy.
  void prefetch_inputs(const Term& i, const Term& group, const Term& first_element, const Term& first_window) {
    const Term ahead = (block_ * rows().stride + kept_lines_) * length(2);
    each_cache_line(i, group, first_element, [&](int64_t row, const Term& element) {
      if (row < new_lines_) b_.prefetch(b_.input(0), element + ahead, kernel::Prefetch::kL1);
    });
    const Term window = first_window + (group + Term(block_)) * Term(windows_of(2)) + i;
    b_.prefetch(b_.input(1), window, kernel::Prefetch::kL1);
  }

  // The numbers of the elements that are the maxima, counted in each window row by row.
  void find_positions(const Term& i, const Term& first_group, const Term& end_group, const Term& first_element) {
    std::vector<Found> kept;
    for (int64_t k = 0; k < kept_lines_; ++k) {
      const Found found = found_in_line(Term(k), i);
      kept.push_back({code_.var("best_of_line", found.best), code_.var("column_of_line", found.position)});
    }
    each_group(first_group, end_group, [&](const Term& group, const Term& in_block) {
      prefetch_output(i, group, first_element);
      std::vector<Found> lines = kept;
      for (int64_t k = 0; k < new_lines_; ++k)
        lines.push_back(found_in_line(in_block * Term(new_lines_) + Term(kept_lines_ + k), i));
      Found of_window;
      for (size_t r = 0; r < lines.size(); ++r) {
        const Term number = code_.let("number", first_number(group, static_cast<int64_t>(r)) + lines[r].position);
        of_window = r == 0 ? Found{lines[r].best, number} : better(of_window, {lines[r].best, number});
      }
      code_.store(positions_, row_at(in_block) + i, 1, of_window.position);
      for (size_t k = 0; k < kept.size(); ++k) {
        const Found& line = lines[k + static_cast<size_t>(rows().stride)];
        code_.assign(kept[k].best, line.best);
        code_.assign(kept[k].position, line.position);
      }
    });
  }

  // Of the first element of line r of the windows, or of the line in the image that is used instead.
  Term first_number(const Term& group, int64_t r) {
    if (r >= rows().before) return constant(static_cast<double>(r * columns().window), window_lanes_);
    const Term first_inside = Term(rows().before) - group * Term(rows().stride);
    return vector(code_.let("first_number", larger_of(first_inside, Term(r)) * Term(columns().window)));
  }

  // The later one where it is greater, or the first NaN.
  Found better(const Found& before, const Found& later) {
    const Term is_better =
        code_.let("is_better",
                  may_be_nan_ ? !(later.best <= before.best) && before.best == before.best : later.best > before.best);
    return {code_.let("best", kernel::select(is_better, later.best, before.best)),
            code_.let("position", kernel::select(is_better, later.position, before.position))};
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

  // ---- columns of the image

  // The sums of an element that rows of windows before a group's own have shares in: of row `row` of group g + `ahead`.
  bool has_sum(int64_t ahead, int64_t row) const { return row + (ahead + 1) * rows().stride < rows().window; }
  int64_t partial_sums() const {
    int64_t out = 0;
    for (int64_t ahead = 0; ahead < reach_; ++ahead)
      for (int64_t row = 0; row < rows().stride; ++row) out += has_sum(ahead, row) ? columns().stride : 0;
    return out;
  }

  // Elements `step` and those behind it of every column of a group, of which `left` exist, through the rows of the
  // block. The sums of the rows of windows are added from the upper row on, as lower_pool_gradient() does.
  void add_shares(const Term& step, int64_t left, const Term& first_group, const Term& end_group,
                  const Term& first_element, const Term& first_window) {
    const int64_t stride = columns().stride;
    std::vector<Term> variables;
    auto each_variable = [&](const std::function<void(int64_t number)>& body) {
      for (int64_t number = 0; number < partial_sums(); ++number) body(number);
    };
    each_variable([&](int64_t number) {
      const Term zero = constant(0, window_lanes_);
      const Term at = Term(number * steps_) + step;
      variables.push_back(
          code_.var("partial", sums_.empty() ? zero : kernel::load(sums_, dtype_, window_lanes_, at, 1)));
    });
    each_group(first_group, end_group, [&](const Term& group, const Term& in_block) {
      prefetch_inputs(step, group, first_element, first_window);
      const Term at = code_.let("at", row_at(in_block) + step);
      std::map<int64_t, Window> windows;
      size_t next = 0, assigned = 0;
      std::vector<std::vector<Term>> sums(static_cast<size_t>((reach_ + 1) * rows().stride));
      for (int64_t r = 0; r < (reach_ + 1) * rows().stride; ++r)
        for (int64_t column = 0; column < stride; ++column) {
          Term sum = constant(0, window_lanes_);
          if (r < rows().window) {
            const int64_t ahead = r / rows().stride;
            const bool is_begun = ahead < reach_ && has_sum(ahead, r % rows().stride);
            const Term before = is_begun ? variables[next++] : sum;
            sum = code_.let("sum", before + share_of_row(r, column, at, windows));
          }
          sums[static_cast<size_t>(r)].push_back(sum);
        }
      for (int64_t row = 0; row < rows().stride; ++row) {
        const Term line = code_.let("line", group * Term(rows().stride) + Term(row - rows().before));
        auto store = [&] {
          const Term to = first_element + line * Term(length(2)) + step * Term(stride);
          store_side_by_side(sums[static_cast<size_t>(row)], code_.let("to_columns", to), left);
        };
        if (rows().before == 0 && groups_ * rows().stride <= length(1))
          store();
        else
          code_.if_(line >= Term(0) && line < Term(length(1)), store);
      }
      for (int64_t r = 0; r < reach_ * rows().stride; ++r)
        if (has_sum(r / rows().stride, r % rows().stride))
          for (int64_t column = 0; column < stride; ++column)
            code_.assign(variables[assigned++],
                         sums[static_cast<size_t>(r + rows().stride)][static_cast<size_t>(column)]);
    });
    if (!sums_.empty())
      each_variable([&](int64_t number) {
        code_.store(sums_, Term(number * steps_) + step, 1, variables[static_cast<size_t>(number)]);
      });
  }

  struct Window {
    Term position, dy;
  };

  // Of every stride-th column of the image, from `column` on: dy of the row's windows whose maximum is in their line r.
  Term share_of_row(int64_t r, int64_t column, const Term& at, std::map<int64_t, Window>& windows) {
    const Axis& axis = columns();
    const int64_t first_k = (column + axis.before) % axis.stride, ahead = (column + axis.before) / axis.stride;
    Term sum = constant(0, window_lanes_);
    for (int64_t k = first_k, back = 0; k < axis.window; k += axis.stride, ++back) {
      const auto [known, is_new] = windows.try_emplace(ahead - back);
      Window& window = known->second;
      if (is_new) {
        const Term i = at + Term(ahead - back);
        window = {code_.let("position", kernel::in_register(kernel::load(positions_, dtype_, window_lanes_, i, 1))),
                  code_.let("dy", kernel::in_register(kernel::load(dys_, dtype_, window_lanes_, i, 1)))};
      }
      const Term is_it = window.position == constant(static_cast<double>(r * axis.window + k), window_lanes_);
      sum = code_.let("of_row", kernel::select(is_it, back == 0 ? window.dy : sum + window.dy, sum));
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

  int64_t reach_, groups_;
  int64_t kept_lines_, new_lines_;
  int64_t steps_ = 0;             // groups of columns, in whole vectors
  int64_t line_ = 0, pitch_ = 0;  // elements of a line of the image, and of a row of windows, in the buffers
  int64_t windows_ = 0;           // of a row, in whole vectors
  int64_t kept_ = 0;              // zeros before a row of windows
  int64_t block_ = 0;             // groups of rows that are done at once
  std::string xs_, dys_, positions_;
  Term nan_;  // NaN where a line of the block has one, else 0
  bool may_be_nan_ = true;
  std::string sums_;  // of the block before, for this one; empty where there is one block
};

}  // namespace

void lower_pool_positions(kernel::StepBuilder& b) {
  PoolPositions(b, PoolWindows::of(b.node())).run();
}

}  // namespace thtrain
