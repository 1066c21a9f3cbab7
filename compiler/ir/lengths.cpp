#include "compiler/ir/lengths.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "compiler/base/escape.h"

namespace thtrain {

std::optional<std::pair<std::string, int64_t>> told_by(const Dim& dim) {
  std::set<std::string> names;
  dim.collect_names(names);
  if (names.size() != 1) return {};
  const std::string& name = *names.begin();
  if (dim.text() == name) return std::pair(name, int64_t{0});
  const std::optional<Dim> alone = Dim::parse(name);
  const Dim more = alone ? dim - *alone : dim;
  if (!more.is_known()) return {};
  return std::pair(name, more.value());
}

std::string in_length_name(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '/') c = '_';
  return out;
}

std::string value_name(const Node& input) {
  return str("@", in_length_name(input.name), "~", input.serial);
}

int64_t Lengths::operator()(const std::string& name) const {
  auto at = values_.find(name);
  TH_CHECK(at != values_.end(), "the length ", name, " is not bound");
  return at->second;
}

Shape Lengths::evaluate(const Dims& dims) const {
  Shape out;
  for (const Dim& dim : dims) out.push_back(evaluate(dim));
  return out;
}

namespace {

[[noreturn]] void fail(const Expr& leaf, const Tensor& value, const std::string& what) {
  throw UserError({.what = str(leaf.name().empty() ? "an input" : escaped(leaf.name()), ": ", what),
                   .expected = readable(leaf.type().text()),
                   .got = value.type_text(),
                   .node = leaf.node().origin.text(),
                   .config = leaf.node().origin.config()});
}

}  // namespace

void Lengths::bind_names(const Expr& leaf, const Tensor& value) {
  const Type& type = leaf.type();
  if (value.dtype() != type.dtype) fail(leaf, value, "the dtype differs");
  if (value.rank() != type.rank()) fail(leaf, value, "the number of axes differs");
  for (size_t i = 0; i < type.rank(); ++i) {
    if (type.dims[i].is_known()) continue;
    // A shorter axis than that is found where all lengths are compared.
    if (const auto told = told_by(type.dims[i]))
      values_.try_emplace(told->first, std::max<int64_t>(value.dim(i) - told->second, 0));
  }
  if (type.is_scalar() && (is_int(type.dtype) || is_bool(type.dtype)))
    values_[value_name(leaf.node())] = value.is_on_host() ? value.as_int() : value.on_host().as_int();
}

void Lengths::check(const Expr& leaf, const Tensor& value) const {
  const Type& type = leaf.type();
  for (size_t i = 0; i < type.rank(); ++i) {
    const Dim& dim = type.dims[i];
    std::set<std::string> names;
    dim.collect_names(names);
    for (const std::string& name : names)
      if (!values_.count(name))
        fail(leaf, value, str("the length ", readable(dim.text()), " does not follow from the inputs of this call"));
    if (evaluate(dim) != value.dim(i))
      fail(leaf, value,
           dim.is_known() ? str("axis ", i, " has ", value.dim(i), " elements")
                          : str("axis ", i, " has ", value.dim(i), " elements where ", readable(dim.text()), " is ",
                                evaluate(dim)));
  }
}

}  // namespace thtrain
