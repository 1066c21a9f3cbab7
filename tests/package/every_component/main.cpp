// A layer on a generated digit, written as an array: something of each component; ends with 0 where shapes are right.
#include <thtrain/datasets/digits_generator.h>
#include <thtrain/datasets/npy.h>
#include <thtrain/nn/layers/flatten.h>
#include <thtrain/nn/layers/softmax.h>
#include <thtrain/nn/model.h>
#include <thtrain/reports/canvas.h>
#include <thtrain/thtrain.h>

int main() {
  using namespace thtrain;
  const Digits digits = generate_digits(2, 1);
  Model model({28, 28}, DType::kFloat32, 1);
  model.add(Flatten::Options{{.name = "flat"}});
  model.add(Softmax::Options{{.name = "softmax"}, 10});
  Expr x = tensor("x", {"n", 28, 28}, DType::kFloat32);
  auto out = function({x}, {model.probabilities(x)})({digits.images.cast(DType::kFloat32)});

  write_npy("digits.npy", digits.images);
  Canvas canvas(28, 28);
  canvas.write_png("empty.png");
  return out[0].shape() == Shape{2, 10} && read_npy("digits.npy").shape() == Shape{2, 28, 28} ? 0 : 1;
}
