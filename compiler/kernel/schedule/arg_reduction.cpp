// The position of an extremum along the reduced axis. Where that is contiguous, by vectors along it: the block that has
// the extremum, then the first of its elements that is it. Where a kept axis is, or rows are short, by vectors of
// results: for each the best element so far and its position. Else one element after the other.
#include <algorithm>
#include <array>
#include <limits>

#include "compiler/kernel/schedule/reduction_axes.h"

namespace thtrain::kernel {
namespace {

constexpr int kChains = 4;             // of dependent operations, along the reduced axis
constexpr int64_t kBlockVectors = 32;  // of a block that is searched again where it has the best element
constexpr int64_t kRows = 4;           // that are compared before a strip's best elements are written back

class ArgReductionLoops : private ReductionAxes {
 public:
  ArgReductionLoops(StepBuilder& b, const Nest& nest)
      : ReductionAxes(b, nest),
        value_(is_bool(element_) ? DType::kUInt8 : element_),
        position_(lane_dtype(size_of(value_))),
        lanes_(whole_lanes(b, size_of(value_))) {
    reduced_ = collapse(reduced_);  // row-major order is what positions count
    const bool is_contiguous = reduced_.size() == 1 && reduced_[0].strides[kIn].is(1);
    by_rows_ = is_contiguous && !has_short_rows();
    by_columns_ =
        !by_rows_ && reduced_.size() == 1 && !kept_.empty() && (is_contiguous || bring_contiguous_last(kept_));
  }

  void run(std::string name, std::string comment) {
    check_elements(b_, how_, reduced_, kept_);
    const bool has_few_rows = by_columns_ && reduced_[0].length.is_known() && reduced_[0].length.value() <= kShortRow;
    choice_.lanes = has_few_rows ? lanes_of_positions() : by_rows_ || by_columns_ ? lanes_ : 1;
    choice_.over = by_rows_ ? "the row" : "columns";
    choice_.accumulators = by_rows_ ? kChains : 1;
    if (by_columns_)
      each_line(
          [&](const Term& first, const Term& end, const Term& in, const Term& out) { columns(first, end, in, out); });
    else
      each_result([&](const Term& in, const Term& out) { by_rows_ ? row(in, out) : elements(in, out); });
    finish(std::move(name), std::move(comment), by_columns_);
  }

 private:
  Term load(const Term& at, int lanes = 1, const Term& step = 1, const Term& count = {}) {
    return code_.let("x", cast(b_.load(from_.operand, at, lanes, step, count), value_));
  }

  // ---- one element after the other ---------------------------------------------------------------------------------

  void elements(const Term& in, const Term& out) {
    Term best = code_.var("best", load(in)), where = code_.var("where", Term(0));
    Term position = code_.var("position", Term(0));
    std::function<void(size_t, Term)> loops = [&](size_t depth, const Term& at) {
      if (depth == reduced_.size()) {
        const Term x = load(at);
        code_.if_(how_.better(best, x), [&] {
          code_.assign(best, x);
          code_.assign(where, position);
        });
        return code_.assign(position, position + Term(1));
      }
      code_.loop(str("k", depth), b_.length(reduced_[depth].length),
                 [&](Term k) { loops(depth + 1, code_.let("at", at + k * stride(reduced_[depth], kIn))); });
    };
    loops(0, in);
    b_.store(to_.operand, out, where);
  }

  // ---- along the reduced axis --------------------------------------------------------------------------------------

  void row(const Term& in, const Term& out) {
    const Dim& length = reduced_[0].length;
    const Term n = b_.length(length);
    const int64_t size = kBlockVectors * lanes_;
    const Term best = code_.var("best", load(in)), where = code_.var("where", Term(0));
    auto block = [&](const Term& first, const Term& count) {
      const Term all = best_lanes(in + first, count, best);
      code_.if_(reduce_lanes("or", how_.better(splat(best, lanes_), all)), [&] {
        code_.assign(best, combine_lanes(how_, all));
        code_.assign(where, first);
      });
    };
    if (length.is_known() && length.value() <= size)
      block(0, n);
    else
      code_.loop("block", 0, n, Term(size), LoopMark::kSequential,
                 [&](const Term& first) { block(first, code_.let("count", min_of(n - first, Term(size)))); });
    // A NaN is the best, and of the block that has it there are none before.
    auto is_best = [&](const Term& x) { return is_float(element_) ? x == best || x != x : x == best; };
    const Term whole = code_.let("whole", n - Term(lanes_));
    auto best_of = [&](const Term& at) { return is_best(element_at(in + at, lanes_)); };
    code_.while_(where <= whole && !reduce_lanes("or", best_of(where)),
                 [&] { code_.assign(where, where + Term(lanes_)); });
    code_.if_(
        where <= whole,
        [&] {
          const Term lane =
              select(best_of(where), iota(position_, lanes_), splat(cast(Term(lanes_ - 1), position_), lanes_));
          code_.assign(where, where + cast(reduce_lanes("min", lane), DType::kInt64));
        },
        [&] { code_.while_(!is_best(element_at(in + where, 1)), [&] { code_.assign(where, where + Term(1)); }); });
    b_.store(to_.operand, out, where);
  }

  // Without a name, for a condition that is computed anew.
  Term element_at(const Term& at, int lanes) { return cast(b_.load(from_.operand, at, lanes), value_); }

  // Of n elements from index `at` on, and of `best`, in lanes; a NaN where there is one.
  Term best_lanes(const Term& at, const Term& n, const Term& best) {
    const Term from = code_.let("from", at);
    std::array<Term, kChains> acc;
    for (Term& a : acc) a = code_.var("acc", splat(best, lanes_));
    each_accumulated(code_, n, kChains, lanes_, {}, [&](const Term& j, const Term& count, int part) {
      const Term& a = acc[static_cast<size_t>(part)];
      Term x = load(from + j, lanes_, 1, count);
      if (count) {
        choice_.tail = ScheduleChoice::Tail::kMasked;
        x = code_.let("x", in_first_lanes(count, x, splat(best, lanes_)));
      }
      code_.assign(a, accumulate(how_, a, x));
    });
    const Term left = code_.let("left", how_.combine(acc[0], acc[1]));
    const Term right = code_.let("right", how_.combine(acc[2], acc[3]));
    return code_.let("all", how_.combine(left, right));
  }

  // ---- along a kept axis -------------------------------------------------------------------------------------------

  // The strip's best elements so far, and their rows.
  struct Best {
    std::string elements, rows;
    DType element, row;
  };

  Best local(const char* elements, DType element, const char* rows, DType row) {
    const int64_t room = columns_ + lanes_;  // the last vector may go beyond the strip
    return {code_.local_array(elements, {element, 1, 0}, room).node().name,
            code_.local_array(rows, {row, 1, 0}, room).node().name, element, row};
  }

  // Rows are numbered in lanes as wide as the elements. Where these do not hold all numbers, that is done for blocks of
  // rows, and what is best of them all is found in wider lanes.
  void columns(const Term& first, const Term& end, const Term& in, const Term& out) {
    const int bits = 8 * static_cast<int>(size_of(position_)) - 1;
    const int64_t most = bits == 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
    const Dim& length = reduced_[0].length;
    const bool is_one_block = bits == 63 || (length.is_known() && length.value() <= most);
    const Term n = b_.length(length), down = stride(reduced_[0], kIn), column = stride(kept_.back(), kIn);
    const Best part = local("best", value_, "row_of_best", position_);
    const DType wide = is_float(value_) ? DType::kFloat64 : DType::kInt64;
    const Best total = is_one_block ? part : local("best_of_all", wide, "row_of_all", DType::kInt64);
    strips(first, end, [&](const Term& strip, const Term& width) {
      const Term at = code_.let("at", in + strip * column);
      if (is_one_block) {
        best_rows(part, at, n, width);
      } else {
        code_.loop("block", 0, n, Term(most), LoopMark::kSequential, [&](const Term& block) {
          best_rows(part, code_.let("from", at + block * down), code_.let("rows", min_of(n - block, Term(most))),
                    width);
          take_better(part, total, block, width);
        });
      }
      store_rows(total, out, strip, width);
    });
  }

  // Of n rows from index `at` on, numbered from 0.
  void best_rows(const Best& to, const Term& at, const Term& n, const Term& width) {
    const Term down = stride(reduced_[0], kIn), column = stride(kept_.back(), kIn);
    vectors(width, lanes_, [&](const Term& v, const Term& count) {
      code_.store(to.elements, v, 1, load(at + v * column, lanes_, column, count));
      code_.store(to.rows, v, 1, splat(constant_int(position_, 0), lanes_));
    });
    auto rows = [&](const Term& first, int64_t how_many) {
      const Term row = code_.let("row_at", at + first * down);
      vectors(width, lanes_, [&](const Term& v, const Term& count) {
        const Found before{code_.let("best", kernel::load(to.elements, value_, lanes_, v, 1)),
                           code_.let("where", kernel::load(to.rows, position_, lanes_, v, 1))};
        const Found best = better_of(before, best_of(row + v * column, first, 0, how_many, lanes_, count));
        code_.store(to.elements, v, 1, best.element);
        code_.store(to.rows, v, 1, best.row);
      });
    };
    code_.loop("row", 1, n - Term(kRows - 1), Term(kRows), LoopMark::kSequential,
               [&](const Term& k) { rows(k, kRows); });
    const Term rest = code_.let("rest", Term(1) + (n - Term(1)) / Term(kRows) * Term(kRows));
    code_.loop("row", rest, n, 1, LoopMark::kSequential, [&](const Term& k) { rows(k, 1); });
  }

  struct Found {
    Term element, row;
  };

  Found better_of(const Found& a, const Found& b) {
    const Term is_better = code_.let("is_better", how_.better(a.element, b.element));
    return {code_.let("best", select(is_better, b.element, a.element)),
            code_.let("where", select(is_better, b.row, a.row))};
  }

  // Of rows [begin, end) after row `first`, which has index `at`: halves first, so that few comparisons wait for
  // another.
  Found best_of(const Term& at, const Term& first, int64_t begin, int64_t end, int lanes, const Term& count) {
    if (end - begin > 1) {
      const int64_t middle = (begin + end) / 2;
      const Found a = best_of(at, first, begin, middle, lanes, count);
      return better_of(a, best_of(at, first, middle, end, lanes, count));
    }
    const Term x = load(at + Term(begin) * stride(reduced_[0], kIn), lanes, stride(kept_.back(), kIn), count);
    return {x, splat(cast(first + Term(begin), position_), lanes)};
  }

  // Few rows, all in registers.
  void columns_of_few_rows(const Term& first, const Term& end, const Term& in, const Term& out) {
    const Term step = stride(kept_.back(), kOut);
    each_vector(code_, "v", first, end, choice_.lanes, {}, [&](const Term& v, const Term& count) {
      if (count) choice_.tail = ScheduleChoice::Tail::kMasked;
      const Term at = code_.let("at", in + v * stride(kept_.back(), kIn));
      const Found best = best_of(at, 0, 0, reduced_[0].length.value(), choice_.lanes, count);
      b_.store(to_.operand, out + v * step, cast(best.row, DType::kInt64), step, count);
    });
  }

  // What is best of a block of rows, the first of which is row `block`, into the best of all blocks.
  void take_better(const Best& part, const Best& total, const Term& block, const Term& width) {
    const int lanes = std::min(lanes_, whole_lanes(b_, size_of(total.element)));
    auto merged = [&](bool is_first) {
      code_.loop("v", 0, width, Term(lanes), LoopMark::kVector, [&](const Term& v) {
        const Term x = code_.let("x", cast(kernel::load(part.elements, part.element, lanes, v, 1), total.element));
        const Term row = cast(kernel::load(part.rows, part.row, lanes, v, 1), total.row) + splat(block, lanes);
        if (is_first) {
          code_.store(total.elements, v, 1, x);
          return code_.store(total.rows, v, 1, row);
        }
        const Term best = code_.let("best", kernel::load(total.elements, total.element, lanes, v, 1));
        const Term is_better = code_.let("is_better", how_.better(best, x));
        code_.store(total.elements, v, 1, select(is_better, x, best));
        code_.store(total.rows, v, 1,
                    select(is_better, code_.let("row_of_x", row), kernel::load(total.rows, total.row, lanes, v, 1)));
      });
    };
    code_.if_(
        block == Term(0), [&] { merged(true); }, [&] { merged(false); });
  }

  void store_rows(const Best& from, const Term& out, const Term& strip, const Term& width) {
    const int lanes = lanes_of_positions();
    const Term step = stride(kept_.back(), kOut);
    vectors(width, lanes, [&](const Term& v, const Term& count) {
      const Term row = cast(kernel::load(from.rows, from.row, lanes, v, 1), DType::kInt64);
      b_.store(to_.operand, out + (strip + v) * step, row, step, count);
    });
  }

  int lanes_of_positions() const { return std::min(lanes_, whole_lanes(b_, size_of(DType::kInt64))); }

  DType value_;     // what is compared: elements, bools as 0 and 1
  DType position_;  // of rows, in lanes that a comparison of elements chooses from
  int lanes_;
  bool by_rows_ = false, by_columns_ = false;
};

}  // namespace

void schedule_arg_reduction(StepBuilder& b, const Nest& nest, std::string name, std::string comment) {
  ArgReductionLoops(b, nest).run(std::move(name), std::move(comment));
}

}  // namespace thtrain::kernel
