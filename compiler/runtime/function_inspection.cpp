// What a function tells about itself: its profile, the stages of its compilation, what was compiled.
#include "compiler/base/content_hash.h"
#include "compiler/base/escape.h"
#include "compiler/codegen/emit.h"
#include "compiler/ir/print.h"
#include "compiler/ir/roles.h"
#include "compiler/plan/program.h"
#include "compiler/runtime/debug.h"
#include "compiler/runtime/function.h"
#include "compiler/runtime/function_state.h"
#include "compiler/runtime/profiler.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/tuner.h"

namespace thtrain {

void Function::start_profile() {
  State& s = state_behind(state_);
  const CallScope scope(*s.mark, name());
  take_pending(s, true);
  settle(s);
  s.program = with_probes(s, s.options.mode == Mode::kNative ? Probes::kLaunches : Probes::kSteps);
  if (!s.device) s.instrumented = s.program;
  s.bound = false;                                  // it may need more memory
  if (!s.guard) s.context.probe = Profiler::probe;  // the guard calls it
  s.profiler = std::make_shared<Profiler>(s);
}

Profile Function::profile() const {
  const State& s = state_behind(state_);
  if (!s.profiler)
    throw UserError(Message{.what = escaped(name()) + ": no call was profiled", .hint = "call start_profile() first"});
  return s.profiler->profile(s);
}

Explanation Function::explain() const {
  const State& s = state_behind(state_);
  Explanation out;
  out.graph = text_with_roles(s.graph);
  const Tuner tuner = answered_tuner(s);
  const CompileOptions compiling = compile_options(s);
  const kernel::Target& target = compiling.target;
  PipelineOptions options{.level = s.options.level,
                          .without = s.options.without,
                          .extra = s.options.extra_passes,
                          .keep_graphs = true,
                          .fired = &out.fired,
                          .records = &out.passes,
                          .chooser = &tuner,
                          .target = target};
  Graph optimized = optimize(s.canonical.graph, options);
  for (const PassRecord& record : out.passes)
    if (record.stage == "canonical") out.canonical = text_with_roles(record.after);
  out.fused = text_with_roles(optimized);
  out.given = s.canonical.graph;
  out.plan = std::make_shared<const Program>(plan(optimized, s.canonical.value_checks, plan_options(compiling, tuner)));
  out.program = program_text(*out.plan);
  const Source source = emit_cpp(*out.plan);
  const SourceText& text = source.text;
  out.cpp = whole_text(text);
  if (text.language == kernel::Language::kCuda)
    out.device = str(device_comment(*out.plan, source.graphs), "\n", device_text(text));
  return out;
}

const ProgramInfo& Function::info() const {
  State& s = state_behind(state_);
  if (const CompiledProgram* program = s.program ? s.program.get() : s.prepared_program.get()) {
    const ProgramImage& image = program->image;
    s.info.from_cache = program->from_cache;
    s.info.kernels = image.source.kernels.size();
    s.info.arena_bytes = image.arena_bytes.is_known() ? image.arena_bytes.value() : -1;
    s.info.memory_bound = image.lower_bound.is_known() ? image.lower_bound.value() : -1;
    s.info.reference_steps.clear();
    for (const ReferenceStep& step : image.reference_steps) s.info.reference_steps.push_back(step.node->op->name);
    s.info.choices = image.choices;
    s.info.seconds_passes = program->seconds_passes;
    if (s.program) s.info.seconds_compile = s.program->seconds_compile;
  }
  s.info.graphs.clear();
  if (s.device)
    for (const auto& [place, graph] : s.device->graphs())
      s.info.graphs.push_back({graph.nodes(), graph.launches(), graph.builds(), graph.changes()});
  return s.info;
}

bool Function::is_native() const {
  return state_behind(state_).program != nullptr;
}

std::string Function::identity() const {
  const State& s = state_behind(state_);
  return content_hash(
      {graph_text(s.canonical.graph), str(static_cast<int>(s.options.mode)), str(static_cast<int>(s.options.level))});
}

const std::string& Function::name() const {
  return state_behind(state_).options.name;
}

}  // namespace thtrain
