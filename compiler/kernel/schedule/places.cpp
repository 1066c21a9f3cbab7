#include "compiler/kernel/schedule/places.h"

#include "compiler/kernel/schedule/widen.h"

namespace thtrain::kernel {

using Kind = Nest::Value::Kind;

Term PlaceInLoops::element(StepBuilder& b, size_t track, const Term& lane) const {
  Term out = at[track];
  if (inner) out = out + i * b.length(inner->strides[track]);
  return is_constant(lane, 0) ? out : out + lane * b.length(across->strides[track]);
}

Tracks::Tracks(const Nest& nest)
    : nest_(nest),
      of_value_(nest.values().size(), kNone),
      reported_(nest.values().size(), kNone),
      of_store_(nest.stores().size(), kNone) {
  const std::vector<Nest::Value>& values = nest.values();
  for (size_t v = 0; v < values.size(); ++v)
    if (values[v].kind == Kind::kLoad && !values[v].place.is_indexed())
      of_value_[v] = add(values[v].place.strides, values[v].place.first);
  for (size_t s = 0; s < nest.stores().size(); ++s)
    of_store_[s] = add(nest.stores()[s].place.strides, nest.stores()[s].place.first);
  affine_ = tracks_.size();
  for (size_t v = 0; v < values.size(); ++v) {
    if (values[v].kind == Kind::kLoad && values[v].place.is_indexed())
      of_value_[v] = add(values[v].place.strides, values[v].place.first);
    if (values[v].kind != Kind::kPosition) continue;
    of_value_[v] = add(values[v].index->place.strides, values[v].index->place.first);
    if (!values[v].index->reported.empty()) reported_[v] = add(values[v].index->reported, 0);
  }
}

size_t Tracks::add(const Dims& strides, const Term& first) {
  tracks_.push_back({strides, first});
  return tracks_.size() - 1;
}

bool Tracks::moves(size_t value, size_t axis) const {
  for (size_t track : {of_value_[value], reported_[value]})
    if (track != kNone && !tracks_[track].strides[axis].is(0)) return true;
  return false;
}

std::vector<LoopAxis> Tracks::axes() const {
  std::vector<LoopAxis> out;
  for (size_t i = 0; i < nest_.axes().size(); ++i) {
    LoopAxis axis{nest_.axes()[i].length, {}, nest_.axes()[i].kind};
    for (const Track& track : tracks_) axis.strides.push_back(track.strides[i]);
    out.push_back(std::move(axis));
  }
  return out;
}

std::vector<Term> Tracks::firsts() const {
  std::vector<Term> out;
  for (const Track& track : tracks_) out.push_back(track.first);
  return out;
}

std::vector<bool> Tracks::varying(const LoopAxis& axis) const {
  std::vector<bool> out;
  for (size_t v = 0; v < nest_.values().size(); ++v) {
    bool varies = false;
    for (size_t track : {of_value_[v], reported_[v]}) varies = varies || (track != kNone && !axis.strides[track].is(0));
    nest_.each_read(nest_.values()[v], [&](size_t read) { varies = varies || out[read]; });
    out.push_back(varies);
  }
  return out;
}

Term bound(const Nest& nest, const Term& term, const std::vector<Term>& values) {
  return widened(term, [&](const Term& variable) {
    const std::optional<size_t> v = nest.value_of(variable);
    return v ? values[*v] : Term();
  });
}

static Term moved(StepBuilder& b, const Nest& nest, const Term& at, const Place& place,
                  const std::vector<Term>& values) {
  return place.is_indexed() ? at + bound(nest, place.position, values) * b.length(place.step) : at;
}

void Tracks::compute(StepBuilder& b, size_t v, const PlaceInLoops& here, const std::vector<bool>& in_lanes,
                     std::vector<Term>& values) const {
  const Nest::Value& value = nest_.values()[v];
  switch (value.kind) {
    case Kind::kLoad:
      values[v] = b.code().let(value.name, load(b, v, here, in_lanes, values));
      return;
    case Kind::kPosition:
      if (!here.across || here.lanes == 1 || !in_lanes[v]) values[v] = position(b, v, here, 0, values);
      return;
    case Kind::kLet:
      values[v] = b.code().let(value.name, bound(nest_, value.term, values));
      return;
    case Kind::kRequire:
      b.require(bound(nest_, value.term, values), *value.check, bound(nest_, value.shown, values),
                bound(nest_, value.limit, values));
      return;
    case Kind::kReduction:
      break;
  }
  TH_CHECK(false, "a reduction is computed by loops");
}

Term Tracks::load(StepBuilder& b, size_t v, const PlaceInLoops& here, const std::vector<bool>& in_lanes,
                  const std::vector<Term>& values) const {
  const Place& place = nest_.values()[v].place;
  const size_t track = of_value_[v];
  const bool vector = here.across && here.lanes > 1;
  if (!vector || !place.is_indexed() || !in_lanes[*nest_.value_of(place.position)]) {
    const Term from = moved(b, nest_, here.element(b, track), place, values);
    if (!vector || here.across->strides[track].is(0)) return b.load(place.operand, from);
    return b.load(place.operand, from, here.lanes, b.length(here.across->strides[track]), here.count);
  }
  // Lane by lane; those that do not exist repeat the first.
  Code& code = b.code();
  const DType dtype = place.operand.type.dtype;
  const std::string gathered = code.local_array("gathered", {dtype, 1, 0}, here.lanes).node().name;
  code.loop("lane", 0, Term(here.lanes), 1, LoopMark::kSequential, [&](Term lane) {
    const Term l = here.count ? code.let("l", select(lane < here.count, lane, Term(0))) : lane;
    const Term where = position(b, *nest_.value_of(place.position), here, l, values);
    code.store(gathered, lane, 1, b.load(place.operand, here.element(b, track, l) + where * b.length(place.step)));
  });
  return kernel::load(gathered, dtype, here.lanes, 0, 1);
}

Term Tracks::position(StepBuilder& b, size_t v, const PlaceInLoops& here, const Term& lane,
                      const std::vector<Term>& values) const {
  const Index& index = *nest_.values()[v].index;
  const Term at = moved(b, nest_, here.element(b, of_value_[v], lane), index.place, values);
  return checked_position(b, index, b.load(index.place.operand, at),
                          reported_[v] == kNone ? Term() : here.element(b, reported_[v], lane));
}

Term Tracks::target(StepBuilder& b, size_t store, const PlaceInLoops& here, const std::vector<Term>& values) const {
  return moved(b, nest_, here.element(b, of_store_[store]), nest_.stores()[store].place, values);
}

void Tracks::store(StepBuilder& b, size_t store, const PlaceInLoops& here, const Term& value,
                   const std::vector<Term>& values) const {
  const Place& place = nest_.stores()[store].place;
  const Term at = target(b, store, here, values);
  if (!here.across || here.lanes == 1) return b.store(place.operand, at, value);
  b.store(place.operand, at, splat(value, here.lanes), b.length(here.across->strides[of_store_[store]]), here.count);
}

}  // namespace thtrain::kernel
