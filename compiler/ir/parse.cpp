#include "compiler/ir/parse.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "compiler/base/escape.h"
#include "compiler/ir/print.h"

namespace thtrain {
namespace {

class Parser {
 public:
  using FindOp = std::function<const Op*(std::string_view)>;
  Parser(std::string_view text, const FindOp& find_op, const GraphDetails* details)
      : find_op_(find_op), details_(details) {
    for (size_t begin = 0; begin < text.size();) {
      size_t end = std::min(text.find('\n', begin), text.size());
      lines_.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  Graph run() {
    Graph out = graph(/*is_body=*/false);
    if (next_ < lines_.size()) fail("a line of a graph, its outputs, or the end");
    if (details_ && (line_ < details_->lines.size() || variable_ < details_->variables.size() ||
                     constant_ < details_->long_constants.size()))
      fail_details();
    return out;
  }

 private:
  [[noreturn]] void fail(std::string expected, std::string what = "this is not the text of a graph") const {
    throw UserError({.what = str("line ", next_ + 1, ", column ", at_ + 1, ": ", what),
                     .expected = std::move(expected),
                     .got = next_ < lines_.size()
                                ? std::string(lines_[next_].substr(std::min(at_, lines_[next_].size())))
                                : "the end of the text"});
  }

  // ---- what the text leaves out -------------------------------------------------------------------------------------

  [[noreturn]] void fail_details() const { fail("the text of the graph that the details are of"); }
  template <class T>
  const T& next_of(const std::vector<T>& all, size_t& next) const {
    if (next >= all.size()) fail_details();
    return all[next++];
  }
  GraphDetails::Line line_details() { return details_ ? next_of(details_->lines, line_) : GraphDetails::Line(); }
  Tensor long_constant(const Type& of) {
    if (!details_) fail("its elements", "this constant is known by its hash only, as all of more than 64 elements");
    const Tensor& out = next_of(details_->long_constants, constant_);
    const std::string text = prop_text(out), hash = "{hash ";
    if (!(type_of(out) == of) || text.find(hash) == std::string::npos ||
        !accept(text.substr(text.find(hash) + hash.size())))
      fail_details();
    return out;
  }
  std::shared_ptr<SharedStorage> variable(const std::string& name, const Type& of) {
    if (details_) {
      const std::shared_ptr<SharedStorage>& out = next_of(details_->variables, variable_);
      if (!(out->type == of)) fail_details();
      return out;
    }
    auto out = std::make_shared<SharedStorage>();
    out->name = name;
    out->type = of;
    out->value = Tensor::zeros(of.dtype, of.known_shape());
    return out;
  }

  // ---- characters of a line ----------------------------------------------------------------------------------------

  std::string_view line() const { return lines_[next_]; }
  bool accept(std::string_view token) {
    if (next_ >= lines_.size() || !line().substr(std::min(at_, line().size())).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void need(std::string_view token) {
    if (!accept(token)) fail(str("\"", token, "\""));
  }
  void indent() {
    at_ = 0;
    while (next_ < lines_.size() && at_ < line().size() && line()[at_] == ' ') ++at_;
  }
  std::string_view until(std::string_view stops) {
    size_t end = std::min(line().find_first_of(stops, at_), line().size());
    std::string_view out = line().substr(at_, end - at_);
    at_ = end;
    return out;
  }
  template <class T>
  T number() {
    T out{};
    auto [end, error] = std::from_chars(line().data() + at_, line().data() + line().size(), out);
    if (error != std::errc()) fail("a number");
    at_ = static_cast<size_t>(end - line().data());
    return out;
  }
  void end_line() {
    if (at_ != line().size()) fail("the end of the line");
    ++next_;
    at_ = 0;
  }

  // "float64[n, 3]" or "token": up to the bracket that closes it.
  Type type() {
    size_t begin = at_;
    if (!accept("token")) {
      until("]");
      need("]");
    }
    std::optional<Type> out = parse_type(line().substr(begin, at_ - begin));
    if (!out) {
      at_ = begin;
      fail("a type, such as float64[n, 3]");
    }
    return *out;
  }

  Expr value() {
    size_t begin = at_;
    need("%");
    auto found = nodes_.find(number<size_t>());
    size_t output = accept(".") ? number<size_t>() : 0;
    if (found == nodes_.end() || output >= found->second->types.size()) {
      at_ = begin;
      fail("a value that is defined above");
    }
    return Expr(found->second, output);
  }

  // ---- properties --------------------------------------------------------------------------------------------------

  Tensor tensor() {
    Type of = type();
    need("{");
    if (accept("hash ")) return long_constant(of);
    Tensor out = Tensor::empty(of.dtype, of.known_shape());
    visit(of.dtype, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < out.size(); ++i) {
        if (i) need(", ");
        T& element = out.data<T>()[i];
        if constexpr (std::is_same_v<T, bool>) {
          element = accept("true");
          if (!element) need("false");
        } else if constexpr (is_complex_v<T>) {
          auto re = number<typename T::value_type>();
          accept("+");
          element = T(re, number<typename T::value_type>());
          need("j");
        } else {
          element = number<T>();
        }
      }
    });
    need("}");
    return out;
  }

  std::string quoted() {
    std::string out;
    while (!accept("\"")) {
      if (at_ >= line().size()) fail("\"\\\"\"");
      if (accept("\\n"))
        out += '\n';
      else if (accept("\\"))
        out += at_ < line().size() ? line()[at_++] : '\\';
      else
        out += line()[at_++];
    }
    return out;
  }

  PropValue property() {
    if (accept("true")) return true;
    if (accept("false")) return false;
    if (accept("\"")) return quoted();
    if (accept("[")) {
      Ints out;
      while (!accept("]")) {
        if (!out.empty()) need(", ");
        out.push_back(number<int64_t>());
      }
      return out;
    }
    if (accept("<")) {
      std::string_view list = until(">");
      need(">");
      std::optional<Type> dims = parse_type(str("bool[", list, "]"));
      if (!dims) fail("lengths");
      return dims->dims;
    }
    for (DType dtype : kAllDTypes) {
      size_t begin = at_;
      if (!accept(name_of(dtype))) continue;
      if (at_ < line().size() && line()[at_] == '[') {
        at_ = begin;
        return tensor();
      }
      return dtype;
    }
    std::string_view rest = line().substr(at_);
    std::string_view word = rest.substr(0, rest.find_first_of(",}"));
    if (word.find_first_not_of("-0123456789") == std::string_view::npos) return number<int64_t>();
    return number<double>();
  }

  // ---- lines -------------------------------------------------------------------------------------------------------

  size_t target() {
    need("%");
    return number<size_t>();
  }

  Expr leaf(bool shared) {
    const GraphDetails::Line details = line_details();
    size_t number = target();
    std::string name;
    if (accept(" ") && !accept(": ")) {
      size_t end = line().rfind(" : ");
      if (end == std::string_view::npos || end < at_) fail("\" : \" and a type");
      name = unescaped(line().substr(at_, end - at_));
      at_ = end + 3;
    }
    Type of = type();
    Expr out;
    std::optional<InheritOrigin> origin;
    if (details_) origin.emplace(details.origin);
    if (shared)
      out = make_shared_leaf(variable(name, of), std::source_location::current());
    else
      out = details.in_body ? make_body_input(of, name) : make_input(of, name);
    if (details_) out = leaf_like(out, of, details.serial);
    nodes_[number] = out.node_ptr();
    end_line();
    return out;
  }

  void node() {
    const GraphDetails::Line details = line_details();
    size_t number = target();
    need(" = ");
    size_t name_at = at_;
    std::string_view name = until("(");
    const Op* op = name == "constant" ? &constant_op() : find_op_(name);
    if (!op) {
      at_ = name_at;
      fail("the name of an op", str("there is no op named ", name));
    }
    need("(");
    std::vector<Expr> inputs;
    while (!accept(")")) {
      if (!inputs.empty()) need(", ");
      inputs.push_back(value());
    }
    Props props;
    if (accept(" {")) do {
        std::string key(until("="));
        need("=");
        props.set(std::move(key), property());
      } while (accept(", ") || (need("}"), false));
    int again = accept(" again ") ? this->number<int>() : 0;
    need(" : ");
    size_t types_at = at_;
    std::vector<Type> types;
    do types.push_back(type());
    while (accept("; "));
    std::string label = accept("  # ") ? unescaped(until("\n")) : "";
    size_t own_line = next_;
    end_line();

    std::vector<GraphPtr> bodies;
    for (indent(); accept("body"); indent()) {
      end_line();
      bodies.push_back(body());
    }
    std::optional<InheritOrigin> origin;
    if (details_) origin.emplace(details.origin);
    std::shared_ptr<const Node> made = make_node(*op, std::move(inputs), std::move(props), std::move(bodies));
    if (!(made->types == types)) {
      next_ = own_line;
      at_ = types_at;
      fail(join(made->types, "; ", [](const Type& t) { return t.text(); }), "the type differs from the op's own");
    }
    made = tagged(made, again);
    nodes_[number] = label.empty() ? made : named(Expr(made), label).node_ptr();
  }

  GraphPtr body() {
    if (depth_ == kMostDepth) fail(str("at most ", kMostDepth, " bodies within each other"));
    ++depth_;
    auto outer = nodes_;
    auto out = std::make_shared<const Graph>(graph(/*is_body=*/true));
    nodes_ = std::move(outer);
    --depth_;
    return out;
  }

  Graph graph(bool is_body) {
    Graph out;
    for (indent(); next_ < lines_.size(); indent()) {
      if (at_ == line().size())
        end_line();
      else if (accept("input  "))
        out.inputs.push_back(leaf(false));
      else if (accept("shared "))
        leaf(true);
      else if (accept("output  ")) {
        out.outputs.push_back(value());
        end_line();
      } else if (accept("update  ")) {
        Expr variable = value();
        need(" <- ");
        out.updates.push_back({variable, value()});
        end_line();
      } else if (accept("effect  ")) {
        out.effects.push_back(value());
        end_line();
      } else if (is_body && accept("end")) {
        end_line();
        return out;
      } else {
        node();
      }
    }
    if (is_body) fail("\"end\" of the body");
    return out;
  }

  const FindOp& find_op_;
  const GraphDetails* details_;
  size_t line_ = 0, variable_ = 0, constant_ = 0;  // the next of the details
  std::vector<std::string_view> lines_;
  size_t next_ = 0, at_ = 0;  // line and column, from 0
  static constexpr int kMostDepth = 100;
  int depth_ = 0;  // of bodies around the line
  std::unordered_map<size_t, std::shared_ptr<const Node>> nodes_;
};

}  // namespace

static void collect_details(const Graph& graph, GraphDetails& out) {
  for (const Node* node : text_order(graph)) {
    out.lines.push_back({node->origin, node->serial, node->props.has("in_body")});
    if (node->shared) out.variables.push_back(node->shared);
    for (const auto& [name, value] : node->props.all())
      if (const Tensor* tensor = std::get_if<Tensor>(&value); tensor && tensor->size() > 64)
        out.long_constants.push_back(*tensor);
    for (const GraphPtr& body : node->bodies) collect_details(*body, out);
  }
}

GraphDetails details_of(const Graph& graph) {
  GraphDetails out;
  collect_details(graph, out);
  return out;
}

Graph parse_graph(std::string_view text, const std::function<const Op*(std::string_view)>& find_op,
                  const GraphDetails* details) {
  return Parser(text, find_op, details).run();
}

}  // namespace thtrain
