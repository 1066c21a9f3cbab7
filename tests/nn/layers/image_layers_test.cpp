// What layers of images take and refuse, where images come from, and how filters start.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ir/variables.h"
#include "compiler/runtime/function.h"
#include "nn/layers/add.h"
#include "nn/layers/batch_norm.h"
#include "nn/layers/conv.h"
#include "nn/layers/conv_transposed.h"
#include "nn/layers/dense.h"
#include "nn/layers/layer_norm.h"
#include "nn/layers/local_response_norm.h"
#include "nn/layers/pool.h"
#include "nn/layers/softmax.h"
#include "nn/layers/upsample.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "tests/support/dtypes.h"
#include "tests/support/error_text.h"
#include "tests/support/model_support.h"

namespace thtrain {
namespace {

Section first_section(int line) {
  Section out = layer_section(line);
  out.path = "model.layers.0";
  return out;
}

template <class O>
std::string refusal(Shape example, const O& options) {
  return text_without_node([&] { Model(std::move(example), k64, 1).add(options); });
}

std::vector<double> numbers(const Tensor& value) {
  return {value.data<double>(), value.data<double>() + value.size()};
}

// ---- what they refuse -----------------------------------------------------------------------------------------------

TEST(ImageLayers, RowsAreNoImages) {
  EXPECT_EQ(refusal({784}, Conv::Options{{.name = "maps", .section = first_section(7)}, 2, {.size = {3}}}),
            "error: layer maps (conv) does not fit the layer before it\n"
            "  expected: images [channels, height, width]\n"
            "  got:      examples of shape [784]\n"
            "  config:   a.toml:7:1\n"
            "      7 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     image_shape = [1, 28, 28] takes a row of 784 numbers as an image");
  EXPECT_EQ(refusal({3072}, Pool::Options{{.name = "pool"}}),
            "error: layer pool (pool) does not fit the layer before it\n"
            "  expected: images [channels, height, width]\n"
            "  got:      examples of shape [3072]\n"
            "  hint:     image_shape = [3, 32, 32] takes a row of 3072 numbers as an image");
  EXPECT_EQ(refusal({30}, Upsample::Options{{.name = "large"}}),
            "error: layer large (upsample) does not fit the layer before it\n"
            "  expected: images [channels, height, width]\n"
            "  got:      examples of shape [30]\n"
            "  hint:     image_shape = [channels, height, width] takes rows of numbers as images");
  EXPECT_EQ(refusal({2, 2, 2, 2}, LocalResponseNorm::Options{{.name = "local"}}),
            "error: layer local (local_response_norm) does not fit the layer before it\n"
            "  expected: images [channels, height, width]\n"
            "  got:      examples of shape [2, 2, 2, 2]");
}

TEST(ImageLayers, AnImageShapeIsThatOfTheNumbers) {
  Conv::Options conv{{.name = "maps"}, 2, {.size = {3}}};
  conv.image_shape = {1, 8, 9};
  EXPECT_EQ(refusal({64}, conv),
            "error: layer maps (conv) does not fit the layer before it\n"
            "  expected: 72 numbers for each example, those of image_shape [1, 8, 9]\n"
            "  got:      examples of shape [64]");
  EXPECT_EQ(refusal({9, 8, 1}, conv),
            "error: layer maps (conv) does not fit the layer before it\n"
            "  expected: images of image_shape [1, 8, 9]\n"
            "  got:      examples of shape [9, 8, 1]\n"
            "  hint:     the examples look like [height, width, channels]; NumPy's x.transpose(0, 3, 1, 2) makes "
            "[channels, height, width] of them");
  EXPECT_EQ(refusal({1, 9, 8}, conv),
            "error: layer maps (conv) does not fit the layer before it\n"
            "  expected: images of image_shape [1, 8, 9]\n"
            "  got:      examples of shape [1, 9, 8]\n"
            "  hint:     without image_shape the layer takes images as they are");
  conv.image_shape = {8, 8};
  conv.section = first_section(7);
  EXPECT_EQ(refusal({64}, conv),
            "error: model.layers.0.image_shape is no shape of images\n"
            "  expected: [channels, height, width]\n"
            "  got:      [8, 8]\n"
            "  config:   a.toml:7:1\n"
            "      7 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^");
}

TEST(ImageLayers, AnImageIsAsLargeAsTheFilter) {
  EXPECT_EQ(refusal({1, 4, 9}, Conv::Options{{.name = "maps", .section = first_section(7)}, 2, {.size = {5}}}),
            "error: layer maps (conv) does not fit the layer before it\n"
            "  expected: images of at least 5 x 5, which its filter spans\n"
            "  got:      examples of shape [1, 4, 9]\n"
            "  config:   a.toml:7:1\n"
            "      7 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     a smaller size fits, and so does more padding");
  EXPECT_EQ(refusal({28, 28, 3}, Conv::Options{{.name = "maps"}, 2, {.size = {5}}}),
            "error: layer maps (conv) does not fit the layer before it\n"
            "  expected: images of at least 5 x 5, which its filter spans\n"
            "  got:      examples of shape [28, 28, 3]\n"
            "  hint:     the examples look like [height, width, channels]; NumPy's x.transpose(0, 3, 1, 2) makes "
            "[channels, height, width] of them");
  EXPECT_EQ(refusal({2, 3, 3},
                    Conv::Options{{.name = "maps"}, 2, {.size = {3, 2}, .dilation = {3}, .padding = {1, 0, 0, 0}}}),
            "error: layer maps (conv) does not fit the layer before it\n"
            "  expected: images of at least 6 x 4, which its filter spans without the padding\n"
            "  got:      examples of shape [2, 3, 3]\n"
            "  hint:     a smaller size fits, and so does more padding");
  EXPECT_EQ(refusal({2, 3, 1}, Pool::Options{{.name = "pool"}}),
            "error: layer pool (pool) does not fit the layer before it\n"
            "  expected: images of at least 2 x 2, which its window spans\n"
            "  got:      examples of shape [2, 3, 1]\n"
            "  hint:     a smaller size fits, and so does more padding");
  Pool::Options smaller{{.name = "pool"}};
  smaller.ignore_border = false;
  EXPECT_EQ(refusal({2, 3, 1}, smaller), "no error");
  EXPECT_EQ(refusal({2, 1, 1}, ConvTransposed::Options{{.name = "wide"}, 2, {.size = {3}, .padding = {2}}}),
            "error: layer wide (conv_transposed) does not fit the layer before it\n"
            "  expected: images of which the padding leaves something\n"
            "  got:      examples of shape [2, 1, 1]\n"
            "  hint:     they would become -1 x -1");
}

TEST(ImageLayers, GroupsDivideTheChannels) {
  Conv::Options conv{{.name = "maps", .section = first_section(7)}, 8, {.size = {1}}, 4};
  EXPECT_EQ(refusal({6, 3, 3}, conv),
            "error: model.layers.0.groups does not divide the channels of the images\n"
            "  expected: a divisor of 6\n"
            "  got:      4\n"
            "  config:   a.toml:7:1\n"
            "      7 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^");
}

TEST(ImageLayers, SumsAreOfImagesOfOneShape) {
  Model model({2, 4, 4}, k64, 1);
  model.add(Conv::Options{{.name = "maps"}, 3, {.size = {1}}});
  EXPECT_EQ(text_without_node([&] {
              model.add(Add::Options{{.name = "sum", .inputs = {"maps", "x"}}});
            }),
            "error: layer sum (add) does not fit its inputs maps, x\n"
            "  expected: inputs of one shape\n"
            "  got:      maps [3, 4, 4], x [2, 4, 4]\n"
            "  hint:     a conv layer of size 1 gives images the channels of the other one, and with its stride its "
            "sides");
}

TEST(ImageLayers, NormalizationsSayWhatTheyTake) {
  Model sequences = Model::with_inputs({{"x", {3}, true}}, k64, 1);
  EXPECT_EQ(text_without_node([&] { sequences.add(BatchNorm::Options{{.name = "norm"}}); }),
            "error: layer norm (batch_norm) does not fit the layer before it\n"
            "  expected: examples that are no sequences\n"
            "  got:      steps of shape [3]\n"
            "  hint:     a layer of type \"layer_norm\" normalizes each step by itself");
  EXPECT_EQ(refusal({3}, LayerNorm::Options{{.name = "norm"}, 2}),
            "error: layer norm (layer_norm) does not fit the layer before it\n"
            "  expected: examples of at least 2 axes\n"
            "  got:      examples of shape [3]");
}

// ---- where images come from -----------------------------------------------------------------------------------------

// One pixel of a 1 x 1 filter of weight 1: the layer shows the image that it took.
Tensor taken(Model model, const Tensor& x) {
  model.load({{"copy/W", Tensor::of<double>(std::vector<double>{1}, {1, 1, 1, 1})}}, "w.npz");
  Dims dims(x.shape().begin(), x.shape().end());
  const Expr variable = tensor("x", dims, k64);
  return function({variable}, {Out(model.output(variable))}, {}, kReference)({x})[0];
}

TEST(ImageLayers, ExamplesOfOneChannelNeedNoChannels) {
  Conv::Options copy{{.name = "copy"}, 1, {.size = {1}}};
  copy.bias = false;
  const Tensor x = Tensor::of<double>(std::vector<double>{1, 2, 3, 4, 5, 6}, {1, 2, 3});
  Model plain({2, 3}, k64, 1);
  plain.add(copy);
  EXPECT_EQ(taken(std::move(plain), x).text(), "[[[[1, 2, 3], [4, 5, 6]]]]");

  Model rows = Model::with_inputs({{.name = "x", .shape = {6}, .image = {{1, 2, 3}}}}, k64, 1);
  rows.add(copy);
  EXPECT_EQ(rows.layers()[0]->output_shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(taken(std::move(rows), x.reshape({1, 6})).text(), "[[[[1, 2, 3], [4, 5, 6]]]]");

  Model given({6}, k64, 1);
  copy.image_shape = {1, 3, 2};
  given.add(copy);
  EXPECT_EQ(taken(std::move(given), x.reshape({1, 6})).text(), "[[[[1, 2], [3, 4], [5, 6]]]]");
}

TEST(ImageLayers, DenseLayersGetImagesAsRows) {
  Model model({2, 1, 2}, k64, 1);
  model.add(Upsample::Options{{.name = "same"}, 1});
  model.add(Dense::Options{{.name = "sum"}, 1});
  model.add(Softmax::Options{{.name = "out", .inputs = {"same"}}, 2});
  EXPECT_EQ(model.params()[0].variable.type().text(), "float64[4, 1]");
  model.load({{"sum/W", Tensor::matrix<double>({{1}, {10}, {100}, {1000}})},
              {"sum/b", Tensor::vector({0.0})},
              {"out/W", Tensor::zeros(k64, {4, 2})},
              {"out/b", Tensor::zeros(k64, {2})}},
             "w.npz");
  const Expr x = tensor("x", {1, 2, 1, 2}, k64);
  ModelPass pass = model.pass({x}, Phase::kEvaluation);
  Function f = function({x}, {Out(pass.output("sum")), Out(pass.output("out")), Out(pass.logits())}, {}, kReference);
  const std::vector<Tensor> out = f({Tensor::of<double>(std::vector<double>{1, 2, 3, 4}, {1, 2, 1, 2})});
  EXPECT_EQ(out[0].text(), "[[4321]]");
  EXPECT_EQ(out[1].text(), "[[0.5, 0.5]]");
  EXPECT_EQ(out[2].text(), "[[0, 0]]");
}

// ---- batch normalization --------------------------------------------------------------------------------------------

TEST(BatchNorm, OfRowsHasMomentsOfEachNumber) {
  Model model({2}, k64, 1);
  BatchNorm::Options options{{.name = "norm"}, 0.5, 1e-12};
  model.add(options);
  EXPECT_EQ(join(model.params(), " ", [](const Param& p) { return str(p.name, ' ', p.variable.type().text()); }),
            "norm/g float64[2] norm/b float64[2]");
  EXPECT_EQ(join(model.state(), " ", [](const Param& p) { return str(p.name, ' ', p.variable.type().text()); }),
            "norm/mean float64[2] norm/variance float64[2]");
  EXPECT_FALSE(model.params()[0].penalized || model.params()[1].penalized);
  const Expr x = tensor("x", {2, 2}, k64);
  ModelPass pass = model.pass({x}, Phase::kTraining);
  const Expr y = pass.output();
  Function train = function({x}, {Out(y)}, pass.updates(), kReference);
  const std::vector<double> got = numbers(train({Tensor::matrix<double>({{1, 0}, {3, 8}})})[0]);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], i < 2 ? -1 : 1, 1e-9);
  // Half of what was, and half of the means 2 and 4 and of the unbiased variances 2 and 32.
  EXPECT_EQ(model.state()[0].variable.get_value().text(), "[1, 2]");
  EXPECT_EQ(model.state()[1].variable.get_value().text(), "[1.5, 16.5]");
}

// ---- how filters start ----------------------------------------------------------------------------------------------

// numpy.random.RandomState(23455).uniform(-b, b, (2, 1, 2, 2)): the Deep Learning Tutorials' LeNetConvPoolLayer.
TEST(Filters, StartAsTheTutorialsDo) {
  Conv::Options conv{{.name = "maps"}, 2, {.size = {2}}};
  Model plain({1, 8, 8}, k64, 23455);
  plain.add(conv);
  RandomState random(23455);
  const double bound = std::sqrt(6.0 / (1 * 4 + 2 * 4));
  EXPECT_EQ(numbers(plain.params()[0].variable.get_value()), random.uniform(-bound, bound, 8));

  conv.init_outputs = 2;  // of 2 x 4 outputs, pooling by 2 x 2 leaves 2
  Model pooled({1, 8, 8}, k64, 23455);
  pooled.add(conv);
  RandomState again(23455);
  EXPECT_EQ(numbers(pooled.params()[0].variable.get_value()), again.uniform(-1, 1, 8));
}

TEST(Filters, OfGroupsHaveFewerInputsAndOutputs) {
  Conv::Options conv{{.name = "maps"}, 4, {.size = {1, 3}}, 2};
  conv.init.law = Init::Law::kGlorotUniform;
  Model model({6, 3, 3}, k64, 1);
  model.add(conv);
  EXPECT_EQ(model.params()[0].variable.type().text(), "float64[4, 3, 1, 3]");
  RandomState random(1);
  const double bound = std::sqrt(6.0 / (3 * 3 + 2 * 3));
  EXPECT_EQ(numbers(model.params()[0].variable.get_value()), random.uniform(-bound, bound, 36));
}

TEST(Filters, MayBeOrthogonal) {
  Conv::Options conv{{.name = "maps"}, 3, {.size = {2}}};
  conv.init.law = Init::Law::kOrthogonal;
  Model model({2, 3, 3}, k64, 1);
  model.add(conv);
  const std::vector<double> w = numbers(model.params()[0].variable.get_value());
  for (size_t f = 0; f < 3; ++f)
    for (size_t g = 0; g < 3; ++g) {
      double product = 0;
      for (size_t i = 0; i < 8; ++i) product += w[f * 8 + i] * w[g * 8 + i];
      EXPECT_NEAR(product, f == g, 1e-14);
    }
}

}  // namespace
}  // namespace thtrain
