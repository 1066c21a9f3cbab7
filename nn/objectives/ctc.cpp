#include "nn/objectives/ctc.h"

#include "compiler/ops/control/scan.h"
#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
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

namespace {

// The logarithm of 0: finite, so that differences of two of them are 0, and below every sum of logarithms.
constexpr double kNever = -1e30;

// log(exp(a) + exp(b)). Of equal values, the derivative of the maximum goes to a and that of the minimum to b.
Expr log_add(const Expr& a, const Expr& b) {
  const Expr largest = maximum(a, b);
  return largest + softplus(minimum(b, a) - largest);
}

struct Spelled {
  Expr symbols;   // int64 [batch, 2 L + 1], l' of the paper: blank, label, blank, ..., label, blank
  Expr may_skip;  // bool of that shape: may a path come here from two positions before?
  Expr count;     // int64 [batch]: labels
  Expr needs;     // int64 [batch]: steps
};

// Behind the end of a sequence of labels, the symbols are blanks.
Spelled spell(const Expr& targets, int64_t blank, int64_t classes) {
  const Dim batch = targets.dims()[0], length = targets.dims()[1];
  const Expr blank_symbol = make_constant(Tensor(blank)), first = full({batch, 1}, blank_symbol);
  const Expr is_label = logical_and(ge(targets, 0), neq(targets, blank));
  const Expr is_behind = concatenate(
      {full({batch, 1}, make_constant(Tensor(false))), logical_not(slice_axis(is_label, 1, 0, length - 1))}, 1);
  const Expr fits = logical_and(lt(targets, classes), logical_not(logical_and(is_label, is_behind)));
  const Expr checked =
      check(cast(targets, DType::kInt64), fits,
            str("ctc: labels are classes from 0 to ", classes - 1, ", and none follows a -1 or a ", "blank, ", blank));
  const Expr labels = where(is_label, checked, blank_symbol);
  const Expr blanks = full({batch, length}, blank_symbol);
  Spelled out;
  out.symbols = concatenate({first, reshape(stack({labels, blanks}, 2), {batch, 2 * length})}, 1);
  const Expr before = concatenate({first, first, slice_axis(out.symbols, 1, 0, 2 * length - 1)}, 1);
  out.may_skip = logical_and(neq(out.symbols, blank), neq(out.symbols, before));
  out.count = sum(cast(is_label, DType::kInt64), 1);
  const Expr is_repeated = logical_and(neq(out.symbols, blank), eq(out.symbols, before));
  out.needs = out.count + sum(cast(is_repeated, DType::kInt64), 1);
  return out;
}

// log y^t_s: rows [steps * batch, classes] -> [steps, batch, positions].
Expr of_symbols(const Expr& rows, const Expr& symbols, const Dim& steps, const Dim& batch) {
  const Expr first = arange(length(rows, 0)) * length(rows, 1);  // of each row
  return take(flatten(rows), reshape(first, {steps, batch, 1}) + expand_dims(symbols, {0}));
}

}  // namespace

// alpha_t(s) = y_t(s) (alpha(s) + alpha(s - 1) + alpha(s - 2) where a path may skip), all of the step before; a first
// alpha of 1 at position 0 gives the paper's alpha_1.
Expr Ctc::elements(const ModelOutput& output, const Expr& targets, TargetForm) const {
  const Expr rows = log_softmax(logits_of(output), -1);
  const DType dtype = rows.dtype();
  const Dim batch = targets.dims()[0], positions = 2 * targets.dims()[1] + 1;
  const Spelled spelled = spell(targets, blank_, classes_of(rows));
  const Expr never = make_constant(Tensor(kNever).cast(dtype)), zero = zeros({batch, 1}, dtype);
  const bool has_mask = output.mask.has_value();
  ScanOptions loop{.name = name()};
  loop.sequences.emplace_back(of_symbols(rows, spelled.symbols, output.steps, batch));
  if (has_mask) loop.sequences.emplace_back(gt(reshape(output.mask, {output.steps, batch, 1}), 0));
  loop.outputs_info.emplace_back(concatenate({zero, full({batch, positions - 1}, never)}, 1));
  auto [alphas, updates] = scan(
      [&](const std::vector<Expr>& values) {
        const Expr& before = values.back();
        const Expr padded = concatenate({full({batch, 2}, never), before}, 1);
        const Expr skipped = where(spelled.may_skip, slice_axis(padded, 1, 0, positions), never);
        const Expr after = values[0] + log_add(log_add(before, slice_axis(padded, 1, 1, positions)), skipped);
        return has_mask ? where(values[1], after, before) : after;
      },
      loop);
  // A path ends in the last label or in the blank behind it.
  const Expr last = expand_dims(2 * spelled.count, {1}),
             position = expand_dims(arange(length(spelled.symbols, 1)), {0});
  const Expr ends = where(logical_or(eq(position, last), eq(position, last - 1)), alphas[-1], never);
  const Expr largest = stop_gradient(max(ends, 1));
  const Expr losses = -(largest + log(sum(exp(ends - expand_dims(largest, {1})), 1)));
  const Expr steps = has_mask ? cast(sum(reshape(output.mask, {output.steps, batch}), 0), DType::kInt64)
                              : full({batch}, floor_div(length(rows, 0), length(targets, 0)));
  return thtrain::check(losses, le(spelled.needs, steps), "ctc: a sequence has fewer steps than its labels need");
}

Kind<ObjectiveOptions> ctc_objective() {
  return kind<Ctc::Options, ObjectiveOptions>();
}

}  // namespace thtrain
