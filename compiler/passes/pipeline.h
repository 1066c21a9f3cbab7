// The table of passes and its runner: logs, times, verifies, and can leave any pass out by name.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/passes/pass.h"

namespace thtrain {

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// In order of execution. The stage is what `explain --stage` calls the graph after its last pass.
struct PipelineEntry {
  Pass pass;
  std::string stage;  // "canonical", "stable", "specialized", "fused"
};
const std::vector<PipelineEntry>& pipeline();

// ---- functions ------------------------------------------------------------------------------------------------------

/// What a pass did: Explanation::passes.
struct PassRecord {
  std::string name, what = {}, stage = {};
  double seconds = 0;
  size_t nodes_before = 0, nodes_after = 0;
  Graph after = {};  // kept only where PipelineOptions::keep_graphs is set
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

struct PipelineOptions {
  Level level = Level::kStandard;
  std::set<std::string> without = {};  // passes and rules left out; UserError for an unknown name
  std::vector<Pass> extra = {};        // a program's own passes, before all others
  bool keep_graphs = false;
  bool verify = false;                  // types and structure, after every pass
  std::vector<Fired>* fired = nullptr;  // each under the name of the pass that ran, in their order
  std::vector<PassRecord>* records = nullptr;
  const kernel::Chooser* chooser = nullptr;  // the one that the plan will ask; null: nothing gets an epilogue
  kernel::Target target = {};                // that the graph is compiled for
};

Graph optimize(const Graph& graph, const PipelineOptions& options);

/// Runs a pass on a graph and on all bodies of its loops and branches, the innermost first unless Pass::bodies_last.
/// The graph itself where the pass does not run at that level, or needs a chooser that is not there.
Graph run_pass(const Pass& pass, const Graph& graph, const PassContext& context);

/// UserError where a name is that of no pass and no rule.
void require_rewrites(const std::set<std::string>& names);
/// That there is no pass and no rule of that name, with the nearest one; nullopt where there is. `where` begins the
/// message.
std::optional<Message> unknown_rewrite(const std::string& name, const std::string& where = {});

/// What a cached program depends on: names and order of the passes, level, what was left out.
std::string pipeline_text(const PipelineOptions& options);

}  // namespace thtrain
