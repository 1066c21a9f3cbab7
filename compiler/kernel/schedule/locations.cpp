#include "compiler/kernel/schedule/locations.h"

#include <algorithm>

#include "compiler/kernel/schedule/widen.h"

namespace thtrain::kernel {

using Kind = Nest::Value::Kind;

Term LocationInLoops::element(StepBuilder& b, size_t track, const Term& lane) const {
  Term out = at[track];
  if (inner) out = out + i * b.length(inner->strides[track]);
  return is_constant(lane, 0) ? out : out + lane * b.length(across->strides[track]);
}

std::vector<Term> further(StepBuilder& b, const std::vector<Term>& at, const LoopAxis& axis, const Term& i) {
  std::vector<Term> out;
  for (size_t k = 0; k < at.size(); ++k)
    out.push_back(axis.strides[k].is(0) ? at[k] : b.code().let("at", at[k] + i * b.length(axis.strides[k])));
  return out;
}

Tracks::Tracks(const Nest& nest)
    : nest_(nest),
      of_value_(nest.values().size(), kNone),
      reported_(nest.values().size(), kNone),
      of_store_(nest.stores().size(), kNone) {
  const std::vector<Nest::Value>& values = nest.values();
  for (size_t v = 0; v < values.size(); ++v)
    if (values[v].kind == Kind::kLoad && !values[v].location.is_indexed())
      of_value_[v] = add(values[v].location.strides, values[v].location.first, values[v].location.pair);
  for (size_t s = 0; s < nest.stores().size(); ++s)
    of_store_[s] =
        add(nest.stores()[s].location.strides, nest.stores()[s].location.first, nest.stores()[s].location.pair);
  affine_ = tracks_.size();
  for (size_t v = 0; v < values.size(); ++v) {
    if (values[v].kind == Kind::kLoad && values[v].location.is_indexed())
      of_value_[v] = add(values[v].location.strides, values[v].location.first);
    if (values[v].kind == Kind::kAxis) {
      Dims strides(nest.axes().size(), Dim(0));
      strides[values[v].axis] = 1;
      of_value_[v] = add(strides, 0);
    }
    if (values[v].kind != Kind::kPosition) continue;
    of_value_[v] = add(values[v].index->location.strides, values[v].index->location.first);
    if (!values[v].index->reported.empty()) reported_[v] = add(values[v].index->reported, 0);
  }
  for (const Bound& bound : nest.bounds) of_bound_.push_back(add(bound.strides, 0));
}

size_t Tracks::add(const Dims& strides, const Term& first, Location::Pair pair) {
  tracks_.push_back({strides, first, pair != Location::Pair::kNone});
  return tracks_.size() - 1;
}

bool Tracks::is_contiguous(size_t track, const LoopAxis& axis) const {
  return axis.strides[track].is(tracks_[track].is_of_pair ? 2 : 1);
}

bool Tracks::is_vector_of_pairs(size_t track, const LocationInLoops& here) const {
  return here.across && here.lanes > 1 && tracks_[track].is_of_pair && is_contiguous(track, *here.across);
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
    // The bounds may end anywhere; what is carried is a number for each lane.
    const Nest::Value& value = nest_.values()[v];
    bool varies = static_cast<bool>(value.otherwise) || value.kind == Kind::kCarried;
    // What an iteration stores, the next one may load.
    if (axis.kind == AxisKind::kSequential && value.kind == Kind::kLoad)
      varies = varies || std::ranges::any_of(nest_.stores(), [&](const Nest::Store& store) {
                 return store.location.operand.index == value.location.operand.index;
               });
    for (size_t track : {of_value_[v], reported_[v]}) varies = varies || (track != kNone && !axis.strides[track].is(0));
    nest_.each_read(value, [&](size_t read) { varies = varies || out[read]; });
    out.push_back(varies);
  }
  return out;
}

std::pair<Term, Term> Tracks::inside(StepBuilder& b, const std::vector<size_t>& bounds, const LoopAxis& axis,
                                     const std::vector<Term>& at, const Term& first, const Term& last,
                                     const std::vector<LoopAxis>& within) const {
  Code& code = b.code();
  Term low = first, high = last;
  const auto greater = [](const Term& a, const Term& b) { return select(a > b, a, b); };
  const auto least = [](const Term& a, const Term& b) { return select(a < b, a, b); };
  Term holds;  // of those bounds that all iterations share
  for (size_t k : bounds) {
    const Bound& bound = nest_.bounds[k];
    const Dim& step = axis.strides[of_bound_[k]];
    Dim least_move = 0, most_move = 0;
    for (const LoopAxis& inner : within) {
      const Dim& moves = inner.strides[of_bound_[k]];
      TH_CHECK(moves.is_known(), "a bound that an axis moves by ", moves.text());
      Dim& move = moves.value() < 0 ? least_move : most_move;
      move = move + moves * (inner.length - 1);
    }
    const Term here = code.let("at", at[of_bound_[k]] + b.length(bound.first)), length = b.length(bound.length);
    const Term lowest = here + b.length(least_move), highest = here + b.length(most_move);
    if (step.is(0)) {
      const Term is_inside = lowest >= Term(0) && highest < length;
      holds = static_cast<bool>(holds) ? holds && is_inside : is_inside;
      continue;
    }
    TH_CHECK(step.is_known(), "a bound that an axis moves by ", step.text());
    const bool is_up = step.value() > 0;
    const int64_t size = is_up ? step.value() : -step.value();
    // The first iteration at which as many steps have reached at least x: x <= 0 says the first of all.
    const auto iteration = [&](const Term& x) {
      const Term steps = code.let("steps", greater(code.let("steps", x), 0));
      return size == 1 ? steps : code.let("steps", (steps + Term(size - 1)) / Term(size));
    };
    const Term begin = iteration(is_up ? Term(0) - lowest : highest - length + Term(1));
    low = is_constant(low, 0) ? begin : code.let("low", greater(low, begin));
    high = code.let("high", least(high, iteration(is_up ? length - highest : lowest + Term(1))));
  }
  low = code.let("low", least(low, last));
  high = greater(low, high);
  if (static_cast<bool>(holds)) high = select(holds, high, low);
  return {low, code.let("high", high)};
}

Term bound(const Nest& nest, const Term& term, const std::vector<Term>& values) {
  return widened(term, [&](const Term& variable) {
    const std::optional<size_t> v = nest.value_of(variable);
    return v ? values[*v] : Term();
  });
}

static Term moved(StepBuilder& b, const Nest& nest, const Term& at, const Location& location,
                  const std::vector<Term>& values) {
  Term out = at;
  for (const Move& move : location.moves) out = out + bound(nest, move.position, values) * b.length(move.step);
  return out;
}

void Tracks::compute(StepBuilder& b, size_t v, const LocationInLoops& here, const std::vector<bool>& in_lanes,
                     std::vector<Term>& values) const {
  const Nest::Value& value = nest_.values()[v];
  switch (value.kind) {
    case Kind::kAxis: {
      const Term first = here.element(b, of_value_[v]);
      const bool is_vector = here.across && here.lanes > 1 && in_lanes[v];
      values[v] = is_vector ? b.code().let(value.name,
                                           splat(first, here.lanes) + iota(DType::kInt64, here.lanes) *
                                                                          b.length(here.across->strides[of_value_[v]]))
                            : first;
      return;
    }
    case Kind::kLoad:
      if (static_cast<bool>(value.otherwise) && !here.is_inside) {
        values[v] = bound(nest_, value.otherwise, values);
        return;
      }
      if (is_vector_of_pairs(of_value_[v], here)) {
        if (value.location.pair == Location::Pair::kFirst) return load_pairs(b, v, here, values);
        if (static_cast<bool>(values[v])) return;  // with the first
      }
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
    case Kind::kCarried:
    case Kind::kSet:
    case Kind::kLast:
    case Kind::kWhere:
      break;
  }
  TH_CHECK(false, "a reduction, or a number that is carried, is computed by loops");
}

// Of twice as many elements as `here` has lanes, how many are in the first and in the second vector. Empty: all.
static std::pair<Term, Term> halves(Code& code, const LocationInLoops& here) {
  if (!static_cast<bool>(here.count)) return {};
  const Term lanes = here.lanes;
  const Term both = code.let("both", here.count + here.count);
  if (both.node().prim == Prim::kConstant) {
    const int64_t n = both.node().integer;
    return {Term(std::min<int64_t>(n, here.lanes)), Term(std::max<int64_t>(n - here.lanes, 0))};
  }
  return {code.let("low", select(both < lanes, both, lanes)), code.let("high", select(both < lanes, 0, both - lanes))};
}

// Two vectors side by side, of which one value has the even lanes and the next one the odd.
void Tracks::load_pairs(StepBuilder& b, size_t v, const LocationInLoops& here, std::vector<Term>& values) const {
  Code& code = b.code();
  const Operand& from = nest_.values()[v].location.operand;
  const Term at = here.element(b, of_value_[v]);
  const auto [low_count, high_count] = halves(code, here);
  const Term low = code.let("pairs", b.load(from, at, here.lanes, 1, low_count));
  const Term high = code.let("pairs", b.load(from, at + Term(here.lanes), here.lanes, 1, high_count));
  values[v] = code.let(nest_.values()[v].name, even_lanes(low, high));
  values[v + 1] = code.let(nest_.values()[v + 1].name, odd_lanes(low, high));
}

void Tracks::store_pairs(StepBuilder& b, size_t first, const LocationInLoops& here,
                         const std::vector<Term>& values) const {
  const auto value = [&](size_t store) {
    return b.code().let("part", splat(bound(nest_, nest_.stores()[store].value, values), here.lanes));
  };
  const Operand& to = nest_.stores()[first].location.operand;
  const Term at = target(b, first, here, values), even = value(first), odd = value(first + 1);
  const auto [low_count, high_count] = halves(b.code(), here);
  b.store(to, at, zip_low(even, odd), 1, low_count);
  b.store(to, at + Term(here.lanes), zip_high(even, odd), 1, high_count);
}

Term Tracks::load(StepBuilder& b, size_t v, const LocationInLoops& here, const std::vector<bool>& in_lanes,
                  const std::vector<Term>& values) const {
  const Location& location = nest_.values()[v].location;
  const size_t track = of_value_[v];
  const bool vector = here.across && here.lanes > 1;
  const auto varies = [&](const Move& move) { return in_lanes[*nest_.value_of(move.position)]; };
  if (!vector || std::none_of(location.moves.begin(), location.moves.end(), varies)) {
    const Term from = moved(b, nest_, here.element(b, track), location, values);
    if (!vector || here.across->strides[track].is(0)) return b.load(location.operand, from);
    return b.load(location.operand, from, here.lanes, b.length(here.across->strides[track]), here.count);
  }
  if (is_vector_gather(b, v)) return vector_gather(b, v, here, values);
  // Lane by lane; those that do not exist repeat the first.
  Code& code = b.code();
  const DType dtype = location.operand.type.dtype;
  const std::string gathered = code.local_array("gathered", {dtype, 1, 0}, here.lanes).node().name;
  code.loop("lane", 0, Term(here.lanes), 1, LoopMark::kSequential, [&](Term lane) {
    const Term l = here.count ? code.let("l", select(lane < here.count, lane, Term(0))) : lane;
    Term where = here.element(b, track, l);
    for (const Move& move : location.moves) {
      const size_t p = *nest_.value_of(move.position);
      where = where + (varies(move) ? position(b, p, here, l, values) : values[p]) * b.length(move.step);
    }
    code.store(gathered, lane, 1, b.load(location.operand, where));
  });
  return kernel::load(gathered, dtype, here.lanes, 0, 1);
}

bool Tracks::is_vector_gather(StepBuilder& b, size_t v) const {
  const Location& location = nest_.values()[v].location;
  if (location.moves.size() != 1) return false;
  const Index& index = *nest_.values()[*nest_.value_of(location.moves[0].position)].index;
  return b.target().has_gathers() && is_float(location.operand.type.dtype) && location.moves[0].step.is(1) &&
         is_signed_int(index.location.operand.type.dtype) && !index.location.is_indexed();
}

// All positions at once; if one is wrong, lane by lane, so that the check says which. What is below zero is told by
// signs, not by comparisons, which g++ makes element by element where a vector is longer than a register. Where a lane
// that does not exist looks wrong (its index is read as 1), the check lane by lane finds nothing.
Term Tracks::vector_gather(StepBuilder& b, size_t v, const LocationInLoops& here,
                           const std::vector<Term>& values) const {
  Code& code = b.code();
  const Location& location = nest_.values()[v].location;
  const size_t p = *nest_.value_of(location.moves[0].position);
  const Index& index = *nest_.values()[p].index;
  const Term length = b.length(index.length), stride = b.length(here.across->strides[of_value_[p]]);
  Term at = code.let("index",
                     cast(b.load(index.location.operand, here.element(b, of_value_[p]), here.lanes, stride, here.count),
                          DType::kInt64));
  if (index.from_end) at = code.let("position", at + (shift_right(at, Term(63)) & length));
  if (index.check)
    code.if_(reduce_lanes("or", at | (length - Term(1) - at)) < Term(0), [&] {
      code.loop("lane", 0, here.count ? here.count : Term(here.lanes), 1, LoopMark::kSequential,
                [&](Term lane) { position(b, p, here, lane, values); });
    });
  Term from = splat(here.element(b, of_value_[v]), here.lanes) + at;
  const Dim& moves = here.across->strides[of_value_[v]];
  if (!moves.is(0)) from = from + iota(DType::kInt64, here.lanes) * b.length(moves);
  return b.gather(location.operand, from, here.count);
}

Term Tracks::position(StepBuilder& b, size_t v, const LocationInLoops& here, const Term& lane,
                      const std::vector<Term>& values) const {
  const Index& index = *nest_.values()[v].index;
  const Term at = moved(b, nest_, here.element(b, of_value_[v], lane), index.location, values);
  return checked_position(b, index, b.load(index.location.operand, at),
                          reported_[v] == kNone ? Term() : here.element(b, reported_[v], lane));
}

Term Tracks::target(StepBuilder& b, size_t store, const LocationInLoops& here, const std::vector<Term>& values) const {
  return moved(b, nest_, here.element(b, of_store_[store]), nest_.stores()[store].location, values);
}

void Tracks::store(StepBuilder& b, size_t store, const LocationInLoops& here, const Term& value,
                   const std::vector<Term>& values) const {
  const Location& location = nest_.stores()[store].location;
  if (is_vector_of_pairs(of_store_[store], here)) {
    if (location.pair == Location::Pair::kSecond) store_pairs(b, store - 1, here, values);
    return;
  }
  const Term at = target(b, store, here, values);
  if (!here.across || here.lanes == 1) return b.store(location.operand, at, value);
  b.store(location.operand, at, splat(value, here.lanes), b.length(here.across->strides[of_store_[store]]), here.count);
}

}  // namespace thtrain::kernel
