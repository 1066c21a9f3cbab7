// Nests without reductions on a device, and what the schedules for devices share. A thread takes an element, or a piece
// of elements side by side.
#include <algorithm>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/schedule/device_pieces.h"
#include "compiler/kernel/schedule/locations.h"

namespace thtrain::kernel {

std::vector<Term> unravelled(StepBuilder& b, const std::vector<LoopAxis>& axes, const std::vector<Term>& at, Term i) {
  std::vector<Term> indices(axes.size());
  for (size_t k = axes.size(); k-- > 0;) {
    const Term length = b.length(axes[k].length);
    indices[k] = k == 0 ? i : b.code().let(str("i", k), i % length);
    if (k > 0) i = b.code().let("outer", i / length);
  }
  std::vector<Term> out = at;
  for (size_t track = 0; track < out.size(); ++track) {
    Term here = out[track];
    for (size_t k = 0; k < axes.size(); ++k)
      if (!axes[k].strides[track].is(0)) here = here + indices[k] * b.length(axes[k].strides[track]);
    if (&here.node() != &out[track].node()) out[track] = b.code().let("at", here);
  }
  return out;
}

int threads_for(const StepBuilder& b, const Dim& count) {
  const int64_t warp = b.target().device.warp;
  if (!count.is_known()) return kDeviceThreads;
  return static_cast<int>(std::clamp((count.value() + warp - 1) / warp * warp, warp, int64_t{kDeviceThreads}));
}

Dim blocks_for(const Dim& count, int64_t of_block) {
  return of_block == 1 ? count : floor_div(count + Dim(of_block - 1), Dim(of_block));
}

namespace {

using Kind = Nest::Value::Kind;

class DeviceElements {
 public:
  DeviceElements(StepBuilder& b, const Nest& nest) : b_(b), code_(b.code()), nest_(nest), tracks_(nest) {
    find_sum();
    for (LoopAxis& axis : tracks_.axes())
      (axis.kind == AxisKind::kParallel || sum_ ? parallel_ : in_order_).push_back(std::move(axis));
    if (sum_)
      for (LoopAxis& axis : parallel_) axis.kind = AxisKind::kParallel;
    parallel_ = collapse(parallel_);
    in_order_ = collapse(in_order_);
    choose_pieces();
  }

  void run(std::string name, std::string comment) {
    const Dim count = product_of(parallel_);
    if (pieces_) {
      pieces_or_elements(count);
      const int64_t of_block = pieces_->width() * kDeviceThreads;
      return b_.finish_device_kernel(std::move(name), std::move(comment), blocks_for(count, of_block), kDeviceThreads,
                                     str("a thread for ", pieces_->width(), " elements side by side"));
    }
    const int threads = threads_for(b_, count);
    const Dim blocks = blocks_for(count, threads);
    const bool is_whole = count.is_known() && count.value() % threads == 0;
    const Term i = code_.let("i", blocks.is(1) ? b_.thread() : b_.block() * Term(threads) + b_.thread());
    const auto element = [&] { loops(0, unravelled(b_, parallel_, tracks_.firsts(), i)); };
    if (count.is(0))
      code_.comment("no element");
    else if (is_whole)
      element();
    else
      code_.if_(i < b_.length(count), element);
    b_.finish_device_kernel(std::move(name), std::move(comment), blocks, threads,
                            str("a thread for each element", sum_                ? ", by atomic sums"
                                                             : in_order_.empty() ? ""
                                                                                 : ", in order"));
  }

 private:
  struct Sum {
    size_t before, store;
    Term addend;
  };

  // Integers that are added to elements which the data names, one index after the other: atomic sums have the same bits
  // in any order.
  void find_sum() {
    if (nest_.stores().size() != 1) return;
    const Location& to = nest_.stores()[0].location;
    const DType dtype = to.operand.type.dtype;
    const std::optional<size_t> stored = nest_.value_of(nest_.stores()[0].value);
    if (!stored || !is_int(dtype) || size_of(dtype) < 4 || !to.is_indexed()) return;
    const Term& sum = nest_.values()[*stored].term;
    if (!static_cast<bool>(sum) || sum.node().prim != Prim::kAdd) return;
    const std::optional<size_t> before = nest_.value_of(sum.node().args[0]);
    if (!before || nest_.values()[*before].kind != Kind::kLoad || !is_same(nest_.values()[*before].location, to))
      return;
    int readers = 0;
    for (const Nest::Value& value : nest_.values()) nest_.each_read(value, [&](size_t v) { readers += v == *before; });
    if (readers == 1) sum_ = Sum{*before, *stored, sum.node().args[1]};
  }

  static bool is_same(const Location& a, const Location& b) {
    return a.operand.index == b.operand.index && a.strides == b.strides && &a.first.node() == &b.first.node() &&
           std::equal(a.moves.begin(), a.moves.end(), b.moves.begin(), b.moves.end(), [](const Move& x, const Move& y) {
             return &x.position.node() == &y.position.node() && x.step == y.step;
           });
  }

  // ---- pieces of the innermost axis

  // Where there are some for a whole block.
  void choose_pieces() {
    if (parallel_.empty() || !in_order_.empty() || sum_ || !nest_.bounds.empty()) return;
    const LoopAxis& axis = parallel_.back();
    varies_ = tracks_.varying(axis);
    pieces_.emplace(b_, nest_, tracks_, axis, varies_);
    for (size_t v = 0; v < nest_.values().size(); ++v) pieces_->add_value(v);
    for (size_t s = 0; s < nest_.stores().size(); ++s) pieces_->add_store(s);
    multiples_ = pieces_->distances({parallel_.begin(), parallel_.end() - 1});
    if (parallel_.size() > 1) multiples_.push_back(axis.length);
    const Dim count = product_of(parallel_);
    const int64_t most = pieces_->choose_width();
    if (most == 1 || (count.is_known() && count.value() < most * kDeviceThreads) ||
        pieces_->choose_width(multiples_) == 1)
      pieces_.reset();
  }

  // A block of whole pieces takes them; others take their elements one by one, which lie side by side for its threads.
  void pieces_or_elements(const Dim& count) {
    const int64_t of_block = pieces_->width() * kDeviceThreads;
    const Term first = code_.let("first", b_.block() * Term(of_block)),
               next = code_.let("next", first + Term(of_block)), end = b_.length(count);
    const Term may_be = pieces_->are_aligned(tracks_.firsts(), multiples_);
    const bool is_whole = count.is_known() && count.value() % of_block == 0;
    code_.if_(
        is_whole ? may_be : next <= end && may_be, [&] { piece(); },
        [&] {
          const Term last = is_whole ? next : code_.let("last", select(next < end, next, end));
          code_.loop("i", first + b_.thread(), last, kDeviceThreads, LoopMark::kSequential,
                     [&](const Term& i) { body(unravelled(b_, parallel_, tracks_.firsts(), i), true); });
        });
  }

  void piece() {
    std::vector<LoopAxis> axes = parallel_;
    axes.back().length = floor_div(axes.back().length, pieces_->width());
    for (Dim& stride : axes.back().strides) stride = stride * pieces_->width();
    const Term number = code_.let("piece", b_.block() * Term(kDeviceThreads) + b_.thread());
    const std::vector<Term> at = unravelled(b_, axes, tracks_.firsts(), number);
    const std::vector<bool> in_lanes(nest_.values().size(), false);
    std::vector<Term> values(nest_.values().size());
    for (size_t v = 0; v < values.size(); ++v)
      if (!varies_[v]) tracks_.compute(b_, v, {.at = at}, in_lanes, values);
    pieces_->declare();
    pieces_->load(at, values);
    const std::vector<Term> of_piece = values;
    each_of_piece(code_, pieces_->width(), [&](const Term& k) {
      const LocationInLoops here{.at = at, .inner = &parallel_.back(), .i = k};
      for (size_t v = 0; v < values.size(); ++v)
        if (pieces_->loads(v))
          values[v] = pieces_->loaded(v, k);
        else if (varies_[v])
          tracks_.compute(b_, v, here, in_lanes, values);
      for (size_t s = 0; s < nest_.stores().size(); ++s)
        pieces_->keep(s, k, bound(nest_, nest_.stores()[s].value, values));
    });
    pieces_->store(at, of_piece);
  }

  // ---- elements

  void loops(size_t depth, const std::vector<Term>& at) {
    if (depth == in_order_.size()) return bounded(at);
    const LoopAxis& axis = in_order_[depth];
    code_.loop(str("k", depth), b_.length(axis.length),
               [&](const Term& k) { loops(depth + 1, further(b_, at, axis, k)); });
  }

  void bounded(const std::vector<Term>& at) {
    Term holds;
    for (size_t k = 0; k < nest_.bounds.size(); ++k) {
      const Bound& bound = nest_.bounds[k];
      const Term here = code_.let("at", at[tracks_.of_bound(k)] + b_.length(bound.first));
      const Term is_inside = here >= Term(0) && here < b_.length(bound.length);
      holds = static_cast<bool>(holds) ? holds && is_inside : is_inside;
    }
    if (!static_cast<bool>(holds)) return body(at, true);
    code_.if_(
        holds, [&] { body(at, true); }, [&] { body(at, false); });
  }

  void body(const std::vector<Term>& at, bool is_inside) {
    const LocationInLoops here{.at = at, .is_inside = is_inside};
    const std::vector<bool> in_lanes(nest_.values().size(), false);
    std::vector<Term> values(nest_.values().size());
    for (size_t v = 0; v < values.size(); ++v)
      if (!sum_ || (v != sum_->before && v != sum_->store)) tracks_.compute(b_, v, here, in_lanes, values);
    if (sum_)
      return b_.atomic(nest_.stores()[0].location.operand, tracks_.target(b_, 0, here, values),
                       bound(nest_, sum_->addend, values), AtomicKind::kAdd);
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      if (!(nest_.stores()[s].is_outside && is_inside))
        tracks_.store(b_, s, here, bound(nest_, nest_.stores()[s].value, values), values);
  }

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  Tracks tracks_;
  std::vector<LoopAxis> parallel_, in_order_;
  std::optional<Sum> sum_ = {};
  std::vector<bool> varies_ = {};            // values that differ along the innermost axis
  std::optional<DevicePieces> pieces_ = {};  // of that axis, where a thread takes some
  Dims multiples_ = {};                      // what must be a multiple of a piece
};

}  // namespace

void schedule_device_elements(StepBuilder& b, const Nest& nest, std::string name, std::string comment) {
  DeviceElements(b, nest).run(std::move(name), std::move(comment));
}

}  // namespace thtrain::kernel
