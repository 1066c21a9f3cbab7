#include "compiler/ops/shape/length_list.h"

namespace thtrain {

Length::Length(const Expr& scalar, std::source_location where) {
  if (!scalar.type().is_scalar() || !(is_int(scalar.dtype())))
    fail_build(where, "a length is no integer scalar", "an integer of no dimension", value_text(scalar));
  auto value = symbolic_value(scalar);
  if (!value)
    fail_build(where, "a length cannot be told before the graph runs",
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

bool is_nonnegative(const Dim& dim) {
  if (dim.is_known()) return dim.value() >= 0;
  // Sums and products of names of axes without a minus. What stands in max(0, ...) may be anything.
  std::string text = dim.text();
  constexpr std::string_view kOpen = "max(0, ";
  for (size_t at; (at = text.find(kOpen)) != std::string::npos;) {
    size_t end = at + kOpen.size();
    for (int depth = 1; depth > 0; ++end) depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    text.replace(at, end - at, "_");
  }
  return text.find_first_of("-@") == std::string::npos;
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
  throw UserError({.what = str(node.op->name, ": ", what),
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
  return readable(str(x.name(), x.name().empty() ? "" : " ", x.type().text()));
}

}  // namespace thtrain
