// What the rows of the tables of rules are written with.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/passes/rules.h"

namespace thtrain {

/// Types of an example's inputs.
inline Type f64(Dims dims) {
  return {.dtype = DType::kFloat64, .dims = std::move(dims)};
}
inline Type f32(Dims dims) {
  return {.dtype = DType::kFloat32, .dims = std::move(dims)};
}
inline Type c64(Dims dims) {
  return {.dtype = DType::kComplex64, .dims = std::move(dims)};
}
inline Type c128(Dims dims) {
  return {.dtype = DType::kComplex128, .dims = std::move(dims)};
}
inline Type i64(Dims dims) {
  return {.dtype = DType::kInt64, .dims = std::move(dims)};
}

/// A rule for the values of one op, which holds for all dtypes.
inline Rule rule_about(const Op& op, const char* name, RuleFunction rewrite, Safety safety,
                       std::vector<RuleExample> examples) {
  return {.name = name,
          .safety = safety,
          .kinds = kAll,
          .rewrite = std::move(rewrite),
          .roots = {&op},
          .examples = std::move(examples)};
}

}  // namespace thtrain
