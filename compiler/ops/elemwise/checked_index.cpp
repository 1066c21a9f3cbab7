#include "compiler/ops/elemwise/checked_index.h"

namespace thtrain {

using kernel::StepBuilder;
using kernel::Term;

static std::string filled(std::string text, std::string_view name, int64_t number) {
  for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), std::to_string(number));
  return text;
}

[[noreturn]] static void fail_index(const Node& node, const IndexCheck& check, int64_t value, int64_t limit) {
  auto text = [&](const std::string& form) { return filled(filled(form, "{value}", value), "{limit}", limit); };
  throw UserError({.what = text(check.what),
                   .expected = text(check.expected),
                   .node = node.origin.text(),
                   .config = node.origin.config()});
}

int64_t checked_position(const Node& node, const IndexCheck& check, DType dtype, int64_t index, int64_t length,
                         std::optional<int64_t> shown) {
  int64_t position = check.from_end && is_signed_int(dtype) && index < 0 ? index + length : index;
  if (position < 0 || position >= length) fail_index(node, check, index, shown.value_or(length));
  return position;
}

Term checked_position(StepBuilder& b, const Node& node, const IndexCheck& check, Term index, Term length) {
  DType dtype = index.dtype();
  Term number = b.code().let("index", kernel::cast(index, DType::kInt64));
  Term position = number;
  if (check.from_end && is_signed_int(dtype))
    position = b.code().let("position", kernel::select(number < Term(0), number + length, number));
  b.require(position >= Term(0) && position < length, {check.what, check.expected, node.origin}, number, length);
  return position;
}

}  // namespace thtrain
