#include "tests/fuzz/random_program.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <unordered_map>

namespace thtrain {
namespace {

// Which values the outputs and updates need.
std::vector<bool> needed_values(const ProgramPlan& plan) {
  std::vector<bool> needed(plan.leaves.size() + plan.statements.size(), false);
  for (size_t index : plan.outputs) needed[index] = true;
  for (const auto& [leaf, index] : plan.updates) needed[leaf] = needed[index] = true;
  for (size_t i = plan.statements.size(); i-- > 0;)
    if (needed[plan.leaves.size() + i])
      for (size_t index : plan.statements[i].arguments) needed[index] = true;
  return needed;
}

std::string value_name(const ProgramPlan& plan, size_t index) {
  if (index >= plan.leaves.size()) return str("v", index);
  return str(plan.leaves[index].is_shared ? "w" : "x", index);
}

std::string dtype_text(DType dtype) {
  std::string name(name_of(dtype));
  name[0] = static_cast<char>(std::toupper(name[0]));
  if (name.starts_with("Uint")) name = "UInt" + name.substr(4);
  return "DType::k" + name;
}

std::string cpp_number(double x) {
  if (std::isnan(x)) return "NAN";
  if (std::isinf(x)) return x < 0 ? "-INFINITY" : "INFINITY";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

// The elements as doubles (of complex numbers the real parts), cast to the dtype.
std::string tensor_text(const Tensor& t) {
  std::string elements;
  for (int64_t i = 0; i < t.size(); ++i) elements += str(i > 0 ? ", " : "", cpp_number(t.as_double(i)));
  std::string lengths;
  for (size_t i = 0; i < t.rank(); ++i) lengths += str(i > 0 ? ", " : "", t.dim(i));
  return str("Tensor::of(std::vector<double>{", elements, "}, {", lengths, "}).cast(", dtype_text(t.dtype()), ")");
}

std::string dims_as_cpp(const Dims& dims) {
  std::string out;
  for (size_t i = 0; i < dims.size(); ++i)
    out += str(i > 0 ? ", " : "", dims[i].is_known() ? dims[i].text() : "\"" + dims[i].text() + "\"");
  return "{" + out + "}";
}

std::string statement_text(const ProgramPlan& plan, const Statement& statement) {
  std::string out;
  for (size_t i = 0; i < statement.text.size(); ++i) {
    if (statement.text[i] != '$') {
      out += statement.text[i];
      continue;
    }
    out += value_name(plan, statement.arguments[static_cast<size_t>(statement.text[++i] - '0')]);
  }
  return out;
}

}  // namespace

std::vector<Expr> values_on(const ProgramPlan& plan, std::vector<Expr> leaves) {
  std::vector<Expr> out = std::move(leaves);
  const std::vector<bool> needed = needed_values(plan);
  for (size_t i = 0; i < plan.statements.size(); ++i) {
    if (!needed[plan.leaves.size() + i]) {
      out.emplace_back();
      continue;
    }
    std::vector<Expr> arguments;
    for (size_t index : plan.statements[i].arguments) arguments.push_back(out[index]);
    out.push_back(plan.statements[i].build(arguments));
  }
  return out;
}

ProgramPlan with_inputs_alone(ProgramPlan plan) {
  std::vector<Tensor> given;
  size_t inputs = 0;
  for (ProgramPlan::Leaf& leaf : plan.leaves) {
    given.push_back(leaf.is_shared ? leaf.initial : plan.calls[0][inputs++]);
    leaf.is_shared = false;
  }
  for (const auto& [leaf, value] : plan.updates) plan.outputs.push_back(value);
  plan.updates.clear();
  plan.calls = {given};
  return plan;
}

BuiltProgram build(const ProgramPlan& plan) {
  BuiltProgram out;
  for (size_t i = 0; i < plan.leaves.size(); ++i) {
    const ProgramPlan::Leaf& leaf = plan.leaves[i];
    const std::string name = value_name(plan, i);
    if (leaf.is_shared) {
      out.shared.emplace_back(leaf.initial, name);
      out.values.push_back(out.shared.back().expr());
    } else {
      out.values.push_back(make_input(leaf.type, name));
      out.inputs.push_back(out.values.back());
    }
  }
  out.values = values_on(plan, std::move(out.values));
  for (size_t index : plan.outputs) out.outputs.push_back(out.values[index]);
  for (const auto& [leaf, index] : plan.updates) out.updates.push_back({out.values[leaf], out.values[index]});
  return out;
}

std::string as_cpp(const ProgramPlan& plan) {
  const std::vector<bool> needed = needed_values(plan);
  std::string out = str("// seed ", plan.seed, "\n"), inputs, outputs, updates;
  for (size_t i = 0; i < plan.leaves.size(); ++i) {
    const ProgramPlan::Leaf& leaf = plan.leaves[i];
    const std::string name = value_name(plan, i);
    if (!leaf.is_shared) inputs += str(inputs.empty() ? "" : ", ", name);
    if (leaf.is_shared && needed[i])
      out += str("Shared ", name, "(", tensor_text(leaf.initial), ", \"", name, "\");\n");
    else if (!leaf.is_shared)
      out += str("Expr ", name, " = tensor(\"", name, "\", ", dims_as_cpp(leaf.type.dims), ", ",
                 dtype_text(leaf.type.dtype), ");\n");
  }
  for (size_t i = 0; i < plan.statements.size(); ++i)
    if (needed[plan.leaves.size() + i])
      out += str("Expr ", value_name(plan, plan.leaves.size() + i), " = ", statement_text(plan, plan.statements[i]),
                 ";\n");
  for (size_t index : plan.outputs) outputs += str(outputs.empty() ? "" : ", ", value_name(plan, index));
  for (const auto& [leaf, index] : plan.updates)
    updates += str(updates.empty() ? "" : ", ", "{", value_name(plan, leaf), ", ", value_name(plan, index), "}");
  out += str("Function f = function({", inputs, "}, {", outputs, "}, {", updates,
             "}, {.mode = Mode::kDebug, .unused_inputs = UnusedInputs::kAllowed});\n");
  for (const std::vector<Tensor>& call : plan.calls) {
    std::string given;
    for (const Tensor& t : call) given += str(given.empty() ? "" : ",\n   ", tensor_text(t));
    out += str("f({", given, "});\n");
  }
  return out;
}

namespace {

// Tries a change; keeps it where the plan still fails.
class Shrinker {
 public:
  Shrinker(ProgramPlan plan, const std::function<bool(const ProgramPlan&)>& fails)
      : plan_(std::move(plan)), fails_(fails) {}

  ProgramPlan run() {
    while (plan_.calls.size() > 1 && attempt([](ProgramPlan& p) { p.calls.pop_back(); })) {
    }
    bool smaller = true;
    while (smaller && tries_ > 0) {
      smaller = false;
      for (size_t i = plan_.outputs.size(); i-- > 0;)
        smaller |= attempt([&](ProgramPlan& p) { p.outputs.erase(p.outputs.begin() + static_cast<long>(i)); });
      for (size_t i = plan_.updates.size(); i-- > 0;)
        smaller |= attempt([&](ProgramPlan& p) { p.updates.erase(p.updates.begin() + static_cast<long>(i)); });
      for (size_t i = plan_.outputs.size(); i-- > 0;) smaller |= replace_by_argument(i);
      for (size_t k = plan_.statements.size(); k-- > 0;) smaller |= leave_out(k);
    }
    return plan_;
  }

 private:
  template <class Change>
  bool attempt(Change change) {
    if (tries_-- <= 0) return false;
    ProgramPlan changed = plan_;
    change(changed);
    if (changed.outputs.empty() && changed.updates.empty()) return false;
    try {
      build(changed);
    } catch (const UserError&) {
      return false;  // no longer typed
    }
    if (!fails_(changed)) return false;
    plan_ = std::move(changed);
    return true;
  }

  // An output of what the output was made from.
  bool replace_by_argument(size_t output) {
    const size_t index = plan_.outputs[output];
    if (index < plan_.leaves.size()) return false;
    for (size_t argument : plan_.statements[index - plan_.leaves.size()].arguments)
      if (attempt([&](ProgramPlan& p) { p.outputs[output] = argument; })) return true;
    return false;
  }

  // Readers of statement k read one of its arguments instead.
  bool leave_out(size_t k) {
    const size_t index = plan_.leaves.size() + k;
    if (!needed_values(plan_)[index]) return false;
    if (std::ranges::find(plan_.outputs, index) != plan_.outputs.end()) return false;
    for (size_t argument : plan_.statements[k].arguments) {
      const bool smaller = attempt([&](ProgramPlan& p) {
        for (Statement& statement : p.statements) std::ranges::replace(statement.arguments, index, argument);
        for (auto& [leaf, value] : p.updates)
          if (value == index) value = argument;
      });
      if (smaller) return true;
    }
    return false;
  }

  ProgramPlan plan_;
  const std::function<bool(const ProgramPlan&)>& fails_;
  int tries_ = 200;
};

}  // namespace

ProgramPlan shrunk(ProgramPlan plan, const std::function<bool(const ProgramPlan&)>& fails) {
  return Shrinker(std::move(plan), fails).run();
}

}  // namespace thtrain
