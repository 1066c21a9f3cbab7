#include "compiler/runtime/nan_guard.h"

#include <cmath>

#include "compiler/base/escape.h"
#include "compiler/runtime/bad_value_source.h"
#include "compiler/runtime/data_lengths.h"
#include "compiler/runtime/profiler.h"

namespace thtrain {
namespace {

bool may_be_bad(const BufferView& view) {
  return view.buffer >= 0 && (is_float(view.type.dtype) || is_complex(view.type.dtype));
}

// Buffers of two names may be one location of the arena.
bool may_overlap(const Tensor& a, const Tensor& b) {
  auto end = [](const Tensor& t) {
    int64_t last = 0;
    for (size_t axis = 0; axis < t.rank(); ++axis)
      if (t.strides()[axis] > 0) last += (t.dim(axis) - 1) * t.strides()[axis];
    return static_cast<const char*>(t.raw()) + (last + 1) * static_cast<int64_t>(size_of(t.dtype()));
  };
  auto begin = [](const Tensor& t) {
    int64_t first = 0;
    for (size_t axis = 0; axis < t.rank(); ++axis)
      if (t.strides()[axis] < 0) first += (t.dim(axis) - 1) * t.strides()[axis];
    return static_cast<const char*>(t.raw()) + first * static_cast<int64_t>(size_of(t.dtype()));
  };
  return begin(a) < end(b) && begin(b) < end(a);
}

std::string iterations_text(const std::vector<const Loop*>& loops, const long* iterations) {
  std::string out;
  for (size_t i = 0; i < loops.size(); ++i)
    out += str(i == 0 ? ", in iteration " : ", iteration ", iterations[i], " of ", loops[i]->comment);
  return out.empty() ? out : out + " (counted from 0)";
}

}  // namespace

NanGuard::NanGuard(const Function::State& state) : steps_(steps_in_loops(state.program->plan->body)) {}

void NanGuard::probe(ThContext* context, int number, int after, void* const* buffers, const long* iterations) {
  Function::State& s = *static_cast<Function::State*>(context->host);
  if (after && s.profiler) Profiler::probe(context, number, after, buffers, iterations);
  wait_for_device(context);
  if (context->failure.word) return;  // what the step has written is not its result
  try {
    if (after)
      s.guard->after(s, static_cast<size_t>(number), buffers, iterations);
    else
      s.guard->before(s, static_cast<size_t>(number), buffers);
  } catch (...) {
    s.fail(std::current_exception());
  }
  if (!after && s.profiler) Profiler::probe(context, number, after, buffers, iterations);
}

// Several steps may make one node: the first sees its arguments, the last its results.
void NanGuard::before(Function::State& s, size_t number, void* const* buffers) {
  const Step& step = *steps_[number].step;
  if (!step.node || (number > 0 && steps_[number - 1].step->node == step.node)) return;
  arguments_.clear();
  read_lengths(s);
  std::vector<Tensor> results;
  for (size_t k = step.inputs; k < step.inputs + step.outputs; ++k) results.push_back(operand_of(s, step, k, buffers));
  for (size_t k = 0; k < step.inputs; ++k) {
    Tensor argument = operand_of(s, step, k, buffers);
    for (const Tensor& result : results)
      if (may_be_bad(step.operands[k]) && argument.size() > 0 && result.size() > 0 && may_overlap(argument, result)) {
        argument = argument.copy();
        break;
      }
    arguments_.push_back(std::move(argument));
  }
}

void NanGuard::after(Function::State& s, size_t number, void* const* buffers, const long* iterations) {
  const Step& step = *steps_[number].step;
  if (!step.node || (number + 1 < steps_.size() && steps_[number + 1].step->node == step.node)) return;
  read_lengths(s);
  for (size_t k = step.inputs; k < step.inputs + step.outputs; ++k) {
    if (!may_be_bad(step.operands[k])) continue;
    const Tensor value = operand_of(s, step, k, buffers);
    if (const std::optional<int64_t> position = first_bad(value, s.options.nan_guard))
      fail(s, number, k - step.inputs, value, *position, iterations);
  }
}

std::string NanGuard::arguments_text(const Node& node, const BadValues& bad) const {
  constexpr size_t kLength = 40;
  std::vector<std::string> good, wrong;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& value = arguments_[i];
    if (node.inputs[i].type().kind == TypeKind::kToken) continue;
    const std::string text = str(readable_text(node.inputs[i], kLength), " ", value.type_text());
    if (const std::optional<int64_t> position = first_bad(value, bad))
      wrong.push_back(str(text, " with ", value.as_double(*position)));
    else
      good.push_back(text);
  }
  if (wrong.empty() && good.empty()) return {};
  std::string out = str("\nmade of ", join(wrong, ", "));
  if (!good.empty())
    out += str(wrong.empty() ? "" : ", and of ", join(good, ", "), good.size() == 1 ? ", which is" : ", which are",
               " finite");
  return out;
}

void NanGuard::fail(const Function::State& s, size_t number, size_t output, const Tensor& value, int64_t position,
                    const long* iterations) const {
  const auto& [step, loops] = steps_[number];
  const BadValues& bad = s.options.nan_guard;
  const BadValueSource source = source_inside(*step->node, output, position, arguments_, bad)
                                    .value_or(source_of(*step->node, output, value, position));
  bool wrote_shared = false;
  for (size_t i = 0; i < (loops.empty() ? number + 1 : steps_.size()); ++i)
    wrote_shared |= writes_shared(*s.program->plan, *steps_[i].step);
  throw BadValueError({.what = str(escaped(s.options.name), ": the first ", source.kind, " is made by step ", number,
                                   " (", step->comment, ")", iterations_text(loops, iterations)),
                       .expected = str("finite values", std::isfinite(bad.above) ? str(" up to ", bad.above) : "",
                                       " of ", source.expression),
                       .got = source.element + arguments_text(*step->node, bad),
                       .node = str(source.origin.text(), source.origin.in_gradient ? " (its gradient)" : ""),
                       .config = source.origin.config(),
                       .hint = wrote_shared ? kMayHaveChanged : ""});
}

}  // namespace thtrain
