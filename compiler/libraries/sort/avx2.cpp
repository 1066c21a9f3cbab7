// Sorting by vectors of 32 bytes, where CMake compiles this source for them.
#include "compiler/libraries/sort/avx2_vectors.h"
#include "compiler/libraries/sort/quicksort.h"

namespace thtrain::vector_sort {

template <class T>
const Engine<T>* avx2_engine() {
#ifdef __AVX2__
  return engine_of<avx2::Vectors<T>>();
#else
  return nullptr;
#endif
}
template const Engine<float>* avx2_engine();
template const Engine<double>* avx2_engine();
template const Engine<int32_t>* avx2_engine();
template const Engine<int64_t>* avx2_engine();

}  // namespace thtrain::vector_sort
