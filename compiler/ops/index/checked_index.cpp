#include "compiler/ops/index/checked_index.h"

#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

using kernel::StepBuilder;
using kernel::Term;

static std::string filled(std::string text, std::string_view name, int64_t number) {
  for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), std::to_string(number));
  return text;
}

void fail_index(const Node& node, const IndexCheck& check, int64_t value, int64_t limit) {
  auto text = [&](const std::string& form) { return filled(filled(form, "{value}", value), "{limit}", limit); };
  throw UserError({.what = text(check.what),
                   .expected = text(check.expected),
                   .node = node.origin.text(),
                   .config = node.origin.config()});
}

int64_t checked_position(const Node& node, const IndexCheck& check, DType dtype, int64_t index, int64_t length,
                         std::optional<int64_t> reported) {
  int64_t position = check.from_end && is_signed_int(dtype) && index < 0 ? index + length : index;
  if (position < 0 || position >= length) fail_index(node, check, index, reported.value_or(length));
  return position;
}

Term checked_position(StepBuilder& b, const Node& node, const IndexCheck& check, Term index, Term length, bool checked,
                      Term reported) {
  DType dtype = index.dtype();
  Term number = b.code().let("index", kernel::cast(index, DType::kInt64));
  Term position = number;
  if (check.from_end && is_signed_int(dtype))
    position = b.code().let("position", kernel::select(number < Term(0), number + length, number));
  if (checked)
    b.require(position >= Term(0) && position < length, {check.what, check.expected, node.origin}, number,
              reported ? reported : length);
  return position;
}

void check_kernel(StepBuilder& b, const Node& node, size_t i, const IndexCheck& check, const Dim& length,
                  bool reports_row) {
  const kernel::Operand& indices = b.input(i);
  LoopRange over = element_loops(b, indices.type.dims, 1, [&](const Terms& index, int) {
    checked_position(b, node, check, b.load(indices, b.index_of(indices, index)), b.length(length), true,
                     reports_row ? index[0] : Term());
  });
  b.finish_kernel("check", "every index is inside", over.range);
}

}  // namespace thtrain
