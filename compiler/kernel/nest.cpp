#include "compiler/kernel/nest.h"

#include <algorithm>

namespace thtrain::kernel {

Location Location::at(Term where, Dim elements) const {
  Location out = *this;
  out.moves.push_back({std::move(where), std::move(elements)});
  return out;
}

Nest::Nest(const Dims& lengths) {
  for (const Dim& length : lengths) axes_.push_back({length});
}

Term Nest::add(Value value, DType dtype) {
  value.operation = operations_.size() - 1;
  value.variable = variable(str("%", values_.size()), {dtype, 1, 0});
  numbers_.emplace(&value.variable.node(), values_.size());
  values_.push_back(std::move(value));
  return values_.back().variable;
}

void Nest::operation(int64_t work, size_t widest) {
  operations_.push_back({work, widest});
}

Term Nest::load(std::string name, Location location) {
  TH_CHECK(location.strides.size() == axes_.size(), "a location with ", location.strides.size(),
           " strides in a nest of ", axes_.size(), " axes");
  const DType dtype = location.operand.type.dtype;
  return add({.kind = Value::Kind::kLoad, .name = std::move(name), .location = std::move(location)}, dtype);
}

Term Nest::load_inside(std::string name, Location location, Term otherwise) {
  Term out = load(std::move(name), std::move(location));
  values_.back().otherwise = std::move(otherwise);
  return out;
}

Term Nest::axis(size_t axis) {
  return add({.kind = Value::Kind::kAxis, .name = str("axis", axis), .axis = axis}, DType::kInt64);
}

Term Nest::position(Index index) {
  return add({.kind = Value::Kind::kPosition, .name = "position", .index = std::move(index)}, DType::kInt64);
}

Term Nest::let(std::string name, Term value) {
  TH_CHECK(value.lanes() == 1, "a nest is scalar");
  const DType dtype = value.dtype();
  return add({.kind = Value::Kind::kLet, .name = std::move(name), .term = std::move(value)}, dtype);
}

Term Nest::reduce(std::string name, Accumulation how, Term value) {
  const DType dtype = how.better ? DType::kInt64 : how.dtype;
  return add(
      {.kind = Value::Kind::kReduction, .name = std::move(name), .term = std::move(value), .how = std::move(how)},
      dtype);
}

TermPair Nest::reduce_pair(std::string name, Accumulation how, TermPair values) {
  const DType dtype = how.dtype;
  const auto part = [&](bool is_second) {
    return add({.kind = Value::Kind::kReduction,
                .name = name + (is_second ? "_second" : "_first"),
                .term = is_second ? values.second : values.first,
                .how = how,
                .is_second = is_second,
                .other = is_second ? values.first : values.second},
               dtype);
  };
  Term first = part(false);
  return {std::move(first), part(true)};
}

Term Nest::carried(std::string name, Term start) {
  const DType dtype = start.dtype();
  return add({.kind = Value::Kind::kCarried, .name = std::move(name), .term = std::move(start)}, dtype);
}

void Nest::set(const Term& carried, Term value) {
  add({.kind = Value::Kind::kSet, .name = "next", .term = std::move(value), .other = carried}, carried.dtype());
}

Term Nest::last(const Term& carried) {
  return add({.kind = Value::Kind::kLast, .name = "last", .other = carried}, carried.dtype());
}

void Nest::where(Term condition) {
  add({.kind = Value::Kind::kWhere, .name = "where", .term = std::move(condition)}, DType::kBool);
}

void Nest::require(Term condition, RuntimeCheck check, Term value, Term limit) {
  add({.kind = Value::Kind::kRequire,
       .name = "check",
       .term = std::move(condition),
       .check = std::move(check),
       .shown = std::move(value),
       .limit = std::move(limit)},
      DType::kBool);
}

void Nest::store(Location location, Term value) {
  TH_CHECK(location.strides.size() == axes_.size(), "a location with ", location.strides.size(),
           " strides in a nest of ", axes_.size(), " axes");
  stores_.push_back({std::move(location), std::move(value)});
}

void Nest::store_outside(Location location, Term value) {
  store(std::move(location), std::move(value));
  stores_.back().is_outside = true;
}

std::optional<size_t> Nest::value_of(const Term& term) const {
  auto at = numbers_.find(&term.node());
  return at == numbers_.end() ? std::nullopt : std::optional(at->second);
}

void Nest::each_read(const Term& term, const std::function<void(size_t)>& visit) const {
  if (!static_cast<bool>(term)) return;
  if (const std::optional<size_t> number = value_of(term)) return visit(*number);
  for (const Term& arg : term.node().args) each_read(arg, visit);
}

void Nest::each_read(const Value& value, const std::function<void(size_t)>& visit) const {
  for (const Move& move : value.location.moves) each_read(move.position, visit);
  if (value.index)
    for (const Move& move : value.index->location.moves) each_read(move.position, visit);
  each_read(value.otherwise, visit);
  each_read(value.term, visit);
  each_read(value.other, visit);
  each_read(value.shown, visit);
  each_read(value.limit, visit);
}

void Nest::each_read(const Store& store, const std::function<void(size_t)>& visit) const {
  for (const Move& move : store.location.moves) each_read(move.position, visit);
  each_read(store.value, visit);
}

size_t Nest::widest_of(size_t value) const {
  const Value& now = values_[value];
  if (now.kind == Value::Kind::kPosition || now.kind == Value::Kind::kRequire || now.kind == Value::Kind::kWhere)
    return 1;
  return now.operation == 0 ? size_of(now.variable.dtype()) : operations_[now.operation].widest;
}

size_t Nest::widest() const {
  size_t out = 1;
  for (size_t v = 0; v < values_.size(); ++v) out = std::max(out, widest_of(v));
  for (const Store& store : stores_) out = std::max(out, size_of(store.location.operand.type.dtype));
  return out;
}

Location aligned(const Nest& nest, const Operand& operand) {
  const size_t axes = nest.axes().size(), rank = operand.type.rank();
  Location out{operand, Dims(axes, Dim(0))};
  for (size_t i = 0; i < rank; ++i)
    if (!operand.type.dims[i].is(1)) out.strides[axes - rank + i] = operand.layout.strides[i];
  return out;
}

Location placed(const Operand& operand, Term first) {
  Location out{operand, operand.layout.strides, std::move(first)};
  for (size_t i = 0; i < out.strides.size(); ++i)
    if (operand.type.dims[i].is(1)) out.strides[i] = 0;
  return out;
}

}  // namespace thtrain::kernel
