// What a transform of some length needs besides its data: radices, factors of rotation, orders. Made once for a length.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace thtrain::fft {

/// Primes up to this one are radices; a length with a larger one is a convolution (Bluestein).
inline constexpr long kLargestRadix = 61;

/// Passes of decimation in frequency over n values, each of which may be a vector: pass i has blocks of radices[i]
/// times the length of the next one's.
template <class T>
struct Passes {
  long n = 1;
  std::vector<int> radices;             // the first and the last are at most 8; 1 copies
  std::vector<std::vector<T>> factors;  // of pass i: for each j, e^(-2 pi i j p / length) for p = 1 ... radix - 1
  std::vector<int32_t> position;        // where the passes leave result k
  std::vector<int32_t> first_of_block;  // the number of the first result of each block of the last pass
  std::vector<std::vector<T>> roots;    // of pass i with an odd radix above 7: its cosines, then its sines
};

template <class T>
Passes<T> passes_of(long n);

/// A transform of one row of n = n1 n2 numbers, in two sweeps: over columns, and over rows of what these gave.
template <class T>
struct RowPlan {
  long n1 = 1, n2 = 1;
  Passes<T> columns, rows;  // of n1 and n2 numbers
  long lanes;
  // e^(-2 pi i j k / n) for column j and result k: as vectors of a block of columns, [block][k][re, im][lane]; of long
  // rows as a product, [block][k][re, im] for the block's first column and [k][re, im][lane] for the others' distance.
  bool is_product = false;
  std::vector<T> factors, of_lanes;
  long blocks_of_columns() const { return (n2 + lanes - 1) / lanes; }
  long blocks_of_rows() const { return (n1 + lanes - 1) / lanes; }
};

template <class T>
RowPlan<T> row_plan(long n, long lanes);

/// Is it a product of radices?
bool is_smooth(long n);
/// The length of Bluestein's convolution for n numbers: 2n - 1 at least.
long convolution_length(long n);

/// e^(-2 pi i k / n), rounded once from long double.
struct Root {
  long double re, im;
};
Root root_of(long k, long n);

}  // namespace thtrain::fft
