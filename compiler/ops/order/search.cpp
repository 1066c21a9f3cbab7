// searchsorted, and what counts by intervals: digitize, histogram, bincount.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/order/sort_keys.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {
namespace {

bool is_right(const Node& node) {
  return node.props.get<bool>("right");
}

std::vector<Type> infer_searchsorted(const TypeArgs& args) {
  const Type &sorted = args.type(0), &values = args.type(1);
  args.require(sorted.rank() == 1, "what is searched is no vector", "the sorted elements along one axis");
  args.require(sorted.dtype == values.dtype, "the values have another dtype", std::string(name_of(sorted.dtype)));
  args.require(!is_complex(sorted.dtype), str("is not defined for ", name_of(sorted.dtype)),
               "bool, integers or floats");
  return {{.dtype = DType::kInt64, .dims = values.dims}};
}

template <class T>
bool is_less(T a, T b) {
  return a < b || (b != b && a == a);
}

std::vector<Tensor> reference_searchsorted(const ReferenceArgs& args) {
  const Tensor &sorted = args.inputs[0], &values = args.inputs[1];
  Tensor out = args.make_output();
  visit(sorted.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex_v<T>) {
      const T *begin = sorted.data<T>(), *end = begin + sorted.size();
      for (int64_t i = 0; i < out.size(); ++i) {
        const T value = values.data<T>()[i];
        const T* at = is_right(args.node) ? std::upper_bound(begin, end, value, is_less<T>)
                                          : std::lower_bound(begin, end, value, is_less<T>);
        out.data<int64_t>()[i] = at - begin;
      }
    }
  });
  return {out};
}

// Unknown where an element is within reach of the value.
std::vector<Tensor> error_of_searchsorted(const ErrorArgs& args) {
  Tensor out = args.make_error();
  const Tensor &sorted = args.inputs[0], &values = args.inputs[1];
  for (int64_t i = 0; i < out.size(); ++i)
    for (int64_t k = 0; k < sorted.size(); ++k) {
      const double reach = args.errors[0].as_double(k) + args.errors[1].as_double(i);
      if (reach > 0 && !(std::abs(sorted.as_double(k) - values.as_double(i)) > reach))
        out.data<double>()[i] = kUnknownError;
    }
  return {out};
}

// Halves of what is left, as many times as the length has bits: `found` elements are before the value, and the next
// `left` may be. No branch depends on the values.
void lower_searchsorted(kernel::StepBuilder& b) {
  using kernel::Term;
  const kernel::Operand sorted = bits_of(b.input(0)), values = bits_of(b.input(1)), &out = b.output();
  const bool right = is_right(b.node());
  kernel::Code& code = b.code();
  code.loop("i", b.begin(), b.end(), 1, kernel::LoopMark::kSequential, [&](Term i) {
    const Term value = code.let("value", b.load(values, i));
    const auto is_before = [&](const Term& at) {
      const Term x = code.let("x", b.load(sorted, at * b.length(sorted.layout.strides[0])));
      const Term ordered = right ? x <= value : x < value;
      if (!is_float(value.dtype())) return ordered;
      return right ? ordered || value != value : ordered || (value != value && x == x);
    };
    const Term found = code.var("found", 0), left = code.var("left", b.length(sorted.type.dims[0]));
    code.while_(left > Term(1), [&] {
      const Term half = code.let("half", left / Term(2));
      code.assign(found, found + kernel::select(is_before(found + half - Term(1)), half, Term(0)));
      code.assign(left, left - half);
    });
    code.if_(left == Term(1), [&] { code.assign(found, found + kernel::cast(is_before(found), DType::kInt64)); });
    b.store(out, i, found);
  });
  b.finish_kernel("searchsorted", "out0 = how many elements of in0 are before each element of in1",
                  product(out.type.dims), grain_of(16, b.target()));
}

std::vector<OpCase> cases_searchsorted() {
  auto found = [](Side side) {
    return [side](const std::vector<Expr>& in) { return std::vector{searchsorted(sort(in[0]), in[1], side)}; };
  };
  auto in_strided = [](const std::vector<Expr>& in) {
    return std::vector{searchsorted(subtensor(sort(in[0]), {Slice{.step = 2}}), transpose(in[1]))};
  };
  std::vector<OpCase> out;
  for (DType dtype : kAllDTypes) {
    if (is_complex(dtype)) continue;
    for (Side side : {Side::kLeft, Side::kRight})
      out.push_back({.name = str(name_of(dtype), side == Side::kLeft ? "_left" : "_right"),
                     .inputs = {{.dtype = dtype, .dims = {13}}, {.dtype = dtype, .dims = {3, 5}}},
                     .build = found(side),
                     .int_high = is_bool(dtype) ? 2 : 9});
  }
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  out.push_back({.name = "strided", .inputs = {f64({9}), f64({2, 3})}, .build = in_strided});
  out.push_back({.name = "in_one", .inputs = {f64({1}), f64({4})}, .build = found(Side::kRight)});
  out.push_back({.name = "in_nothing", .inputs = {f64({0}), f64({4})}, .build = found(Side::kLeft)});
  out.push_back({.name = "of_nothing", .inputs = {f64({5}), f64({0, 2})}, .build = found(Side::kLeft)});
  out.push_back({.name = "of_any_length", .inputs = {f64({"n"}), f64({"n"})}, .build = found(Side::kLeft)});
  return out;
}

// In one vector, whatever the values' axes are.
bool values_alone_vary(const Node&, const std::vector<bool>& varies) {
  return !varies[0];
}
Expr searched_in_all_iterations(const Node& node, const Dim&, std::span<const Expr> inputs, const std::vector<bool>&) {
  return apply(*node.op, {inputs[0], inputs[1]}, node.props);
}
constexpr IterationsRule kSearchOfIterations{.applies = values_alone_vary, .all = searched_in_all_iterations};

}  // namespace

const Op& searchsorted_op() {
  static const Op op{
      .name = "searchsorted",
      .doc =
          "How many elements of the ascending vector in0 are less than each element of in1, or with `right` not "
          "greater: where it would be inserted before, or after, equal elements. By halving; that in0 is in order is "
          "not checked.\n"
          "Shapes: in0 [n], in1 any, y as in1.\n"
          "dtypes: both the same, bool, integers or floats; gives int64.\n"
          "Gradient: none.\n"
          "Edge cases: NaN counts as larger than any number; 0 where in0 has no elements.\n"
          "Example: 2 and 9 in [1, 3, 5]: 1 and 3",
      .called = [](const Props& props) { return props.get_or<std::string>("called", "searchsorted"); },
      .infer = infer_searchsorted,
      .reference = reference_searchsorted,
      .error = error_of_searchsorted,
      .lower = lower_searchsorted,
      .iterations = &kSearchOfIterations,
      .accepts_layout = [](const Node& node, size_t i,
                           const Layout& layout) { return i == 0 || is_row_major(node.inputs[i].dims(), layout); },
      .cost =
          [](const Node& node) {
            const Dim values = node.types[0].elements();
            return Cost{values * Dim(20), values * Dim(8 + static_cast<int64_t>(size_of(node.inputs[0].dtype())))};
          },
      .connection = [](const Node&, size_t, size_t) { return false; },
      .cases = cases_searchsorted};
  return op;
}

// Errors name the builder `called`; "": searchsorted.
static Expr searched(const Operand& sorted, const Operand& values, Side side, const std::string& called = {}) {
  std::vector<Expr> in = resolve({&sorted, &values});
  const std::optional<DType> common = promote(in[0].dtype(), in[1].dtype());
  for (Expr& e : in)
    if (common && e.dtype() != *common) e = cast(Operand(e, values.where()), *common);
  Props props{{"right", side == Side::kRight}};
  if (!called.empty()) props.set("called", called);
  return apply(searchsorted_op(), std::move(in), std::move(props), values.where());
}

Expr searchsorted(const Operand& sorted, const Operand& values, Side side) {
  return searched(sorted, values, side);
}

Expr digitize(const Operand& x, const Operand& bins, Side closed) {
  return searched(bins, x, closed == Side::kLeft ? Side::kRight : Side::kLeft, "digitize");
}

Expr bincount(const Operand& operand, const std::optional<Operand>& weights, int64_t minlength) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = operand.expr();
  if (x.rank() != 1 || !(is_int(x.dtype()) || is_bool(x.dtype())) || minlength < 0)
    fail_build(operand.where(), "bincount: the numbers are no integer vector, or the least length is negative",
               "integers or bools along one axis, minlength >= 0", str(value_text(x), ", minlength ", minlength));
  const Expr numbers = cast(check(x, x >= 0, "bincount: a number is negative"), DType::kInt64);
  const Expr least = make_constant(Tensor::vector({minlength - 1}), operand.where());
  const Dim length = computed_length(Operand(max(join(0, {numbers, least})) + 1, operand.where()));
  Expr added = weights ? weights->expr() : ones(x.dims(), DType::kInt64);
  if (weights && (added.rank() != 1 || is_bool(added.dtype())))
    fail_build(weights->where(), "bincount: the weights are no vector of numbers", "a number for each element of x",
               value_text(added));
  added = specify_lengths(added, x.dims(), "bincount: the weights");
  return scatter_add(zeros({length}, added.dtype()), Operand(numbers, operand.where()), added);
}

static Histogram counted(const Expr& x, const Expr& edges, const HistogramOptions& options,
                         const std::source_location& where) {
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  const Expr flat = flatten(Operand(x, where));
  const Dim bins = edges.dims()[0] - Dim(1);
  const Expr last = length(edges, 0) - 2,
             at = searched(Operand(edges, where), Operand(flat, where), Side::kRight, "histogram") - 1;
  const Expr is_inside = logical_and(flat >= take(edges, 0), flat <= take(edges, -1));
  const Expr bin = clip(at, 0, maximum(last, 0));
  const Expr one = options.weights ? specify_lengths(flatten(*options.weights), flat.dims(), "histogram: the weights")
                                   : ones(flat.dims(), DType::kInt64);
  Expr counts =
      scatter_add(zeros({bins}, one.dtype()), bin, switch_(is_inside, one, Operand(0).for_dtype(one.dtype())));
  if (options.density) {
    const DType dtype = is_float(counts.dtype()) ? counts.dtype() : to_float(edges.dtype());
    counts = cast(counts, dtype) / cast(diff(edges), dtype) / cast(sum(counts), dtype);
  }
  return {counts, edges};
}

Histogram histogram(const Operand& operand, const Expr& edges, const HistogramOptions& options) {
  if (require_value(edges, "histogram: the edges", operand.where()).rank() != 1 || is_complex(edges.dtype()))
    fail_build(operand.where(), "histogram: the edges are no vector of real numbers",
               "the ends of the bins along one axis", value_text(edges));
  const Expr ordered =
      check(edges, le(edges[Slice{.stop = -1}], edges[Slice{.start = 1}]), "histogram: the edges descend");
  return counted(operand.expr(), ordered, options, operand.where());
}

constexpr const char* kWrongRange = "histogram: the range is not finite, or it descends";

static void require_range(const std::pair<Operand, Operand>& range, const std::source_location& where) {
  const auto number = [](const Operand& end) {
    return constant_number(end.is_literal() ? end.for_dtype(DType::kFloat64) : end.expr());
  };
  const std::optional<double> low = number(range.first), high = number(range.second);
  const auto is_infinite = [](const std::optional<double>& end) { return end && !std::isfinite(*end); };
  if (is_infinite(low) || is_infinite(high) || (low && high && *low > *high))
    fail_build(where, kWrongRange, "two finite numbers, the first not above the second",
               str(low ? str(*low) : "a value", " and ", high ? str(*high) : "a value"));
}

// NumPy's linspace: the last edge is the end itself. The ends of bins of no width are moved by 0.5. What only the call
// knows is checked there.
Histogram histogram(const Operand& operand, int64_t bins, const HistogramOptions& options) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = operand.expr();
  if (bins < 1 || is_complex(x.dtype()))
    fail_build(operand.where(), "histogram: there is no bin, or no order of the elements",
               "one bin at least, of bool, integers or floats", str(bins, " bins of ", value_text(x)));
  if (options.range) require_range(*options.range, operand.where());
  const bool are_numbers = options.range && options.range->first.is_literal() && options.range->second.is_literal();
  const DType dtype = are_numbers ? DType::kFloat64 : to_float(x.dtype());
  const bool is_empty = x.type().elements().is(0);  // NumPy's bins are then those from 0 to 1
  const auto end = [&](const Operand* given, bool is_first) {
    const Expr value = given      ? given->is_literal() ? given->for_dtype(dtype) : given->expr()
                            : is_empty ? Operand(is_first ? 0.0 : 1.0).for_dtype(dtype)
                       : is_first ? min(x)
                                  : max(x);
    return cast(Operand(value, operand.where()), dtype);
  };
  Expr low = end(options.range ? &options.range->first : nullptr, true);
  const Expr high = end(options.range ? &options.range->second : nullptr, false);
  const bool are_known =
      options.range ? constant_number(low) && constant_number(high) : is_empty || !is_float(x.dtype());
  if (!are_known)
    low = check(low, logical_and(le(low, high), logical_not(logical_or(isinf(low), isinf(high)))), kWrongRange);
  const Expr apart = switch_(eq(low, high), Operand(0.5).for_dtype(dtype), Operand(0.0).for_dtype(dtype));
  const Expr first = low - apart, last = high + apart;
  const Expr inner = cast(arange(bins), dtype) * ((last - first) / static_cast<double>(bins)) + first;
  const Expr edges = cast(join(0, {inner, expand_dims(last, {0})}), to_float(x.dtype()));
  return counted(x, edges, options, operand.where());
}

}  // namespace thtrain
