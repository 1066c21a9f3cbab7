#include "compiler/kernel/cpp/vectors.h"

#include <algorithm>
#include <numeric>

#include "compiler/kernel/cpp/functions.h"
#include "compiler/kernel/cpp/types.h"

namespace thtrain::kernel::cpp {
namespace {

enum class Way { kLoad, kStore };

// n lanes of a whole AVX-512 vector of floats: one instruction. The `plain` way goes through memory.
std::string lanes_of_avx512(Way way, const TermType& t, const std::string& plain) {
  const bool is_single = t.dtype == DType::kFloat32;
  return str("#ifdef __AVX512F__\n  ", way == Way::kLoad ? "v = __builtin_ia32_load" : "__builtin_ia32_store",
             is_single ? "ups" : "upd", "512_mask(p, v, (unsigned ", is_single ? "short" : "char",
             ")((1u << n) - 1));\n#else\n", plain, "#endif\n");
}

// n lanes of a whole AVX2 vector. A load leaves 0 in the other lanes, which keep what v has. A known number of lanes is
// stored as one, two or four elements at a time, which is faster.
std::string lanes_of_avx2(Way way, const TermType& t, const std::string& plain, Helpers& h) {
  const bool is_single = size_of(t.dtype) == 4;
  const DType integer = is_single ? DType::kInt32 : DType::kInt64, real = is_single ? DType::kFloat32 : DType::kFloat64;
  const std::string reals = vector_type(real, t.lanes, h), instruction = is_single ? "ps256" : "pd256";
  std::vector<int> numbers(static_cast<size_t>(t.lanes));
  std::iota(numbers.begin(), numbers.end(), 0);
  // The instructions take no vectors of `long`, though those are of the same size.
  const std::string mask =
      str("  typedef ", is_single ? "int" : "long long", " lanes __attribute__((vector_size(32)));\n",
          "  const lanes mask = (lanes)((", vector_type(integer, t.lanes, h), "){", join(numbers, ", "), "} < (",
          name_of_element(integer).c, ")n - (", vector_type(integer, t.lanes, h), "){});\n");
  if (way == Way::kStore)
    return str("#ifdef __AVX2__\n", mask, "  if (!__builtin_constant_p(n)) return __builtin_ia32_maskstore",
               instruction, "((", reals, "*)p, mask, (", reals, ")v);\n#endif\n", plain);
  return str("#ifdef __AVX2__\n", mask, "  v = (", vector_type(t.dtype, t.lanes, h), ")((lanes)__builtin_ia32_maskload",
             instruction, "((const ", reals, "*)p, mask) | (~mask & (lanes)v));\n#else\n", plain, "#endif\n");
}

std::string with_lanes(Way way, const TermType& t, const std::string& plain, Helpers& h) {
  const size_t size = size_of(t.dtype), bytes = size * static_cast<size_t>(t.lanes);
  if (bytes == 64 && is_float(t.dtype)) return lanes_of_avx512(way, t, plain);
  if (bytes == 32 && size >= 4) return lanes_of_avx2(way, t, plain, h);
  return plain;
}

// The whole vector at once, where it is aligned; what is not is left to what follows.
std::string streaming(const TermType& type, Helpers& h) {
  const size_t bytes = static_cast<size_t>(type.lanes) * size_of(type.dtype);
  if (bytes < 16) return {};
  std::string v = vector_type(type.dtype, type.lanes, h);
  std::string floats = vector_type(DType::kFloat32, static_cast<int>(bytes / size_of(DType::kFloat32)), h);
  return str("#if defined(__clang__) || defined(__x86_64__)\n  if (((unsigned long)p & ", bytes - 1,
             ") == 0) {\n#ifdef __clang__\n    __builtin_nontemporal_store(v, (", v,
             "*)p);\n#else\n    __builtin_ia32_movntps", bytes == 16 ? "" : std::to_string(8 * bytes), "((float*)p, (",
             floats, ")v);\n#endif\n    return;\n  }\n#endif\n");
}

// Lanes so few elements apart are taken out of whole vectors, the last of which ends with the last lane.
constexpr int64_t kNearStride = 8;

std::string near_lanes_body(const TermType& t, int64_t stride, const std::string& anywhere) {
  std::string out;
  for (int64_t part = 0; part < stride; ++part) {
    const int64_t last = (t.lanes - 1) * stride + 1 - t.lanes, begin = part + 1 < stride ? part * t.lanes : last;
    const std::string vector = str("*(const ", anywhere, "*)(p + ", begin, ")");
    if (part == 0) {
      out += str("  v = ", vector, ";\n");
      continue;
    }
    std::vector<int64_t> order;  // lanes of v count from 0, those of the part follow
    for (int64_t lane = 0; lane < t.lanes; ++lane) {
      const int64_t at = lane * stride;
      const bool is_here = at >= part * t.lanes && at < (part + 1) * t.lanes;
      order.push_back(is_here ? t.lanes + at - begin : part == 1 && at < t.lanes ? at : lane);
    }
    out += str("  v = __builtin_shufflevector(v, ", vector, ", ", join(order, ", "), ");\n");
  }
  return out;
}

}  // namespace

static std::string load_near_text(const TermNode& n, const Texts& a, int64_t stride, Helpers& h) {
  const DType dtype = n.type.dtype == DType::kBool ? DType::kInt8 : n.type.dtype;
  const std::string v = vector_type(dtype, n.type.lanes, h), name = str("load_", v, "_by_", stride);
  const char* element = name_of_element(dtype).c;
  if (h.need(name))
    h.add(str(kInline, v, " ", name, "(const ", element, "* p) {\n  ", v, " v;\n",
              near_lanes_body({dtype, n.type.lanes, 0}, stride, unaligned_type(dtype, n.type.lanes, h)),
              "  return v;\n}\n"));
  const std::string text = str(name, "((const ", element, "*)(", n.name, " + ", a[0], "))");
  return n.type.dtype == DType::kBool ? str("(", text, " != 0)") : text;
}

// One element in all lanes, by an instruction that compilers do not look into: those that load an element again in the
// next iteration would keep it in a register of its own until then, and spread it from there, which takes longer.
// "volatile": 16 registers have no room for what several taps share, 32 have.
static std::string load_spread_text(const TermNode& n, const Texts& a, Helpers& h) {
  const std::string v = vector_type(n.type.dtype, n.type.lanes, h), name = str("load_", v, "_of_one");
  const char* element = name_of_element(n.type.dtype).c;
  if (h.need(name)) {
    const size_t bytes = size_of(n.type.dtype) * static_cast<size_t>(n.type.lanes);
    const std::string plain = str("  v = *p - (", v, "){};\n"),
                      instruction = n.type.dtype == DType::kFloat32 ? "vbroadcastss" : "vbroadcastsd";
    const bool has_instruction = is_float(n.type.dtype) && (bytes == 32 || bytes == 64);
    h.add(str(kInline, v, " ", name, "(const ", element, "* p) {\n  ", v, " v;\n",
              has_instruction ? str("#ifdef ", bytes == 64 ? "__AVX512F__" : "__AVX__", "\n  __asm__",
                                    bytes == 32 ? " volatile" : "", "(\"", instruction, " %1, %0\" : \"=",
                                    bytes == 64 ? "v" : "x", "\"(v) : \"m\"(*p));\n#else\n", plain, "#endif\n")
                              : plain,
              "  return v;\n}\n"));
  }
  return str(name, "((const ", element, "*)(", n.name, " + ", a[0], "))");
}

// Each lane by itself, or only the first n: of a loop over few lanes compilers make one over an array in memory.
static constexpr int kFewLanes = 16;

static std::string strided_loads(const std::string& vector, const std::string& element, int lanes, bool padded) {
  if (lanes > kFewLanes)
    return str("  for (long i = 0; i < ", padded ? "n" : std::to_string(lanes), "; ++i) v[i] = p[i * stride];\n");
  std::vector<std::string> elements;
  for (int i = 0; i < lanes; ++i)
    elements.push_back(padded ? str("n > ", i, " ? p[", i, " * stride] : (", element, ")1")
                              : str("p[", i, " * stride]"));
  return str("  v = (", vector, "){", join(elements, ", "), "};\n");
}

static std::string strided_stores(int lanes, bool padded) {
  if (lanes > kFewLanes)
    return str("  for (long i = 0; i < ", padded ? "n" : std::to_string(lanes), "; ++i) p[i * stride] = v[i];\n");
  std::string out;
  for (int i = 0; i < lanes; ++i)
    out += str("  ", padded ? str("if (n > ", i, ") ") : "", "p[", i, " * stride] = v[", i, "];\n");
  return out;
}

std::string load_text(const TermNode& n, const Texts& a, Helpers& h) {
  if (n.type.is_vector() && a.size() == 2 && is_constant(n.args[1], 0) && n.type.dtype != DType::kBool)
    return load_spread_text(n, a, h);
  bool near = is_constant(n.args[1], 1), padded = a.size() == 3;
  DType dtype = n.type.dtype == DType::kBool ? DType::kInt8 : n.type.dtype;
  std::string v = vector_type(dtype, n.type.lanes, h);
  const TermNode& step = n.args[1].node();
  const int64_t stride = !near && !padded && step.prim == Prim::kConstant && step.integer > 1 &&
                                 step.integer <= std::min<int64_t>(kNearStride, n.type.lanes)
                             ? step.integer
                             : 0;
  if (stride > 0) return load_near_text(n, a, stride, h);
  std::string name = str("load_", v, near ? "" : "_strided", padded ? "_n" : "");
  const char* element = name_of_element(dtype).c;
  if (h.need(name)) {
    std::string body = !near    ? strided_loads(v, element, n.type.lanes, padded)
                       : padded ? str("  __builtin_memcpy(&v, p, n * sizeof(", element, "));\n")
                                : str("  v = *(const ", unaligned_type(dtype, n.type.lanes, h), "*)p;\n");
    if (near && padded) body = with_lanes(Way::kLoad, {dtype, n.type.lanes, 0}, body, h);
    h.add(str(padded && !near ? kOutOfLine : kInline, v, " ", name, "(const ", element, "* p",
              near ? "" : ", long stride", padded ? ", long n" : "", ") {\n  ", v, " v",
              padded ? str(" = (", v, "){} + 1") : "", ";\n", body, "  return v;\n}\n"));
  }
  std::string text = str(name, "((const ", element, "*)(", n.name, " + ", a[0], ")", near ? "" : ", " + a[1],
                         padded ? ", " + a[2] : "", ")");
  return n.type.dtype == DType::kBool ? str("(", text, " != 0)") : text;
}

std::string store_text(const Store& s, const StoreText& text, Helpers& h) {
  const std::string index = text.index.alone(), value = text.value.alone(), stride = text.stride.operand(),
                    count = text.count.alone();
  const TermType& type = s.value.type();
  if (!type.is_vector()) return str(s.buffer, "[", index, "] = ", value);
  bool near = is_constant(s.stride, 1);
  DType dtype = type.dtype;
  std::string vector = value;
  if (dtype == DType::kBool) {  // a mask becomes bytes 0 and 1
    vector = str("((", convert_mask(value, type.mask_bytes, 1, type.lanes, h), ") & 1)");
    dtype = DType::kInt8;
  }
  std::string v = vector_type(dtype, type.lanes, h);
  const bool non_temporal = s.non_temporal && near && count.empty();
  std::string name = str(non_temporal ? "stream_" : "store_", v, near ? "" : "_strided", count.empty() ? "" : "_n");
  const char* element = name_of_element(dtype).c;
  if (h.need(name)) {
    std::string body = !near           ? strided_stores(type.lanes, !count.empty())
                       : count.empty() ? str("  *(", unaligned_type(dtype, type.lanes, h), "*)p = v;\n")
                                       : str("  __builtin_memcpy(p, &v, n * sizeof(", element, "));\n");
    if (near && !count.empty()) body = with_lanes(Way::kStore, {dtype, type.lanes, 0}, body, h);
    if (non_temporal) body = streaming({dtype, type.lanes, 0}, h) + body;
    h.add(str(!near && !count.empty() ? kOutOfLine : kInline, "void ", name, "(", element, "* p, ",
              near ? "" : "long stride, ", v, " v", count.empty() ? "" : ", long n", ") {\n", body, "}\n"));
  }
  return str(name, "((", element, "*)(", s.buffer, " + ", index, ")", near ? "" : ", " + stride, ", ", vector,
             count.empty() ? "" : ", " + count, ")");
}

// An empty instruction that takes the value from a register and leaves it there, or any other one.
std::string in_register_text(const TermNode& n, const std::string& a, Helpers& h) {
  const size_t bytes = size_of(n.type.dtype) * static_cast<size_t>(n.type.lanes);
  if (n.type == TermType{DType::kInt64, 1, 0}) {
    if (h.need("in_register_long"))
      h.add(str(kInline, "long in_register_long(long a) {\n  __asm__(\"\" : \"+r\"(a));\n  return a;\n}\n"));
    return str("in_register_long(", a, ")");
  }
  if (!n.type.is_vector() || bytes < 16 || bytes > 64) return a;
  const std::string v = type_text(n.type, h), name = str("in_register_", v);
  if (h.need(name))
    h.add(str(kInline, v, " ", name, "(", v, " a) {\n#ifdef ",
              bytes == 64   ? "__AVX512F__"
              : bytes == 32 ? "__AVX__"
                            : "__SSE2__",
              "\n  __asm__", bytes == 32 ? " volatile" : "", "(\"\" : \"+", bytes == 64 ? "v" : "x",
              "\"(a));\n#endif\n  return a;\n}\n"));
  return str(name, "(", a, ")");
}

// ---- sums of tiles

// Of 16 registers; with 32 g++ needs no help, and shares what several products of a tile load.
bool has_own_register(const TermType& type) {
  return is_float(type.dtype) && size_of(type.dtype) * static_cast<size_t>(type.lanes) == 32;
}

// What instruments loads by calls would lose what registers hold.
static void need_sums(const TermType& type, Helpers& h) {
  const std::string v = type_text(type, h);
  if (!h.need("sum_" + v)) return;
  h.add(
      str("#if defined(__FMA__) && defined(__OPTIMIZE__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && "
          "!defined(__SANITIZE_ADDRESS__)\n#define sum_",
          v, "(name, number) register ", v, " name __asm__(\"xmm\" #number)\n#define add_product_", v,
          "(sum, a, b) __asm__(\"vfmadd231", type.dtype == DType::kFloat32 ? "ps" : "pd",
          " %2, %1, %0\" : \"+x\"(sum) : \"%x\"(a), \"xm\"(b))\n#else\n#define sum_", v, "(name, number) ", v,
          " name\n#define add_product_", v, "(sum, a, b) sum = fma_", v, "(a, b, sum)\n#endif\n"));
}

std::string sum_text(const TermType& type, const std::string& name, int64_t number, Helpers& h) {
  need_sums(type, h);
  return str("sum_", type_text(type, h), "(", name, ", ", number, ")");
}

std::string add_product_text(const TermNode& fma, const std::string& sum, const std::vector<std::string>& args,
                             Helpers& h) {
  need_sums(fma.type, h);
  lanewise_text("fma", fma, {args[0], args[1], sum}, h);  // for compilers that have no such registers
  return str("add_product_", type_text(fma.type, h), "(", sum, ", ", args[0], ", ", args[1], ")");
}

std::string splat_text(const TermNode& n, const std::string& a, Helpers& h) {
  return str(splat_helper(n.type, h), "(", a, ")");
}

std::string splat_helper(const TermType& t, Helpers& h) {
  std::string v = type_text(t, h);
  std::string name = str("splat_", v, t.dtype == DType::kBool ? "_mask" : "");
  if (h.need(name))
    // Subtracting 0, not adding it: -0 + 0 would be 0.
    h.add(t.dtype == DType::kBool
              ? str(kInline, v, " ", name, "(bool x) {\n  const ", name_of_element(mask_dtype(t.mask_bytes)).c,
                    " all = x ? -1 : 0;\n  return all - (", v, "){};\n}\n")
              : str(kInline, v, " ", name, "(", name_of_element(t.dtype).c, " x) { return x - (", v, "){}; }\n"));
  return name;
}

std::string iota_text(const TermNode& n, Helpers& h) {
  std::string v = type_text(n.type, h);
  std::string name = str("iota_", v);
  if (h.need(name)) {
    std::string values;
    for (int i = 0; i < n.type.lanes; ++i) values += str(i ? ", " : "", i);
    h.add(str("static inline ", v, " ", name, "() { return (", v, "){", values, "}; }\n"));
  }
  return name + "()";
}

// "$a + $b" of these operands.
static std::string with_operands(const std::string& combined, const std::string& a, const std::string& b) {
  std::string out;
  for (size_t i = 0; i < combined.size(); ++i) {
    if (combined[i] != '$')
      out += combined[i];
    else
      out += combined[++i] == 'a' ? a : b;
  }
  return out;
}

// Halves of the vector onto each other, until there are two lanes. `combined`: of "a" and "b".
static std::string reduction_of_lanes(const std::string& name, DType dtype, int lanes, const std::string& whole,
                                      const std::string& result, const std::string& combined, Helpers& h) {
  std::string out = str(kInline, result, " ", name, "(", whole, " v", lanes, ") {\n");
  for (int half = lanes / 2; half > 1; half /= 2) {
    std::vector<int> low, high;
    for (int i = 0; i < half; ++i) low.push_back(i), high.push_back(half + i);
    const std::string v = str("v", 2 * half), type = vector_type(dtype, half, h);
    out += str("  const ", type, " a", half, " = __builtin_shufflevector(", v, ", ", v, ", ", join(low, ", "), ");\n");
    out += str("  const ", type, " b", half, " = __builtin_shufflevector(", v, ", ", v, ", ", join(high, ", "), ");\n");
    out += str("  const ", type, " v", half, " = ", with_operands(combined, str("a", half), str("b", half)), ";\n");
  }
  return str(out, "  return ", with_operands(combined, "v2[0]", "v2[1]"), ";\n}\n");
}

std::string reduce_text(const TermNode& n, const std::string& a, Helpers& h) {
  const TermType vector = n.args[0].type();
  const bool is_mask = vector.dtype == DType::kBool, real = is_float(n.type.dtype);
  // A mask and a vector of integers may have one type.
  const std::string v = type_text(vector, h), name = str("reduce_", n.name, is_mask ? "_mask_" : "_", v);
  if (!h.need(name)) return str(name, "(", a, ")");
  std::string combined;
  if (is_mask)
    combined = n.name == "and" || n.name == "min" || n.name == "mul" ? "$a & $b" : "$a | $b";
  else if (n.name == "max" || n.name == "min")
    combined = str("($a ", n.name == "max" ? ">" : "<", " $b)", real ? " | ($a != $a)" : "", " ? $a : $b");
  else
    combined = n.name == "add"   ? "$a + $b"
               : n.name == "mul" ? "$a * $b"
               : n.name == "and" ? "$a & $b"
               : n.name == "or"  ? "$a | $b"
                                 : "";
  TH_CHECK(!combined.empty(), "no reduction of lanes by ", n.name);
  h.add(reduction_of_lanes(name, is_mask ? mask_dtype(vector.mask_bytes) : vector.dtype, vector.lanes, v,
                           is_mask ? "bool" : type_text(n.type, h), combined, h));
  return str(name, "(", a, ")");
}

std::string interleave_text(const TermNode& n, const Texts& a) {
  const int lanes = n.type.lanes, width = static_cast<int>(n.integer), odd = n.prim == Prim::kInterleaveOdd ? width : 0;
  std::vector<int> order;  // lanes of a count from 0, those of b follow
  for (int i = 0; i < lanes; ++i) {
    const int pair = i / (2 * width) * 2 * width, of_b = i / width % 2;
    order.push_back(pair + odd + i % width + (of_b ? lanes : 0));
  }
  return str("__builtin_shufflevector(", a[0], ", ", a[1], ", ", join(order, ", "), ")");
}

}  // namespace thtrain::kernel::cpp
