#include "compiler/ops/nnet/ctc.h"

#include "compiler/ops/control/scan.h"
#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
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
  const Expr is_behind = concatenate({full({batch, 1}, make_constant(Tensor(false))), logical_not(is_label)}, 1);
  const Expr fits =
      logical_and(lt(targets, classes), logical_not(logical_and(is_label, slice_axis(is_behind, 1, 0, length))));
  const Expr checked =
      check(cast(targets, DType::kInt64), fits,
            str("ctc: labels are classes from 0 to ", classes - 1, ", and none follows a -1 or a ", "blank, ", blank));
  const Expr labels = where(is_label, checked, blank_symbol);
  const Expr blanks = full({batch, length}, blank_symbol);
  Spelled out;
  out.symbols = concatenate({first, reshape(stack({labels, blanks}, 2), {batch, 2 * length})}, 1);
  const Expr before = slice_axis(concatenate({first, first, out.symbols}, 1), 1, 0, 2 * length + 1);
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
Expr ctc_of_rows(const Expr& rows, const Expr& labels, const Dim& all_steps, const Expr& mask, int64_t blank) {
  const DType dtype = rows.dtype();
  const Dim batch = labels.dims()[0], positions = 2 * labels.dims()[1] + 1;
  const Spelled spelled = spell(labels, blank, rows.dims()[1].value());
  const Expr never = make_constant(Tensor(kNever).cast(dtype)), zero = zeros({batch, 1}, dtype);
  const bool has_mask = mask.has_value();
  ScanOptions loop{.name = "ctc"};
  loop.sequences.emplace_back(of_symbols(rows, spelled.symbols, all_steps, batch));
  if (has_mask) loop.sequences.emplace_back(gt(reshape(mask, {all_steps, batch, 1}), 0));
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
  const Expr steps = has_mask ? cast(sum(reshape(mask, {all_steps, batch}), 0), DType::kInt64)
                              : full({batch}, floor_div(length(rows, 0), length(labels, 0)));
  return thtrain::check(losses, le(spelled.needs, steps), "ctc: a sequence has fewer steps than its labels need");
}

Expr ctc(const Operand& z, const Operand& labels, const CtcOptions& options) {
  const Origin origin = Origin::here(z.where());
  InheritOrigin inherit(origin);
  const Expr x = z.expr(), y = labels.expr();
  if (!is_float(x.dtype()) || x.rank() != 3)
    fail_build(z.where(), "ctc: the logits have another type", "floats [steps, batch, classes]", value_text(x));
  if (!is_int(y.dtype()) || y.rank() != 2)
    fail_build(z.where(), "ctc: the labels have another type", "integers [batch, labels]", value_text(y));
  const Dim &steps = x.dims()[0], &batch = x.dims()[1], &classes = x.dims()[2];
  if (batch.is_known() && y.dims()[0].is_known() && batch.value() != y.dims()[0].value())
    fail_build(z.where(), "ctc: the logits and the labels are of other numbers of sequences", value_text(x),
               value_text(y));
  if (!classes.is_known() || classes.value() < 2)
    fail_build(z.where(), "ctc: the number of classes is not known, or is one",
               "at least 2 classes, the blank among them", value_text(x));
  if (options.blank < 0 || options.blank >= classes.value())
    fail_build(z.where(), "ctc: the blank is no class", str("a number from 0 to ", classes.value() - 1),
               str(options.blank));
  Expr mask;
  if (options.steps) {
    const Expr of_each = options.steps->expr();
    if (!is_int(of_each.dtype()) || of_each.rank() != 1)
      fail_build(z.where(), "ctc: the numbers of steps have another type", "integers [batch]", value_text(of_each));
    mask = lt(expand_dims(arange(length(x, 0)), {1}), expand_dims(cast(of_each, DType::kInt64), {0}));
  }
  return ctc_of_rows(reshape(log_softmax(x, -1), {steps * batch, classes}), y, steps, mask, options.blank);
}

}  // namespace thtrain
