// A pass of the pipeline by itself, as the pipeline's runner runs it.
#pragma once

#include <algorithm>
#include <string>

#include "compiler/passes/pipeline.h"

namespace thtrain {

inline Graph run_pass(const std::string& name, const Graph& graph, const PassContext& context = {}) {
  const auto at = std::ranges::find_if(pipeline(), [&](const PipelineEntry& entry) { return entry.pass.name == name; });
  TH_CHECK(at != pipeline().end(), "no pass is called ", name);
  return run_pass(at->pass, graph, context);
}

}  // namespace thtrain
