#include "compiler/ir/parse.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "compiler/base/escape.h"

namespace thtrain {
namespace {

class Parser {
 public:
  using FindOp = std::function<const Op*(std::string_view)>;
  Parser(std::string_view text, const FindOp& find_op) : find_op_(find_op) {
    for (size_t begin = 0; begin < text.size();) {
      size_t end = std::min(text.find('\n', begin), text.size());
      lines_.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  Graph run() {
    Graph out = graph(/*is_body=*/false);
    if (next_ < lines_.size()) fail("a line of a graph, its outputs, or the end");
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
    if (accept("hash "))
      fail("its elements", "this constant is known by its hash only, as all of more than 64 elements");
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
    if (shared) {
      auto storage = std::make_shared<SharedStorage>();
      storage->name = name;
      storage->type = of;
      storage->value = Tensor::zeros(of.dtype, of.known_shape());
      out = make_shared_leaf(std::move(storage), std::source_location::current());
    } else {
      out = make_input(of, name);
    }
    nodes_[number] = out.node_ptr();
    end_line();
    return out;
  }

  void node() {
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
    auto outer = nodes_;
    auto out = std::make_shared<const Graph>(graph(/*is_body=*/true));
    nodes_ = std::move(outer);
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
  std::vector<std::string_view> lines_;
  size_t next_ = 0, at_ = 0;  // line and column, from 0
  std::unordered_map<size_t, std::shared_ptr<const Node>> nodes_;
};

}  // namespace

Graph parse_graph(std::string_view text, const std::function<const Op*(std::string_view)>& find_op) {
  return Parser(text, find_op).run();
}

}  // namespace thtrain
