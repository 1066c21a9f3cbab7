#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/iterations_rule.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_lower.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

bool contains(const Ints& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

std::vector<Type> infer(const Reduction& record, const TypeArgs& args) {
  const Type& x = args.type(0);
  args.require(x.kind == TypeKind::kTensor, "the input must be a dense tensor");
  std::optional<DType> dtype = record.dtype(x.dtype);
  if (!dtype) args.fail(str("is not defined for ", name_of(x.dtype)), "bool, integers or floats");
  const Ints& axes = args.props.get<Ints>("axes");
  Dims kept = reduced_dims(x.dims, axes, args.props.get<bool>("keepdims"));
  if (!record.empty_allowed) require_elements(args, axes);
  return {{.dtype = *dtype, .dims = kept}};
}

// For every result: its elements side by side, then the record's definition.
std::vector<Tensor> evaluate(const Reduction& record, const ReferenceArgs& args) {
  const Tensor& x = args.inputs[0];
  Tensor out = args.make_output();
  const Ints& axes = args.node.props.get<Ints>("axes");
  Shape outer = x.shape(), inner = x.shape();  // over the axes that stay, over those that go
  for (size_t i = 0; i < x.rank(); ++i) (contains(axes, i) ? outer : inner)[i] = 1;
  int64_t count = element_count(inner), result = 0;
  if (!record.empty_allowed && count == 0 && out.size() > 0) throw_no_elements(args.node);
  std::vector<int64_t> from;  // the elements of a result, from the first of them
  from.reserve(static_cast<size_t>(count));
  for_each_index(inner, [&](const Shape& in) { from.push_back(x.offset(in)); });
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto line = std::make_unique<T[]>(from.size());
    for_each_index(outer, [&](const Shape& at) {
      const T* first = x.data<T>() + x.offset(at);
      for (size_t i = 0; i < from.size(); ++i) line[i] = first[from[i]];
      char* to = static_cast<char*>(out.raw()) + static_cast<size_t>(result++) * size_of(out.dtype());
      record.reference(x.dtype(), line.get(), count, to);
    });
  });
  return {out};
}

// `value`, one of the results, with the reduced axes back as lengths of 1.
Expr with_keepdims(const Node& node, const Expr& value) {
  if (node.props.get<bool>("keepdims")) return value;
  const Ints& axes = node.props.get<Ints>("axes");
  std::vector<int64_t> order;
  int64_t next = 0;
  for (size_t i = 0; i < node.inputs[0].rank(); ++i) order.push_back(contains(axes, i) ? -1 : next++);
  return axes.empty() ? value : dimshuffle(value, order);
}

std::vector<Expr> gradient(const Reduction& record, const GradientArgs& args) {
  const Expr& x = args.input(0);
  if (!args.cotangent().has_value() || !(is_float(x.dtype()) || is_complex(x.dtype()))) return {Expr()};
  const Node& node = args.node;
  return {record.gradient(x, with_keepdims(node, args.outputs[0]), with_keepdims(node, args.cotangent()),
                          node.props.get<Ints>("axes"))};
}

// What the gradient makes of an element's cotangent does not look at other cotangents, so the tangents of the elements
// may replace them: each times its element's derivative, and the result is their sum.
std::vector<Expr> jvp(const Reduction& record, const JvpArgs& args) {
  const Node& node = args.node;
  const Expr parts = record.gradient(args.input(0), with_keepdims(node, args.outputs[0]), args.tangent(),
                                     node.props.get<Ints>("axes"));
  return {apply(sum_op(), {parts}, node.props)};
}

Cost cost(const Node& node) {
  Dim in = node.inputs[0].type().elements(), out = node.types[0].elements();
  return {.flops = in,
          .bytes = in * static_cast<int64_t>(size_of(node.inputs[0].dtype())) +
                   out * static_cast<int64_t>(size_of(node.types[0].dtype))};
}

std::vector<OpCase> cases(const Op& op, const Reduction& record) {
  struct Row {
    Dims dims;
    Ints axes;
    bool keepdims;
  };
  std::vector<Row> rows = {{{}, {}, false},
                           {{7}, {0}, false},
                           {{1}, {0}, true},
                           {{2500}, {0}, false},
                           {{3, 5}, {0}, false},
                           {{3, 5}, {1}, true},
                           {{5, 300}, {1}, false},
                           {{300, 70}, {0}, false},
                           {{70, 9}, {1}, false},
                           {{1, 4}, {0}, false},
                           {{0, 3}, {1}, false},
                           {{2, 3, 4}, {1}, false},
                           {{2, 3, 4}, {0, 2}, true},
                           {{3, 2, 5}, {0, 1}, false},
                           {{3, 2, 5}, {1, 2}, false},
                           {{2, 4, 3}, {0, 1, 2}, true},
                           {{2, 3, 4, 5}, {0, 2}, false}};
  if (record.empty_allowed) rows.insert(rows.end(), {{{0, 3}, {0}, false}, {{4, 0}, {1}, true}, {{0}, {0}, false}});
  std::vector<OpCase> out;
  for (const Row& row : rows)
    for (DType dtype : kAllDTypes) {
      bool plain = dtype == DType::kFloat64 || dtype == DType::kFloat32;
      if (!record.dtype(dtype) || (row.dims.size() != 2 && !plain)) continue;
      Props props{{"axes", row.axes}, {"keepdims", row.keepdims}};
      out.push_back({.name = str(name_of(dtype), "[", dims_text(row.dims), "] over [", join(row.axes, ", "), "]"),
                     .inputs = {{.dtype = dtype, .dims = row.dims}},
                     .build = [&op, props](const std::vector<Expr>& in) { return std::vector{apply(op, in, props)}; },
                     .low = 0.5,
                     .high = 1.5,
                     .int_low = record.int_low,
                     .int_high = record.int_high,
                     .smooth = record.gradient != nullptr,
                     .bound = record.ulps});
    }
  return out;
}

}  // namespace

Dims reduced_dims(const Dims& dims, const Ints& axes, bool keepdims) {
  Dims out;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!contains(axes, i))
      out.push_back(dims[i]);
    else if (keepdims)
      out.push_back(Dim(1));
  }
  return out;
}

void require_elements(const TypeArgs& args, const Ints& axes) {
  const Dims& dims = args.type(0).dims;
  bool none = false, no_result = false;
  for (size_t i = 0; i < dims.size(); ++i) (contains(axes, i) ? none : no_result) |= dims[i].is(0);
  if (none && !no_result)
    args.fail("the maximum or minimum of no elements is undefined", "at least 1 element along the reduced axes");
}

void throw_no_elements(const Node& node) {
  throw UserError({.what = no_elements_check(node).what,
                   .expected = no_elements_check(node).expected,
                   .got = readable(node.inputs[0].type().text()),
                   .node = node.origin.text(),
                   .config = node.origin.config()});
}

Expr repeat_like(const Expr& value, const Expr& like) {
  return broadcast_like(value, like);
}

Op define_reduction(const Reduction& record, const Op& (*self)()) {
  Op op{.name = record.name,
        .doc = record.doc,
        .infer = [&record](const TypeArgs& args) { return infer(record, args); },
        .reference = [&record](const ReferenceArgs& args) { return evaluate(record, args); },
        .error = record.error,
        .lower = [&record](kernel::StepBuilder& b) { lower_reduction(record, b); },
        .reduction = &record,
        .access = [](const Node&, size_t) { return Access::kRow; },
        .iterations = record.empty_allowed ? &kLaterAxesOfIterations : &kLaterAxesThatMayFail,
        .cost = cost,
        .cases = [&record, self] { return cases(self(), record); },
        .defined_at = record.defined_at};
  if (record.gradient) {
    op.gradient = [&record](const GradientArgs& args) { return gradient(record, args); };
    op.jvp = [&record](const JvpArgs& args) { return jvp(record, args); };
  }
  return op;
}

}  // namespace thtrain
