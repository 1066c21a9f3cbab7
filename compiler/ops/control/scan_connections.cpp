// Which values of a loop depend on which of its inputs, in whichever iteration.
#include "compiler/ops/control/connections.h"
#include "compiler/ops/control/scan_parts.h"

namespace thtrain {
namespace {

// Follows values of a body from iteration to iteration.
class Follower {
 public:
  explicit Follower(const ScanParts& parts) : parts_(parts), in_body_(connections_of(parts.body)) {}

  /// The inputs of the body that are values of this state.
  std::vector<size_t> values_of_state(size_t i) const {
    std::vector<size_t> out;
    for (size_t d = 0; d < parts_.taps[i].delays.size(); ++d) out.push_back(parts_.body_state(i, d));
    return out;
  }

  /// Of each output of the body whether it depends on these inputs of the body, in their iteration or a later one.
  std::vector<bool> reached_from(std::vector<size_t> from) const {
    std::vector<bool> out(parts_.body.outputs.size()), followed(parts_.body.inputs.size());
    while (!from.empty()) {
      const size_t input = from.back();
      from.pop_back();
      if (followed[input]) continue;
      followed[input] = true;
      for (size_t o = 0; o < out.size(); ++o) {
        if (!in_body_[input][o] || out[o]) continue;
        out[o] = true;
        if (o >= parts_.states) continue;
        for (size_t value : values_of_state(o)) from.push_back(value);
      }
    }
    return out;
  }

 private:
  const ScanParts& parts_;
  const ConnectionTable in_body_;
};

}  // namespace

ConnectionTable scan_connections(const Node& node) {
  const ScanParts parts(node);
  const Follower follower(parts);
  ConnectionTable out;
  auto add = [&](const std::vector<size_t>& in_body) {
    const std::vector<bool> reached = follower.reached_from(in_body);
    std::vector<bool>& row = out.emplace_back(node.types.size());
    for (size_t i = 0; i < parts.states; ++i) row[i] = row[parts.history(i)] = reached[i];
    for (size_t k = 0; k < parts.elements; ++k) row[parts.element(k)] = reached[parts.body_element(k)];
  };
  const bool runs = parts.count.is_known() && parts.count.value() > 0;
  for (size_t i = 0; i < parts.states; ++i) {
    add(follower.values_of_state(i));
    out[i][parts.history(i)] = true;  // which begins with the first values
    if (!runs) out[i][i] = true;
  }
  for (size_t k = 0; k < parts.sequences; ++k) add({parts.body_sequence(k)});
  for (size_t k = 0; k < parts.captures; ++k) add({parts.body_capture(k)});
  if (parts.token) out.emplace_back(node.types.size());
  return out;
}

}  // namespace thtrain
