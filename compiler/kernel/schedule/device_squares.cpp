// Nests on a device that load along another axis than they store, as the copy of a transposed matrix does: a block of
// 256 threads takes a square of 32 x 32 elements. Its threads load along the axis where the loaded elements lie side by
// side, into a shared array, and store along the other one. Rows of that array have one element more, so that a column
// of it lies in as many banks.
#include <algorithm>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/schedule/locations.h"

namespace thtrain::kernel {
namespace {

using Kind = Nest::Value::Kind;

constexpr int kSquare = 32, kRowsAtOnce = kDeviceThreads / kSquare;  // of a square; of it that are loaded at once
constexpr int64_t kShort = 16;                                       // an axis that is not worth squares
constexpr size_t kMostLoads = 4;                                     // through shared arrays

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
      shared.push_back(code_.shared_array("square", dtype, int64_t{kSquare} * (kSquare + 1)));
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
    const Term near = code_.let("near", b_.thread() % Term(kSquare)),
               far = code_.let("far", b_.thread() / Term(kSquare));
    const std::vector<bool> in_lanes(nest_.values().size(), false);
    each_row(far, [&](const Term& row) {
      within(along, along_first + near, stored, stored_first + row, at, [&](const std::vector<Term>& here) {
        std::vector<Term> values(nest_.values().size());
        for (size_t k = 0; k < across_.size(); ++k) {
          tracks_.compute(b_, across_[k], {.at = here}, in_lanes, values);
          code_.store(shared[k], row * Term(kSquare + 1) + near, 1, values[across_[k]]);
        }
      });
    });
    code_.barrier();
    each_row(far, [&](const Term& row) {
      within(along, along_first + row, stored, stored_first + near, at, [&](const std::vector<Term>& here) {
        std::vector<Term> values(nest_.values().size());
        for (size_t k = 0; k < across_.size(); ++k)
          values[across_[k]] = code_.let(nest_.values()[across_[k]].name,
                                         kernel::load(shared[k], nest_.values()[across_[k]].variable.dtype(), 1,
                                                      near * Term(kSquare + 1) + row, 1));
        for (size_t v = 0; v < values.size(); ++v)
          if (!static_cast<bool>(values[v])) tracks_.compute(b_, v, {.at = here}, in_lanes, values);
        for (size_t s = 0; s < nest_.stores().size(); ++s)
          tracks_.store(b_, s, {.at = here}, bound(nest_, nest_.stores()[s].value, values), values);
      });
    });
    b_.finish_device_kernel(std::move(name), std::move(comment), of_along * of_stored * product_of(others),
                            kDeviceThreads, "a block for each square of 32 x 32");
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

  // The thread's rows of the square.
  void each_row(const Term& far, const std::function<void(const Term& row)>& body) {
    code_.loop("row", far, Term(kSquare), Term(kRowsAtOnce), LoopMark::kSequential, body);
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
};

}  // namespace

bool schedule_device_squares(StepBuilder& b, const Nest& nest, const std::string& name, const std::string& comment) {
  DeviceSquares squares(b, nest);
  if (!squares.are_possible()) return false;
  squares.run(name, comment);
  return true;
}

}  // namespace thtrain::kernel
