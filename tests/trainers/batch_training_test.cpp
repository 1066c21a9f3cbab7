// Batch methods in whole runs: an epoch is an iteration over all training examples, whatever the chunks are.
#include "trainers/batch_training.h"

#include <atomic>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "nn/batch_methods/conjugate_gradient.h"
#include "nn/batch_methods/lbfgs.h"
#include "nn/batch_objective.h"
#include "nn/losses.h"
#include "nn/model.h"
#include "tests/support/centre_layer.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/program.h"

namespace thtrain {
namespace {

const char* const kMethods[] = {"conjugate_gradient", "lbfgs"};

OneOf<OptimizerOptions> method_named(const std::string& name) {
  if (name == "lbfgs") return BatchMethodKind<Lbfgs>();
  return BatchMethodKind<ConjugateGradient>();
}

// 200 digits; 200 = 6 * 32 + 8.
Experiment experiment(const std::string& method) {
  Experiment out = small_experiment();
  out.trainer.optimizer = method_named(method);
  out.trainer.batch_size = 32;
  out.trainer.epochs = 6;
  out.compiler.mode = CompilerConfig::Mode::kReference;
  out.compiler.floatX = DType::kFloat64;
  return out;
}

struct Done {
  TrainSummary summary;
  std::vector<EpochReport> epochs;
  Checkpoint end;
};
Done trained(const Experiment& e, const Dataset& data) {
  TemporaryFolder temporary;
  Done out;
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  out.summary = train(e, data, folder, {.on_epoch = [&](const EpochReport& r) { out.epochs.push_back(r); }});
  out.end = read_checkpoint(folder.checkpoint());
  return out;
}

// The method alone, on one function of all examples.
TEST(BatchTraining, TakesTheStepsOfTheMethodAlone) {
  for (const std::string name : kMethods) {
    Experiment e = experiment(name);
    Dataset data = load_data(e, "");
    const Batch all = data.train.all(DType::kFloat64);
    Model model({784}, DType::kFloat64, e.seed, 10);
    for (const auto& layer : e.model.layers) model.add(layer);
    Expr x = tensor("x", {200, 784}, DType::kFloat64), y = tensor("y", {200}, DType::kInt64);
    Expr cost = negative_log_likelihood(model.logits(x), y) + e.loss.l2 * l2_penalty(model.params());
    BatchObjective objective(model.params(), cost, {x, y}, {.mode = Mode::kReference});
    auto method = e.trainer.optimizer->batch_method()->method_from(objective.start());
    const ValueAndGradient f = objective.at({all.x.reshape({200, 784}), all.y});
    Done done = trained(e, data);
    ASSERT_EQ(done.epochs.size(), 6u);
    for (const EpochReport& epoch : done.epochs) {
      const int64_t before = method->evaluations();
      method->iterate(f);
      EXPECT_NEAR(epoch.train_loss, method->value(), 1e-9 * method->value()) << name << " " << epoch.epoch;
      EXPECT_EQ(epoch.evaluations, method->evaluations() - before) << name << " " << epoch.epoch;
    }
    EXPECT_EQ(done.summary.evaluations, method->evaluations());
    EXPECT_LT(done.epochs[5].train_loss, 0.7 * done.epochs[0].train_loss);
  }
}

// The last short chunk counts as what it is, in every way to cut the examples, with weights and without.
TEST(BatchTraining, TheLossIsThatOfAllExamplesWhateverTheChunks) {
  Experiment e = experiment("lbfgs");
  e.trainer.epochs = 2;
  Dataset plain = load_data(e, ""), weighted = plain;
  Tensor weights = Tensor::zeros(DType::kFloat64, {200});
  for (int64_t i = 0; i < 200; ++i) weights.data<double>()[i] = static_cast<double>(i % 7);
  weighted.train.set_weights({.raw = weights, .origin = "w.npy"});
  for (const Dataset& data : {plain, weighted})
    for (const bool of_classes : {false, true}) {
      Experiment whole = e;
      if (of_classes) whole.loss.class_weights = {1, 2, 3, 1, 0, 1, 5, 1, 1, 2};
      whole.trainer.batch_size = 200;
      whole.trainer.full_batches_only = false;
      const double expected = trained(whole, data).epochs[1].train_loss;
      for (int64_t size : {7, 32, 199, 5000})
        for (bool full_only : {false, true}) {
          Experiment cut = whole;
          cut.trainer.batch_size = size;
          cut.trainer.full_batches_only = full_only;
          if (full_only && size > 40) continue;  // more than there are to validate and to test
          EXPECT_NEAR(trained(cut, data).epochs[1].train_loss, expected, 1e-10) << size << " " << of_classes;
        }
    }
}

// Stopped after every iteration, and resumed.
TEST(BatchTraining, GoesOnToTheSameBits) {
  for (const std::string name : kMethods) {
    Experiment e = experiment(name);
    e.compiler.floatX = DType::kFloat32;
    TemporaryFolder temporary;
    Dataset data = load_data(e, "");
    Done whole = trained(e, data);
    RunFolder folder = RunFolder::create(temporary.path("parts"), e);
    std::atomic<int> stop{1};
    TrainSummary summary = train(e, data, folder, {}, {.stop = &stop});
    int parts = 1;
    for (; summary.interrupted && parts < 50; ++parts) {
      RunFolder again = RunFolder::open(folder.path());
      summary = resume(e, data, again, {}, {.stop = &stop});
    }
    EXPECT_EQ(parts, 6);
    const Checkpoint end = read_checkpoint(folder.checkpoint());
    expect_same(whole.end.weights, end.weights);
    expect_same(whole.end.optimizer, end.optimizer);
    expect_same(whole.end.best, end.best);
    EXPECT_EQ(whole.end.state.monitor, end.state.monitor);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(whole.end.state.history[i].train_loss, end.state.history[i].train_loss);
      EXPECT_EQ(whole.end.state.history[i].evaluations, end.state.history[i].evaluations);
    }
    const std::string more = name == "lbfgs" ? "steps lbfgs/changes lbfgs/learned" : "direction";
    EXPECT_EQ(join(end.optimizer, " ", [](const auto& entry) { return entry.first; }),
              str(name, "/x ", name, "/gradient ", name, "/counts ", name, "/", more));
  }
}

// What ends a process within an iteration leaves the checkpoint before it: from what that holds, the iteration is
// repeated.
TEST(BatchTraining, AnIterationThatWasBrokenOffIsRepeatedToTheSameBits) {
  struct Killed {};
  auto kept = [](TrainingProgram& program) {
    NamedArrays out;
    for (const NamedState& state : {program.weights(), program.step_state()})
      for (const auto& [name, variable] : state) out.emplace_back(name, variable.get_value());
    return out;
  };
  for (const std::string name : kMethods)
    for (int64_t chunk : {1, 8, 13}) {  // an evaluation has seven
      const Experiment e = experiment(name);
      const Dataset data = load_data(e, "");
      TrainingProgram whole(e, data, ""), broken(e, data, ""), next(e, data, "");
      for (int i = 0; i < 5; ++i) whole.step(0);
      for (int i = 0; i < 2; ++i) broken.step(0);
      const NamedArrays checkpoint = kept(broken);
      int64_t done = 0;
      broken.on_chunk([&](const TrainingProgram::ChunkProgress&) {
        if (++done == chunk) throw Killed();
      });
      auto go_on = [&] {
        for (;;) broken.step(0);
      };
      EXPECT_THROW(go_on(), Killed);
      size_t location = 0;
      for (const NamedState& state : {next.weights(), next.step_state()})
        for (const auto& [key, variable] : state) variable.set_value(checkpoint.at(location++).second);
      for (int i = 0; i < 3; ++i) next.step(0);
      expect_same(kept(whole), kept(next));
    }
}

TEST(BatchTraining, EndsByItself) {
  Experiment e = experiment("lbfgs");
  BatchMethodKind<Lbfgs> options;
  options.gradient_tolerance = 0.05;
  e.trainer.optimizer = options;
  e.trainer.epochs = 500;
  Dataset data = load_data(e, "");
  Done done = trained(e, data);
  EXPECT_EQ(done.summary.converged, "the largest element of the gradient is at most gradient_tolerance");
  EXPECT_FALSE(done.summary.stopped_early);
  EXPECT_LT(done.summary.epochs, 100);
  EXPECT_EQ(done.summary.epochs, static_cast<int64_t>(done.epochs.size()));
  options.value_tolerance = 0.01;
  options.gradient_tolerance = 0;
  e.trainer.optimizer = options;
  EXPECT_EQ(trained(e, data).summary.converged, "the last iteration changed the loss by at most value_tolerance");

  // The patience counts iterations.
  e = experiment("lbfgs");
  e.trainer.patience = 4;
  e.trainer.improvement_threshold = 0;
  e.trainer.epochs = 50;
  done = trained(e, data);
  EXPECT_TRUE(done.summary.stopped_early);
  EXPECT_EQ(done.summary.converged, "");
  EXPECT_EQ(done.summary.epochs, 5);
}

TEST(BatchTraining, ARunThatConvergedStaysOver) {
  Experiment e = experiment("lbfgs");
  BatchMethodKind<Lbfgs> options;
  options.gradient_tolerance = 0.05;
  e.trainer.optimizer = options;
  e.trainer.epochs = 500;
  TemporaryFolder temporary;
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  TrainSummary first = train(e, data, folder);
  bool is_over = false;
  RunFolder again = RunFolder::open(folder.path());
  TrainSummary second =
      resume(e, data, again, {.on_resume = [&](const ResumePoint& point) { is_over = point.is_over; }});
  EXPECT_TRUE(is_over);
  EXPECT_EQ(second.steps, first.steps);
  EXPECT_EQ(second.converged, first.converged);
}

TEST(BatchTraining, TheCheckComputesOneChunk) {
  Experiment e = experiment("lbfgs");
  Dataset data = load_data(e, "");
  CheckReport report = check_experiment(e, data, "");
  EXPECT_NEAR(report.loss, std::log(10.0), 0.5);
  EXPECT_EQ(report.model.batches, 7);
  const Explanation shown = explain_training(e, data, "");
  EXPECT_NE(shown.graph.find("gradient_sum/hidden/W"), std::string::npos) << shown.graph;
}

TEST(BatchTraining, LayersThatChangeWithEachMinibatchAreRefused) {
  Experiment e = experiment("lbfgs");
  e.model.layers.insert(e.model.layers.begin(), Centre::Options{{.name = "centre"}});
  EXPECT_EQ(error_text([&] { check_experiment(e, load_data(e, ""), ""); }),
            "error: trainer.optimizer = \"lbfgs\" cannot train the layer centre\n"
            "  expected: layers that give the same for the same examples\n"
            "  got:      a layer centre that changes centre/mean with each minibatch\n"
            "  hint:     optimizers that take a step for each minibatch can, such as sgd and adam");
}

struct OwnGradients : NegativeLogLikelihood {
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "own_gradients";
    std::unique_ptr<Objective> make() const override { return std::make_unique<OwnGradients>(); }
    static void describe(Fields<Options>& f) { f.about("Gradients of its own."); }
  };
  ObjectiveStep step(const ObjectiveInput& input) override {
    ObjectiveStep out{.cost = cost(input.output, input.targets)};
    out.gradients.emplace();
    for (const Param& param : input.params) out.gradients->push_back(param.expr());
    return out;
  }
};

TEST(BatchTraining, ObjectivesWithGradientsOfTheirOwnAreRefused) {
  Experiment e = experiment("conjugate_gradient");
  e.loss.objective = OwnGradients::Options();
  EXPECT_EQ(error_text([&] { check_experiment(e, load_data(e, ""), ""); }),
            "error: trainer.optimizer = \"conjugate_gradient\" cannot train by the objective negative_log_likelihood\n"
            "  expected: an objective whose gradient is that of its cost\n"
            "  got:      one with updates of its own\n"
            "  hint:     optimizers that take a step for each minibatch can, such as sgd and adam");
}

TEST(BatchTraining, ALossThatIsNotFiniteNamesItsChunk) {
  Experiment e = experiment("conjugate_gradient");
  Dataset data = load_data(e, "");
  Softmax::Options softmax;
  softmax.name = "softmax";
  softmax.bias = false;
  softmax.init.law = Init::Law::kConstant;
  softmax.init.value = 1e308;
  e.model.layers = {softmax};
  e.loss.l2 = 0;
  TemporaryFolder temporary;
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  try {
    train(e, data, folder);
    FAIL() << "no failure";
  } catch (const NonFiniteLoss& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.substr(0, text.find('\n')), "error: the loss is not finite: epoch 1, minibatch 1 of 7, step 1");
    EXPECT_NE(text.find("no weight was changed before it"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace thtrain
