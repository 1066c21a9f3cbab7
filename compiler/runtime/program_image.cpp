#include "compiler/runtime/program_image.h"

#include <algorithm>

#include "compiler/ops/registry.h"
#include "compiler/runtime/archive.h"

namespace thtrain {

static constexpr std::string_view kMark = "thtrain program 12\n";

template <class Archive>
void fields(Archive& a, Is<KernelText> auto& p) {
  a(p.name, p.label, p.comment, p.code, p.helpers);
}
static void fields(ByteWriter& a, const SourceText& p) {
  a(p.language, p.comment, p.helpers, p.kernels, p.entry, p.libraries);
}
static void fields(ByteReader& a, SourceText& p) {
  a.one_of(p.language, kernel::Language::kCuda);
  a(p.comment, p.helpers, p.kernels, p.entry, p.libraries);
}
template <class Archive>
void fields(Archive& a, Is<CheckText> auto& p) {
  a(p.what, p.expected, p.node, p.config, p.after_write);
}
template <class Archive>
void fields(Archive& a, Is<ReferenceStep::Value> auto& p) {
  a(p.has_elements, p.type, p.strides);
}

static constexpr int64_t kListedOp = -1;  // marks an op of the user's

// Among the user's ops; their number where the op is none of them.
static int64_t number_of(const Op& op, std::span<const Op* const> user_ops) {
  if (find_op(op.name) == &op) return kListedOp;
  return std::find(user_ops.begin(), user_ops.end(), &op) - user_ops.begin();
}

static void fields(ByteWriter& a, const ReferenceStep& step) {
  const std::optional<std::string> call = call_text(*step.node);
  const int64_t user_op = number_of(*step.node->op, a.user_ops);
  a.failed = a.failed || !call || user_op == static_cast<int64_t>(a.user_ops.size());
  const Origin& origin = step.node->origin;
  a(step.number, user_op, call.value_or(""), std::string_view(origin.file), origin.line, origin.scope != nullptr,
    origin.scope ? origin.scope->path : std::string(), origin.config(), step.inputs, step.after_write, step.values);
}

static void fields(ByteReader& a, ReferenceStep& step) {
  std::string call, file;
  int line = 0;
  int64_t user_op = kListedOp;
  bool has_scope = false;
  ScopeInfo scope;
  a(step.number, user_op, call, file, line, has_scope, scope.path, scope.config, step.inputs, step.after_write,
    step.values);
  if (a.has_failed() || step.inputs > step.values.size()) return a.fail();
  if (user_op < kListedOp || user_op >= static_cast<int64_t>(a.user_ops.size())) return a.fail();
  step.file = std::make_shared<const std::string>(std::move(file));
  Origin origin{step.file->c_str(), line, nullptr};
  if (has_scope) origin.scope = std::make_shared<const ScopeInfo>(std::move(scope));
  try {
    step.node = read_call(call, origin, user_op == kListedOp ? nullptr : a.user_ops[static_cast<size_t>(user_op)]);
  } catch (const Error&) {
    return a.fail();  // an InternalError too: rules of types take for granted what builders give
  }
  if (step.node->inputs.size() != step.inputs || step.node->types.size() != step.values.size() - step.inputs) a.fail();
}

template <class Archive>
void fields(Archive& a, Is<kernel::Choice> auto& p) {
  a(p.key.computation, p.key.properties, p.candidate, p.version);
}
template <class Archive>
void fields(Archive& a, Is<ProgramImage> auto& p) {
  a(p.source, p.checks, p.shared_order, p.on_device, p.read_by_host, p.constants, p.arena_bytes, p.lower_bound,
    p.host_bytes, p.reference_steps, p.choices);
}

static bool has_its_helpers(const SourceText& source) {
  for (const KernelText& kernel : source.kernels)
    for (uint32_t helper : kernel.helpers)
      if (helper >= source.helpers.size()) return false;
  return true;
}

std::optional<std::string> to_bytes(const ProgramImage& image, std::span<const Op* const> user_ops) {
  ByteWriter writer{.bytes = std::string(kMark), .user_ops = user_ops};
  writer(image);
  return writer.failed ? std::nullopt : std::optional(std::move(writer.bytes));
}

std::optional<ProgramImage> from_bytes(std::string_view bytes, std::span<const Op* const> user_ops) {
  if (!bytes.starts_with(kMark)) return std::nullopt;
  ByteReader reader(bytes.substr(kMark.size()), user_ops);
  ProgramImage out;
  reader(out);
  return reader.is_done() && has_its_helpers(out.source) ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace thtrain
