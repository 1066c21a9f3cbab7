#include "compiler/passes/pipeline.h"

#include <algorithm>
#include <chrono>

#include "compiler/base/escape.h"
#include "compiler/base/nearest_name.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/batch_loops.h"
#include "compiler/passes/canonicalize.h"
#include "compiler/passes/choose_gradients.h"
#include "compiler/passes/constant_fold.h"
#include "compiler/passes/drop_gradient_ops.h"
#include "compiler/passes/find_gemm.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/fuse_epilogues.h"
#include "compiler/passes/fuse_layers.h"
#include "compiler/passes/fuse_matvec_update.h"
#include "compiler/passes/fuse_pooling.h"
#include "compiler/passes/fuse_reductions.h"
#include "compiler/passes/fuse_scatters.h"
#include "compiler/passes/hoist_from_loops.h"
#include "compiler/passes/inline_calls.h"
#include "compiler/passes/merge.h"
#include "compiler/passes/merge_loops.h"
#include "compiler/passes/place_values.h"
#include "compiler/passes/read_starts.h"
#include "compiler/passes/rules.h"
#include "compiler/passes/solve_for_inverses.h"
#include "compiler/passes/stabilize.h"
#include "compiler/passes/trim_loops.h"

namespace thtrain {

bool allowed(Safety safety, Level level) {
  switch (level) {
    case Level::kStrict:
      return safety == Safety::kExact;
    case Level::kStandard:
      return safety != Safety::kFiniteMath;
    case Level::kFast:
      return true;
  }
  return false;
}

const std::vector<PipelineEntry>& pipeline() {
  constexpr Safety reassociating = Safety::kReassociating;
  static const std::vector<PipelineEntry> table{
      {{"choose_gradients", "stable_gradient(plain, stable) -> stable", choose_gradients}, "canonical"},
      {{"solve_for_inverses", "dot(inverse(a), b) -> solve(a, b)", solve_for_inverses, reassociating}, "canonical"},
      {{"drop_gradient_ops", "stop_gradient(x) -> x", drop_gradient_ops}, "canonical"},
      {{"inline_calls", "graph_call(x -> exp(x)) -> exp(x)", inline_calls}, "canonical"},
      {{"place_values", "tanh(y) + on_host(x) -> on_host(tanh(y)) + on_host(x)", place_values}, "canonical"},
      {{"merge", "f(x) + f(x) -> let y = f(x) in y + y", merge}, "canonical"},
      {{"constant_fold", "exp(0.0) * x -> 1.0 * x", constant_fold}, "canonical"},
      {{"canonicalize", "-(-x) + 0 + x -> 2 * x", canonicalize}, "canonical"},
      {{"stabilize", "log(1 + exp(x)) -> softplus(x)", stabilize}, "stable"},
      {{"constant_fold_again", "constant_fold again, on what the rules made constant", constant_fold}, "stable"},
      {{"merge_loops", "scan(s -> f(s)), scan(s -> f(s), g(s)) -> scan(s -> f(s), g(s))", merge_loops}, "specialized"},
      {{.name = "trim_loops",
        .what = "scan(a, b -> f(a), g(a, b))[0] -> scan(a -> f(a))[0]",
        .run = trim_loops,
        .bodies_last = true},
       "specialized"},
      {{"hoist_from_loops", "scan(s + dot(A, c)) -> let y = dot(A, c) in scan(s + y)", hoist_from_loops},
       "specialized"},
      {{"batch_loops", "scan(h -> f(dot(u_t, W), h)) -> let z = dot(u, W) in scan(h -> f(z_t, h))", batch_loops,
        reassociating},
       "specialized"},
      {{"find_gemm", "W - lr * dot(x.T, d) -> gemm(W, -lr, x.T, d, 1)", find_gemm, reassociating}, "specialized"},
      {{"fuse_matvec_update", "dot(d, W.T), W - x * d -> sum(W * d, 1), W - x * d", fuse_matvec_update, reassociating},
       "specialized"},
      {{"read_starts", "x[start : start + 2] -> copy of it by a kernel that reads start", read_starts}, "specialized"},
      {{"fuse_reductions", "exp(x) / sum(exp(x), 1) -> fused_reduction(x)", fuse_reductions}, "fused"},
      {{.name = "fuse_pooling",
        .what = "max_pool(conv(x, w)) -> pooled_conv(x, w)",
        .run = fuse_pooling,
        .needs_chooser = true},
       "fused"},
      {{.name = "fuse_layers",
        .what = "relu(dot(x, W) + b) -> fused_product(x, W, b), by cuBLASLt",
        .run = fuse_layers,
        .needs_chooser = true},
       "fused"},
      {{.name = "fuse_epilogues",
        .what = "tanh(dot(x, W) + b) -> fused_product(x, W, b)",
        .run = fuse_epilogues,
        .needs_chooser = true},
       "fused"},
      {{"fuse_elementwise", "tanh(x + b) -> fused(x, b)", fuse_elementwise}, "fused"},
      {{"fuse_scatters", "scatter(W, fused(d), idx) -> fused_scatter(W, d, idx)", fuse_scatters}, "fused"},
  };
  return table;
}

static bool runs(const Pass& pass, const PassContext& context) {
  return allowed(pass.safety, context.level) && (!pass.needs_chooser || context.chooser);
}

Graph run_pass(const Pass& pass, const Graph& graph, const PassContext& context) {
  if (!runs(pass, context)) return graph;
  const auto inside = [&](const Graph& around) {
    return map_bodies(around, [&](const Graph& body) { return run_pass(pass, body, context); });
  };
  return pass.bodies_last ? inside(pass.run(graph, context)) : pass.run(inside(graph), context);
}

std::optional<Message> unknown_rewrite(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const PipelineEntry& entry : pipeline()) names.push_back(entry.pass.name);
  for (const Rule* rule : all_rules()) names.push_back(rule->name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return std::nullopt;
  const std::string near = nearest_name(name, names);
  return Message{.what = str(where, "there is no pass and no rule named ", escaped(name)),
                 .expected = str("a rule that `thtrain explain --stage=passes` counts, or a pass: ",
                                 join(pipeline(), ", ", [](const PipelineEntry& e) { return e.pass.name; })),
                 .hint = near.empty() ? "" : str("did you mean ", near, "?")};
}

void require_rewrites(const std::set<std::string>& names) {
  for (const std::string& name : names)
    if (const std::optional<Message> unknown = unknown_rewrite(name)) throw UserError(*unknown);
}

Graph optimize(const Graph& graph, const PipelineOptions& options) {
  require_rewrites(options.without);
  Graph current = graph;
  const PassContext context{options.level, options.fired, options.chooser, options.target, options.without};
  const bool bodies = !options.extra.empty() || has_bodies(graph);  // a program's own passes may make some
  std::vector<PipelineEntry> entries;
  for (const Pass& pass : options.extra) entries.push_back({pass, "canonical"});
  for (const PipelineEntry& entry : pipeline())
    if (!options.without.count(entry.pass.name)) entries.push_back(entry);
  for (const PipelineEntry& entry : entries) {
    size_t before = options.records ? node_count(current) : 0, noted = options.fired ? options.fired->size() : 0;
    auto start = std::chrono::steady_clock::now();
    const bool is_flat = !bodies && runs(entry.pass, context);
    Graph next = is_flat ? entry.pass.run(current, context) : run_pass(entry.pass, current, context);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (size_t i = noted; options.fired && i < options.fired->size(); ++i) (*options.fired)[i].pass = entry.pass.name;
    if (options.verify) {
      verify(next, entry.pass.name);
      TH_CHECK(next.effects.size() == current.effects.size(), "after ", entry.pass.name, ": the effects are gone");
    }
    current = std::move(next);
    if (options.records)
      options.records->push_back({entry.pass.name, entry.pass.what, entry.stage, seconds, before, node_count(current),
                                  options.keep_graphs ? current : Graph{}});
  }
  return current;
}

std::string pipeline_text(const PipelineOptions& options) {
  std::string out = str("level ", static_cast<int>(options.level));
  for (const PipelineEntry& entry : pipeline())
    if (!options.without.count(entry.pass.name)) out += str(" ", entry.pass.name);
  for (const std::string& name : options.without) out += str(" -", name);
  return out;
}

}  // namespace thtrain
