#include "compiler/runtime/program_image.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "compiler/ops/registry.h"

namespace thtrain {
namespace {

constexpr std::string_view kMark = "thtrain program 10\n";

// The fields of each part, in the order of the bytes: a Writer writes them, a Reader reads them.
template <class T, class Part>
concept Is = std::same_as<std::remove_const_t<T>, Part>;

template <class Archive>
void fields(Archive& a, Is<ConfigPosition> auto& p) {
  a(p.file, p.line, p.column, p.length, p.source_line);
}
template <class Archive>
void fields(Archive& a, Is<KernelText> auto& p) {
  a(p.name, p.label, p.comment, p.code, p.helpers);
}
template <class Archive>
void fields(Archive& a, Is<SourceText> auto& p) {
  a(p.language, p.comment, p.helpers, p.kernels, p.entry, p.libraries);
}
template <class Archive>
void fields(Archive& a, Is<CheckText> auto& p) {
  a(p.what, p.expected, p.node, p.config, p.after_write);
}
template <class Archive>
void fields(Archive& a, Is<ReferenceStep::Value> auto& p) {
  a(p.has_elements, p.type, p.strides);
}
template <class Archive>
void fields(Archive& a, Is<kernel::Choice> auto& p) {
  a(p.key.computation, p.key.properties, p.candidate, p.version);
}
template <class Archive>
void fields(Archive& a, Is<ProgramImage> auto& p) {
  a(p.source, p.checks, p.shared_order, p.constants, p.arena_bytes, p.lower_bound, p.reference_steps, p.choices);
}

constexpr int64_t kListedOp = -1;  // marks an op of the user's

class Writer {
 public:
  explicit Writer(std::span<const Op* const> user_ops) : user_ops_(user_ops) {}
  template <class... Parts>
  void operator()(const Parts&... parts) {
    (put(parts), ...);
  }
  std::string bytes{kMark};
  bool failed = false;

 private:
  void put(std::integral auto value) {
    const auto wide = static_cast<int64_t>(value);
    bytes.append(reinterpret_cast<const char*>(&wide), sizeof wide);
  }
  void put(std::string_view text) {
    put(text.size());
    bytes += text;
  }
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(const Dim& dim) { put(dim.text()); }
  void put(const Type& type) { put(type.text()); }
  void put(const Dims& dims) { put(Type{.dtype = DType::kBool, .dims = dims}); }
  void put(const Tensor& value) {
    put(type_of(value).text());
    put(std::string_view(static_cast<const char*>(value.contiguous().raw()), value.bytes()));
  }
  void put(const ReferenceStep& step) {
    const std::optional<std::string> call = call_text(*step.node);
    const int64_t user_op = number_of(*step.node->op);
    failed = failed || !call || user_op == static_cast<int64_t>(user_ops_.size());
    const Origin& origin = step.node->origin;
    (*this)(step.number, user_op, call.value_or(""), std::string_view(origin.file), origin.line,
            origin.scope != nullptr, origin.scope ? origin.scope->path : std::string(), origin.config(), step.inputs,
            step.values);
  }
  template <class T>
  void put(const std::vector<T>& all) {
    put(all.size());
    for (const T& one : all) put(one);
  }
  void put(kernel::Language language) { put(static_cast<int64_t>(language)); }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& part) { fields(*this, part); }
  // Among the user's ops; their number where the op is none of them.
  int64_t number_of(const Op& op) const {
    if (find_op(op.name) == &op) return kListedOp;
    return std::find(user_ops_.begin(), user_ops_.end(), &op) - user_ops_.begin();
  }

  std::span<const Op* const> user_ops_;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::span<const Op* const> user_ops) : rest_(bytes), user_ops_(user_ops) {}
  template <class... Parts>
  void operator()(Parts&... parts) {
    (get(parts), ...);
  }
  bool is_done() const { return rest_.empty() && !failed_; }

 private:
  std::string_view take(size_t size) {
    failed_ = failed_ || size > rest_.size();
    if (failed_) return {};
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  void get(std::integral auto& value) {
    int64_t wide = 0;
    const std::string_view bytes = take(sizeof wide);
    if (!failed_) std::memcpy(&wide, bytes.data(), sizeof wide);
    value = static_cast<std::remove_reference_t<decltype(value)>>(wide);
  }
  void get(std::string& text) {
    size_t size = 0;
    get(size);
    text = take(size);
  }
  template <class T>
  void get_parsed(T& out, std::optional<T> (*parse)(std::string_view)) {
    std::string text;
    get(text);
    std::optional<T> parsed = failed_ ? std::nullopt : parse(text);
    failed_ = failed_ || !parsed;
    if (parsed) out = std::move(*parsed);
  }
  void get(kernel::Language& language) {
    int64_t number = 0;
    get(number);
    if (number < 0 || number > static_cast<int64_t>(kernel::Language::kCuda)) return fail();
    language = static_cast<kernel::Language>(number);
  }
  void get(Dim& dim) { get_parsed(dim, Dim::parse); }
  void get(Type& type) { get_parsed(type, parse_type); }
  void get(Dims& dims) {
    Type type;
    get(type);
    dims = std::move(type.dims);
  }
  void get(Tensor& value) {
    Type type;
    std::string data;
    (*this)(type, data);
    if (failed_ || type.kind != TypeKind::kTensor || !type.is_known()) return fail();
    uint64_t bytes = size_of(type.dtype);
    for (int64_t length : type.known_shape())
      if (length < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(length), &bytes)) return fail();
    if (data.size() != bytes) return fail();
    value = Tensor::empty(type.dtype, type.known_shape());
    std::memcpy(value.raw(), data.data(), data.size());
  }
  void get(ReferenceStep& step) {
    std::string call, file;
    int line = 0;
    int64_t user_op = kListedOp;
    bool has_scope = false;
    ScopeInfo scope;
    (*this)(step.number, user_op, call, file, line, has_scope, scope.path, scope.config, step.inputs, step.values);
    if (failed_ || step.inputs > step.values.size()) return fail();
    if (user_op < kListedOp || user_op >= static_cast<int64_t>(user_ops_.size())) return fail();
    step.file = std::make_shared<const std::string>(std::move(file));
    Origin origin{step.file->c_str(), line, nullptr};
    if (has_scope) origin.scope = std::make_shared<const ScopeInfo>(std::move(scope));
    try {
      step.node = read_call(call, origin, user_op == kListedOp ? nullptr : user_ops_[static_cast<size_t>(user_op)]);
    } catch (const Error&) {
      return fail();  // an InternalError too: rules of types take for granted what builders give
    }
    if (step.node->inputs.size() != step.inputs || step.node->types.size() != step.values.size() - step.inputs) fail();
  }
  template <class T>
  void get(std::vector<T>& all) {
    size_t count = 0;
    get(count);
    if (count > rest_.size()) return fail();  // each has a byte or more
    for (; count > 0 && !failed_; --count) get(all.emplace_back());
  }
  template <class T>
  requires std::is_class_v<T>
  void get(T& part) { fields(*this, part); }
  void fail() { failed_ = true; }

  std::string_view rest_;
  std::span<const Op* const> user_ops_;
  bool failed_ = false;
};

bool has_its_helpers(const SourceText& source) {
  for (const KernelText& kernel : source.kernels)
    for (uint32_t helper : kernel.helpers)
      if (helper >= source.helpers.size()) return false;
  return true;
}

}  // namespace

std::optional<std::string> to_bytes(const ProgramImage& image, std::span<const Op* const> user_ops) {
  Writer writer(user_ops);
  writer(image);
  return writer.failed ? std::nullopt : std::optional(std::move(writer.bytes));
}

std::optional<ProgramImage> from_bytes(std::string_view bytes, std::span<const Op* const> user_ops) {
  if (!bytes.starts_with(kMark)) return std::nullopt;
  Reader reader(bytes.substr(kMark.size()), user_ops);
  ProgramImage out;
  reader(out);
  return reader.is_done() && has_its_helpers(out.source) ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace thtrain
