// Nests with reductions and code between them: what is one value for a row is computed between loops over its elements.
//
//   m = max(x, 1); e = exp(x - m); y = e / sum(e, 1)
//
//   loop 0: most = max(most, x[j])
//   loop 1: e[j] = exp(x[j] - most), total = total + e[j]
//   loop 2: y[j] = e[j] / total
//
// Vectors run along the row, or over neighbouring rows where only those are contiguous or where rows are short.
#include <algorithm>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/locations.h"
#include "compiler/kernel/schedule/row_plan.h"

namespace thtrain::kernel {
namespace {

using Kind = Nest::Value::Kind;

constexpr int64_t kShortAxis = 32;     // elements: vectors over rows are faster
constexpr int64_t kUnrolled = 8;       // vectors of a row that stay in registers
constexpr size_t kUnrolledCode = 64;   // operations, and not more code than this
constexpr int64_t kLightWork = 8;      // operations of an element: several accumulators hide their latency
constexpr int64_t kRunOverRows = 128;  // elements that a lane combines before the second level takes over
constexpr size_t kSumsAtOnce = 8;      // accumulators of the rows that one loop goes through

// Where a loop is in a row.
struct Position {
  std::vector<Term> at;  // each track's element without the innermost reduced axis
  Term j;                // along that axis
  Term count;            // lanes that exist, of vectors along the row; empty: all
  int accumulator;
};

class RowLoops {
 public:
  RowLoops(StepBuilder& b, const Nest& nest)
      : b_(b), code_(b.code()), nest_(nest), tracks_(nest), plan_(nest, tracks_) {
    std::vector<LoopAxis> axes = tracks_.axes();
    for (size_t i = 0; i < axes.size(); ++i)
      (nest.axes()[i].kind == AxisKind::kReduce ? reduced_ : kept_).push_back(std::move(axes[i]));
    kept_ = collapse(kept_);
    reduced_ = collapse(reduced_);
    if (reduced_.empty()) reduced_.push_back({1, Dims(tracks_.size(), Dim(0)), AxisKind::kReduce});
    count_ = product_of(reduced_);
    lanes_ = whole_lanes(b, widest(false));
    choose_direction();
    // Over rows, per-row scalars are vectors too.
    if (over_rows_) lanes_ = whole_lanes(b, widest(true));
    const LoopAxis& lane_axis = over_rows_ ? kept_.back() : reduced_.back();
    in_lanes_ = tracks_.varying(lane_axis);
    if (!over_rows_ && count_.is_known() && reduced_.size() == 1) {
      vector_count_ = (count_.value() + lanes_ - 1) / lanes_;
      unrolled_ = vector_count_ <= kUnrolled &&
                  static_cast<size_t>(vector_count_) * (nest.operations().size() - 1) <= kUnrolledCode;
    }
    if (!unrolled_ && count_.is_known() && reduced_.size() == 1)
      plan_.cache_rows(
          [&](size_t v) { return cached_elements() * static_cast<int64_t>(size_of(value(v).variable.dtype())); },
          [&](size_t v) { return load_work(v); });
    choose_rows_at_once();
  }

  void run(std::string name, std::string comment) {
    for (const Nest::Value& now : nest_.values())
      if (now.kind == Kind::kReduction && now.how->no_elements) {
        check_elements(b_, *now.how, reduced_, kept_);
        break;
      }
    for (size_t v : plan_.cached())
      cached_.emplace_back(
          v, code_.local_array("cached_row", {value(v).variable.dtype(), 1, 0}, cached_elements()).node().name);
    rows(0, tracks_.firsts());
    Dim range = kept_.empty() ? Dim(1) : kept_[0].length, each = count_;
    for (size_t i = 1; i < kept_.size(); ++i) each = each * kept_[i].length;
    Dim grain = kept_.empty() ? Dim(0) : floor_div(Dim(b_.target().grain_of_work() / nest_.work), max(each, 1)) + 1;
    choice_.lanes = lanes_;
    choice_.over = over_rows_ ? "rows" : "the row";
    if (lanes_ > 1) comment += over_rows_ ? ": vectors over rows" : ": vectors along rows";
    b_.finish_kernel(std::move(name), std::move(comment), range, grain, over_rows_ && kept_.size() == 1 ? lanes_ : 1,
                     choice_.text());
  }

 private:
  const Nest::Value& value(size_t v) const { return nest_.values()[v]; }

  // ---- geometry ----------------------------------------------------------------------------------------------------

  bool moves_along_row(size_t track) const {
    return std::any_of(reduced_.begin(), reduced_.end(),
                       [&](const LoopAxis& axis) { return !axis.strides[track].is(0); });
  }

  // Bytes of the widest element that is computed with, per-row scalars included or not.
  size_t widest(bool scalars_too) const {
    size_t out = 1;
    for (size_t v = 0; v < nest_.values().size(); ++v) {
      const Nest::Value& now = value(v);
      if (now.kind == Kind::kPosition) continue;
      if (now.kind == Kind::kReduction || scalars_too || plan_.varies(v))
        out = std::max(out, now.kind == Kind::kLoad && !now.location.is_indexed()
                                ? size_of(now.location.operand.type.dtype)
                                : nest_.widest_of(v));
    }
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (scalars_too || plan_.stores_elements(s))
        out = std::max(out, size_of(nest_.stores()[s].location.operand.type.dtype));
    return out;
  }

  // Vectors run along the direction in which most operands are contiguous, of those that move in both.
  void choose_direction() {
    if (kept_.empty()) return;
    const LoopAxis& next = kept_.back();
    int along = 0, over = 0;
    auto count = [&](size_t track) {
      if (next.strides[track].is(0)) return;
      along += tracks_.is_contiguous(track, reduced_.back());
      over += tracks_.is_contiguous(track, next);
    };
    for (size_t v = 0; v < nest_.values().size(); ++v) {
      const Nest::Value& now = value(v);
      if (now.kind == Kind::kLoad && (now.location.is_indexed() || moves_along_row(tracks_.of_value(v))))
        count(tracks_.of_value(v));
    }
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (moves_along_row(tracks_.of_store(s))) count(tracks_.of_store(s));
    bool is_short = count_.is_known() && count_.value() <= kShortAxis;
    bool enough = !(next.length.is_known() && next.length.value() < lanes_);
    over_rows_ = over > along || (is_short && enough);
  }

  // Rows that only have sums are gone through side by side. Over rows more of each page is read before the next, which
  // pays where the caches have the operands; along rows what does not differ between them is loaded once.
  void choose_rows_at_once() {
    const bool is_one_loop = plan_.loops() == 1 && reduced_.size() == 1 && !unrolled_ && plan_.cached().empty();
    if (kept_.empty() || !is_one_loop || (count_.is_known() && count_.value() <= kShortAxis)) return;
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (plan_.stores_elements(s)) return;
    bool shares = false;
    Dim bytes = 0, elements = count_;
    for (const LoopAxis& axis : kept_) elements = elements * axis.length;
    for (size_t v : plan_.needed(0)) {
      if (value(v).kind != Kind::kLoad) continue;
      if (value(v).location.is_indexed()) return;
      const bool is_shared = kept_.back().strides[tracks_.of_value(v)].is(0);
      if (!is_shared) bytes = bytes + elements * static_cast<int64_t>(size_of(value(v).location.operand.type.dtype));
      shares = shares || is_shared;
    }
    if (over_rows_ && !(bytes.is_known() && bytes.value() <= b_.target().last_cache_bytes)) return;
    for (size_t v : plan_.reductions(0))
      if (value(v).how->combine_pairs) return;
    const size_t sums = plan_.reductions(0).size();
    if (sums == 0 || sums > kSumsAtOnce / 2 || (!over_rows_ && (!shares || parts_of(0) > 1))) return;
    rows_at_once_ = kSumsAtOnce / sums;
    if (rows_at_once_ * nest_.operations().size() > kUnrolledCode) rows_at_once_ = 1;
    if (const Dim& rows = kept_.back().length; rows.is_known() && rows.value() < step_of_rows()) rows_at_once_ = 1;
    choice_.at_once = static_cast<int>(rows_at_once_);
  }

  // Rows that one iteration goes through, where several are gone through side by side.
  int64_t step_of_rows() const { return static_cast<int64_t>(rows_at_once_) * (over_rows_ ? lanes_ : 1); }

  int64_t load_work(size_t v) const {
    if (value(v).location.is_indexed()) return lanes_;
    return !over_rows_ ? 0 : tracks_.is_contiguous(tracks_.of_value(v), kept_.back()) ? 1 : lanes_;  // a gather
  }

  int64_t cached_elements() const {
    return over_rows_ ? count_.value() * lanes_ : (count_.value() + lanes_ - 1) / lanes_ * lanes_;
  }

  // ---- rows --------------------------------------------------------------------------------------------------------

  void rows(size_t depth, const std::vector<Term>& at) {
    if (depth == kept_.size()) return row({at}, {});
    const LoopAxis& axis = kept_[depth];
    Term first = depth == 0 ? b_.begin() : Term(0), last = depth == 0 ? b_.end() : b_.length(axis.length);
    if (depth + 1 == kept_.size() && rows_at_once_ > 1) {
      const int64_t step = over_rows_ ? lanes_ : 1, all = step_of_rows();
      const Term whole = code_.let("whole", first + (last - first) / Term(all) * Term(all));
      code_.loop("i", first, whole, Term(all), LoopMark::kSequential, [&](Term i) {
        std::vector<std::vector<Term>> rows;
        for (size_t k = 0; k < rows_at_once_; ++k)
          rows.push_back(further(b_, at, axis, i + Term(static_cast<int64_t>(k) * step)));
        row(rows, {});
      });
      first = whole;
    }
    if (over_rows_ && depth + 1 == kept_.size())
      return each_vector(code_, "i", first, last, lanes_, known_length(axis.length), [&](Term i, Term group) {
        if (group) choice_.tail = ScheduleChoice::Tail::kMasked;
        row({further(b_, at, axis, i)}, group);
      });
    code_.loop(str("i", depth), first, last, 1, LoopMark::kSequential,
               [&](Term i) { rows(depth + 1, further(b_, at, axis, i)); });
  }

  const LoopAxis* lane_axis(bool of_element) const {
    return over_rows_ ? &kept_.back() : of_element ? &reduced_.back() : nullptr;
  }

  // One row, or one in each lane, of which `group` exist (empty: all); or several of these, in loops that they share.
  void row(const std::vector<std::vector<Term>>& rows, const Term& group) {
    group_ = group;
    rows_ = rows;
    values_of_.assign(rows.size(), std::vector<Term>(nest_.values().size()));
    elements_.clear();
    each_row([&](size_t k) { between_loops(0, rows[k]); });
    for (size_t p = 0; p < plan_.loops(); ++p) {
      row_loop(p);
      each_row([&](size_t k) { between_loops(p + 1, rows[k]); });
    }
    each_row([&](size_t k) {
      for (size_t s = 0; s < nest_.stores().size(); ++s) {
        if (plan_.stores_elements(s)) continue;
        tracks_.store(b_, s, {.at = rows[k], .across = lane_axis(false), .lanes = lanes_, .count = group},
                      bound(nest_, nest_.stores()[s].value, values_), values_);
      }
    });
  }

  // With values_ those of each row.
  void each_row(const std::function<void(size_t k)>& body) {
    for (size_t k = 0; k < values_of_.size(); ++k) {
      values_.swap(values_of_[k]);
      body(k);
      values_.swap(values_of_[k]);
    }
  }

  // Per-row scalars that can be computed once `loops` loops have run.
  void between_loops(size_t loops, const std::vector<Term>& at) {
    for (size_t v = 0; v < nest_.values().size(); ++v)
      if (!plan_.varies(v) && plan_.phase(v) == loops && value(v).kind != Kind::kReduction)
        tracks_.compute(b_, v, {.at = at, .across = lane_axis(false), .lanes = lanes_, .count = group_}, in_lanes_,
                        values_);
  }

  // ---- elements ----------------------------------------------------------------------------------------------------

  // Accumulators of each reduction of a loop.
  int parts_of(size_t p) const {
    int64_t work = 0;
    for (size_t operation : plan_.operations(p)) work += nest_.operations()[operation].work;
    return over_rows_ || work > kLightWork || plan_.reductions(p).empty() ? 1 : 4;
  }

  using Accumulators = std::vector<Accumulator>;

  void row_loop(size_t p) {
    const int parts = parts_of(p);
    int64_t run = over_rows_ ? kRunOverRows : kReduceBlock * parts * lanes_;
    bool is_long = !(count_.is_known() && count_.value() <= run);
    bool two_levels = false;
    std::vector<Accumulators> all(rows_.size());
    for (size_t k = 0; k < rows_.size(); ++k)
      for (size_t v : plan_.reductions(p)) {
        if (value(v).is_second) continue;
        all[k].push_back(accumulator(v, parts, is_long));
        two_levels = two_levels || is_known(all[k].back().total);
        choice_.accumulators = std::max(choice_.accumulators, parts);
      }
    choice_.two_levels = choice_.two_levels || two_levels;
    const auto body = [&](const Position& position) {
      each_row([&](size_t k) {
        Position here = position;
        if (rows_.size() > 1)
          here.at = rows_[k];  // which all reduced axes but the innermost would move: there are none
        element(p, here, all[k]);
      });
    };
    if (unrolled_)
      every_vector(rows_[0], body, parts);
    else
      loops(0, rows_[0], two_levels ? run : 0, parts, body, [&] {
        for (Accumulators& of_row : all)
          for (Accumulator& a : of_row)
            if (is_known(a.total)) a.flush(code_, !over_rows_);
      });
    each_row([&](size_t k) { take_results(all[k]); });
  }

  Accumulator accumulator(size_t v, int parts, bool is_long) {
    Accumulator a{v, &*value(v).how, value(v).term.dtype(), lanes_, {}};
    for (int i = 0; i < parts; ++i) {
      a.parts.push_back(code_.var("acc", a.identity()));
      if (a.how->combine_pairs) a.seconds.push_back(code_.var("acc", splat(constant_int(a.how->dtype, 0), lanes_)));
    }
    if (is_long && a.how->rounds && is_float(a.how->dtype)) {
      DType wide = over_rows_ ? a.how->dtype : wide_of(a.how->dtype);
      a.total = code_.var("total", splat(a.how->identity(wide), over_rows_ ? lanes_ : 1));
    }
    return a;
  }

  void take_results(Accumulators& of_row) {
    for (Accumulator& a : of_row) {
      if (a.how->combine_pairs) {
        const TermPair pair = a.combined_pair(code_, !over_rows_);
        values_[a.value] = code_.let(value(a.value).name, pair.first);
        values_[a.value + 1] = code_.let(value(a.value + 1).name, pair.second);
        continue;
      }
      Term result = is_known(a.total) ? cast(a.total, a.how->dtype) : a.combined(code_, !over_rows_);
      values_[a.value] = code_.let(value(a.value).name, result);
    }
  }

  // All vectors of a short row, unrolled.
  void every_vector(const std::vector<Term>& at, const std::function<void(const Position&)>& body, int parts) {
    elements_.resize(static_cast<size_t>(vector_count_));
    for (int64_t i = 0; i < vector_count_; ++i) {
      slot_ = static_cast<size_t>(i);
      int64_t left = count_.value() - i * lanes_;
      if (left < lanes_) choice_.tail = ScheduleChoice::Tail::kMasked;
      body({at, Term(i * lanes_), left < lanes_ ? Term(left) : Term(), static_cast<int>(i % parts)});
    }
  }

  // Loops over the reduced axes; `run` elements of the innermost one at a time (0: all), with `after_run` after each.
  void loops(size_t depth, const std::vector<Term>& at, int64_t run, int parts,
             const std::function<void(const Position&)>& body, const std::function<void()>& after_run) {
    const LoopAxis& axis = reduced_[depth];
    Term length = b_.length(axis.length);
    if (depth + 1 < reduced_.size()) {
      code_.loop(str("k", depth), length,
                 [&](Term k) { loops(depth + 1, further(b_, at, axis, k), run, parts, body, after_run); });
      return;
    }
    if (run == 0) return vectors(at, 0, length, parts, body);
    code_.loop("run", 0, length, Term(run), LoopMark::kSequential, [&](Term first) {
      Term left = code_.let("left", length - first);
      vectors(at, first, code_.let("n", select(left < Term(run), left, Term(run))), parts, body);
      after_run();
    });
  }

  // Elements first to first + n of the innermost reduced axis.
  void vectors(const std::vector<Term>& at, const Term& first, const Term& n, int parts,
               const std::function<void(const Position&)>& body) {
    if (over_rows_) {
      code_.loop("j", first, first + n, 1, LoopMark::kSequential, [&](Term j) { body({at, j, {}, 0}); });
      return;
    }
    const bool is_whole = count_.is_known() && count_.value() % lanes_ == 0 && reduced_.size() == 1;
    if (!is_whole) choice_.tail = ScheduleChoice::Tail::kMasked;
    each_accumulated(code_, n, parts, lanes_, is_whole ? std::optional<int64_t>(lanes_) : std::nullopt,
                     [&](const Term& j, const Term& count, int part) {
                       body({at, first + j, count, part});
                     });
  }

  // What loop `p` does at one position.
  void element(size_t p, const Position& position, Accumulators& accumulators) {
    const LocationInLoops here{position.at,     &reduced_.back(), position.j,
                               lane_axis(true), lanes_,           over_rows_ ? group_ : position.count};
    std::vector<Term> values = values_;
    if (unrolled_ && p > 0)
      for (size_t v = 0; v < values.size(); ++v)
        if (!is_known(values[v])) values[v] = elements_[slot_][v];
    const Term slot = over_rows_ ? position.j * Term(lanes_) : position.j;
    for (const auto& [v, array] : cached_)
      if (plan_.read(p).count(v))
        values[v] = code_.let("v_cached", kernel::load(array, value(v).variable.dtype(), lanes_, slot, 1));
    for (size_t v : plan_.needed(p)) {
      if (is_known(values[v])) continue;
      tracks_.compute(b_, v, here, in_lanes_, values);
      for (const auto& [cached, array] : cached_)
        if (cached == v) code_.store(array, slot, 1, splat(values[v], lanes_));
    }
    for (Accumulator& a : accumulators) {
      const auto part = static_cast<size_t>(position.accumulator);
      const Term x = bound(nest_, value(a.value).term, values);
      if (a.how->combine_pairs)
        a.add_pair(code_, part, {x, bound(nest_, value(a.value).other, values)}, position.count);
      else
        a.add(code_, part, x, position.count);
    }
    for (size_t o = 0; o < nest_.stores().size(); ++o)
      if (p + 1 == plan_.loops() && plan_.stores_elements(o))
        tracks_.store(b_, o, here, bound(nest_, nest_.stores()[o].value, values), values);
    if (unrolled_) elements_[slot_] = std::move(values);
  }

  static bool is_known(const Term& term) { return static_cast<bool>(term); }

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  Tracks tracks_;
  RowPlan plan_;
  std::vector<LoopAxis> kept_, reduced_;
  Dim count_ = 1;  // elements of a row
  int lanes_ = 1;
  bool over_rows_ = false;      // vectors over rows
  size_t rows_at_once_ = 1;     // or vectors of them
  bool unrolled_ = false;       // every vector of a row has values of its own
  std::vector<bool> in_lanes_;  // values that differ from lane to lane
  int64_t vector_count_ = 0;
  std::vector<std::pair<size_t, std::string>> cached_;  // cached values and their arrays
  ScheduleChoice choice_;

  Term group_;                                // rows that exist, in one vector over them
  std::vector<std::vector<Term>> rows_;       // where the rows begin that a loop goes through
  std::vector<std::vector<Term>> values_of_;  // and their values
  std::vector<Term> values_;                  // of the row
  std::vector<std::vector<Term>> elements_;   // of each position, if unrolled
  size_t slot_ = 0;
};

}  // namespace

void schedule_rows(StepBuilder& b, const Nest& nest, std::string name, std::string comment) {
  RowLoops(b, nest).run(std::move(name), std::move(comment));
}

}  // namespace thtrain::kernel
