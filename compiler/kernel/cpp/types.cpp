#include "compiler/kernel/cpp/types.h"

namespace thtrain::kernel::cpp {

DType mask_dtype(int bytes) {
  return bytes == 1 ? DType::kInt8 : bytes == 2 ? DType::kInt16 : bytes == 4 ? DType::kInt32 : DType::kInt64;
}

std::string type_text(const TermType& t, Helpers& h) {
  if (!t.is_vector()) return name_of_element(t.dtype).c;
  DType element = t.dtype == DType::kBool ? mask_dtype(t.mask_bytes) : t.dtype;
  return vector_type(element, t.lanes, h);
}

std::string vector_type(DType element, int lanes, Helpers& h) {
  ElementName name = name_of_element(element);
  std::string v = str(name.brief, "x", lanes);
  if (h.need(v))
    h.add(str("typedef ", name.c, " ", v, " __attribute__((vector_size(", size_of(element) * static_cast<size_t>(lanes),
              ")));\n"));
  return v;
}

std::string unaligned_type(DType element, int lanes, Helpers& h) {
  std::string v = str(vector_type(element, lanes, h), "_anywhere");
  if (h.need(v))
    h.add(str("typedef ", name_of_element(element).c, " ", v, " __attribute__((vector_size(",
              size_of(element) * static_cast<size_t>(lanes), "), aligned(", size_of(element), "), may_alias));\n"));
  return v;
}

std::string convert_mask(const std::string& mask, int from, int to, int lanes, Helpers& h) {
  if (from == to) return mask;
  return str("__builtin_convertvector(", mask, ", ", vector_type(mask_dtype(to), lanes, h), ")");
}

std::string as_mask(const Term& arg, const std::string& text, int bytes, Helpers& h) {
  if (arg.dtype() != DType::kBool || arg.lanes() == 1) return text;
  return convert_mask(text, arg.type().mask_bytes, bytes, arg.lanes(), h);
}

}  // namespace thtrain::kernel::cpp
