// Models that are graphs: branches, sums, several inputs and outputs; layers that behave differently in training.
#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"
#include "nn/layers/activation.h"
#include "nn/layers/add.h"
#include "nn/layers/columns.h"
#include "nn/layers/concat.h"
#include "nn/layers/dense.h"
#include "nn/layers/flatten.h"
#include "nn/layers/maxout.h"
#include "nn/layers/prelu.h"
#include "nn/layers/softmax.h"
#include "nn/losses.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "tests/support/centre_layer.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"
#include "tests/support/model_support.h"

namespace thtrain {
namespace {

// ---- graphs ---------------------------------------------------------------------------------------------------------

std::map<std::string, Tensor> golden() {
  std::map<std::string, Tensor> out;
  for (const GoldenLine& line : golden_lines("graph_model.txt")) out[line.name] = line.result(k64);
  return out;
}

void expect_close(const Tensor& got, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got.as_double(i), expected.as_double(i), 1e-13) << what << i;
}

// The model of tests/golden/graph_model.py.
Model branches() {
  Model model({7}, k64, 1);
  model.add(Columns::Options{{.name = "left"}, 0, 4});
  model.add(Dense::Options{{.name = "hidden"}, 3, "tanh"});
  model.add(Columns::Options{{.name = "right", .inputs = {"x"}}, 4, 3});
  model.add(Maxout::Options{{.name = "pieces"}, 3});
  model.add(Add::Options{{.name = "sum", .inputs = {"hidden", "pieces", "hidden"}}});
  model.add(Prelu::Options{{.name = "bent"}});
  model.add(Concat::Options{{.name = "both", .inputs = {"bent", "right"}}});
  model.add(Dense::Options{{.name = "out"}, 2});
  model.add(Dense::Options{{.name = "side", .inputs = {"bent"}}, 1});
  return model;
}

TEST(GraphModel, GivesPyTorchsValuesAndGradients) {
  std::map<std::string, Tensor> expected = golden();
  Model model = branches();
  std::map<std::string, Tensor> weights;
  for (const Param& param : model.params()) weights[param.name] = expected.at(param.name);
  EXPECT_EQ(weights.size(), 9u);
  model.load(weights, "graph_model.txt");
  EXPECT_EQ(model.outputs(), (std::vector<std::string>{"out", "side"}));
  Expr x = tensor("x", {"n", 7}, k64);
  ModelPass pass = model.pass({x}, Phase::kTraining);
  Expr out = pass.output("out"), side = pass.output("side");
  Expr loss = mean(sqr(out)) + 3.0 * mean(pow(side, 3.0));
  std::vector<Out> outputs = {out, side, loss};
  for (const Expr& gradient : grad(loss, model.exprs())) outputs.emplace_back(gradient);
  for (Mode mode : {Mode::kReference, Mode::kNative}) {
    FunctionOptions options{.mode = mode};
    std::vector<Tensor> got = function({x}, outputs, {}, options)({expected.at("x")});
    expect_close(got[0], expected.at("out"), "out");
    expect_close(got[1], expected.at("side"), "side");
    expect_close(got[2], expected.at("loss"), "loss");
    for (size_t i = 0; i < model.params().size(); ++i)
      expect_close(got[3 + i], expected.at("grad/" + model.params()[i].name), model.params()[i].name);
  }
  EXPECT_TRUE(pass.updates().empty());
  EXPECT_EQ(&pass.output().node(), &side.node());  // the last layer, computed once
}

TEST(GraphModel, RegressionNeedsNoSoftmax) {
  Model model({2}, k64, 1);
  model.add(Dense::Options{{.name = "line"}, 1});
  model.load({{"line/W", Tensor::matrix<double>({{2}, {-1}})}, {"line/b", Tensor::vector({0.5})}}, "w.npz");
  Expr x = tensor("x", {3, 2}, k64);
  Function f = function({x}, {Out(model.output(x))}, {}, kReference);
  EXPECT_EQ(f({Tensor::matrix<double>({{1, 1}, {0, 0}, {2, 5}})})[0].text(), "[[1.5], [0.5], [-0.5]]");
  const std::string no_softmax =
      "error: logits and probabilities are those of a softmax layer\n"
      "  expected: a layer of type \"softmax\"\n"
      "  got:      layer line (dense)\n"
      "  hint:     model.add(Softmax::Options{{}, 10}) ends a classifier of 10 classes; output() is of any layer";
  EXPECT_EQ(text_without_node([&] { model.logits(x); }), no_softmax);
  EXPECT_EQ(text_without_node([&] { model.probabilities(x); }), no_softmax);
  EXPECT_EQ(text_without_node([&] { model.classes(); }), no_softmax);
}

TEST(GraphModel, SeveralInputsOfTheirOwn) {
  Model model = Model::with_inputs({{"image", {2, 2}}, {"age", {1}}}, k64, 1);
  model.add(Flatten::Options{{.name = "rows"}});
  model.add(Concat::Options{{.name = "all", .inputs = {"age", "rows"}}});
  Expr image = tensor("image", {1, 2, 2}, k64), age = tensor("age", {1, 1}, k64);
  ModelPass pass = model.pass({image, age}, Phase::kEvaluation);
  Function f = function({image, age}, {Out(pass.output())}, {}, kReference);
  EXPECT_EQ(
      f({Tensor::of<double>(std::vector<double>{1, 2, 3, 4}, {1, 2, 2}), Tensor::matrix<double>({{9}})})[0].text(),
      "[[9, 1, 2, 3, 4]]");
  EXPECT_EQ(model.layers()[1]->output_shape(), Shape{5});
  EXPECT_EQ(text_without_node([&] { model.output(image); }),
            "error: a model takes a value for each input\n  expected: 2: image, age\n  got:      1");
}

TEST(GraphModel, LayersWithoutANameAreCounted) {
  Model model({2}, k64, 1);
  model.add(Dense::Options{{}, 2});
  model.add(Dense::Options{{}, 2});
  model.add(Add::Options{{.inputs = {"dense1", "dense2"}}});
  EXPECT_EQ(join(model.layers(), " ", [](const auto& layer) { return layer->name(); }), "dense1 dense2 add1");
}

TEST(GraphModel, ConcatAlongAnotherAxis) {
  Model model({2, 2}, k64, 1);
  model.add(Activation::Options{{.name = "same"}});
  model.add(Concat::Options{{.name = "wide", .inputs = {"x", "same"}}, 1});
  Expr x = tensor("x", {1, 2, 2}, k64);
  Function f = function({x}, {Out(model.output(x))}, {}, kReference);
  EXPECT_EQ(f({Tensor::of<double>(std::vector<double>{1, 2, 3, 4}, {1, 2, 2})})[0].text(),
            "[[[1, 2, 1, 2], [3, 4, 3, 4]]]");
}

TEST(GraphModel, OneSlopeForAllElements) {
  Model model({2}, k64, 1);
  model.add(Prelu::Options{{.name = "bent"}, 0.5, true});
  EXPECT_EQ(model.params()[0].variable.type().text(), "float64[]");
  EXPECT_FALSE(model.params()[0].penalized);
  Expr x = tensor("x", {2, 2}, k64);
  Expr y = model.output(x);
  Function f = function({x}, {Out(y), Out(grad(sum(y), model.exprs())[0])}, {}, kReference);
  std::vector<Tensor> out = f({Tensor::matrix<double>({{1, -2}, {0, -6}})});
  EXPECT_EQ(out[0].text(), "[[1, -1], [0, -3]]");
  EXPECT_EQ(out[1].as_double(), -8);
}

TEST(GraphModel, ALayerThatIsNotTrainedSaysSo) {
  Model model({2}, k64, 1);
  model.add(Dense::Options{{.name = "kept", .trained = false}, 2});
  model.add(Softmax::Options{{.name = "out"}, 2});
  EXPECT_EQ(model.params().size(), 4u);
  EXPECT_EQ(join(model.trained_params(), " ", [](const Param& p) { return p.name; }), "out/W out/b");
}

// ---- errors ---------------------------------------------------------------------------------------------------------

TEST(GraphModelErrors, NamesOfInputs) {
  Model model({4}, k64, 1);
  model.add(Dense::Options{{.name = "hidden"}, 3});
  Section where = layer_section(5);
  where.given["inputs"] = {
      .file = "a.toml", .line = 7, .column = 10, .length = 9, .source_line = "inputs = [\"hiden\"]"};
  EXPECT_EQ(error_text([&] {
              model.add(Dense::Options{{.name = "next", .inputs = {"hiden"}, .section = where}, 3});
            }),
            "error: layer next (dense) takes \"hiden\", and there is no such layer\n"
            "  expected: x, hidden\n"
            "  config:   a.toml:7:10\n"
            "      7 | inputs = [\"hiden\"]\n"
            "        |          ^^^^^^^^^\n"
            "  hint:     did you mean hidden?");
  EXPECT_EQ(error_text([&] {
              model.add(Dense::Options{{.name = "next", .inputs = {"next"}}, 3});
            }),
            "error: layer next (dense) takes itself\n"
            "  expected: x, hidden\n"
            "  hint:     a layer takes what precedes it");
  EXPECT_EQ(error_text([&] {
              model.add(Dense::Options{{.name = "next", .inputs = {"x", "hidden"}}, 3});
            }),
            "error: layer next (dense) takes one input\n"
            "  expected: one name\n"
            "  got:      x, hidden\n"
            "  hint:     a layer of type \"concat\" or \"add\" makes one of them");
  EXPECT_EQ(error_text([&] { model.add(Add::Options{{.name = "sum"}}); }),
            "error: layer sum (add) takes several inputs\n"
            "  expected: two names or more\n"
            "  got:      none, which stands for hidden\n"
            "  hint:     inputs = [\"hidden\", \"the name of another layer\"]");
  EXPECT_EQ(error_text([&] {
              model.add(Dense::Options{{.name = "hidden"}, 3});
            }),
            "error: two layers are called hidden\n"
            "  expected: a name for each layer");
  EXPECT_EQ(model.layers().size(), 1u);
}

TEST(GraphModelErrors, ShapesThatDoNotFit) {
  Model model({2, 3}, k64, 1);
  model.add(Flatten::Options{{.name = "rows"}});
  model.add(Dense::Options{{.name = "hidden"}, 4});
  EXPECT_EQ(error_text([&] {
              model.add(Add::Options{{.name = "sum", .inputs = {"rows", "hidden"}, .section = layer_section(9)}});
            }),
            "error: layer sum (add) does not fit its inputs rows, hidden\n"
            "  expected: inputs of one shape\n"
            "  got:      rows [6], hidden [4]\n"
            "  config:   a.toml:9:1\n"
            "      9 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     a dense layer gives its input as many units as the other one has");
  EXPECT_EQ(error_text([&] {
              model.add(Concat::Options{{.name = "both", .inputs = {"x", "hidden"}}});
            }),
            "error: layer both (concat) does not fit its inputs x, hidden\n"
            "  expected: inputs that differ along axis 0 only\n"
            "  got:      x [2, 3], hidden [4]\n"
            "  hint:     a flatten layer makes rows of an input");
  EXPECT_EQ(error_text([&] {
              model.add(Concat::Options{{.name = "both", .inputs = {"rows", "hidden"}}, 1});
            }),
            "error: layer both (concat) does not fit its inputs rows, hidden\n"
            "  expected: inputs with an axis 1\n"
            "  got:      rows [6], hidden [4]\n"
            "  hint:     axes count from 0");
  EXPECT_EQ(error_text([&] {
              model.add(Dense::Options{{.name = "next", .inputs = {"x"}}, 4});
            }),
            "error: layer next (dense) does not fit its input x\n"
            "  expected: one row of numbers for each example\n"
            "  got:      examples of shape [2, 3]\n"
            "  hint:     a flatten layer before it makes rows");
  EXPECT_EQ(error_text([&] {
              model.add(Columns::Options{{.name = "some"}, 2, 3});
            }),
            "error: layer some (columns) does not fit the layer before it\n"
            "  expected: at least 2 + 3 numbers for each example\n"
            "  got:      examples of shape [4]\n"
            "  hint:     columns count from 0");
  EXPECT_EQ(error_text([&] { model.add(Softmax::Options{{.name = "out"}}); }),
            "error: layer out: the number of classes is not known\n"
            "  expected: units, or data with labels\n"
            "  hint:     values that are no classes are learned by a last layer of type \"dense\"");
}

// ---- phases and state -----------------------------------------------------------------------------------------------

Model centred() {
  Model model({2}, DType::kFloat32, 1);
  model.add(Centre::Options{{.name = "centre"}});
  model.add(Dense::Options{{.name = "out"}, 1});
  return model;
}

TEST(LayerState, TrainingChangesItAndEvaluationUsesIt) {
  Model model = centred();
  EXPECT_EQ(join(model.state(), " ", [](const Param& p) { return str(p.name, ' ', p.variable.type().text()); }),
            "centre/mean float64[2] centre/count int64[]");
  EXPECT_EQ(join(model.params(), " ", [](const Param& p) { return p.name; }), "out/W out/b");
  Expr x = tensor("x", {2, 2}, DType::kFloat32);
  ModelPass training = model.pass({x}, Phase::kTraining), evaluation = model.pass({x}, Phase::kEvaluation);
  Expr trained = training.output("centre"), evaluated = evaluation.output("centre");
  ASSERT_EQ(training.updates().size(), 2u);
  EXPECT_TRUE(evaluation.updates().empty());
  Function train = function({x}, {Out(trained)}, training.updates(), kReference);
  Function evaluate = function({x}, {Out(evaluated)}, {}, kReference);
  Tensor batch = Tensor::matrix<float>({{1, 4}, {3, 8}});
  EXPECT_EQ(evaluate({batch})[0].text(), "[[1, 4], [3, 8]]");
  EXPECT_EQ(train({batch})[0].text(), "[[-1, -2], [1, 2]]");
  EXPECT_EQ(evaluate({batch})[0].text(), "[[0.5, 2.5], [2.5, 6.5]]");
  train({batch});
  EXPECT_EQ(model.state()[0].variable.get_value().text(), "[0.875, 2.625]");
  EXPECT_EQ(model.state()[1].variable.get_value().as_int(), 2);
}

TEST(LayerState, LoadKeepsItsDtypes) {
  Model model = centred();
  constexpr int64_t kLarge = (int64_t{1} << 53) + 1;  // no double, and no float
  std::map<std::string, Tensor> arrays = {{"out/W", Tensor::matrix<float>({{1}, {2}})},
                                          {"out/b", Tensor::vector<float>({0})},
                                          {"centre/mean", Tensor::vector<double>({0.1, 0.2})},
                                          {"centre/count", Tensor(kLarge)}};
  model.load(arrays, "w.npz");
  EXPECT_EQ(model.state()[1].variable.get_value().as_int(), kLarge);
  EXPECT_EQ(model.state()[0].variable.get_value().as_double(0), 0.1);  // and not the float nearest to it
  arrays["centre/count"] = Tensor(3.0);
  arrays.erase("centre/mean");
  EXPECT_EQ(error_text([&] { model.load(arrays, "w.npz"); }),
            "error: w.npz: there is no centre/mean\n"
            "  expected: centre/count, centre/mean, out/W, out/b\n"
            "  got:      centre/count, out/W, out/b\n"
            "error: w.npz: centre/count does not fit the model\n"
            "  expected: int64[]\n"
            "  got:      float64[]");
  EXPECT_EQ(model.state()[1].variable.get_value().as_int(), kLarge);
}

// A layer that was not asked for changes nothing.
TEST(LayerState, UpdatesAreThoseOfTheLayersThatWereComputed) {
  Model model({2}, k64, 1);
  model.add(Centre::Options{{.name = "centre"}});
  model.add(Dense::Options{{.name = "other", .inputs = {"x"}}, 1});
  ModelPass pass = model.pass({tensor("x", {2, 2}, k64)}, Phase::kTraining);
  pass.output();
  EXPECT_TRUE(pass.updates().empty());
  pass.output("centre");
  EXPECT_EQ(pass.updates().size(), 2u);
}

}  // namespace
}  // namespace thtrain
