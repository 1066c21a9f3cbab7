#include "tests/compiler/passes/mutants/rule_mutants.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/ir/graph.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/rule_promise.h"

namespace thtrain {
namespace {

constexpr size_t kLocations = 3;  // of one kind, in the results of a function

// Ops that are taken for each other, of equal arity and, of the usual operands, equal type.
std::vector<const Op*> siblings_of(const Op& op) {
  static const std::vector<std::vector<const Op*>> families{
      {&add_op(), &sub_op()},
      {&mul_op(), &true_div_op()},
      {&add_op(), &mul_op()},
      {&maximum_op(), &minimum_op()},
      {&exp_op(), &expm1_op(), &exp2_op()},
      {&log_op(), &log1p_op(), &log2_op()},
      {&sqr_op(), &sqrt_op()},
      {&neg_op(), &abs_op(), &sign_op()},
      {&floor_op(), &ceil_op(), &trunc_op(), &round_op()},
      {&sigmoid_op(), &tanh_op(), &softplus_op()},
      {&erf_op(), &erfc_op()},
      {&lt_op(), &le_op()},
      {&gt_op(), &ge_op()},
      {&eq_op(), &neq_op()},
      {&logical_and_op(), &logical_or_op()},
      {&floor_div_op(), &mod_op()},
      {&sum_op(), &prod_op()},
      {&max_op(), &min_op()},
      {&any_op(), &all_op()},
      {&argmax_op(), &argmin_op()},
      {&softmax_op(), &log_softmax_op()},
  };
  std::vector<const Op*> out;
  for (const auto& family : families)
    if (std::ranges::count(family, &op))
      for (const Op* other : family)
        if (other != &op) out.push_back(other);
  return out;
}

Tensor one_more(const Tensor& value) {
  if (is_bool(value.dtype()) || is_complex(value.dtype())) return Tensor();
  Tensor out = value.cast(DType::kFloat64).copy();
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] += 1;
  return out.cast(value.dtype());
}

// Values of a property that differ a little. The axes of a reduction have no order.
std::vector<PropValue> near_to(const std::string& name, const PropValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return {!*flag};
  if (const int64_t* number = std::get_if<int64_t>(&value)) return {*number + 1, *number - 1};
  std::vector<PropValue> out;
  if (const Ints* numbers = std::get_if<Ints>(&value)) {
    for (size_t i = 0; i < numbers->size(); ++i)
      for (int step : {1, -1}) {
        Ints changed = *numbers;
        changed[i] += step;
        out.push_back(changed);
      }
    if (numbers->size() > 1 && name != "axes") {
      Ints swapped = *numbers;
      std::swap(swapped[0], swapped[1]);
      if (swapped != *numbers) out.push_back(swapped);
    }
  }
  return out;
}

struct Edit {
  std::string kind, what;
  Expr result;
};

// The edits of an expression above given leaves, which stay as they are; of one kind only where one is wanted.
class Editor {
 public:
  Editor(Expr root, std::vector<Expr> leaves, std::string wanted = {}, size_t most = SIZE_MAX)
      : root_(std::move(root)), leaves_(std::move(leaves)), wanted_(std::move(wanted)), most_(most) {
    for (const Expr& leaf : leaves_)
      for (const Node* node : topological_order(std::vector{leaf})) old_.insert(node);
  }

  std::vector<Edit> run() {
    if (is_old(root_)) exchange(root_, nullptr, 0);
    for (const Node* node : topological_order(std::vector{root_})) {
      if (old_.count(node)) continue;
      if (node->op == &constant_op()) {
        count_on(*node);
        continue;
      }
      swap(*node);
      for (const Op* sibling : siblings_of(*node->op)) {
        auto other = [&](std::vector<Expr> inputs) {
          return Expr(make_node(*sibling, std::move(inputs), node->props));
        };
        add("sibling", str(sibling->name, " for ", node->op->name), *node, other);
      }
      if (node->op == &join_op() && node->inputs.size() == 1) continue;  // is its operand, whatever its axis
      if (node->inputs.size() == 1) {
        auto dropped = [](const std::vector<Expr>& inputs) { return inputs[0]; };
        add("dropped", str("without ", node->op->name), *node, dropped);
      }
      change_properties(*node);
      for (size_t i = 0; i < node->inputs.size(); ++i)
        if (is_old(node->inputs[i])) exchange(node->inputs[i], node, i);
    }
    return std::move(edits_);
  }

 private:
  using Rebuild = std::function<Expr(std::vector<Expr>)>;

  bool is_old(const Expr& value) const { return old_.count(&value.node()) != 0; }

  void swap(const Node& node) {
    const size_t count = node.inputs.size();
    const bool branches = node.op == &switch_op();
    if ((count != 2 && !branches) || node.op->commutative) return;
    if (node.inputs[count - 2].same(node.inputs[count - 1])) return;
    add("swap", str("operands of ", node.op->name, " swapped"), node, [&](std::vector<Expr> inputs) {
      std::swap(inputs[count - 2], inputs[count - 1]);
      return Expr(clone_with_inputs(node, std::move(inputs), node.bodies));
    });
  }

  void count_on(const Node& node) {
    const Tensor more = one_more(node.props.get<Tensor>("value"));
    if (more.size() > 0) add("number", "a number one larger", node, [&](const auto&) { return make_constant(more); });
  }

  void change_properties(const Node& node) {
    for (const auto& [name, value] : node.props.all())
      for (const PropValue& near : near_to(name, value)) {
        Props props = node.props;
        props.set(name, near);
        add("property", str(name, " = ", prop_text(near), " of ", node.op->name), node,
            [&](std::vector<Expr> inputs) { return Expr(make_node(*node.op, std::move(inputs), props, node.bodies)); });
      }
  }

  // Another leaf of the same type instead of input i of `above`, or of the root.
  void exchange(const Expr& leaf, const Node* above, size_t i) {
    for (const Expr& other : leaves_) {
      if (other.same(leaf) || !(other.type() == leaf.type()) || is_constant(other)) continue;
      const std::string what = str(other.name(), " for ", leaf.name());
      if (!above) {
        if (wanted_.empty() || wanted_ == "leaf") edits_.push_back({"leaf", what, other});
        continue;
      }
      add("leaf", what, *above, [&](std::vector<Expr> inputs) {
        inputs[i] = other;
        return Expr(clone_with_inputs(*above, std::move(inputs), above->bodies));
      });
    }
  }

  // The expression with one node built anew; nothing where that does not go, or is of another type.
  void add(const std::string& kind, const std::string& what, const Node& location, const Rebuild& build) {
    if ((!wanted_.empty() && kind != wanted_) || edits_.size() == most_) return;
    try {
      std::map<const Node*, Expr> changed;
      auto now = [&](const Expr& value) {
        auto at = changed.find(&value.node());
        return at == changed.end() ? value : at->second;
      };
      for (const Node* node : topological_order(std::vector{root_})) {
        if (old_.count(node) || node->types.size() != 1) continue;
        std::vector<Expr> inputs;
        bool differs = false;
        for (const Expr& input : node->inputs) {
          inputs.push_back(now(input));
          differs = differs || !inputs.back().same(input);
        }
        if (node == &location)
          changed[node] = build(std::move(inputs));
        else if (differs)
          changed[node] = Expr(clone_with_inputs(*node, std::move(inputs), node->bodies));
        else
          continue;
        if (!(changed[node].type() == node->types[0])) return;
      }
      edits_.push_back({kind, what, now(root_)});
    } catch (const UserError&) {  // the op is not for these operands
    }
  }

  Expr root_;
  std::vector<Expr> leaves_;
  std::string wanted_;
  size_t most_;
  std::set<const Node*> old_;
  std::vector<Edit> edits_;
};

// The left side where each further occurrence of a variable is a variable of its own.
std::vector<Expr> loosened(const Expr& pattern) {
  std::vector<Expr> out;
  std::set<const Node*> seen;
  std::vector<std::pair<const Node*, size_t>> again;
  const std::vector<Expr> variables = variables_of(pattern);
  auto is_variable = [&](const Expr& e) {
    return std::ranges::any_of(variables, [&](const Expr& variable) { return variable.same(e); });
  };
  for (const Node* node : topological_order(std::vector{pattern}))
    for (size_t i = 0; i < node->inputs.size(); ++i)
      if (is_variable(node->inputs[i]) && !seen.insert(&node->inputs[i].node()).second) again.emplace_back(node, i);
  for (const auto& [location, i] : again) {
    std::function<Expr(const Expr&)> rebuilt = [&, location = location, i = i](const Expr& e) -> Expr {
      if (e.node().inputs.empty()) return e;
      std::vector<Expr> inputs;
      for (const Expr& input : e.node().inputs) inputs.push_back(rebuilt(input));
      const bool condition = &e.node() == location && is_any_condition(inputs[i]);
      const bool number = &e.node() == location && is_any_number(inputs[i]);
      if (&e.node() == location)
        inputs[i] = condition ? any_condition("other") : number ? any_number("other") : any_value("other");
      return Expr(clone_with_inputs(e.node(), std::move(inputs), e.node().bodies));
    };
    out.push_back(rebuilt(pattern));
  }
  return out;
}

class Mutator {
 public:
  explicit Mutator(const Rule& rule) : rule_(rule) {}

  std::vector<RuleMutant> run() {
    if (rule_.rewrite)
      mutate_results();
    else
      mutate_patterns();
    if (rule_.when) changed("without its condition").when = {};
    if (rule_.safety != Safety::kExact) changed("as exact").safety = Safety::kExact;
    return std::move(out_);
  }

 private:
  // A copy of the rule to be changed, under a name of its own.
  Rule& changed(const std::string& what) {
    const int count = ++used_[what];
    out_.push_back({str(rule_.name, ": ", what, count > 1 ? str(" (", count, ")") : ""), rule_});
    return out_.back().rule;
  }

  void mutate_patterns() {
    const std::vector<Expr> variables = variables_of(rule_.from);
    for (const Edit& edit : Editor(rule_.to, variables).run()) changed(edit.what).to = edit.result;
    for (const Edit& edit : Editor(rule_.from, variables).run())
      if (edit.kind == "number") changed("a number of the left side one larger").from = edit.result;
    for (const Expr& from : loosened(rule_.from)) changed("equal operands may differ").from = from;
    for (unsigned kind : {kBools, kInts, kFloats})
      if (!(rule_.kinds & kind) && can_be_of(rule_, kind))
        changed(str("for ",
                    kind == kBools    ? "bools"
                    : kind == kInts   ? "integers"
                    : kind == kFloats ? "floats"
                                      : "complex",
                    " too"))
            .kinds |= kind;
  }

  void mutate_results() {
    add_result("plus one", [](const Expr& result, const Expr&) {
      return Edit{"", "", is_bool(result.dtype()) ? logical_not(result) : cast(result + 1, result.dtype())};
    });
    for (const char* kind : {"swap", "sibling", "number", "dropped", "property", "leaf"})
      for (size_t location = 0; location < kLocations; ++location)
        add_result(str(kind, " ", location),
                   [kind = std::string(kind), location](const Expr& result, const Expr& value) {
                     std::vector<Expr> leaves = value.node().inputs;
                     for (const Expr& leaf : leaves_of(std::vector{value})) leaves.push_back(leaf);
                     const std::vector<Edit> edits = Editor(result, leaves, kind, location + 1).run();
                     return edits.size() > location ? edits[location] : Edit();
                   });
  }

  void add_result(const std::string& what, const std::function<Edit(const Expr& result, const Expr& value)>& edit) {
    auto differed = std::make_shared<bool>(false);
    Rule& mutant = changed(what);
    mutant.rewrite = [original = rule_.rewrite, edit, differed](const Expr& value, RuleContext& context) -> Expr {
      const Expr result = original(value, context);
      const Edit edited = result.has_value() ? edit(result, value) : Edit();
      if (!edited.result.has_value()) return result;
      *differed = true;
      return edited.result;
    };
    out_.back().differed = differed;
  }

  const Rule& rule_;
  std::map<std::string, int> used_;
  std::vector<RuleMutant> out_;
};

}  // namespace

std::vector<RuleMutant> mutants_of(const Rule& rule) {
  return Mutator(rule).run();
}

}  // namespace thtrain
