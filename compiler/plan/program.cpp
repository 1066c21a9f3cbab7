#include "compiler/plan/program.h"

namespace thtrain {

bool is_one_place(const BufferView& a, const BufferView& b) {
  return a.buffer == b.buffer && a.layout.offset == b.layout.offset && a.layout.strides == b.layout.strides;
}

size_t allocation_slot(const Program& program, const Buffer& buffer) {
  return buffer.index + (buffer.kind == BufferKind::kOutput ? 0 : program.graph.outputs.size());
}

void for_each_step(const Region& region, const std::function<void(const Step&)>& visit) {
  for (const auto& item : region.items) {
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

}  // namespace thtrain
