// What the candidates of a matrix product are chosen by.
#pragma once

#include <optional>

#include "compiler/ir/dtype.h"
#include "compiler/kernel/choice.h"

namespace thtrain {

/// C [m, n] = alpha op(A) op(B) + beta C of known lengths, once or for each of a batch.
struct MatrixProduct {
  DType dtype = DType::kFloat32;
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;  // A is stored [k, m], B [n, k]
  bool accumulates = false;               // beta is not 0
  int64_t count = 0;                      // of the batch; 0: one product, which is no batch

  friend bool operator==(const MatrixProduct&, const MatrixProduct&) = default;
};

/// "matrix_product float32 60x784x500 NN": dtype, m x k x n, which operands are transposed; " added" where C is
/// accumulated into. "batched_product float32 4x4x4 NN 1000 times".
kernel::ChoiceKey key_of(const MatrixProduct& product);
/// Back from the key's properties; nullopt where the text is none.
std::optional<MatrixProduct> product_of(const std::string& properties);

}  // namespace thtrain
