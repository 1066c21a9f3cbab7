// An RNN-RBM compared with PyTorch's and NumPy's numbers (tests/golden/rnn_rbm.py): biases, energies, gradients,
// learning, and sequences that are drawn.
#include "nn/layers/rnn_rbm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "nn/noise.h"
#include "nn/objectives/contrastive_divergence.h"
#include "tests/support/dtypes.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"
#include "tests/support/model_support.h"
#include "tests/support/modes.h"

namespace thtrain {
namespace {

const std::map<std::string, Tensor>& rnn_rbm_golden() {
  static const std::map<std::string, Tensor> lines = [] {
    std::map<std::string, Tensor> out;
    for (const GoldenLine& line : golden_lines("rnn_rbm.txt"))
      out[line.name] = line.result(line.name.ends_with("_random") ? DType::kInt32 : k64);
    return out;
  }();
  return lines;
}

Model empty_model(bool is_sequence = true) {
  return Model::with_inputs({{"x", {5}, is_sequence}}, k64, 1);
}

RnnRbm::Options options(int64_t units = 4, int64_t recurrent_units = 3) {
  RnnRbm::Options out{{.name = "layer"}, units, recurrent_units};
  out.section = layer_section(5);
  return out;
}

Model golden_model() {
  Model out = empty_model();
  out.add(options());
  std::map<std::string, Tensor> arrays;
  for (const char* name : {"W", "a", "b", "W_uh", "W_uv", "W_vu", "W_uu", "b_u", "visible_random", "hidden_random"})
    arrays[str("layer/", name)] = rnn_rbm_golden().at(name);
  out.load(arrays, "rnn_rbm.txt");
  return out;
}

const RnnRbm& layer_of(const Model& model) {
  return dynamic_cast<const RnnRbm&>(*model.layers().back());
}

void expect_near(const Tensor& got, const std::string& name, double bound = 1e-12) {
  const Tensor& expected = rnn_rbm_golden().at(name);
  ASSERT_EQ(got.shape(), expected.shape()) << name;
  for (int64_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got.as_double(i), expected.as_double(i), bound) << name << i;
}

// x of a length that the data decides, and its sequences' lengths; "full": all have 4 steps, without a mask.
struct SequenceCase {
  Expr x, lengths;
  std::vector<Expr> inputs;
  std::vector<Tensor> values;
};

SequenceCase case_of(const std::string& name) {
  SequenceCase out;
  out.x = tensor("x", {3, name == "full" ? Dim(4) : Dim("steps"), 5}, k64);
  out.inputs = {out.x};
  out.values = {rnn_rbm_golden().at("x")};
  if (name == "full") return out;
  out.lengths = tensor("lengths", {3}, DType::kInt64);
  out.inputs.push_back(out.lengths);
  out.values.push_back(Tensor::vector<int64_t>({4, 2, 3}));
  return out;
}

ModelOutput output_of(const Model& model, const SequenceCase& of, Phase phase = Phase::kEvaluation) {
  return model.pass({of.x}, phase, of.lengths).model_output();
}

TEST(RnnRbmLayer, BiasesComeFromTheStepsBefore) {
  const Model model = golden_model();
  const SequenceCase full = case_of("full"), packed = case_of("packed");
  const ModelOutput out = output_of(model, full);
  EXPECT_TRUE(out.is_sequence);
  const BoltzmannMachine machine = layer_of(model).machine(out);
  const std::vector<Tensor> got = in_all_modes(full.inputs, {machine.a, machine.b, out.value}, full.values);
  expect_near(got[0], "a_t");
  expect_near(got[1], "b_t");
  expect_near(got[2], "hidden");
  const BoltzmannMachine of_packed = layer_of(model).machine(output_of(model, packed));
  const std::vector<Tensor> masked = in_all_modes(packed.inputs, {of_packed.a, of_packed.b}, packed.values);
  expect_near(masked[0], "packed/a_t");
  expect_near(masked[1], "packed/b_t");
}

TEST(RnnRbmLayer, EnergiesAreThoseOfAllHiddenStates) {
  const Model model = golden_model();
  const SequenceCase full = case_of("full");
  const ModelOutput out = output_of(model, full);
  const ExampleLosses losses = ContrastiveDivergence().losses(out, {});
  const std::vector<Tensor> got = in_all_modes(
      full.inputs, {layer_of(model).machine(out).free_energy(out.inputs.at(0)), -losses.values}, full.values);
  expect_near(got[0], "free_energy");
  expect_near(got[1], "pseudo");
}

// What a minibatch has behind a sequence's end changes nothing before it, and no gradient.
TEST(RnnRbmLayer, GradientsGoBackThroughTheSteps) {
  const Model model = golden_model();
  const Expr end = make_constant(rnn_rbm_golden().at("end"));
  for (const char* name : {"full", "packed"}) {
    const SequenceCase of = case_of(name);
    const ModelOutput out = output_of(model, of);
    const BoltzmannMachine machine = layer_of(model).machine(out);
    const Expr rows = machine.free_energy(out.inputs.at(0)) - machine.free_energy(end);
    const Expr cost = out.mask.has_value() ? sum(rows * out.mask) / sum(out.mask) : mean(rows);
    const std::vector<Expr> gradients = grad(cost, model.exprs());
    const std::vector<Tensor> got = in_all_modes(of.inputs, gradients, of.values);
    for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], name + model.params()[i].name.substr(5));
    if (!out.mask.has_value()) continue;
    std::vector<Tensor> changed = of.values;
    changed[0] = changed[0].copy();
    for (int64_t step : {2, 3})
      for (int64_t k = 0; k < 5; ++k) changed[0].data<double>()[(4 + step) * 5 + k] = 7;
    const std::vector<Tensor> again = in_all_modes(of.inputs, gradients, changed);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], again[i])) << model.params()[i].name;
  }
}

TEST(RnnRbmLayer, LearnsAsNumPy) {
  for (const char* name : {"full", "packed"})
    for (Mode mode : {Mode::kReference, Mode::kNative}) {
      SCOPED_TRACE(str(name, mode == Mode::kNative ? " native" : " reference"));
      const Model model = golden_model();
      const SequenceCase of = case_of(name);
      ContrastiveDivergence::Options options;
      options.k = 2;
      ContrastiveDivergence objective(options);
      const ObjectiveStep step =
          objective.step({of.x, output_of(model, of, Phase::kTraining), {}, model.trained_params()});
      std::vector<Update> updates = step.updates;
      for (size_t i = 0; i < step.gradients->size(); ++i)
        updates.push_back({model.exprs()[i], model.exprs()[i] - 0.1 * step.gradients->at(i)});
      Function f = function({of.inputs.begin(), of.inputs.end()}, {step.cost}, updates, {.mode = mode});
      const std::string prefix = str(name, "/cd2/");
      for (int64_t t = 0; t < 3; ++t)
        EXPECT_NEAR(f(of.values)[0].as_double(), rnn_rbm_golden().at(prefix + "shown").as_double(t), 1e-12) << t;
      for (const Param& param : model.params()) expect_near(param.variable.get_value(), prefix + param.name.substr(6));
      for (const Param& state : model.state()) expect_near(state.variable.get_value(), prefix + state.name.substr(6));
      ASSERT_EQ(objective.state().size(), 1u);
      EXPECT_EQ(objective.state()[0].second.get_value().as_int(), 3 * 12 % 5) << "12 rows a step, 5 units";
    }
}

TEST(RnnRbmLayer, GeneratesAsNumPy) {
  const Model model = golden_model();
  const RnnRbm& layer = layer_of(model);
  const Expr steps = tensor("steps", {}, DType::kInt64);
  const GeneratedSequences out = layer.generate(steps, 2, 3, layer.visible_random(), layer.hidden_random());
  const std::vector<Tensor> got =
      in_all_modes({steps}, {out.visible, out.visible_random, out.hidden_random}, {Tensor(int64_t{6})});
  expect_near(got[0], "generated", 0);
  expect_near(got[1], "generated/visible_random", 0);
  expect_near(got[2], "generated/hidden_random", 0);
}

// Of small weights, which leave the chains of one unit of each kind nothing to mix: shares of a long sequence are the
// machine's, which follow from its four states.
TEST(RnnRbmLayer, GeneratedStepsHaveTheProbabilitiesOfTheirMachine) {
  constexpr int64_t kSequences = 20000;
  Model model = Model::with_inputs({{"x", {1}, true}}, k64, 3);
  model.add(options(1, 1));
  const std::map<std::string, double> weights = {{"W", 0.8},    {"a", -0.3},   {"b", 0.2},    {"W_uh", 0.9},
                                                 {"W_uv", 1.5}, {"W_vu", 2.0}, {"W_uu", 0.5}, {"b_u", -0.7}};
  for (const Param& param : model.params())
    param.variable.set_value(Tensor(weights.at(param.name.substr(6))).reshape(param.variable.type().known_shape()));
  const RnnRbm& layer = layer_of(model);
  const GeneratedSequences out =
      layer.generate(make_constant(Tensor(int64_t{2})), kSequences, 20, layer.visible_random(), layer.hidden_random());
  const Tensor v = function({}, {out.visible}, {}, {})({})[0];
  auto share = [](double a, double b, double w) {  // of v = 1
    const double one = std::exp(a) * (1 + std::exp(b + w));
    return one / (one + 1 + std::exp(b));
  };
  double first = 0, second[2] = {}, count[2] = {};
  for (int64_t i = 0; i < kSequences; ++i) {
    const auto before = static_cast<size_t>(v.as_double(i));
    first += v.as_double(i) / kSequences;
    second[before] += v.as_double(kSequences + i);
    ++count[before];
  }
  EXPECT_NEAR(first, share(-0.3, 0.2, 0.8), 0.02);
  for (size_t before : {0u, 1u}) {
    const double u = std::tanh(-0.7 + 2.0 * static_cast<double>(before));
    EXPECT_NEAR(second[before] / count[before], share(-0.3 + 1.5 * u, 0.2 + 0.9 * u, 0.8), 0.03) << before;
  }
}

TEST(RnnRbmLayer, StartsAsTheTutorials) {
  Model model = Model::with_inputs({{"x", {88}, true}}, k64, 48879);
  RnnRbm::Options o = options(150, 100);
  model.add(o);
  RandomState random(48879);
  auto expect_normal = [&](size_t param, double deviation) {
    const Tensor w = model.params()[param].variable.get_value();
    const std::vector<double> expected = random.normal(0, deviation, w.size());
    for (int64_t i = 0; i < w.size(); ++i) ASSERT_DOUBLE_EQ(w.as_double(i), expected[static_cast<size_t>(i)]) << i;
  };
  EXPECT_EQ(join(model.params(), " ", [](const Param& p) { return p.name + p.variable.type().text(); }),
            "layer/Wfloat64[88, 150] layer/bfloat64[150] layer/afloat64[88] layer/W_uhfloat64[100, 150] "
            "layer/W_uvfloat64[100, 88] layer/W_vufloat64[88, 100] layer/W_uufloat64[100, 100] layer/b_ufloat64[100]");
  expect_normal(0, 0.01);
  for (size_t param : {3, 4, 5, 6}) expect_normal(param, 0.0001);
  EXPECT_TRUE(same_bits(model.state()[0].variable.get_value(), mrg_state_of(random, 88)));
  EXPECT_TRUE(same_bits(model.state()[1].variable.get_value(), mrg_state_of(random, 150)));
}

TEST(RnnRbmLayer, RefusesWhatIsNoSequence) {
  Model model = empty_model(false);
  EXPECT_EQ(
      text_without_node([&] { model.add(options()); }),
      "error: layer layer (rnn_rbm) does not fit the layer before it\n"
      "  expected: sequences\n"
      "  got:      examples of shape [5]\n"
      "  config:   a.toml:5:1\n"
      "      5 | [[model.layers]]\n"
      "        | ^^^^^^^^^^^^^^^^\n"
      "  hint:     data of sequences has steps along its second axis; a recurrent layer with output = \"all\" gives "
      "them");
}

TEST(RnnRbmLayer, RefusesPersistentChains) {
  const Model model = golden_model();
  ContrastiveDivergence::Options persistent;
  persistent.persistent = true;
  persistent.position = layer_section(9).position;
  const SequenceCase full = case_of("full");
  const ModelOutput out = output_of(model, full, Phase::kTraining);
  auto step = [&] { ContrastiveDivergence(persistent).step({full.x, out, {}, model.trained_params()}); };
  EXPECT_EQ(text_without_node(step),
            "error: objective \"contrastive_divergence\" cannot read the output of the model\n"
            "  expected: that of an rbm layer, for persistent chains\n"
            "  got:      that of layer, of type rnn_rbm\n"
            "  config:   a.toml:9:1\n"
            "      9 | [[model.layers]]\n"
            "        | ^^^^^^^^^^^^^^^^\n"
            "  hint:     persistent = false begins chains at the examples: the machines of layer are others in each "
            "minibatch");
}

}  // namespace
}  // namespace thtrain
