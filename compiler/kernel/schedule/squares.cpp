#include "compiler/kernel/schedule/squares.h"

#include <algorithm>

namespace thtrain::kernel {
namespace {

using Kind = Nest::Value::Kind;

constexpr size_t kMostValues = 8;  // of a nest: its code is written out for each row of a square

bool is_load(const Nest::Value& value) {
  return value.kind == Kind::kLoad;
}

// Elements of one size, whose locations follow from the axes, and arithmetic.
bool is_simple(const StepBuilder& b, const Nest& nest) {
  const size_t size = nest.widest();
  auto fits = [&](const Location& location) {
    const DType dtype = location.operand.type.dtype;
    return !location.is_indexed() && location.pair == Location::Pair::kNone && is_float(dtype) &&
           size_of(dtype) == size;
  };
  for (const Nest::Value& value : nest.values()) {
    if (!is_load(value) && value.kind != Kind::kLet) return false;
    if (is_load(value) ? !fits(value.location) : calls_library(value.term, b.target())) return false;
  }
  return nest.values().size() <= kMostValues && nest.stores().size() == 1 && fits(nest.stores()[0].location);
}

class Squares {
 public:
  Squares(StepBuilder& b, const Nest& nest, const SquareAxes& square)
      : b_(b),
        code_(b.code()),
        nest_(nest),
        tracks_(nest),
        axes_(collapse(tracks_.axes())),
        stored_(axes_[square.stored]),
        loaded_(axes_[square.loaded]),
        lanes_(whole_lanes(b, nest.widest())),
        varies_(tracks_.varying(stored_)) {
    for (size_t i = 0; i < axes_.size(); ++i)
      if (i != square.stored && i != square.loaded) outside_.push_back(axes_[i]);
    for (size_t v = 0; v < nest.values().size(); ++v)
      if (is_load(nest.values()[v]) && is_across(tracks_.of_value(v))) across_.push_back(v);
  }

  void run(std::string name, std::string comment) {
    loops(0, tracks_.firsts());
    Dim work = std::max<int64_t>(nest_.work, 1) * stored_.length;  // of one iteration of the range
    for (size_t i = 1; i < outside_.size(); ++i) work = work * outside_[i].length;
    if (!outside_.empty()) work = work * loaded_.length;
    const Dim grain = nest_.work > 0 ? floor_div(Dim(b_.target().grain_of_work()), max(work, 1)) + 1 : Dim(0);
    const ScheduleChoice choice{.lanes = lanes_, .over = "squares"};
    b_.finish_kernel(std::move(name), std::move(comment), outside_.empty() ? loaded_.length : outside_[0].length, grain,
                     outside_.empty() ? lanes_ : 1, choice.text());
  }

 private:
  bool is_across(size_t track) const { return loaded_.strides[track].is(1) && !stored_.strides[track].is(0); }

  std::vector<Term> moved(const std::vector<Term>& at, const LoopAxis& axis, const Term& i) {
    std::vector<Term> out;
    for (size_t k = 0; k < at.size(); ++k)
      out.push_back(code_.let(str("at", k), at[k] + i * b_.length(axis.strides[k])));
    return out;
  }

  // Over the axes outside, then over squares: along the stores last, which are then written one behind the other.
  void loops(size_t depth, const std::vector<Term>& at) {
    if (depth < outside_.size()) {
      const LoopAxis& axis = outside_[depth];
      code_.loop(str("i", depth), depth == 0 ? b_.begin() : Term(0), depth == 0 ? b_.end() : b_.length(axis.length), 1,
                 LoopMark::kSequential, [&](const Term& i) { loops(depth + 1, moved(at, axis, i)); });
      return;
    }
    each_part("rows", loaded_.length.value(), outside_.empty(), [&](const Term& row, int64_t rows) {
      const std::vector<Term> first = moved(at, loaded_, row);
      each_part("i", stored_.length.value(), false,
                [&](const Term& i, int64_t count) { square(first, i, rows, count); });
    });
  }

  // body(first, how many) for as many iterations of a known length as a vector has lanes, and for the rest.
  void each_part(const std::string& name, int64_t length, bool is_range,
                 const std::function<void(const Term&, int64_t)>& body) {
    const int64_t rest = length % lanes_;
    if (length >= lanes_)
      code_.loop(name, is_range ? b_.begin() : Term(0), (is_range ? b_.end() : Term(length)) - Term(lanes_ - 1), lanes_,
                 LoopMark::kSequential, [&](const Term& i) { body(i, lanes_); });
    if (rest == 0) return;
    if (!is_range) return body(Term(length - rest), rest);
    code_.if_(b_.end() == Term(length), [&] { body(Term(length - rest), rest); });
  }

  // Iterations i to i + count along the stores, for `rows` iterations along the loads from `first` on.
  void square(const std::vector<Term>& first, const Term& i, int64_t rows, int64_t count) {
    std::vector<std::vector<Term>> turned;
    for (size_t v : across_) turned.push_back(transposed_square(v, first, i, rows, count));
    std::vector<Term> values(nest_.values().size());
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<Term> at;
      for (size_t k = 0; k < first.size(); ++k) at.push_back(first[k] + Term(row) * b_.length(loaded_.strides[k]));
      const LocationInLoops here{std::move(at), &stored_, i, &stored_, lanes_, count < lanes_ ? Term(count) : Term()};
      for (size_t v = 0, next = 0; v < values.size(); ++v)
        if (next < across_.size() && across_[next] == v)
          values[v] = turned[next++][static_cast<size_t>(row)];
        else
          tracks_.compute(b_, v, here, varies_, values);
      tracks_.store(b_, 0, here, bound(nest_, nest_.stores()[0].value, values), values);
    }
  }

  std::vector<Term> transposed_square(size_t v, const std::vector<Term>& first, const Term& i, int64_t rows,
                                      int64_t count) {
    const size_t track = tracks_.of_value(v);
    const Operand& from = nest_.values()[v].location.operand;
    std::vector<Term> vectors;
    for (int64_t k = 0; k < lanes_; ++k) {
      const Term at = first[track] + (i + Term(std::min(k, count - 1))) * b_.length(stored_.strides[track]);
      vectors.push_back(k < count ? code_.let("x", b_.load(from, at, lanes_, 1, rows < lanes_ ? Term(rows) : Term()))
                                  : vectors.back());
    }
    return transposed(code_, std::move(vectors));
  }

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  Tracks tracks_;
  std::vector<LoopAxis> axes_, outside_;
  LoopAxis stored_, loaded_;
  int lanes_;
  std::vector<bool> varies_;    // along the stores
  std::vector<size_t> across_;  // loads that are transposed
};

}  // namespace

std::optional<SquareAxes> square_axes(const StepBuilder& b, const Nest& nest, const Tracks& tracks,
                                      const std::vector<LoopAxis>& axes) {
  if (axes.size() < 2 || !is_simple(b, nest)) return std::nullopt;
  const int64_t lanes = whole_lanes(b, nest.widest());
  // Vectors along a shorter axis would be loaded half empty. Where the stores' axis is short, elements would be loaded
  // and stored one by one otherwise: it may have any length.
  auto is_long = [&](const LoopAxis& axis) { return axis.length.is_known() && 2 * axis.length.value() >= lanes; };
  SquareAxes out{axes.size() - 1, axes.size()};
  const LoopAxis& stored = axes.back();
  if (lanes < 2 || !stored.length.is_known() || !stored.strides[tracks.of_store(0)].is(1)) return std::nullopt;
  for (const LoopAxis& axis : axes)
    if (axis.kind != AxisKind::kParallel) return std::nullopt;
  for (size_t v = 0; v < nest.values().size(); ++v) {
    if (!is_load(nest.values()[v])) continue;
    const size_t track = tracks.of_value(v);
    if (stored.strides[track].is(0) || stored.strides[track].is(1)) continue;
    size_t along = 0;
    while (along < out.stored && !(axes[along].strides[track].is(1) && is_long(axes[along]))) ++along;
    if (along == out.stored || (out.loaded < axes.size() && out.loaded != along)) return std::nullopt;
    out.loaded = along;
  }
  return out.loaded < axes.size() ? std::optional(out) : std::nullopt;
}

void schedule_squares(StepBuilder& b, const Nest& nest, const SquareAxes& square, std::string name,
                      std::string comment) {
  Squares(b, nest, square).run(std::move(name), std::move(comment));
}

}  // namespace thtrain::kernel
