// Loops and branches around bodies: what an op with bodies asks for, as regions of the program. A body is planned as
// the program is, in a scope of its own.
#include <algorithm>
#include <utility>

#include "compiler/base/escape.h"
#include "compiler/kernel/region_builder.h"
#include "compiler/plan/planner.h"

namespace thtrain {

class RegionPlanner : public kernel::RegionBuilder {
 public:
  RegionPlanner(Planner& planner, const Node& node)
      : planner_(planner), node_(node), around_(planner.region_), outputs_(node.types.size(), -1) {
    for (const Expr& input : node.inputs) locations_.push_back(planner.view_of(input));
  }
  const Node& node() const override { return node_; }
  kernel::RegionValue input(size_t i) override { return {static_cast<int>(i)}; }
  bool is_read(size_t o) const override { return planner_.scope_->is_used(node_[o]); }
  kernel::RegionValue output(size_t o) override {
    if (outputs_[o] < 0) {
      Region* const here = std::exchange(planner_.region_, around_);
      BufferView location = planner_.location_of(node_, o, std::span(locations_).first(node_.inputs.size()));
      planner_.region_ = here;
      planner_.taken_.push_back(location.buffer);
      outputs_[o] = add(std::move(location)).id;
    }
    return {outputs_[o]};
  }
  void set_output(size_t o, kernel::RegionValue location) override { outputs_[o] = location.id; }
  kernel::RegionValue temporary(const Type& type) override { return add(planner_.new_location(type, node_.op->name)); }
  kernel::RegionValue slot(kernel::RegionValue x, const Dim& index) override {
    BufferView view = at(x);
    view.layout.offset = view.layout.offset + index * view.layout.strides[0];
    view.layout.strides.erase(view.layout.strides.begin());
    view.type.dims.erase(view.type.dims.begin());
    return add(std::move(view));
  }
  void copy(kernel::RegionValue from, kernel::RegionValue to) override {
    const BufferView source = at(from), target = at(to);
    if (source.buffer >= 0 && !is_one_location(source, target))
      planner_.copy(source, target, "first value", node_.origin);
  }

  void body(const Graph& body, std::span<const kernel::RegionValue> inputs,
            std::span<const kernel::RegionValue> outputs) override {
    // An output that goes where an input lies is the input's update.
    Graph graph{.inputs = body.inputs, .outputs = {}, .updates = {}, .effects = body.effects};
    std::vector<BufferView> locations;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const BufferView& location = at(outputs[k]);
      auto carried = std::find_if(inputs.begin(), inputs.end(), [&](kernel::RegionValue input) {
        return location.buffer >= 0 && is_one_location(at(input), location);
      });
      if (carried == inputs.end()) {
        graph.outputs.push_back(body.outputs[k]);
        locations.push_back(location);
      } else {
        graph.updates.push_back({body.inputs[static_cast<size_t>(carried - inputs.begin())], body.outputs[k]});
      }
    }
    PlanScope scope(graph, planner_.scope_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      scope.set(body.inputs[i], at(inputs[i]));
      const size_t input = static_cast<size_t>(inputs[i].id);
      if (before_loop_ && input < node_.inputs.size())
        scope.invariants.emplace_back(&body.inputs[i].node(), home_of_input(input));
    }
    const std::vector<int> taken = planner_.taken_;
    PlanScope* const outer = std::exchange(planner_.scope_, &scope);
    planner_.plan_scope(schedule(graph), locations);
    planner_.scope_ = outer;
    planner_.taken_ = taken;
  }

  void loop(const Dim& count,
            const std::function<std::optional<kernel::RegionValue>(const Dim& index)>& iteration) override {
    const std::string index = str("iteration~", planner_.loops_++);
    Region* const before = std::exchange(before_loop_, planner_.region_);
    const std::string name = node_.props.get_or<std::string>("name", {});
    Loop made{name.empty() ? node_.op->name : str(node_.op->name, " ", escaped(name)), count, index, std::nullopt,
              planner_.new_region()};
    planner_.in_region(*made.body, [&] {
      if (std::optional<kernel::RegionValue> until = iteration(Dim::named(index))) made.until = at(*until);
    });
    before_loop_ = before;
    planner_.region_->items.push_back(std::move(made));
  }
  void branch(kernel::RegionValue condition, const std::function<void()>& then,
              const std::function<void()>& otherwise) override {
    Branch made{node_.op->name, at(condition), planner_.new_region(), planner_.new_region()};
    planner_.in_region(*made.then, then);
    planner_.in_region(*made.otherwise, otherwise);
    planner_.region_->items.push_back(std::move(made));
  }

  // Every output lies where it was put.
  void finish() {
    for (size_t o = 0; o < outputs_.size(); ++o)
      if (outputs_[o] >= 0) planner_.scope_->set(node_[o], locations_[static_cast<size_t>(outputs_[o])]);
  }

 private:
  const BufferView& at(kernel::RegionValue value) const { return locations_[static_cast<size_t>(value.id)]; }
  kernel::RegionValue add(BufferView view) {
    locations_.push_back(std::move(view));
    return {static_cast<int>(locations_.size()) - 1};
  }
  // Where an input of the node stays what it is: before the loop, or before an outer one.
  Region* home_of_input(size_t i) const {
    Region* const home = planner_.home_of(node_.inputs[i]);
    return home == planner_.region_ ? before_loop_ : home;
  }

  Planner& planner_;
  const Node& node_;
  Region* const around_;               // the region of the node
  std::vector<BufferView> locations_;  // the inputs', then others
  std::vector<int> outputs_;           // locations; -1: none yet
  Region* before_loop_ = nullptr;      // the region around the loop that is being built
};

void Planner::place_region(const Node& node) {
  taken_.clear();
  RegionPlanner builder(*this, node);
  node.op->lower_region(builder);
  builder.finish();
}

std::shared_ptr<Region> Planner::new_region() {
  auto region = std::make_shared<Region>();
  region->number = ++regions_;
  return region;
}

void Planner::in_region(Region& region, const std::function<void()>& build) {
  Region* const outer = std::exchange(region_, &region);
  build();
  region_ = outer;
}

}  // namespace thtrain
