// What a call throws where a check of its program has failed.
#include "compiler/ir/length_condition.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {

static std::string filled(std::string text, long value, long limit) {
  auto fill = [&](std::string_view mark, long number) {
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark))
      text.replace(at, mark.size(), std::to_string(number));
  };
  fill("{value}", value);
  fill("{limit}", limit);
  return text;
}

void throw_failed_check(Function::State& s) {
  if (s.device) s.device->end_early();
  if (s.failure) std::rethrow_exception(std::exchange(s.failure, nullptr));
  const ThFailure& failure = s.context.failure;
  const auto number = static_cast<size_t>(failure.word - 1);
  TH_CHECK(number < s.program->image.checks.size(), "check ", number);
  const CheckText& check = s.program->image.checks[number];
  if (number < s.canonical.value_checks.size())
    throw_lengths_differ(s.canonical.value_checks[number], failure.value, failure.limit,
                         check.after_write ? kMayHaveChanged : "");
  throw UserError({.what = filled(check.what, failure.value, failure.limit),
                   .expected = filled(check.expected, failure.value, failure.limit),
                   .node = check.node,
                   .config = check.config,
                   .hint = check.after_write ? kMayHaveChanged : ""});
}

void throw_unread(ThContext* context) {
  auto& s = *static_cast<Function::State*>(context->host);
  try {
    throw_failed_check(s);
  } catch (...) {
    rethrow_called_at(s.options.name, s.left_at);
  }
}

}  // namespace thtrain
