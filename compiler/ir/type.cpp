#include "compiler/ir/type.h"

#include <algorithm>

namespace thtrain {

bool Type::is_known() const {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_known(); });
}

Shape Type::known_shape() const {
  Shape out;
  for (const Dim& dim : dims) out.push_back(dim.value());
  return out;
}

std::string Type::text() const {
  if (kind == TypeKind::kToken) return "token";
  return str(name_of(dtype), "[", dims_text(dims), "]");
}

Type type_of(const Tensor& value) {
  Type out{.dtype = value.dtype()};
  for (int64_t length : value.shape()) out.dims.emplace_back(length);
  return out;
}

std::optional<Type> parse_type(std::string_view text) {
  if (text == "token") return token_type();
  size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') return std::nullopt;
  auto dtype = dtype_named(text.substr(0, open));
  if (!dtype) return std::nullopt;
  Type out{.dtype = *dtype};
  std::string_view list = text.substr(open + 1, text.size() - open - 2);
  int depth = 0;
  for (size_t begin = 0, at = 0; at <= list.size() && !list.empty(); ++at) {
    char c = at < list.size() ? list[at] : ',';
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || depth != 0) continue;
    auto dim = Dim::parse(list.substr(begin, at - begin));
    if (!dim) return std::nullopt;
    out.dims.push_back(*dim);
    begin = at + 1;
  }
  return out;
}

}  // namespace thtrain
