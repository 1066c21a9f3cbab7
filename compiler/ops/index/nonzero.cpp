// Where the elements are that are not 0.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

std::vector<Type> infer_nonzero(const TypeArgs& args) {
  const Type &mask = args.type(0), &count = args.type(1);
  args.require(mask.rank() == 1 && is_bool(mask.dtype), "the mask is no bool vector");
  args.require(count.is_scalar() && count.dtype == DType::kInt64, "the count is no int64 scalar");
  const Dims& dims = args.props.get<Dims>("dims");
  args.require(dims.size() == 1, "a vector is made", "one length");
  return {{.dtype = DType::kInt64, .dims = dims}};
}

std::vector<Tensor> reference_nonzero(const ReferenceArgs& args) {
  Tensor out = args.make_output();
  const Tensor& mask = args.inputs[0];
  int64_t found = 0;
  for (int64_t i = 0; i < mask.size(); ++i)
    if (mask.as_int(i) != 0 && found < out.size()) out.data<int64_t>()[found++] = i;
  TH_CHECK(found == out.size(), "nonzero: ", found, " elements where ", out.size(), " were counted");
  return {out};
}

// One thread: where an element goes depends on all before it. Each element is written there, and stays where it is
// true: a branch for each would be guessed wrong. Vectors of the mask in which none is true are passed over.
void lower_nonzero(kernel::StepBuilder& b) {
  using kernel::Term;
  const kernel::Operand &mask = b.input(0), &out = b.output();
  kernel::Code& code = b.code();
  const Term all = b.length(mask.type.dims[0]), found = code.var("found", 0);
  const auto element = [&](const Term& i) {
    code.if_(found < b.length(out.type.dims[0]), [&] {
      b.store(out, b.index_of(out, {found}), i);
      code.assign(found, found + kernel::cast(b.load(mask, b.index_of(mask, {i})), DType::kInt64));
    });
  };
  const int lanes = mask.layout.strides[0].is(1) ? std::min(b.lanes_of(DType::kBool), 32) : 1;
  const Term whole = lanes == 1 ? Term(0) : code.let("whole", all / Term(lanes) * Term(lanes));
  if (lanes > 1)
    code.loop("first", 0, whole, lanes, kernel::LoopMark::kSequential, [&](const Term& first) {
      const Term any = code.let("any", kernel::reduce_lanes("or", b.load(mask, first, lanes)));
      code.if_(any, [&] {
        code.loop("k", 0, lanes, 1, kernel::LoopMark::kUnrolled, [&](const Term& k) { element(first + k); });
      });
    });
  code.loop("i", whole, all, 1, kernel::LoopMark::kSequential, element);
  b.finish_kernel("nonzero", "the indices of the elements of in0 that are true", 1);
}

std::vector<OpCase> cases_nonzero() {
  // The number of elements is a part of the type: cases know it.
  auto all_of = [](const std::vector<Expr>& in) {
    const Expr mask = eq(in[0], in[0]);
    return std::vector{apply(nonzero_op(), {mask, sum(cast(mask, DType::kInt64))}, {{"dims", in[0].dims()}})};
  };
  auto half_of = [](const std::vector<Expr>& in) {
    const Expr mask = join(0, {logical_not(eq(in[0], in[0])), eq(in[0], in[0])});
    return std::vector{apply(nonzero_op(), {mask, sum(cast(mask, DType::kInt64))}, {{"dims", in[0].dims()}})};
  };
  auto ints = [](Dims dims) { return Type{.dtype = DType::kInt64, .dims = std::move(dims)}; };
  return {{.name = "all", .inputs = {ints({7})}, .build = all_of},
          {.name = "half", .inputs = {ints({9})}, .build = half_of},
          {.name = "none", .inputs = {ints({0})}, .build = half_of}};
}

}  // namespace

const Op& nonzero_op() {
  static const Op op{.name = "nonzero",
                     .doc =
                         "The indices of the true elements of a vector, in order.\n"
                         "Shapes: mask [n], count [], y [dims]; the length is that which count defines.\n"
                         "dtypes: bool and int64, gives int64.\n"
                         "Gradient: none.\n"
                         "Edge cases: no indices where none is true.\n"
                         "Example: of [0, 1, 1]: [1, 2]",
                     .infer = infer_nonzero,
                     .reference = reference_nonzero,
                     .lower = lower_nonzero,
                     .cost =
                         [](const Node& node) {
                           const Dim elements = node.inputs[0].type().elements();
                           return Cost{elements, elements + Dim(8) * node.types[0].elements()};
                         },
                     .cases = cases_nonzero};
  return op;
}

Expr indices_of_mask(const Expr& mask, const Expr& of, const std::source_location& where) {
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  const Expr flat = flatten(Operand(mask, where));
  const Expr count = define_length(sum(cast(flat, DType::kInt64)), of, flat.dims()[0], where);
  return apply(nonzero_op(), {flat, count}, {{"dims", Dims{defined_length(count)}}}, where);
}

Expr flatnonzero(const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = operand.expr();
  if (x.rank() == 0)
    fail_build(operand.where(), "nonzero: a scalar has no indices", "a value with axes", value_text(x));
  return indices_of_mask(is_bool(x.dtype()) ? x : neq(x, 0), x, operand.where());
}

std::vector<Expr> nonzero(const Operand& operand) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = operand.expr();
  const Expr indices = flatnonzero(operand);
  std::vector<Expr> out(x.rank());
  Expr rest = indices;
  for (size_t axis = x.rank(); axis-- > 1;) {
    const Expr size = length(x, static_cast<int64_t>(axis));
    out[axis] = mod(rest, size);
    rest = floor_div(rest, size);
  }
  out[0] = rest;
  return out;
}

}  // namespace thtrain
