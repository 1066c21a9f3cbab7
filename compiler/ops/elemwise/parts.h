// Values of a body in the loop language, which has no complex numbers: such a value is two terms.
#pragma once

#include <utility>

#include "compiler/kernel/term.h"

namespace thtrain {

/// The terms of a value: a complex one has a real and an imaginary part, any other has `re` alone.
struct Parts {
  kernel::Term re, im;

  Parts() = default;
  Parts(kernel::Term real, kernel::Term imaginary = {}) : re(std::move(real)), im(std::move(imaginary)) {}

  bool is_complex() const { return static_cast<bool>(im); }
};

/// The dtype of a complex number's parts; other dtypes are themselves.
inline DType real_dtype(DType dtype) {
  return dtype == DType::kComplex64 ? DType::kFloat32 : dtype == DType::kComplex128 ? DType::kFloat64 : dtype;
}

/// The value as another dtype, as the op cast has it. Of complex numbers to complex ones and to bool.
Parts converted(const Parts& x, DType dtype);

}  // namespace thtrain
