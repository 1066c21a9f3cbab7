#include "compiler/kernel/cpp/gathers.h"

#include "compiler/kernel/cpp/types.h"

namespace thtrain::kernel::cpp {
namespace {

// Lanes first to first + count, put together from gathers of four.
std::string gathered(const std::string& four, int first, int count) {
  std::vector<int> order;
  for (int i = 0; i < count; ++i) order.push_back(count == 4 ? first + i : i);
  if (count == 4) return str(four, "(p, __builtin_shufflevector(at, at, ", join(order, ", "), "))");
  return str("__builtin_shufflevector(", gathered(four, first, count / 2), ", ",
             gathered(four, first + count / 2, count / 2), ", ", join(order, ", "), ")");
}

// AVX2 gathers four floats by as many indices of 8 bytes.
std::string gather_body(const TermType& t, Helpers& h) {
  std::vector<std::string> elements;
  for (int i = 0; i < t.lanes; ++i) elements.push_back(str("p[at[", i, "]]"));
  const std::string plain = str("  v = (", vector_type(t.dtype, t.lanes, h), "){", join(elements, ", "), "};\n");
  if (!is_float(t.dtype) || t.lanes < 4) return plain;
  const bool f32 = t.dtype == DType::kFloat32;
  const std::string four = vector_type(t.dtype, 4, h), name = str("gather_", four, "_by_4");
  if (h.need(name))
    h.add(str("#ifdef __AVX2__\n", kInline, four, " ", name, "(const ", name_of_element(t.dtype).c, "* p, ",
              vector_type(DType::kInt64, 4, h), " at) {\n  const ", four,
              " none = {};\n  typedef long long i64x4_of_builtins __attribute__((vector_size(32)));\n#ifdef "
              "__clang__\n  return __builtin_ia32_gatherq_p",
              f32 ? "s" : "d", "256(none, p, (i64x4_of_builtins)at, (", four, ")(none == none), ", size_of(t.dtype),
              ");\n#else\n  return __builtin_ia32_gatherdiv4", f32 ? "sf256" : "df",
              "(none, p, (i64x4_of_builtins)at, (", four, ")(none == none), ", size_of(t.dtype),
              ");\n#endif\n}\n#endif\n"));
  return str("#ifdef __AVX2__\n  v = ", gathered(name, 0, t.lanes), ";\n#else\n", plain, "#endif\n");
}

}  // namespace

// buffer[index], lane by lane or by the target's instructions. Lanes that do not exist read nothing.
std::string gather_text(const TermNode& n, const std::vector<std::string>& a, Helpers& h) {
  const DType dtype = n.type.dtype == DType::kBool ? DType::kInt8 : n.type.dtype;
  const std::string v = vector_type(dtype, n.type.lanes, h), at = type_text(n.args[0].type(), h);
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

// Lanes of two vectors, those of b counted from the end of a.
std::string pairs_text(const TermNode& n, const std::vector<std::string>& a) {
  const int lanes = n.type.lanes;
  std::vector<int> order;
  for (int i = 0; i < lanes; ++i) {
    const bool splits = n.prim == Prim::kEvenLanes || n.prim == Prim::kOddLanes;
    const int zipped = (n.prim == Prim::kZipHigh ? lanes / 2 : 0) + i / 2 + (i % 2 ? lanes : 0);
    order.push_back(splits ? 2 * i + (n.prim == Prim::kOddLanes) : zipped);
  }
  return str("__builtin_shufflevector(", a[0], ", ", a[1], ", ", join(order, ", "), ")");
}

std::string bit_cast_text(const TermNode& n, const std::string& a, Helpers& h) {
  if (n.type.is_vector()) return str("((", type_text(n.type, h), ")", a, ")");
  const ElementName from = name_of_element(n.args[0].dtype()), to = name_of_element(n.type.dtype);
  const std::string name = str("bits_of_", from.brief, "_as_", to.brief);
  if (h.need(name))
    h.add(str(kInline, to.c, " ", name, "(", from.c, " x) {\n  ", to.c,
              " r;\n  __builtin_memcpy(&r, &x, sizeof r);\n  return r;\n}\n"));
  return str(name, "(", a, ")");
}

}  // namespace thtrain::kernel::cpp
