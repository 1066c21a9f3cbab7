// Sorting by vectors of 64 bytes, where CMake compiles this source for them.
// g++ 12 takes the undefined vectors in its own header of instructions for a mistake.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "compiler/libraries/sort/avx512_vectors.h"
#include "compiler/libraries/sort/quicksort.h"

namespace thtrain::vector_sort {

template <class T>
const Engine<T>* avx512_engine() {
#ifdef __AVX512F__
  return engine_of<avx512::Vectors<T>>();
#else
  return nullptr;
#endif
}
template const Engine<float>* avx512_engine();
template const Engine<double>* avx512_engine();
template const Engine<int32_t>* avx512_engine();
template const Engine<int64_t>* avx512_engine();

}  // namespace thtrain::vector_sort
