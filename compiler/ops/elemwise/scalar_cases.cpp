#include "compiler/ops/elemwise/scalar_cases.h"

#include <algorithm>

#include "compiler/ops/elemwise/scalar_op.h"

namespace thtrain {
namespace {

struct CaseMaker {
  const Op& op;
  const ScalarOp& record = *op.scalar;
  std::vector<OpCase> out = {};

  void add(const std::string& name, const std::vector<DType>& dtypes, const std::vector<Dims>& shapes,
           const Props& props) {
    std::optional<Signature> signature = record.signature(dtypes, props);
    if (!signature) return;
    std::vector<Type> inputs;
    std::string text;
    for (size_t i = 0; i < dtypes.size(); ++i) {
      inputs.push_back({.dtype = dtypes[i], .dims = shapes[i]});
      text += str("_", name_of(dtypes[i]));
    }
    if (props.has("dtype")) text += str("_to_", name_of(props.get<DType>("dtype")));
    auto build = [&op = op, props](const std::vector<Expr>& in) {
      Expr first = elementwise(op, in, props, std::source_location::current());
      std::vector<Expr> outputs;
      for (size_t i = 0; i < first.node().types.size(); ++i) outputs.push_back(Expr(first.node_ptr(), i));
      return outputs;
    };
    bool smooth = record.smooth && is_float(signature->outputs[0]) && record.gradient;
    bool any_complex = is_complex(signature->outputs[0]);
    for (DType dtype : signature->inputs) any_complex = any_complex || is_complex(dtype);
    OpCase row{.name = str(name, text),
               .inputs = inputs,
               .build = build,
               .low = record.low,
               .high = record.high,
               .smooth = smooth,
               .bound = any_complex ? record.complex_ulps : record.ulps};
    bool any_sign = record.low < 0 && record.ulps == 0 &&
                    std::all_of(dtypes.begin(), dtypes.end(), [](DType dtype) { return is_signed_int(dtype); });
    if (any_sign) {
      row.int_low = -9;
      row.int_high = 9;
    }
    out.push_back(std::move(row));
  }
};

// `shape` for all inputs but the last, `last` for that one.
std::vector<Dims> shapes(int arity, const Dims& shape, const Dims& last) {
  std::vector<Dims> out(static_cast<size_t>(arity), shape);
  out.back() = last;
  return out;
}

}  // namespace

std::vector<OpCase> scalar_cases(const Op& op) {
  CaseMaker make{.op = op};
  const int arity = make.record.arity;
  auto alike = [&](DType dtype) { return std::vector<DType>(static_cast<size_t>(arity), dtype); };
  const bool is_cast = op.name == "cast";
  for (DType target : kAllDTypes) {
    Props props;
    if (is_cast) props.set("dtype", target);
    // 37 elements: whole vectors of every width and a tail.
    for (DType dtype : kAllDTypes) make.add("vector", alike(dtype), shapes(arity, {37}, {37}), props);
    if (!is_cast) break;
  }

  Props props;
  if (is_cast) props.set("dtype", DType::kFloat32);
  auto first_of = [&](std::initializer_list<DType> dtypes) {
    for (DType dtype : dtypes)
      if (make.record.signature(alike(dtype), props)) return dtype;
    return *dtypes.begin();
  };
  const DType wide = first_of({DType::kFloat64, DType::kInt64, DType::kComplex128});
  const DType narrow = first_of({DType::kFloat32, DType::kInt16, DType::kComplex64});
  make.add("scalar", alike(wide), shapes(arity, {}, {}), props);
  make.add("one", alike(narrow), shapes(arity, {1}, {1}), props);
  make.add("empty", alike(wide), shapes(arity, {3, 0}, {3, 0}), props);
  make.add("cube", alike(narrow), shapes(arity, {2, 3, 5}, {2, 3, 5}), props);
  if (arity == 1) return std::move(make.out);

  make.add("row", alike(wide), shapes(arity, {4, 19}, {19}), props);
  make.add("column", alike(narrow), shapes(arity, {19}, {4, 1}), props);
  make.add("outer", alike(wide), shapes(arity, {3, 1, 5}, {4, 1}), props);
  make.add("one_number", alike(wide), shapes(arity, {2, 3}, {}), props);
  make.add("empty_row", alike(narrow), shapes(arity, {0, 3}, {3}), props);
  for (DType other : {DType::kBool, DType::kInt8, DType::kInt64, DType::kFloat64, DType::kComplex64}) {
    std::vector<DType> mixed = alike(narrow);
    mixed.back() = other;
    make.add("mixed", mixed, shapes(arity, {2, 9}, {9}), props);
  }
  return std::move(make.out);
}

}  // namespace thtrain
