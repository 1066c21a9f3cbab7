// Examples in the plane, so that neighbours stay neighbours.
//
// L. van der Maaten, G. Hinton, "Visualizing data using t-SNE", JMLR 9, 2008, algorithm 1, exactly: all pairs in every
// step, O(n^2) time and memory. The rules of the steps are those of scikit-learn's TSNE (method="exact").
#pragma once

#include "compiler/ir/tensor.h"

namespace thtrain {

struct TsneOptions {
  double perplexity = 30;  // about how many neighbours count; at most (n - 1) / 3 is used
  int64_t iterations = 1000;
};

struct Tsne {
  Tensor coordinates;     // float64 [n, 2]
  double divergence = 0;  // Kullback and Leibler's, of the similarities in the plane from those of the examples
};

/// Of the rows of `x`, float64 [n, d] with n >= 4; `first` [n, 2] are the coordinates to begin at, which are scaled so
/// that the first column has the deviation 1e-4. The first 250 iterations exaggerate the similarities twelve times with
/// momentum 0.5, the others have momentum 0.8; the learning rate is max(n / 48, 50), with a gain for each number.
/// Deterministic.
Tsne tsne(const Tensor& x, const Tensor& first, const TsneOptions& options = {});

}  // namespace thtrain
