// A generator of handwritten-like digits, so that everything runs on a machine with no data and no network.
//
// Each digit is written by one of several pens' paths (datasets/digit_strokes.h). A path is bent by moving its points
// and by a smooth random displacement (the elastic distortion of P. Simard, D. Steinkraus, J. Platt, "Best practices
// for convolutional neural networks", ICDAR 2003, here on a coarse grid), then slanted, turned, scaled and shifted,
// drawn with a pen of changing width, and overlaid with noise. All arithmetic is on integers: a seed gives the same
// bytes on every machine.
#pragma once

#include <cstdint>

#include "compiler/ir/tensor.h"

namespace thtrain {

struct Digits {
  Tensor images;  // uint8 [n, 28, 28], ink is bright on black as in MNIST
  Tensor labels;  // uint8 [n], 0 to 9
};

/// `n` digits, the classes balanced to within one, in random order. `part` numbers independent sets of one seed
/// (training, validation, test): the set of one part does not depend on the size of another. InternalError if n is
/// negative.
Digits generate_digits(int64_t n, uint64_t seed, uint64_t part = 0);

}  // namespace thtrain
