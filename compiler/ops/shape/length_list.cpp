#include "compiler/ops/shape/length_list.h"

#include <cctype>

#include "compiler/base/escape.h"

namespace thtrain {

Length::Length(const Expr& scalar, std::source_location where) {
  require_value(scalar, "a length", where);
  if (!scalar.type().is_scalar() || !(is_int(scalar.dtype())))
    fail_build(where, "a length is not an integer scalar", "an integer without axes", value_text(scalar));
  auto value = symbolic_value(scalar);
  if (!value)
    fail_build(where, "a length is not known before the graph runs",
               "a number, a length of an axis, a scalar input, or sums, differences and products of them",
               value_text(scalar), "pass the number as an input of the function");
  dim_ = *value;
}

LengthList::LengthList(std::initializer_list<Length> lengths) {
  for (const Length& length : lengths) dims.push_back(length.dim());
}

LengthList::LengthList(const std::vector<Length>& lengths) {
  for (const Length& length : lengths) dims.push_back(length.dim());
}

// Sums and products of names of axes without a minus are; of the functions of two lengths, what follows from theirs.
static bool is_nonnegative_text(std::string text) {
  for (size_t open; (open = text.find('(')) != std::string::npos;) {
    size_t begin = open, comma = 0, end = open + 1;
    while (begin > 0 && (std::isalpha(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_')) --begin;
    for (int depth = 1; depth > 0; ++end) {
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
      if (depth == 1 && text[end] == ',') comma = end;
    }
    bool left = is_nonnegative_text(text.substr(open + 1, comma - open - 1));
    bool right = is_nonnegative_text(text.substr(comma + 2, end - comma - 3));
    bool is_max = text.compare(begin, open - begin, "max") == 0;
    if (!(is_max ? left || right : left && right)) return false;
    text.replace(begin, end - begin, "_");
  }
  return text.find_first_of("-@") == std::string::npos;
}

bool is_nonnegative(const Dim& dim) {
  return dim.is_known() ? dim.value() >= 0 : is_nonnegative_text(dim.text());
}

Dim at_least_zero(const Dim& dim) {
  return is_nonnegative(dim) ? dim : max(dim, Dim(0));
}

void require_length(const TypeArgs& args, const Dim& dim) {
  if (is_nonnegative(dim)) return;
  if (dim.is_known()) args.fail(str("the length ", dim.value(), " is negative"), "lengths of at least 0");
  args.require_equal(dim, at_least_zero(dim), str("the length ", readable(dim.text()), " is negative"));
}

void require_at_most(const TypeArgs& args, const Dim& left, const Dim& right, std::string_view what) {
  Dim space = right - left;
  if (is_nonnegative(space)) return;
  if (space.is_known()) args.fail(what, str(readable(left.text()), " <= ", readable(right.text())));
  args.require_equal(max(left, right), right, what);
}

void require_same_shape(const Node& node, const Shape& left, const Shape& right, std::string_view what) {
  if (left == right) return;
  throw UserError({.what = str(name_in_errors(*node.op, node.props), ": ", what),
                   .expected = shape_text(left),
                   .got = shape_text(right),
                   .node = node.origin.text(),
                   .config = node.origin.config()});
}

size_t axis_in(int64_t axis, size_t rank, const Expr& x, std::string_view builder, const std::source_location& where) {
  int64_t n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n)
    fail_build(where, str(builder, ": there is no axis ", axis),
               n == 0 ? std::string("a value with an axis") : str("an axis from ", -n, " to ", n - 1), value_text(x));
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

size_t axis_of(int64_t axis, const Expr& x, std::string_view builder, const std::source_location& where) {
  return axis_in(axis, x.rank(), x, builder, where);
}

void fail_build(const std::source_location& where, std::string what, std::string expected, std::string got,
                std::string hint) {
  Origin origin = Origin::here(where);
  throw UserError({.what = std::move(what),
                   .expected = std::move(expected),
                   .got = std::move(got),
                   .node = origin.text(),
                   .config = origin.config(),
                   .hint = std::move(hint)});
}

std::string value_text(const Expr& x) {
  return readable(str(escaped(x.name()), x.name().empty() ? "" : " ", x.type().text()));
}

}  // namespace thtrain
