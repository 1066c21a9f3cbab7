#include "reports/explain/graph_figures.h"

#include <algorithm>

#include "compiler/ir/roles.h"
#include "reports/json.h"
#include "reports/page/markup.h"
#include "reports/page/page.h"

namespace thtrain {
namespace {

const char* const kZoom =
    "<div class=\"zoom\"><button type=\"button\" value=\"+\" title=\"larger\">+</button><button type=\"button\" "
    "value=\"-\" title=\"smaller\">&#8722;</button><button type=\"button\" value=\"fit\" title=\"as wide as the "
    "page\">fit</button><button type=\"button\" value=\"1:1\" title=\"plain size\">1:1</button></div>\n";

std::string steps_bar(const std::vector<PassState>& states) {
  std::string out =
      "<div class=\"steps\"><button type=\"button\" value=\"before\">before</button><button type=\"button\" "
      "value=\"back\" title=\"one step back\">&#8592;</button><button type=\"button\" value=\"on\" title=\"one step "
      "on\">&#8594;</button><button type=\"button\" value=\"after\">after</button><output></output><ol "
      "hidden=\"hidden\">\n";
  for (size_t i = 1; i < states.size(); ++i) out += str("<li>", markup_text(states[i].step), "</li>\n");
  return out + "</ol></div>\n";
}

std::string too_large(size_t boxes) {
  return str("<p>The graph has ", boxes, " boxes, more than the ", kMaxDrawn,
             " that a picture can show; its text form is shown instead.</p>\n");
}

std::string text_of_graph(const Graph& graph, std::string_view summary, bool is_open = false) {
  return html_folded(summary, html_pre(markup_text(readable(text_with_roles(graph)))), is_open);
}

size_t boxes_of(const Graph& graph, const NodeNumbers& numbers) {
  const DrawnState state{&graph, &numbers};
  return drawn_count({&state, 1});
}

size_t boxes_of(const PassChange& change) {
  return std::max(boxes_of(*change.before, change.numbers), boxes_of(change.pass->after, change.numbers));
}

}  // namespace

GraphFigures::GraphFigures(const Explanation& explanation, const std::vector<PassChange>& changes,
                           std::span<const Tensor> minibatch)
    : explanation_(explanation), given_(StableNumbers(explanation.given).of) {
  auto count = [&](const Graph& graph, const NodeNumbers& numbers) {
    for (const Node* node : text_order(graph)) next_label_ = std::max(next_label_, numbers.at(node) + 1);
  };
  count(explanation.given, given_);
  for (const PassChange& change : changes) count(change.pass->after, change.numbers);
  if (minibatch.empty()) return;
  if (std::optional<std::string> why = NodeValues::why_none(explanation.given, minibatch))
    why_none_ = *why;
  else
    values_.emplace(explanation.given, minibatch);
}

bool GraphFigures::is_drawn(const PassChange& change) {
  return boxes_of(change) <= kMaxDrawn;
}

std::string GraphFigures::value_of(const Node& node) {
  const std::string json = values_->json_of(node);
  if (json == "[]") return "";
  const auto [at, fresh] = number_of_.try_emplace(json, shown_.size());
  if (fresh) shown_.push_back(json);
  return std::to_string(at->second);
}

std::string GraphFigures::figure(const std::vector<PassState>& states, std::span<const DrawnState> drawn,
                                 const NodeNumbers& labels, const std::string& label) {
  std::function<std::string(const Node&)> value;
  if (values_) {
    for (const DrawnState& state : drawn) values_->add(*state.graph);
    value = [this](const Node& node) { return value_of(node); };
  }
  return str("<figure>", kZoom, states.size() > 1 ? steps_bar(states) : "", "<div class=\"view\">",
             graph_drawing(drawn, labels, label, value),
             "</div><div class=\"told\"><p class=\"soft\">Point at a box for what it is",
             values_ ? " and its value" : "", ", click it to keep that here.</p></div></figure>\n");
}

std::string GraphFigures::of_given() {
  const Graph& graph = explanation_.given;
  const DrawnState state{&graph, &given_};
  if (size_t boxes = drawn_count({&state, 1}); boxes > kMaxDrawn)
    return too_large(boxes) + text_of_graph(graph, "the graph as text", true);
  return figure({{graph}}, {&state, 1}, given_, "the expression graph") + text_of_graph(graph, "the same as text");
}

std::string GraphFigures::of_pass(const PassChange& change) {
  if (!is_drawn(change))
    return too_large(boxes_of(change)) + text_of_graph(*change.before, "the graph before") +
           text_of_graph(change.pass->after, "the graph after");
  std::vector<PassState> states = pass_states(change, explanation_);
  NodeNumbers labels = change.numbers;
  while (true) {
    StableNumbers boxes(states[0].graph);
    for (size_t i = 1; i < states.size(); ++i) graph_difference(states[i - 1].graph, states[i].graph, boxes);
    std::vector<DrawnState> drawn;
    std::unordered_map<size_t, size_t> label_of;  // of a box, which keeps it from step to step
    for (const PassState* end : {&states.front(), &states.back()})
      for (const Node* node : text_order(end->graph)) label_of.try_emplace(boxes.of.at(node), change.numbers.at(node));
    for (const PassState& state : states) {
      drawn.push_back({&state.graph, &boxes.of});
      for (const Node* node : text_order(state.graph)) {
        const auto [at, fresh] = label_of.try_emplace(boxes.of.at(node), next_label_);
        next_label_ += fresh;
        if (!change.numbers.contains(node)) labels[node] = at->second;
      }
    }
    // Too many steps for one picture: the first and the last state alone.
    if (states.size() == 2 || drawn_count(drawn) <= kMaxDrawn)
      return figure(states, drawn, labels, str("the graph from before ", change.pass->name, " to after it"));
    states = {states.front(), states.back()};
    states.back().step = str("all ", change.fired, " rewrites: too many for a picture of each");
  }
}

std::string GraphFigures::data() const {
  return str("{\"values\": [", join(shown_, ","), "]}");
}

}  // namespace thtrain
