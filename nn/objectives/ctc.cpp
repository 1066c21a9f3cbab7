#include "nn/objectives/ctc.h"

#include "compiler/ops/nnet/ctc.h"
#include "compiler/ops/nnet/softmax.h"
#include "nn/sequences.h"

namespace thtrain {

void Ctc::Options::describe(Fields<Options>& f) {
  f.about("Connectionist temporal classification: sequences of labels, without the steps at which they occur.");
  f.field("blank", &Options::blank).range(at_least(0)).help("The class that means `no label`.");
}

std::unique_ptr<Objective> Ctc::Options::make() const {
  return std::make_unique<Ctc>(*this);
}

std::optional<Message> Ctc::misfit(const ModelOutput& output, TargetForm) const {
  const bool is_sigmoid = output.link == ModelOutput::Link::kSigmoid, is_row = output.value.rank() == 2;
  if (!output.is_sequence || is_sigmoid || !is_row)
    return Message{.what = "",
                   .expected = "the output of a softmax or linear layer, a row of classes at each step of a sequence",
                   .got = !output.is_sequence ? "no sequence"
                          : is_sigmoid        ? "the output of a sigmoid"
                                              : type_text(output.value, output),
                   .hint = "recurrent layers give sequences with output = \"all\""};
  const int64_t classes = is_single(output.value) ? 1 : classes_of(output.value);
  if (classes == 1)
    return Message{.what = "", .expected = "at least 2 classes (the blank is one of them)", .got = "1 class"};
  if (classes < 0 || blank_ < classes) return {};
  return Message{.what = "",
                 .expected = str("more than ", blank_, " classes (the blank is one of them)"),
                 .got = str(classes, " classes"),
                 .config = blank_position_};
}

Expr Ctc::elements(const ModelOutput& output, const Expr& targets, TargetForm) const {
  return ctc_of_rows(log_softmax(logits_of(output), -1), targets, output.steps, output.mask, blank_);
}

Kind<ObjectiveOptions> ctc_objective() {
  return kind<Ctc::Options, ObjectiveOptions>();
}

}  // namespace thtrain
