#include "nn/predictions.h"

#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

const Expr& logits_of(const ModelOutput& output) {
  return output.logits.has_value() ? output.logits : output.value;
}

// May these lengths be equal?
static bool may_equal(const Dim& a, const Dim& b) {
  return !a.is_known() || !b.is_known() || a.value() == b.value();
}

static bool is_column(const Expr& x) {
  return x.rank() == 2 && x.dims()[1].is(1);
}

static bool has_form(TargetForm form, const Expr& output, const Expr& targets) {
  if (form == TargetForm::kNone || !targets.has_value()) return form == TargetForm::kNone && !targets.has_value();
  const Dims &given = targets.dims(), &wanted = output.dims();
  if (form == TargetForm::kLabelSequences) return is_int(targets.dtype()) && given.size() == 2;
  if (is_complex(targets.dtype()) || given.empty() || !may_equal(given[0], wanted[0])) return false;
  if (form == TargetForm::kClasses) return is_int(targets.dtype()) && given.size() == 1;
  if (given.size() == 1 && (is_column(output) || wanted.size() == 1)) return is_float(targets.dtype());
  if (given.size() != wanted.size()) return false;
  for (size_t i = 0; i < given.size(); ++i)
    if (!may_equal(given[i], wanted[i])) return false;
  return true;
}

std::string type_text(const Expr& value) {
  return readable(value.type().text());
}

static std::string type_text(Type type, const ModelOutput& output) {
  if (output.is_sequence && !type.dims.empty() && type.dims[0] == output.steps * output.batch) {
    type.dims[0] = output.steps;
    type.dims.insert(type.dims.begin(), output.batch);
  }
  return readable(type.text());
}

std::string type_text(const Expr& value, const ModelOutput& output) {
  return type_text(value.type(), output);
}

// The type of one number for each row of `of`.
static std::string row_text(DType dtype, const Expr& of, const ModelOutput& output) {
  return type_text(Type{.dtype = dtype, .dims = {of.dims()[0]}}, output);
}

static std::string form_text(TargetForm form, const ModelOutput& output) {
  switch (form) {
    case TargetForm::kNone:
      return "no targets";
    case TargetForm::kClasses:
      return row_text(DType::kInt64, output.value, output) + " (classes)";
    case TargetForm::kValues:
      return type_text(output.value, output) + " (values)";
    case TargetForm::kLabelSequences:
      return "int64[sequences, labels] (labels of each sequence, -1 behind the last one)";
  }
  return "";
}

TargetForm form_of(const std::string& who, const std::vector<TargetForm>& accepted, const ModelOutput& of,
                   const TargetInput& targets, const ConfigPosition& where) {
  const Expr& output = of.value;
  // Label sequences are no rows of steps.
  const bool are_rows = accepted != std::vector{TargetForm::kLabelSequences};
  auto target_text = [&](const Expr& value) { return are_rows ? type_text(value, of) : type_text(value); };
  if (output.rank() == 0 || !is_float(output.dtype()))
    throw UserError(Message{.what = who + " cannot read the output of the model",
                            .expected = "float32 or float64, an example along the first axis",
                            .got = type_text(output, of),
                            .config = where});
  for (TargetForm form : accepted) {
    if (!has_form(form, output, targets.value)) continue;
    const Expr &weights = targets.weights, &weighed = form == TargetForm::kLabelSequences ? targets.value : output;
    if (weights.has_value() &&
        (!is_float(weights.dtype()) || weights.rank() != 1 || !may_equal(weights.dims()[0], weighed.dims()[0])))
      throw UserError(Message{.what = who + " cannot take these weights of the examples",
                              .expected = row_text(output.dtype(), weighed, of),
                              .got = target_text(weights),
                              .config = where});
    return form;
  }
  throw UserError(Message{.what = who + " cannot take these targets",
                          .expected = join(accepted, ", or ", [&](TargetForm form) { return form_text(form, of); }),
                          .got = str(targets.value.has_value() ? target_text(targets.value) : "no targets",
                                     " for an output ", type_text(output, of)),
                          .config = where});
}

Expr values_for(const Expr& output, const Expr& targets) {
  Expr values = targets.dtype() == output.dtype() ? targets : cast(targets, output.dtype());
  return values.rank() == output.rank() ? values : expand_dims(values, {1});
}

bool is_single(const Expr& scores) {
  return scores.rank() == 1 || is_column(scores);
}

Expr as_single(const Expr& scores) {
  return scores.rank() == 1 ? scores : squeeze(scores, {1});
}

Expr binary_labels(const Expr& labels, DType dtype) {
  Expr in_range = logical_and(ge(labels, 0), le(labels, 1));
  return check(cast(labels, dtype), in_range, "labels of two classes are 0 and 1");
}

int64_t classes_of(const Expr& scores) {
  if (is_single(scores)) return 2;
  const Dim& classes = scores.dims().back();
  return classes.is_known() ? classes.value() : -1;
}

}  // namespace thtrain
