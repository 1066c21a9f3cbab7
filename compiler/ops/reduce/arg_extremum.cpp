// argmin and argmax: the position of an extremum along one axis, or among all elements.
#include <algorithm>
#include <array>

#include "compiler/ops/error_rules.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_lower.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

std::vector<Type> infer(const TypeArgs& args) {
  const Type& x = args.type(0);
  args.require(x.kind == TypeKind::kTensor, "the input must be a dense tensor");
  if (is_complex(x.dtype)) args.fail(str("is not defined for ", name_of(x.dtype)), "bool, integers or floats");
  const Ints& axes = args.props.get<Ints>("axes");
  require_elements(args, axes);
  return {{.dtype = DType::kInt64, .dims = reduced_dims(x.dims, axes, args.props.get<bool>("keepdims"))}};
}

// The definition: the first element that no other is better than; a NaN is better than any number.
template <class T>
int64_t position(bool is_max, const T* x, int64_t n, int64_t stride) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    T a = x[best * stride], b = x[i * stride];
    if (a != a) break;
    if (b != b || (is_max ? b > a : b < a)) best = i;
  }
  return best;
}

std::vector<Tensor> evaluate(bool is_max, const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  Tensor out = args.make_output();
  const Ints& axes = args.node.props.get<Ints>("axes");
  // All axes are one in row-major order.
  bool all = axes.size() == x.rank();
  int64_t n = all ? x.size() : x.dim(static_cast<size_t>(axes[0]));
  int64_t stride = all ? 1 : x.strides()[static_cast<size_t>(axes[0])];
  if (n == 0 && out.size() > 0) throw_no_elements(args.node);
  Shape outer = x.shape();
  for (int64_t axis : axes) outer[static_cast<size_t>(axis)] = 1;
  int64_t result = 0;
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex_v<T>)
      for_each_index(outer, [&](const Shape& at) {
        out.data<int64_t>()[result++] = position(is_max, x.data<T>() + x.offset(at), n, stride);
      });
  });
  return {out};
}

// Another element within reach of the extremum: which one it is, is not known.
std::vector<Tensor> error(bool is_max, const ErrorArgs& args) {
  const Tensor& x = args.inputs[0];
  Tensor out = args.make_error();
  const Ints& axes = args.node.props.get<Ints>("axes");
  const bool all = axes.size() == x.rank();
  const int64_t n = all ? x.size() : x.dim(static_cast<size_t>(axes[0]));
  const int64_t stride = all ? 1 : x.strides()[static_cast<size_t>(axes[0])];
  Shape outer = x.shape();
  for (int64_t axis : axes) outer[static_cast<size_t>(axis)] = 1;
  int64_t result = 0;
  for_each_index(outer, [&](const Shape& at) {
    const int64_t first = x.offset(at), best = first + args.outputs[0].as_int(result) * stride;
    const double *e = args.errors[0].data<double>(), best_x = x.as_double(best);
    double& to = out.data<double>()[result++];
    for (int64_t i = first; i < first + n * stride; i += stride) {
      const double distance = is_max ? best_x - x.as_double(i) : x.as_double(i) - best_x;
      if (i != best && e[i] + e[best] > 0 && !(distance > e[i] + e[best])) to = kUnknownError;
    }
  });
  return {out};
}

// Every result by scalars: the axes that go in row-major order, so that the position counts up.
class Emitter {
 public:
  Emitter(StepBuilder& b, bool is_max) : b_(b), is_max_(is_max), dtype_(b.input(0).type.dtype) {
    const Props& props = b.node().props;
    axes_ = reduce_axes(b, props.get<Ints>("axes"), props.get<bool>("keepdims"));
    // reduce_axes may reorder what it merges: row-major order is needed here.
    axes_.reduced.clear();
    for (int64_t axis : props.get<Ints>("axes")) {
      size_t i = static_cast<size_t>(axis);
      axes_.reduced.push_back({b.input(0).type.dims[i], b.input(0).layout.strides[i], 0});
    }
    while (axes_.reduced.size() > 1) {
      ReduceAxis &outer = axes_.reduced[axes_.reduced.size() - 2], inner = axes_.reduced.back();
      if (!(outer.in == inner.in * inner.length)) break;
      outer = {outer.length * inner.length, inner.in, 0};
      axes_.reduced.pop_back();
    }
  }

  void run() {
    check_elements(b_, axes_);
    Dim range = axes_.kept.empty() ? Dim(1) : axes_.kept[0].length, each = 1;
    for (const ReduceAxis& axis : axes_.reduced) each = each * axis.length;
    for (size_t i = 1; i < axes_.kept.size(); ++i) each = each * axes_.kept[i].length;
    results(0, Term(0), Term(0));
    const std::string& name = b_.node().op->name;
    b_.finish_kernel(name, str(name, " of in0 ", readable(b_.input(0).type.text())), range,
                     axes_.kept.empty() ? Dim(0) : reduce_grain(each));
  }

 private:
  void results(size_t depth, const Term& in, const Term& out) {
    if (depth == axes_.kept.size()) {
      bool contiguous = axes_.reduced.size() == 1 && axes_.reduced[0].in.is(1);
      return contiguous && !is_bool(dtype_) ? contiguous_result(in, out) : strided_result(in, out);
    }
    const ReduceAxis& axis = axes_.kept[depth];
    Term first = depth == 0 ? b_.begin() : Term(0), last = depth == 0 ? b_.end() : b_.length(axis.length);
    b_.code().loop(str("i", depth), first, last, 1, LoopMark::kSequential, [&](Term i) {
      Term at = b_.code().let("at", in + i * b_.length(axis.in));
      results(depth + 1, at, b_.code().let("to", out + i * b_.length(axis.out)));
    });
  }

  // b is better than a, where a is no NaN.
  Term better(const Term& a, const Term& b) const {
    Term order = is_bool(dtype_) ? (is_max_ ? b && !a : a && !b) : is_max_ ? b > a : b < a;
    return is_float(dtype_) ? order || b != b : order;
  }

  void strided_result(const Term& in, const Term& out) {
    kernel::Code& code = b_.code();
    Term best = code.var("best", b_.load(b_.input(0), in)), where = code.var("where", Term(0));
    Term position = code.var("position", Term(0));
    std::function<void(size_t, Term)> loops = [&](size_t depth, const Term& at) {
      if (depth == axes_.reduced.size()) {
        Term x = code.let("x", b_.load(b_.input(0), at));
        Term found = is_float(dtype_) ? best == best && better(best, x) : better(best, x);
        code.if_(found, [&] {
          code.assign(best, x);
          code.assign(where, position);
        });
        return code.assign(position, position + Term(1));
      }
      code.loop(str("k", depth), b_.length(axes_.reduced[depth].length),
                [&](Term k) { loops(depth + 1, code.let("at", at + k * b_.length(axes_.reduced[depth].in))); });
    };
    loops(0, in);
    b_.store(b_.output(), out, where);
  }

  // The extremum by vectors first, then the first element that is it.
  void contiguous_result(const Term& in, const Term& out) {
    kernel::Code& code = b_.code();
    const Reduction& extremum = *reduction_of(is_max_ ? max_op() : min_op());
    int lanes = b_.lanes_of(dtype_);
    Term n = b_.length(axes_.reduced[0].length);
    Term whole = code.let("whole", n / Term(lanes) * Term(lanes));
    Term best = code.var("best", b_.load(b_.input(0), in));
    code.if_(whole > Term(0), [&] {
      std::array<Term, 2> acc;  // two chains of dependent operations
      for (Term& a : acc) a = code.var("acc", b_.load(b_.input(0), in, lanes));
      Term pairs = code.let("pairs", n / Term(2 * lanes) * Term(2 * lanes));
      code.loop("j", 0, pairs, Term(2 * lanes), LoopMark::kVector, [&](Term j) {
        for (int k = 0; k < 2; ++k) {
          Term& a = acc[static_cast<size_t>(k)];
          code.assign(a, accumulate(extremum, a, code.let("x", b_.load(b_.input(0), in + j + Term(k * lanes), lanes))));
        }
      });
      code.if_(pairs < whole, [&] {
        code.assign(acc[0], accumulate(extremum, acc[0], code.let("x", b_.load(b_.input(0), in + pairs, lanes))));
      });
      code.assign(best, combine_lanes(extremum, extremum.combine(acc[0], acc[1])));
    });
    code.loop("j", whole, n, 1, LoopMark::kSequential, [&](Term j) {
      code.assign(best, accumulate(extremum, best, code.let("x", b_.load(b_.input(0), in + j))));
    });
    Term where = code.var("where", Term(0));
    auto is_best = [&](const Term& x) { return is_float(dtype_) ? x == best || x != x : x == best; };
    Term vector = b_.load(b_.input(0), in + where, lanes);
    code.while_(where < whole && !kernel::reduce_lanes("or", is_best(vector)),
                [&] { code.assign(where, where + Term(lanes)); });
    code.while_(!is_best(b_.load(b_.input(0), in + where)), [&] { code.assign(where, where + Term(1)); });
    b_.store(b_.output(), out, where);
  }

  StepBuilder& b_;
  bool is_max_;
  DType dtype_;
  ReduceAxes axes_;
};

std::vector<OpCase> cases(const Op& op) {
  struct Row {
    Dims dims;
    Ints axes;
    bool keepdims;
  };
  std::vector<OpCase> out;
  for (const Row& row : std::vector<Row>{{{}, {}, false},
                                         {{7}, {0}, true},
                                         {{3, 10}, {1}, false},
                                         {{5, 71}, {1}, false},
                                         {{40, 3}, {0}, false},
                                         {{2, 3, 5}, {0, 1, 2}, false},
                                         {{2, 3, 5}, {1}, true},
                                         {{1, 4}, {0}, false},
                                         {{0, 4}, {1}, false}})
    for (DType dtype : kAllDTypes) {
      if (is_complex(dtype)) continue;
      Props props{{"axes", row.axes}, {"keepdims", row.keepdims}};
      out.push_back({.name = str(name_of(dtype), "[", dims_text(row.dims), "] over [", join(row.axes, ", "), "]"),
                     .inputs = {{.dtype = dtype, .dims = row.dims}},
                     .build = [&op, props](const std::vector<Expr>& in) { return std::vector{apply(op, in, props)}; },
                     .smooth = false});
    }
  return out;
}

Op define(bool is_max, const Op& (*self)()) {
  return {.name = is_max ? "argmax" : "argmin",
          .doc = str("int64 position of the ", is_max ? "greatest" : "least",
                     " element along an axis, or of all elements in row-major order. The first of several; the first "
                     "NaN counts as the extremum. An error without elements. No derivative."),
          .infer = infer,
          .reference = [is_max](const ReferenceArgs& args) { return evaluate(is_max, args); },
          .error = [is_max](const ErrorArgs& args) { return error(is_max, args); },
          .lower = [is_max](StepBuilder& b) { Emitter(b, is_max).run(); },
          .access = [](const Node&, size_t) { return Access::kRow; },
          .cost =
              [](const Node& node) {
                Dim n = node.inputs[0].type().elements();
                return Cost{.flops = n, .bytes = n * static_cast<int64_t>(size_of(node.inputs[0].dtype()))};
              },
          .connection = [](const Node&, size_t, size_t) { return false; },
          .cases = [self] { return cases(self()); }};
}

Expr build(const Op& op, const Operand& operand, std::optional<int64_t> axis, bool keepdims) {
  Expr x = operand.expr();
  Axes axes = axis ? Axes(*axis) : Axes();
  Ints sorted = reduced_axes(axes, x.rank(), op.name, Origin::here(operand.where()));
  return apply(op, {x}, {{"axes", sorted}, {"keepdims", keepdims}}, operand.where());
}

}  // namespace

const Op& argmin_op() {
  static const Op op = define(false, argmin_op);
  return op;
}
const Op& argmax_op() {
  static const Op op = define(true, argmax_op);
  return op;
}

Expr argmin(const Operand& x, std::optional<int64_t> axis, KeepDims keepdims) {
  return build(argmin_op(), x, axis, keepdims);
}
Expr argmax(const Operand& x, std::optional<int64_t> axis, KeepDims keepdims) {
  return build(argmax_op(), x, axis, keepdims);
}

}  // namespace thtrain
