// nn and trainers: models of layers, steps of optimizers, and experiments, with options that no file may say.
#include "nn/layers/dense.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "nn/training_step.h"
#include "tests/fuzz/garbage_calls.h"
#include "trainers/experiment.h"

namespace thtrain {

// Fills some of the declared members of an object.
static void fill_declared(Garbage& garbage, const Schema& schema, void* object, size_t rarely) {
  using Value = FieldAccess::Value;
  for (const FieldSpec& field : schema.fields) {
    const FieldAccess& access = *field.access;
    void* member = field.member(object);
    if (access.value == Value::kTable && access.container == FieldAccess::Container::kOne)
      fill_declared(garbage, access.schema(), member, rarely);
    if (access.value == Value::kKind && access.container == FieldAccess::Container::kOne &&
        access.selected(member).object)
      fill_declared(garbage, access.selected(member).kind.schema(), access.selected(member).object, rarely);
    if (!garbage.one_in(rarely) || access.value == Value::kTable || access.value == Value::kKind) continue;
    ConfigNode node;
    node.boolean = garbage.draw<bool>();
    node.integer = std::clamp(garbage.draw<int64_t>(), access.lowest, std::max(access.lowest, access.highest));
    if (access.value == Value::kChoice) node.integer = field.choice_values[garbage.below(field.choice_values.size())];
    node.kind = ConfigNode::Kind::kFloat;
    node.number = garbage.draw<double>();
    node.text = !field.choices.empty() && garbage.one_in(2) ? field.choices[garbage.below(field.choices.size())]
                                                            : garbage.draw<std::string>();
    access.assign(access.append(member), node);
  }
}

template <class Base>
static OneOf<Base> any_kind(Garbage& garbage, size_t rarely) {
  if (garbage.one_in(30)) return {};
  OneOf<Base> out(Base::kinds()[garbage.below(Base::kinds().size())]);
  fill_declared(garbage, out.kind_of().schema(), out.object(), rarely);
  return out;
}

static Model model_of(Garbage& garbage) {
  Shape shape;
  for (size_t rank = 1 + garbage.below(3); rank > 0; --rank)
    shape.push_back(garbage.one_in(12) ? std::min<int64_t>(garbage.draw<int64_t>(), 100) : 4);
  const DType dtype = garbage.one_in(12) ? garbage.draw<DType>() : DType::kFloat64;
  const int64_t classes = garbage.one_in(4) ? garbage.draw<int64_t>() : 3;
  if (garbage.one_in(3))
    return Model::with_inputs({{"x", shape, true}}, dtype, garbage.one_in(12) ? garbage.draw<int64_t>() : 1, classes);
  return Model(shape, dtype, garbage.one_in(12) ? garbage.draw<int64_t>() : 1, classes);
}

static void add_layers(Garbage& garbage, Model& model) {
  if (garbage.one_in(3)) model.set_batch(garbage.draw<int64_t>());
  for (size_t n = 1 + garbage.below(3); n > 0; --n) {
    OneOf<LayerOptions> layer = any_kind<LayerOptions>(garbage, 6);
    if (layer.has_value() && !garbage.one_in(4)) layer->name = "", layer->inputs.clear();
    model.add(std::move(layer));
  }
}

static Expr input_of(Garbage& garbage, const Model& model) {
  if (garbage.one_in(4)) return garbage.draw<Expr>();
  Dims dims(model.input_shape().begin(), model.input_shape().end());
  dims.insert(dims.begin(), "n");
  if (model.inputs()[0].is_sequence) dims.insert(dims.begin() + 1, "steps");
  return tensor("x", dims, model.dtype());
}

static std::vector<Expr> asked_of_a_model(Garbage& garbage) {
  Model model = model_of(garbage);
  add_layers(garbage, model);
  const Expr x = input_of(garbage, model), lengths = garbage.one_in(4) ? garbage.draw<Expr>() : Expr();
  const Phase phase = garbage.one_in(2) ? Phase::kTraining : Phase::kEvaluation;
  ModelPass pass = model.pass({x}, phase, lengths);
  switch (garbage.below(6)) {
    case 0:
      return {pass.logits()};
    case 1:
      return {model.probabilities(x)};
    case 2:
      return {pass.output(garbage.draw<std::string>())};
    case 3:
      return {pass.model_output().value};
    case 4:
      (void)model.classes();
      return {};
    default:
      return {pass.output()};
  }
}

static std::vector<Expr> step_of_an_optimizer(Garbage& garbage) {
  Model model({4}, DType::kFloat64, 1);
  model.add(Dense::Options{{}, 3, "tanh"});
  std::vector<Param> params = model.params();
  if (garbage.one_in(4)) params.clear();
  const OneOf<OptimizerOptions> optimizer = any_kind<OptimizerOptions>(garbage, 8);
  TrainingStep::Options options;
  if (garbage.one_in(3)) options.accumulate = garbage.draw<int64_t>();
  if (garbage.one_in(3)) options.clip_value = garbage.draw<double>();
  if (garbage.one_in(3)) options.clip_norm = garbage.draw<double>();
  if (garbage.one_in(3)) options.max_norm = garbage.draw<double>();
  if (garbage.one_in(3)) options.average_decay = garbage.draw<double>();
  if (garbage.one_in(3)) options.average_start = garbage.draw<int64_t>();
  std::unique_ptr<Optimizer> made = optimizer->batch_method() ? nullptr : optimizer->make(params);
  const TrainingStep step(std::move(made), options);
  const Expr cost = sum(model.output(matrix("x", {2, 4})));
  std::vector<Expr> out;
  const std::vector<Update> updates = garbage.one_in(3) ? step.updates(garbage.draw<std::vector<Expr>>())
                                                        : step.updates(garbage.one_in(4) ? garbage.draw<Expr>() : cost);
  for (const Update& update : updates) out.push_back(update.value);
  return out;
}

static std::vector<Expr> experiment_of_garbage(Garbage& garbage) {
  Experiment experiment;
  experiment.data = any_kind<DataConfig>(garbage, 20);
  for (size_t n = garbage.below(4); n > 0; --n) experiment.model.layers.push_back(any_kind<LayerOptions>(garbage, 10));
  experiment.trainer.optimizer = any_kind<OptimizerOptions>(garbage, 10);
  experiment.loss.objective = any_kind<ObjectiveOptions>(garbage, 10);
  if (garbage.one_in(2)) experiment.trainer.metrics = {any_kind<MetricOptions>(garbage, 10)};
  if (garbage.one_in(2)) experiment.trainer.schedule = any_kind<ScheduleOptions>(garbage, 10);
  fill_declared(garbage, schema_of<Experiment>(), &experiment, 40);
  const Experiment checked = checked_experiment(experiment);
  (void)checked_experiment(checked);
  (void)resolved_toml(checked);
  (void)phase_of(checked, garbage.draw<size_t>());
  return {};
}

void add_models(std::vector<GarbageCall>& calls) {
  calls.push_back({"Model", asked_of_a_model});
  calls.push_back({"TrainingStep", step_of_an_optimizer});
  calls.push_back({"Experiment", experiment_of_garbage});
  calls.push_back({"Objective", [](Garbage& g) {
                     (void)any_kind<ObjectiveOptions>(g, 3)->make();
                     return std::vector<Expr>();
                   }});
  calls.push_back({"Metric", [](Garbage& g) {
                     (void)any_kind<MetricOptions>(g, 3)->make();
                     return std::vector<Expr>();
                   }});
  calls.push_back({"Schedule", [](Garbage& g) {
                     (void)any_kind<ScheduleOptions>(g, 3)->make();
                     return std::vector<Expr>();
                   }});
}

}  // namespace thtrain
