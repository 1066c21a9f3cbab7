// What a lowering asks where a computation has several implementations. The runtime's tuner answers (decision 19).
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/dtype.h"

namespace thtrain::kernel {

/// C [m, n] = alpha op(A) op(B) + beta C of known lengths.
struct MatrixProduct {
  DType dtype = DType::kFloat32;
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;  // A is stored [k, m], B [n, k]
  bool accumulates = false;               // beta is not 0

  friend bool operator==(const MatrixProduct&, const MatrixProduct&) = default;
};

/// What was chosen for a product.
struct ProductChoice {
  MatrixProduct product;
  std::string candidate;

  friend bool operator==(const ProductChoice&, const ProductChoice&) = default;
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  /// The candidate's name: "library", "oneDNN 2.6.3", or a GemmTiling's ("tile 6x4x392").
  virtual std::string choose(const MatrixProduct& product) const = 0;
};

}  // namespace thtrain::kernel
