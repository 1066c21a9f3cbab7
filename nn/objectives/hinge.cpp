#include "nn/objectives/hinge.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/nnet/losses.h"

namespace thtrain {

void Hinge::Options::describe(Fields<Options>& f) {
  f.about(
      "The mean of max(0, margin + the largest other score - the score of the class); of two classes or labels, of "
      "max(0, margin - s z), s = 1 or -1.");
  f.field("margin", &Options::margin).range(above(0)).help("Lead of the right score from which on the loss is 0.");
  f.field("squared", &Options::squared).help("Squares the loss of each example.");
}

std::unique_ptr<Objective> Hinge::Options::make() const {
  return std::make_unique<Hinge>(*this);
}

std::optional<Message> Hinge::misfit(const ModelOutput& output, TargetForm form) const {
  if (form == TargetForm::kValues || output.value.rank() <= 2) return {};
  return Message{.what = "", .expected = "a row of scores for each example", .got = type_text(output.value, output)};
}

Expr Hinge::elements(const ModelOutput& output, const Expr& targets, TargetForm form) const {
  const Expr& z = logits_of(output);
  Expr loss;
  if (form == TargetForm::kValues) {
    loss = maximum(0, options_.margin - where(gt(targets, 0), z, -z));  // a tie's derivative goes to the 0
  } else if (is_single(z)) {
    Expr single = as_single(z);
    loss = maximum(0, options_.margin - where(gt(binary_labels(targets, z.dtype()), 0), single, -single));
  } else {
    loss = multiclass_hinge(z, targets, options_.margin);
  }
  return options_.squared ? sqr(loss) : loss;
}

Scores Hinge::scores(const ModelOutput& output) const {
  return {.value = logits_of(output), .threshold = 0};
}

Kind<ObjectiveOptions> hinge_objective() {
  return kind<Hinge::Options, ObjectiveOptions>();
}

}  // namespace thtrain
