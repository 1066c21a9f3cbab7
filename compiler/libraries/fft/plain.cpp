// Transforms by vectors of every processor of the architecture.
#define TH_FFT_BYTES 16
#define TH_FFT_VECTORS plain_vectors
#include "compiler/libraries/fft/sweeps.h"

namespace thtrain::fft {

template <class T>
const Engine<T>* plain_engine() {
  return plain_vectors::engine<T>();
}
template const Engine<float>* plain_engine();
template const Engine<double>* plain_engine();

}  // namespace thtrain::fft
