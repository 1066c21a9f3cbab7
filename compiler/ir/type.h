// The type of a value: what is known of it before any call.
#pragma once

#include <string>

#include "compiler/ir/dim.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

// ---- for other parts of the compiler --------------------------------------------------------------------------------

enum class TypeKind : uint8_t {
  kTensor,  // dense, row-major unless an operation made a view
  kToken,   // the order of effects; has no elements
};

// ---- inputs and constants -------------------------------------------------------------------------------------------

/// What is known of a value before any call.
struct Type {
  TypeKind kind = TypeKind::kTensor;
  DType dtype = DType::kFloat64;
  Dims dims = {};

  size_t rank() const { return dims.size(); }
  bool is_scalar() const { return kind == TypeKind::kTensor && dims.empty(); }
  bool is_known() const;      // every length is a number
  Shape known_shape() const;  // InternalError unless is_known()
  Dim elements() const { return product(dims); }
  /// "float32[batch, 784]"; canonical names as they are. Type::parse reads it back.
  std::string text() const;
  friend bool operator==(const Type&, const Type&) = default;
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

inline Type token_type() {
  return {.kind = TypeKind::kToken, .dtype = DType::kBool, .dims = {}};
}

/// The type of a value of that dtype and shape, every length known.
Type type_of(const Tensor& value);

std::optional<Type> parse_type(std::string_view text);

}  // namespace thtrain
