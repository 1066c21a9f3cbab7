// Sorting of keys by vector instructions: what the source of each instruction set offers.
#pragma once

#include <cstdint>
#include <type_traits>

namespace thtrain::vector_sort {

/// An element's bits as an integer.
template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

/// The keys of a row: its elements but for some inverted bits, such that the first one is the least. None is a NaN.
/// Those that are to be sorted are in `keys` at first. `work` has as many, and is undefined.
template <class T>
struct Row {
  T *keys, *work;
  long wanted;  // the first so many are sorted in the end; of the others nothing is known
  long room;    // keys that may be written past the end of what is sorted
};

/// Keys that belong at [begin, end) of the sorted row, where they are now, in `keys` or in `work`.
template <class T>
struct Range {
  long begin, end;
  bool is_in_work = false;
  bool has_least = false;  // none is below `least`
  T least = 0;
};

template <class T>
struct Halves {
  Range<T> low, high;  // one of them may be empty
};

/// What is among the elements of a row.
template <class T>
struct Found {
  long nans = 0;  // of floats
  bool negative_zero = false;
  T least = 0, greatest = 0;  // keys of int64; 0 of others
};

template <class T>
struct Engine {
  int lanes;
  /// keys = in with the bits of `inverted` inverted. A NaN becomes the greatest key, or the least one if `inverted`
  /// has the sign.
  Found<T> (*read)(const T* in, T* keys, long n, Bits<T> inverted);
  /// out = keys with these bits inverted; out may be keys.
  void (*write)(const T* keys, T* out, long n, Bits<T> inverted);
  /// Of int64, null of others. Keys that are less than 2^32 apart as integers of 32 bits, and back.
  void (*narrow)(const T* keys, int32_t* out, long n, T least);
  void (*widen)(const int32_t* keys, T* out, long n, T least, Bits<T> inverted);
  /// The zeros of a row, in their order and with their signs, as the keys from `at` to `last`: all of them, or the
  /// first.
  void (*place_zeros)(const T* in, long n, T* at, T* last, Bits<T> inverted);
  /// Exchanges keys so that those of one half are not above those of the other one.
  Halves<T> (*split)(const Row<T>& row, const Range<T>& range);
  /// Sorts the keys of a range, which are in `keys` then. `splits`: after so many, one in another, heap sort follows.
  void (*sort)(const Row<T>& row, const Range<T>& range, int splits);
};

template <class T>
const Engine<T>* avx512_engine();  // null where it was not compiled
template <class T>
const Engine<T>* avx2_engine();

}  // namespace thtrain::vector_sort
