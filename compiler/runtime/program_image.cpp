#include "compiler/runtime/program_image.h"

#include <cstring>

namespace thtrain {
namespace {

constexpr std::string_view kMark = "thtrain program 7\n";

class Writer {
 public:
  void number(int64_t value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    out_ += value;
  }
  void place(const ConfigPosition& at) {
    text(at.file);
    number(at.line);
    number(at.column);
    number(at.length);
    text(at.source_line);
  }
  std::string out_{kMark};
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  int64_t number() {
    int64_t value = 0;
    std::string_view bytes = take(sizeof value);
    if (!failed) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string text() {
    int64_t size = number();
    return std::string(take(size < 0 ? SIZE_MAX : static_cast<size_t>(size)));
  }
  ConfigPosition place() {
    ConfigPosition out;
    out.file = text();
    out.line = static_cast<int>(number());
    out.column = static_cast<int>(number());
    out.length = static_cast<int>(number());
    out.source_line = text();
    return out;
  }
  size_t count() {
    int64_t n = number();
    if (n < 0 || static_cast<size_t>(n) > rest_.size()) failed = true;
    return failed ? 0 : static_cast<size_t>(n);
  }
  std::string_view take(size_t size) {
    if (size > rest_.size()) failed = true;
    if (failed) return {};
    std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  bool done() const { return rest_.empty() && !failed; }
  bool failed = false;

 private:
  std::string_view rest_;
};

void write_source(Writer& w, const SourceText& source) {
  w.number(static_cast<int64_t>(source.language));
  w.text(source.comment);
  w.number(static_cast<int64_t>(source.helpers.size()));
  for (const std::string& helper : source.helpers) w.text(helper);
  w.number(static_cast<int64_t>(source.kernels.size()));
  for (const KernelText& kernel : source.kernels) {
    for (const std::string* part : {&kernel.name, &kernel.label, &kernel.comment, &kernel.code}) w.text(*part);
    w.number(static_cast<int64_t>(kernel.helpers.size()));
    for (uint32_t helper : kernel.helpers) w.number(helper);
  }
  w.text(source.entry);
  w.number(static_cast<int64_t>(source.libraries.size()));
  for (const std::string& name : source.libraries) w.text(name);
}

/// False where it is in no language, or a kernel names a helper that there is not.
bool read_source(Reader& r, SourceText& out) {
  const int64_t language = r.number();
  if (language < 0 || language > static_cast<int64_t>(kernel::Language::kC99)) return false;
  out.language = static_cast<kernel::Language>(language);
  out.comment = r.text();
  for (size_t n = r.count(); n-- > 0 && !r.failed;) out.helpers.push_back(r.text());
  for (size_t n = r.count(); n-- > 0 && !r.failed;) {
    KernelText kernel;
    for (std::string* part : {&kernel.name, &kernel.label, &kernel.comment, &kernel.code}) *part = r.text();
    for (size_t helpers = r.count(); helpers-- > 0 && !r.failed;) {
      const auto helper = static_cast<uint64_t>(r.number());
      if (helper >= out.helpers.size()) return false;
      kernel.helpers.push_back(static_cast<uint32_t>(helper));
    }
    out.kernels.push_back(std::move(kernel));
  }
  out.entry = r.text();
  for (size_t n = r.count(); n-- > 0 && !r.failed;) out.libraries.push_back(r.text());
  return true;
}

bool write_step(Writer& w, const ReferenceStep& step) {
  std::optional<std::string> call = call_text(*step.node);
  if (!call) return false;
  w.number(static_cast<int64_t>(step.number));
  w.text(*call);
  const Origin& origin = step.node->origin;
  w.text(origin.file);
  w.number(origin.line);
  w.number(origin.scope != nullptr);
  w.text(origin.scope ? origin.scope->path : "");
  w.place(origin.config());
  w.number(static_cast<int64_t>(step.inputs));
  w.number(static_cast<int64_t>(step.values.size()));
  for (const ReferenceStep::Value& value : step.values) {
    w.number(value.has_elements);
    w.text(value.type.text());
    w.text(Type{.dtype = DType::kBool, .dims = value.strides}.text());
  }
  return true;
}

std::optional<ReferenceStep> read_step(Reader& r) {
  ReferenceStep out{};
  out.number = static_cast<size_t>(r.number());
  std::string call = r.text();
  out.file = std::make_shared<const std::string>(r.text());
  Origin origin{out.file->c_str(), static_cast<int>(r.number()), nullptr};
  bool has_scope = r.number() != 0;
  ScopeInfo scope{r.text(), r.place()};
  if (has_scope) origin.scope = std::make_shared<const ScopeInfo>(std::move(scope));
  out.inputs = static_cast<size_t>(r.number());
  for (size_t n = r.count(); n-- > 0 && !r.failed;) {
    bool has_elements = r.number() != 0;
    std::optional<Type> type = parse_type(r.text()), strides = parse_type(r.text());
    if (!type || !strides) return std::nullopt;
    out.values.push_back({has_elements, *type, strides->dims});
  }
  if (r.failed || out.inputs > out.values.size()) return std::nullopt;
  try {
    out.node = read_call(call, origin);
  } catch (const Error&) {
    return std::nullopt;  // an InternalError too: rules of types take for granted what builders give
  }
  if (out.node->inputs.size() != out.inputs || out.node->types.size() != out.values.size() - out.inputs)
    return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::string> to_bytes(const ProgramImage& image) {
  Writer w;
  write_source(w, image.source);
  w.number(static_cast<int64_t>(image.checks.size()));
  for (const CheckText& check : image.checks) {
    w.text(check.what);
    w.text(check.expected);
    w.text(check.node);
    w.place(check.config);
    w.number(check.after_write);
  }
  w.number(static_cast<int64_t>(image.shared_order.size()));
  for (size_t i : image.shared_order) w.number(static_cast<int64_t>(i));
  w.number(static_cast<int64_t>(image.constants.size()));
  for (const Tensor& constant : image.constants) {
    w.text(type_of(constant).text());
    w.text({static_cast<const char*>(constant.contiguous().raw()), constant.bytes()});
  }
  w.text(image.arena_bytes.text());
  w.text(image.lower_bound.text());
  w.number(static_cast<int64_t>(image.reference_steps.size()));
  for (const ReferenceStep& step : image.reference_steps)
    if (!write_step(w, step)) return std::nullopt;
  w.number(static_cast<int64_t>(image.choices.size()));
  for (const kernel::Choice& choice : image.choices)
    for (const std::string* part :
         {&choice.key.computation, &choice.key.properties, &choice.candidate, &choice.version})
      w.text(*part);
  return std::move(w.out_);
}

std::optional<ProgramImage> from_bytes(std::string_view bytes) {
  if (!bytes.starts_with(kMark)) return std::nullopt;
  Reader r(bytes.substr(kMark.size()));
  ProgramImage out;
  if (!read_source(r, out.source)) return std::nullopt;
  for (size_t n = r.count(); n-- > 0 && !r.failed;) {
    CheckText check;
    check.what = r.text();
    check.expected = r.text();
    check.node = r.text();
    check.config = r.place();
    check.after_write = r.number() != 0;
    out.checks.push_back(std::move(check));
  }
  for (size_t n = r.count(); n-- > 0 && !r.failed;) out.shared_order.push_back(static_cast<size_t>(r.number()));
  for (size_t n = r.count(); n-- > 0 && !r.failed;) {
    std::optional<Type> type = parse_type(r.text());
    std::string data = r.text();
    if (!type || type->kind != TypeKind::kTensor || !type->is_known()) return std::nullopt;
    uint64_t bytes = size_of(type->dtype);
    for (int64_t length : type->known_shape())
      if (length < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(length), &bytes)) return std::nullopt;
    if (data.size() != bytes) return std::nullopt;
    Tensor constant = Tensor::empty(type->dtype, type->known_shape());
    std::memcpy(constant.raw(), data.data(), data.size());
    out.constants.push_back(constant);
  }
  std::optional<Dim> arena = Dim::parse(r.text()), bound = Dim::parse(r.text());
  for (size_t n = r.count(); n-- > 0 && !r.failed;) {
    std::optional<ReferenceStep> step = read_step(r);
    if (!step) return std::nullopt;
    out.reference_steps.push_back(std::move(*step));
  }
  for (size_t n = r.count(); n-- > 0 && !r.failed;) {
    kernel::Choice choice;
    for (std::string* part : {&choice.key.computation, &choice.key.properties, &choice.candidate, &choice.version})
      *part = r.text();
    out.choices.push_back(std::move(choice));
  }
  if (!arena || !bound || !r.done()) return std::nullopt;
  out.arena_bytes = *arena;
  out.lower_bound = *bound;
  return out;
}

}  // namespace thtrain
