#include "nn/objective.h"

#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "nn/boltzmann_machine.h"

namespace thtrain {
namespace {

Expr in_dtype(const Expr& x, DType dtype) {
  return x.dtype() == dtype ? x : cast(x, dtype);
}

// sum(w x) / sum(w) along these axes; 0 where all weights are 0.
Expr weighted_mean(const Expr& x, const Expr& w, const Axes& axes) {
  Expr total = sum(w);
  return sum(w * x, axes) / where(eq(total, 0), 1, total);
}

bool are_class_numbers(const Expr& targets) {
  return targets.has_value() && targets.rank() == 1 && targets.dtype() == DType::kInt64;
}

bool takes_classes(const std::vector<TargetForm>& forms) {
  return std::find(forms.begin(), forms.end(), TargetForm::kClasses) != forms.end();
}

}  // namespace

std::optional<Message> Objective::misfit(const ModelOutput&, TargetForm) const {
  return {};
}

TargetForm Objective::check(const ModelOutput& output, const TargetInput& targets) const {
  const std::string who = str("objective \"", name_, '"');
  const TargetForm form = [&] {
    try {
      return form_of(who, target_forms(), output, targets, position_);
    } catch (const UserError& error) {
      std::vector<Message> messages = error.messages();
      if (dynamic_cast<const MachineLayer*>(output.layer))
        messages.back().hint =
            str("loss.type = \"contrastive_divergence\" trains the layer ", output.layer->name(), ", without targets");
      else if (is_float(output.value.dtype()) && are_class_numbers(targets.value) && !takes_classes(target_forms()))
        messages.back().hint =
            "loss.type = \"negative_log_likelihood\" learns class numbers, behind a last layer of type \"softmax\"; "
            "data.target = \"values\" reads them as numbers to approximate";
      throw UserError(std::move(messages));
    }
  }();
  TH_CHECK((output.link != ModelOutput::Link::kNone) == output.logits.has_value(), "logits belong to a link");
  if (auto message = misfit(output, form)) {
    message->what = who + " cannot read the output of the model";
    if (!message->config) message->config = position_;
    throw UserError(std::move(*message));
  }
  if (targets.class_weights.has_value() && form != TargetForm::kNone) {
    const Expr& weights = targets.class_weights;
    bool one = form == TargetForm::kValues && is_single(output.value);
    int64_t wanted = one ? 1 : classes_of(output.value);
    bool fits = is_float(weights.dtype()) && weights.rank() == 1 && output.value.rank() <= 2;
    if (form == TargetForm::kLabelSequences)
      throw UserError(Message{.what = who + " takes no weights of the classes",
                              .expected = "weights of the sequences, or none",
                              .config = position_});
    if (fits && wanted >= 0 && weights.dims()[0].is_known()) fits = weights.dims()[0].value() == wanted;
    if (!fits)
      throw UserError(
          Message{.what = who + " cannot take these weights of the classes",
                  .expected = str("floats, one for each ", form == TargetForm::kClasses ? "class" : "output",
                                  wanted < 0 ? "" : str(": ", name_of(output.value.dtype()), '[', wanted, ']')),
                  .got = str(type_text(weights), " for an output ", type_text(output.value, output)),
                  .config = position_});
  }
  return form;
}

Expr Objective::checked_elements(const ModelOutput& output, const TargetInput& targets, TargetForm form) const {
  Expr wanted = form == TargetForm::kValues ? values_for(output.value, targets.value) : targets.value;
  return elements(output, wanted, form);
}

ExampleLosses Objective::weighted(const Expr& elements, const TargetInput& targets, TargetForm form) const {
  const DType dtype = elements.dtype();
  ExampleLosses out{.values = elements};
  if (targets.weights.has_value()) out.weights = in_dtype(targets.weights, dtype);
  Expr of_classes;
  if (targets.class_weights.has_value()) of_classes = in_dtype(targets.class_weights, dtype);
  if (elements.rank() > 1) {
    std::vector<int64_t> others;
    for (size_t axis = 1; axis < elements.rank(); ++axis) others.push_back(static_cast<int64_t>(axis));
    if (sums_outputs())
      out.values = sum(of_classes.has_value() ? of_classes * elements : elements, others);
    else
      out.values = of_classes.has_value() ? weighted_mean(elements, of_classes, others) : mean(elements, others);
  } else if (of_classes.has_value() && form == TargetForm::kClasses) {
    Expr of_examples = take(of_classes, targets.value);
    out.weights = out.weights.has_value() ? out.weights * of_examples : of_examples;
  }
  return out;
}

ExampleLosses Objective::losses(const ModelOutput& output, const TargetInput& targets) const {
  TargetForm form = check(output, targets);
  Scope scope("loss");
  return weighted(checked_elements(output, targets, form), targets, form);
}

Expr Objective::cost(const ModelOutput& output, const TargetInput& targets) const {
  TargetForm form = check(output, targets);
  Scope scope("loss");
  Expr all = checked_elements(output, targets, form);
  const bool is_plain = !targets.weights.has_value() && !targets.class_weights.has_value();
  if (is_plain && !sums_outputs()) return mean(all);
  ExampleLosses losses = weighted(all, targets, form);
  return losses.weights.has_value() ? weighted_mean(losses.values, losses.weights, {}) : mean(losses.values);
}

#define TH_OBJECTIVE(name) Kind<ObjectiveOptions> name##_objective();
#include "nn/objective_list.inc"
#undef TH_OBJECTIVE

const std::vector<Kind<ObjectiveOptions>>& ObjectiveOptions::kinds() {
  static const std::vector<Kind<ObjectiveOptions>> kinds = {
#define TH_OBJECTIVE(name) name##_objective(),
#include "nn/objective_list.inc"
#undef TH_OBJECTIVE
  };
  return kinds;
}

}  // namespace thtrain
