#include "nn/objectives/negative_log_likelihood.h"

#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/softmax.h"

namespace thtrain {

void NegativeLogLikelihood::Options::describe(Fields<Options>& f) {
  f.about("The mean of -log softmax(z)[class], for classes.");
}

std::unique_ptr<Objective> NegativeLogLikelihood::Options::make() const {
  return std::make_unique<NegativeLogLikelihood>(*this);
}

std::optional<Message> NegativeLogLikelihood::misfit(const ModelOutput& output, TargetForm) const {
  if (output.value.rank() == 2 && output.link != ModelOutput::Link::kSigmoid) return {};
  return Message{
      .what = "",
      .expected = "the output of a softmax or linear layer, a row of classes for each example",
      .got = output.link == ModelOutput::Link::kSigmoid ? "the output of a sigmoid" : type_text(output.value, output),
      .hint = "binary_crossentropy is for sigmoids"};
}

Expr NegativeLogLikelihood::elements(const ModelOutput& output, const Expr& targets, TargetForm) const {
  return categorical_crossentropy_logits(logits_of(output), targets);
}

Scores NegativeLogLikelihood::predictions(const ModelOutput& output) const {
  return {.value = output.link == ModelOutput::Link::kNone ? softmax(output.value) : output.value};
}

Kind<ObjectiveOptions> negative_log_likelihood_objective() {
  return kind<NegativeLogLikelihood::Options, ObjectiveOptions>();
}

}  // namespace thtrain
