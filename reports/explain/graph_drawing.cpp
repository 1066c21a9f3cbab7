#include "reports/explain/graph_drawing.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "compiler/base/escape.h"
#include "compiler/base/utf8.h"
#include "compiler/ir/dim.h"
#include "compiler/ir/lengths.h"
#include "compiler/ir/roles.h"
#include "compiler/ops/registry.h"
#include "reports/explain/layered_layout.h"
#include "reports/page/markup.h"

namespace thtrain {
namespace {

// Pixels. Letters are those of a monospaced font of 14 and of 12 pixels.
constexpr double kLetter = 8.5, kSmallLetter = 7.3, kBox = 46, kBand = 26, kNodePadding = 8, kGraphMargin = 10;
constexpr size_t kLongestLabel = 26, kLongestAbout = 18;

bool is_written_inline(const Expr& value) {
  const Tensor* tensor = constant_value(value);
  return tensor && tensor->size() == 1;
}

std::string scope_of(const Node& node) {
  return node.origin.scope ? node.origin.scope->path : std::string();
}

std::string cut(std::string text, size_t longest = kLongestLabel) {
  if (text.size() <= longest) return text;
  return text.substr(0, whole_characters(text, longest - 1)) + "…";
}

double width_of(std::string_view text, double letter) {
  return letter * character_count(text);
}

// The text of a box: "dot", "mul(·, 2)", of a fused node the ops of its body.
std::string label_of(const Node& node) {
  if (node.is_leaf()) return cut(node.name.empty() ? node.op->name : escaped(node.name));
  if (node.op->fused) {
    std::string out;
    for (const Node* inner : topological_order(node.bodies[0]->roots()))
      if (!inner->is_leaf() && !is_constant((*inner)[0])) out += (out.empty() ? "" : " ") + inner->op->name;
    return cut(out);
  }
  if (std::none_of(node.inputs.begin(), node.inputs.end(), is_written_inline)) return cut(node.op->name);
  return cut(
      str(node.op->name, "(",
          join(node.inputs, ", ",
               [](const Expr& e) { return is_written_inline(e) ? constant_value(e)->text() : std::string("·"); }),
          ")"));
}

// The names of lengths in the properties of a node and of its body.
void collect_value_names(const Node& node, std::set<std::string>& names) {
  for (const auto& [name, value] : node.props.all())
    if (const Dims* dims = std::get_if<Dims>(&value))
      for (const Dim& dim : *dims) dim.collect_names(names);
  for (const GraphPtr& body : node.bodies)
    for (const Node* inner : topological_order(body->roots())) collect_value_names(*inner, names);
}

// From which state to which something is there.
struct Times {
  std::vector<std::pair<size_t, size_t>> parts = {};

  void add(size_t state) {
    if (!parts.empty() && parts.back().second + 1 >= state)
      parts.back().second = state;
    else
      parts.emplace_back(state, state);
  }
};

// What a box shows for some time.
struct Look {
  std::string classes, label, about, line, value = {}, more = {};  // more: role and position in the source
  bool has_role = false;                                           // another than the forward pass
  std::vector<std::string> outputs = {};                           // types
  Times times = {};

  bool is_like(const Look& other) const {
    return classes == other.classes && label == other.label && about == other.about && line == other.line &&
           value == other.value && outputs == other.outputs;
  }
};

struct DrawnBox {
  std::vector<Look> looks = {};
  size_t now = 0;  // the one of the state that was added last
  const Look& look() const { return looks[now]; }
};

struct DrawnEdge {
  size_t from, to;
  double leaves_at;
  bool is_length;
  Times times = {};
};

double width_of_outputs(const Look& look) {
  double out = 0;
  for (const std::string& type : look.outputs) out += width_of(type, kSmallLetter) + kNodePadding;
  return out;
}

// Where an output leaves its box, from the middle: its type is written under it.
double port_of(const Look& look, size_t output) {
  double at = -width_of_outputs(look) / 2;
  for (size_t i = 0; i < output; ++i) at += width_of(look.outputs[i], kSmallLetter) + kNodePadding;
  return at + (width_of(look.outputs[output], kSmallLetter) + kNodePadding) / 2;
}

double width_of_look(const Look& look) {
  return std::max({width_of(look.label, kLetter), width_of(look.about, kSmallLetter), 40.0}) + 2 * kNodePadding;
}

// The boxes and edges of several states, each once.
class States {
 public:
  States(const NodeNumbers& labels, const std::function<std::string(const Node&)>& value)
      : labels_(labels), value_(value) {}

  // `apart`: no box is one of another state.
  void add(const DrawnState& state, size_t number, bool apart) {
    state_ = number;
    prefix_ = apart ? str(number, ' ') : "";
    box_of_ = {};
    lengths_.clear();
    met_.clear();
    const NodeMap<Roles> roles = roles_of(*state.graph);
    NodeMap<bool> roots;
    for (const Expr& root : state.graph->roots()) roots[&root.node()] = true;
    for (const Node* node : text_order(*state.graph))
      if (node->types.size() != 1 || !is_written_inline((*node)[0]) || roots.contains(node))
        add_node(*node, str('n', state.boxes->at(node)), roles.find(node));
    const Graph& graph = *state.graph;
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      add_end(graph.outputs[i], "output", graph.outputs.size() > 1 ? str("output ", i) : "output", "", str('o', i));
    for (size_t i = 0; i < graph.updates.size(); ++i)
      add_end(graph.updates[i].value, "update", "update", escaped(graph.updates[i].variable.name()), str('u', i));
    for (const Expr& effect : graph.effects) add_end(effect, "output", "effects", "", "e");
  }

  // Operands before what reads them; false where boxes of several states lead in a circle.
  bool sort() {
    std::vector<std::vector<size_t>> readers(boxes.size());
    std::vector<size_t> open(boxes.size(), 0), position(boxes.size());
    for (const DrawnEdge& edge : edges) {
      readers[edge.from].push_back(edge.to);
      ++open[edge.to];
    }
    std::set<size_t> ready;
    for (size_t i = 0; i < boxes.size(); ++i)
      if (open[i] == 0) ready.insert(i);
    std::vector<DrawnBox> sorted;
    while (!ready.empty()) {
      const size_t i = *ready.begin();
      ready.erase(ready.begin());
      position[i] = sorted.size();
      sorted.push_back(boxes[i]);
      for (size_t reader : readers[i])
        if (--open[reader] == 0) ready.insert(reader);
    }
    if (sorted.size() < boxes.size()) return false;
    boxes = std::move(sorted);
    for (DrawnEdge& edge : edges)
      edge = {position[edge.from], position[edge.to], edge.leaves_at, edge.is_length, edge.times};
    return true;
  }

  std::vector<DrawnBox> boxes = {};
  std::vector<DrawnEdge> edges = {};

 private:
  void add_node(const Node& node, const std::string& key, const Roles* roles) {
    const std::string scope = scope_of(node);
    const size_t number = labels_.at(&node);
    Look look{.classes = str("node ", kind_of_node(node)),
              .label = label_of(node),
              .about = {},
              .line = readable(node_text(node, number, labels_))};
    look.has_role = roles && (roles->gradient || roles->update);
    if (look.has_role) {
      look.classes += roles->gradient ? " of-gradient" : " of-update";
      look.more = text_of(*roles) + "\n";
    }
    look.about = str(look.has_role && roles->gradient ? "∂ " : "", look.has_role && roles->update ? "Δ " : "",
                     cut(str('%', number, scope.empty() ? "" : " ", scope), kLongestAbout));
    look.more += node.origin.text();
    if (value_) look.value = value_(node);
    for (const Type& type : node.types)
      look.outputs.push_back(type.kind == TypeKind::kToken ? "token" : readable(type.text()));
    const size_t box = add_look(key, std::move(look));
    box_of_[&node] = box;
    for (const Expr& input : node.inputs)
      if (box_of_.contains(&input.node())) add_edge(input, box, false);
    std::set<std::string> names;
    collect_value_names(node, names);
    for (const auto& [name, value] : lengths_)
      if (names.contains(name)) add_edge(value, box, true);
    if (is_input(node[0]) && node[0].rank() == 0 && is_int(node[0].dtype())) lengths_[value_name(node)] = node[0];
  }

  // `name` is that of the variable that is updated.
  void add_end(const Expr& value, const std::string& kind, const std::string& label, const std::string& name,
               const std::string& key) {
    const std::string from =
        str('%', labels_.at(&value.node()), value.node().types.size() > 1 ? str(".", value.output()) : std::string());
    const size_t box =
        add_look(key, {.classes = "node " + kind,
                       .label = label,
                       .about = name.empty() ? from : cut(name, kLongestAbout),
                       .line = name.empty() ? str(label, " ", from) : str(label, " ", name, " <- ", from)});
    add_edge(value, box, false);
  }

  size_t add_look(const std::string& key, Look look) {
    const auto [at, fresh] = numbers_.try_emplace(prefix_ + key, boxes.size());
    if (fresh) boxes.emplace_back();
    DrawnBox& box = boxes[at->second];
    box.now = 0;
    while (box.now < box.looks.size() && !box.looks[box.now].is_like(look)) ++box.now;
    if (box.now == box.looks.size()) box.looks.push_back(std::move(look));
    box.looks[box.now].times.add(state_);
    return at->second;
  }

  void add_edge(const Expr& value, size_t to, bool is_length) {
    const size_t from = box_of_.at(&value.node());
    const std::string key = str(from, ' ', to, ' ', value.output(), ' ', is_length);
    const auto [at, fresh] = edge_numbers_.try_emplace(str(key, ' ', met_[key]++), edges.size());
    if (fresh) edges.push_back({from, to, port_of(boxes[from].look(), value.output()), is_length});
    edges[at->second].times.add(state_);
  }

  const NodeNumbers& labels_;
  const std::function<std::string(const Node&)>& value_;
  std::map<std::string, size_t> numbers_, edge_numbers_;
  size_t state_ = 0;
  std::string prefix_;
  NodeMap<size_t> box_of_;               // of the state
  std::map<std::string, Expr> lengths_;  // the integers among its inputs, by their names in lengths
  std::map<std::string, size_t> met_;    // how often an edge of it was added
};

class Drawing {
 public:
  Drawing(std::span<const DrawnState> states, const NodeNumbers& labels,
          const std::function<std::string(const Node&)>& value)
      : last_(states.size() - 1) {
    // Where boxes that are one would lead in a circle, each state has its own.
    for (bool apart : {false, true}) {
      states_ = std::make_unique<States>(labels, value);
      for (size_t i = 0; i < states.size(); ++i) states_->add(states[i], i, apart);
      if (states_->sort()) return;
    }
  }

  std::string svg(std::string_view label) const {
    std::vector<LayoutNode> sizes;
    std::vector<LayoutEdge> edges;
    for (const DrawnBox& box : states_->boxes) sizes.push_back(size_of_box(box));
    for (const DrawnEdge& edge : states_->edges) edges.push_back({edge.from, edge.to, edge.leaves_at});
    const LayeredLayout layout = layered_layout(sizes, edges, {.nodes = 12, .edges = 11});
    std::string out =
        str("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"img\" aria-label=\"", markup_text(label),
            "\" data-last=\"", last_, "\" width=\"", coordinate(layout.width + 2 * kGraphMargin), "\" height=\"",
            coordinate(layout.height + 2 * kGraphMargin), "\" viewBox=\"", coordinate(-kGraphMargin), " ",
            coordinate(-kGraphMargin), " ", coordinate(layout.width + 2 * kGraphMargin), " ",
            coordinate(layout.height + 2 * kGraphMargin), "\">\n");
    for (size_t e = 0; e < edges.size(); ++e) out += edge_text(states_->edges[e], layout.routes[e]);
    for (size_t i = 0; i < sizes.size(); ++i)
      for (const Look& look : states_->boxes[i].looks) out += look_text(i, look, layout.positions[i], sizes[i]);
    return out + "</svg>\n";
  }

 private:
  static LayoutNode size_of_box(const DrawnBox& box) {
    LayoutNode out;
    for (const Look& look : box.looks) {
      out.width = std::max({out.width, width_of_look(look), width_of_outputs(look)});
      out.height = std::max(out.height, kBox + (look.outputs.empty() ? 0 : kBand));
    }
    return out;
  }

  // An element for each part of the time that something is there; `classes` in front of those that tell of it.
  std::string in_time(const Times& times, std::string_view classes,
                      const std::function<std::string(const std::string& attributes)>& element) const {
    std::string out;
    for (const auto& [from, to] : times.parts)
      out += element(str("class=\"", classes, to < last_ ? " past" : "", "\"",
                         from > 0 || to < last_ ? str(" data-from=\"", from, "\" data-to=\"", to, "\"") : ""));
    return out;
  }

  std::string edge_text(const DrawnEdge& edge, const std::vector<LayoutPoint>& route) const {
    std::string path = str("M", coordinate(route[0].x), " ", coordinate(route[0].y - kBand));
    for (size_t k = 0; k + 1 < route.size(); k += 2) {
      if (k > 0) {
        const LayoutPoint &a = route[k - 1], &b = route[k];
        const double middle = (a.y + b.y) / 2;
        path += str("C", coordinate(a.x), " ", coordinate(middle), " ", coordinate(b.x), " ", coordinate(middle), " ",
                    coordinate(b.x), " ", coordinate(b.y));
      }
      if (route[k + 1].y != route[k].y || k == 0) path += str("V", coordinate(route[k + 1].y));
    }
    const LayoutPoint& end = route.back();
    const std::string tip = str("M", coordinate(end.x - 4), " ", coordinate(end.y - 8), "L", coordinate(end.x), " ",
                                coordinate(end.y), "L", coordinate(end.x + 4), " ", coordinate(end.y - 8), "z");
    return in_time(edge.times, edge.is_length ? "edge of-length" : "edge",
                   [&](const std::string& attributes) {
                     return str("<path ", attributes, " data-a=\"", edge.from, "\" data-b=\"", edge.to, "\" d=\"", path,
                                "\"/>");
                   }) +
           in_time(edge.times, "tip",
                   [&](const std::string& attributes) { return str("<path ", attributes, " d=\"", tip, "\"/>\n"); });
  }

  std::string look_text(size_t i, const Look& look, const LayoutPoint& position, const LayoutNode& size) const {
    const double middle = position.x + size.width / 2, width = width_of_look(look);
    std::string types;
    for (size_t o = 0; o < look.outputs.size(); ++o)
      types += str("<text class=\"type\" x=\"", coordinate(middle + port_of(look, o)), "\" y=\"",
                   coordinate(position.y + kBox + 17), "\">", markup_text(look.outputs[o]), "</text>");
    return in_time(look.times, look.classes, [&](const std::string& attributes) {
      return str("<g ", attributes, " data-i=\"", i, "\"",
                 look.value.empty() ? "" : str(" data-v=\"", markup_text(look.value), "\""), "><title>",
                 markup_text(look.line + look.more), "</title>", types, "<rect x=\"", coordinate(middle - width / 2),
                 "\" y=\"", coordinate(position.y), "\" width=\"", coordinate(width), "\" height=\"", coordinate(kBox),
                 "\" rx=\"6\"/><text class=\"op\" x=\"", coordinate(middle), "\" y=\"", coordinate(position.y + 20),
                 "\">", markup_text(look.label), "</text><text class=\"about\" x=\"", coordinate(middle), "\" y=\"",
                 coordinate(position.y + 38), "\">", markup_text(look.about), "</text>",
                 look.has_role ? str("<path class=\"role\" d=\"M", coordinate(middle - width / 2 + 3), " ",
                                     coordinate(position.y + 5), "v", coordinate(kBox - 10), "\"/>")
                               : std::string(),
                 "</g>\n");
    });
  }

  size_t last_;
  std::unique_ptr<States> states_;
};

}  // namespace

std::string_view kind_of_node(const Node& node) {
  if (node.op == &input_op()) return "input";
  if (node.op == &shared_op()) return "shared";
  if (node.op == &constant_op()) return "constant";
  if (node.op->fused) return "fused";
  if (node.op == &start_token_op()) return "effect";
  const std::string_view family = family_of(*node.op);
  return family.empty() ? "other" : family;
}

size_t drawn_count(const Graph& graph) {
  size_t out = graph.outputs.size() + graph.updates.size() + graph.effects.size();
  for (const Node* node : text_order(graph)) out += node->types.size() != 1 || !is_written_inline((*node)[0]);
  return out;
}

std::string graph_drawing(std::span<const DrawnState> states, const NodeNumbers& labels, std::string_view label,
                          const std::function<std::string(const Node&)>& value) {
  return Drawing(states, labels, value).svg(label);
}

size_t drawn_count(std::span<const DrawnState> states) {
  std::set<size_t> boxes;
  size_t ends = 0;
  for (const DrawnState& state : states) {
    for (const Node* node : text_order(*state.graph))
      if (node->types.size() != 1 || !is_written_inline((*node)[0])) boxes.insert(state.boxes->at(node));
    ends = state.graph->outputs.size() + state.graph->updates.size() + state.graph->effects.size();
  }
  return boxes.size() + ends;
}

}  // namespace thtrain
