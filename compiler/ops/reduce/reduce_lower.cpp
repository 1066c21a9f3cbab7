#include "compiler/ops/reduce/reduce_lower.h"

#include <algorithm>
#include <array>

namespace thtrain {

using kernel::Code;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

namespace {

constexpr int kAccumulators = 4;             // enough to hide the latency of an addition
constexpr int64_t kShortRow = 16;            // elements that are not worth the lanes of a vector
constexpr int64_t kColumns = 1024;           // of a strip whose accumulators stay in the first-level cache
constexpr int64_t kWork = int64_t{1} << 16;  // elements that are worth a thread

// Collapses pairs of axes that are contiguous. The order of reduced axes may change: any is as good.
void merge(std::vector<ReduceAxis>& axes) {
  for (size_t i = 0; i < axes.size(); ++i)
    for (size_t j = 0; j < axes.size(); ++j) {
      const ReduceAxis &outer = axes[i], inner = axes[j];
      if (i == j || !(outer.in == inner.in * inner.length) || !(outer.out == inner.out * inner.length)) continue;
      axes[i] = {outer.length * inner.length, inner.in, inner.out};
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(j));
      return merge(axes);
    }
}

Term min_of(const Term& a, const Term& b) {
  return kernel::select(a < b, a, b);
}

bool is_known(const Term& n) {
  return n.node().prim == kernel::Prim::kConstant;
}

// The dtype of lane numbers whose comparison gives a mask of that element size.
DType lane_dtype(size_t bytes) {
  return bytes == 1 ? DType::kInt8 : bytes == 2 ? DType::kInt16 : bytes == 4 ? DType::kInt32 : DType::kInt64;
}

Dim product_of(const std::vector<ReduceAxis>& axes) {
  Dim out = 1;
  for (const ReduceAxis& axis : axes) out = out * axis.length;
  return out;
}

// Moves the first axis of stride 1 to the end; false if there is none.
bool bring_contiguous_last(std::vector<ReduceAxis>& axes) {
  auto at = std::find_if(axes.begin(), axes.end(), [](const ReduceAxis& axis) { return axis.in.is(1); });
  if (at == axes.end()) return false;
  std::rotate(at, at + 1, axes.end());
  return true;
}

class Emitter {
 public:
  Emitter(const Reduction& record, StepBuilder& b)
      : record_(record), b_(b), code_(b.code()), element_(b.input(0).type.dtype), result_(b.output().type.dtype) {
    const Props& props = b.node().props;
    axes_ = reduce_axes(b, props.get<Ints>("axes"), props.get<bool>("keepdims"));
    by_rows_ = bring_contiguous_last(axes_.reduced);
    by_columns_ = !by_rows_ && bring_contiguous_last(axes_.kept);
    if (by_rows_ && has_short_rows()) {  // many rows at once, by loads with a stride
      by_rows_ = false;
      by_columns_ = true;
    }
    DType widest = size_of(element_) > size_of(result_) ? element_ : result_;
    lanes_ = by_rows_ || by_columns_ ? b.lanes_of(widest) : 1;
    Dim count = product_of(axes_.reduced);
    // One level is enough for a block; what does not round needs no other.
    block_ = kReduceBlock * (by_columns_ ? 1 : kAccumulators * lanes_);
    two_levels_ = record.rounds && !is_int(result_) && !(count.is_known() && count.value() <= block_);
  }

  void run() {
    if (!record_.empty_allowed) check_elements(b_, axes_);
    if (axes_.reduced.empty()) axes_.reduced.push_back({1, 0, 0});
    Dim range = 1, each = product_of(axes_.reduced);  // results, or slices of them; elements behind one
    if (!axes_.kept.empty()) range = axes_.kept[0].length;
    for (size_t i = 1; i < axes_.kept.size(); ++i) each = each * axes_.kept[i].length;
    Dim elements = range * each;
    split_ = !axes_.kept.empty() && !(elements.is_known() && elements.value() <= kWork);
    results(0, Term(0), Term(0));
    std::string text =
        str(record_.name, " of in0 ", readable(b_.input(0).type.text()), " to ", readable(b_.output().type.text()),
            by_rows_      ? ": vectors along the reduced axis"
            : by_columns_ ? ": vectors along the kept axis"
                          : "");
    bool columns = by_columns_ && axes_.kept.size() == 1;
    if (split_)
      b_.finish_kernel(record_.name, text, range, reduce_grain(each), columns ? lanes_ : 1);
    else
      b_.finish_kernel(record_.name, text, 1);
  }

 private:
  bool has_short_rows() const {
    if (axes_.reduced.size() != 1 || axes_.kept.empty()) return false;
    const Dim &length = axes_.reduced[0].length, &rows = axes_.kept.back().length;
    return length.is_known() && length.value() <= kShortRow && !(rows.is_known() && rows.value() < kShortRow);
  }

  // Loops over kept axis `depth` and those after it; in, out: element indices so far.
  void results(size_t depth, const Term& in, const Term& out) {
    if (depth == axes_.kept.size()) return one_result(in, out);
    const ReduceAxis& axis = axes_.kept[depth];
    Term first = depth == 0 && split_ ? b_.begin() : Term(0);
    Term last = depth == 0 && split_ ? b_.end() : b_.length(axis.length);
    if (by_columns_ && depth + 1 == axes_.kept.size()) return columns(first, last, in, out);
    code_.loop(str("i", depth), first, last, 1, LoopMark::kSequential, [&](Term i) {
      Term at = code_.let("at", in + i * b_.length(axis.in));
      results(depth + 1, at, code_.let("to", out + i * b_.length(axis.out)));
    });
  }

  // Loops over reduced axes but the last, and over that one in blocks of `size`: body(first element's index, length).
  void blocks(size_t depth, const Term& in, int64_t size, const std::function<void(Term, Term)>& body) {
    const ReduceAxis& axis = axes_.reduced[depth];
    Term length = b_.length(axis.length);
    if (depth + 1 == axes_.reduced.size()) {
      if (!two_levels_ || (axis.length.is_known() && axis.length.value() <= size)) return body(in, length);
      code_.loop("block", 0, length, Term(size), LoopMark::kSequential, [&](Term block) {
        body(code_.let("at", in + block * b_.length(axis.in)), code_.let("n", min_of(length - block, Term(size))));
      });
      return;
    }
    code_.loop(str("k", depth), length,
               [&](Term k) { blocks(depth + 1, code_.let("at", in + k * b_.length(axis.in)), size, body); });
  }

  // ---- along the reduced axis, or scalars --------------------------------------------------------------------------

  void one_result(const Term& in, const Term& out) {
    std::array<Term, kAccumulators> acc;
    for (Term& a : acc) a = code_.var("acc", start(record_, element_, lanes_));
    auto combined = [&] {
      Term left = code_.let("left", record_.combine(acc[0], acc[1]));
      Term right = code_.let("right", record_.combine(acc[2], acc[3]));
      return combine_lanes(record_, record_.combine(left, right));
    };
    if (!two_levels_) {
      blocks(0, in, block_, [&](Term at, Term n) { accumulate_run(acc, at, n); });
      b_.store(b_.output(), out, combined());
      return;
    }
    DType wide = wide_of(result_);
    Term total = code_.var("total", kernel::constant(wide, 0));
    Term pending = code_.var("pending", Term(0));
    auto flush = [&] { code_.assign(total, record_.combine(total, kernel::cast(combined(), wide))); };
    blocks(0, in, block_, [&](Term at, Term n) {
      accumulate_run(acc, at, n);
      code_.assign(pending, pending + n);
      code_.if_(pending >= Term(block_), [&] {
        flush();
        for (const Term& a : acc) code_.assign(a, start(record_, element_, lanes_));
        code_.assign(pending, Term(0));
      });
    });
    flush();
    b_.store(b_.output(), out, kernel::cast(total, result_));
  }

  void add_to(const Term& acc, const Term& element) {
    code_.assign(acc, accumulate(record_, acc, code_.let("x", kernel::cast(element, result_))));
  }

  // n elements from index `at` on: four vectors at a time, then one, then the lanes that are left.
  void accumulate_run(const std::array<Term, kAccumulators>& acc, const Term& at, const Term& n) {
    Term stride = b_.length(axes_.reduced.back().in);
    int64_t step = kAccumulators * lanes_;
    auto element = [&](const Term& i, Term count = {}) {
      return b_.load(b_.input(0), at + i * stride, lanes_, stride, std::move(count));
    };
    bool known = is_known(n);
    int64_t length = known ? n.node().integer : -1;
    if (!known || length >= step)
      code_.loop("j", 0, n - Term(step - 1), Term(step), LoopMark::kVector, [&](Term j) {
        for (int k = 0; k < kAccumulators; ++k) add_to(acc[static_cast<size_t>(k)], element(j + Term(k * lanes_)));
      });
    Term rest = known ? Term(length / step * step) : code_.let("rest", n / Term(step) * Term(step));
    if (!known || length % step >= lanes_)
      code_.loop("j", rest, n - Term(lanes_ - 1), Term(lanes_), LoopMark::kVector,
                 [&](Term j) { add_to(acc[0], element(j)); });
    if (lanes_ == 1 || (known && length % lanes_ == 0)) return;
    rest = known ? Term(length / lanes_ * lanes_) : code_.let("rest", n / Term(lanes_) * Term(lanes_));
    auto tail = [&] {
      Term count = code_.let("count", n - rest);
      Term x = kernel::cast(element(rest, count), result_);
      DType lane = lane_dtype(size_of(result_));
      Term exists = kernel::iota(lane, lanes_) < kernel::splat(kernel::cast(count, lane), lanes_);
      x = code_.let("x", kernel::select(exists, x, start(record_, element_, lanes_)));
      code_.assign(acc[1], record_.combine(acc[1], x));
    };
    if (known)
      tail();
    else
      code_.if_(rest < n, tail);
  }

  // ---- along the kept axis -----------------------------------------------------------------------------------------

  // Results first to last of the innermost kept axis, in strips; rows are added to a strip's accumulators in turn.
  void columns(const Term& first, const Term& last, const Term& in, const Term& out) {
    int64_t room = kColumns + lanes_;  // the last vector may stand out
    std::string part = code_.local_array("part", {result_, 1, 0}, room).node().name;
    DType wide = wide_of(result_);
    std::string total = two_levels_ ? code_.local_array("total", {wide, 1, 0}, room).node().name : part;
    auto fill = [&](const std::string& array, DType dtype, const Term& width) {
      int lanes = lanes_for(dtype);
      code_.loop("v", 0, width, Term(lanes), LoopMark::kVector,
                 [&](Term v) { code_.store(array, v, 1, kernel::splat(record_.identity(dtype), lanes)); });
    };
    strips(first, last, [&](Term strip, Term width) {
      Term at = code_.let("at", in + strip * b_.length(axes_.kept.back().in));
      fill(part, result_, width);
      if (!two_levels_) {
        blocks(0, at, block_, [&](Term row, Term n) { add_rows(part, row, n, width); });
        return store_columns(part, result_, out, strip, width);
      }
      fill(total, wide, width);
      Term pending = code_.var("pending", Term(0));
      auto flush = [&] {
        int lanes = lanes_for(wide);
        code_.loop("v", 0, width, Term(lanes), LoopMark::kVector, [&](Term v) {
          Term sum = kernel::load(total, wide, lanes, v, 1);
          Term more = kernel::cast(kernel::load(part, result_, lanes, v, 1), wide);
          code_.store(total, v, 1, record_.combine(sum, more));
        });
      };
      blocks(0, at, block_, [&](Term row, Term n) {
        add_rows(part, row, n, width);
        code_.assign(pending, pending + n);
        code_.if_(pending >= Term(block_), [&] {
          flush();
          fill(part, result_, width);
          code_.assign(pending, Term(0));
        });
      });
      flush();
      store_columns(total, wide, out, strip, width);
    });
  }

  void strips(const Term& first, const Term& last, const std::function<void(Term, Term)>& body) {
    if (is_known(last) && is_known(first) && last.node().integer <= kColumns) return body(first, last);  // from 0 on
    code_.loop("strip", first, last, Term(kColumns), LoopMark::kSequential,
               [&](Term strip) { body(strip, code_.let("width", min_of(last - strip, Term(kColumns)))); });
  }

  // body(index, count) for vectors of `lanes` side by side in [0, width); no count: all of them exist.
  void vectors(const Term& width, int lanes, const std::function<void(Term, Term)>& body) {
    bool known = is_known(width);
    int64_t length = known ? width.node().integer : 0;
    if (!known || length >= lanes)
      code_.loop("v", 0, width - Term(lanes - 1), Term(lanes), LoopMark::kVector, [&](Term v) { body(v, {}); });
    if (known && length % lanes == 0) return;
    if (known) return body(Term(length / lanes * lanes), Term(length % lanes));
    Term rest = code_.let("rest", width / Term(lanes) * Term(lanes));
    code_.if_(rest < width, [&] { body(rest, code_.let("count", width - rest)); });
  }

  int lanes_for(DType dtype) const { return std::min(lanes_, b_.lanes_of(dtype)); }

  // n rows from index `at` on, four at a time.
  void add_rows(const std::string& part, const Term& at, const Term& n, const Term& width) {
    Term stride = b_.length(axes_.reduced.back().in), column = b_.length(axes_.kept.back().in);
    auto rows = [&](const Term& row, int how_many) {
      auto body = [&](const Term& v, const Term& count) {
        Term acc = code_.let("acc", kernel::load(part, result_, lanes_, v, 1));
        for (int k = 0; k < how_many; ++k) {
          Term x = code_.let("x", b_.load(b_.input(0), row + Term(k) * stride + v * column, lanes_, column, count));
          acc = code_.let("acc", accumulate(record_, acc, x));
        }
        code_.store(part, v, 1, acc);
      };
      vectors(width, lanes_, body);
    };
    if (!is_known(n) || n.node().integer >= 4)
      code_.loop("row", 0, n - Term(3), 4, LoopMark::kSequential,
                 [&](Term k) { rows(code_.let("from", at + k * stride), 4); });
    Term rest = is_known(n) ? Term(n.node().integer / 4 * 4) : code_.let("rest", n / Term(4) * Term(4));
    if (!is_known(n) || n.node().integer % 4 != 0)
      code_.loop("row", rest, n, 1, LoopMark::kSequential,
                 [&](Term k) { rows(code_.let("from", at + k * stride), 1); });
  }

  void store_columns(const std::string& from, DType dtype, const Term& out, const Term& strip, const Term& width) {
    int lanes = lanes_for(dtype);
    Term stride = b_.length(axes_.kept.back().out);
    auto body = [&](const Term& v, const Term& count) {
      Term value = kernel::cast(kernel::load(from, dtype, lanes, v, 1), result_);
      b_.store(b_.output(), out + (strip + v) * stride, value, stride, count);
    };
    vectors(width, lanes, body);
  }

  const Reduction& record_;
  StepBuilder& b_;
  Code& code_;
  DType element_, result_;
  ReduceAxes axes_;
  bool by_rows_ = false, by_columns_ = false, two_levels_ = false, split_ = false;
  int lanes_ = 1;
  int64_t block_ = 0;  // elements of one level: of all accumulators of a result
};

}  // namespace

ReduceAxes reduce_axes(const StepBuilder& b, const Ints& reduced, bool keepdims) {
  const kernel::Operand &in = b.input(0), &out = b.output();
  ReduceAxes axes;
  size_t next = 0;
  for (size_t i = 0; i < in.type.rank(); ++i) {
    bool goes = std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(i)) != reduced.end();
    Dim to = goes ? Dim(0) : out.layout.strides[next];
    if (!goes || keepdims) ++next;
    if (in.type.dims[i].is(1)) continue;
    (goes ? axes.reduced : axes.kept).push_back({in.type.dims[i], in.layout.strides[i], to});
  }
  merge(axes.kept);
  merge(axes.reduced);
  return axes;
}

Dim reduce_grain(const Dim& elements) {
  return floor_div(Dim(kWork), max(elements, 1)) + 1;
}

kernel::RuntimeCheck no_elements_check(const Node& node) {
  return {.what = str(node.op->name, ": the maximum or minimum of no elements is undefined"),
          .expected = "at least 1 element along the reduced axes",
          .origin = node.origin};
}

void check_elements(StepBuilder& b, const ReduceAxes& axes) {
  Dim count = product_of(axes.reduced);
  Dim results = product_of(axes.kept);
  if (count.is_known() || results.is(0)) return;  // the type rule has looked
  Term n = b.length(count);
  Term some = axes.kept.empty() ? n > Term(0) : n > Term(0) || b.length(results) == Term(0);
  b.require(some, no_elements_check(b.node()), n, 1);
}

void lower_reduction(const Reduction& record, StepBuilder& b) {
  if (is_complex(b.input(0).type.dtype)) return b.call_reference();
  Emitter(record, b).run();
}

}  // namespace thtrain
