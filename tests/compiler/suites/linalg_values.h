// Matrices that the tests of linear algebra and of spectra share.
#pragma once

#include <string>

#include "compiler/api.h"
#include "compiler/ops/elemwise/parts.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain {

/// spread(shape, seed) + 3 on the diagonal; of complex numbers spread(shape, seed + 17) is the imaginary part.
struct MatrixOfSuite {
  std::string name;
  Shape shape;
  DType dtype;
  int64_t seed;

  Expr of(Given& g) const {
    const Expr re = g.known(spread(shape, seed));
    const Expr x = is_complex(dtype) ? complex(re, g.known(spread(shape, seed + 17))) : re;
    return cast(x + 3.0 * eye(shape[shape.size() - 2], shape.back()), dtype);
  }
};

/// Complex values are two: real and imaginary parts.
inline All parts(const All& values) {
  All out;
  for (const Expr& x : values) {
    if (is_complex(x.dtype())) {
      out.push_back(real(x));
      out.push_back(imag(x));
    } else {
      out.push_back(x);
    }
  }
  return out;
}

inline Expr adjoint_of(const Expr& x) {
  return is_complex(x.dtype()) ? conj(matrix_transpose(x)) : matrix_transpose(x);
}

}  // namespace thtrain
