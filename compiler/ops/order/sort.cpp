// sort and argsort: each row of a value in order.
#include <algorithm>
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/order/last_axis.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/order/radix_sort.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

bool is_descending(const Node& node) {
  return node.props.get_or<bool>("descending", false);
}

std::vector<Type> infer_sort(const TypeArgs& args, bool positions) {
  const Type& x = args.type(0);
  args.require(x.rank() > 0, "a scalar has no order", "a value with axes");
  args.require(!is_complex(x.dtype), str("is not defined for ", name_of(x.dtype)), "bool, integers or floats");
  // Kernels hold positions in 32 bits.
  require_at_most(args, x.dims.back(), (int64_t{1} << 32) - 1, "a row has too many elements");
  Dims dims = x.dims;
  if (args.props.has("count")) {
    const Dim& count = args.props.get<Dims>("count").at(0);
    require_length(args, count);
    require_at_most(args, count, dims.back(), "more elements are asked for than there are");
    dims.back() = count;
  }
  return {{.dtype = positions ? DType::kInt64 : x.dtype, .dims = std::move(dims)}};
}

// The definition: positions of a row, stable, NaN larger than any number.
template <class T>
void find_order(const T* x, int64_t n, bool descending, int64_t* positions) {
  const auto is_less = [](T a, T b) { return a < b || (b != b && a == a); };
  std::iota(positions, positions + n, 0);
  std::stable_sort(positions, positions + n,
                   [&](int64_t i, int64_t j) { return descending ? is_less(x[j], x[i]) : is_less(x[i], x[j]); });
}

std::vector<Tensor> reference_sort(const ReferenceArgs& args, bool positions) {
  const Tensor& x = args.inputs[0];
  Tensor out = args.make_output();
  const int64_t n = x.shape().back(), k = out.shape().back(), rows = n == 0 ? 0 : x.size() / n;
  std::vector<int64_t> order(static_cast<size_t>(n));
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!is_complex_v<T>)
      for (int64_t row = 0; row < rows; ++row) {
        const T* elements = x.data<T>() + row * n;
        find_order(elements, n, is_descending(args.node), order.data());
        for (int64_t i = 0; i < k; ++i)
          if (positions)
            out.data<int64_t>()[row * k + i] = order[static_cast<size_t>(i)];
          else
            out.data<T>()[row * k + i] = elements[order[static_cast<size_t>(i)]];
      }
  });
  return {out};
}

// An element of the sorted row moves no further than that of the row which moves most; a position is unknown where
// another element is within reach.
std::vector<Tensor> error_of_sort(const ErrorArgs& args, bool positions) {
  Tensor out = args.make_error();
  const Shape& shape = args.inputs[0].shape();
  const int64_t n = shape.back(), k = out.shape().back(), rows = n == 0 ? 0 : args.inputs[0].size() / n;
  Props props;
  if (is_descending(args.node)) props.set("descending", true);
  const Expr all = apply(sort_op(), {args.node.inputs[0]}, props);
  const Tensor sorted = args.evaluate(all.node(), args.inputs)[0];
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row * n;
    const double *e = args.errors[0].data<double>() + first, most = *std::max_element(e, e + n);
    for (int64_t i = 0; i < k; ++i) {
      const auto is_near = [&](int64_t j) {
        return j >= 0 && j < n && !(std::abs(sorted.as_double(first + j) - sorted.as_double(first + i)) > 2 * most);
      };
      const bool is_unknown = most > 0 && (is_near(i - 1) || is_near(i + 1));
      out.data<double>()[row * k + i] = !positions ? most : is_unknown ? kUnknownError : 0;
    }
  }
  return {out};
}

Expr positions_of(const Node& node) {
  return apply(argsort_op(), {node.inputs[0]}, node.props);
}

std::vector<OpCase> cases_sort(const Op& op) {
  std::vector<OpCase> out;
  auto add = [&](const std::string& name, DType dtype, Dims dims, bool descending = false, bool transposed = false) {
    const Props props = descending ? Props{{"descending", true}} : Props{};
    out.push_back({.name = name,
                   .inputs = {{.dtype = dtype, .dims = std::move(dims)}},
                   .build =
                       [&op, props, transposed](const std::vector<Expr>& in) {
                         return std::vector{apply(op, {transposed ? transpose(in[0]) : in[0]}, props)};
                       },
                   .int_low = is_signed_int(dtype) ? -9 : 0,
                   .int_high = is_bool(dtype) ? 2 : 9});
  };
  for (DType dtype : kAllDTypes) {
    if (is_complex(dtype)) continue;
    const std::string name(name_of(dtype));
    add(name, dtype, {3, 7});
    add(name + "_long", dtype, {2, 61});
    add(name + "_descending", dtype, {2, 53}, true);
  }
  add("one", DType::kFloat64, {1});
  add("rows_of_one", DType::kFloat32, {5, 1});
  add("nothing", DType::kFloat64, {0});
  add("no_rows", DType::kInt64, {0, 3});
  add("of_transposed", DType::kFloat64, {5, 3}, false, true);
  add("of_any_length", DType::kFloat64, {3, "n"});
  add("of_any_length_float32", DType::kFloat32, {"n"}, true);
  add("of_any_length_int64", DType::kInt64, {2, 3, "n"});
  auto first = [&](const std::string& name, DType dtype, Dims dims, const Dim& count) {
    add(name, dtype, std::move(dims), true);
    out.back().build = [&op, count](const std::vector<Expr>& in) {
      return std::vector{apply(op, {in[0]}, {{"descending", true}, {"count", Dims{count}}})};
    };
  };
  first("first", DType::kFloat32, {3, 101}, 7);
  first("first_float64", DType::kFloat64, {2, 97}, 20);
  first("first_int16", DType::kInt16, {3, 60}, 1);
  first("first_of_few", DType::kInt64, {4, 9}, 4);
  add("first_of_any_length", DType::kFloat64, {2, "n"}, true);
  out.back().build = [&op](const std::vector<Expr>& in) {
    const Dims half = {floor_div(in[0].dims()[1] + Dim(1), Dim(2))};
    return std::vector{apply(op, {in[0]}, {{"descending", true}, {"count", half}})};
  };
  first("none", DType::kFloat32, {2, 50}, 0);
  return out;
}

// Sorting by digits: 8 bits of the keys in each pass, which reads and writes the keys; positions move with them.
Cost cost_of_sort(const Node& node) {
  const Dim elements = node.types[0].elements();
  const auto size = static_cast<int64_t>(size_of(node.inputs[0].dtype()));
  const int64_t record = node.op == &argsort_op() ? size + 4 : size;
  return {elements * Dim(4 * size), elements * Dim(3 * size * record)};
}

Op define_sort(std::string name, std::string doc, bool positions, const Op& (*self)()) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .infer = [positions](const TypeArgs& args) { return infer_sort(args, positions); },
          .reference = [positions](const ReferenceArgs& args) { return reference_sort(args, positions); },
          .error = [positions](const ErrorArgs& args) { return error_of_sort(args, positions); },
          .lower =
              [positions](kernel::StepBuilder& b) {
                lower_sort(b, {.descending = is_descending(b.node()), .positions = positions});
              },
          .access = [](const Node&, size_t) { return Access::kRow; },
          .iterations = &kSameOpOfIterations,
          .accepts_layout = [](const Node& node, size_t i,
                               const Layout& layout) { return is_row_major(node.inputs[i].dims(), layout); },
          .cost = cost_of_sort,
          .cases = [self] { return cases_sort(self()); }};
}

}  // namespace

const Op& sort_op() {
  static const Op op = [] {
    Op sort = define_sort("sort",
                          "The elements of each row (the last axis) in ascending order, or from the greatest one on "
                          "with `descending`. Stable: equal elements keep their order.\n"
                          "Shapes: y as x, or with `count` the first so many of each row.\n"
                          "dtypes: bool, integers, floats.\n"
                          "Gradient: the cotangent added into zeros at the positions that argsort gives.\n"
                          "Edge cases: NaN counts as larger than any number.\n"
                          "Example: of [3, 1, 2]: [1, 2, 3]",
                          false, sort_op);
    sort.called = [](const Props& props) { return std::string(props.has("count") ? "topk" : "sort"); };
    sort.gradient = [](const GradientArgs& args) {
      const Expr zero = zeros_like(args.input(0));
      return std::vector{scatter_add_along_axis(zero, positions_of(args.node), args.cotangent(), -1)};
    };
    sort.jvp = [](const JvpArgs& args) {
      return std::vector{take_along_axis(args.tangent(), positions_of(args.node), -1)};
    };
    return sort;
  }();
  return op;
}

const Op& argsort_op() {
  static const Op op = [] {
    Op argsort =
        define_sort("argsort",
                    "The positions in each row of x (the last axis) of its elements in ascending order, or from the "
                    "greatest one on with `descending`. Stable: of equal elements the first comes first.\n"
                    "Shapes: y as x, or with `count` the first so many of each row.\n"
                    "dtypes: bool, integers, floats, gives int64.\n"
                    "Gradient: none.\n"
                    "Edge cases: NaN counts as larger than any number.\n"
                    "Example: of [3, 1, 2]: [1, 2, 0]",
                    true, argsort_op);
    argsort.called = [](const Props& props) { return std::string(props.has("count") ? "argtopk" : "argsort"); };
    argsort.connection = [](const Node&, size_t, size_t) { return false; };
    return argsort;
  }();
  return op;
}

static Expr order_of(const Expr& rows) {
  return apply(argsort_op(), {rows});
}

// By the real part, then by the imaginary part; what has a NaN comes last: first those whose imaginary part alone is
// NaN, then those whose real part alone is. Sorts are stable, so the last one counts most.
static Expr order_of_complex(const Expr& rows) {
  const Expr re = real(rows), im = imag(rows);
  const Expr nan_parts = 2 * cast(isnan(re), DType::kUInt8) + cast(isnan(im), DType::kUInt8);
  Expr order = order_of(im);
  for (const Expr& key : {re, nan_parts}) order = take_along_axis(order, order_of(take_along_axis(key, order, -1)), -1);
  return order;
}

Expr sort(const Operand& x, std::optional<int64_t> axis) {
  return along_last_axis(x, axis, "sort", [](const Expr& rows) {
    return is_complex(rows.dtype()) ? take_along_axis(rows, order_of_complex(rows), -1) : apply(sort_op(), {rows});
  });
}

Expr argsort(const Operand& x, std::optional<int64_t> axis) {
  return along_last_axis(x, axis, "argsort", [](const Expr& rows) {
    return is_complex(rows.dtype()) ? order_of_complex(rows) : order_of(rows);
  });
}

}  // namespace thtrain
