// Nests on a device that load along another axis than they store, as the copy of a transposed matrix does: a block of
// 256 threads takes a square of 32 x 32 elements. Its threads load along the axis where the loaded elements lie side by
// side, into a shared array, and store along the other one: 4 elements at once where they may. Rows of that array have
// one element more, so that a column of it lies in as many banks, and so do parts of four rows or columns, of which 8
// threads each have every fourth element. Elements of 8 bytes would meet there, two threads in each bank.
#include <algorithm>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/schedule/device_pieces.h"
#include "compiler/kernel/schedule/locations.h"

namespace thtrain::kernel {
namespace {

using Kind = Nest::Value::Kind;

constexpr int64_t kSquare = 32;
constexpr int64_t kShort = 16;    // an axis that is not worth squares
constexpr size_t kMostLoads = 4;  // through shared arrays
constexpr int64_t kPiece = 4;     // elements: a piece for each thread
constexpr size_t kBankBytes = 4;  // the widest element of which there are pieces

class DeviceSquares {
 public:
  DeviceSquares(StepBuilder& b, const Nest& nest) : b_(b), code_(b.code()), nest_(nest), tracks_(nest) {
    axes_ = collapse(tracks_.axes());
    find_axes();
  }

  bool are_possible() const { return !across_.empty() && across_.size() <= kMostLoads; }

  void run(std::string name, std::string comment) {
    std::vector<std::string> shared;
    for (size_t v : across_) {
      const DType dtype = nest_.values()[v].variable.dtype();
      shared.push_back(code_.shared_array("square", dtype, kSquare * (kSquare + 1)));
    }
    std::vector<LoopAxis> others;
    for (size_t i = 0; i < axes_.size(); ++i)
      if (i != along_ && i != stored_) others.push_back(axes_[i]);
    const LoopAxis &along = axes_[along_], &stored = axes_[stored_];
    const Dim of_along = blocks_for(along.length, kSquare), of_stored = blocks_for(stored.length, kSquare);
    Term number = b_.block();
    const auto first_of = [&](const Dim& count) -> Term {
      if (count.is(1)) return 0;
      const Term square = code_.let("square", number % b_.length(count));
      number = code_.let("outer", number / b_.length(count));
      return code_.let("first", square * Term(kSquare));
    };
    const Term stored_first = first_of(of_stored), along_first = first_of(of_along);
    const std::vector<Term> at = others.empty() ? tracks_.firsts() : unravelled(b_, others, tracks_.firsts(), number);
    choose_pieces();
    either(*loads_, load_multiples_, at, [&](int64_t width) {
      each_piece(width, [&](const Term& row, const Term& near) {
        within(along, along_first + near, stored, stored_first + row, at,
               [&](const std::vector<Term>& here) { load(shared, row * Term(kSquare + 1) + near, here, width); });
      });
    });
    code_.barrier();
    either(*stores_, store_multiples_, at, [&](int64_t width) {
      each_piece(width, [&](const Term& row, const Term& near) {
        within(along, along_first + row, stored, stored_first + near, at,
               [&](const std::vector<Term>& here) { store(shared, near * Term(kSquare + 1) + row, here, width); });
      });
    });
    b_.finish_device_kernel(std::move(name), std::move(comment), of_along * of_stored * product_of(others),
                            kDeviceThreads,
                            str("a block for each square of 32 x 32", at_once("loads", loads_->width()),
                                at_once("stores", stores_->width())));
  }

 private:
  // The axis along which all is stored, and another one along which loads lie side by side.
  void find_axes() {
    for (const NestAxis& axis : nest_.axes())
      if (axis.kind != AxisKind::kParallel) return;
    if (!nest_.bounds.empty() || nest_.stores().empty()) return;
    for (const Nest::Value& value : nest_.values())
      if (value.kind != Kind::kLoad && value.kind != Kind::kLet && value.kind != Kind::kAxis) return;
    const auto contiguous = [&](size_t track) -> std::optional<size_t> {
      for (size_t i = 0; i < axes_.size(); ++i)
        if (axes_[i].strides[track].is(1)) return i;
      return {};
    };
    std::optional<size_t> stored, along;
    for (size_t s = 0; s < nest_.stores().size(); ++s) {
      const Location& to = nest_.stores()[s].location;
      const std::optional<size_t> axis = contiguous(tracks_.of_store(s));
      if (!axis || (stored && stored != axis) || to.is_indexed() || to.pair != Location::Pair::kNone) return;
      stored = axis;
    }
    if (is_short(*stored)) return;
    std::vector<size_t> across;
    for (size_t v = 0; v < nest_.values().size(); ++v) {
      const Nest::Value& value = nest_.values()[v];
      if (value.kind != Kind::kLoad) continue;
      if (value.location.is_indexed() || value.location.pair != Location::Pair::kNone) return;
      const size_t track = tracks_.of_value(v);
      const std::optional<size_t> axis = contiguous(track);
      if (!axis || axis == stored || axes_[*stored].strides[track].is(0) || is_short(*axis)) continue;
      if (along && along != axis) return;
      along = axis;
      across.push_back(v);
    }
    if (!along) return;
    across_ = std::move(across);
    along_ = *along;
    stored_ = *stored;
  }
  bool is_short(size_t axis) const { return axes_[axis].length.is_known() && axes_[axis].length.value() < kShort; }

  // ---- pieces

  void choose_pieces() {
    const LoopAxis &along = axes_[along_], &stored = axes_[stored_];
    varies_ = tracks_.varying(stored);
    loads_vary_ = tracks_.varying(along);
    loads_.emplace(b_, nest_, tracks_, along, loads_vary_);
    stores_.emplace(b_, nest_, tracks_, stored, varies_);
    bool are_narrow = true;
    for (size_t v = 0; v < nest_.values().size(); ++v) {
      const bool is_across = std::ranges::find(across_, v) != across_.end();
      (is_across ? *loads_ : *stores_).add_value(v);
      are_narrow = are_narrow && !(is_across && size_of(nest_.values()[v].variable.dtype()) > kBankBytes);
    }
    for (size_t s = 0; s < nest_.stores().size(); ++s) stores_->add_store(s);
    if (!are_narrow) return;
    load_multiples_ = loads_->distances({stored});
    load_multiples_.push_back(along.length);
    loads_->choose_width(load_multiples_, kPiece);
    store_multiples_ = stores_->distances({along});
    store_multiples_.push_back(stored.length);
    stores_->choose_width(store_multiples_, kPiece);
  }
  static std::string at_once(const char* what, int64_t width) {
    return width == 1 ? "" : str(", ", what, " of ", width, " elements at once");
  }

  // In pieces where the square begins at such addresses, and rows are made of whole ones; else one element at a time.
  void either(const DevicePieces& pieces, const Dims& multiples, const std::vector<Term>& at,
              const std::function<void(int64_t width)>& body) {
    if (pieces.width() == 1) return body(1);
    code_.if_(
        pieces.are_aligned(at, multiples), [&] { body(pieces.width()); }, [&] { body(1); });
  }

  // The thread's pieces of the square: the row of each, and where it begins there.
  void each_piece(int64_t width, const std::function<void(const Term& row, const Term& near)>& body) {
    const int64_t of_row = kSquare / width, rows = kDeviceThreads / of_row;
    const Term near = code_.let("near", b_.thread() % Term(of_row) * Term(width)),
               far = code_.let("far", b_.thread() / Term(of_row));
    if (rows == kSquare) return body(far, near);
    code_.loop("row", far, Term(kSquare), Term(rows), LoopMark::kSequential, [&](const Term& row) { body(row, near); });
  }

  // The elements that are `here` go to the shared arrays, from `to` on.
  void load(const std::vector<std::string>& shared, const Term& to, const std::vector<Term>& here, int64_t width) {
    std::vector<Term> values(nest_.values().size());
    if (width == 1) {
      for (size_t k = 0; k < across_.size(); ++k) {
        tracks_.compute(b_, across_[k], {.at = here}, in_lanes_, values);
        code_.store(shared[k], to, 1, values[across_[k]]);
      }
      return;
    }
    loads_->declare();
    loads_->load(here, values);
    each_of_piece(code_, width, [&](const Term& i) {
      for (size_t k = 0; k < across_.size(); ++k) code_.store(shared[k], to + i, 1, loads_->loaded(across_[k], i));
    });
  }

  // What is computed `here` of the shared elements from `from` on, a row of them for each.
  void store(const std::vector<std::string>& shared, const Term& from, const std::vector<Term>& here, int64_t width) {
    if (width == 1)
      return element(shared, from, {.at = here}, [&](size_t s, const Term& x, const std::vector<Term>& values) {
        tracks_.store(b_, s, {.at = here}, x, values);
      });
    stores_->declare();
    const std::vector<Term> none(nest_.values().size());
    stores_->load(here, none);
    code_.loop("k", 0, width, 1, LoopMark::kUnrolled, [&](const Term& k) {
      element(
          shared, from + k * Term(kSquare + 1), {.at = here, .inner = &axes_[stored_], .i = k},
          [&](size_t s, const Term& x, const std::vector<Term>&) { stores_->keep(s, k, x); }, k);
    });
    stores_->store(here, none);
  }
  void element(const std::vector<std::string>& shared, const Term& from, const LocationInLoops& here,
               const std::function<void(size_t store, const Term& x, const std::vector<Term>& values)>& take,
               const Term& k = {}) {
    std::vector<Term> values(nest_.values().size());
    for (size_t i = 0; i < across_.size(); ++i)
      values[across_[i]] = code_.let(nest_.values()[across_[i]].name,
                                     kernel::load(shared[i], nest_.values()[across_[i]].variable.dtype(), 1, from, 1));
    for (size_t v = 0; v < values.size(); ++v) {
      if (static_cast<bool>(values[v])) continue;
      if (static_cast<bool>(k) && stores_->loads(v))
        values[v] = stores_->loaded(v, k);
      else
        tracks_.compute(b_, v, here, in_lanes_, values);
    }
    for (size_t s = 0; s < nest_.stores().size(); ++s) take(s, bound(nest_, nest_.stores()[s].value, values), values);
  }

  // Where the square has an element there.
  void within(const LoopAxis& along, const Term& i, const LoopAxis& stored, const Term& j, const std::vector<Term>& at,
              const std::function<void(const std::vector<Term>& here)>& body) {
    const Term x = code_.let("i", i), y = code_.let("j", j);
    code_.if_(x < b_.length(along.length), [&] {
      code_.if_(y < b_.length(stored.length), [&] { body(further(b_, further(b_, at, along, x), stored, y)); });
    });
  }

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  Tracks tracks_;
  std::vector<LoopAxis> axes_;
  std::vector<size_t> across_;  // loads along another axis
  size_t along_ = 0, stored_ = 0;
  const std::vector<bool> in_lanes_ = std::vector<bool>(nest_.values().size());  // none: only locations are vectors
  std::vector<bool> loads_vary_, varies_;       // values along the axis of the loads, and of the stores
  std::optional<DevicePieces> loads_, stores_;  // of these axes
  Dims load_multiples_, store_multiples_;       // what must be a multiple of their pieces
};

}  // namespace

bool schedule_device_squares(StepBuilder& b, const Nest& nest, const std::string& name, const std::string& comment) {
  DeviceSquares squares(b, nest);
  if (!squares.are_possible()) return false;
  squares.run(name, comment);
  return true;
}

}  // namespace thtrain::kernel
