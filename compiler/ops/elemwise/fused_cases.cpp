#include "compiler/ops/elemwise/fused_cases.h"

namespace thtrain {

std::vector<OpCase> fused_cases(std::shared_ptr<const Node> (*make)(GraphPtr body, std::vector<Expr> inputs),
                                const std::vector<FusedExample>& examples, const OpCase& like) {
  std::vector<OpCase> out;
  for (const FusedExample& example : examples)
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      OpCase made = like;
      made.name = str(example.name, "_", name_of(dtype));
      for (const Dims& dims : example.inputs) made.inputs.push_back({.dtype = dtype, .dims = dims});
      made.build = [make, &example](const std::vector<Expr>& x) { return fused_values(make, x, example.build); };
      out.push_back(std::move(made));
    }
  return out;
}

}  // namespace thtrain
