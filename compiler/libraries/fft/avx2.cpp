// Transforms by vectors of 32 bytes, where CMake compiles this source for them.
#define TH_FFT_BYTES 32
#define TH_FFT_VECTORS avx2_vectors
#include "compiler/libraries/fft/sweeps.h"

namespace thtrain::fft {

template <class T>
const Engine<T>* avx2_engine() {
#ifdef __AVX2__
  return avx2_vectors::engine<T>();
#else
  return nullptr;
#endif
}
template const Engine<float>* avx2_engine();
template const Engine<double>* avx2_engine();

}  // namespace thtrain::fft
