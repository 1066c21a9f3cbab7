// Small networks of images compared with PyTorch: values, gradients, and running averages after a step.
#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"
#include "nn/layers/add.h"
#include "nn/layers/batch_norm.h"
#include "nn/layers/conv.h"
#include "nn/layers/conv_transposed.h"
#include "nn/layers/dense.h"
#include "nn/layers/layer_norm.h"
#include "nn/layers/local_response_norm.h"
#include "nn/layers/pool.h"
#include "nn/layers/upsample.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "tests/support/dtypes.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

/// Of the network, without its prefix.
std::map<std::string, Tensor> golden(const std::string& network) {
  std::map<std::string, Tensor> out;
  for (const GoldenLine& line : golden_lines("convnets.txt"))
    if (line.name.starts_with(network + ":")) out[line.name.substr(network.size() + 1)] = line.result(k64);
  return out;
}

void expect_near(const Tensor& got, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got.as_double(i), expected.as_double(i), 1e-12) << what << i;
}

/// Gives the model the golden weights and what state it has; compares out, loss and gradients, in both modes, and what
/// state follows.
void expect_golden(Model& model, const std::map<std::string, Tensor>& expected) {
  std::map<std::string, Tensor> weights;
  for (const Param& param : model.params()) weights[param.name] = expected.at(param.name);
  for (const Param& state : model.state()) weights[state.name] = state.variable.get_value(false);
  model.load(weights, "convnets.txt");
  Dims dims = {"n"};
  for (int64_t length : model.input_shape()) dims.emplace_back(length);
  const Expr x = tensor("x", dims, k64);
  ModelPass pass = model.pass({x}, Phase::kTraining);
  const Expr out = pass.output(), loss = mean(pow(out, 3.0));
  std::vector<Out> outputs = {out, loss};
  for (const Expr& gradient : grad(loss, model.exprs())) outputs.emplace_back(gradient);
  for (const Update& update : pass.updates()) outputs.emplace_back(update.value);
  for (Mode mode : {Mode::kReference, Mode::kNative}) {
    const FunctionOptions options{.mode = mode};
    const std::vector<Tensor> got = function({x}, outputs, {}, options)({expected.at("x")});
    expect_near(got[0], expected.at("out"), "out");
    expect_near(got[1], expected.at("loss"), "loss");
    size_t i = 2;
    for (const Param& param : model.params()) expect_near(got[i++], expected.at("grad/" + param.name), param.name);
    for (const Param& state : model.state()) expect_near(got[i++], expected.at(state.name), state.name);
    EXPECT_EQ(i, got.size());
  }
}

TEST(Convnets, LeNetIsPyTorchs) {
  Model model({64}, k64, 1);
  model.add(Conv::Options{{.name = "maps"},
                          2,
                          {.size = {3}},
                          1,
                          /*flip=*/true,
                          "linear",
                          /*bias=*/false,
                          /*image_shape=*/{1, 8, 8}});
  Pool::Options pooled{{.name = "pooled"}};
  pooled.activation = "tanh";
  pooled.bias = true;
  model.add(pooled);
  Conv::Options more{{.name = "more"}, 4, {.size = {2, 2}}};
  more.activation = "relu";
  model.add(more);
  model.add(Dense::Options{{.name = "out"}, 2});
  EXPECT_EQ(model.layers()[1]->output_shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(model.layers()[2]->output_shape(), (Shape{4, 2, 2}));
  expect_golden(model, golden("lenet"));
}

TEST(Convnets, AResidualConnectionWithBatchNormalizationIsPyTorchs) {
  Model model({2, 5, 6}, k64, 1);
  Conv::Options maps{{.name = "maps"}, 4, {.size = {3}, .padding = {ImageWindow::kHalf}}};
  maps.bias = false;
  model.add(maps);
  model.add(BatchNorm::Options{{.name = "norm"}, 0.25, 1e-3, true, "relu"});
  model.add(Conv::Options{
      {.name = "second"}, 4, {.size = {3}, .stride = {2, 1}, .dilation = {1, 2}, .padding = {2, 0, 1, 3}}, 2});
  model.add(Conv::Options{{.name = "same", .inputs = {"norm"}}, 4, {.size = {1}, .stride = {2, 1}}});
  model.add(Add::Options{{.name = "sum", .inputs = {"second", "same"}}, "relu"});
  BatchNorm::Options last{{.name = "last"}};
  last.affine = false;
  last.activation = "relu";
  model.add(last);
  Pool::Options row{{.name = "row"}};
  row.global = true;
  row.mode = PoolMode::kAverage;
  model.add(row);
  EXPECT_EQ(model.layers()[4]->output_shape(), (Shape{4, 3, 6}));
  const std::map<std::string, Tensor> expected = golden("residual");
  expect_golden(model, expected);

  for (const Param& state : model.state()) state.variable.set_value(expected.at(state.name));
  const Expr x = tensor("x", {4, 2, 5, 6}, k64);
  const Expr evaluated = model.output(x);
  expect_near(function({x}, {Out(evaluated)})({expected.at("x")})[0], expected.at("evaluated"), "evaluated");
}

TEST(Convnets, ADecoderIsPyTorchs) {
  Model model({4, 2, 3}, k64, 1);
  model.add(
      ConvTransposed::Options{{.name = "wide"}, 2, {.size = {3, 2}, .stride = {2}, .padding = {1}}, /*groups=*/2});
  model.add(LocalResponseNorm::Options{{.name = "local"}, 3, 2, 0.5, 0.75});
  model.add(Upsample::Options{{.name = "large"}});
  model.add(LayerNorm::Options{{.name = "normed"}});
  Pool::Options out{{.name = "out"}};
  out.window = {.size = {3}, .stride = {2}, .padding = {1}};
  out.mode = PoolMode::kAveragePadded;
  model.add(out);
  EXPECT_EQ(model.layers()[0]->output_shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(model.layers()[2]->output_shape(), (Shape{2, 6, 8}));
  expect_golden(model, golden("decoder"));
}

}  // namespace
}  // namespace thtrain
