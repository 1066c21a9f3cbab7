// Transforms of Fourier by the vector instructions of this processor: mixed radix, Bluestein for large primes.
// docs/decisions/ has how rows and columns are done, and what was measured.
#pragma once

#include <array>

#include "compiler/libraries/fft/engine.h"
#include "compiler/libraries/library_functions.h"

namespace thtrain {
namespace fft {

/// An array of count x n[0] x n[1] x n[2] x inner numbers, of which the axes of n are transformed; 1 for none.
struct Axes {
  long count;
  std::array<long, 3> n;
  long inner;
  long numbers() const { return count * n[0] * n[1] * n[2] * inner; }
};

/// Along the axes of n. A real transform has n[2] real numbers in time, n[2] / 2 + 1 in its spectrum, and inner is 1;
/// back from a spectrum n[0] and n[1] are 1. Results are multiplied by `scale`. Equal arguments give equal bits,
/// whatever the number of threads is. out may be in for kComplex.
template <class T>
void transform(Kind kind, const Axes& axes, bool inverse, T scale, const T* in, T* out, int threads);

/// Which vectors are used, for measurements and tests: 64, 32 or 16 bytes; fewer than the processor has, where asked.
int vector_width();
void limit_width(int bytes);

}  // namespace fft

/// "fft_f32", "fft_f64" (ops/fft/fft_functions.h).
NamedFunctions fft_functions();

}  // namespace thtrain
