#include "compiler/ir/length_condition.h"

#include <optional>
#include <utility>

#include "compiler/base/str.h"

namespace thtrain {

static std::string as_written(const std::string& text) {
  std::string out = readable(text);
  std::erase(out, '@');
  return out;
}

std::string as_written(const Dim& number) {
  return as_written(number.text());
}

// The two arguments of "name(a, b)", where that is the whole text.
static std::optional<std::pair<std::string, std::string>> arguments_of(const std::string& text,
                                                                       const std::string& name) {
  if (text.compare(0, name.size() + 1, name + "(") != 0 || text.back() != ')') return std::nullopt;
  size_t comma = 0;
  int depth = 0;
  for (size_t i = name.size(); i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 1 && text[i] == ',') comma = i;
    if (depth == 0 && i + 1 < text.size()) return std::nullopt;  // more follows
  }
  const size_t begin = name.size() + 1;
  return std::pair(text.substr(begin, comma - begin), text.substr(comma + 2, text.size() - comma - 3));
}

// The other of two arguments.
static std::optional<std::string> other_than(const std::optional<std::pair<std::string, std::string>>& two,
                                             const std::string& one) {
  if (!two || (two->first != one && two->second != one)) return std::nullopt;
  return two->first == one ? two->second : two->first;
}

LengthCondition condition_of(const LengthCheck& check) {
  const std::string left = check.left.text(), right = check.right.text();
  const auto outer = arguments_of(left, "max");
  if (const std::optional<std::string> least = other_than(outer, right))
    return {as_written(str(*least, " <= ", right)), "{value} and {limit}"};
  for (const bool first : {true, false}) {
    if (!outer) break;
    const auto inner = arguments_of(first ? outer->first : outer->second, "min");
    if (const std::optional<std::string> most = other_than(inner, right))
      return {as_written(str(first ? outer->second : outer->first, " <= ", right, " <= ", *most)),
              "{limit}; the nearest is {value}"};
  }
  return {as_written(str(left, " == ", right)), "{value} and {limit}"};
}

void throw_lengths_differ(const LengthCheck& check, int64_t left, int64_t right, const std::string& hint) {
  LengthCondition condition = condition_of(check);
  for (const auto& [name, value] : {std::pair("{value}", left), std::pair("{limit}", right)})
    condition.got.replace(condition.got.find(name), std::string_view(name).size(), std::to_string(value));
  throw UserError({.what = check.what,
                   .expected = std::move(condition.expected),
                   .got = std::move(condition.got),
                   .node = check.origin.text(),
                   .config = check.origin.config(),
                   .hint = hint});
}

}  // namespace thtrain
