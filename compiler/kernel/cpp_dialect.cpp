// The C++ dialect: explicit vectors by GCC's and clang's vector_size; exp and tanh of our own, other functions by
// libmvec's entry points.
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "compiler/kernel/printer.h"
#include "compiler/kernel/vector_maths.h"

namespace thtrain::kernel {
namespace {

// One instruction each: left to themselves, compilers stop inlining where a kernel is long.
constexpr const char* kInline = "static inline __attribute__((always_inline)) ";

struct Name {
  const char* c;      // of the C++ type
  const char* brief;  // in helpers' names
};

Name name_of_element(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {"bool", "b8"};
    case DType::kInt8:
      return {"signed char", "i8"};
    case DType::kInt16:
      return {"short", "i16"};
    case DType::kInt32:
      return {"int", "i32"};
    case DType::kInt64:
      return {"long", "i64"};
    case DType::kUInt8:
      return {"unsigned char", "u8"};
    case DType::kUInt16:
      return {"unsigned short", "u16"};
    case DType::kUInt32:
      return {"unsigned", "u32"};
    case DType::kUInt64:
      return {"unsigned long", "u64"};
    case DType::kFloat32:
      return {"float", "f32"};
    case DType::kFloat64:
      return {"double", "f64"};
    default:
      break;
  }
  TH_CHECK(false, "the loop language has no ", thtrain::name_of(dtype));
  __builtin_unreachable();
}

DType mask_dtype(int bytes) {
  return bytes == 1 ? DType::kInt8 : bytes == 2 ? DType::kInt16 : bytes == 4 ? DType::kInt32 : DType::kInt64;
}

// The name of a function in libm (for doubles) and whether it has a vector form in libmvec.
bool in_libmvec(const std::string& function) {
  static const std::unordered_set<std::string> names{
      "exp",  "exp2", "expm1", "log",   "log2",  "log10", "log1p", "sin",  "cos", "tan",   "asin", "acos", "atan",
      "sinh", "cosh", "tanh",  "asinh", "acosh", "atanh", "erf",   "erfc", "pow", "atan2", "cbrt", "hypot"};
  return names.count(function) != 0;
}

class CppDialect : public Dialect {
 public:
  explicit CppDialect(int vector_bytes) : vector_bytes_(vector_bytes) {}

  std::string type(const TermType& t, Helpers& h) const override {
    if (!t.is_vector()) return name_of_element(t.dtype).c;
    DType element = t.dtype == DType::kBool ? mask_dtype(t.mask_bytes) : t.dtype;
    return vector_type(element, t.lanes, h);
  }

  std::string constant(const TermNode& node) const override {
    DType dtype = node.type.dtype;
    if (is_float(dtype)) {
      const char* suffix = dtype == DType::kFloat32 ? "f" : "";
      if (std::isnan(node.number)) return str("__builtin_nan", suffix, "(\"\")");
      if (std::isinf(node.number)) return str(node.number < 0 ? "-" : "", "__builtin_inf", suffix, "()");
      // Exact as hexadecimal; the decimal beside it is for people. Small whole numbers need neither.
      if (node.number == std::floor(node.number) && std::fabs(node.number) < 1e6)
        return str(std::signbit(node.number) ? "-" : "", static_cast<int64_t>(std::fabs(node.number)), ".0", suffix);
      char hex[48];
      std::snprintf(hex, sizeof hex, "%a", node.number);
      return str(hex, suffix, " /* ", node.number, " */");
    }
    if (dtype == DType::kBool) return node.integer ? "true" : "false";
    if (dtype == DType::kInt64)
      return node.integer == INT64_MIN ? "(-9223372036854775807L - 1)" : str(node.integer, "L");
    if (dtype == DType::kUInt64) return str(static_cast<uint64_t>(node.integer), "UL");
    return str("((", name_of_element(dtype).c, ")", node.integer, ")");
  }

  std::string term(const TermNode& n, const std::vector<std::string>& a, Helpers& h) const override {
    static constexpr const char* kInfix[] = {"",   "",   "+", "-",  "*", "/",  "%",  "-",  "&",  "|",  "^", "~",
                                             "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "!"};
    switch (n.prim) {
      case Prim::kAnd:
        return vector_logic(n, a, "&", "&&", h);
      case Prim::kOr:
        return vector_logic(n, a, "|", "||", h);
      case Prim::kNot:
        return str(n.type.is_vector() ? "(~" : "(!", a[0], ")");
      case Prim::kNegate:
      case Prim::kBitNot:
        return str("(", kInfix[static_cast<int>(n.prim)], a[0], ")");
      case Prim::kBitAnd:
      case Prim::kBitOr:
      case Prim::kBitXor:
      case Prim::kAdd:
      case Prim::kSub:
      case Prim::kMul:
      case Prim::kDiv:
      case Prim::kRemainder:
      case Prim::kShiftLeft:
      case Prim::kShiftRight: {
        std::string text = str("(", a[0], " ", kInfix[static_cast<int>(n.prim)], " ", a[1], ")");
        // C++ computes small integers as int: back to the element's type.
        if (!n.type.is_vector() && is_int(n.type.dtype) && size_of(n.type.dtype) < 4)
          return str("((", name_of_element(n.type.dtype).c, ")", text, ")");
        return text;
      }
      case Prim::kEqual:
      case Prim::kNotEqual:
      case Prim::kLess:
      case Prim::kLessEqual:
      case Prim::kGreater:
      case Prim::kGreaterEqual: {
        int bytes = n.type.mask_bytes;
        return str("(", as_mask(n.args[0], a[0], bytes, h), " ", kInfix[static_cast<int>(n.prim)], " ",
                   as_mask(n.args[1], a[1], bytes, h), ")");
      }
      case Prim::kSelect:
        return select(n, a, h);
      case Prim::kCast:
        if (!n.type.is_vector()) return str("((", name_of_element(n.type.dtype).c, ")", a[0], ")");
        return str("__builtin_convertvector(", a[0], ", ", type(n.type, h), ")");
      case Prim::kBitCast:
        return bit_cast(n, a[0], h);
      case Prim::kSqrt:
        return lanewise("sqrt", n, a, h);
      case Prim::kFabs:
        return lanewise("fabs", n, a, h);
      case Prim::kFloor:
        return lanewise("floor", n, a, h);
      case Prim::kCeil:
        return lanewise("ceil", n, a, h);
      case Prim::kRint:
        return lanewise("rint", n, a, h);
      case Prim::kTrunc:
        return lanewise("trunc", n, a, h);
      case Prim::kFma:
        return lanewise("fma", n, a, h);
      case Prim::kCopySign:
        return lanewise("copysign", n, a, h);
      case Prim::kScale:
        return scale(n, a, h);
      case Prim::kMath:
        return math(n, a, h);
      case Prim::kLoad:
        return load(n, a, h);
      case Prim::kGather:
        return gather(n, a, h);
      case Prim::kSplat:
        return splat(n, a[0], h);
      case Prim::kIota:
        return iota(n, h);
      case Prim::kReduceLanes:
        return reduce(n, a[0], h);
      case Prim::kInterleaveEven:
      case Prim::kInterleaveOdd:
        return blocks(n, a);
      case Prim::kEvenLanes:
      case Prim::kOddLanes:
      case Prim::kZipLow:
      case Prim::kZipHigh:
        return pairs(n, a);
      case Prim::kConstant:
      case Prim::kVariable:
        break;
    }
    TH_CHECK(false, "a term without a printed form");
    return {};
  }

  std::string store(const Statement& s, const std::string& index, const std::string& value, const std::string& stride,
                    const std::string& count, Helpers& h) const override {
    if (!s.type.is_vector()) return str(s.name, "[", index, "] = ", value);
    bool near = is_constant(s.stride, 1);
    DType dtype = s.type.dtype;
    std::string vector = value;
    if (dtype == DType::kBool) {  // a mask becomes bytes 0 and 1
      vector = str("((", convert_mask(value, s.type.mask_bytes, 1, s.type.lanes, h), ") & 1)");
      dtype = DType::kInt8;
    }
    std::string v = vector_type(dtype, s.type.lanes, h);
    const bool non_temporal = s.non_temporal && near && count.empty();
    std::string name = str(non_temporal ? "stream_" : "store_", v, near ? "" : "_strided", count.empty() ? "" : "_n");
    const char* element = name_of_element(dtype).c;
    if (h.need(name)) {
      std::string lanes = count.empty() ? std::to_string(s.type.lanes) : "n";
      std::string body = !near           ? str("  for (long i = 0; i < ", lanes, "; ++i) p[i * stride] = v[i];\n")
                         : count.empty() ? str("  *(", unaligned(dtype, s.type.lanes, h), "*)p = v;\n")
                                         : str("  __builtin_memcpy(p, &v, n * sizeof(", element, "));\n");
      if (near && !count.empty()) body = with_masks("__builtin_ia32_store", {dtype, s.type.lanes, 0}, body);
      if (non_temporal) body = streaming({dtype, s.type.lanes, 0}, h) + body;
      h.add(str(kInline, "void ", name, "(", element, "* p, ", near ? "" : "long stride, ", v, " v",
                count.empty() ? "" : ", long n", ") {\n", body, "}\n"));
    }
    return str(name, "((", element, "*)(", s.name, " + ", index, ")", near ? "" : ", " + stride, ", ", vector,
               count.empty() ? "" : ", " + count, ")");
  }

  std::string prefetch(const std::string& address, Prefetch kind) const override {
    return str("__builtin_prefetch(", address,
               kind == Prefetch::kWrite ? ", 1"
               : kind == Prefetch::kL2  ? ", 0, 2"
                                        : "",
               ")");
  }

  std::string fence() const override { return "__atomic_thread_fence(__ATOMIC_SEQ_CST)"; }

  std::string number(const std::string& length, DType dtype, Helpers& helpers) const override {
    if (helpers.need("th_number"))
      helpers.add(
          "static inline double th_number(long bits) { double x; __builtin_memcpy(&x, &bits, sizeof x); return x; }\n");
    return str(dtype == DType::kFloat32 ? "(float)" : "", "th_number(", length, ")");
  }

  std::string signature(const std::string& name) const override {
    return str("static void ", name,
               "(ThContext* ctx, void* const* buffers, const long* lengths, long begin, long end)");
  }

 private:
  // The whole vector at once, where it is aligned; what is not is left to what follows.
  std::string streaming(const TermType& type, Helpers& h) const {
    const size_t bytes = static_cast<size_t>(type.lanes) * size_of(type.dtype);
    if (bytes < 16) return {};
    std::string v = vector_type(type.dtype, type.lanes, h);
    std::string floats = vector_type(DType::kFloat32, static_cast<int>(bytes / size_of(DType::kFloat32)), h);
    return str("#if defined(__clang__) || defined(__x86_64__)\n  if (((unsigned long)p & ", bytes - 1,
               ") == 0) {\n#ifdef __clang__\n    __builtin_nontemporal_store(v, (", v,
               "*)p);\n#else\n    __builtin_ia32_movntps", bytes == 16 ? "" : std::to_string(8 * bytes),
               "((float*)p, (", floats, ")v);\n#endif\n    return;\n  }\n#endif\n");
  }

  static std::string blocks(const TermNode& n, const std::vector<std::string>& a) {
    const int lanes = n.type.lanes, width = static_cast<int>(n.integer),
              odd = n.prim == Prim::kInterleaveOdd ? width : 0;
    std::vector<int> order;  // lanes of a count from 0, those of b follow
    for (int i = 0; i < lanes; ++i) {
      const int pair = i / (2 * width) * 2 * width, of_b = i / width % 2;
      order.push_back(pair + odd + i % width + (of_b ? lanes : 0));
    }
    return str("__builtin_shufflevector(", a[0], ", ", a[1], ", ", join(order, ", "), ")");
  }

  // Lanes of two vectors, those of b counted from the end of a.
  static std::string pairs(const TermNode& n, const std::vector<std::string>& a) {
    const int lanes = n.type.lanes;
    std::vector<int> order;
    for (int i = 0; i < lanes; ++i) {
      const bool splits = n.prim == Prim::kEvenLanes || n.prim == Prim::kOddLanes;
      const int zipped = (n.prim == Prim::kZipHigh ? lanes / 2 : 0) + i / 2 + (i % 2 ? lanes : 0);
      order.push_back(splits ? 2 * i + (n.prim == Prim::kOddLanes) : zipped);
    }
    return str("__builtin_shufflevector(", a[0], ", ", a[1], ", ", join(order, ", "), ")");
  }

  std::string bit_cast(const TermNode& n, const std::string& a, Helpers& h) const {
    if (n.type.is_vector()) return str("((", type(n.type, h), ")", a, ")");
    const Name from = name_of_element(n.args[0].dtype()), to = name_of_element(n.type.dtype);
    const std::string name = str("bits_of_", from.brief, "_as_", to.brief);
    if (h.need(name))
      h.add(str(kInline, to.c, " ", name, "(", from.c, " x) {\n  ", to.c,
                " r;\n  __builtin_memcpy(&r, &x, sizeof r);\n  return r;\n}\n"));
    return str(name, "(", a, ")");
  }

  std::string vector_type(DType element, int lanes, Helpers& h) const {
    Name name = name_of_element(element);
    std::string v = str(name.brief, "x", lanes);
    if (h.need(v))
      h.add(str("typedef ", name.c, " ", v, " __attribute__((vector_size(",
                size_of(element) * static_cast<size_t>(lanes), ")));\n"));
    return v;
  }

  // A vector that lies anywhere in memory. (A memcpy is as good, but takes compilers longer.)
  std::string unaligned(DType element, int lanes, Helpers& h) const {
    std::string v = str(vector_type(element, lanes, h), "_anywhere");
    if (h.need(v))
      h.add(str("typedef ", name_of_element(element).c, " ", v, " __attribute__((vector_size(",
                size_of(element) * static_cast<size_t>(lanes), "), aligned(", size_of(element), "), may_alias));\n"));
    return v;
  }

  // A whole AVX-512 vector of floats has one instruction for "n lanes of it": `instruction` of (p, v, mask). The
  // `plain` way goes through memory.
  static std::string with_masks(const char* instruction, const TermType& t, const std::string& plain) {
    if (!is_float(t.dtype) || size_of(t.dtype) * static_cast<size_t>(t.lanes) != 64) return plain;
    bool f32 = t.dtype == DType::kFloat32;
    return str("#ifdef __AVX512F__\n  ", instruction, f32 ? "ups" : "upd", "512_mask(p, v, (unsigned ",
               f32 ? "short" : "char", ")((1u << n) - 1));\n#else\n", plain, "#endif\n");
  }

  // A matrix product is hundreds of fmas: as one instruction each they compile in less than half the time of `loops`.
  static std::string with_fma(const TermType& t, const std::string& loops) {
    bool f32 = t.dtype == DType::kFloat32;
    size_t bytes = size_of(t.dtype) * static_cast<size_t>(t.lanes);
    if (bytes < 16 || bytes > 64) return loops;
    const char* width = bytes == 64 ? "512_mask" : bytes == 32 ? "256" : "";
    const char* all_lanes = bytes < 64 ? "" : f32 ? ", (unsigned short)-1, 4" : ", (unsigned char)-1, 4";
    return str("#ifdef ", bytes == 64 ? "__AVX512F__" : "__FMA__", "\n  return __builtin_ia32_vfmadd",
               f32 ? "ps" : "pd", width, "(a, b, c", all_lanes, ");\n#else\n", loops, "#endif\n");
  }

  std::string convert_mask(const std::string& mask, int from, int to, int lanes, Helpers& h) const {
    if (from == to) return mask;
    return str("__builtin_convertvector(", mask, ", ", vector_type(mask_dtype(to), lanes, h), ")");
  }

  std::string as_mask(const Term& arg, const std::string& text, int bytes, Helpers& h) const {
    if (arg.dtype() != DType::kBool || arg.lanes() == 1) return text;
    return convert_mask(text, arg.type().mask_bytes, bytes, arg.lanes(), h);
  }

  std::string vector_logic(const TermNode& n, const std::vector<std::string>& a, const char* vector, const char* scalar,
                           Helpers& h) const {
    if (!n.type.is_vector()) return str("(", a[0], " ", scalar, " ", a[1], ")");
    int bytes = n.type.mask_bytes;
    return str("(", as_mask(n.args[0], a[0], bytes, h), " ", vector, " ", as_mask(n.args[1], a[1], bytes, h), ")");
  }

  std::string select(const TermNode& n, const std::vector<std::string>& a, Helpers& h) const {
    if (!n.type.is_vector()) {
      std::string text = str("(", a[0], " ? ", a[1], " : ", a[2], ")");
      return is_int(n.type.dtype) && size_of(n.type.dtype) < 4
                 ? str("((", name_of_element(n.type.dtype).c, ")", text, ")")
                 : text;
    }
    int bytes = n.type.dtype == DType::kBool ? n.type.mask_bytes : static_cast<int>(size_of(n.type.dtype));
    std::string mask = convert_mask(a[0], n.args[0].type().mask_bytes, bytes, n.type.lanes, h);
    if (n.type.dtype == DType::kBool)
      return str("((", mask, " & ", as_mask(n.args[1], a[1], bytes, h), ") | (~", mask, " & ",
                 as_mask(n.args[2], a[2], bytes, h), "))");
    return str("(", mask, " ? ", a[1], " : ", a[2], ")");
  }

  std::string builtin(const char* function, DType dtype) const {
    return str("__builtin_", function, dtype == DType::kFloat32 ? "f" : "");
  }

  // One instruction for each lane; the compilers make one vector instruction of the loop.
  std::string lanewise(const char* function, const TermNode& n, const std::vector<std::string>& a, Helpers& h) const {
    if (!n.type.is_vector()) return str(builtin(function, n.type.dtype), "(", join(a, ", "), ")");
    std::string v = type(n.type, h);
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
  std::string scale(const TermNode& n, const std::vector<std::string>& a, Helpers& h) const {
    const DType dtype = n.type.dtype;
    const bool f32 = dtype == DType::kFloat32;
    if (!n.type.is_vector()) return str("__builtin_ldexp", f32 ? "f" : "", "(", a[0], ", (int)", a[1], ")");
    std::string v = type(n.type, h), name = str("scale_", v);
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

  std::string math(const TermNode& n, const std::vector<std::string>& a, Helpers& h) const {
    DType dtype = n.type.dtype;
    int whole = vector_bytes_ / static_cast<int>(size_of(dtype));
#if defined(__x86_64__)
    bool by_libmvec = in_libmvec(n.name);
#else
    bool by_libmvec = false;  // Debian 12's libmvec is x86-64's only
#endif
    std::string arguments = str("(", join(a, ", "), ")");
    if (has_polynomial(n.name, vector_bytes_)) {
      if (n.type.is_vector()) return inlined(n, n.type.lanes, h) + arguments;
      return single(n, 1, inlined(n, whole, h), whole, h) + arguments;
    }
    if (!by_libmvec) {
      if (n.type.is_vector()) return lane_by_lane(n, a.size(), h) + arguments;
      return declared_in_libm(n, a.size(), h) + arguments;
    }
    // libmvec's widths differ in last bits. An element of a narrower vector, or a single one, goes through the target's
    // whole vector: its bits do not depend on where it is, nor on what it is fused with.
    std::string name = by_whole_vectors(n, a.size(), whole, h);
    if (n.type.lanes == whole) return name + arguments;
    TH_CHECK(n.type.lanes < whole, n.name, " of ", n.type.lanes, " lanes on vectors of ", vector_bytes_, " bytes");
    return (n.type.is_vector() ? narrow(n, a.size(), name, whole, h) : single(n, a.size(), name, whole, h)) + arguments;
  }

  std::string inlined(const TermNode& n, int lanes, Helpers& h) const {
    const Term x = variable("x", {n.type.dtype, lanes, 0});
    std::string name = str(n.name, "_", type(x.type(), h));
    if (h.need(name)) {
      Code code;
      const Term result = polynomial(n.name, x, code);
      h.add(print_inline(code.take(), result, x, name, *this, h));
    }
    return name;
  }

  // "f32x4 a, f32x4 b"
  static std::string parameters(const std::string& type, size_t arity) {
    return arity == 2 ? str(type, " a, ", type, " b") : str(type, " a");
  }

  std::string declared_in_libm(const TermNode& n, size_t arity, Helpers& h) const {
    std::string name = n.name + (n.type.dtype == DType::kFloat32 ? "f" : "");
    std::string element = name_of_element(n.type.dtype).c;
    if (h.need(name))
      h.add(str("extern \"C\" __attribute__((const)) ", element, " ", name, "(", parameters(element, arity), ");\n"));
    return name;
  }

  std::string lane_by_lane(const TermNode& n, size_t arity, Helpers& h) const {
    std::string v = type(n.type, h), name = str(n.name, "_", v), libm = declared_in_libm(n, arity, h);
    if (h.need(name))
      h.add(str("static inline ", v, " ", name, "(", parameters(v, arity), ") {\n  ", v, " r;\n  for (int i = 0; i < ",
                n.type.lanes, "; ++i) r[i] = ", libm, arity == 2 ? "(a[i], b[i])" : "(a[i])", ";\n  return r;\n}\n"));
    return name;
  }

  std::string by_whole_vectors(const TermNode& n, size_t arity, int whole, Helpers& h) const {
    std::string v = vector_type(n.type.dtype, whole, h), name = str(n.name, "_", v);
    if (h.need(name)) {
      const char* isa = vector_bytes_ == 64 ? "e" : vector_bytes_ == 32 ? "d" : "b";
      std::string symbol =
          str("_ZGV", isa, "N", whole, arity == 2 ? "vv_" : "v_", n.name, n.type.dtype == DType::kFloat32 ? "f" : "");
      h.add(str("extern \"C\" __attribute__((const)) ", v, " ", symbol, "(", parameters(v, arity), ");\n"));
      h.add(str("static inline ", v, " ", name, "(", parameters(v, arity), ") { return ", symbol,
                arity == 2 ? "(a, b)" : "(a)", "; }\n"));
    }
    return name;
  }

  // The narrow vector's lanes again and again: no lane costs what theirs do not.
  std::string narrow(const TermNode& n, size_t arity, const std::string& function, int whole, Helpers& h) const {
    std::string v = type(n.type, h), name = str(n.name, "_", v);
    if (h.need(name)) {
      std::string wide, first;
      for (int i = 0; i < whole; ++i) wide += str(", ", i % n.type.lanes);
      for (int i = 0; i < n.type.lanes; ++i) first += str(", ", i);
      auto widened = [&](const char* x) { return str("__builtin_shufflevector(", x, ", ", x, wide, ")"); };
      h.add(str("static inline ", v, " ", name, "(", parameters(v, arity), ") {\n  ",
                vector_type(n.type.dtype, whole, h), " r = ", function, "(", widened("a"),
                arity == 2 ? ", " + widened("b") : "", ");\n  return __builtin_shufflevector(r, r", first, ");\n}\n"));
    }
    return name;
  }

  std::string single(const TermNode& n, size_t arity, const std::string& function, int whole, Helpers& h) const {
    Name element = name_of_element(n.type.dtype);
    std::string name = str(n.name, "_", element.brief), splat = splat_helper({n.type.dtype, whole, 0}, h);
    if (h.need(name))
      h.add(str("static inline ", element.c, " ", name, "(", parameters(element.c, arity), ") { return ", function, "(",
                splat, "(a)", arity == 2 ? str(", ", splat, "(b)") : "", ")[0]; }\n"));
    return name;
  }

  std::string load(const TermNode& n, const std::vector<std::string>& a, Helpers& h) const {
    if (!n.type.is_vector()) return str(n.name, "[", unwrapped(a[0]), "]");
    bool near = is_constant(n.args[1], 1), padded = a.size() == 3;
    DType dtype = n.type.dtype == DType::kBool ? DType::kInt8 : n.type.dtype;
    std::string v = vector_type(dtype, n.type.lanes, h);
    std::string name = str("load_", v, near ? "" : "_strided", padded ? "_n" : "");
    const char* element = name_of_element(dtype).c;
    if (h.need(name)) {
      std::string lanes = padded ? "n" : std::to_string(n.type.lanes);
      std::string body = !near    ? str("  for (long i = 0; i < ", lanes, "; ++i) v[i] = p[i * stride];\n")
                         : padded ? str("  __builtin_memcpy(&v, p, n * sizeof(", element, "));\n")
                                  : str("  v = *(const ", unaligned(dtype, n.type.lanes, h), "*)p;\n");
      if (near && padded) body = with_masks("v = __builtin_ia32_load", {dtype, n.type.lanes, 0}, body);
      h.add(str(kInline, v, " ", name, "(const ", element, "* p", near ? "" : ", long stride", padded ? ", long n" : "",
                ") {\n  ", v, " v", padded ? str(" = (", v, "){} + 1") : "", ";\n", body, "  return v;\n}\n"));
    }
    std::string text = str(name, "((const ", element, "*)(", n.name, " + ", a[0], ")", near ? "" : ", " + a[1],
                           padded ? ", " + a[2] : "", ")");
    return n.type.dtype == DType::kBool ? str("(", text, " != 0)") : text;
  }

  // buffer[index], lane by lane or by the target's instructions. Lanes that do not exist read nothing.
  std::string gather(const TermNode& n, const std::vector<std::string>& a, Helpers& h) const {
    const DType dtype = n.type.dtype == DType::kBool ? DType::kInt8 : n.type.dtype;
    const std::string v = vector_type(dtype, n.type.lanes, h), at = type(n.args[0].type(), h);
    const bool padded = a.size() == 2;
    const std::string name = str("gather_", v, padded ? "_n" : "");
    const char* element = name_of_element(dtype).c;
    if (h.need(name))
      h.add(str(kInline, v, " ", name, "(const ", element, "* p, ", at, " at", padded ? ", long n" : "", ") {\n  ", v,
                " v", padded ? str(" = (", v, "){} + 1") : "", ";\n",
                padded ? "  for (long i = 0; i < n; ++i) v[i] = p[at[i]];\n" : gather_body({dtype, n.type.lanes, 0}, h),
                "  return v;\n}\n"));
    const std::string text = str(name, "((const ", element, "*)", n.name, ", ", a[0], padded ? ", " + a[1] : "", ")");
    return n.type.dtype == DType::kBool ? str("(", text, " != 0)") : text;
  }

  // AVX2 gathers four floats by as many indices of 8 bytes.
  std::string gather_body(const TermType& t, Helpers& h) const {
    const std::string plain = str("  for (int i = 0; i < ", t.lanes, "; ++i) v[i] = p[at[i]];\n");
    if (!is_float(t.dtype) || t.lanes < 4) return plain;
    const bool f32 = t.dtype == DType::kFloat32;
    const std::string four = vector_type(t.dtype, 4, h), name = str("gather_", four, "_by_4");
    if (h.need(name))
      h.add(str("#ifdef __AVX2__\n", kInline, four, " ", name, "(const ", name_of_element(t.dtype).c, "* p, ",
                vector_type(DType::kInt64, 4, h), " at) {\n  const ", four,
                " none = {};\n  typedef long long i64x4_of_builtins __attribute__((vector_size(32)));\n#ifdef __clang__\n  return __builtin_ia32_gatherq_p", f32 ? "s" : "d",
                "256(none, p, (i64x4_of_builtins)at, (", four, ")(none == none), ", size_of(t.dtype),
                ");\n#else\n  return __builtin_ia32_gatherdiv4", f32 ? "sf256" : "df", "(none, p, (i64x4_of_builtins)at, (", four,
                ")(none == none), ", size_of(t.dtype), ");\n#endif\n}\n#endif\n"));
    return str("#ifdef __AVX2__\n  v = ", gathered(name, 0, t.lanes), ";\n#else\n", plain, "#endif\n");
  }

  // Lanes first to first + count, put together from gathers of four.
  static std::string gathered(const std::string& four, int first, int count) {
    std::vector<int> order;
    for (int i = 0; i < count; ++i) order.push_back(count == 4 ? first + i : i);
    if (count == 4) return str(four, "(p, __builtin_shufflevector(at, at, ", join(order, ", "), "))");
    return str("__builtin_shufflevector(", gathered(four, first, count / 2), ", ",
               gathered(four, first + count / 2, count / 2), ", ", join(order, ", "), ")");
  }

  static std::string unwrapped(const std::string& text) {
    bool whole = text.size() > 2 && text.front() == '(' && text.find(')') == text.size() - 1;
    return whole ? text.substr(1, text.size() - 2) : text;
  }

  std::string splat(const TermNode& n, const std::string& a, Helpers& h) const {
    return str(splat_helper(n.type, h), "(", a, ")");
  }

  std::string splat_helper(const TermType& t, Helpers& h) const {
    std::string v = type(t, h);
    std::string name = str("splat_", v, t.dtype == DType::kBool ? "_mask" : "");
    if (h.need(name))
      // Subtracting 0, not adding it: -0 + 0 would be 0.
      h.add(t.dtype == DType::kBool
                ? str(kInline, v, " ", name, "(bool x) {\n  const ", name_of_element(mask_dtype(t.mask_bytes)).c,
                      " all = x ? -1 : 0;\n  return all - (", v, "){};\n}\n")
                : str(kInline, v, " ", name, "(", name_of_element(t.dtype).c, " x) { return x - (", v, "){}; }\n"));
    return name;
  }

  std::string iota(const TermNode& n, Helpers& h) const {
    std::string v = type(n.type, h);
    std::string name = str("iota_", v);
    if (h.need(name)) {
      std::string values;
      for (int i = 0; i < n.type.lanes; ++i) values += str(i ? ", " : "", i);
      h.add(str("static inline ", v, " ", name, "() { return (", v, "){", values, "}; }\n"));
    }
    return name + "()";
  }

  // Halves of the vector onto each other, until there are two lanes.
  std::string reduction_of_mask(const TermNode& n, const std::string& name, const TermType& mask, Helpers& h) const {
    const char* by = n.name == "and" || n.name == "min" || n.name == "mul" ? " & " : " | ";
    std::string out = str(kInline, "bool ", name, "(", type(mask, h), " v", mask.lanes, ") {\n");
    for (int half = mask.lanes / 2; half > 1; half /= 2) {
      std::vector<int> low, high;
      for (int i = 0; i < half; ++i) low.push_back(i), high.push_back(half + i);
      const std::string whole = str("v", 2 * half);
      out += str("  const ", vector_type(mask_dtype(mask.mask_bytes), half, h), " v", half, " = __builtin_shufflevector(",
                 whole, ", ", whole, ", ", join(low, ", "), ")", by, "__builtin_shufflevector(", whole, ", ", whole,
                 ", ", join(high, ", "), ");\n");
    }
    return str(out, "  return (v2[0]", by, "v2[1]) != 0;\n}\n");
  }

  // Halves onto halves, in a fixed order.
  std::string reduce(const TermNode& n, const std::string& a, Helpers& h) const {
    TermType vector = n.args[0].type();
    std::string v = type(vector, h), element = type(n.type, h);
    std::string name = str("reduce_", n.name, "_", v);
    if (h.need(name)) {
      if (vector.dtype == DType::kBool) {
        h.add(reduction_of_mask(n, name, vector, h));
        return str(name, "(", a, ")");
      }
      bool real = is_float(n.type.dtype);
      std::string combined = n.name == "add"   ? "v[i] + v[i + half]"
                             : n.name == "mul" ? "v[i] * v[i + half]"
                             : n.name == "and" ? "v[i] & v[i + half]"
                             : n.name == "or"  ? "v[i] | v[i + half]"
                             : n.name == "max" ? (real ? "v[i] > v[i + half] || v[i] != v[i] ? v[i] : v[i + half]"
                                                       : "v[i] > v[i + half] ? v[i] : v[i + half]")
                             : n.name == "min" ? (real ? "v[i] < v[i + half] || v[i] != v[i] ? v[i] : v[i + half]"
                                                       : "v[i] < v[i + half] ? v[i] : v[i + half]")
                                               : "";
      TH_CHECK(!combined.empty(), "no reduction of lanes by ", n.name);
      h.add(str("static inline ", element, " ", name, "(", v, " v) {\n  for (int half = ", vector.lanes / 2,
                "; half > 0; half /= 2)\n    for (int i = 0; i < half; ++i) v[i] = ", combined, ";\n  return v[0]",
                vector.dtype == DType::kBool ? " != 0" : "", ";\n}\n"));
    }
    return str(name, "(", a, ")");
  }

  int vector_bytes_;
};

}  // namespace

const Dialect& cpp_dialect(int vector_bytes) {
  static const CppDialect k16(16), k32(32), k64(64);
  TH_CHECK(vector_bytes == 16 || vector_bytes == 32 || vector_bytes == 64, "vectors of ", vector_bytes, " bytes");
  return vector_bytes == 64 ? k64 : vector_bytes == 32 ? k32 : k16;
}

}  // namespace thtrain::kernel
