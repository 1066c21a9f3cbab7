// Which pixels of an example decide: what happens where they are covered, and where they change a little.
#pragma once

#include <cstdint>

#include "trainers/show/trained_model.h"

namespace thtrain {

/// A square of `size` x `size` pixels that moves by `stride` of them.
struct OcclusionSquare {
  int64_t size = 0, stride = 0;
};
/// A quarter of the shorter side, and a quarter of that; 1 at least.
OcclusionSquare standard_square(const ImageShape& picture);

struct Occlusion {
  double whole = 0;  // of the example as it is
  /// float64 [positions of rows, positions of columns]: of the example with the square's upper left corner at row i *
  /// stride and column j * stride; the last row and column of squares end at the picture's edge.
  Tensor by_position = {};
  /// float64 [height, width]: the mean over the squares that cover the pixel; `whole` where none does.
  Tensor by_pixel = {};
};

/// M. Zeiler, R. Fergus, "Visualizing and understanding convolutional networks", ECCV 2014, section 4.2: what the model
/// gives for `number` (the probability of that class; of a model of values, that value) while a grey square covers a
/// part of the example. Grey is the middle between the example's least and largest number, in the data's units, in
/// every channel. `x`: one example as the model takes it, [1, ...]. Positions are computed some hundreds at a time.
/// InternalError where examples are no pictures or the square does not fit into them.
Occlusion occlusion(const TrainedModel& model, const Tensor& x, int64_t number, const OcclusionSquare& square);

/// K. Simonyan, A. Vedaldi, A. Zisserman, "Deep inside convolutional networks", ICLR 2014 workshop, section 3: the
/// derivative of the score of `number` by each number of x, as the model takes it, [input shape...] in floatX, in
/// evaluation. The score is the logit where the output has logits, else the output.
Tensor score_gradient(const TrainedModel& model, const Tensor& x, int64_t number);
/// |d score / d x|, of each pixel the largest of its channels: float64 [height, width].
Tensor gradient_by_pixel(const Tensor& gradient, const ImageShape& picture);

}  // namespace thtrain
