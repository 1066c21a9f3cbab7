// What makes one value of a sequence, what makes numbers of symbols, and options that cannot be.
#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"
#include "nn/layers/bidirectional.h"
#include "nn/layers/embedding.h"
#include "nn/layers/gru.h"
#include "nn/layers/last_step.h"
#include "nn/layers/lstm.h"
#include "nn/layers/mean_steps.h"
#include "nn/layers/one_hot.h"
#include "nn/layers/rnn.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "nn/optimizers/adagrad.h"
#include "nn/optimizers/sgd.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"
#include "tests/support/model_support.h"
#include "tests/support/modes.h"

namespace thtrain {
namespace {

// ---- one value of a sequence ----------------------------------------------------------------------------------------

// x[i, t, k] = 100 i + 10 t + k, lengths 4 and 2.
Tensor counted() {
  Tensor out = Tensor::empty(k64, {2, 4, 2});
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t t = 0; t < 4; ++t)
      for (int64_t k = 0; k < 2; ++k)
        out.data<double>()[(i * 4 + t) * 2 + k] = static_cast<double>(100 * i + 10 * t + k);
  return out;
}

template <class L>
std::vector<std::string> texts_of_sequences() {
  Model model = Model::with_inputs({{"x", {2}, true}}, k64, 1);
  model.add(typename L::Options{{.name = "layer"}});
  const Expr x = tensor("x", {2, 4, 2}, k64), lengths = tensor("lengths", {2}, DType::kInt64);
  const Expr all = model.output(x), own = model.pass({x}, Phase::kEvaluation, lengths).output();
  const Tensor given = Tensor::vector<int64_t>({4, 2});
  std::vector<std::string> out;
  for (const Tensor& value : in_all_modes({x}, {all, grad(sum(all), x)}, {counted()})) out.push_back(value.text());
  for (const Tensor& value : in_all_modes({x, lengths}, {own, grad(sum(own), x)}, {counted(), given}))
    out.push_back(value.text());
  return out;
}

TEST(LastStep, IsThatOfEachSequence) {
  EXPECT_EQ(texts_of_sequences<LastStep>(),
            (std::vector<std::string>{
                "[[30, 31], [130, 131]]", "[[[0, 0], [0, 0], [0, 0], [1, 1]], [[0, 0], [0, 0], [0, 0], [1, 1]]]",
                "[[30, 31], [110, 111]]", "[[[0, 0], [0, 0], [0, 0], [1, 1]], [[0, 0], [1, 1], [0, 0], [0, 0]]]"}));
}

TEST(MeanSteps, IsThatOfEachSequence) {
  EXPECT_EQ(
      texts_of_sequences<MeanSteps>(),
      (std::vector<std::string>{
          "[[15, 16], [115, 116]]",
          "[[[0.25, 0.25], [0.25, 0.25], [0.25, 0.25], [0.25, 0.25]], "
          "[[0.25, 0.25], [0.25, 0.25], [0.25, 0.25], [0.25, 0.25]]]",
          "[[15, 16], [105, 106]]",
          "[[[0.25, 0.25], [0.25, 0.25], [0.25, 0.25], [0.25, 0.25]], [[0.5, 0.5], [0.5, 0.5], [0, 0], [0, 0]]]"}));
}

TEST(SequenceLayers, StepsOfAnyShape) {
  Model model = Model::with_inputs({{"x", {2, 3}, true}}, k64, 1);
  model.add(LastStep::Options{{.name = "last"}});
  model.add(MeanSteps::Options{{.name = "mean", .inputs = {"x"}}});
  const Expr x = tensor("x", {"batch", "steps", 2, 3}, k64), lengths = tensor("lengths", {"batch"}, DType::kInt64);
  ModelPass pass = model.pass({x}, Phase::kEvaluation, lengths);
  Tensor values = Tensor::empty(k64, {2, 2, 2, 3});
  for (int64_t i = 0; i < values.size(); ++i) values.data<double>()[i] = static_cast<double>(i);
  const std::vector<Tensor> got =
      in_all_modes({x, lengths}, {pass.output("last"), pass.output("mean")}, {values, Tensor::vector<int64_t>({2, 1})});
  EXPECT_EQ(got[0].text(), "[[[6, 7, 8], [9, 10, 11]], [[12, 13, 14], [15, 16, 17]]]");
  EXPECT_EQ(got[1].text(), "[[[3, 4, 5], [6, 7, 8]], [[12, 13, 14], [15, 16, 17]]]");
}

// ---- symbols --------------------------------------------------------------------------------------------------------

TEST(OneHot, OfSteps) {
  Model model = Model::with_inputs({{"x", {}, true}}, DType::kFloat32, 1, 3);
  model.add(OneHot::Options{{.name = "symbols"}});
  EXPECT_EQ(model.layers()[0]->output_shape(), (Shape{3}));
  const Expr x = tensor("x", {2, 2}, DType::kFloat32);
  const Tensor got = in_all_modes({x}, {model.output(x)}, {Tensor::matrix<float>({{2, 0}, {1, 2}})})[0];
  EXPECT_EQ(got.type_text(), "float32[4, 3]");
  EXPECT_EQ(got.text(), "[[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1]]");
}

TEST(Embedding, IsTheProductOfOneHotRows) {
  Model model({2, 1}, k64, 1);
  Embedding::Options options;
  options.name = "rows";
  options.units = 3;
  options.count = 4;
  model.add(options);
  EXPECT_EQ(model.layers()[0]->output_shape(), (Shape{2, 3}));
  model.load({{"rows/W", Tensor::matrix<double>({{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}})}}, "w.npz");
  const Expr x = tensor("x", {2, 2, 1}, DType::kInt32), y = model.output(x);
  const Tensor symbols = Tensor::of(std::vector<int32_t>{3, 1, 1, 0}, {2, 2, 1});
  const std::vector<Tensor> got = in_all_modes({x}, {y, grad(sum(sqr(y)), model.exprs()[0])}, {symbols});
  EXPECT_EQ(got[0].text(), "[[[9, 10, 11], [3, 4, 5]], [[3, 4, 5], [0, 1, 2]]]");
  EXPECT_EQ(got[1].text(), "[[0, 2, 4], [12, 16, 20], [0, 0, 0], [18, 20, 22]]");
}

TEST(Embedding, RefusesWhatIsNoSymbol) {
  Model model({}, k64, 1);
  Embedding::Options options;
  options.name = "rows";
  options.count = 4;
  model.add(options);
  const Expr x = tensor("x", {2}, k64);
  for (Mode mode : {Mode::kNative, Mode::kReference}) {
    Function f = function({x}, {Out(model.output(x))}, {}, {.mode = mode});
    f({Tensor::vector({0.0, 3.0})});
    for (double wrong : {4.0, -1.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
      const std::string text = error_text([&] { f({Tensor::vector({1.0, wrong})}); });
      EXPECT_EQ(text.substr(0, text.find('\n')), "error: check: symbols are integers from 0 to 3") << wrong;
    }
  }
}

// The update of a matrix of 100,000 rows adds to the rows that were read.
TEST(Embedding, SgdTouchesTheRowsThatWereRead) {
  Model model({}, k64, 1);
  Embedding::Options options;
  options.name = "rows";
  options.units = 4;
  options.count = 100000;
  options.init = {.law = Init::Law::kConstant, .value = 1};
  model.add(options);
  const Expr x = tensor("x", {3}, DType::kInt64);
  Sgd sgd(Sgd::Options(), model.params());
  Function f = function({x}, {}, sgd.updates(grad(sum(model.output(x)), model.exprs())));
  const std::string program = f.explain().program;
  EXPECT_NE(program.find("scatter  [sgd/rows/W]"), std::string::npos) << program;
  EXPECT_EQ(program.find("400000 float64"), program.rfind("400000 float64")) << program;  // rows/W alone
  f({Tensor::vector<int64_t>({7, 5, 7})});
  const Tensor w = model.params()[0].variable.get_value();
  for (int64_t i = 0; i < w.size(); ++i) {
    const double expected = i / 4 == 7 ? 1 - 0.02 : i / 4 == 5 ? 1 - 0.01 : 1;
    ASSERT_NEAR(w.as_double(i), expected, 1e-15) << i;
  }
}

// ---- options --------------------------------------------------------------------------------------------------------

template <class Options>
Options read(std::vector<std::pair<std::string, ConfigNode>> entries) {
  ConfigNode root;
  for (auto& [key, node] : entries) {
    node.key = key;
    root.children.push_back(node);
  }
  Findings findings;
  Options options = read_config<Options>(root, findings);
  findings.raise();
  return options;
}

ConfigNode word(const char* text) {
  return ConfigNode::of(std::string(text));
}
ConfigNode number(int64_t value) {
  return ConfigNode::of(value);
}

TEST(SequenceLayerOptions, AreReadFromAConfiguration) {
  const auto gru = read<Gru::Options>({{"units", number(3)},
                                       {"output", word("last")},
                                       {"recurrent_init", word("identity")},
                                       {"truncate", number(7)},
                                       {"reset_after", ConfigNode::of(false)}});
  EXPECT_EQ(gru.units, 3);
  EXPECT_EQ(gru.output, RecurrentOutput::kLast);
  EXPECT_EQ(gru.recurrent_init, RecurrentInit::kIdentity);
  EXPECT_EQ(gru.truncate, 7);
  EXPECT_FALSE(gru.reset_after);
  const auto both =
      read<Bidirectional::Options>({{"units", number(3)}, {"kind", word("rnn")}, {"activation", word("relu")}});
  EXPECT_EQ(both.kind, Bidirectional::OfKind::kRnn);
  EXPECT_EQ(both.activation, "relu");
}

TEST(SequenceLayerErrors, Options) {
  EXPECT_EQ(error_text([] {
              read<Lstm::Options>({{"units", number(0)}});
            }),
            "error: units is out of range\n"
            "  expected: an integer, at least 1 (outputs)\n"
            "  got:      0\n"
            "  hint:     units: number of outputs, which are also the state that is passed from step to step");
  EXPECT_EQ(error_text([] {
              read<Rnn::Options>({{"units", number(2)}, {"activation", word("tan")}});
            }),
            "error: activation has an unknown value\n"
            "  expected: one of \"linear\", \"tanh\", \"sigmoid\", \"relu\", \"softplus\", \"elu\", \"selu\", "
            "\"gelu\", \"gelu_tanh\", \"leaky_relu\", \"swish\", \"hard_sigmoid\", \"softsign\", \"softmax\"\n"
            "  got:      \"tan\"\n"
            "  hint:     did you mean \"tanh\"?");
  EXPECT_EQ(error_text([] {
              read<Rnn::Options>({{"units", number(2)}, {"truncate", number(0)}});
            }),
            "error: truncate is out of range\n"
            "  expected: an integer, at least 1 (steps)\n"
            "  got:      0\n"
            "  hint:     truncate: steps that gradients go back through, the last ones of a sequence. Not given: all");
  EXPECT_EQ(error_text([] {
              read<Lstm::Options>(
                  {{"units", number(2)}, {"bias", ConfigNode::of(false)}, {"forget_bias", ConfigNode::of(2.0)}});
            }),
            "error: forget_bias has no effect\n"
            "  expected: bias = true");
  EXPECT_EQ(error_text([] {
              read<Bidirectional::Options>({{"units", number(2)}, {"activation", word("relu")}});
            }),
            "error: activation has no effect\n"
            "  expected: kind = \"rnn\"");
}

TEST(SequenceLayerErrors, CarryNeedsTheSizeOfMinibatches) {
  Model model = Model::with_inputs({{"x", {3}, true}}, k64, 1);
  Rnn::Options options;
  options.name = "rnn";
  options.carry = true;
  options.section = layer_section(5);
  EXPECT_EQ(error_text([&] { model.add(options); }),
            "error: layer rnn (rnn) carries its state from one minibatch to the next, and their size is not known\n"
            "  expected: minibatches of one size\n"
            "  config:   a.toml:5:1\n"
            "      5 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     in a program, Model::set_batch gives it before layers are added");
}

TEST(SequenceLayerErrors, WhatIsNoSequence) {
  Model model({3}, k64, 1);
  EXPECT_EQ(error_text([&] { model.add(LastStep::Options{{.name = "last", .section = layer_section(5)}}); }),
            "error: layer last (last_step) does not fit the layer before it\n"
            "  expected: sequences\n"
            "  got:      examples of shape [3]\n"
            "  config:   a.toml:5:1\n"
            "      5 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     data of sequences has steps along its second axis; a recurrent layer with output = \"all\" "
            "gives them");
  EXPECT_EQ(error_text([&] { model.add(MeanSteps::Options{{.name = "mean", .section = layer_section(5)}}); }),
            "error: layer mean (mean_steps) does not fit the layer before it\n"
            "  expected: sequences\n"
            "  got:      examples of shape [3]\n"
            "  config:   a.toml:5:1\n"
            "      5 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     data of sequences has steps along its second axis; a recurrent layer with output = \"all\" "
            "gives them");
}

TEST(SequenceLayerErrors, HowManySymbolsThereAreIsNotKnown) {
  Model model({1}, k64, 1);
  EXPECT_EQ(error_text([&] { model.add(OneHot::Options{{.name = "symbols", .section = layer_section(5)}}); }),
            "error: layer symbols: the number of symbols is not known\n"
            "  expected: count, or data with classes\n"
            "  config:   a.toml:5:1\n"
            "      5 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^");
}

}  // namespace
}  // namespace thtrain
