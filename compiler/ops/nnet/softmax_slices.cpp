#include "compiler/ops/nnet/softmax_slices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce_lower.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

size_t softmax_axis(const Node& node) {
  return static_cast<size_t>(node.props.get<int64_t>("axis"));
}

std::vector<Type> infer_softmax(const TypeArgs& args) {
  const Type& x = args.type(0);
  args.require(x.kind == TypeKind::kTensor && is_float(x.dtype), "the input must hold real floats");
  int64_t axis = args.props.get<int64_t>("axis");
  args.require(axis >= 0 && axis < static_cast<int64_t>(x.rank()), str("there is no axis ", axis));
  return {x};
}

std::vector<Tensor> softmax_reference(const ReferenceArgs& args, bool logarithm) {
  const Tensor& x = args.inputs[0];
  Tensor out = args.make_output();
  size_t axis = softmax_axis(args.node);
  int64_t n = x.dim(axis), stride = x.strides()[axis];
  Shape outer = x.shape();
  outer[axis] = 1;
  if (n == 0) return {out};
  auto run = [&](auto zero, auto wide) {
    using T = decltype(zero);
    using Wide = decltype(wide);
    for_each_index(outer, [&](const Shape& at) {
      const T* from = x.data<T>() + x.offset(at);
      T* to = out.data<T>() + out.offset(at);
      Wide most = from[0], total = 0;
      for (int64_t i = 0; i < n; ++i)
        if (from[i * stride] > most || std::isnan(from[i * stride])) most = from[i * stride];
      for (int64_t i = 0; i < n; ++i) total += std::exp(from[i * stride] - most);
      for (int64_t i = 0; i < n; ++i) {
        Wide away = from[i * stride] - most;
        to[i * stride] = static_cast<T>(logarithm ? away - std::log(total) : std::exp(away) / total);
      }
    });
  };
  if (x.dtype() == DType::kFloat32)
    run(float(), double());
  else
    run(double(), static_cast<long double>(0));
  return {out};
}

Cost softmax_cost(const Node& node) {
  Dim n = node.types[0].elements();
  return {.flops = n * 25, .bytes = n * 2 * static_cast<int64_t>(size_of(node.types[0].dtype))};
}

std::vector<OpCase> softmax_cases(const Op& op) {
  struct Row {
    Dims dims;
    int64_t axis;
  };
  std::vector<OpCase> out;
  for (const Row& row : std::vector<Row>{{{1}, 0},
                                         {{7}, 0},
                                         {{3, 10}, 1},
                                         {{37, 10}, 1},
                                         {{10, 3}, 0},
                                         {{5, 1}, 1},
                                         {{2, 300}, 1},
                                         {{0, 4}, 1},
                                         {{4, 0}, 1},
                                         {{2, 3, 5}, 1},
                                         {{70, 37}, 0},
                                         {{3, 2, 33}, 2}})
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      Props props{{"axis", row.axis}};
      out.push_back({.name = str(name_of(dtype), "[", dims_text(row.dims), "] along ", row.axis),
                     .inputs = {{.dtype = dtype, .dims = row.dims}},
                     .build = [&op, props](const std::vector<Expr>& in) { return std::vector{apply(op, in, props)}; },
                     .low = -5,
                     .high = 5,
                     .bound = 8});
    }
  return out;
}

Expr build_softmax(const Op& op, const Operand& operand, int64_t axis) {
  Expr x = operand.expr();
  size_t at = axis_of(axis, x, op.name, operand.where());
  if (!is_float(x.dtype()) && !is_complex(x.dtype())) x = cast(Operand(x, operand.where()), to_float(x.dtype()));
  return apply(op, {x}, {{"axis", static_cast<int64_t>(at)}}, operand.where());
}

namespace {

constexpr int kAccumulators = 4;
constexpr int64_t kInRegisters = 8;   // vectors of a slice that stay in registers
constexpr int64_t kShortSlice = 32;   // elements: many slices at once are faster
constexpr int64_t kElementWork = 16;  // an exponential, beside an addition

// For each slice: its maximum m, the sum s of e = exp(x - m), then e / s or (x - m) - log(s). Vectors run along the
// slice, or over neighbouring slices where only those lie side by side.
class Emitter {
 public:
  Emitter(StepBuilder& b, bool logarithm)
      : b_(b), code_(b.code()), dtype_(b.output().type.dtype), logarithm_(logarithm), lanes_(b.lanes_of(dtype_)) {
    // Both operands have the same axes: the slice's is taken out, the others are merged.
    int64_t axis = b.node().props.get<int64_t>("axis");
    size_t a = static_cast<size_t>(axis);
    slice_ = {b.output().type.dims[a], b.input(0).layout.strides[a], b.output().layout.strides[a]};
    kept_ = reduce_axes(b, {axis}, true).kept;
    if (kept_.empty()) return;
    const ReduceAxis& next = kept_.back();
    bool side_by_side = !slice_.out.is(1) && next.in.is(1) && next.out.is(1);
    in_tile_ = !side_by_side && slice_.length.is_known() && slice_.length.value() <= kShortSlice &&
               !(next.length.is_known() && next.length.value() < lanes_);
    across_ = side_by_side || in_tile_;
  }

  void run() {
    Dim range = kept_.empty() ? Dim(1) : kept_[0].length, each = slice_.length * kElementWork;
    for (size_t i = 1; i < kept_.size(); ++i) each = each * kept_[i].length;
    slices(0, Term(0), Term(0));
    const std::string& name = b_.node().op->name;
    std::string text = str(name, " of in0 along axis ", softmax_axis(b_.node()), ", ",
                           readable(b_.output().type.text()), ": vectors ", across_ ? "over slices" : "in a slice");
    b_.finish_kernel(name, text, range, kept_.empty() ? Dim(0) : reduce_grain(each),
                     across_ && kept_.size() == 1 ? lanes_ : 1);
  }

 private:
  void slices(size_t depth, const Term& in, const Term& out) {
    if (depth == kept_.size()) return along(in, out);
    const ReduceAxis& axis = kept_[depth];
    Term first = depth == 0 ? b_.begin() : Term(0), last = depth == 0 ? b_.end() : b_.length(axis.length);
    if (across_ && depth + 1 == kept_.size()) return across(first, last, in, out);
    code_.loop(str("i", depth), first, last, 1, LoopMark::kSequential, [&](Term i) {
      Term at = code_.let("at", in + i * b_.length(axis.in));
      slices(depth + 1, at, code_.let("to", out + i * b_.length(axis.out)));
    });
  }

  Term number(double value, int lanes) const { return kernel::splat(kernel::constant(dtype_, value), lanes); }
  Term lowest(int lanes) const { return number(-std::numeric_limits<double>::infinity(), lanes); }
  void raise(const Term& most, const Term& x) { code_.assign(most, maximum_.combine(most, x)); }
  Term exponential(const Term& x, const Term& most) { return code_.let("e", kernel::math("exp", {x - most})); }

  // ---- vectors in a slice ------------------------------------------------------------------------------------------

  Term load_in_slice(const Term& at, const Term& i, const Term& count) {
    Term stride = b_.length(slice_.in);
    Term x = b_.load(b_.input(0), at + i * stride, lanes_, stride, count);
    if (count) {  // lanes that do not exist are -inf: no maximum, and 0 in the sum
      DType lane = dtype_ == DType::kFloat32 ? DType::kInt32 : DType::kInt64;
      Term exists = kernel::iota(lane, lanes_) < kernel::splat(kernel::cast(count, lane), lanes_);
      x = kernel::select(exists, x, lowest(lanes_));
    }
    return code_.let("x", x);
  }
  void store_in_slice(const Term& to, const Term& i, const Term& value, const Term& count) {
    Term stride = b_.length(slice_.out);
    b_.store(b_.output(), to + i * stride, value, stride, count);
  }

  // body(i, count, accumulator) for the vectors of [first, first + n); no count: all lanes exist.
  void vectors(const Term& first, const Term& n, const std::function<void(Term, Term, int)>& body) {
    int64_t step = kAccumulators * lanes_;
    code_.loop("j", 0, n - Term(step - 1), Term(step), LoopMark::kVector, [&](Term j) {
      for (int k = 0; k < kAccumulators; ++k) body(first + j + Term(k * lanes_), {}, k);
    });
    Term rest = code_.let("rest", n / Term(step) * Term(step));
    code_.loop("j", rest, n - Term(lanes_ - 1), Term(lanes_), LoopMark::kVector,
               [&](Term j) { body(first + j, {}, 0); });
    rest = code_.let("rest", n / Term(lanes_) * Term(lanes_));
    code_.if_(rest < n, [&] { body(first + rest, code_.let("count", n - rest), 1); });
  }

  Term combined(const Reduction& reduction, const std::vector<Term>& acc) {
    std::vector<Term> terms = acc;
    while (terms.size() > 1) {
      std::vector<Term> half;
      for (size_t i = 0; i + 1 < terms.size(); i += 2)
        half.push_back(code_.let("c", reduction.combine(terms[i], terms[i + 1])));
      if (terms.size() % 2) half.push_back(terms.back());
      terms = half;
    }
    return combine_lanes(reduction, terms[0]);
  }
  std::vector<Term> accumulators(const std::string& name, const Term& start) {
    std::vector<Term> out;
    for (int k = 0; k < kAccumulators; ++k) out.push_back(code_.var(name, start));
    return out;
  }

  // What every element is multiplied by, or what is taken from it.
  Term finisher(const Term& total) {
    return code_.let("finish", logarithm_ ? kernel::math("log", {total}) : kernel::constant(dtype_, 1) / total);
  }

  void along(const Term& at, const Term& to) {
    const Dim& length = slice_.length;
    if (length.is_known() && length.value() <= kInRegisters * lanes_) return in_registers(at, to, length.value());
    Term n = b_.length(length);
    std::vector<Term> most = accumulators("most", lowest(lanes_));
    vectors(0, n, [&](Term i, Term count, int k) { raise(most[static_cast<size_t>(k)], load_in_slice(at, i, count)); });
    Term m = code_.let("m", combined(maximum_, most));
    // The sum by blocks, whose sums are added in float64.
    int64_t block = kReduceBlock * kAccumulators * lanes_;
    DType wide = wide_of(dtype_);
    Term total = code_.var("total", kernel::constant(wide, 0));
    code_.loop("block", 0, n, Term(block), LoopMark::kSequential, [&](Term first) {
      std::vector<Term> sums = accumulators("sum", number(0, lanes_));
      Term left = code_.let("left", n - first);
      vectors(first, code_.let("size", kernel::select(left < Term(block), left, Term(block))),
              [&](Term i, Term count, int k) {
                Term e = exponential(load_in_slice(at, i, count), m);
                if (!logarithm_) store_in_slice(to, i, e, count);
                code_.assign(sums[static_cast<size_t>(k)], sums[static_cast<size_t>(k)] + e);
              });
      code_.assign(total, total + kernel::cast(combined(sum_, sums), wide));
    });
    Term finish = finisher(kernel::cast(total, dtype_));
    vectors(0, n, [&](Term i, Term count, int) {
      Term stride = b_.length(logarithm_ ? slice_.in : slice_.out), index = (logarithm_ ? at : to) + i * stride;
      Term x = b_.load(logarithm_ ? b_.input(0) : b_.output(), index, lanes_, stride, count);
      store_in_slice(to, i, logarithm_ ? x - m - finish : x * finish, count);
    });
  }

  void in_registers(const Term& at, const Term& to, int64_t n) {
    if (n == 0) return;
    std::vector<Term> x, e;
    auto count_at = [&](size_t k) {
      int64_t left = n - static_cast<int64_t>(k) * lanes_;
      return left < lanes_ ? Term(left) : Term();
    };
    size_t vectors = static_cast<size_t>((n + lanes_ - 1) / lanes_);
    for (size_t k = 0; k < vectors; ++k)
      x.push_back(load_in_slice(at, Term(static_cast<int64_t>(k) * lanes_), count_at(k)));
    Term m = code_.let("m", combined(maximum_, x));
    for (Term& value : x) {
      Term away = code_.let("away", value - m);
      e.push_back(code_.let("e", kernel::math("exp", {away})));
      if (logarithm_) value = away;
    }
    Term finish = finisher(code_.let("total", combined(sum_, e)));
    for (size_t k = 0; k < vectors; ++k) {
      Term y = logarithm_ ? x[k] - finish : e[k] * finish;
      store_in_slice(to, Term(static_cast<int64_t>(k) * lanes_), y, count_at(k));
    }
  }

  // ---- vectors over slices -----------------------------------------------------------------------------------------

  void across(const Term& first, const Term& last, const Term& in, const Term& out) {
    int64_t elements = in_tile_ ? std::max<int64_t>(slice_.length.value(), 1) * lanes_ : 0;
    std::string tile = in_tile_ ? code_.local_array("tile", {dtype_, 1, 0}, elements).node().name : "";
    code_.loop("j", first, last - Term(lanes_ - 1), Term(lanes_), LoopMark::kVector,
               [&](Term j) { lanes_of_slices(tile, in, out, j, {}); });
    Term rest = code_.let("rest", first + (last - first) / Term(lanes_) * Term(lanes_));
    code_.if_(rest < last, [&] { lanes_of_slices(tile, in, out, rest, code_.let("count", last - rest)); });
  }

  // One slice in each lane: those from number `i` on. Element k of them is read from and written to the operands, or a
  // tile of them in between.
  void lanes_of_slices(const std::string& tile, const Term& in, const Term& out, const Term& i, const Term& count) {
    const ReduceAxis& next = kept_.back();
    Term n = b_.length(slice_.length), in_stride = b_.length(next.in), out_stride = b_.length(next.out);
    Term at = code_.let("at", in + i * in_stride), to = code_.let("to", out + i * out_stride);
    auto read = [&](const Term& k) {
      return code_.let("x", b_.load(b_.input(0), at + k * b_.length(slice_.in), lanes_, in_stride, count));
    };
    auto write = [&](const Term& k, const Term& y) {
      b_.store(b_.output(), to + k * b_.length(slice_.out), y, out_stride, count);
    };
    auto kept = [&](const Term& k) { return kernel::load(tile, dtype_, lanes_, k * Term(lanes_), 1); };
    auto keep = [&](const Term& k, const Term& x) { code_.store(tile, k * Term(lanes_), 1, x); };

    Term most = code_.var("most", lowest(lanes_)), total = code_.var("total", number(0, lanes_));
    code_.loop("k", n, [&](Term k) {
      Term x = read(k);
      if (in_tile_) keep(k, x);
      raise(most, x);
    });
    code_.loop("k", n, [&](Term k) {
      Term away = code_.let("away", (in_tile_ ? kept(k) : read(k)) - most);
      Term e = code_.let("e", kernel::math("exp", {away}));
      if (in_tile_)
        keep(k, logarithm_ ? away : e);
      else if (!logarithm_)
        write(k, e);
      code_.assign(total, total + e);
    });
    Term finish = finisher(total);
    code_.loop("k", n, [&](Term k) {
      if (!logarithm_) {
        Term e = in_tile_ ? kept(k) : b_.load(b_.output(), to + k * b_.length(slice_.out), lanes_, out_stride, count);
        write(k, e * finish);
      } else {
        write(k, (in_tile_ ? kept(k) : read(k) - most) - finish);
      }
    });
  }

  StepBuilder& b_;
  kernel::Code& code_;
  DType dtype_;
  bool logarithm_;
  int lanes_;
  ReduceAxis slice_;
  std::vector<ReduceAxis> kept_;
  bool across_ = false;   // vectors over slices
  bool in_tile_ = false;  // of which a copy is made, as they do not lie side by side
  const Reduction& maximum_ = *reduction_of(max_op());
  const Reduction& sum_ = *reduction_of(sum_op());
};

}  // namespace

void lower_softmax(StepBuilder& b, bool logarithm) {
  Emitter(b, logarithm).run();
}

}  // namespace thtrain
