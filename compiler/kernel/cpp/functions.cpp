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

// A matrix product is hundreds of fmas: as one instruction each they compile in less than half the time of `loops`.
std::string with_fma(const TermType& t, const std::string& loops) {
  bool f32 = t.dtype == DType::kFloat32;
  size_t bytes = size_of(t.dtype) * static_cast<size_t>(t.lanes);
  if (bytes < 16 || bytes > 64) return loops;
  const char* width = bytes == 64 ? "512_mask" : bytes == 32 ? "256" : "";
  const char* all_lanes = bytes < 64 ? "" : f32 ? ", (unsigned short)-1, 4" : ", (unsigned char)-1, 4";
  return str("#ifdef ", bytes == 64 ? "__AVX512F__" : "__FMA__", "\n  return __builtin_ia32_vfmadd", f32 ? "ps" : "pd",
             width, "(a, b, c", all_lanes, ");\n#else\n", loops, "#endif\n");
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

// AVX-512 has an instruction. Else by two powers of two, made of their exponents: only the last product is rounded.
std::string scale_text(const TermNode& n, const std::vector<std::string>& a, Helpers& h) {
  const DType dtype = n.type.dtype;
  const bool f32 = dtype == DType::kFloat32;
  if (!n.type.is_vector()) return str("__builtin_ldexp", f32 ? "f" : "", "(", a[0], ", (int)", a[1], ")");
  std::string v = type_text(n.type, h), name = str("scale_", v);
  if (h.need(name)) {
    std::string ints = vector_type(mask_dtype(f32 ? 4 : 8), n.type.lanes, h);
    const char* whole = f32 ? "0x1.8p23f" : "0x1.8p52";  // the last bits of this and a small number are that number
    const char *bias = f32 ? "127" : "1023", *digits = f32 ? "23" : "52";
    std::string powers = str("  const ", ints, " k = (", ints, ")(n + ", whole, ") - (", ints, ")((", v, "){} + ",
                             whole, "), half = k >> 1;\n  return x * (", v, ")((half + ", bias, ") << ", digits,
                             ") * (", v, ")((k - half + ", bias, ") << ", digits, ");\n");
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
