#include "compiler/plan/plan_scope.h"

#include <algorithm>

#include "compiler/ir/op.h"

namespace thtrain {

size_t PlanScope::number_of(const Expr& e) {
  auto [first, fresh] = first_.try_emplace(&e.node(), values_.size());
  if (fresh) values_.resize(values_.size() + e.node().types.size());
  return first + e.output();
}

std::vector<size_t>& PlanScope::values_in(int buffer) {
  if (values_in_.size() <= static_cast<size_t>(buffer)) values_in_.resize(static_cast<size_t>(buffer) + 1);
  return values_in_[static_cast<size_t>(buffer)];
}

const BufferView& PlanScope::view_of(const Expr& e) {
  const Value& v = value(e);
  TH_CHECK(v.view, "a value is read before it is computed: ", e.node().op->name);
  return *v.view;
}

void PlanScope::set(const Expr& e, BufferView view) {
  const size_t number = number_of(e);
  if (view.buffer >= 0) values_in(view.buffer).push_back(number);
  values_[number].view = std::move(view);
}

void PlanScope::set_copy(const Expr& e, int buffer) {
  const size_t number = number_of(e);
  values_[number].copy = buffer;
  values_in(buffer).push_back(number);
}

const BufferView* PlanScope::derived_from(const Expr& e, const std::string& recipe) {
  const auto found = derived_.find({number_of(e), recipe});
  return found == derived_.end() ? nullptr : &found->second;
}

void PlanScope::set_derived(const Expr& e, const std::string& recipe, BufferView view) {
  derived_.emplace(std::pair{number_of(e), recipe}, std::move(view));
}

bool PlanScope::note_place(const Node& node) {
  const bool on_host = lies_on_host(node, [&](const Expr& input) { return value(input).on_host; });
  for (size_t o = 0; o < node.types.size(); ++o) value(node[o]).on_host = on_host;
  return on_host;
}

bool PlanScope::is_used(const Expr& e) {
  const Value& v = value(e);
  return v.is_read || v.last_reader == kForever;
}

bool PlanScope::is_dead(int buffer) const {
  if (outer && !outer->is_dead(buffer)) return false;
  if (values_in_.size() <= static_cast<size_t>(buffer)) return true;
  const std::vector<size_t>& inside = values_in_[static_cast<size_t>(buffer)];
  return std::all_of(inside.begin(), inside.end(),
                     [&](size_t number) { return values_[number].last_reader <= position; });
}

}  // namespace thtrain
