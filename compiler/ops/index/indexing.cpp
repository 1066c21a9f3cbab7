// NumPy's x[...]: any indices become slices, an order of axes, elements that integers name, and new axes.
#include <algorithm>
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/slices.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {
namespace {

class Indexing {
 public:
  Indexing(const Expr& x, const std::vector<Index>& indices, std::source_location where)
      : x_(x), now_(x), where_(where) {
    for (const Index& index : indices) entries_.push_back(entry_of(index));
    place_entries();
  }

  Expr part() {
    const auto any = [&](auto&& is) { return std::any_of(entries_.begin(), entries_.end(), is); };
    const bool names_elements = any([](const Entry& e) { return e.names_elements(); });
    const bool cuts = any([](const Entry& e) { return e.form == Form::kSlice && !is_all(*e.index->slice()); });
    // Integers among elements are named like these, unless a part is cut out anyway.
    if (names_elements)
      for (Entry& entry : entries_)
        if (entry.form == Form::kNumber && !(cuts && symbolic_value(entry.index->number().expr())))
          entry.form = Form::kElements;
    take_computed_slices();
    if (cuts || !names_elements) take_rectangular_part();
    if (names_elements) take_elements();
    add_new_axes();
    return as_part(now_, steps());
  }

 private:
  enum class Form { kNumber, kSlice, kEllipsis, kNewAxis, kElements, kMask };

  struct Entry {
    Form form;
    const Index* index;  // null for axes that no index names
    size_t axes, first;  // how many axes of x it takes, and which

    bool names_elements() const { return form == Form::kElements || form == Form::kMask; }
    bool is_advanced() const { return form == Form::kNumber || names_elements(); }
  };

  static bool is_all(const Slice& slice) { return !slice.start && !slice.stop && !slice.step; }

  Entry entry_of(const Index& index) {
    if (index.is_ellipsis()) return {Form::kEllipsis, &index, 0, 0};
    if (index.is_new_axis()) return {Form::kNewAxis, &index, 0, 0};
    if (const Slice* slice = index.slice()) {
      for (const auto& end : {slice->start, slice->stop, slice->step})
        if (end) require_integer(*end);
      return {Form::kSlice, &index, 1, 0};
    }
    if (index.number().is_literal()) return {Form::kNumber, &index, 1, 0};
    const Expr number = index.number().expr();
    if (is_bool(number.dtype()) && number.rank() > 0) return {Form::kMask, &index, number.rank(), 0};
    if (is_int(number.dtype())) return {number.rank() > 0 ? Form::kElements : Form::kNumber, &index, 1, 0};
    fail_build(where_, "subtensor: an index is neither integers nor bools",
               "integers, slices, integer tensors, masks with axes, an ellipsis or new axes", value_text(number));
  }

  void require_integer(const Operand& end) {
    const Expr number = end.expr();
    if (!number.type().is_scalar() || !is_int(number.dtype()))
      fail_build(where_, "subtensor: an end or the step of a slice is no integer scalar", "an integer without axes",
                 value_text(number));
  }

  // Axes that no index names are an ellipsis; each of them is a slice of all.
  void place_entries() {
    const size_t taken = std::accumulate(entries_.begin(), entries_.end(), size_t{0},
                                         [](size_t n, const Entry& e) { return n + e.axes; });
    if (taken > x_.rank())
      fail_build(where_,
                 taken == entries_.size() ? str("subtensor: ", taken, " indices are given")
                                          : str("subtensor: the indices are for ", taken, " axes"),
                 str("at most ", x_.rank()), value_text(x_));
    const auto is_ellipsis = [](const Entry& entry) { return entry.form == Form::kEllipsis; };
    auto rest = std::find_if(entries_.begin(), entries_.end(), is_ellipsis);
    if (rest == entries_.end()) rest = entries_.insert(rest, {Form::kEllipsis, nullptr, 0, 0});
    if (std::find_if(rest + 1, entries_.end(), is_ellipsis) != entries_.end())
      fail_build(where_, "subtensor: there are two ellipses", "one at most");
    rest->axes = x_.rank() - taken;
    size_t axis = 0;
    for (Entry& entry : entries_) {
      entry.first = axis;
      axis += entry.axes;
    }
  }

  void take_computed_slices() {
    for (const Entry& entry : entries_)
      if (entry.form == Form::kSlice && needs_positions(*entry.index->slice())) {
        const Expr at = ComputedSlice(x_, entry.first, *entry.index->slice(), where_).positions();
        now_ = apply(gather_op(), {now_, at}, {{"axes", Ints{static_cast<int64_t>(entry.first)}}, {"distinct", true}},
                     where_);
      }
  }

  void take_rectangular_part() {
    std::vector<Index> indices(x_.rank(), all());
    for (const Entry& entry : entries_)
      if (entry.form == Form::kNumber || (entry.form == Form::kSlice && !needs_positions(*entry.index->slice())))
        indices[entry.first] = *entry.index;
    now_ = rectangular_part(now_, indices, where_);
  }

  // Each mask's axes become one, which its indices name. The named axes come next to each other.
  void take_elements() {
    Dims lengths = now_.dims(), merged;
    std::vector<Operand> indices;
    std::vector<int64_t> named, shown;
    bool are_masks = true;
    size_t axis = 0;  // of now_
    for (const Entry& entry : entries_) {
      if (entry.form == Form::kMask) {
        const Expr mask = entry.index->number().expr();
        std::copy(mask.dims().begin(), mask.dims().end(), lengths.begin() + static_cast<std::ptrdiff_t>(axis));
        const std::source_location& where = entry.index->where();
        add_named(indices, named, merged.size(), {indices_of_mask(mask, mask, where), where});
        merged.push_back(product(mask.dims()));
        axis += entry.axes;
      } else if (entry.form == Form::kElements) {
        add_named(indices, named, merged.size(), entry.index->number());
        merged.push_back(lengths[axis++]);
        are_masks = false;
      } else if (entry.form == Form::kSlice || entry.form == Form::kEllipsis) {
        for (size_t i = 0; i < entry.axes; ++i) merged.push_back(lengths[axis++]);
      }
      if (entry.names_elements()) shown.push_back(static_cast<int64_t>(entry.first));
    }
    now_ = specify_lengths(Operand(now_, where_), lengths, "subtensor by a mask");
    if (merged.size() != lengths.size()) now_ = reshape(Operand(now_, where_), merged);

    order_elements();
    std::vector<int64_t> order;
    for (size_t i = 0; i < merged.size(); ++i)
      if (std::find(named.begin(), named.end(), i) == named.end()) order.push_back(static_cast<int64_t>(i));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(elements_at_), named.begin(), named.end());
    if (!std::is_sorted(order.begin(), order.end())) now_ = transpose(Operand(now_, where_), order);
    const size_t kept = now_.rank() - named.size();
    now_ = gather(now_, indices, elements_at_, shown, are_masks && named.size() == 1);
    element_axes_ = now_.rank() - kept;
  }

  static void add_named(std::vector<Operand>& indices, std::vector<int64_t>& named, size_t axis, const Operand& at) {
    indices.push_back(at);
    named.push_back(static_cast<int64_t>(axis));
  }

  // NumPy's rule: the elements' axes are where the first integer, integer tensor or mask is if all of these follow each
  // other, else they are first.
  void order_elements() {
    enum { kBefore, kWithin, kBehind } location = kBefore;
    for (const Entry& entry : entries_) {
      if (entry.is_advanced()) {
        elements_first_ = elements_first_ || location == kBehind;
        location = kWithin;
      } else if (entry.index || entry.axes > 0) {
        if (location == kBefore) elements_at_ += entry.axes;
        if (location == kWithin) location = kBehind;
      }
    }
    if (elements_first_) elements_at_ = 0;
  }

  void add_new_axes() {
    const auto is_new = [](const Entry& entry) { return entry.form == Form::kNewAxis; };
    if (std::none_of(entries_.begin(), entries_.end(), is_new)) return;
    std::vector<int64_t> order;
    bool are_elements_there = false;
    const auto add_elements = [&] {
      for (size_t i = 0; i < element_axes_; ++i) order.push_back(static_cast<int64_t>(elements_at_ + i));
      are_elements_there = true;
    };
    if (elements_first_) add_elements();
    size_t kept = 0;
    for (const Entry& entry : entries_) {
      if (is_new(entry)) order.push_back(-1);
      if (entry.is_advanced() && !are_elements_there) add_elements();
      if (entry.form == Form::kSlice || entry.form == Form::kEllipsis)
        for (size_t i = 0; i < entry.axes; ++i, ++kept)
          order.push_back(static_cast<int64_t>(kept < elements_at_ ? kept : kept + element_axes_));
    }
    now_ = dimshuffle(Operand(now_, where_), order);
  }

  // The ops that made the part, each on the input 0 of the next.
  int steps() const {
    int out = 0;
    for (Expr e = now_; !e.same(x_); e = e.node().inputs[0]) ++out;
    return out;
  }

  Expr x_, now_;
  std::source_location where_;
  std::vector<Entry> entries_;
  bool elements_first_ = false;  // their axes are the first of the part
  size_t elements_at_ = 0, element_axes_ = 0;
};

}  // namespace

Expr subtensor(const Operand& operand, const std::vector<Index>& indices) {
  const Expr x = require_value(operand.expr(), "what is indexed", operand.where());
  return Indexing(x, indices, operand.where()).part();
}

Expr Expr::operator[](const Index& index) const {
  return subtensor(Operand(require_value(*this, "what is indexed", index.where()), index.where()), {index});
}

Expr Expr::operator[](std::initializer_list<Index> indices) const {
  if (indices.size() == 0) return *this;
  const std::source_location where = indices.begin()->where();
  return subtensor(Operand(require_value(*this, "what is indexed", where), where), indices);
}

Expr masked(const Operand& x, const Operand& mask) {
  const Expr chosen = mask.expr();
  if (!is_bool(chosen.dtype()) || chosen.rank() == 0 || chosen.rank() > x.expr().rank())
    fail_build(mask.where(), "masked: the mask does not fit the value",
               x.expr().rank() == 0   ? "a value with axes"
               : x.expr().rank() == 1 ? "a bool vector"
                                      : str("bools with 1 to ", x.expr().rank(), " axes"),
               str(value_text(x.expr()), " and ", value_text(chosen)));
  return subtensor(x, {Index(chosen, mask.where())});
}

}  // namespace thtrain
