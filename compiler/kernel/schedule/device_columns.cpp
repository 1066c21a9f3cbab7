// Reductions of many rows that lie side by side, as those of the columns of a matrix: a thread takes the rows of 16
// bytes, up to 4 of them, and loads an element of each at once. Where the rows begin elsewhere it takes one after the
// other, as the threads of device_rows.cpp do. A row has its elements in the same order in both, so it has the same
// bits.
#include <algorithm>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/schedule/device_pieces.h"
#include "compiler/kernel/schedule/device_row_parts.h"

namespace thtrain::kernel {
namespace {

using Kind = Nest::Value::Kind;

constexpr int64_t kMostRows = 4;         // of a thread: its code is there for each
constexpr int64_t kMostWorkOfRows = 32;  // of an element

class DeviceColumns {
 public:
  DeviceColumns(StepBuilder& b, const Nest& nest)
      : b_(b),
        code_(b.code()),
        nest_(nest),
        tracks_(nest),
        plan_(nest, tracks_),
        parts_(b, nest, plan_),
        in_lanes_(nest.values().size()) {
    for (LoopAxis& axis : tracks_.axes())
      (axis.kind == AxisKind::kReduce ? reduced_ : kept_).push_back(std::move(axis));
    kept_ = collapse(kept_);
    reduced_ = collapse(reduced_);
    count_ = product_of(reduced_);
    if (may_be_side_by_side()) choose_width();
  }

  bool are_possible() const { return width_ > 1; }

  void run(std::string name, std::string comment) {
    for (const Nest::Value& value : nest_.values())
      if (value.kind == Kind::kReduction && value.how->no_elements) {
        check_elements(b_, *value.how, reduced_, kept_);
        break;
      }
    if (parts_.are_there()) parts_.begin();
    const Dim rows = product_of(kept_) * parts_.count();
    const int64_t of_block = width_ * kDeviceThreads;
    code_.if_(
        pieces_of_rows().are_aligned(tracks_.firsts(), multiples_),
        [&] {
          const Term piece = code_.let("piece", b_.block() * Term(kDeviceThreads) + b_.thread());
          code_.if_(piece < b_.length(floor_div(rows, width_)), [&] { rows_or_parts(piece, width_); });
        },
        [&] {
          const Term first = code_.let("first", b_.block() * Term(of_block)),
                     next = code_.let("next", first + Term(of_block)), end = b_.length(rows),
                     last = code_.let("last", select(next < end, next, end));
          code_.loop("row", first + b_.thread(), last, kDeviceThreads, LoopMark::kSequential,
                     [&](const Term& row) { rows_or_parts(row, 1); });
        });
    b_.finish_device_kernel(std::move(name), std::move(comment), blocks_for(rows, of_block), kDeviceThreads,
                            str("a thread for ", width_, parts_.are_there() ? " parts of rows" : " rows",
                                " side by side", has_two_levels_ ? ", on two levels" : ""));
    if (parts_.are_there()) parts_.combine();
  }

 private:
  // ---- geometry

  // Numbers that are combined for themselves, and no checks: a thread that finds one broken leaves the others' rows.
  bool may_be_side_by_side() const {
    return !kept_.empty() && !reduced_.empty() && nest_.work <= kMostWorkOfRows &&
           std::ranges::none_of(nest_.values(), [](const Nest::Value& value) {
             return value.kind == Kind::kRequire || (value.kind == Kind::kPosition && value.index->check) ||
                    (value.how && (value.how->better || value.how->combine_pairs));
           });
  }

  void choose_width() {
    varies_ = tracks_.varying(kept_.back());
    parts_.cut(product_of(kept_), count_, 1);
    const Dim rows = product_of(kept_) * parts_.count();
    if (rows.is_known() && rows.value() < kFewDeviceThreads) return;
    DevicePieces all = pieces_of_rows();
    std::vector<LoopAxis> others(kept_.begin(), kept_.end() - 1);
    others.insert(others.end(), reduced_.begin(), reduced_.end());
    multiples_ = all.distances(others);
    multiples_.push_back(kept_.back().length);
    width_ = all.choose_width(multiples_, kMostRows);
  }

  DevicePieces pieces_of_rows() const {
    DevicePieces all(b_, nest_, tracks_, kept_.back(), varies_, width_);
    for (size_t p = 0; p < plan_.loops(); ++p) add_loop(all, p);
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (!plan_.stores_elements(s) && !parts_.are_there()) all.add_store(s);
    return all;
  }
  void add_loop(DevicePieces& pieces, size_t p) const {
    for (size_t v : plan_.needed(p)) pieces.add_value(v);
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (p + 1 == plan_.loops() && plan_.stores_elements(s)) pieces.add_store(s);
  }

  const Dim& part() const { return parts_.are_there() ? parts_.length() : count_; }
  bool has_total(const Accumulation& how) const {
    return how.rounds && is_float(how.dtype) && !(part().is_known() && part().value() <= kReduceBlock);
  }

  // ---- `at_once` rows side by side

  void rows_or_parts(const Term& number, int64_t at_once) {
    std::vector<LoopAxis> axes = kept_;
    axes.back().length = floor_div(axes.back().length, at_once);
    for (Dim& stride : axes.back().strides) stride = stride * at_once;
    values_.assign(static_cast<size_t>(at_once), std::vector<Term>(nest_.values().size()));
    if (parts_.are_there()) return parts_of_rows(axes, number);
    const std::vector<Term> at = unravelled(b_, axes, tracks_.firsts(), number);
    between_loops(0, at);
    for (size_t p = 0; p < plan_.loops(); ++p) {
      row_loop(p, at, 0, b_.length(count_));
      between_loops(p + 1, at);
    }
    store_rows(at);
  }

  void parts_of_rows(const std::vector<LoopAxis>& axes, const Term& number) {
    const Term rows = b_.length(product_of(axes)), row = code_.let("row", number % rows),
               part = code_.let("part", number / rows), first = code_.let("first", part * b_.length(parts_.length())),
               end = code_.let("end", first + b_.length(parts_.length())),
               last = code_.let("last", select(end < b_.length(count_), end, b_.length(count_)));
    const std::vector<Term> at = unravelled(b_, axes, tracks_.firsts(), row);
    between_loops(0, at);
    row_loop(0, at, first, last);
    for (size_t k = 0; k < values_.size(); ++k)
      parts_.store(values_[k], row * Term(at_once()) + Term(int64_t(k)), part);
  }

  int64_t at_once() const { return static_cast<int64_t>(values_.size()); }

  // Of row k where it differs between the rows.
  void compute(size_t v, const std::vector<Term>& at, size_t k, std::vector<std::vector<Term>>& values) {
    if (k > 0 && !varies_[v])
      values[k][v] = values[0][v];
    else
      tracks_.compute(b_, v, here(at, k), in_lanes_, values[k]);
  }
  LocationInLoops here(const std::vector<Term>& at, size_t k) const {
    if (k == 0) return {.at = at};
    return {.at = at, .inner = &kept_.back(), .i = static_cast<int64_t>(k)};
  }

  void between_loops(size_t loops, const std::vector<Term>& at) {
    for (size_t k = 0; k < values_.size(); ++k)
      for (size_t v = 0; v < nest_.values().size(); ++v)
        if (!plan_.varies(v) && plan_.phase(v) == loops && nest_.values()[v].kind != Kind::kReduction)
          compute(v, at, k, values_);
  }

  void row_loop(size_t p, const std::vector<Term>& at, const Term& first, const Term& last) {
    std::vector<std::vector<Accumulator>> of_rows(values_.size());
    bool two_levels = false;
    for (std::vector<Accumulator>& accumulators : of_rows)
      for (size_t v : plan_.reductions(p)) {
        const Nest::Value& value = nest_.values()[v];
        Accumulator a{v, &*value.how, value.term.dtype(), 1, {}};
        a.parts.push_back(code_.var("acc", a.identity()));
        if (has_total(*a.how)) {
          a.total = code_.var("total", a.how->identity(wide_of(a.how->dtype)));
          two_levels = true;
        }
        accumulators.push_back(std::move(a));
      }
    has_two_levels_ = has_two_levels_ || two_levels;
    const auto some = [&](const Term& from, const Term& to) {
      code_.loop("j", from, to, 1, LoopMark::kSequential, [&](const Term& j) { elements(p, at, j, of_rows); });
    };
    if (two_levels)
      code_.loop("run", first, last, kReduceBlock, LoopMark::kSequential, [&](const Term& from) {
        const Term stop = code_.let("stop", from + Term(kReduceBlock));
        some(from, code_.let("last", select(stop < last, stop, last)));
        for (std::vector<Accumulator>& accumulators : of_rows)
          for (Accumulator& a : accumulators)
            if (static_cast<bool>(a.total)) a.flush(code_, true);
      });
    else
      some(first, last);
    for (size_t k = 0; k < of_rows.size(); ++k)
      for (const Accumulator& a : of_rows[k]) {
        const Term all = static_cast<bool>(a.total) ? a.total : a.parts[0];
        values_[k][a.value] =
            parts_.are_there() ? all : code_.let(nest_.values()[a.value].name, cast(all, a.how->dtype));
      }
  }

  // Element `j` of each row.
  void elements(size_t p, const std::vector<Term>& at, const Term& j, std::vector<std::vector<Accumulator>>& of_rows) {
    const std::vector<Term> there = unravelled(b_, reduced_, at, j);
    std::vector<std::vector<Term>> values = values_;
    DevicePieces pieces(b_, nest_, tracks_, kept_.back(), varies_, width_);
    add_loop(pieces, p);
    const bool are_pieces = at_once() > 1;
    if (are_pieces) {
      for (size_t v : plan_.needed(p))
        if (!varies_[v]) compute(v, there, 0, values);
      pieces.declare();
      pieces.load(there, values[0]);
    }
    for (size_t k = 0; k < values.size(); ++k) {
      const Term number = static_cast<int64_t>(k);
      for (size_t v : plan_.needed(p))
        if (are_pieces && pieces.loads(v))
          values[k][v] = pieces.loaded(v, number);
        else if (!are_pieces || varies_[v] || k > 0)
          compute(v, there, k, values);
      for (Accumulator& a : of_rows[k]) a.add(code_, 0, bound(nest_, nest_.values()[a.value].term, values[k]), {});
      for (size_t s = 0; s < nest_.stores().size(); ++s) {
        if (p + 1 != plan_.loops() || !plan_.stores_elements(s)) continue;
        const Term x = bound(nest_, nest_.stores()[s].value, values[k]);
        if (are_pieces)
          pieces.keep(s, number, x);
        else
          tracks_.store(b_, s, {.at = there}, x, values[k]);
      }
    }
    if (are_pieces) pieces.store(there, values[0]);
  }

  void store_rows(const std::vector<Term>& at) {
    DevicePieces pieces(b_, nest_, tracks_, kept_.back(), varies_, width_);
    std::vector<size_t> stores;
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (!plan_.stores_elements(s)) stores.push_back(s);
    const bool are_pieces = at_once() > 1;
    for (size_t s : stores) pieces.add_store(s);
    if (are_pieces) pieces.declare();
    for (size_t k = 0; k < values_.size(); ++k)
      for (size_t s : stores) {
        const Term x = bound(nest_, nest_.stores()[s].value, values_[k]);
        if (are_pieces)
          pieces.keep(s, static_cast<int64_t>(k), x);
        else
          tracks_.store(b_, s, {.at = at}, x, values_[k]);
      }
    if (are_pieces) pieces.store(at, values_[0]);
  }

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  Tracks tracks_;
  RowPlan plan_;
  RowParts parts_;
  const std::vector<bool> in_lanes_;  // none: only locations are vectors
  std::vector<bool> varies_;          // values between rows side by side
  std::vector<LoopAxis> kept_, reduced_;
  Dim count_ = 1;        // elements of a row
  int64_t width_ = 1;    // rows of a thread
  Dims multiples_ = {};  // what must be a multiple of these
  bool has_two_levels_ = false;
  std::vector<std::vector<Term>> values_;  // of each row of the thread
};

}  // namespace

bool schedule_device_columns(StepBuilder& b, const Nest& nest, const std::string& name, const std::string& comment) {
  DeviceColumns columns(b, nest);
  if (!columns.are_possible()) return false;
  columns.run(name, comment);
  return true;
}

}  // namespace thtrain::kernel
