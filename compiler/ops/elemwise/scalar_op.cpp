#include "compiler/ops/elemwise/scalar_op.h"

#include <algorithm>

#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_cases.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/unbroadcast.h"

namespace thtrain {
namespace {

std::vector<DType> dtypes_of(std::span<const Expr> inputs) {
  std::vector<DType> out;
  for (const Expr& input : inputs) out.push_back(input.dtype());
  return out;
}

// "bool, integers, floats": for which kinds of inputs, all alike, the record has a signature.
std::string accepted_kinds(const ScalarOp& record, const Props& props) {
  std::vector<std::string> kinds;
  auto probe = [&](DType dtype, const char* text) {
    std::vector<DType> inputs(static_cast<size_t>(record.arity), dtype);
    if (record.signature(inputs, props)) kinds.push_back(text);
  };
  probe(DType::kBool, "bool");
  probe(DType::kInt64, "integers");
  probe(DType::kFloat64, "floats");
  probe(DType::kComplex128, "complex numbers");
  return join(kinds, ", ");
}

Signature signature_of(const ScalarOp& record, const TypeArgs& args) {
  std::vector<DType> dtypes = dtypes_of(args.inputs);
  std::optional<Signature> signature = record.signature(dtypes, args.props);
  if (signature) return *signature;
  if (dtypes.size() > 1 && !promote_all(dtypes))
    args.fail(
        str("no dtype holds both ", name_of(*std::find_if(dtypes.begin(), dtypes.end(), is_signed_int)), " and uint64"),
        {}, "cast one of them");
  args.fail("is not defined for these dtypes", accepted_kinds(record, args.props), record.hint);
}

// The lengths of the result: a known 1 gives way to the other lengths of its axis, which must be equal. A known length
// is preferred to a name.
Dims broadcast_dims(const TypeArgs& args) {
  size_t rank = 0;
  for (const Expr& input : args.inputs) rank = std::max(rank, input.rank());
  Dims out(rank, Dim(1));
  for (const Expr& input : args.inputs) {
    size_t lead = rank - input.rank();
    for (size_t i = 0; i < input.rank(); ++i) {
      const Dim& length = input.dims()[i];
      Dim& result = out[lead + i];
      if (length.is(1)) continue;
      if (result.is(1)) {
        result = length;
        continue;
      }
      args.require_equal(result, length,
                         str("lengths of axis ", lead + i, " differ; only a length known to be 1 is broadcast"));
      if (length.is_known()) result = length;
    }
  }
  return out;
}

std::vector<Type> infer(const ScalarOp& record, const TypeArgs& args) {
  TH_CHECK(args.inputs.size() == static_cast<size_t>(record.arity), record.name, " of ", args.inputs.size(), " inputs");
  for (const Expr& input : args.inputs)
    args.require(input.type().kind == TypeKind::kTensor, "inputs must be dense tensors");
  Signature signature = signature_of(record, args);
  Dims dims = broadcast_dims(args);
  std::vector<Type> out;
  for (DType dtype : signature.outputs) out.push_back({.dtype = dtype, .dims = dims});
  return out;
}

// A row-major copy of `x` with the result's shape.
Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x.contiguous();
  Shape strides(shape.size(), 0);
  size_t lead = shape.size() - x.rank();
  for (size_t i = 0; i < x.rank(); ++i)
    if (x.shape()[i] == shape[lead + i]) strides[lead + i] = x.strides()[i];
  return x.view(shape, strides, 0).copy();
}

std::vector<Tensor> evaluate(const ScalarOp& record, const ReferenceArgs& args) {
  Signature signature = *record.signature(dtypes_of(args.node.inputs), args.node.props);
  std::vector<Tensor> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    inputs.push_back(broadcast_to(args.inputs[i].cast(signature.inputs[i]), args.shapes[0]));
    in.push_back(inputs.back().raw());
  }
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    outputs.push_back(args.make_output(i));
    out.push_back(outputs.back().raw());
  }
  record.reference(signature, in, out, outputs[0].size());
  return outputs;
}

bool is_continuous(DType dtype) {
  return is_float(dtype) || is_complex(dtype);
}

bool has_derivative(const Node& node, size_t input, size_t output) {
  const ScalarOp& record = *node.op->scalar;
  if (!is_continuous(node.inputs[input].dtype()) || !is_continuous(node.types[output].dtype)) return false;
  return is_continuous(record.signature(dtypes_of(node.inputs), node.props)->inputs[input]);  // not switch's condition
}

// The inputs cast as the operation sees them.
std::vector<Expr> inputs_seen(const ScalarOp& record, const Node& node) {
  Signature signature = *record.signature(dtypes_of(node.inputs), node.props);
  std::vector<Expr> out;
  for (size_t i = 0; i < node.inputs.size(); ++i) out.push_back(cast(node.inputs[i], signature.inputs[i]));
  return out;
}

std::vector<Expr> gradient(const ScalarOp& record, const GradientArgs& args) {
  const Node& node = args.node;
  std::vector<Expr> none(node.inputs.size());
  bool any = false;
  for (const Expr& cotangent : args.cotangents) any = any || cotangent.has_value();
  if (!any || !is_continuous(node.types[0].dtype)) return none;

  std::vector<Expr> seen = inputs_seen(record, node);
  std::vector<Expr> out = record.gradient({seen, args.outputs, args.cotangents, node.props});
  TH_CHECK(out.size() == node.inputs.size(), record.name, ": one cotangent for each input");
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i].has_value()) out[i] = has_derivative(node, i, 0) ? unbroadcast(out[i], node.inputs[i]) : Expr();
  return out;
}

// The term of input `i` in the tangent of output `o`; empty: none. The Jacobian is diagonal, so the gradient's rule
// with the tangent instead of the cotangent multiplies by the same derivative. Of complex numbers that holds where
// the output is complex (ScalarGradientArgs); a real one changes by Re(r dz), r being what the rule gives for 1.
Expr jvp_term(const ScalarOp& record, const JvpArgs& args, std::span<const Expr> seen, size_t i, size_t o) {
  const Expr tangent = cast(args.tangents[i], seen[i].dtype());
  const DType output = args.node.types[o].dtype;
  const bool is_part = is_complex(tangent.dtype()) && !is_complex(output);
  std::vector<Expr> cotangents(args.node.types.size());
  cotangents[o] = is_part ? Operand(1).for_dtype(output) : tangent;
  const Expr term = record.gradient({seen, args.outputs, cotangents, args.node.props})[i];
  return is_part && term.has_value() ? real(term * tangent) : term;
}

std::vector<Expr> jvp(const ScalarOp& record, const JvpArgs& args) {
  const Node& node = args.node;
  std::vector<Expr> seen = inputs_seen(record, node), out(node.types.size());
  for (size_t o = 0; o < out.size(); ++o) {
    for (size_t i = 0; i < seen.size(); ++i) {
      if (!args.tangents[i].has_value() || !is_connected(node, i, o)) continue;
      const Expr term = jvp_term(record, args, seen, i, o);
      if (term.has_value()) out[o] = out[o].has_value() ? add(out[o], term) : term;
    }
    if (out[o].has_value()) out[o] = broadcast_to(cast(out[o], node.types[o].dtype), node.types[o].dims);
  }
  return out;
}

Cost cost(const Node& node) {
  Dim elements = node.types[0].elements(), bytes = 0;
  for (const Expr& input : node.inputs)
    bytes = bytes + input.type().elements() * static_cast<int64_t>(size_of(input.dtype()));
  for (const Type& type : node.types) bytes = bytes + elements * static_cast<int64_t>(size_of(type.dtype));
  return {.flops = elements * flops_of(node), .bytes = bytes};
}

Signature uniform(std::span<const DType> inputs, DType dtype, DType output) {
  return {.inputs = std::vector<DType>(inputs.size(), dtype), .outputs = {output}};
}

}  // namespace

std::optional<DType> promote_all(std::span<const DType> dtypes) {
  std::optional<DType> out = dtypes[0];
  for (DType dtype : dtypes) {
    out = promote(*out, dtype);
    if (!out) return std::nullopt;
  }
  return out;
}

SignatureRule same_as_promoted(unsigned kinds) {
  return [kinds](std::span<const DType> inputs, const Props&) -> std::optional<Signature> {
    std::optional<DType> common = promote_all(inputs);
    if (!common) return std::nullopt;
    if (is_bool(*common) && !(kinds & kBools)) common = DType::kInt64;
    if (!(kind_of(*common) & kinds)) return std::nullopt;
    return uniform(inputs, *common, *common);
  };
}

SignatureRule floats_to_same(unsigned kinds) {
  return [kinds](std::span<const DType> inputs, const Props&) -> std::optional<Signature> {
    std::optional<DType> common = promote_all(inputs);
    if (!common) return std::nullopt;
    common = to_float(*common);
    if (!(kind_of(*common) & kinds)) return std::nullopt;
    return uniform(inputs, *common, *common);
  };
}

SignatureRule promoted_to_bool(unsigned kinds) {
  return [kinds](std::span<const DType> inputs, const Props&) -> std::optional<Signature> {
    std::optional<DType> common = promote_all(inputs);
    if (!common || !(kind_of(*common) & kinds)) return std::nullopt;
    return uniform(inputs, *common, DType::kBool);
  };
}

const Op& define_elementwise(const ScalarOp& record) {
  Op* op = new Op{
      .name = record.name,
      .doc = record.doc,
      .infer = [&record](const TypeArgs& args) { return infer(record, args); },
      .reference = [&record](const ReferenceArgs& args) { return evaluate(record, args); },
      .scalar = &record,
      .accumulation = record.accumulation,
      .iterations = record.iterations,
      .commutative = record.commutative,
      .symbolic = record.symbolic,
      .cost = cost,
      .connection = has_derivative,
      .defined_at = record.defined_at,
  };
  if (record.gradient) {
    op->gradient = [&record](const GradientArgs& args) { return gradient(record, args); };
    op->jvp = [&record](const JvpArgs& args) { return jvp(record, args); };
  }
  op->cases = [op] { return scalar_cases(*op); };
  return *op;
}

Expr elementwise(const Op& op, std::vector<Expr> inputs, Props props, std::source_location where) {
  // Where floatX decides a dtype, the graph says so: a node's type does not depend on a setting.
  if (auto signature = op.scalar->signature(dtypes_of(inputs), props)) {
    bool any_float = false;
    for (const Expr& input : inputs) any_float = any_float || is_continuous(input.dtype());
    for (size_t i = 0; !any_float && &op != &cast_op() && i < inputs.size(); ++i)
      if (is_continuous(signature->inputs[i]))
        inputs[i] = apply(cast_op(), {inputs[i]}, {{"dtype", signature->inputs[i]}}, where);
  }
  return apply(op, std::move(inputs), std::move(props), where);
}

}  // namespace thtrain
