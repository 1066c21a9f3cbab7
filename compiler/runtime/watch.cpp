// Calls of a program with probes: who watches sees the operands of each step.
#include <utility>

#include "compiler/runtime/arguments.h"
#include "compiler/runtime/data_lengths.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {

Tensor operand_of(const Function::State& s, const Step& step, size_t k, void* const* buffers) {
  const BufferView& view = step.operands[k];
  if (view.buffer < 0) return Tensor(false);
  const Lengths& lengths = s.canonical_lengths;
  Shape shape = lengths.evaluate(view.type.dims), strides = lengths.evaluate(view.layout.strides);
  if (s.program->plan->buffers[static_cast<size_t>(view.buffer)].on_device)
    return Tensor::wrap(view.type.dtype, std::move(shape), std::move(strides), buffers[k], s.device->on().memory)
        .on_host();
  return Tensor::wrap(view.type.dtype, std::move(shape), std::move(strides), buffers[k], nullptr);
}

static void on_probe(ThContext* context, int number, int after, void* const* buffers, const long*) {
  Function::State& s = *static_cast<Function::State*>(context->host);
  if (!s.observer || s.failure) return;
  wait_for_device(context);
  if (context->failure.word) return;
  try {
    const Step& step = *steps_in_loops(s.program->plan->body)[static_cast<size_t>(number)].step;
    read_lengths(s);
    std::vector<Tensor> operands;
    for (size_t i = 0; i < step.operands.size(); ++i) operands.push_back(operand_of(s, step, i, buffers));
    (*s.observer)({static_cast<size_t>(number), after != 0, step.node, operands, step.inputs, step.outputs,
                   std::span(buffers, operands.size())});
  } catch (...) {
    s.fail(std::current_exception());
  }
}

std::shared_ptr<const CompiledProgram> with_probes(const Function::State& s, Probes probes) {
  if (!s.program)
    throw UserError(Message{.what = s.options.name + ": there is no native program to watch",
                            .hint = "compile the function in native or debug mode"});
  if (s.instrumented && (probes == Probes::kSteps || !s.device)) return s.instrumented;
  CompileOptions options = compile_options(s);
  options.probes = probes;
  CompileOutcome outcome = compile(s.canonical, options);
  if (!outcome.program) throw UserError(Message{.what = str(s.options.name, ": ", outcome.reason)});
  return outcome.program;
}

std::vector<Tensor> watched_call(Function::State& s, std::span<const Tensor> inputs,
                                 const std::function<void(const StepEvent&)>& callback) {
  take_pending(s, true);
  std::vector<Tensor> converted;
  inputs = in_own_dtypes(s, inputs, converted);
  s.instrumented = with_probes(s, Probes::kSteps);
  settle(s);
  std::shared_ptr<const CompiledProgram> usual = s.program;
  s.program = s.instrumented;
  s.bound = false;  // it may need more memory
  s.observer = &callback;
  auto probe = std::exchange(s.context.probe, on_probe);
  auto profiler = std::exchange(s.profiler, nullptr);
  auto restore = [&] {
    s.context.probe = probe;
    s.profiler = profiler;
    s.observer = nullptr;
    s.program = usual;
    s.bound = false;
  };
  try {
    std::vector<Tensor> out = call_program(s, inputs);
    restore();
    return out;
  } catch (...) {
    restore();
    throw;
  }
}

std::vector<Tensor> Function::watch(std::span<const Tensor> inputs,
                                    const std::function<void(const StepEvent&)>& callback) {
  State& s = state_behind(state_);
  const CallScope scope(*s.mark, name());
  std::vector<Tensor> completed;
  std::vector<Tensor> out = watched_call(s, with_own_values(s, inputs, completed), callback);
  take_next_values(s, out);
  return out;
}

}  // namespace thtrain
