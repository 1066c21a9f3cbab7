#include "nn/objectives/binary_crossentropy.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/nnet/losses.h"

namespace thtrain {

void BinaryCrossentropy::Options::describe(Fields<Options>& f) {
  f.about("The mean of -(t log p + (1 - t) log(1 - p)), p = sigmoid(z), over examples and labels.");
  f.field("pos_weight", &Options::pos_weight)
      .range(at_least(0))
      .help("Factor of the loss of a yes: one number, or one for each label.");
  describe_sum_outputs(f);
}

std::unique_ptr<Objective> BinaryCrossentropy::Options::make() const {
  return std::make_unique<BinaryCrossentropy>(*this);
}

std::optional<Message> BinaryCrossentropy::misfit(const ModelOutput& output, TargetForm form) const {
  if (output.link == ModelOutput::Link::kSoftmax)
    return Message{.what = "",
                   .expected = "the output of a sigmoid or linear layer",
                   .got = "the output of a softmax",
                   .hint = "negative_log_likelihood is for softmaxes"};
  if (form == TargetForm::kClasses && !is_single(output.value))
    return Message{.what = "",
                   .expected = "one number for each example, for classes 0 and 1",
                   .got = type_text(output.value, output),
                   .hint = "a softmax and negative_log_likelihood tell several classes apart"};
  const size_t given = options_.pos_weight.size();
  const Dim width = output.value.rank() == 1 ? Dim(1) : output.value.dims().back();
  if (given > 1 && !(width.is_known() && width.value() == static_cast<int64_t>(given)))
    return Message{.what = "",
                   .expected = str(options_.name_of("pos_weight"), " of one number, or of one for each label"),
                   .got = str(given, " numbers for an output ", type_text(output.value, output)),
                   .config = options_.at("pos_weight")};
  return {};
}

Expr BinaryCrossentropy::elements(const ModelOutput& output, const Expr& targets, TargetForm form) const {
  Expr z = logits_of(output), t = targets;
  if (form == TargetForm::kClasses) {
    z = as_single(z);
    t = binary_labels(targets, z.dtype());
  }
  if (options_.pos_weight.empty()) return binary_crossentropy_logits(z, t);
  const std::vector<double>& weights = options_.pos_weight;
  Tensor p = weights.size() == 1 ? Tensor(weights[0]) : Tensor::of(weights, {static_cast<int64_t>(weights.size())});
  return make_constant(p.cast(z.dtype())) * t * softplus(-z) + (1 - t) * softplus(z);
}

Scores BinaryCrossentropy::scores(const ModelOutput& output) const {
  return {.value = output.link == ModelOutput::Link::kSigmoid ? output.value : sigmoid(output.value)};
}

Kind<ObjectiveOptions> binary_crossentropy_objective() {
  return kind<BinaryCrossentropy::Options, ObjectiveOptions>();
}

}  // namespace thtrain
