// Transforms by vectors of 64 bytes, where CMake compiles this source for them.
#define TH_FFT_BYTES 64
#define TH_FFT_VECTORS avx512_vectors
#include "compiler/libraries/fft/sweeps.h"

namespace thtrain::fft {

template <class T>
const Engine<T>* avx512_engine() {
#ifdef __AVX512F__
  return avx512_vectors::engine<T>();
#else
  return nullptr;
#endif
}
template const Engine<float>* avx512_engine();
template const Engine<double>* avx512_engine();

}  // namespace thtrain::fft
