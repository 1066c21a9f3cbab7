#include "compiler/runtime/compile.h"

#include <algorithm>
#include <chrono>
#include <future>

#include "compiler/base/build_info.h"
#include "compiler/base/clock.h"
#include "compiler/base/content_hash.h"
#include "compiler/ir/print.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/ops/registry.h"
#include "compiler/tuning/refusals.h"

namespace thtrain {
namespace {

constexpr const char* kEntryName = "thtrain_entry";

// Where messages point to is part of a finished program: a source line that moved gives another key.
std::string origins_text(const Graph& graph) {
  std::string out;
  const Origin* last = nullptr;
  for (const Node* node : topological_order(graph.roots())) {
    const Origin& o = node->origin;
    if (last && last->line == o.line && last->scope == o.scope && std::string_view(last->file) == o.file) continue;
    last = &o;
    out += str(o.file, ":", o.line);
    if (o.scope)
      out += str(" ", o.scope->path, " ", o.scope->config.file, ":", o.scope->config.line, ":", o.scope->config.column,
                 " ", o.scope->config.source_line);
    out += "\n";
  }
  return out;
}

// Why there is no code for the program's image, or "" and the code. Kernels of a device are compiled beside the entry.
std::string load(CompiledProgram& program, const kernel::Target& target) {
  const auto start = std::chrono::steady_clock::now();
  std::future<std::shared_ptr<const DeviceProgram>> device;
  if (target.is_device())
    device = std::async(std::launch::async, [&] {
      return std::make_shared<const DeviceProgram>(device_of(target), program.image.source, program.image.constants);
    });
  const LoadedObject loaded = cache().load_object(program.image.source, kEntryName);
  if (!loaded.object) return loaded.reason;
  if (device.valid()) program.device = device.get();
  program.object = loaded.object;
  program.entry = reinterpret_cast<ThEntry>(loaded.object->symbol(kEntryName));
  program.seconds_compile = seconds_since(start);
  return {};
}

}  // namespace

TunerOptions tuner_options(const CompileOptions& options) {
  return {.target = options.target,
          .policy = options.tune,
          .threads = options.threads,
          .tolerance = options.pipeline.level == Level::kStrict ? 0 : options.conv_tolerance,
          .taken = options.candidates,
          .lists = options.candidate_lists,
          .allow_wrong_results = options.allow_wrong_results};
}

PlanOptions plan_options(const CompileOptions& options, const Tuner& tuner) {
  return {.target = options.target,
          .threads = options.threads,
          .chooser = &tuner,
          .merge_launches = options.target.is_device() && options.probes != Probes::kSteps && wants_device_graphs(),
          .early_outputs = options.early_outputs,
          .mutable_inputs = options.mutable_inputs,
          .internal_outputs = options.internal_outputs};
}

PreparedProgram prepare(const CanonicalGraph& canonical, const CompileOptions& options) {
  auto program = std::make_shared<CompiledProgram>();
  const RefusalScope refusals;
  const kernel::Target& target = options.target;
  const UserOps user = user_ops_of(canonical.graph);
  bool use_cache = options.use_cache && options.pipeline.extra.empty() && options.probes == Probes::kNone &&
                   !options.pipeline.records && !options.pipeline.fired && user.have_versions;
  Tuner tuner(tuner_options(options));
  std::string key;
  if (use_cache) {
    key = content_hash(
        {graph_text(canonical.graph), origins_text(canonical.graph), pipeline_text(options.pipeline), build_id,
         str(target.text(), " threads ", options.threads, " abi ", TH_ABI_VERSION, " mutable ",
             join(options.mutable_inputs, " ", [](size_t i) { return str(i); }), " internal ",
             join(options.internal_outputs, " ", [](size_t i) { return str(i); }), " on host ",
             join(shared_leaves(canonical.graph), "",
                  [](const Expr& leaf) { return leaf.node().shared->stays_on_host ? "1" : "0"; }),
             target.is_device() && !wants_device_graphs() ? " launches apart" : "",
             options.early_outputs ? " early outputs" : ""),
         join(options.candidates, "; ", [](const TakenCandidate& c) { return str(c.computation, " ", c.candidate); })});
    if (std::optional<std::string> bytes = cache().load_program(key))
      if (std::optional<ProgramImage> image = from_bytes(*bytes, user.ops); image && tuner.agrees(image->choices)) {
        program->image = std::move(*image);
        program->from_cache = true;
        program->library = library_table(program->image.source.libraries);
        if (load(*program, target).empty()) return {.program = program, .key = key};
        *program = {};
      }
  }

  auto start = std::chrono::steady_clock::now();
  PipelineOptions pipeline = options.pipeline;
  pipeline.chooser = &tuner;
  pipeline.target = target;
  Graph optimized = optimize(canonical.graph, pipeline);
  auto planned = std::make_shared<Program>(plan(optimized, canonical.value_checks, plan_options(options, tuner)));
  Source source =
      emit_cpp(*planned, {.probes = options.probes != Probes::kNone, .early_outputs = options.early_outputs});
  ProgramImage& image = program->image;
  image.source = std::move(source.text);
  program->library = library_table(image.source.libraries);
  image.checks = std::move(source.checks);
  image.choices = tuner.answers();
  image.constants = planned->constants;
  image.arena_bytes = planned->memory.arena_bytes;
  image.lower_bound = planned->memory.lower_bound;
  image.host_bytes = planned->memory.host_bytes;
  image.on_device.resize(planned->shared.size());
  for (const Buffer& buffer : planned->buffers)
    if (buffer.kind == BufferKind::kShared) image.on_device[buffer.index] = buffer.on_device;
  image.read_by_host = inputs_read_by_host(*planned);
  std::vector<Expr> leaves = shared_leaves(canonical.graph);
  for (const Expr& leaf : planned->shared) {
    auto at = std::find_if(leaves.begin(), leaves.end(), [&](const Expr& e) { return e.same(leaf); });
    TH_CHECK(at != leaves.end(), "a pass brought in the shared variable ", leaf.name());
    image.shared_order.push_back(static_cast<size_t>(at - leaves.begin()));
  }
  image.reference_steps = reference_steps_of(*planned);
  program->plan = planned;
  program->seconds_passes = seconds_since(start);

  return {program, key, user.ops, use_cache};
}

CompileOutcome finish(const PreparedProgram& prepared) {
  const std::shared_ptr<CompiledProgram>& program = prepared.program;
  if (program->object) return {program, {}};
  if (std::string reason = load(*program, program->plan->target); !reason.empty()) return {nullptr, std::move(reason)};
  if (prepared.is_stored)
    if (std::optional<std::string> bytes = to_bytes(program->image, prepared.user_ops))
      cache().store_program(prepared.key, *bytes);
  return {program, {}};
}

CompileOutcome compile(const CanonicalGraph& canonical, const CompileOptions& options) {
  return finish(prepare(canonical, options));
}

}  // namespace thtrain
