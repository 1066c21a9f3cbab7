#include "compiler/codegen/length_code.h"

#include <set>

#include "compiler/base/error.h"
#include "compiler/base/str.h"

namespace thtrain {

static const std::string& variable_of(const std::string& name, const LengthVariables& variables) {
  auto at = variables.find(name);
  TH_CHECK(at != variables.end(), "the length ", name, " cannot be told from the arguments");
  return at->second;
}

std::string length_code(const Dim& dim, const LengthVariables& variables) {
  return dim.code([&](const std::string& name) { return variable_of(name, variables); });
}

std::string checked_length_code(const Dim& dim, const LengthVariables& variables) {
  if (dim.is_known()) return str("ThNumber(", dim.value(), ")");
  return dim.code([&](const std::string& name) { return str("ThNumber(", variable_of(name, variables), ")"); });
}

std::string checked_length_calls(const Dim& dim, const LengthVariables& variables) {
  const auto number = [](const std::string& value) { return str("th_number_of(", value, ")"); };
  return dim.code_by_calls(
      "th_checked_", [&](int64_t value) { return number(str(value)); },
      [&](const std::string& name) { return number(variable_of(name, variables)); });
}

bool cannot_overflow(const Dim& dim) {
  std::set<std::string> names;
  dim.collect_names(names);
  return dim.is_known() || (names.size() == 1 && dim.text() == *names.begin());
}

}  // namespace thtrain
