// Nests without reductions: loops over elements, copies, gathers, scatters.
#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/kernel/schedule/locations.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/kernel/schedule/squares.h"

namespace thtrain::kernel {
namespace {

using Kind = Nest::Value::Kind;

class ElementLoops {
 public:
  ElementLoops(StepBuilder& b, const Nest& nest)
      : b_(b), code_(b.code()), nest_(nest), tracks_(nest), axes_(collapse(tracks_.axes())) {
    // Bounds are asked for by loops, also where all axes have one element.
    if (axes_.empty() && !nest.bounds.empty()) axes_.push_back({1, Dims(tracks_.size(), Dim(0))});
    if (axes_.empty()) return;
    varies_ = tracks_.varying(axes_.back());
    choose_lanes();
    choose_threads();
  }

  void run(std::string name, std::string comment) {
    if (axes_.empty()) {
      values_.resize(nest_.values().size());
      varies_.assign(values_.size(), false);
      const LocationInLoops here{.at = tracks_.firsts()};
      compute(false, here);
      store_all(here);
      return b_.finish_kernel(std::move(name), std::move(comment), 1);
    }
    all_loops();
    if (is_one_piece_)
      b_.finish_kernel(std::move(name), std::move(comment), 1, 0, 1, choice_.text());
    else
      b_.finish_kernel(std::move(name), std::move(comment), axes_[range_axis_].length, grain_,
                       range_axis_ + 1 == axes_.size() ? whole_lanes_ : 1, choice_.text());
  }

 private:
  bool varies(const Location& location) const {
    return std::any_of(location.moves.begin(), location.moves.end(),
                       [&](const Move& move) { return varies_[*nest_.value_of(move.position)]; });
  }
  // Do vectors know where their lanes are? What is computed of lanes names no locations.
  bool may_be_vector(const Location& location) const {
    return std::all_of(location.moves.begin(), location.moves.end(), [&](const Move& move) {
      const size_t v = *nest_.value_of(move.position);
      return !varies_[v] || nest_.values()[v].kind == Kind::kPosition;
    });
  }

  // ---- choices -----------------------------------------------------------------------------------------------------

  // Vectors run over the innermost axis, where its iterations are independent of each other and something is stored
  // there. Elements that are only moved, from locations that the data names or to locations with a stride, are quicker
  // one by one; so are those that come from locations with a stride and are added where they go.
  void choose_lanes() {
    using Gathers = ScheduleChoice::Gathers;
    bool computes = false, is_slow = false, adds = false,
         in_lanes = axes_.back().kind != AxisKind::kSequential && !nest_.stores().empty();
    for (const Nest::Operation& operation : nest_.operations()) computes = computes || operation.work > 0;
    for (const Nest::Value& value : nest_.values()) {
      in_lanes = in_lanes && value.kind != Kind::kRequire && may_be_vector(value.location);
      if (value.kind != Kind::kLoad || !value.location.is_indexed()) continue;
      is_slow = is_slow || varies(value.location);
      if (choice_.gathers != Gathers::kLanes)
        choice_.gathers = varies(value.location) ? Gathers::kLanes : Gathers::kRows;
    }
    for (size_t s = 0; s < nest_.stores().size(); ++s) {
      const Location& location = nest_.stores()[s].location;
      in_lanes = in_lanes && !varies(location);
      is_slow = is_slow || !is_near(tracks_.of_store(s));
      // What is read before it is written is in the caches.
      is_fresh_ = is_fresh_ && !location.is_indexed() && !nest_.is_read_again;
      for (const Nest::Value& value : nest_.values())
        adds = adds || (value.kind == Kind::kLoad && value.location.operand.index == location.operand.index);
    }
    is_fresh_ = is_fresh_ && !adds;
    for (size_t track = 0; adds && track < tracks_.affine(); ++track) is_slow = is_slow || !is_near(track);
    whole_lanes_ = in_lanes && (computes || !is_slow) ? whole_lanes(b_, nest_.widest()) : 1;
    choice_.lanes = lanes_ = whole_lanes_;
    choice_.over = "elements";
  }

  // Threads share the first axis whose iterations are independent. What one thread takes at once has constant lengths.
  void choose_threads() {
    while (range_axis_ < axes_.size() && axes_[range_axis_].kind != AxisKind::kParallel) ++range_axis_;
    const bool may_split = range_axis_ < axes_.size() && nest_.work > 0 && !nest_.stores().empty();
    if (range_axis_ == axes_.size()) range_axis_ = 0;
    if (!may_split) return;
    Dim others = 1;
    for (size_t i = 0; i < axes_.size(); ++i)
      if (i != range_axis_) others = others * axes_[i].length;
    grain_ = others.is_known()
                 ? Dim(b_.target().grain_of_work() / (nest_.work * std::max<int64_t>(others.value(), 1)) + 1)
                 : floor_div(Dim(b_.target().grain_of_work() / nest_.work), max(others, 1)) + 1;
    const Dim& length = axes_[0].length;
    is_one_piece_ = axes_.size() == 1 && nest_.bounds.empty() && whole_lanes_ > 1 && length.is_known() &&
                    length.value() <= grain_.value() && length.value() <= kSmallVectors * whole_lanes_;
  }

  // Does a vector load gather its lanes? Such loads wait for all pending non-temporal stores. The library's functions
  // gather from tables too.
  bool may_gather() const {
    for (const Nest::Value& value : nest_.values())
      if (value.kind == Kind::kPosition || value.location.is_indexed() ||
          (bool(value.term) && calls_library(value.term, b_.target())))
        return true;
    for (size_t track = 0; track < tracks_.affine(); ++track)
      if (!is_near(track)) return true;
    return false;
  }

  // Are the elements of a vector one element, or side by side?
  bool is_near(size_t track) const {
    return axes_.back().strides[track].is(0) || tracks_.is_contiguous(track, axes_.back());
  }

  // All loops. Where more bytes are touched than fit in the caches, stores are non-temporal: an ordinary store reads
  // its line from memory first. Where fewer, but more than fit in the first cache, the lines are prefetched, if the
  // target gains from that.
  void all_loops() {
    using Stores = ScheduleChoice::Stores;
    int64_t bytes = 0;  // that an element takes
    auto count = [&](size_t track, const Location& location) {
      if (track < tracks_.affine() &&
          std::any_of(axes_.begin(), axes_.end(), [&](const LoopAxis& a) { return !a.strides[track].is(0); }))
        bytes += static_cast<int64_t>(size_of(location.operand.type.dtype));
    };
    for (size_t v = 0; v < nest_.values().size(); ++v)
      if (nest_.values()[v].kind == Kind::kLoad) count(tracks_.of_value(v), nest_.values()[v].location);
    for (size_t s = 0; s < nest_.stores().size(); ++s) count(tracks_.of_store(s), nest_.stores()[s].location);
    Dim elements = 1;
    for (const LoopAxis& axis : axes_) elements = elements * axis.length;
    const MemoryLimits& limits = b_.target().memory;
    const auto loops_of_all = [&](int load_lines, int store_lines) {
      load_lines_ = load_lines;
      store_lines_ = store_lines;
      loops(0, tracks_.firsts());
    };
    const auto non_temporal = [&] { code_.non_temporal([&] { loops_of_all(limits.load_prefetch_lines, 0); }); };
    const bool is_large = !elements.is_known() || elements.value() * bytes > b_.target().first_cache_bytes;
    const int store_lines = is_fresh_ && lanes_ > 1 && is_large ? limits.store_prefetch_lines : 0;
    const auto temporal = [&] { loops_of_all(0, store_lines); };
    choice_.stores = store_lines > 0 ? Stores::kPrefetched : Stores::kCached;
    if (b_.non_temporal_threshold() == 0 || !is_fresh_ || lanes_ == 1 || bytes == 0 || may_gather()) return temporal();
    // A line that rows share is written in parts: past the caches each of them waits for memory.
    const Dim row = axes_.size() > 1 ? axes_.back().length : Dim(lanes_);
    if (row.is_known() && row.value() % lanes_ != 0) return temporal();
    const int64_t cached = b_.non_temporal_threshold() / bytes;
    if (elements.is_known()) {
      if (elements.value() <= cached) return temporal();
      choice_.stores = Stores::kNonTemporal;
      return non_temporal();
    }
    choice_.stores = Stores::kByLength;
    Term is_long = b_.length(elements) > Term(cached);
    if (!row.is_known()) is_long = is_long && b_.length(row) % Term(lanes_) == Term(0);
    code_.if_(is_long, non_temporal, temporal);
  }

  // ---- loops -------------------------------------------------------------------------------------------------------

  // Over axis `depth` and those inside it. `offsets`: each track's element so far.
  void loops(size_t depth, const std::vector<Term>& offsets) {
    const bool is_range = depth == range_axis_ && !is_one_piece_;
    const Term first = is_range ? b_.begin() : Term(0), last = is_range ? b_.end() : b_.length(axes_[depth].length);
    if (depth + 1 < axes_.size()) {
      code_.loop(str("i", depth), first, last, 1, LoopMark::kSequential, [&](Term i) {
        std::vector<Term> inside;
        for (size_t k = 0; k < offsets.size(); ++k)
          inside.push_back(code_.let(str("at", k), offsets[k] + i * b_.length(axes_[depth].strides[k])));
        loops(depth + 1, inside);
      });
      return;
    }
    values_.assign(nest_.values().size(), {});
    compute(false, {.at = offsets, .inner = &axes_.back()});
    const std::vector<Term> outside = values_;
    const auto part = [&](bool is_inside) {
      return [&, is_inside](const Term& i, const Term& count) {
        values_ = outside;
        const LocationInLoops here{offsets, &axes_.back(), i, &axes_.back(), lanes_, count, is_inside};
        compute(true, here);
        store_all(here);
      };
    };
    if (!nest_.bounds.empty()) {
      std::vector<size_t> bounds(nest_.bounds.size());
      std::iota(bounds.begin(), bounds.end(), size_t{0});
      const auto [low, high] = tracks_.inside(b_, bounds, axes_.back(), offsets, first, last);
      choice_.tail = lanes_ > 1 ? ScheduleChoice::Tail::kMasked : ScheduleChoice::Tail::kNone;
      each_vector(code_, "i", first, low, lanes_, {}, part(false));
      if (stores_inside()) each_vector(code_, "i", low, high, lanes_, {}, part(true));
      each_vector(code_, "i", high, last, lanes_, {}, part(false));
      return;
    }
    const auto body = part(true);
    if (has_small_rest() || (is_one_piece_ && axes_[0].length.value() % lanes_ == 0 && has_few_vectors()))
      return small_loop(body);
    if (lanes_ > 1 && !(axes_[depth].length.is_known() && axes_[depth].length.value() % lanes_ == 0))
      choice_.tail = ScheduleChoice::Tail::kMasked;
    each_vector(code_, "i", first, last, lanes_, known_length(axes_[depth].length), body);
  }

  bool stores_inside() const {
    return std::any_of(nest_.stores().begin(), nest_.stores().end(),
                       [](const Nest::Store& store) { return !store.is_outside; });
  }

  // May the rest of a short loop be one or two narrower vectors? The next loop that reads it then reads whole vectors
  // that were stored as such, and waits for no masked store.
  bool has_small_rest() const {
    if (!is_one_piece_ || nest_.values().size() > kSmallBody) return false;
    const int pieces = std::popcount(static_cast<uint64_t>(axes_[0].length.value() % lanes_));
    return pieces == 1 || pieces == 2;
  }

  // Are there so few whole vectors that each has code of its own? Where the kernel is the body of a loop and loads what
  // the iteration before stored, compilers then keep that in registers; they do not where it stores in an inner loop.
  bool has_few_vectors() const {
    const int64_t vectors = axes_[0].length.value() / whole_lanes_;
    return vectors <= kFewVectors && vectors * static_cast<int64_t>(nest_.values().size()) <= kFewValues;
  }

  void small_loop(const std::function<void(const Term&, const Term&)>& body) {
    const int64_t length = axes_[0].length.value();
    int64_t at = length / lanes_ * lanes_;
    if (has_few_vectors())
      for (int64_t i = 0; i < at; i += lanes_) body(Term(i), {});
    else
      code_.loop("i", 0, Term(at), Term(lanes_), LoopMark::kVector, [&](Term i) { body(i, {}); });
    for (lanes_ /= 2; at < length; lanes_ /= 2) {
      if (at + lanes_ > length) continue;
      body(Term(at), {});
      at += lanes_;
    }
    lanes_ = whole_lanes_;
    choice_.tail = ScheduleChoice::Tail::kNarrower;
  }

  // The values of the nest in order, which vary along the innermost loop or do not.
  void compute(bool varying, const LocationInLoops& here) {
    for (size_t v = 0; v < nest_.values().size(); ++v)
      if (varies_[v] == varying) {
        const Nest::Value& value = nest_.values()[v];
        if (varying && load_lines_ > 0 && value.kind == Kind::kLoad && !value.location.is_indexed())
          prefetch(value.location, tracks_.of_value(v), here.element(b_, tracks_.of_value(v)), here, load_lines_,
                   Prefetch::kL1);
        tracks_.compute(b_, v, here, varies_, values_);
      }
  }

  void store_all(const LocationInLoops& here) {
    for (size_t s = 0; s < nest_.stores().size(); ++s) {
      if (nest_.stores()[s].is_outside && here.is_inside) continue;
      if (store_lines_ > 0)
        prefetch(nest_.stores()[s].location, tracks_.of_store(s), tracks_.target(b_, s, here, values_), here,
                 store_lines_, Prefetch::kWrite);
      tracks_.store(b_, s, here, bound(nest_, nest_.stores()[s].value, values_), values_);
    }
  }

  // The cache line so many lines behind a vector. No more than two such vectors lie in a line.
  void prefetch(const Location& location, size_t track, const Term& at, const LocationInLoops& here, int ahead,
                Prefetch kind) {
    constexpr int kLine = 64;  // bytes
    const auto size = static_cast<int>(size_of(location.operand.type.dtype));
    if (static_cast<bool>(here.count) || !tracks_.is_contiguous(track, axes_.back()) || lanes_ * size < kLine / 2)
      return;
    // Of pairs there are two vectors.
    const int vector = location.pair == Location::Pair::kSecond ? lanes_ - 1 : 0;
    b_.prefetch(location.operand, at + Term(ahead * kLine / size + vector), kind);
  }

  static constexpr int64_t kSmallVectors = 16;  // a loop of no more is worth a tail of its own
  static constexpr size_t kSmallBody = 24;      // values of a body that may be there several times
  static constexpr int64_t kFewVectors = 4;     // that are written out one by one,
  static constexpr int64_t kFewValues = 48;     // with so many values of all of them together

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  Tracks tracks_;
  std::vector<LoopAxis> axes_;
  std::vector<bool> varies_;
  size_t range_axis_ = 0;
  Dim grain_ = 0;
  bool is_one_piece_ = false;
  int load_lines_ = 0, store_lines_ = 0;  // that are prefetched ahead of loads and stores
  bool is_fresh_ = true;                  // what is stored is read neither before nor after
  int whole_lanes_ = 1, lanes_ = 1;
  ScheduleChoice choice_;
  std::vector<Term> values_;
};

}  // namespace

void schedule_elements(StepBuilder& b, const Nest& nest, std::string name, std::string comment) {
  const Tracks tracks(nest);
  const std::optional<SquareAxes> square = square_axes(b, nest, tracks, collapse(tracks.axes()));
  if (square && nest.bounds.empty()) return schedule_squares(b, nest, *square, std::move(name), std::move(comment));
  ElementLoops(b, nest).run(std::move(name), std::move(comment));
}

}  // namespace thtrain::kernel
