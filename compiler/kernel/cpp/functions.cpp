#include "compiler/kernel/cpp/functions.h"

#include <unordered_set>

#include "compiler/kernel/cpp/types.h"
#include "compiler/kernel/cpp/vectors.h"
#include "compiler/kernel/printer.h"
#include "compiler/kernel/vector_maths.h"

namespace thtrain::kernel::cpp {
namespace {

// Has a function of libm (by its name for doubles) a vector form in libmvec?
bool in_libmvec(const std::string& function) {
  static const std::unordered_set<std::string> names{
      "exp",  "exp2", "expm1", "log",   "log2",  "log10", "log1p", "sin",  "cos", "tan",   "asin", "acos", "atan",
      "sinh", "cosh", "tanh",  "asinh", "acosh", "atanh", "erf",   "erfc", "pow", "atan2", "cbrt", "hypot"};
  return names.count(function) != 0;
}

size_t bytes_of(const TermType& t) {
  return size_of(t.dtype) * static_cast<size_t>(t.lanes);
}

// A body that is one instruction where `condition` holds; else `plain`, which computes the same.
std::string by_instruction(const char* operation, const TermType& t, const std::string& arguments,
                           const std::string& condition, const std::string& plain) {
  const bool f32 = t.dtype == DType::kFloat32;
  const char* width = bytes_of(t) == 64 ? "512_mask" : bytes_of(t) == 32 ? "256" : "";
  const char* all_lanes = bytes_of(t) < 64 ? "" : f32 ? ", (unsigned short)-1, 4" : ", (unsigned char)-1, 4";
  return str("#if ", condition, "\n  return __builtin_ia32_", operation, f32 ? "ps" : "pd", width, "(", arguments,
             all_lanes, ");\n#else\n", plain, "#endif\n");
}

bool is_register(const TermType& t) {
  return is_float(t.dtype) && bytes_of(t) >= 16 && bytes_of(t) <= 64;
}

// A matrix product is hundreds of fmas: as one instruction each they compile in less than half the time of `loops`.
std::string with_fma(const TermType& t, const std::string& loops) {
  if (!is_register(t)) return loops;
  return by_instruction("vfmadd", t, "a, b, c", bytes_of(t) == 64 ? "defined(__AVX512F__)" : "defined(__FMA__)", loops);
}

std::string builtin(const char* function, DType dtype) {
  return str("__builtin_", function, dtype == DType::kFloat32 ? "f" : "");
}

// "f32x4 a, f32x4 b"
std::string parameters(const std::string& type, size_t arity) {
  return arity == 2 ? str(type, " a, ", type, " b") : str(type, " a");
}

std::string inlined(const TermNode& n, int lanes, const Dialect& dialect, Helpers& h) {
  const Term x = variable("x", {n.type.dtype, lanes, 0});
  std::string name = str(n.name, "_", type_text(x.type(), h));
  if (h.need(name)) {
    Code code;
    const Term result = polynomial(n.name, x, code);
    h.add(print_inline(code.take(), result, x, dialect, h).named(name));
  }
  return name;
}

std::string declared_in_libm(const TermNode& n, size_t arity, Helpers& h) {
  std::string name = n.name + (n.type.dtype == DType::kFloat32 ? "f" : "");
  std::string element = name_of_element(n.type.dtype).c;
  if (h.need(name))
    h.add(str("extern \"C\" __attribute__((const)) ", element, " ", name, "(", parameters(element, arity), ");\n"));
  return name;
}

std::string lane_by_lane(const TermNode& n, size_t arity, Helpers& h) {
  std::string v = type_text(n.type, h), name = str(n.name, "_", v), libm = declared_in_libm(n, arity, h);
  if (h.need(name))
    h.add(str("static inline ", v, " ", name, "(", parameters(v, arity), ") {\n  ", v, " r;\n  for (int i = 0; i < ",
              n.type.lanes, "; ++i) r[i] = ", libm, arity == 2 ? "(a[i], b[i])" : "(a[i])", ";\n  return r;\n}\n"));
  return name;
}

std::string by_whole_vectors(const TermNode& n, size_t arity, int whole, Helpers& h) {
  std::string v = vector_type(n.type.dtype, whole, h), name = str(n.name, "_", v);
  if (h.need(name)) {
    const size_t bytes = static_cast<size_t>(whole) * size_of(n.type.dtype);
    const char* isa = bytes == 64 ? "e" : bytes == 32 ? "d" : "b";
    std::string symbol =
        str("_ZGV", isa, "N", whole, arity == 2 ? "vv_" : "v_", n.name, n.type.dtype == DType::kFloat32 ? "f" : "");
    h.add(str("extern \"C\" __attribute__((const)) ", v, " ", symbol, "(", parameters(v, arity), ");\n"));
    h.add(str("static inline ", v, " ", name, "(", parameters(v, arity), ") { return ", symbol,
              arity == 2 ? "(a, b)" : "(a)", "; }\n"));
  }
  return name;
}

// The narrow vector's lanes again and again: no lane costs what theirs do not.
std::string narrow(const TermNode& n, size_t arity, const std::string& function, int whole, Helpers& h) {
  std::string v = type_text(n.type, h), name = str(n.name, "_", v);
  if (h.need(name)) {
    std::string wide, first;
    for (int i = 0; i < whole; ++i) wide += str(", ", i % n.type.lanes);
    for (int i = 0; i < n.type.lanes; ++i) first += str(", ", i);
    auto widened = [&](const char* x) { return str("__builtin_shufflevector(", x, ", ", x, wide, ")"); };
    h.add(str("static inline ", v, " ", name, "(", parameters(v, arity), ") {\n  ", vector_type(n.type.dtype, whole, h),
              " r = ", function, "(", widened("a"), arity == 2 ? ", " + widened("b") : "",
              ");\n  return __builtin_shufflevector(r, r", first, ");\n}\n"));
  }
  return name;
}

std::string single(const TermNode& n, size_t arity, const std::string& function, int whole, Helpers& h) {
  ElementName element = name_of_element(n.type.dtype);
  std::string name = str(n.name, "_", element.brief), splat = splat_helper({n.type.dtype, whole, 0}, h);
  if (h.need(name))
    h.add(str("static inline ", element.c, " ", name, "(", parameters(element.c, arity), ") { return ", function, "(",
              splat, "(a)", arity == 2 ? str(", ", splat, "(b)") : "", ")[0]; }\n"));
  return name;
}

}  // namespace

// One instruction for each lane; the compilers make one vector instruction of the loop.
std::string lanewise_text(const char* function, const TermNode& n, const std::vector<std::string>& a, Helpers& h) {
  if (!n.type.is_vector()) return str(builtin(function, n.type.dtype), "(", join(a, ", "), ")");
  std::string v = type_text(n.type, h);
  std::string name = str(function, "_", v);
  if (h.need(name)) {
    static constexpr const char* kArgs[] = {"a", "b", "c"};
    std::string parameters, lanes;
    for (size_t i = 0; i < a.size(); ++i) {
      parameters += str(i ? ", " : "", v, " ", kArgs[i]);
      lanes += str(i ? ", " : "", kArgs[i], "[i]");
    }
    std::string body = str("  ", v, " r;\n  for (int i = 0; i < ", n.type.lanes,
                           "; ++i) r[i] = ", builtin(function, n.type.dtype), "(", lanes, ");\n  return r;\n");
    if (n.prim == Prim::kFma) body = with_fma(n.type, body);
    h.add(str(kInline, v, " ", name, "(", parameters, ") {\n", body, "}\n"));
  }
  return str(name, "(", join(a, ", "), ")");
}

// g++ makes two instructions of "a < b ? a : b", which is one, for NaN and zeros too.
std::string extremum_text(const TermNode& n, const std::vector<std::string>& a, Helpers& h) {
  if (!is_register(n.type)) return {};
  auto is = [&](const std::string& x, const char* by, const std::string& y) { return a[0] == str("(", x, by, y, ")"); };
  const bool is_lesser = is(a[1], " < ", a[2]) || is(a[2], " > ", a[1]);
  if (!is_lesser && !is(a[1], " > ", a[2]) && !is(a[2], " < ", a[1])) return {};
  const std::string v = type_text(n.type, h), name = str(is_lesser ? "lesser_" : "greater_", v);
  if (h.need(name)) {
    const size_t bytes = bytes_of(n.type);
    const char* extension = bytes == 64 ? "__AVX512F__" : bytes == 32 ? "__AVX__" : "__SSE2__";
    h.add(str(kInline, v, " ", name, "(", parameters(v, 2), ") {\n",
              by_instruction(is_lesser ? "min" : "max", n.type, bytes == 64 ? "a, b, a" : "a, b",
                             str("defined(", extension, ") && !defined(__clang__)"),
                             str("  return a ", is_lesser ? "<" : ">", " b ? a : b;\n")),
              "}\n"));
  }
  return str(name, "(", a[1], ", ", a[2], ")");
}

// AVX-512 has an instruction. Else by two powers of two, made of their exponents, half of n and the rest: only the last
// product is rounded.
std::string scale_text(const TermNode& n, const std::vector<std::string>& a, Helpers& h) {
  const DType dtype = n.type.dtype;
  const bool f32 = dtype == DType::kFloat32;
  if (!n.type.is_vector()) return str("__builtin_ldexp", f32 ? "f" : "", "(", a[0], ", (int)", a[1], ")");
  std::string v = type_text(n.type, h), name = str("scale_", v);
  if (h.need(name)) {
    std::string ints = vector_type(mask_dtype(f32 ? 4 : 8), n.type.lanes, h);
    // The last bits of this and a small number are that number; with twice the exponent's bias.
    const char* whole = f32 ? "(0x1.8p23f + 254)" : "(0x1.8p52 + 2046)";
    const char *digits = f32 ? "23" : "52", *to_half = f32 ? "22" : "51",
               *exponent = f32 ? "-(1 << 23)" : "-(1L << 52)";
    std::string powers = str("  const ", ints, " k = (", ints, ")(n + ", whole, "), half = (k << ", to_half, ") & ",
                             exponent, ";\n  return x * (", v, ")half * (", v, ")((k << ", digits, ") - half);\n");
    if (size_of(dtype) * static_cast<size_t>(n.type.lanes) == 64)
      powers = str("#ifdef __AVX512F__\n  return __builtin_ia32_scalef", f32 ? "ps" : "pd",
                   "512_mask(x, n, x, (unsigned ", f32 ? "short" : "char", ")-1, 4);\n#else\n", powers, "#endif\n");
    h.add(str(kInline, v, " ", name, "(", v, " x, ", v, " n) {\n", powers, "}\n"));
  }
  return str(name, "(", join(a, ", "), ")");
}

std::string math_text(const TermNode& n, const std::vector<std::string>& a, const Dialect& dialect,
                      const Target& target, Helpers& h) {
  const int whole = target.lanes_of(n.type.dtype);
  const bool by_libmvec = target.is_x86() && in_libmvec(n.name);  // Debian 12's libmvec is x86-64's only
  std::string arguments = str("(", join(a, ", "), ")");
  if (has_polynomial(n.name, target)) {
    if (n.type.is_vector()) return inlined(n, n.type.lanes, dialect, h) + arguments;
    return single(n, 1, inlined(n, whole, dialect, h), whole, h) + arguments;
  }
  if (!by_libmvec) {
    if (n.type.is_vector()) return lane_by_lane(n, a.size(), h) + arguments;
    return declared_in_libm(n, a.size(), h) + arguments;
  }
  // libmvec's widths differ in last bits. An element of a narrower vector, or a single one, goes through the target's
  // whole vector: its bits do not depend on where it is, nor on what it is fused with.
  std::string name = by_whole_vectors(n, a.size(), whole, h);
  if (n.type.lanes == whole) return name + arguments;
  TH_CHECK(n.type.lanes < whole, n.name, " of ", n.type.lanes, " lanes on vectors of ", whole);
  return (n.type.is_vector() ? narrow(n, a.size(), name, whole, h) : single(n, a.size(), name, whole, h)) + arguments;
}

}  // namespace thtrain::kernel::cpp
