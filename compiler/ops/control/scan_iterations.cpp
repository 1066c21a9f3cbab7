// The batching rule of loops: a loop whose body computes all elements of vmap at once.
#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>

#include "compiler/ops/control/body.h"
#include "compiler/ops/control/over_iterations.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// A loop that ends when its body says so would end at another iteration for each element, and effects have an order; a
// number of iterations that is computed may be another one for each.
bool is_one_loop(const Node& node, const std::vector<bool>&) {
  const ScanParts parts(node);
  std::set<std::string> names;
  parts.count.collect_names(names);
  return !parts.until && !parts.token && parts.body.effects.empty() &&
         std::none_of(names.begin(), names.end(), [](const std::string& name) { return name[0] == '@'; });
}

// Which outputs of the body follow from those of its inputs.
std::vector<bool> follow_from(const Graph& body, const std::vector<bool>& inputs) {
  std::unordered_set<const Node*> varying;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) varying.insert(&body.inputs[i].node());
  for (const Node* node : topological_order(body.outputs))
    if (std::any_of(node->inputs.begin(), node->inputs.end(),
                    [&](const Expr& input) { return varying.contains(&input.node()); }))
      varying.insert(node);
  std::vector<bool> out;
  for (const Expr& output : body.outputs) out.push_back(varying.contains(&output.node()));
  return out;
}

// The value with that axis exchanged for the first: of iterations of the loop, and elements.
Expr exchanged(const Expr& value) {
  Ints order{1, 0};
  for (size_t i = 2; i < value.rank(); ++i) order.push_back(static_cast<int64_t>(i));
  return transpose(value, order);
}

// A state that follows from no element, as a counter does, stays one value for all.
class LoopOfIterations {
 public:
  LoopOfIterations(const Node& node, const Dim& iterations, const std::vector<bool>& varies)
      : node_(node), parts_(node), iterations_(iterations), varies_(varies) {
    while (spread()) {
    }
  }

  std::vector<Expr> outputs(std::span<const Expr> inputs) const {
    std::vector<Expr> given;
    for (size_t k = 0; k < inputs.size(); ++k) given.push_back(input(k, inputs[k]));
    const std::vector<bool> of_body = inputs_of_body(), varying = follow_from(parts_.body, of_body);
    std::vector<Type> types;
    for (const Expr& own : parts_.body.inputs) types.push_back(with_elements(own.type()));
    std::vector<bool> fixed(varying.size());
    for (size_t i = 0; i < fixed.size(); ++i) fixed[i] = !(i < parts_.states ? varies_[i] : varying[i]);
    const std::vector<Expr> made =
        make_scan({.count = parts_.count,
                   .taps = parts_.taps,
                   .sequences = parts_.sequences,
                   .truncate = parts_.truncate,
                   .name = node_.props.get_or<std::string>("name", {}),
                   .unbatched = parts_.unbatched},
                  body_of_iterations(parts_.body, iterations_, types, of_body, fixed), std::move(given));
    std::vector<Expr> out;
    for (size_t o = 0; o < made.size(); ++o) {
      const size_t of = o < parts_.states ? o : o - parts_.states;  // an output of the body
      const bool has_elements = !fixed[of], is_last = o < parts_.states;
      out.push_back(with_iterations(node_[o], has_elements && !is_last ? exchanged(made[o]) : made[o], iterations_,
                                    has_elements));
    }
    return out;
  }

 private:
  Type with_elements(Type type) const {
    type.dims.insert(type.dims.begin(), iterations_);
    return type;
  }

  std::vector<bool> inputs_of_body() const {
    std::vector<bool> out;
    for (size_t i = 0; i < parts_.states; ++i) out.insert(out.end(), parts_.taps[i].delays.size(), varies_[i]);
    out.insert(out.end(), varies_.begin() + static_cast<std::ptrdiff_t>(parts_.states), varies_.end());
    return out;
  }

  // Is there a state whose next value varies, and whose first one did not?
  bool spread() {
    const std::vector<bool> varying = follow_from(parts_.body, inputs_of_body());
    bool found = false;
    for (size_t i = 0; i < parts_.states; ++i) {
      found |= varying[i] && !varies_[i];
      varies_[i] = varies_[i] || varying[i];
    }
    return found;
  }

  // Iterations of the loop come first.
  Expr input(size_t k, const Expr& value) const {
    if (!varies_[k]) return value;
    const bool is_state = k < parts_.states,
               is_along_axis = is_state ? !parts_.taps[k].is_plain() : k < parts_.states + parts_.sequences;
    const Expr all =
        value.rank() > node_.inputs[k].rank() ? value : with_iterations(node_.inputs[k], value, iterations_, false);
    const Expr typed = typed_as(all, with_elements(node_.inputs[k].type()));
    return is_along_axis ? exchanged(typed) : typed;
  }

  const Node& node_;
  ScanParts parts_;
  const Dim& iterations_;
  std::vector<bool> varies_;  // inputs
};

}  // namespace

const IterationsRule kScanOfIterations{
    .applies = is_one_loop,
    .outputs =
        [](const Node& node, const Dim& iterations, std::span<const Expr> inputs, const std::vector<bool>& varies) {
          return LoopOfIterations(node, iterations, varies).outputs(inputs);
        },
    .may_fail = true};

}  // namespace thtrain
