#include "compiler/ir/dtype.h"

#include <atomic>

namespace thtrain {
namespace {

enum class Kind : uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex };
struct Row {
  std::string_view name;
  Kind kind;
  uint8_t size;
};
constexpr Row kRows[] = {
    {"bool", Kind::kBool, 1},           {"int8", Kind::kSigned, 1},     {"int16", Kind::kSigned, 2},
    {"int32", Kind::kSigned, 4},        {"int64", Kind::kSigned, 8},    {"uint8", Kind::kUnsigned, 1},
    {"uint16", Kind::kUnsigned, 2},     {"uint32", Kind::kUnsigned, 4}, {"uint64", Kind::kUnsigned, 8},
    {"float32", Kind::kFloat, 4},       {"float64", Kind::kFloat, 8},   {"complex64", Kind::kComplex, 8},
    {"complex128", Kind::kComplex, 16},
};
const Row& row(DType dtype) {
  return kRows[static_cast<size_t>(dtype)];
}

std::atomic<DType> process_floatX = DType::kFloat64;
thread_local std::optional<DType> thread_floatX;

DType signed_of_size(size_t bytes) {
  return bytes == 1 ? DType::kInt8 : bytes == 2 ? DType::kInt16 : bytes == 4 ? DType::kInt32 : DType::kInt64;
}

}  // namespace

size_t size_of(DType dtype) {
  return row(dtype).size;
}
std::string_view name_of(DType dtype) {
  return row(dtype).name;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (DType dtype : kAllDTypes)
    if (name_of(dtype) == name) return dtype;
  return std::nullopt;
}

bool is_bool(DType dtype) {
  return row(dtype).kind == Kind::kBool;
}
bool is_signed_int(DType dtype) {
  return row(dtype).kind == Kind::kSigned;
}
bool is_unsigned_int(DType dtype) {
  return row(dtype).kind == Kind::kUnsigned;
}
bool is_int(DType dtype) {
  return is_signed_int(dtype) || is_unsigned_int(dtype);
}
bool is_float(DType dtype) {
  return row(dtype).kind == Kind::kFloat;
}
bool is_complex(DType dtype) {
  return row(dtype).kind == Kind::kComplex;
}

static DType checked_floatX(DType dtype) {
  if (!is_float(dtype))
    throw UserError({.what = "floatX must be float32 or float64", .got = std::string(name_of(dtype))});
  return dtype;
}

DType floatX() {
  return thread_floatX ? *thread_floatX : process_floatX.load(std::memory_order_relaxed);
}
void set_floatX(DType dtype) {
  process_floatX = checked_floatX(dtype);
}

FloatXScope::FloatXScope(DType dtype) : outer_(thread_floatX) {
  thread_floatX = checked_floatX(dtype);
}
FloatXScope::~FloatXScope() {
  thread_floatX = outer_;
}

std::optional<DType> promote(DType a, DType b) {
  if (a == b) return a;
  const Row &ra = row(a), &rb = row(b);
  if (ra.kind > rb.kind || (ra.kind == rb.kind && ra.size > rb.size)) return promote(b, a);
  // From here a's kind is not above b's, and within a kind a is the narrower.
  if (ra.kind == Kind::kBool || ra.kind == rb.kind) return b;
  if (rb.kind == Kind::kFloat) return b;
  if (rb.kind == Kind::kComplex) return ra.kind == Kind::kFloat && ra.size == 8 ? DType::kComplex128 : b;
  // A signed integer with an unsigned one: the signed type that holds both.
  if (rb.size < ra.size) return a;
  if (rb.size == 8) return std::nullopt;
  return signed_of_size(rb.size * 2u);
}

DType sum_dtype(DType dtype) {
  if (is_unsigned_int(dtype)) return DType::kUInt64;
  if (is_bool(dtype) || is_signed_int(dtype)) return DType::kInt64;
  return dtype;
}

DType to_float(DType dtype) {
  return is_float(dtype) || is_complex(dtype) ? dtype : floatX();
}

}  // namespace thtrain
