#include "nn/objectives/hinge.h"

#include <limits>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

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

// Of each row the largest score but that of the label; -inf where there is no other.
static Expr largest_other(const Expr& z, const Expr& labels) {
  Expr is_own = eq(arange(length(z, 1)), expand_dims(labels, {1}));
  Expr others = where(is_own, -std::numeric_limits<double>::infinity(), z);
  return pick_rows(others, argmax(others, 1));
}

Expr Hinge::elements(const ModelOutput& output, const Expr& targets, TargetForm form) const {
  const Expr& z = logits_of(output);
  Expr missing;
  if (form == TargetForm::kValues) {
    missing = options_.margin - where(gt(targets, 0), z, -z);
  } else if (is_single(z)) {
    Expr single = as_single(z);
    missing = options_.margin - where(gt(binary_labels(targets, z.dtype()), 0), single, -single);
  } else {
    missing = options_.margin + largest_other(z, targets) - pick_rows(z, targets, Negative::kRefused);
  }
  Expr loss = maximum(0, missing);  // a tie's derivative goes to the 0
  return options_.squared ? sqr(loss) : loss;
}

Scores Hinge::scores(const ModelOutput& output) const {
  return {.value = logits_of(output), .threshold = 0};
}

Kind<ObjectiveOptions> hinge_objective() {
  return kind<Hinge::Options, ObjectiveOptions>();
}

}  // namespace thtrain
