// The pictures of a function's graphs: zoom, steps from rewrite to rewrite, and what each node is on one minibatch.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "reports/explain/graph_drawing.h"
#include "reports/explain/node_values.h"
#include "reports/explain/pass_changes.h"
#include "reports/explain/pass_states.h"

namespace thtrain {

/// More boxes than that are not drawn: the text form is shown.
inline constexpr size_t kMaxDrawn = 400;

class GraphFigures {
 public:
  /// `minibatch`: what the function takes, or nothing where no values are shown. What is given must outlive it.
  GraphFigures(const Explanation& explanation, const std::vector<PassChange>& changes,
               std::span<const Tensor> minibatch);

  /// Of the graph that the first pass takes: a <figure>, or where it is too large its text.
  std::string of_given();
  /// Of the graph within a pass, every box at one position; or where it is too large the texts before and after.
  std::string of_pass(const PassChange& change);
  static bool is_drawn(const PassChange& change);
  /// JSON: `values`, what the boxes' data-v counts in.
  std::string data() const;
  /// Why there are no values, for people; "" where there are.
  const std::string& why_no_values() const { return why_none_; }

 private:
  std::string figure(const std::vector<PassState>& states, std::span<const DrawnState> drawn, const NodeNumbers& labels,
                     const std::string& label);
  std::string value_of(const Node& node);

  const Explanation& explanation_;
  NodeNumbers given_;
  size_t next_label_ = 0;  // for nodes that exist only between two rewrites
  std::optional<NodeValues> values_;
  std::string why_none_;
  std::vector<std::string> shown_;  // JSON of each value that a box shows
  std::unordered_map<std::string, size_t> number_of_;
};

}  // namespace thtrain
