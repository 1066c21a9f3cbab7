// Models of sequences: which layers see steps and which see sequences, masks, and what does not fit together.
#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/runtime/function.h"
#include "nn/layers/add.h"
#include "nn/layers/dense.h"
#include "nn/layers/rnn.h"
#include "nn/layers/softmax.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "nn/objectives/squared_error.h"
#include "nn/sequences.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"
#include "tests/support/model_support.h"
#include "tests/support/modes.h"

namespace thtrain {
namespace {

Model model_of_sequences(Shape step = {3}) {
  return Model::with_inputs({{"x", std::move(step), true}}, k64, 1);
}

Rnn::Options rnn(int64_t units, RecurrentOutput output = RecurrentOutput::kAll) {
  Rnn::Options options;
  options.name = "rnn";
  options.units = units;
  options.output = output;
  options.section = layer_section(5);
  return options;
}

const Tensor& numbers() {
  static const Tensor out = Tensor::of(RandomState(7).normal(0, 1, 24), {2, 4, 3});
  return out;
}

// Layers that do not take sequences compute with each step as with an example of its own.
TEST(SequenceModel, OtherLayersSeeSteps) {
  Model model = model_of_sequences();
  model.add(Dense::Options{{.name = "dense"}, 2, "sigmoid"});
  Model rows({3}, k64, 1);
  rows.add(Dense::Options{{.name = "dense"}, 2, "sigmoid"});
  const Expr x = tensor("x", {"batch", "steps", 3}, k64), lengths = tensor("lengths", {"batch"}, DType::kInt64);
  const ModelOutput out = model.pass({x}, Phase::kEvaluation, lengths).model_output();
  EXPECT_TRUE(out.is_sequence);
  EXPECT_EQ(out.link, ModelOutput::Link::kSigmoid);
  EXPECT_EQ(out.steps.text(), "steps");
  const Expr expected = rows.output(rows_of_steps(time_major(x)));
  const std::vector<Tensor> got =
      in_all_modes({x, lengths}, {out.value, out.mask, expected}, {numbers(), Tensor::vector<int64_t>({4, 2})});
  EXPECT_EQ(got[0].shape(), (Shape{8, 2}));
  EXPECT_TRUE(same_bits(got[0], got[2]));
  EXPECT_EQ(got[1].text(), "[1, 1, 1, 1, 1, 0, 1, 0]");
}

TEST(SequenceModel, WithoutLengthsThereIsNoMask) {
  Model model = model_of_sequences();
  model.add(rnn(2));
  model.add(Softmax::Options{{.name = "out"}, 3});
  const ModelOutput out = model.pass({tensor("x", {2, 4, 3}, k64)}, Phase::kEvaluation).model_output();
  EXPECT_TRUE(out.is_sequence);
  EXPECT_FALSE(out.mask.has_value());
  EXPECT_EQ(out.link, ModelOutput::Link::kSoftmax);
  EXPECT_EQ(out.value.type().text(), "float64[8, 3]");
  EXPECT_EQ(out.logits.type().text(), "float64[8, 3]");
}

TEST(SequenceModel, TheLastOutputIsOneValueForASequence) {
  Model model = model_of_sequences();
  model.add(rnn(2, RecurrentOutput::kLast));
  model.add(Softmax::Options{{.name = "out"}, 3});
  ModelPass pass = model.pass({tensor("x", {2, 4, 3}, k64)}, Phase::kEvaluation);
  EXPECT_FALSE(pass.model_output("rnn").is_sequence);
  EXPECT_FALSE(pass.model_output().is_sequence);
  EXPECT_EQ(pass.output().type().text(), "float64[2, 3]");
}

TEST(SequenceModelErrors, WhatTakesSequencesIsGivenNone) {
  Model model({3}, k64, 1);
  EXPECT_EQ(error_text([&] { model.add(rnn(2)); }),
            "error: layer rnn (rnn) does not fit the layer before it\n"
            "  expected: sequences\n"
            "  got:      examples of shape [3]\n"
            "  config:   a.toml:5:1\n"
            "      5 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     data of sequences has steps along its second axis; a recurrent layer with output = \"all\" "
            "gives them");
}

// As the data has it, [batch, steps, ...], whatever the rows are that objectives read.
TEST(SequenceModelErrors, TargetsAreNamedByTheirSequences) {
  Model model = model_of_sequences();
  model.add(rnn(2));
  ModelPass pass = model.pass({tensor("x", {10, "steps", 3}, k64)}, Phase::kEvaluation);
  const ModelOutput out = pass.model_output();
  const Expr targets = rows_of_steps(time_major(tensor("y", {10, "steps", 5}, k64)));
  EXPECT_EQ(error_text([&] { SquaredError().cost(out, {.value = targets}); }),
            "error: objective \"squared_error\" cannot take these targets\n"
            "  expected: float64[10, steps, 2] (values)\n"
            "  got:      float64[10, steps, 5] for an output float64[10, steps, 2]");
}

TEST(SequenceModelErrors, ASequenceWithAnInputThatIsNone) {
  Model model = model_of_sequences();
  model.add(rnn(3, RecurrentOutput::kLast));
  EXPECT_EQ(error_text([&] {
              model.add(Add::Options{{.name = "sum", .inputs = {"x", "rnn"}, .section = layer_section(9)}});
            }),
            "error: layer sum (add) takes a sequence with an input that is none\n"
            "  expected: inputs that are all sequences, or none of them\n"
            "  got:      x, a sequence; rnn, none\n"
            "  config:   a.toml:9:1\n"
            "      9 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     a layer of type \"last_step\" or \"mean_steps\" makes one value of a sequence");
}

TEST(SequenceModelErrors, StepsThatAreNoRows) {
  Model model = model_of_sequences({28, 28});
  EXPECT_EQ(error_text([&] { model.add(rnn(2)); }),
            "error: layer rnn (rnn) does not fit the layer before it\n"
            "  expected: one row of numbers for each step\n"
            "  got:      steps of shape [28, 28]\n"
            "  config:   a.toml:5:1\n"
            "      5 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     a flatten layer before it makes a row of each step");
}

}  // namespace
}  // namespace thtrain
