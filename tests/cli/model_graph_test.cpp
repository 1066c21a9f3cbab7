// Models with branches, written in TOML: several inputs in a row of numbers, a residual block, several outputs.
#include <gtest/gtest.h>

#include "cli/toml_config.h"
#include "compiler/ir/variables.h"
#include "compiler/runtime/function.h"
#include "nn/losses.h"
#include "nn/model_pass.h"
#include "trainers/build_model.h"

namespace thtrain {
namespace {

const char* const kTwoHeads = R"(
[data]
source = "digits"

[[model.layers]]
name = "left"
type = "columns"
count = 392

[[model.layers]]
name = "of_left"
type = "dense"
units = 4
activation = "tanh"

[[model.layers]]
name = "right"
type = "columns"
inputs = ["x"]
first = 392
count = 392

[[model.layers]]
name = "of_right"
type = "maxout"
units = 4

[[model.layers]]
type = "add"
inputs = ["of_left", "of_right"]

[[model.layers]]
name = "first"
type = "softmax"
units = 10

[[model.layers]]
type = "concat"
inputs = ["add1", "of_left"]

[[model.layers]]
type = "softmax"

[compiler]
floatX = "float64"
)";

TEST(ModelGraph, SeveralInputsAndOutputsInToml) {
  Findings findings;
  Experiment experiment = read_experiment(parse_toml(kTwoHeads, "e.toml", findings), findings);
  findings.raise();
  const ModelInput input = model_input(experiment, {28, 28});
  EXPECT_EQ(input.shape, Shape{784});  // columns takes rows
  Model model = build_model(experiment, input, 10);
  EXPECT_EQ(model.outputs(), (std::vector<std::string>{"first", "softmax"}));
  EXPECT_EQ(join(model.layers(), " ", [](const auto& l) { return str(l->name(), shape_text(l->output_shape())); }),
            "left[392] of_left[4] right[392] of_right[4] add1[4] first[10] concat1[8] softmax[10]");
  Expr x = tensor("x", {"n", 784}, DType::kFloat64);
  ModelPass pass = model.pass({x}, Phase::kEvaluation);
  Function f = function({x}, {pass.output("first"), pass.output("softmax"), pass.logits("first")}, {},
                        {.mode = Mode::kReference});
  std::vector<Tensor> out = f({Tensor::zeros(DType::kFloat64, {3, 784})});
  for (const Tensor& value : out) EXPECT_EQ(value.shape(), (Shape{3, 10}));
  for (size_t i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(out[i].as_double(0), 0.1);  // weights of softmax start at 0
}

// Names and types are printed with every layer, so that a run folder's experiment reads back as the same graph.
TEST(ModelGraph, ReadsBackTheSame) {
  Findings findings;
  Experiment experiment = read_experiment(parse_toml(kTwoHeads, "e.toml", findings), findings);
  std::string text = resolved_toml(experiment);
  Experiment again = read_experiment(parse_toml(text, "resolved.toml", findings), findings);
  findings.raise();
  EXPECT_EQ(resolved_toml(again), text);
  EXPECT_NE(text.find("name = \"add1\"\ninputs = [\"of_left\", \"of_right\"]\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace thtrain
