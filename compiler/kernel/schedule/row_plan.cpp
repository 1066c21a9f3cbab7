#include "compiler/kernel/schedule/row_plan.h"

#include <algorithm>

namespace thtrain::kernel {
namespace {

constexpr int64_t kWorthCaching = 8;           // operations that cost more than a store and a load
constexpr int64_t kCachedRowBytes = 64 << 10;  // of all cached rows

using Kind = Nest::Value::Kind;

// Of each value: does its own location move along a row?
std::vector<bool> moving_locations(const Nest& nest, const Tracks& tracks) {
  std::vector<bool> out;
  for (size_t v = 0; v < nest.values().size(); ++v) {
    bool moves = false;
    for (size_t i = 0; i < nest.axes().size(); ++i)
      if (nest.axes()[i].kind == AxisKind::kReduce && !nest.axes()[i].length.is(1)) moves = moves || tracks.moves(v, i);
    out.push_back(moves);
  }
  return out;
}

}  // namespace

RowPlan::RowPlan(const Nest& nest, const Tracks& tracks) : nest_(nest), varies_(moving_locations(nest, tracks)) {
  const size_t count = nest.values().size();
  phase_.assign(count, 0);
  for (size_t v = 0; v < count; ++v) {
    const Nest::Value& value = nest.values()[v];
    bool varies = varies_[v];
    nest.each_read(value, [&](size_t read) {
      varies = varies || varies_[read];
      phase_[v] = std::max(phase_[v], phase_[read]);
    });
    varies_[v] = varies && value.kind != Kind::kReduction;
    if (value.kind != Kind::kReduction) continue;
    reductions_.resize(std::max(reductions_.size(), phase_[v] + 1));
    reductions_[phase_[v]++].push_back(v);
  }
  // Elements are written by the last loop alone: until then an output may share the buffer of an input.
  size_t loops = reductions_.size();
  for (const Nest::Store& store : nest.stores()) {
    size_t phase = 0;
    nest.each_read(store, [&](size_t read) { phase = std::max(phase, phase_[read]); });
    bool moves = false;
    for (size_t i = 0; i < nest.axes().size(); ++i)
      moves = moves || (nest.axes()[i].kind == AxisKind::kReduce && !nest.axes()[i].length.is(1) &&
                        !store.location.strides[i].is(0));
    bool varies = moves;
    nest.each_read(store, [&](size_t read) { varies = varies || varies_[read]; });
    stores_elements_.push_back(varies);
    if (varies) loops = std::max(loops, phase + 1);
  }
  reductions_.resize(loops);
  needed_.resize(loops);
  read_.resize(loops);
  for (size_t p = 0; p < loops; ++p) needed_[p] = needed_by(p, {});
}

std::vector<size_t> RowPlan::operations(size_t loop) const {
  std::vector<size_t> out;
  for (size_t v : needed_[loop]) {
    const size_t operation = nest_.values()[v].operation;
    if (std::find(out.begin(), out.end(), operation) == out.end()) out.push_back(operation);
  }
  return out;
}

std::vector<size_t> RowPlan::targets(size_t loop) const {
  std::vector<size_t> out;
  auto add = [&](size_t v) { out.push_back(v); };
  for (size_t v : reductions_[loop]) nest_.each_read(nest_.values()[v], add);
  if (loop + 1 == reductions_.size())
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (stores_elements_[s]) nest_.each_read(nest_.stores()[s], add);
  return out;
}

// What loop `loop` computes or loads for each element. What is known already is no more than noted in `read`.
std::vector<size_t> RowPlan::needed_by(size_t loop, const Set& known, Set* read) const {
  Set seen;
  std::vector<size_t> stack;
  auto visit = [&](size_t v) {
    if (!varies_[v]) return;
    if (known.count(v)) {
      if (read) read->insert(v);
    } else if (seen.insert(v).second) {
      stack.push_back(v);
    }
  };
  for (size_t v : targets(loop)) visit(v);
  while (!stack.empty()) {
    const size_t v = stack.back();
    stack.pop_back();
    nest_.each_read(nest_.values()[v], visit);
  }
  std::vector<size_t> out(seen.begin(), seen.end());
  std::sort(out.begin(), out.end());
  return out;
}

void RowPlan::cache_rows(const std::function<int64_t(size_t)>& row_bytes,
                         const std::function<int64_t(size_t)>& load_work) {
  int64_t bytes = 0;
  Set computed;
  for (size_t p = 0; p < needed_.size(); ++p) {
    Set known(cached_.begin(), cached_.end());
    // From the targets down: where a value is cached, what it is computed from is not needed for it again.
    const std::vector<size_t> order = needed_by(p, known);
    for (size_t i = order.size(); i-- > 0;) {
      const size_t v = order[i];
      const Nest::Value& value = nest_.values()[v];
      if (value.kind == Kind::kPosition || is_bool(value.variable.dtype()) || !computed.count(v)) continue;
      const std::vector<size_t> now = needed_by(p, known);
      const int64_t size = row_bytes(v);
      if (!std::binary_search(now.begin(), now.end(), v) || work_to_have(v, known, load_work) < kWorthCaching ||
          bytes + size > kCachedRowBytes)
        continue;
      cached_.push_back(v);
      known.insert(v);
      bytes += size;
    }
    for (size_t v : needed_by(p, known)) computed.insert(v);
  }
  Set made;
  for (size_t p = 0; p < needed_.size(); ++p) {
    Set known;
    for (size_t v : cached_)
      if (made.count(v)) known.insert(v);
    needed_[p] = needed_by(p, known, &read_[p]);
    for (size_t v : needed_[p]) made.insert(v);
  }
}

int64_t RowPlan::work_to_have(size_t value, const Set& known, const std::function<int64_t(size_t)>& load_work) const {
  Set seen{value}, operations;
  std::vector<size_t> stack{value};
  int64_t out = 0;
  while (!stack.empty()) {
    const size_t v = stack.back();
    stack.pop_back();
    const Nest::Value& now = nest_.values()[v];
    if (now.kind == Kind::kLoad)
      out += load_work(v);
    else if (operations.insert(now.operation).second)
      out += nest_.operations()[now.operation].work;
    nest_.each_read(now, [&](size_t read) {
      if (varies_[read] && !known.count(read) && seen.insert(read).second) stack.push_back(read);
    });
  }
  return out;
}

}  // namespace thtrain::kernel
