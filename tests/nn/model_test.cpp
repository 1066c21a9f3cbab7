#include "nn/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/runtime/function.h"
#include "nn/activations.h"
#include "nn/layers/activation.h"
#include "nn/layers/dense.h"
#include "nn/layers/flatten.h"
#include "nn/layers/softmax.h"
#include "nn/losses.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"
#include "tests/support/error_text.h"
#include "tests/support/model_support.h"

namespace thtrain {
namespace {

Model small_model(DType dtype = k64) {
  Model model({4}, dtype, 1234);
  model.add(Dense::Options{{.name = "hidden", .section = layer_section(3)}, 3, "tanh"});
  model.add(Softmax::Options{{.name = "out", .section = layer_section(7)}, 2});
  return model;
}

std::map<std::string, Tensor> weights_of(const Model& model) {
  std::map<std::string, Tensor> out;
  for (const Param& param : model.params()) out[param.name] = param.variable.get_value();
  return out;
}

// One float64 input would make every layer float64.
TEST(Model, AnInputWiderThanTheWeightsIsAnError) {
  const Model model = small_model(DType::kFloat32);
  EXPECT_EQ(text_without_node([&] {
              model.logits(tensor("x", {"n", 4}, k64));
            }),
            "error: input x of the model: it is float64, and the weights are float32\n"
            "  expected: float32, or integers\n"
            "  got:      x float64[n, 4]\n"
            "  hint:     cast(x, DType::kFloat32)");
  EXPECT_EQ(model.logits(tensor("x", {"n", 4}, DType::kUInt8)).dtype(), DType::kFloat32);
  EXPECT_EQ(small_model().logits(tensor("x", {"n", 4}, DType::kFloat32)).dtype(), k64);
  EXPECT_EQ(text_without_node([&] { model.logits(Expr()); }), "error: input x of the model is an empty expression");
}

TEST(Model, OptionsAreHeldToWhatAConfigurationMaySay) {
  Model model({4}, DType::kFloat32, 1);
  EXPECT_EQ(text_without_node([&] {
              model.add(Dense::Options{{.name = "h"}, -3});
            }),
            "error: layer h (dense): units is out of range\n"
            "  expected: an integer, at least 1 (outputs)\n"
            "  got:      -3\n  hint:     units: number of outputs, the columns of W");
  const OneOf<LayerOptions> layer = Dense::Options{{}, 2, "relo"};
  EXPECT_EQ(
      text_without_node([&] { model.add(layer); }),
      "error: layer dense: activation has an unknown value\n"
      "  expected: one of \"linear\", \"tanh\", \"sigmoid\", \"relu\", \"softplus\", \"elu\", \"selu\", \"gelu\", "
      "\"gelu_tanh\", \"leaky_relu\", \"swish\", \"hard_sigmoid\", \"softsign\", \"softmax\"\n"
      "  got:      \"relo\"\n"
      "  hint:     did you mean \"relu\"?");
  EXPECT_EQ(text_without_node([&] {
              model.output(tensor("x", {"n", 4}, DType::kFloat32));
            }),
            "error: the model has no layers\n  hint:     model.add(Dense::Options{{}, 10}) adds one");
  EXPECT_EQ(text_without_node([] { Model({4}, DType::kInt32, 1); }),
            "error: the model has a dtype of no weights\n  expected: float32 or float64\n  got:      int32");
}

TEST(Model, NamesShapesAndFirstValues) {
  Model model = small_model(DType::kFloat32);
  std::string text;
  for (const Param& p : model.params()) text += str(p.name, " ", p.variable.type().text(), p.penalized ? " W; " : "; ");
  EXPECT_EQ(text, "hidden/W float32[4, 3] W; hidden/b float32[3]; out/W float32[3, 2] W; out/b float32[2]; ");
  EXPECT_EQ(model.parameter_count(), 12 + 3 + 6 + 2);
  EXPECT_EQ(model.classes(), 2);
  RandomState random(1234);
  double bound = std::sqrt(6.0 / 7);
  Tensor w = model.params()[0].variable.get_value();
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(w.data<float>()[i], static_cast<float>(random.uniform(-bound, bound)));
  for (size_t k = 1; k < 4; ++k)
    for (int64_t i = 0; i < model.params()[k].variable.get_value().size(); ++i)
      EXPECT_EQ(model.params()[k].variable.get_value().as_double(i), 0);
  EXPECT_EQ(model.random().state(), random.state());
}

TEST(Model, ALayerWithASeedDrawsAlone) {
  Model model({4}, k64, 1);
  model.add(Dense::Options{{.name = "a"}, 3}, 1234);
  model.add(Dense::Options{{.name = "b"}, 4});
  model.add(Softmax::Options{{.name = "out"}, 2});
  RandomState own(1234), common(1);
  Tensor a = draw_weights({}, 4, 3, own), b = draw_weights({}, 3, 4, common);
  EXPECT_TRUE(same_bits(model.params()[0].variable.get_value(), a));
  EXPECT_TRUE(same_bits(model.params()[2].variable.get_value(), b));
}

TEST(Model, WithoutBias) {
  Model model({2}, k64, 1);
  model.add(Dense::Options{{.name = "a"}, 3, "relu", false});
  model.add(Softmax::Options{{.name = "out"}, 2, false});
  ASSERT_EQ(model.params().size(), 2u);
  EXPECT_EQ(model.params()[1].name, "out/W");
}

TEST(Model, ComputesWhatItsLayersSay) {
  Model model({2, 2}, k64, 1);
  model.add(Activation::Options{{.name = "positive"}, "relu"});
  model.add(Flatten::Options{{.name = "rows"}});
  model.add(Softmax::Options{{.name = "out"}, 2});
  model.load(
      {{"out/W", Tensor::matrix<double>({{1, 0}, {0, 1}, {2, 0}, {0, 2}})}, {"out/b", Tensor::vector({0.5, 0.0})}},
      "w.npz");
  Expr x = tensor("x", {3, 2, 2}, k64), y = tensor("y", {3}, DType::kInt64);
  Expr p = model.probabilities(x);
  Function f = function({x, y}, {model.logits(x), p, error_count(p, y), negative_log_likelihood(model.logits(x), y)},
                        {}, kReference);
  Tensor batch = Tensor::of<double>(std::vector<double>{1, -1, 2, 0, 0, 3, -5, 1, -1, -2, -3, -4}, {3, 2, 2});
  std::vector<Tensor> out = f({batch, Tensor::vector<int64_t>({0, 0, 1})});
  EXPECT_EQ(out[0].text(), "[[5.5, 0], [0.5, 5], [0.5, 0]]");
  auto probability = [](double mine, double other) { return 1 / (1 + std::exp(other - mine)); };
  EXPECT_DOUBLE_EQ(out[1].as_double(0), probability(5.5, 0));
  EXPECT_EQ(out[2].as_int(), 2);
  double loss = -(std::log(probability(5.5, 0)) + std::log(probability(0.5, 5)) + std::log(probability(0, 0.5))) / 3;
  EXPECT_NEAR(out[3].as_double(), loss, 1e-15);
}

TEST(Losses, PenaltiesLeaveBiasesOut) {
  Model model = small_model();
  model.load({{"hidden/W", Tensor::of(std::vector<double>{1, -2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}, {4, 3})},
              {"hidden/b", Tensor::vector({100.0, 100.0, 100.0})},
              {"out/W", Tensor::of(std::vector<double>{-1, 0, 0, 0, 0, 0}, {3, 2})},
              {"out/b", Tensor::vector({100.0, 100.0})}},
             "w.npz");
  Function f = function({}, {l1_penalty(model.params()), l2_penalty(model.params())}, {}, kReference);
  std::vector<Tensor> out = f(std::vector<Tensor>{});
  EXPECT_EQ(out[0].as_double(), 7);
  EXPECT_EQ(out[1].as_double(), 15);
  EXPECT_FALSE(l1_penalty({}).has_value());
}

TEST(Activations, ValuesAndKinks) {
  Expr x = vector("x", {3});
  Tensor at = Tensor::vector({-2.0, 0.0, 3.0});
  auto values = [&](const std::string& name) {
    Expr y = apply_activation(name, x);
    return function({x}, {Out(y)}, {}, kReference)({at})[0];
  };
  EXPECT_EQ(values("linear").text(), "[-2, 0, 3]");
  EXPECT_EQ(values("relu").text(), "[0, 0, 3]");
  EXPECT_EQ(values("tanh").as_double(2), std::tanh(3.0));
  EXPECT_DOUBLE_EQ(values("sigmoid").as_double(2), 1 / (1 + std::exp(-3.0)));
  EXPECT_DOUBLE_EQ(values("softplus").as_double(0), std::log1p(std::exp(-2.0)));
  at.data<double>()[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(values("relu").as_double(1)));
  EXPECT_EQ(error_text([&] { apply_activation("step", x); }),
            "error: there is no activation \"step\"\n"
            "  expected: linear, tanh, sigmoid, relu, softplus, elu, selu, gelu, gelu_tanh, leaky_relu, swish, "
            "hard_sigmoid, softsign, softmax");
}

TEST(Activations, ReluHasDerivative0At0) {
  Expr x = scalar("x");
  Function f = function({x}, {grad(apply_activation("relu", x), x)}, {}, kReference);
  for (auto [at, slope] : {std::pair(-1.0, 0.0), {0.0, 0.0}, {2.0, 1.0}})
    EXPECT_EQ(f({Tensor(at)})[0].as_double(), slope) << at;
}

TEST(ModelErrors, ALayerThatCannotTakeItsInput) {
  Model model({28, 28}, k64, 1);
  model.add(Activation::Options{{.name = "act"}, "tanh"});
  EXPECT_EQ(error_text([&] {
              model.add(Dense::Options{{.name = "hidden", .section = layer_section(12)}, 3});
            }),
            "error: layer hidden (dense) does not fit the layer before it\n"
            "  expected: one row of numbers for each example\n"
            "  got:      examples of shape [28, 28]\n"
            "  config:   a.toml:12:1\n"
            "     12 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     a flatten layer before it makes rows");
  EXPECT_EQ(error_text([&] {
              model.add(Softmax::Options{{.name = "out"}, 3});
            }),
            "error: layer out (softmax) does not fit the layer before it\n"
            "  expected: one row of numbers for each example\n"
            "  got:      examples of shape [28, 28]\n"
            "  hint:     a flatten layer before it makes rows");
}

TEST(ModelErrors, WeightsThatDoNotFitAreNamedTogether) {
  Model model = small_model();
  std::map<std::string, Tensor> before = weights_of(model), arrays = before;
  arrays.erase("hidden/b");
  arrays["hidden/W"] = Tensor::zeros(k64, {4, 2});
  arrays["out/W"] = Tensor::zeros(DType::kComplex64, {3, 2});
  arrays["out/b"] = Tensor::vector({0.0, std::numeric_limits<double>::quiet_NaN()});
  arrays["dense2/W"] = Tensor::zeros(DType::kFloat32, {7});
  EXPECT_EQ(error_text([&] {
              model.load(
                  arrays, "w.npz",
                  {.file = "a.toml", .line = 2, .column = 11, .length = 7, .source_line = "weights = \"w.npz\""});
            }),
            "error: w.npz: hidden/W does not fit the model\n"
            "  expected: float64[4, 3]\n"
            "  got:      float64[4, 2]\n"
            "  config:   a.toml:3:1\n"
            "      3 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "error: w.npz: there is no hidden/b\n"
            "  expected: hidden/W, hidden/b, out/W, out/b\n"
            "  got:      dense2/W, hidden/W, out/W, out/b\n"
            "  config:   a.toml:2:11\n"
            "      2 | weights = \"w.npz\"\n"
            "        |           ^^^^^^^\n"
            "error: w.npz: out/W does not fit the model\n"
            "  expected: float64[3, 2]\n"
            "  got:      complex64[3, 2]\n"
            "  config:   a.toml:7:1\n"
            "      7 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "error: w.npz: out/b holds values that are not finite\n"
            "  config:   a.toml:7:1\n"
            "      7 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "error: w.npz: the model has no dense2/W float32[7]\n"
            "  expected: hidden/W, hidden/b, out/W, out/b\n"
            "  config:   a.toml:2:11\n"
            "      2 | weights = \"w.npz\"\n"
            "        |           ^^^^^^^");
  for (const auto& [name, value] : weights_of(model)) EXPECT_TRUE(same_bits(value, before.at(name))) << name;
}

TEST(Model, LoadsWeightsOfAnotherDtype) {
  Model model = small_model(DType::kFloat32);
  std::map<std::string, Tensor> arrays = weights_of(model);
  arrays["hidden/W"] = Tensor::of(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {4, 3});
  model.load(arrays, "w.npz");
  EXPECT_EQ(model.params()[0].variable.get_value().text(), "[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]");
}

}  // namespace
}  // namespace thtrain
