// Nests whose iterations hand numbers on, or of which some iterations end early: the parallel axes outside, and inside
// them the sequential ones in order, with what is carried in variables. Vectors run over the innermost parallel axis,
// each lane with numbers of its own, where all that is loaded and stored lies side by side along it; so no bit depends
// on them. Where a bound cuts the results' iterations, vectors are those that it leaves alone, and the others are
// computed one by one.
// On a device a thread takes one iteration of all parallel axes.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/schedule/locations.h"

namespace thtrain::kernel {
namespace {

using Kind = Nest::Value::Kind;

class CarriedLoops {
 public:
  CarriedLoops(StepBuilder& b, const Nest& nest) : b_(b), code_(b.code()), nest_(nest), tracks_(nest) {
    for (LoopAxis& axis : tracks_.axes())
      (axis.kind == AxisKind::kSequential ? inner_ : outer_).push_back(std::move(axis));
    outer_ = collapse(outer_);
    inner_ = collapse(inner_);
    // Bounds are asked for by loops, also where there is one iteration.
    if (inner_.empty() && !nest.bounds.empty())
      inner_.push_back({1, Dims(tracks_.size(), Dim(0)), AxisKind::kSequential});
    sort_values();
    if (may_be_vectors()) choice_.lanes = lanes_ = whole_lanes(b, nest.widest());
    in_lanes_ = lanes_ > 1 ? tracks_.varying(outer_.back()) : std::vector<bool>(nest.values().size(), false);
    choice_.over = "results";
  }

  void run(std::string name, std::string comment) {
    outer(0, tracks_.firsts(), {});
    const bool is_device = b_.target().is_device();
    const Dim range = outer_.empty() ? Dim(1) : is_device ? product_of(outer_) : outer_[0].length;
    Dim each = product_of(inner_);  // iterations for one of the range
    for (size_t i = 1; !is_device && i < outer_.size(); ++i) each = each * outer_[i].length;
    const bool is_split = !outer_.empty() && nest_.work > 0;
    b_.finish_kernel(std::move(name), std::move(comment), range,
                     is_split ? floor_div(Dim(b_.target().grain_of_work() / nest_.work), max(each, 1)) + 1 : Dim(0),
                     outer_.size() == 1 ? lanes_ : 1, choice_.text());
  }

 private:
  // A value is computed before the sequential loops, in their innermost iterations, or after them.
  enum class Phase : uint8_t { kBefore, kInside, kAfter };

  const Nest::Value& value(size_t v) const { return nest_.values()[v]; }

  bool moves_inside(const Location& location) const {
    for (size_t i = 0; i < nest_.axes().size(); ++i)
      if (nest_.axes()[i].kind == AxisKind::kSequential && !nest_.axes()[i].length.is(1) && !location.strides[i].is(0))
        return true;
    return false;
  }

  void sort_values() {
    bool is_guarded = false;
    for (size_t v = 0; v < nest_.values().size(); ++v) {
      const Kind kind = value(v).kind;
      Phase phase = Phase::kBefore;
      nest_.each_read(value(v), [&](size_t read) { phase = std::max(phase, phases_[read]); });
      bool is_inside = is_guarded || kind == Kind::kCarried || kind == Kind::kSet || kind == Kind::kWhere;
      for (size_t i = 0; i < nest_.axes().size(); ++i)
        is_inside = is_inside || (nest_.axes()[i].kind == AxisKind::kSequential && !nest_.axes()[i].length.is(1) &&
                                  tracks_.moves(v, i));
      TH_CHECK(kind != Kind::kCarried || phase == Phase::kBefore, "what is carried starts with what varies");
      phases_.push_back(kind == Kind::kLast ? Phase::kAfter : is_inside ? std::max(phase, Phase::kInside) : phase);
      is_guarded = is_guarded || kind == Kind::kWhere;
    }
    for (const Nest::Store& store : nest_.stores()) {
      Phase phase = Phase::kBefore;
      nest_.each_read(store, [&](size_t read) { phase = std::max(phase, phases_[read]); });
      stores_inside_.push_back(phase == Phase::kInside || (phase == Phase::kBefore && moves_inside(store.location)));
    }
  }

  // ---- lanes -------------------------------------------------------------------------------------------------------

  // The bounds that are other ones for each lane.
  std::vector<size_t> bounds_of_lanes() const {
    std::vector<size_t> out;
    for (size_t k = 0; k < nest_.bounds.size(); ++k)
      if (moves_lanes(k)) out.push_back(k);
    return out;
  }

  // Does a bound hold for most of the axis, in all iterations of the loops inside?
  bool leaves_most(size_t bound, const LoopAxis& axis) const {
    const size_t track = tracks_.of_bound(bound);
    Dim moved = 0;
    for (const LoopAxis& inner : inner_) {
      if (!inner.strides[track].is_known()) return false;
      moved = moved + std::abs(inner.strides[track].value()) * (inner.length - 1);
    }
    if (!axis.strides[track].is_known()) return false;
    if (!axis.length.is_known()) return true;
    return moved.is_known() && moved.value() < std::abs(axis.strides[track].value()) * axis.length.value();
  }

  bool may_be_vectors() const {
    if (outer_.empty()) return false;
    const LoopAxis& axis = outer_.back();
    for (size_t k : bounds_of_lanes())
      if (!leaves_most(k, axis)) return false;
    const std::vector<bool> varies = tracks_.varying(axis);
    bool is_moved = false;
    const auto is_near = [&](const Location& location, size_t track, bool is_stored) {
      for (const Move& move : location.moves)
        if (varies[*nest_.value_of(move.position)]) return false;
      const bool is_one = axis.strides[track].is(0);
      is_moved = is_moved || !is_one;
      return location.pair == Location::Pair::kNone && (axis.strides[track].is(1) || (is_one && !is_stored));
    };
    for (size_t v = 0; v < nest_.values().size(); ++v) {
      const Nest::Value& now = value(v);
      if (now.kind == Kind::kWhere || now.kind == Kind::kRequire || now.kind == Kind::kPosition) return false;
      if (is_bool(now.variable.dtype())) return false;
      if (now.kind == Kind::kLoad && !is_near(now.location, tracks_.of_value(v), false)) return false;
    }
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (!is_near(nest_.stores()[s].location, tracks_.of_store(s), true)) return false;
    return is_moved;
  }

  LocationInLoops here(const std::vector<Term>& at, const Term& count) const {
    return {.at = at, .across = lanes_ > 1 ? &outer_.back() : nullptr, .lanes = lanes_, .count = count};
  }

  // ---- loops -------------------------------------------------------------------------------------------------------

  // Over the parallel axes from `depth` on. `count`: lanes that exist; empty: all.
  void outer(size_t depth, const std::vector<Term>& at, const Term& count) {
    if (depth == outer_.size()) return results(at, count);
    if (b_.target().is_device())  // a thread takes one
      return code_.loop("i", b_.begin(), b_.end(), 1, LoopMark::kSequential,
                        [&](const Term& i) { results(unravelled(b_, outer_, at, i), {}); });
    const LoopAxis& axis = outer_[depth];
    const Term first = depth == 0 ? b_.begin() : Term(0), last = depth == 0 ? b_.end() : b_.length(axis.length);
    if (lanes_ > 1 && depth + 1 == outer_.size()) {
      const std::vector<size_t> bounds = bounds_of_lanes();
      if (!bounds.empty() || !axis.length.is_known() || axis.length.value() % lanes_ != 0)
        choice_.tail = ScheduleChoice::Tail::kMasked;
      if (bounds.empty()) return vectors(at, first, last, known_length(axis.length));
      const auto [low, high] = tracks_.inside(b_, bounds, axis, at, first, last, inner_);
      one_by_one(at, first, low);
      is_within_ = true;
      vectors(at, low, high, {});
      is_within_ = false;
      return one_by_one(at, high, last);
    }
    code_.loop(str("i", depth), first, last, 1, LoopMark::kSequential,
               [&](const Term& i) { outer(depth + 1, further(b_, at, axis, i), {}); });
  }

  // Over the innermost parallel axis.
  void vectors(const std::vector<Term>& at, const Term& first, const Term& last, std::optional<int64_t> length) {
    each_vector(code_, "i", first, last, lanes_, length, [&](const Term& i, const Term& lanes) {
      outer(outer_.size(), further(b_, at, outer_.back(), i), lanes);
    });
  }
  void one_by_one(const std::vector<Term>& at, const Term& first, const Term& last) {
    const int lanes = std::exchange(lanes_, 1);
    const std::vector<bool> in_lanes = std::exchange(in_lanes_, std::vector<bool>(in_lanes_.size(), false));
    vectors(at, first, last, {});
    lanes_ = lanes;
    in_lanes_ = in_lanes;
  }

  // What one iteration of the parallel axes gives, or a vector of them.
  void results(const std::vector<Term>& at, const Term& count) {
    values_.assign(nest_.values().size(), {});
    const LocationInLoops outside = here(at, count);
    compute(Phase::kBefore, outside);
    for (size_t v = 0; v < values_.size(); ++v)
      if (value(v).kind == Kind::kCarried)
        values_[v] = code_.var(value(v).name, splat(bound(nest_, value(v).term, values_), lanes_));
    const std::vector<Term> before = values_;
    inner(0, at, count);
    values_ = before;
    for (size_t v = 0; v < values_.size(); ++v)
      if (value(v).kind == Kind::kLast) values_[v] = values_[*nest_.value_of(value(v).other)];
    compute(Phase::kAfter, outside);
    store_all(false, outside);
  }

  void compute(Phase phase, const LocationInLoops& location) {
    for (size_t v = 0; v < values_.size(); ++v)
      if (phases_[v] == phase && value(v).kind != Kind::kLast) tracks_.compute(b_, v, location, in_lanes_, values_);
  }

  // Over the sequential axes from `depth` on, but for the iterations that are outside of the bounds. A bound cuts the
  // innermost loop that moves it.
  void inner(size_t depth, const std::vector<Term>& at, const Term& count) {
    if (depth == inner_.size()) return iteration(0, here(at, count));
    const LoopAxis& axis = inner_[depth];
    std::vector<size_t> bounds;
    for (size_t k = 0; k < nest_.bounds.size(); ++k)
      if (cut_loop(tracks_.of_bound(k)) == depth && !(is_within_ && moves_lanes(k))) bounds.push_back(k);
    std::pair<Term, Term> range{0, b_.length(axis.length)};
    if (!bounds.empty()) range = tracks_.inside(b_, bounds, axis, at, range.first, range.second);
    // NVRTC 12.9, 13.0 and 13.2 end the process where they unroll some of these loops for compute capability 10.
    const LoopMark mark = bounds.empty() ? LoopMark::kSequential : LoopMark::kRolled;
    code_.loop(str("k", depth), range.first, range.second, 1, mark,
               [&](const Term& k) { inner(depth + 1, further(b_, at, axis, k), count); });
  }

  bool moves_lanes(size_t bound) const { return !outer_.back().strides[tracks_.of_bound(bound)].is(0); }

  size_t cut_loop(size_t track) const {
    for (size_t depth = inner_.size(); depth-- > 1;)
      if (!inner_[depth].strides[track].is(0)) return depth;
    return 0;
  }

  // The values from `first` on of one iteration, then its stores, and what it hands on.
  void iteration(size_t first, const LocationInLoops& location) {
    for (size_t v = first; v < values_.size(); ++v) {
      if (phases_[v] != Phase::kInside || value(v).kind == Kind::kCarried || value(v).kind == Kind::kSet) continue;
      if (value(v).kind == Kind::kWhere)
        return code_.if_(bound(nest_, value(v).term, values_), [&] { iteration(v + 1, location); });
      tracks_.compute(b_, v, location, in_lanes_, values_);
    }
    store_all(true, location);
    std::vector<bool> is_set(values_.size(), false);
    for (const Nest::Value& now : nest_.values()) {
      if (now.kind != Kind::kSet) continue;
      const size_t carried = *nest_.value_of(now.other);
      nest_.each_read(now, [&](size_t read) {
        TH_CHECK(!is_set[read] || read == carried, "what is set reads a carried number that has been set");
      });
      is_set[carried] = true;
      code_.assign(values_[carried], splat(bound(nest_, now.term, values_), lanes_));
    }
  }

  void store_all(bool inside, const LocationInLoops& location) {
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (stores_inside_[s] == inside)
        tracks_.store(b_, s, location, bound(nest_, nest_.stores()[s].value, values_), values_);
  }

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  Tracks tracks_;
  std::vector<LoopAxis> outer_, inner_;
  std::vector<Phase> phases_;
  std::vector<bool> stores_inside_;
  std::vector<bool> in_lanes_;  // values that differ from lane to lane
  int lanes_ = 1;
  bool is_within_ = false;  // of the bounds of all lanes
  ScheduleChoice choice_;
  std::vector<Term> values_;
};

}  // namespace

void schedule_carried(StepBuilder& b, const Nest& nest, std::string name, std::string comment) {
  CarriedLoops(b, nest).run(std::move(name), std::move(comment));
}

}  // namespace thtrain::kernel
