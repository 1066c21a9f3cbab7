#include "compiler/plan/program.h"

#include <algorithm>
#include <set>

namespace thtrain {

bool is_one_location(const BufferView& a, const BufferView& b) {
  return a.buffer == b.buffer && a.layout.offset == b.layout.offset && a.layout.strides == b.layout.strides;
}

size_t allocation_slot(const Program& program, const Buffer& buffer) {
  return buffer.index + (buffer.kind == BufferKind::kOutput ? 0 : program.graph.outputs.size());
}

bool writes_shared(const Program& program, const Step& step) {
  auto is_shared = [&](size_t k) {
    const int b = step.operands[k].buffer;
    return b >= 0 && program.buffers[static_cast<size_t>(b)].kind == BufferKind::kShared;
  };
  if (const auto* call = std::get_if<kernel::KernelCall>(&step.code)) {
    for (size_t i = 0; i < call->operands.size(); ++i)
      if (call->function->buffers[i].written && is_shared(static_cast<size_t>(call->operands[i]))) return true;
    return false;
  }
  for (size_t k = step.inputs; k < step.inputs + step.outputs; ++k)
    if (is_shared(k)) return true;
  return false;
}

bool is_device_library(const Step& step) {
  const auto* call = std::get_if<kernel::LibraryCall>(&step.code);
  return call && call->function.is_of_device;
}

bool ends_graph(const Step& step) {
  return is_device_library(step) && !std::get<kernel::LibraryCall>(step.code).function.joins_graph;
}

bool trusts_indices(const Step& step) {
  if (!is_device_library(step)) return false;
  const auto& arguments = std::get<kernel::LibraryCall>(step.code).arguments;
  return std::ranges::any_of(arguments, [&](const kernel::LibraryArgument& argument) {
    const auto* pointer = std::get_if<kernel::PointerTo>(&argument);
    if (!pointer) return false;
    const auto k = static_cast<size_t>(pointer->operand);
    return k < step.inputs && is_int(step.operands[k].type.dtype);
  });
}

std::vector<bool> inputs_read_by_host(const Program& program) {
  std::vector<bool> out;
  for (const Expr& input : program.graph.inputs)  // whose value may be a length
    out.push_back(input.type().is_scalar() && !is_float(input.dtype()) && !is_complex(input.dtype()));
  const auto note = [&](const BufferView& view) {
    if (view.buffer < 0) return;
    const Buffer& buffer = program.buffers[static_cast<size_t>(view.buffer)];
    if (buffer.kind == BufferKind::kInput) out[buffer.index] = true;
  };
  for_each_step(program.body, [&](const Step& step) {
    if (!std::holds_alternative<kernel::Transfer>(step.code)) std::ranges::for_each(step.operands, note);
    for (const LengthDefinition& length : step.defines) note(length.value);
  });
  for_each_condition(program.body, note);
  return out;
}

bool may_fail(const Step& step) {
  const auto* call = std::get_if<kernel::KernelCall>(&step.code);
  // A processor's function has a status.
  if (!call) return !std::holds_alternative<kernel::LibraryCall>(step.code) || is_device_library(step);
  auto is_check = [](auto& length) { return std::holds_alternative<kernel::RuntimeCheck>(length); };
  return call->function->is_of_device() || std::ranges::any_of(call->lengths, is_check);
}

void for_each_step(const RegionItem& item, const std::function<void(const Step&)>& visit) {
  if (const Step* step = std::get_if<Step>(&item)) {
    visit(*step);
  } else if (const Loop* loop = std::get_if<Loop>(&item)) {
    for_each_step(*loop->body, visit);
  } else {
    const Branch& branch = std::get<Branch>(item);
    for_each_step(*branch.then, visit);
    for_each_step(*branch.otherwise, visit);
  }
}
void for_each_step(const Region& region, const std::function<void(const Step&)>& visit) {
  for (const RegionItem& item : region.items) for_each_step(item, visit);
}

static void collect_steps(const Region& region, std::vector<const Loop*>& loops, std::vector<StepInLoops>& out) {
  for (const auto& item : region.items) {
    if (const Step* step = std::get_if<Step>(&item)) {
      out.push_back({step, loops});
    } else if (const Loop* loop = std::get_if<Loop>(&item)) {
      loops.push_back(loop);
      collect_steps(*loop->body, loops, out);
      loops.pop_back();
    } else {
      const Branch& branch = std::get<Branch>(item);
      collect_steps(*branch.then, loops, out);
      collect_steps(*branch.otherwise, loops, out);
    }
  }
}

std::vector<StepInLoops> steps_in_loops(const Region& region) {
  std::vector<const Loop*> loops;
  std::vector<StepInLoops> out;
  collect_steps(region, loops, out);
  return out;
}

void for_each_condition(const Region& region, const std::function<void(const BufferView&)>& visit) {
  for (const auto& item : region.items) {
    if (const Loop* loop = std::get_if<Loop>(&item)) {
      for_each_condition(*loop->body, visit);
      if (loop->until) visit(*loop->until);
    } else if (const Branch* branch = std::get_if<Branch>(&item)) {
      visit(branch->condition);
      for_each_condition(*branch->then, visit);
      for_each_condition(*branch->otherwise, visit);
    }
  }
}

size_t after_definitions(const Region& region, size_t begin, const Dims& lengths) {
  std::set<std::string> names;
  for (const Dim& length : lengths) length.collect_names(names);
  size_t out = begin;
  for (size_t i = begin; i < region.items.size(); ++i)
    if (const Step* step = std::get_if<Step>(&region.items[i]))
      for (const LengthDefinition& length : step->defines)
        if (names.contains(length.name)) out = i + 1;
  return out;
}

size_t after_last_write(const Region& region, size_t begin, int buffer) {
  size_t out = begin;
  for (size_t i = begin; i < region.items.size(); ++i)
    for_each_step(region.items[i], [&](const Step& step) {
      for (size_t k = step.inputs; k < step.inputs + step.outputs; ++k)
        if (step.operands[k].buffer == buffer) out = i + 1;
    });
  return out;
}

}  // namespace thtrain
