#include "compiler/kernel/schedule/device_pieces.h"

#include <algorithm>

namespace thtrain::kernel {

using Kind = Nest::Value::Kind;

static constexpr size_t kBytesOfPieces = 256;  // of all loads and stores of a thread: 64 registers
static constexpr int64_t kMostWork = 128;

DevicePieces::DevicePieces(StepBuilder& b, const Nest& nest, const Tracks& tracks, const LoopAxis& axis,
                           const std::vector<bool>& varies, int64_t width)
    : b_(b),
      nest_(nest),
      tracks_(tracks),
      axis_(axis),
      varies_(varies),
      in_lanes_(nest.values().size()),
      width_(width) {}

void DevicePieces::add_value(size_t v) {
  const Nest::Value& value = nest_.values()[v];
  if (!varies_[v] || value.kind == Kind::kLet || value.kind == Kind::kAxis || value.kind == Kind::kRequire) return;
  are_possible_ = are_possible_ && value.kind == Kind::kLoad && !static_cast<bool>(value.otherwise) &&
                  is_along(value.location, tracks_.of_value(v));
  if (are_possible_) loads_.push_back({v, &value.location, tracks_.of_value(v)});
}

void DevicePieces::add_store(size_t s) {
  const Nest::Store& store = nest_.stores()[s];
  are_possible_ = are_possible_ && !store.is_outside && is_along(store.location, tracks_.of_store(s));
  if (are_possible_) stores_.push_back({s, &store.location, tracks_.of_store(s)});
}

bool DevicePieces::is_along(const Location& location, size_t track) const {
  return axis_.strides[track].is(1) && location.pair == Location::Pair::kNone &&
         std::ranges::none_of(location.moves,
                              [&](const Move& move) { return varies_[*nest_.value_of(move.position)]; });
}

void DevicePieces::each(const std::function<void(const Access&)>& visit) const {
  for (const Access& load : loads_) visit(load);
  for (const Access& store : stores_) visit(store);
}

int64_t DevicePieces::choose_width(const Dims& multiples, int64_t most) {
  size_t widest = 1, all = 0;
  each([&](const Access& access) {
    widest = std::max(widest, access.bytes());
    all += access.bytes();
  });
  if (!are_possible_ || all == 0 || nest_.work > kMostWork) return width_ = 1;
  width_ = std::min(kPieceBytes / static_cast<int64_t>(widest), most);
  const auto allows = [&](const Dim& d) { return !d.is_known() || d.value() % width_ == 0; };
  while (width_ > 1 && (static_cast<size_t>(width_) * all > kBytesOfPieces || !std::ranges::all_of(multiples, allows)))
    width_ /= 2;
  return width_;
}

Dims DevicePieces::distances(const std::vector<LoopAxis>& others) const {
  Dims out;
  const auto add = [&](const Dim& d) {
    if (std::ranges::find(out, d) == out.end()) out.push_back(d);
  };
  each([&](const Access& access) {
    for (const LoopAxis& axis : others) add(axis.strides[access.track]);
    for (const Move& move : access.location->moves) add(move.step);
  });
  return out;
}

Term DevicePieces::are_aligned(const std::vector<Term>& at, const Dims& multiples) const {
  Term out;
  std::vector<std::pair<int, Term>> asked;
  each([&](const Access& access) {
    const Operand& operand = access.location->operand;
    const Term& first = at[access.track];
    const bool is_known = std::ranges::any_of(asked, [&](const std::pair<int, Term>& before) {
      const TermNode &a = before.second.node(), &b = first.node();
      const bool are_constants = a.prim == Prim::kConstant && b.prim == Prim::kConstant;
      return before.first == operand.index && (&a == &b || (are_constants && a.integer == b.integer));
    });
    if (is_known) return;
    asked.emplace_back(operand.index, first);
    const Term one = b_.is_aligned(operand, first, static_cast<size_t>(width_) * access.bytes());
    out = static_cast<bool>(out) ? out && one : one;
  });
  for (auto d = multiples.begin(); d != multiples.end(); ++d)
    if (!d->is_known() && std::find(multiples.begin(), d, *d) == d)
      out = b_.length(*d) % Term(width_) == Term(0) && out;
  return out;
}

void DevicePieces::declare() {
  declare(loads_, "own");
  declare(stores_, "result");
}

void DevicePieces::declare(std::vector<Access>& accesses, const char* name) {
  for (Access& access : accesses) {
    const DType dtype = access.location->operand.type.dtype;
    const TermType type{dtype, lanes(), is_bool(dtype) ? 1 : 0};
    access.array = b_.code().local_array(name, type, 1).node().name;
  }
}

void DevicePieces::by_address(const std::vector<Term>& at, const Term& is_aligned, const AtOnceOrOne& access) const {
  const auto at_once = [&] { access({.at = at, .across = &axis_, .lanes = lanes()}, lanes(), 0); };
  if (!static_cast<bool>(is_aligned)) return at_once();
  b_.code().if_(is_aligned, at_once, [&] {
    each_of_piece(b_.code(), width_, [&](const Term& k) { access({.at = at, .inner = &axis_, .i = k}, 1, k); });
  });
}

void DevicePieces::load(const std::vector<Term>& at, const std::vector<Term>& values, const Term& is_aligned) const {
  by_address(at, is_aligned, [&](const LocationInLoops& here, int, const Term& k) {
    std::vector<Term> with_piece = values;
    for (const Access& load : loads_) {
      tracks_.compute(b_, load.number, here, in_lanes_, with_piece);
      b_.code().store(load.array, k, 1, with_piece[load.number]);
    }
  });
}

bool DevicePieces::loads(size_t value) const {
  return std::ranges::any_of(loads_, [&](const Access& access) { return access.number == value; });
}

Term DevicePieces::loaded(size_t value, const Term& k) const {
  const auto access = std::ranges::find(loads_, value, &Access::number);
  return b_.code().let(nest_.values()[value].name,
                       kernel::load(access->array, access->location->operand.type.dtype, 1, k, 1));
}

void DevicePieces::keep(size_t store, const Term& k, const Term& value) const {
  b_.code().store(std::ranges::find(stores_, store, &Access::number)->array, k, 1, value);
}

void DevicePieces::store(const std::vector<Term>& at, const std::vector<Term>& values, const Term& is_aligned) const {
  if (stores_.empty()) return;
  by_address(at, is_aligned, [&](const LocationInLoops& here, int count, const Term& k) {
    for (const Access& store : stores_)
      tracks_.store(b_, store.number, here, kernel::load(store.array, store.location->operand.type.dtype, count, k, 1),
                    values);
  });
}

}  // namespace thtrain::kernel
