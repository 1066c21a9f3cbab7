#include "compiler/runtime/profiler.h"

#include <algorithm>

#include "compiler/ops/cost.h"
#include "compiler/plan/program.h"
#include "compiler/plan/step_roles.h"

namespace thtrain {
namespace {

double between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Of a launch of several kernels: "tanh, gemm, 2 x mul".
std::string name_of_step(const Step& step) {
  if (step.parts.empty()) return step.node ? step.node->op->name : step.comment;
  std::vector<std::pair<std::string, int>> names;
  for (const Step& part : step.parts) {
    const std::string name = name_of_step(part);
    const auto known = std::ranges::find(names, name, &std::pair<std::string, int>::first);
    if (known == names.end())
      names.emplace_back(name, 1);
    else
      ++known->second;
  }
  return join(names, ", ", [](const auto& of) { return of.second > 1 ? str(of.second, " x ", of.first) : of.first; });
}

// Of several in one launch, where all belong to the same.
std::string scope_of(const Step& step) {
  const auto own = [](const Step& of) { return of.origin.scope ? of.origin.scope->path : std::string(); };
  const bool is_one =
      std::ranges::all_of(step.parts, [&](const Step& part) { return own(part) == own(step.parts[0]); });
  return !is_one ? std::string() : own(step.parts.empty() ? step : step.parts[0]);
}

// A node of several steps does its work in the last: the others copy or check.
Cost cost_of_step(const Step& step, const Step* next) {
  Cost out;
  for (size_t i = 0; i < step.parts.size(); ++i) {
    const Cost cost = cost_of_step(step.parts[i], i + 1 < step.parts.size() ? &step.parts[i + 1] : next);
    out = {out.flops + cost.flops, out.bytes + cost.bytes};
  }
  if (!step.parts.empty()) return out;
  const bool prepares = step.node && next && next->node == step.node;
  if (step.node && !prepares) return cost_of(*step.node);
  for (const BufferView& view : step.operands)
    out.bytes = out.bytes + view.type.elements() * Dim(static_cast<int64_t>(size_of(view.type.dtype)));
  return out;
}

std::string code_of(const Step& step) {
  if (const auto* kernel = std::get_if<kernel::KernelCall>(&step.code)) return "kernel " + kernel->function->name;
  if (const auto* library = std::get_if<kernel::LibraryCall>(&step.code)) return text_of(step, *library);
  if (std::holds_alternative<kernel::Transfer>(step.code)) return "transfer";
  return "reference of " + step.node->op->name;
}

}  // namespace

Profiler::Profiler(const Function::State& state) {
  size_t steps = 0;
  for_each_step(state.program->plan->body, [&](const Step&) { ++steps; });
  sums_.resize(steps);
  if (state.device) state.device->start_timing();
}

void Profiler::begin_call() {
  call_began_ = Clock::now();
  if (calls_ == 0) first_ = call_began_;
}

void Profiler::end_call() {
  seconds_ += between(call_began_, Clock::now());
  ++calls_;
}

void Profiler::probe(ThContext* context, int step, int after, void* const*, const long*) {
  Profiler& self = *static_cast<Function::State*>(context->host)->profiler;
  wait_for_device(context);
  Clock::time_point now = Clock::now();
  DeviceCalls* device = static_cast<Function::State*>(context->host)->device.get();
  const double on_device = device ? device->take_seconds() : 0;
  if (!after) {
    self.step_began_ = now;
    return;
  }
  Sum& sum = self.sums_[static_cast<size_t>(step)];
  double seconds = on_device > 0 ? on_device : between(self.step_began_, now);
  ++sum.calls;
  sum.seconds += seconds;
  if (self.calls_ < Profile::kTimedCalls)
    self.time_line_.push_back(
        {static_cast<size_t>(step), self.calls_, between(self.first_, self.step_began_), seconds});
}

Profile Profiler::profile(const Function::State& state) const {
  Profile out;
  out.function = state.options.name;
  out.threads = state.context.threads;
  out.calls = calls_;
  out.seconds = seconds_;
  out.time_line = time_line_;
  if (state.device)
    out.clock = str("events of the ", state.device->on().device.name(),
                    state.program->plan->target.is_emulated() ? ", whose clock is the host's" : "");
  const ProgramImage& image = state.program->image;
  if (image.arena_bytes.is_known()) out.arena_bytes = image.arena_bytes.value();
  if (image.lower_bound.is_known()) out.memory_bound = image.lower_bound.value();
  const std::vector<StepInLoops> steps = steps_in_loops(state.program->plan->body);
  const std::vector<Roles> roles = step_roles(*state.program->plan);
  for (size_t next = 0; next < steps.size(); ++next) {
    const Step& step = *steps[next].step;
    StepProfile record;
    record.step = name_of_step(step);
    record.code = code_of(step);
    record.scope = scope_of(step);
    record.role = text_of(roles[next]);
    record.loop = join(steps[next].loops, " / ", [](const Loop* loop) { return loop->comment; });
    const auto* kernel = std::get_if<kernel::KernelCall>(&step.code);
    record.is_on_device = (kernel && kernel->function->is_of_device()) || is_device_library(step) ||
                          std::holds_alternative<kernel::Transfer>(step.code);
    record.calls = sums_[next].calls;
    record.seconds = sums_[next].seconds;
    const Cost cost = cost_of_step(step, next + 1 < steps.size() ? steps[next + 1].step : nullptr);
    if (calls_ > 0) {
      record.flops = static_cast<double>(state.canonical_lengths.evaluate(cost.flops));
      record.bytes = static_cast<double>(state.canonical_lengths.evaluate(cost.bytes));
    }
    out.steps.push_back(std::move(record));
  }
  return out;
}

}  // namespace thtrain
