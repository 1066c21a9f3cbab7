// `thtrain eval`: the error of a model's weights on one part of the data.
#include "cli/command.h"
#include "cli/load_experiment.h"
#include "cli/run_hints.h"
#include "cli/text.h"
#include "nn/layers/rbm.h"
#include "nn/objectives/contrastive_divergence.h"
#include "trainers/trainer.h"

namespace thtrain {

namespace {

struct EvalArguments {
  ExperimentArguments experiment;  // `config` may be a run folder
  std::string phase = {};          // "": the last one
  std::string weights = {};        // "": the run folder's
  std::string part = "test";       // "train", "valid", "test"
  bool json = false;
};

}  // namespace

static Part part_of(const std::string& name) {
  return name == "train" ? Part::kTrain : name == "valid" ? Part::kValid : Part::kTest;
}

static void check_has_examples(const Dataset& data, const std::string& part, const TrainerConfig& trainer) {
  const Part wanted = part_of(part);
  const int64_t size = (wanted == Part::kTrain ? data.train : wanted == Part::kValid ? data.valid : data.test).size();
  std::string hint;
  if (size == 0) {
    hint = data.valid.size() > 0 ? "--part valid measures the validation error"
                                 : "--part train measures the training error";
    if (data.name == "csv") hint += str("; data.", part, "=FILE names a table of ", part, " examples");
    throw UserError(Message{.what = str("there are no ", part, " examples to evaluate on"), .hint = hint});
  }
  if (!trainer.full_batches_only || size >= trainer.batch_size) return;
  throw UserError(Message{.what = str("there are fewer ", part, " examples than a minibatch has"),
                          .expected = str("at least ", trainer.batch_size),
                          .got = std::to_string(size),
                          .hint = "trainer.full_batches_only=false takes them too"});
}

// What the loss is, where its objective does not say it.
static std::string loss_meaning(const Experiment& experiment) {
  const std::vector<OutputLossConfig> outputs = output_losses(experiment);
  if (outputs.size() > 1 || outputs[0].objective.name() != ContrastiveDivergence::Options::kName) return "";
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) {
    const auto* machine = layer.get_if<Rbm::Options>();
    const bool is_judged = layer->name == outputs[0].layer || &layer == &experiment.model.layers.back();
    if (machine && is_judged && machine->visible == Rbm::Visible::kGaussian)
      return " (the error of the reconstruction)";
  }
  return " (minus the pseudo-likelihood)";
}

static int run_eval(const EvalArguments& arguments) {
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  take_phase(loaded, arguments.phase);
  std::string weights = weights_of(loaded, arguments.weights);
  warn_of_first_weights(loaded, weights);
  Dataset data = load_run_data(loaded, false);
  check_has_examples(data, arguments.part, loaded.experiment.trainer);
  Evaluation found = evaluate(loaded.experiment, data, part_of(arguments.part), weights);
  warn_of_unused_arrays(weights, found.unused_arrays);
  if (arguments.json) {
    JsonObject out;
    out.add("part", arguments.part).add("weights", weights).add("examples", found.examples);
    if (found.steps > 0) out.add("steps", found.steps);
    if (found.has_errors) out.add("errors", found.errors);
    const std::string key = str(arguments.part, '_', found.metric.name);
    if (found.metric.unit == "%")
      out.add_error(key, found.error);
    else if (found.metric.name != "loss")
      out.add(key, found.error);
    out.add("loss", found.loss);
    for (const Evaluation::Value& value : found.others)
      if (value.number && value.name != "loss") out.add(str(arguments.part, '_', value.name), *value.number);
    if (found.confusion && !data.class_names.empty()) out.add("classes", data.class_names);
    if (found.confusion) out.add_raw("confusion", confusion_json(*found.confusion));
    print_text(out.line() + "\n");
  } else {
    const char* name = arguments.part == "train" ? "training" : arguments.part == "valid" ? "validation" : "test";
    std::string text = str(name, ' ');
    if (found.metric.name != "loss")
      text += str(metric_label(found.metric.name), ' ',
                  found.metric.unit == "%" ? error_text(found.error) : loss_text(found.error));
    if (found.has_errors)
      text += str(" (", count_text(found.errors), " of ",
                  found.steps > 0 ? count_text(found.steps, "step") : count_text(found.examples) + " examples", ")");
    text += str(found.metric.name == "loss" ? "" : ", ", "loss ", loss_text(found.loss, 6),
                loss_meaning(loaded.experiment), "\n");
    for (const Evaluation::Value& value : found.others)
      if (value.name != "loss" && value.number) text += str(name, ' ', metric_label(value.name), ' ', value.text, "\n");
    text += str("weights ", weights, "\n");
    if (found.confusion) text += confusion_text(*found.confusion, data.class_names, found.steps > 0);
    print_text(text);
  }
  return kDone;
}

static Command declare_eval(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<EvalArguments>();
  add_experiment(command, arguments->experiment, "DIR|CONFIG", "a run's folder, or an experiment file");
  add_phase(command, arguments->phase);
  add_weights(command, arguments->weights);
  command.add_option("--part", arguments->part, "which examples: train, valid or test (the default)")
      ->type_name("PART")
      ->check(one_of("eval", "--part", {"train", "valid", "test"}));
  command.add_flag("--json", arguments->json, "print one JSON object");
  return [arguments] { return run_eval(*arguments); };
}

CommandSpec eval_command() {
  return {"eval",
          "measure a model's error",
          {{"thtrain eval runs/lab-1", "error of the run's best weights on the test examples"},
           {"thtrain eval runs/lab-1 --part valid", "on the validation examples"},
           {"thtrain eval lab.toml --weights w.npz", "of the weights in a file"}},
          declare_eval};
}

}  // namespace thtrain
