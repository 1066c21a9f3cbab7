// Rows on a device. One thread takes a row where neighbouring rows lie side by side, where rows are short, and where
// something is checked for each element; else a warp takes a row of up to 1024 elements, and a block a longer one. A
// thread combines every 32nd, or 256th, element, or piece of elements side by side; then the threads combine what they
// have in a tree. Few long rows are cut in parts (device_row_parts.h).
#include <algorithm>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/schedule/device_pieces.h"
#include "compiler/kernel/schedule/device_row_parts.h"
#include "compiler/kernel/schedule/device_row_threads.h"

namespace thtrain::kernel {
namespace {

using Kind = Nest::Value::Kind;

constexpr int64_t kRowOfThread = 4;   // elements of a row that is not worth a warp
constexpr int64_t kRowOfWarp = 1024;  // and a block
constexpr int kWarpsOfRows = 4;       // of a block in which each has its row
constexpr int64_t kKeptBytes = 128;   // of a thread's part of a row that it keeps for the next loop over it
constexpr int64_t kLoadWork = 64;     // of an element that the next loop would load anew

class DeviceRows {
 public:
  DeviceRows(StepBuilder& b, const Nest& nest, bool may_be_cut)
      : b_(b),
        code_(b.code()),
        nest_(nest),
        tracks_(nest),
        plan_(nest, tracks_),
        parts_(b, nest, plan_),
        in_lanes_(nest.values().size()) {
    for (size_t v = 0; v < nest.values().size(); ++v) varies_.push_back(plan_.varies(v));
    for (LoopAxis& axis : tracks_.axes())
      (axis.kind == AxisKind::kReduce ? reduced_ : kept_).push_back(std::move(axis));
    kept_ = collapse(kept_);
    reduced_ = collapse(reduced_);
    count_ = product_of(reduced_);
    warp_ = b.target().device.warp;
    choose_threads();
    threads_of_row_.set_count(of_row_);
    if (may_be_cut && of_row_ != warp_) parts_.cut(product_of(kept_), count_, of_row_);
    if (parts_.are_there() && of_row_ == 1) threads_ = threads_for(b_, product_of(kept_) * parts_.count());
    if (!parts_.are_there() && of_row_ > 1 && count_.is_known()) of_thread_ = (count_.value() + of_row_ - 1) / of_row_;
    if (of_thread_ > 0 && of_thread_ * std::max<int64_t>(static_cast<int64_t>(nest.widest()), 4) <= kKeptBytes)
      plan_.cache_rows([&](size_t v) { return of_thread_ * static_cast<int64_t>(size_of(value(v).variable.dtype())); },
                       [](size_t) { return kLoadWork; });
    choose_width();
  }

  void run(std::string name, std::string comment) {
    for (const Nest::Value& now : nest_.values())
      if (now.kind == Kind::kReduction && now.how->no_elements) {
        check_elements(b_, *now.how, reduced_, kept_);
        break;
      }
    if (parts_.are_there()) parts_.begin();
    declare_parts();
    for (size_t v : plan_.cached())
      own_.emplace_back(v, code_.local_array("own", {value(v).variable.dtype(), 1, 0}, of_thread_).node().name);
    const Dim rows = product_of(kept_) * parts_.count();
    const int64_t of_block = threads_ / of_row_;
    lane_ = of_row_ == 1 ? Term(0) : of_row_ == threads_ ? b_.thread() : code_.let("lane", b_.thread() % Term(warp_));
    const Term in_block = of_row_ == 1          ? b_.thread()
                          : of_row_ == threads_ ? Term(0)
                                                : code_.let("warp", b_.thread() / Term(warp_));
    const Term number = code_.let("row", of_block == 1 ? b_.block() : b_.block() * Term(of_block) + in_block);
    const auto row_of = [&] { row_or_part(number); };
    if (of_block == 1 || (rows.is_known() && rows.value() > 0 && rows.value() % of_block == 0))
      row_of();
    else if (!rows.is(0))
      code_.if_(number < b_.length(rows), row_of);
    b_.finish_device_kernel(
        std::move(name), std::move(comment), blocks_for(rows, of_block), threads_,
        str("a ",
            of_row_ == 1       ? "thread"
            : of_row_ == warp_ ? "warp"
                               : "block",
            parts_.are_there() ? " for each part of a row" : " for each row", has_two_levels_ ? ", on two levels" : "",
            width_ > 1 ? str(", ", width_, " elements at once") : ""));
    if (parts_.are_there()) parts_.combine();
  }

 private:
  const Nest::Value& value(size_t v) const { return nest_.values()[v]; }

  // ---- geometry ----------------------------------------------------------------------------------------------------

  // A thread that finds a broken check leaves the kernel, and would be missed by those that wait for it.
  bool checks_elements() const {
    return std::any_of(nest_.values().begin(), nest_.values().end(), [](const Nest::Value& value) {
      return value.kind == Kind::kRequire || (value.kind == Kind::kPosition && value.index->check);
    });
  }
  bool reduces_pairs() const {
    return std::any_of(nest_.values().begin(), nest_.values().end(), [](const Nest::Value& value) {
      return value.kind == Kind::kReduction && value.how->combine_pairs;
    });
  }

  // Are more operands contiguous over neighbouring rows than along a row? What one of the two axes does not move is
  // small, and decides where nothing else does, or where a warp has a whole row at once.
  bool lies_across() const {
    if (kept_.empty() || reduced_.empty()) return false;
    const int whole = count_.is_known() && count_.value() <= warp_ ? 1 : 16;
    int along = 0, across = 0;
    const auto count = [&](size_t track) {
      if (track == Tracks::kNone) return;
      const bool is_small = kept_.back().strides[track].is(0) || reduced_.back().strides[track].is(0);
      along += tracks_.is_contiguous(track, reduced_.back()) ? (is_small ? 1 : whole) : 0;
      across += tracks_.is_contiguous(track, kept_.back()) ? (is_small ? 1 : whole) : 0;
    };
    for (size_t v = 0; v < nest_.values().size(); ++v)
      if (value(v).kind == Kind::kLoad && plan_.varies(v)) count(tracks_.of_value(v));
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (plan_.stores_elements(s)) count(tracks_.of_store(s));
    return across > along;
  }

  void choose_threads() {
    const bool is_known = count_.is_known();
    if (lies_across() || checks_elements() || reduces_pairs() || (is_known && count_.value() <= kRowOfThread)) {
      of_row_ = 1;
      threads_ = threads_for(b_, product_of(kept_));
    } else if (is_known && count_.value() <= kRowOfWarp) {
      of_row_ = warp_;
      const Dim rows = product_of(kept_);
      threads_ = warp_ * (rows.is_known() ? static_cast<int>(std::clamp<int64_t>(rows.value(), 1, kWarpsOfRows))
                                          : kWarpsOfRows);
      if (threads_ == warp_) of_row_ = threads_;
    } else {
      of_row_ = threads_ = kDeviceThreads;
    }
  }

  // Elements that the threads of a row combine before the second level takes over; is there one?
  int64_t run_elements() const { return kReduceBlock * of_row_; }
  bool has_total(const Accumulation& how) const {
    return how.rounds && is_float(how.dtype) && !how.combine_pairs &&
           !(part().is_known() && part().value() <= run_elements());
  }

  const Dim& part() const { return parts_.are_there() ? parts_.length() : count_; }

  // ---- rows --------------------------------------------------------------------------------------------------------

  // Neighbouring threads have neighbouring rows where a thread takes one.
  void row_or_part(const Term& number) {
    if (!parts_.are_there()) return row(unravelled(b_, kept_, tracks_.firsts(), number));
    const Term rows = b_.length(product_of(kept_));
    const Term row_number = is_constant(rows, 1) ? Term(0) : code_.let("row", number % rows),
               part = is_constant(rows, 1) ? number : code_.let("part", number / rows);
    const std::vector<Term> at = kept_.empty() ? tracks_.firsts() : unravelled(b_, kept_, tracks_.firsts(), row_number);
    first_ = code_.let("first", part * b_.length(parts_.length()));
    const Term end = code_.let("end", first_ + b_.length(parts_.length()));
    last_ = code_.let("last", select(end < b_.length(count_), end, b_.length(count_)));
    values_.assign(nest_.values().size(), {});
    between_loops(0, at);
    row_loop(0, at);
    by_one([&] { parts_.store(values_, row_number, part); });
  }

  void row(const std::vector<Term>& at) {
    values_.assign(nest_.values().size(), {});
    between_loops(0, at);
    for (size_t p = 0; p < plan_.loops(); ++p) {
      row_loop(p, at);
      between_loops(p + 1, at);
    }
    bool stores_rows = false, loads_rows = false;
    for (size_t s = 0; s < nest_.stores().size(); ++s) stores_rows = stores_rows || !plan_.stores_elements(s);
    for (size_t v = 0; v < nest_.values().size(); ++v)
      loads_rows = loads_rows || (!plan_.varies(v) && value(v).kind == Kind::kLoad);
    if (!stores_rows) return;
    // What one thread stores may lie where the others still read.
    if (of_row_ > 1 && loads_rows) code_.barrier(of_row_ > warp_ ? Scope::kBlock : Scope::kWarp);
    by_one([&] {
      for (size_t s = 0; s < nest_.stores().size(); ++s)
        if (!plan_.stores_elements(s))
          tracks_.store(b_, s, {.at = at}, bound(nest_, nest_.stores()[s].value, values_), values_);
    });
  }

  // By the first thread of the row.
  void by_one(const std::function<void()>& store) {
    if (of_row_ == 1) return store();
    code_.if_(lane_ == Term(0), store);
  }

  void between_loops(size_t loops, const std::vector<Term>& at) {
    for (size_t v = 0; v < nest_.values().size(); ++v)
      if (!plan_.varies(v) && plan_.phase(v) == loops && value(v).kind != Kind::kReduction)
        tracks_.compute(b_, v, {.at = at}, in_lanes_, values_);
  }

  void row_loop(size_t p, const std::vector<Term>& at) {
    std::vector<Accumulator> accumulators;
    std::vector<std::pair<size_t, Best>> extrema;
    bool two_levels = false;
    for (size_t v : plan_.reductions(p)) {
      if (value(v).is_second) continue;
      if (value(v).how->better) {
        const DType dtype = value_dtype(v);
        extrema.emplace_back(v, Best{code_.var("best", is_float(dtype) ? constant(dtype, 0) : constant_int(dtype, 0)),
                                     code_.var("where", b_.length(count_))});
        continue;
      }
      Accumulator a{v, &*value(v).how, value(v).term.dtype(), 1, {}};
      a.parts.push_back(code_.var("acc", a.identity()));
      if (a.how->combine_pairs) a.seconds.push_back(code_.var("acc", constant_int(a.how->dtype, 0)));
      if (has_total(*a.how)) {
        a.total = code_.var("total", a.how->identity(wide_of(a.how->dtype)));
        two_levels = true;
      }
      accumulators.push_back(std::move(a));
    }
    has_two_levels_ = has_two_levels_ || two_levels;
    const Term begin = parts_.are_there() ? first_ : Term(0), count = parts_.are_there() ? last_ : b_.length(count_);
    std::optional<DevicePieces> pieces;
    if (width_ > 1) add_loop(pieces.emplace(b_, nest_, tracks_, reduced_[0], varies_, width_), p);
    const Term are_aligned = pieces ? code_.let("are_aligned", pieces->are_aligned(at)) : Term();
    const auto some = [&](const Term& from, const Term& last) {
      if (pieces) return in_pieces(*pieces, p, at, are_aligned, from, last, accumulators);
      const Term first = from + lane_;
      if (!own_.empty())  // in registers: their numbers are known where the loop is unrolled
        return code_.loop("k", 0, of_thread_, 1, LoopMark::kUnrolled, [&](const Term& k) {
          const Term j = code_.let("j", first + k * Term(of_row_));
          code_.if_(j < last, [&] { element(p, at, j, accumulators, extrema, k); });
        });
      code_.loop("j", first, last, Term(of_row_), LoopMark::kSequential,
                 [&](const Term& j) { element(p, at, j, accumulators, extrema); });
    };
    if (two_levels)
      code_.loop("run", begin, count, Term(run_elements()), LoopMark::kSequential, [&](const Term& first) {
        const Term stop = code_.let("stop", first + Term(run_elements()));
        some(first, code_.let("last", select(stop < count, stop, count)));
        for (Accumulator& a : accumulators)
          if (static_cast<bool>(a.total)) a.flush(code_, true);
      });
    else
      some(begin, count);
    for (Accumulator& a : accumulators) {
      if (a.how->combine_pairs) {
        const TermPair pair = a.combined_pair(code_, true);
        values_[a.value] = code_.let(value(a.value).name, pair.first);
        values_[a.value + 1] = code_.let(value(a.value + 1).name, pair.second);
        continue;
      }
      const Term own = static_cast<bool>(a.total) ? a.total : a.parts[0];
      const auto combine = [&](const Term& x, const Term& y) { return code_.let("part", a.how->combine(x, y)); };
      const Term all = threads_of_row_.combined(a.value, own, combine);
      values_[a.value] = parts_.are_there() ? all : code_.let(value(a.value).name, cast(all, a.how->dtype));
    }
    for (const auto& [v, best] : extrema)
      values_[v] = threads_of_row_.where_best(v, *value(v).how, best, b_.length(count_));
  }

  // One width for all loops, so that a thread has the same elements in each: what it stores may lie where it loads.
  // There are pieces where there are enough for the threads of a row.
  void choose_width() {
    const auto is_best = [](const Nest::Value& value) { return value.how && value.how->better; };
    if (of_row_ == 1 || !plan_.cached().empty() || reduced_.size() != 1 || std::ranges::any_of(nest_.values(), is_best))
      return;
    DevicePieces all(b_, nest_, tracks_, reduced_[0], varies_);
    for (size_t p = 0; p < plan_.loops(); ++p) add_loop(all, p);
    width_ = all.choose_width();
    if (part().is_known() && part().value() < width_ * of_row_) width_ = 1;
  }
  void add_loop(DevicePieces& pieces, size_t p) const {
    for (size_t v : plan_.needed(p)) pieces.add_value(v);
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (p + 1 == plan_.loops() && plan_.stores_elements(s)) pieces.add_store(s);
  }

  // Pieces by the threads in turn, of a row that begins anywhere: only one whose address is a multiple of a piece's
  // size is loaded at once. Then the elements that are left, fewer than a piece has, by a thread each.
  void in_pieces(DevicePieces& pieces, size_t p, const std::vector<Term>& at, const Term& are_aligned,
                 const Term& begin, const Term& last, std::vector<Accumulator>& accumulators) {
    const Term width = pieces.width();
    code_.loop("j", begin + lane_ * width, last - (width - Term(1)), width * Term(of_row_), LoopMark::kSequential,
               [&](const Term& j) {
                 const std::vector<Term> here = unravelled(b_, reduced_, at, j);
                 pieces.declare();
                 pieces.load(here, values_, are_aligned);
                 code_.loop("k", 0, width, 1, LoopMark::kUnrolled,
                            [&](const Term& k) { element(p, at, j + k, accumulators, {}, k, &pieces); });
                 pieces.store(here, values_, are_aligned);
               });
    if (count_.is_known() && count_.value() % pieces.width() == 0) return;  // so do parts
    const Term rest = code_.let("rest", begin + (last - begin) / width * width + lane_);
    code_.if_(rest < last, [&] { element(p, at, rest, accumulators, {}); });
  }

  // What loop `p` does with element `j` of the row; element k of the thread's own part of it, or of a piece.
  void element(size_t p, const std::vector<Term>& at, const Term& j, std::vector<Accumulator>& accumulators,
               const std::vector<std::pair<size_t, Best>>& extrema, const Term& k = 0,
               const DevicePieces* pieces = nullptr) {
    const LocationInLoops here{.at = unravelled(b_, reduced_, at, j)};
    std::vector<Term> values = values_;
    for (const auto& [v, array] : own_)
      if (plan_.read(p).count(v))
        values[v] = code_.let("kept", kernel::load(array, value(v).variable.dtype(), 1, k, 1));
    for (size_t v : plan_.needed(p)) {
      if (pieces && pieces->loads(v))
        values[v] = pieces->loaded(v, k);
      else
        tracks_.compute(b_, v, here, in_lanes_, values);
      for (const auto& [own, array] : own_)
        if (own == v) code_.store(array, k, 1, values[v]);
    }
    for (Accumulator& a : accumulators) {
      const Term x = bound(nest_, value(a.value).term, values);
      if (a.how->combine_pairs)
        a.add_pair(code_, 0, {x, bound(nest_, value(a.value).other, values)}, {});
      else
        a.add(code_, 0, x, {});
    }
    for (const auto& [v, best] : extrema) {
      const Term x = code_.let("x", cast(bound(nest_, value(v).term, values), best.value.dtype()));
      code_.if_(best.where == b_.length(count_) || value(v).how->better(best.value, x), [&, &best = best] {
        code_.assign(best.value, x);
        code_.assign(best.where, j);
      });
    }
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (p + 1 == plan_.loops() && plan_.stores_elements(s)) {
        const Term x = bound(nest_, nest_.stores()[s].value, values);
        if (pieces)
          pieces->keep(s, k, x);
        else
          tracks_.store(b_, s, here, x, values);
      }
  }

  // ---- among the threads of a row ----------------------------------------------------------------------------------

  void declare_parts() {
    for (size_t v = 0; v < nest_.values().size(); ++v) {
      if (value(v).kind != Kind::kReduction) continue;
      const Accumulation& how = *value(v).how;
      threads_of_row_.declare(v,
                              how.better       ? value_dtype(v)
                              : has_total(how) ? wide_of(how.dtype)
                                               : how.dtype,
                              static_cast<bool>(how.better));
    }
  }
  DType value_dtype(size_t v) const { return is_bool(value(v).term.dtype()) ? DType::kUInt8 : value(v).term.dtype(); }

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  Tracks tracks_;
  RowPlan plan_;
  RowParts parts_;
  std::vector<bool> in_lanes_;  // none: there are no lanes of vectors
  std::vector<bool> varies_;    // values along the row
  int64_t width_ = 1;           // elements of a piece
  std::vector<LoopAxis> kept_, reduced_;
  Dim count_ = 1;  // elements of a row
  int warp_ = 32, of_row_ = 1, threads_ = 1;
  bool has_two_levels_ = false;
  Term first_, last_;                                // elements of the part
  int64_t of_thread_ = 0;                            // elements of a whole row that a thread has, where that is known
  std::vector<std::pair<size_t, std::string>> own_;  // by value: the thread's part of a row, for later loops
  Term lane_;                                        // the thread's number among those of its row
  RowThreads threads_of_row_{b_};
  std::vector<Term> values_;  // of the row
};

}  // namespace

void schedule_device_rows(StepBuilder& b, const Nest& nest, std::string name, std::string comment) {
  if (schedule_device_columns(b, nest, name, comment)) return;
  DeviceRows(b, nest, true).run(std::move(name), std::move(comment));
}

void schedule_whole_device_rows(StepBuilder& b, const Nest& nest, std::string name, std::string comment) {
  DeviceRows(b, nest, false).run(std::move(name), std::move(comment));
}

}  // namespace thtrain::kernel
