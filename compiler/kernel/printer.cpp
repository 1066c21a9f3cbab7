#include "compiler/kernel/printer.h"

#include <unordered_set>

#include "compiler/base/wrap.h"

namespace thtrain::kernel {
namespace {

constexpr size_t kCommentWidth = 112;

class Printer {
 public:
  Printer(const Dialect& dialect, Helpers& helpers) : dialect_(dialect), helpers_(helpers) {}

  FunctionText function(const Function& f) {
    std::string_view margin;
    for (const std::string& text : wrapped(f.comment, kCommentWidth, kCommentWidth)) {
      line(dialect_.comment(str(margin, text)));
      margin = "    ";
    }
    for (size_t i = 0; i < f.lengths.size(); ++i) note(f.lengths[i], f.length_texts[i]);
    for (const NumberParameter& n : f.numbers) note(n.name, n.text);
    std::string comment = std::move(out_);
    out_.clear();
    return definition(std::move(comment), dialect_.function(f, helpers_), [&] { block(f.body); });
  }

  FunctionText inlined(const Block& body, const Term& result, const Term& parameter) {
    return definition({}, dialect_.inline_function(result.type(), parameter, helpers_), [&] {
      block(body);
      line(dialect_.result(term(result)));
    });
  }

 private:
  template <class Body>
  FunctionText definition(std::string comment, const FunctionHead& head, Body body) {
    out_ = head.after_name + "\n";
    ++depth_;
    for (const std::string& text : head.first) line(text);
    body();
    --depth_;
    if (!head.close.empty()) line(head.close);
    return {std::move(comment), head.before_name, std::move(out_)};
  }

  void note(const std::string& name, const std::string& text) { line(dialect_.comment(str("  ", name, " = ", text))); }

  // Empty: the language has no form for it, and needs none.
  void line(const std::string& text) {
    if (text.empty()) return;
    out_.append(static_cast<size_t>(depth_) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  std::string operand(const Term& t) {
    const TermNode& node = t.node();
    if (node.prim == Prim::kConstant) return dialect_.constant(node);
    if (node.prim == Prim::kVariable) return node.name;
    std::vector<std::string> args;
    for (const Term& arg : node.args) args.push_back(operand(arg));
    return dialect_.term(node, args, helpers_);
  }

  TermText term(const Term& t) { return t ? TermText(operand(t)) : TermText(); }

  void block(const Block& body) {
    for (const Statement& s : body) std::visit([&](const auto& kind) { statement(kind); }, s);
  }

  void nested(const Enclosing& around, const Block& body, const Block& otherwise = {}) {
    for (const std::string& text : around.open) line(text);
    ++depth_;
    for (const std::string& text : around.first) line(text);
    block(body);
    --depth_;
    if (!otherwise.empty()) {
      line(dialect_.otherwise());
      ++depth_;
      block(otherwise);
      --depth_;
    }
    if (!around.close.empty()) line(around.close);
  }

  void statement(const Comment& s) { line(dialect_.comment(s.text)); }
  void statement(const Let& s) { line(dialect_.let(s, term(s.value), helpers_)); }
  void statement(const Var& s) {
    if (s.number >= 0) sums_.insert(s.name);
    line(dialect_.variable(s, term(s.start), helpers_));
  }
  void statement(const Assign& s) {
    if (const std::string text = added_product(s); !text.empty()) return line(text);
    line(dialect_.assign(s.name, term(s.value)));
  }
  std::string added_product(const Assign& s) {
    const TermNode& value = s.value.node();
    if (value.prim != Prim::kFma || !sums_.contains(s.name) || value.args[2].node().name != s.name) return {};
    return dialect_.add_product(s.name, value, {operand(value.args[0]), operand(value.args[1])}, helpers_);
  }
  void statement(const Store& s) {
    TermText index = term(s.index), value = term(s.value), stride = term(s.stride), count = term(s.count);
    line(dialect_.store(s, {std::move(index), std::move(value), std::move(stride), std::move(count)}, helpers_));
  }
  void statement(const ForLoop& s) {
    const TermText begin = term(s.begin), end = term(s.end), step = term(s.step);
    nested(dialect_.loop(s, begin, end, step), s.body);
  }
  void statement(const If& s) { nested(dialect_.branch(term(s.condition)), s.then, s.otherwise); }
  void statement(const While& s) { nested(dialect_.while_loop(term(s.condition)), s.body); }
  void statement(const LocalArray& s) { line(dialect_.local_array(s, helpers_)); }
  void statement(const PrefetchLine& s) { line(dialect_.prefetch(s, term(s.index))); }
  void statement(const Fence&) { line(dialect_.fence()); }
  void statement(const Fail& s) {
    const TermText check = term(s.check), value = term(s.value), limit = term(s.limit);
    for (const std::string& text : dialect_.fail(check, value, limit, helpers_)) line(text);
  }

  void statement(const Barrier& s) { line(dialect_.barrier(s)); }
  void statement(const SharedArray& s) { line(dialect_.shared_array(s, helpers_)); }
  void statement(const Shuffle& s) { line(dialect_.shuffle(s, term(s.value), helpers_)); }
  void statement(const Atomic& s) {
    const TermText index = term(s.index), value = term(s.value);
    line(dialect_.atomic(s, index, value));
  }

  const Dialect& dialect_;
  Helpers& helpers_;
  std::unordered_set<std::string> sums_;  // of tiles
  std::string out_;
  int depth_ = 0;
};

}  // namespace

FunctionText print_function(const Function& function, const Dialect& dialect, Helpers& helpers) {
  return Printer(dialect, helpers).function(function);
}

FunctionText print_inline(const Block& body, const Term& result, const Term& parameter, const Dialect& dialect,
                          Helpers& helpers) {
  return Printer(dialect, helpers).inlined(body, result, parameter);
}

}  // namespace thtrain::kernel
