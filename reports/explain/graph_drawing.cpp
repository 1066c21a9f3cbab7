#include "reports/explain/graph_drawing.h"

#include <algorithm>
#include <map>
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

// Pixels. Letters are those of a monospaced font of 13 and of 11 pixels.
constexpr double kLetter = 7.9, kSmallLetter = 6.7, kBox = 40, kBand = 24, kPadding = 12, kMargin = 10;
constexpr size_t kLongestLabel = 28;

bool is_written_inline(const Expr& value) {
  const Tensor* tensor = constant_value(value);
  return tensor && tensor->size() == 1;
}

std::string scope_of(const Node& node) {
  return node.origin.scope ? node.origin.scope->path : std::string();
}

std::string cut(std::string text) {
  if (text.size() <= kLongestLabel) return text;
  return text.substr(0, whole_characters(text, kLongestLabel - 1)) + "…";
}

double width_of(std::string_view text, double letter) {
  return letter * character_count(text);
}

// What stands in a box: "dot", "mul(·, 2)", of a fused node the ops of its body.
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

struct DrawnBox {
  std::string classes, label, about, title;
  bool has_role = false;                  // another than the forward pass
  std::vector<std::string> outputs = {};  // types
};

class Drawing {
 public:
  Drawing(const Graph& graph, const NodeNumbers& numbers, std::span<const Node* const> marked, std::string_view mark)
      : numbers_(numbers), mark_(mark), roles_(roles_of(graph)) {
    for (const Node* node : marked) marked_[node] = true;
    for (const Expr& root : graph.roots()) roots_[&root.node()] = true;
    for (const Node* node : text_order(graph))
      if (!is_hidden(*node)) add_node(*node);
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      add_end(graph.outputs[i], "output", graph.outputs.size() > 1 ? str("output ", i) : "output");
    for (const Update& update : graph.updates)
      add_end(update.value, "update", "update " + escaped(update.variable.name()));
    for (const Expr& effect : graph.effects) add_end(effect, "output", "effects");
  }

  std::string svg(std::string_view label) const {
    std::vector<LayoutNode> sizes;
    for (const DrawnBox& box : boxes_) sizes.push_back(size_of_box(box));
    const LayeredLayout layout = layered_layout(sizes, edges_);
    std::string out =
        str("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"img\" aria-label=\"", markup_text(label),
            "\" width=\"", coordinate(layout.width + 2 * kMargin), "\" height=\"",
            coordinate(layout.height + 2 * kMargin), "\" viewBox=\"", coordinate(-kMargin), " ", coordinate(-kMargin),
            " ", coordinate(layout.width + 2 * kMargin), " ", coordinate(layout.height + 2 * kMargin), "\">\n");
    for (size_t e = 0; e < edges_.size(); ++e) out += edge_text(edges_[e], is_length_[e], layout.routes[e]);
    for (size_t i = 0; i < boxes_.size(); ++i) out += types_text(i, layout.places[i], sizes[i]);
    for (size_t i = 0; i < boxes_.size(); ++i) out += box_text(i, layout.places[i], sizes[i]);
    return out + "</svg>\n";
  }

 private:
  bool is_hidden(const Node& node) const {
    return node.types.size() == 1 && is_written_inline(node[0]) && !roots_.contains(&node);
  }

  void add_node(const Node& node) {
    box_of_[&node] = boxes_.size();
    for (const Expr& input : node.inputs)
      if (box_of_.contains(&input.node())) add_edge(input);
    std::set<std::string> names;
    collect_value_names(node, names);
    for (const auto& [name, value] : values_)
      if (names.contains(name)) add_edge(value, true);
    if (is_input(node[0]) && node[0].rank() == 0 && is_int(node[0].dtype())) values_[value_name(node)] = node[0];
    DrawnBox box;
    box.classes = str("node ", kind_of_node(node), marked_.contains(&node) ? str(" ", mark_) : "");
    box.label = label_of(node);
    const std::string scope = scope_of(node);
    const Roles* roles = roles_.find(&node);
    box.has_role = roles && (roles->gradient || roles->update);
    if (box.has_role) box.classes += roles->gradient ? " of-gradient" : " of-update";
    box.about = str(box.has_role ? text_of(*roles) + " " : std::string(),
                    cut(str("%", numbers_.at(&node), scope.empty() ? "" : " ", scope)));
    box.title = readable(node_text(node, numbers_.at(&node), numbers_));
    if (std::string origin = node.origin.text(); !origin.empty()) box.title += origin;
    for (const Type& type : node.types)
      box.outputs.push_back(type.kind == TypeKind::kToken ? "token" : readable(type.text()));
    boxes_.push_back(std::move(box));
  }

  void add_end(const Expr& value, const std::string& kind, const std::string& label) {
    add_edge(value);
    boxes_.push_back({.classes = "node " + kind,
                      .label = cut(label),
                      .about = str("%", numbers_.at(&value.node()),
                                   value.node().types.size() > 1 ? str(".", value.output()) : std::string()),
                      .title = label});
  }

  // From the value to the box that is added next.
  void add_edge(const Expr& value, bool is_length = false) {
    const size_t from = box_of_.at(&value.node());
    edges_.push_back({from, boxes_.size(), port(boxes_[from], value.output())});
    is_length_.push_back(is_length);
  }

  static double width_of_outputs(const DrawnBox& box) {
    double out = 0;
    for (const std::string& type : box.outputs) out += width_of(type, kSmallLetter) + kPadding;
    return out;
  }

  // Where an output leaves its box, from the middle: under it stands its type.
  static double port(const DrawnBox& box, size_t output) {
    double at = -width_of_outputs(box) / 2;
    for (size_t i = 0; i < output; ++i) at += width_of(box.outputs[i], kSmallLetter) + kPadding;
    return at + (width_of(box.outputs[output], kSmallLetter) + kPadding) / 2;
  }

  static double width_of_box(const DrawnBox& box) {
    return std::max({width_of(box.label, kLetter), width_of(box.about, kSmallLetter), 40.0}) + 2 * kPadding;
  }

  static LayoutNode size_of_box(const DrawnBox& box) {
    return {std::max(width_of_box(box), width_of_outputs(box)), kBox + (box.outputs.empty() ? 0 : kBand)};
  }

  std::string edge_text(const LayoutEdge& edge, bool is_length, const std::vector<LayoutPoint>& route) const {
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
    return str("<path class=\"edge", is_length ? " of-length" : "", "\" data-a=\"", edge.from, "\" data-b=\"", edge.to,
               "\" d=\"", path, "\"/><path class=\"tip\" d=\"M", coordinate(end.x - 3.5), " ", coordinate(end.y - 7),
               "L", coordinate(end.x), " ", coordinate(end.y), "L", coordinate(end.x + 3.5), " ", coordinate(end.y - 7),
               "z\"/>\n");
  }

  std::string types_text(size_t i, const LayoutPoint& place, const LayoutNode& size) const {
    std::string out;
    for (size_t o = 0; o < boxes_[i].outputs.size(); ++o)
      out += str("<text class=\"type\" x=\"", coordinate(place.x + size.width / 2 + port(boxes_[i], o)), "\" y=\"",
                 coordinate(place.y + kBox + 15), "\">", markup_text(boxes_[i].outputs[o]), "</text>\n");
    return out;
  }

  std::string box_text(size_t i, const LayoutPoint& place, const LayoutNode& size) const {
    const DrawnBox& box = boxes_[i];
    const double middle = place.x + size.width / 2, width = width_of_box(box);
    return str("<g class=\"", box.classes, "\" data-i=\"", i, "\"><title>", markup_text(box.title),
               "</title><rect x=\"", coordinate(middle - width / 2), "\" y=\"", coordinate(place.y), "\" width=\"",
               coordinate(width), "\" height=\"", coordinate(kBox), "\" rx=\"6\"/><text class=\"op\" x=\"",
               coordinate(middle), "\" y=\"", coordinate(place.y + 17), "\">", markup_text(box.label),
               "</text><text class=\"about\" x=\"", coordinate(middle), "\" y=\"", coordinate(place.y + 32), "\">",
               markup_text(box.about), "</text>",
               box.has_role ? str("<path class=\"role\" d=\"M", coordinate(middle - width / 2 + 3), " ",
                                  coordinate(place.y + 5), "v", coordinate(kBox - 10), "\"/>")
                            : std::string(),
               "</g>\n");
  }

  const NodeNumbers& numbers_;
  std::string mark_;
  NodeMap<Roles> roles_;
  NodeMap<bool> marked_, roots_;
  NodeMap<size_t> box_of_;
  std::vector<DrawnBox> boxes_;
  std::vector<LayoutEdge> edges_;
  std::vector<bool> is_length_;         // of each edge: is it an integer that lengths and places are made of?
  std::map<std::string, Expr> values_;  // the integers among the inputs, by their names in lengths
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

std::string graph_drawing(const Graph& graph, const NodeNumbers& numbers, std::span<const Node* const> marked,
                          std::string_view mark, std::string_view label) {
  return Drawing(graph, numbers, marked, mark).svg(label);
}

}  // namespace thtrain
