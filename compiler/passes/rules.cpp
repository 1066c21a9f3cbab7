#include "compiler/passes/rules.h"

#include <unordered_map>

namespace thtrain {

bool rule_allowed(const Rule& rule, DType dtype, Level level) {
  const bool exact = !rule.compares && kind_of(dtype) & (kBools | kInts);
  return allowed(exact ? Safety::kExact : rule.safety, level) || (rule.for_gradients && level == Level::kStandard);
}

Expr apply_rule(const Rule& rule, const Expr& value, RuleContext& context) {
  const Type& type = value.type();
  if (type.kind != TypeKind::kTensor || !(kind_of(type.dtype) & rule.kinds)) return {};
  if (rule.rewrite) return broadcast_to_type(rule.rewrite(value, context), type);
  std::optional<Binding> binding = match(rule.from, value);
  if (!binding || (rule.when && !rule.when(*binding, context))) return {};
  return broadcast_to_type(instantiate(rule.to, *binding), type);
}

RuleCondition operands_have_one_use(const Op& op) {
  return [&op](const Binding& binding, const RuleContext& context) {
    for (const Expr& input : binding.root().node().inputs)
      if (is_op(input, op) && !context.has_one_use(input)) return false;
    return true;
  };
}

static std::vector<const Rule*> joined(std::initializer_list<const std::vector<Rule>*> tables) {
  std::vector<const Rule*> out;
  for (const std::vector<Rule>* table : tables)
    for (const Rule& rule : *table) out.push_back(&rule);
  return out;
}

const std::vector<const Rule*>& canonical_rules() {
  static const std::vector<const Rule*> rules =
      joined({&softmax_rules(), &selection_rules(), &shape_rules(), &arithmetic_rules(), &power_rules(), &term_rules(),
              &factor_rules(), &inverse_rules(), &reduce_rules(), &extremum_rules(), &matrix_rules(), &trace_rules(),
              &slice_rules(), &write_rules(), &index_rules()});
  return rules;
}

const std::vector<const Rule*>& stable_rules() {
  static const std::vector<const Rule*> rules =
      joined({&hyperbolic_rules(), &log_determinant_rules(), &logarithm_part_rules(), &logarithm_rules(),
              &exponential_rules(), &quotient_rules()});
  return rules;
}

const std::vector<const Rule*>& last_rules() {
  static const std::vector<const Rule*> rules = joined({&log_sum_exp_rules(), &slope_rules()});
  return rules;
}

const std::vector<const Rule*>& derivative_rules() {
  static const std::vector<const Rule*> rules = joined({&logarithm_derivative_rules()});
  return rules;
}

const std::vector<const Rule*>& all_rules() {
  static const std::vector<const Rule*> rules = [] {
    std::vector<const Rule*> out;
    for (const auto* table : {&canonical_rules(), &stable_rules(), &last_rules()})
      out.insert(out.end(), table->begin(), table->end());
    return out;
  }();
  return rules;
}

const Rule* find_rule(const std::string& name) {
  static const std::unordered_map<std::string, const Rule*> by_name = [] {
    std::unordered_map<std::string, const Rule*> out;
    for (const Rule* rule : all_rules()) out.emplace(rule->name, rule);
    return out;
  }();
  auto at = by_name.find(name);
  return at == by_name.end() ? nullptr : at->second;
}

}  // namespace thtrain
