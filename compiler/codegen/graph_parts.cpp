#include "compiler/codegen/graph_parts.h"

#include <utility>

#include "compiler/base/escape.h"
#include "compiler/codegen/code_lines.h"
#include "compiler/codegen/device_work.h"

namespace thtrain {

// May the host wait within an iteration, or a library be called that ends a graph?
static bool waits(const Region& region) {
  for (const auto& item : region.items) {
    if (std::holds_alternative<Branch>(item)) return true;
    if (const Loop* loop = std::get_if<Loop>(&item); loop && (loop->until || waits(*loop->body))) return true;
    const Step* step = std::get_if<Step>(&item);
    if (step && (std::holds_alternative<kernel::ReferenceCall>(step->code) || ends_graph(*step) ||
                 trusts_indices(*step) || !step->defines.empty()))
      return true;
  }
  return false;
}

void GraphParts::add(const Step& step) {
  const Dim times = loops_.empty() ? Dim(1) : loops_.back().times;
  if (std::holds_alternative<kernel::KernelCall>(step.code)) part_.kernels = part_.kernels + times;
  if (is_device_library(step) && !ends_graph(step)) part_.calls = part_.calls + times;
  if (std::holds_alternative<kernel::Transfer>(step.code)) part_.copies = part_.copies + times;
  part_.has_checks = part_.has_checks || DeviceWork::may_fail(step);
}

void GraphParts::enter(const Loop& loop) {
  const bool ends = loop.until || waits(*loop.body);
  loops_.push_back({&loop, ends, ends ? Dim(1) : loops_.empty() ? loop.count : loops_.back().times * loop.count});
}

size_t GraphParts::end(std::string why) {
  part_.end = std::move(why);
  for (const OpenLoop& open : loops_)
    if (open.waits) part_.loop = open.loop->comment;
  parts.push_back(std::exchange(part_, {}));
  return parts.size() - 1;
}

std::string text_of(const GraphPart& part) {
  auto count = [](const Dim& of, const char* one, const char* several) {
    return str(readable(of.text()), " ", of.is(1) ? one : several);
  };
  return str(part.has_branch ? "at most " : "", count(part.nodes(), "node", "nodes"), " (",
             count(part.kernels, "kernel", "kernels"),
             part.calls.is(0) ? "" : ", " + count(part.calls, "call of a library", "calls of libraries"), ", ",
             count(part.copies, "copy", "copies"), part.has_checks ? ", the word of failure" : "", "), up to ",
             part.end, part.loop.empty() ? "" : str(" in each iteration of ", part.loop));
}

std::string device_comment(const Program& program, const std::vector<GraphPart>& parts) {
  std::vector<std::string> there, here, in, out, of_host, of_libraries;
  for (const Buffer& buffer : program.buffers) {
    const bool is_named = buffer.kind != BufferKind::kTemporary && buffer.kind != BufferKind::kConstant;
    if (is_named) (buffer.on_device ? there : here).push_back(escaped(buffer.name));
  }
  for_each_step(program.body, [&](const Step& step) {
    if (std::holds_alternative<kernel::ReferenceCall>(step.code)) of_host.emplace_back(step.node->op->name);
    if (is_device_library(step)) of_libraries.push_back(std::get<kernel::LibraryCall>(step.code).function.name);
    if (!std::holds_alternative<kernel::Transfer>(step.code)) return;
    const auto buffer = [&](size_t k) { return program.buffers[static_cast<size_t>(step.operands[k].buffer)]; };
    (buffer(1).on_device ? in : out).push_back(escaped(buffer(buffer(1).on_device ? 0 : 1).name));
  });
  const auto list = [](const char* what, const std::vector<std::string>& names) {
    return lines_of(str("// ", what, ": ", names.empty() ? "none" : join(names, ", ")), 0, 0, "//     ");
  };
  std::string graphs;
  for (size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].nodes().is(0)) graphs += lines_of(str("// graph ", i, ": ", text_of(parts[i])), 0, 0, "//     ");
  return list("on the device", there) + list("on the host", here) + list("copied to the device", in) +
         list("copied to the host", out) + list("steps of the host", of_host) +
         (of_libraries.empty() ? "" : list("calls of libraries", of_libraries)) + graphs;
}

}  // namespace thtrain
