#include "trainers/show/saliency.h"

#include <algorithm>
#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "nn/model_pass.h"
#include "trainers/predict.h"

namespace thtrain {

OcclusionSquare standard_square(const ImageShape& picture) {
  const int64_t size = std::max<int64_t>(1, std::min(picture[1], picture[2]) / 4);
  return {size, std::max<int64_t>(1, size / 4)};
}

// First pixels of the squares along an axis of `length` pixels.
static std::vector<int64_t> positions(int64_t length, const OcclusionSquare& square) {
  std::vector<int64_t> out;
  for (int64_t first = 0; first + square.size <= length; first += square.stride) out.push_back(first);
  if (out.back() + square.size < length) out.push_back(length - square.size);
  return out;
}

// Of a single score for two classes: the probability of `number`.
static double given_for(const Prediction& found, int64_t row, int64_t number) {
  const int64_t width = found.probabilities.size() / found.probabilities.dim(0);
  const double value = found.probabilities.as_double(row * width + (width == 1 ? 0 : number));
  return width == 1 && found.has_classes && number == 0 ? 1 - value : value;
}

Occlusion occlusion(const TrainedModel& model, const Tensor& x, int64_t number, const OcclusionSquare& square) {
  TH_CHECK(model.picture(), "occlusion of what is no picture");
  const auto [channels, height, width] = *model.picture();
  TH_CHECK(square.size <= std::min(height, width), "a square of ", square.size, " pixels");
  const Tensor whole = model.in_units(x);
  const auto [least, largest] = std::minmax_element(whole.data<double>(), whole.data<double>() + whole.size());
  const double grey = (*least + *largest) / 2;
  const std::vector<int64_t> rows = positions(height, square), columns = positions(width, square);
  const auto count = static_cast<int64_t>(rows.size() * columns.size());
  constexpr int64_t kBytes = int64_t{1} << 27;
  const int64_t chunk = std::clamp<int64_t>(kBytes / (8 * whole.size()), 1, count);
  Occlusion out{.whole = given_for(model.predict(Batch{x, {}}), 0, number),
                .by_position = Tensor::empty(DType::kFloat64, {std::ssize(rows), std::ssize(columns)}),
                .by_pixel = Tensor::zeros(DType::kFloat64, {height, width})};
  Shape shape = x.shape();
  for (int64_t first = 0; first < count; first += chunk) {
    shape[0] = std::min(chunk, count - first);
    Tensor covered = Tensor::empty(DType::kFloat64, shape);
    for (int64_t i = 0; i < shape[0]; ++i) {
      double* to = covered.data<double>() + i * whole.size();
      std::copy_n(whole.data<double>(), whole.size(), to);
      const int64_t top = rows[static_cast<size_t>(first + i) / columns.size()],
                    left = columns[static_cast<size_t>(first + i) % columns.size()];
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t row = top; row < top + square.size; ++row)
          std::fill_n(to + (c * height + row) * width + left, square.size, grey);
    }
    const Prediction found = model.predict(Batch{model.from_units(covered), {}});
    for (int64_t i = 0; i < shape[0]; ++i) out.by_position.data<double>()[first + i] = given_for(found, i, number);
  }
  std::vector<double> squares(static_cast<size_t>(height * width));  // that cover a pixel
  for (int64_t i = 0; i < count; ++i)
    for (int64_t row = 0; row < square.size; ++row)
      for (int64_t column = 0; column < square.size; ++column) {
        const int64_t at = (rows[static_cast<size_t>(i) / columns.size()] + row) * width +
                           columns[static_cast<size_t>(i) % columns.size()] + column;
        out.by_pixel.data<double>()[at] += out.by_position.data<double>()[i];
        ++squares[static_cast<size_t>(at)];
      }
  for (int64_t at = 0; at < height * width; ++at) {
    const double covering = squares[static_cast<size_t>(at)];
    double& value = out.by_pixel.data<double>()[at];
    value = covering > 0 ? value / covering : out.whole;
  }
  return out;
}

Tensor score_gradient(const TrainedModel& model, const Tensor& x, int64_t number) {
  const Model& of = model.model();
  Dims dims = {1};
  dims.insert(dims.end(), of.input_shape().begin(), of.input_shape().end());
  const Expr input = tensor("x", dims, of.dtype());
  ModelPass pass = of.pass({input}, Phase::kEvaluation);
  const Expr score = logits_of(pass.model_output(model.output().layer));
  Shape shape;
  for (const Dim& dim : score.dims()) shape.push_back(dim.value());
  const Expr which = tensor("which", score.dims(), of.dtype());
  const Expr gradient = grad(sum(score * which), input);
  FunctionOptions options = model.options("saliency");
  options.unused_inputs = UnusedInputs::kAllowed;  // the gradient of linear scores is the same everywhere
  Function f = function({input, which}, {gradient}, {}, options);
  Tensor chosen = Tensor::zeros(DType::kFloat64, shape);
  const int64_t outputs = chosen.size();
  // One logit of two classes counts for class 1, and its negative for class 0.
  const bool is_second = outputs == 1 && number == 0 && model.data().targets() == Targets::kClasses;
  chosen.data<double>()[outputs == 1 ? 0 : number] = is_second ? -1 : 1;
  const Tensor out = f({model.as_input(x), chosen.cast(of.dtype())})[0];
  return out.reshape({of.input_shape().begin(), of.input_shape().end()}).copy();
}

Tensor gradient_by_pixel(const Tensor& gradient, const ImageShape& picture) {
  const auto [channels, height, width] = picture;
  TH_CHECK(gradient.size() == channels * height * width, gradient.type_text(), " by pixel");
  Tensor out = Tensor::zeros(DType::kFloat64, {height, width});
  for (int64_t i = 0; i < gradient.size(); ++i) {
    double& largest = out.data<double>()[i % (height * width)];
    largest = std::max(largest, std::abs(gradient.as_double(i)));
  }
  return out;
}

}  // namespace thtrain
