// A reduction of one operand's elements and nothing else: by vectors along a reduced axis that is contiguous, by
// vectors of results along a kept one, or across many short rows; else by four scalars. Its bits do not depend on
// threads.
#include <array>

#include "compiler/kernel/schedule/reduction_axes.h"

namespace thtrain::kernel {
namespace {

constexpr int kAccumulators = 4;  // enough to hide the latency of an addition

class ReductionLoops : private ReductionAxes {
 public:
  ReductionLoops(StepBuilder& b, const Nest& nest) : ReductionAxes(b, nest), result_(how_.dtype) {
    merge(reduced_);
    by_rows_ = bring_contiguous_last(reduced_);
    by_columns_ = !by_rows_ && bring_contiguous_last(kept_);
    if (by_rows_ && has_short_rows()) {  // many rows at once, by loads with a stride
      by_rows_ = false;
      by_columns_ = true;
    }
    lanes_ = by_rows_ || by_columns_ ? whole_lanes(b, std::max(size_of(element_), size_of(result_))) : 1;
    Dim count = product_of(reduced_);
    // One level is enough for a block; what does not round needs no other.
    block_ = kReduceBlock * (by_columns_ ? 1 : kAccumulators * lanes_);
    two_levels_ = how_.rounds && !is_int(result_) && !(count.is_known() && count.value() <= block_);
  }

  void run(std::string name, const std::string& comment) {
    check_elements(b_, how_, reduced_, kept_);
    if (reduced_.empty()) reduced_.push_back({1, {0, 0}, AxisKind::kReduce});
    if (by_columns_)
      each_line(
          [&](const Term& first, const Term& end, const Term& in, const Term& out) { columns(first, end, in, out); });
    else
      each_result([&](const Term& in, const Term& out) { one_result(in, out); });
    const std::string text = comment + (by_rows_      ? ": vectors along the reduced axis"
                                        : by_columns_ ? ": vectors along the kept axis"
                                                      : "");
    choice_.lanes = lanes_;
    choice_.over = by_rows_ ? "the row" : "columns";
    choice_.accumulators = by_columns_ ? 1 : kAccumulators;
    choice_.two_levels = two_levels_;
    finish(std::move(name), text, by_columns_);
  }

 private:
  // Loops over reduced axes but the last, and over that one in blocks of `size`: body(first element's index, length).
  void blocks(size_t depth, const Term& in, int64_t size, const std::function<void(Term, Term)>& body) {
    const LoopAxis& axis = reduced_[depth];
    Term length = b_.length(axis.length);
    if (depth + 1 == reduced_.size()) {
      if (!two_levels_ || (axis.length.is_known() && axis.length.value() <= size)) return body(in, length);
      code_.loop("block", 0, length, Term(size), LoopMark::kSequential, [&](Term block) {
        body(code_.let("at", in + block * stride(axis, kIn)), code_.let("n", min_of(length - block, Term(size))));
      });
      return;
    }
    code_.loop(str("k", depth), length,
               [&](Term k) { blocks(depth + 1, code_.let("at", in + k * stride(axis, kIn)), size, body); });
  }

  // Calls `run` for each run of elements, and `flush` whenever a block's worth has come together.
  void pending_blocks(const Term& in, const std::function<void(Term, Term)>& run, const std::function<void()>& flush,
                      const std::function<void()>& clear) {
    Term pending = code_.var("pending", Term(0));
    blocks(0, in, block_, [&](Term at, Term n) {
      run(at, n);
      code_.assign(pending, pending + n);
      code_.if_(pending >= Term(block_), [&] {
        flush();
        clear();
        code_.assign(pending, Term(0));
      });
    });
    flush();
  }

  // ---- along the reduced axis, or scalars --------------------------------------------------------------------------

  void one_result(const Term& in, const Term& out) {
    std::array<Term, kAccumulators> acc;
    for (Term& a : acc) a = code_.var("acc", identity());
    auto combined = [&] {
      Term left = code_.let("left", how_.combine(acc[0], acc[1]));
      Term right = code_.let("right", how_.combine(acc[2], acc[3]));
      return combine_lanes(how_, how_.combine(left, right));
    };
    if (!two_levels_) {
      blocks(0, in, block_, [&](Term at, Term n) { accumulate_run(acc, at, n); });
      b_.store(to_.operand, out, cast(combined(), to_.operand.type.dtype));
      return;
    }
    DType wide = wide_of(result_);
    Term total = code_.var("total", constant(wide, 0));
    pending_blocks(
        in, [&](Term at, Term n) { accumulate_run(acc, at, n); },
        [&] { code_.assign(total, how_.combine(total, cast(combined(), wide))); },
        [&] {
          for (const Term& a : acc) code_.assign(a, identity());
        });
    b_.store(to_.operand, out, cast(total, to_.operand.type.dtype));
  }

  Term identity() const { return start(how_, element_, lanes_); }

  // n elements from index `at` on: four vectors at a time, then one, then the lanes that are left.
  void accumulate_run(const std::array<Term, kAccumulators>& acc, const Term& at, const Term& n) {
    const Term step = stride(reduced_.back(), kIn);
    each_accumulated(code_, n, kAccumulators, lanes_, {}, [&](const Term& j, const Term& count, int part) {
      Term x = cast(b_.load(from_.operand, at + j * step, lanes_, step, count), result_);
      if (!static_cast<bool>(count)) {
        const Term& a = acc[static_cast<size_t>(part)];
        return code_.assign(a, accumulate(how_, a, code_.let("x", x)));
      }
      choice_.tail = ScheduleChoice::Tail::kMasked;
      x = code_.let("x", in_first_lanes(count, x, identity()));
      code_.assign(acc[1], how_.combine(acc[1], x));
    });
  }

  // ---- along the kept axis -----------------------------------------------------------------------------------------

  // Results first to last of the innermost kept axis, in strips; rows are added to a strip's accumulators in turn.
  void columns(const Term& first, const Term& last, const Term& in, const Term& out) {
    int64_t room = columns_ + lanes_;  // the last vector may stand out
    std::string part = code_.local_array("part", {result_, 1, 0}, room).node().name;
    DType wide = wide_of(result_);
    std::string total = two_levels_ ? code_.local_array("total", {wide, 1, 0}, room).node().name : part;
    auto fill = [&](const std::string& array, DType dtype, const Term& width) {
      int lanes = lanes_for(dtype);
      code_.loop("v", 0, width, Term(lanes), LoopMark::kVector,
                 [&](Term v) { code_.store(array, v, 1, splat(how_.identity(dtype), lanes)); });
    };
    strips(first, last, [&](Term strip, Term width) {
      Term at = code_.let("at", in + strip * stride(kept_.back(), kIn));
      fill(part, result_, width);
      auto rows = [&](Term row, Term n) { add_rows(part, row, n, width); };
      if (!two_levels_) {
        blocks(0, at, block_, rows);
        return store_columns(part, result_, out, strip, width);
      }
      fill(total, wide, width);
      auto flush = [&] {
        int lanes = lanes_for(wide);
        code_.loop("v", 0, width, Term(lanes), LoopMark::kVector, [&](Term v) {
          Term sum = kernel::load(total, wide, lanes, v, 1);
          Term more = cast(kernel::load(part, result_, lanes, v, 1), wide);
          code_.store(total, v, 1, how_.combine(sum, more));
        });
      };
      pending_blocks(at, rows, flush, [&] { fill(part, result_, width); });
      store_columns(total, wide, out, strip, width);
    });
  }

  int lanes_for(DType dtype) const { return std::min(lanes_, whole_lanes(b_, size_of(dtype))); }

  // n rows from index `at` on, many at a time: as many streams are read, and the accumulators less often.
  void add_rows(const std::string& part, const Term& at, const Term& n, const Term& width) {
    const Term down = stride(reduced_.back(), kIn), column = stride(kept_.back(), kIn);
    auto rows = [&](const Term& row, int how_many) {
      vectors(width, lanes_, [&](const Term& v, const Term& count) {
        Term acc = code_.let("acc", kernel::load(part, result_, lanes_, v, 1));
        for (int k = 0; k < how_many; ++k) {
          Term x = code_.let("x", b_.load(from_.operand, row + Term(k) * down + v * column, lanes_, column, count));
          acc = code_.let("acc", accumulate(how_, acc, x));
        }
        code_.store(part, v, 1, acc);
      });
    };
    Term done = 0;
    for (const int64_t step : {16, 4, 1}) {
      if (is_known(n) && is_known(done) && n.node().integer - done.node().integer < step) continue;
      code_.loop("row", done, n - Term(step - 1), Term(step), LoopMark::kSequential,
                 [&](Term k) { rows(code_.let("from", at + k * down), static_cast<int>(step)); });
      if (step > 1)
        done = is_known(n) ? Term(n.node().integer / step * step) : code_.let("rest", n / Term(step) * Term(step));
    }
  }

  void store_columns(const std::string& from, DType dtype, const Term& out, const Term& strip, const Term& width) {
    int lanes = lanes_for(dtype);
    const Term step = stride(kept_.back(), kOut);
    vectors(width, lanes, [&](const Term& v, const Term& count) {
      Term value = cast(kernel::load(from, dtype, lanes, v, 1), to_.operand.type.dtype);
      b_.store(to_.operand, out + (strip + v) * step, value, step, count);
    });
  }

  DType result_;
  bool by_rows_ = false, by_columns_ = false, two_levels_ = false;
  int lanes_ = 1;
  int64_t block_ = 0;  // elements of one level: of all accumulators of a result
};

}  // namespace

void merge(std::vector<LoopAxis>& axes) {
  for (size_t i = 0; i < axes.size(); ++i)
    for (size_t j = 0; j < axes.size(); ++j) {
      const LoopAxis &outer = axes[i], inner = axes[j];
      bool joined = i != j;
      for (size_t k = 0; joined && k < outer.strides.size(); ++k)
        joined = outer.strides[k] == inner.strides[k] * inner.length;
      if (!joined) continue;
      axes[i] = {outer.length * inner.length, inner.strides, inner.kind};
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(j));
      return merge(axes);
    }
}

void schedule_reduction(StepBuilder& b, const Nest& nest, std::string name, std::string comment) {
  ReductionLoops(b, nest).run(std::move(name), comment);
}

}  // namespace thtrain::kernel
