// Kernels of the products of a compressed matrix, or its transpose, and a dense one.
#pragma once

#include <optional>

#include "compiler/ops/linalg/kernel_epilogue.h"
#include "compiler/ops/sparse/parts.h"

namespace thtrain {

/// The inputs of csr_dot.
namespace csr_dot_parts {
inline constexpr size_t kData = 0, kIndices = 1, kIndptr = 2, kDense = 3, kAddend = 4, kAlpha = 5;
}

inline bool has_addend(const Node& product) {
  return product.inputs.size() > csr_dot_parts::kAddend;
}

/// The operands of a product, and what its kernel does with the results where that is not to store them.
struct CsrDotStep {
  kernel::Operand data, indices, indptr, x, out;
  std::optional<kernel::Operand> addend = {}, alpha = {};
  KernelEpilogue* epilogue = nullptr;  // of A x for a matrix x
};

/// Checks the pattern. `columns`: those of A.
void check_pattern(kernel::StepBuilder& b, const CsrDotStep& step, const Dim& columns);
/// The same before the first write to a variable.
void check_pattern_first(kernel::StepBuilder& b, const CsrDotStep& step, const Dim& columns);
/// A x + alpha addend.
void lower_csr_dot_rows(kernel::StepBuilder& b, const CsrDotStep& step);
/// A^T x + alpha addend for a matrix x, or by one thread.
void lower_csr_dot_columns(kernel::StepBuilder& b, const CsrDotStep& step);

}  // namespace thtrain
