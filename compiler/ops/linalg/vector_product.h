// Products of a matrix and a vector on a device, where cuBLAS is a candidate for them.
#pragma once

#include <optional>

#include "compiler/kernel/choice.h"
#include "compiler/ops/linalg/matrix_product.h"

namespace thtrain {

/// y [m] = alpha op(A) x + beta y of known lengths; a vector of a vector is one of a matrix of one row.
struct VectorProduct {
  DType dtype = DType::kFloat32;
  int64_t m = 0, k = 0;
  bool trans = false;        // A is stored [k, m]
  bool accumulates = false;  // beta is not 0

  friend bool operator==(const VectorProduct&, const VectorProduct&) = default;
};

/// "matrix_vector_product float32 784x500 N", " added" where y is accumulated into; and back.
kernel::ChoiceKey key_of(const VectorProduct& product);
std::optional<VectorProduct> vector_product_of(const std::string& properties);

/// Writes the step of dot or gemv of floats, of which an operand is a vector: by the chosen candidate where the lengths
/// are known, else by its definition.
void lower_vector_product(kernel::StepBuilder& builder);

}  // namespace thtrain
