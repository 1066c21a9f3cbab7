// Nests that are matrix products, on a device: in tiles of results (device_tiles.h). A product without rows, or without
// columns, is a reduction.
#include <optional>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/schedule/device_tiles.h"
#include "compiler/kernel/schedule/locations.h"
#include "compiler/kernel/schedule/nest_copy.h"

namespace thtrain::kernel {
namespace {

using Kind = Nest::Value::Kind;

// The carried sum of products that a nest is.
struct Product {
  size_t sum, next, left, right;  // values
  size_t summed;                  // an axis
  std::optional<size_t> row, column;
};

std::optional<Product> product_in(const Nest& nest) {
  const std::vector<Nest::Value>& values = nest.values();
  std::optional<size_t> sum, next, summed;
  for (size_t v = 0; v < values.size(); ++v) {
    const bool is_carried = values[v].kind == Kind::kCarried, is_next = values[v].kind == Kind::kSet;
    if (values[v].kind == Kind::kWhere || (is_carried && sum) || (is_next && next) || !may_be_copied(values[v]))
      return {};
    if (is_carried) sum = v;
    if (is_next) next = v;
  }
  for (size_t i = 0; i < nest.axes().size(); ++i) {
    const AxisKind kind = nest.axes()[i].kind;
    if (kind == AxisKind::kInStep || (kind == AxisKind::kSequential && summed)) return {};
    if (kind == AxisKind::kSequential) summed = i;
  }
  if (!nest.bounds.empty() || !sum || !next || !summed) return {};
  const TermNode& start = values[*sum].term.node();
  if (start.prim != Prim::kConstant || start.number != 0 || start.integer != 0) return {};
  const TermNode& added = values[*next].term.node();
  if (added.prim != Prim::kAdd || nest.value_of(added.args[0]) != sum || added.args[1].node().prim != Prim::kMul)
    return {};
  const std::vector<Term>& factors = added.args[1].node().args;
  const std::optional<size_t> left = nest.value_of(factors[0]), right = nest.value_of(factors[1]);
  if (!left || !right || left == right || values[*left].kind != Kind::kLoad || values[*right].kind != Kind::kLoad)
    return {};
  // Nothing else is in the loop.
  for (size_t v = 0; v < values.size(); ++v) {
    bool reads = false;
    nest.each_read(values[v], [&](size_t r) { reads = reads || r == *left || r == *right || r == *sum; });
    if ((reads && v != *next && values[v].kind != Kind::kLast) ||
        (v != *left && v != *right && moves(nest, v, *summed)))
      return {};
  }
  for (const Nest::Store& store : nest.stores())
    if (store.location.is_indexed() || !store.location.strides[*summed].is(0)) return {};
  Product out{*sum, *next, *left, *right, *summed, {}, {}};
  for (size_t i = 0; i < nest.axes().size(); ++i) {
    if (i == *summed || nest.axes()[i].length.is(1)) continue;
    const bool moves_left = moves(nest, *left, i), moves_right = moves(nest, *right, i);
    if (moves_left && !moves_right) out.row = i;
    if (moves_right && !moves_left) out.column = i;
  }
  return out;
}

class DeviceProduct {
 public:
  DeviceProduct(StepBuilder& b, const Nest& nest, const Product& product)
      : b_(b), nest_(nest), product_(product), tracks_(nest), axes_(tracks_.axes()) {}

  void run(std::string name, std::string comment, const std::optional<DeviceTiling>& tiling) {
    std::vector<LoopAxis> batch;
    for (size_t i = 0; i < axes_.size(); ++i)
      if (i != product_.row && i != product_.column && i != product_.summed) batch.push_back(axes_[i]);
    batch = collapse(batch);
    const DType dtype = nest_.values()[product_.sum].variable.dtype();
    const TiledProduct tiles{
        .dtype = dtype,
        .left = factor(product_.left, *product_.row),
        .right = factor(product_.right, *product_.column),
        .terms = axes_[product_.summed].length,
        .count = product_of(batch),
        .begin =
            [&](const Term& number, const Term&) {
              at_ = batch.empty() ? tracks_.firsts() : unravelled(b_, batch, tracks_.firsts(), number);
            },
        .store = [&](const Term& row, const Term& column, const Term& sum) { store(row, column, sum); }};
    const DeviceTiling usual =
        near_tilings(b_.target(), dtype, tiles.left.lines, tiles.right.lines, tiles.count).front();
    tiled_product(b_, tiles, tiling.value_or(usual), std::move(name), std::move(comment));
  }

 private:
  TiledProduct::Factor factor(size_t value, size_t axis) {
    const LoopAxis &lines = axes_[axis], &terms = axes_[product_.summed];
    return {lines.length, tracks_.is_contiguous(tracks_.of_value(value), lines),
            [&, value](const Term& to, const Term& line, const Term& term) {
              std::vector<Term> values(nest_.values().size());
              tracks_.compute(b_, value, {.at = further(b_, further(b_, at_, lines, line), terms, term)}, {}, values);
              b_.code().assign(to, values[value]);
            }};
  }

  void store(const Term& row, const Term& column, const Term& sum) {
    const LocationInLoops here{
        .at = further(b_, further(b_, at_, axes_[*product_.row], row), axes_[*product_.column], column)};
    std::vector<Term> values(nest_.values().size());
    for (size_t v = 0; v < values.size(); ++v) {
      if (v == product_.sum || v == product_.next || v == product_.left || v == product_.right) continue;
      if (nest_.values()[v].kind == Kind::kLast)
        values[v] = sum;
      else
        tracks_.compute(b_, v, here, std::vector<bool>(values.size(), false), values);
    }
    for (size_t s = 0; s < nest_.stores().size(); ++s)
      tracks_.store(b_, s, here, bound(nest_, nest_.stores()[s].value, values), values);
  }

  StepBuilder& b_;
  const Nest& nest_;
  const Product product_;
  Tracks tracks_;
  const std::vector<LoopAxis> axes_;
  std::vector<Term> at_;  // of the tracks, for the product of the batch
};

// The products of an element as a reduction.
Nest reduction_of(const Nest& nest, const Product& product) {
  std::vector<NestAxis> axes = nest.axes();
  axes[product.summed].kind = AxisKind::kReduce;
  Nest out(std::move(axes));
  std::vector<Term> values(nest.values().size());
  for (size_t v = 0; v < values.size(); ++v) {
    const Nest::Value& value = nest.values()[v];
    if (value.kind == Kind::kCarried) continue;
    if (value.kind == Kind::kSet) {
      const DType dtype = value.variable.dtype();
      values[product.sum] =
          out.reduce("sum",
                     {.dtype = dtype,
                      .identity = [](DType of) { return is_float(of) ? constant(of, 0) : constant_int(of, 0); },
                      .combine = [](const Term& a, const Term& b) { return a + b; },
                      .lanes = "add",
                      .rounds = is_float(dtype)},
                     out.let("product", values[product.left] * values[product.right]));
    } else if (value.kind == Kind::kLast) {
      values[v] = values[product.sum];
    } else {
      copy_value(nest, v, out, values);
    }
  }
  for (const Nest::Store& store : nest.stores()) out.store(store.location, bound(nest, store.value, values));
  return out;
}

}  // namespace

bool schedule_device_product(StepBuilder& b, const Nest& nest, const std::string& name, const std::string& comment,
                             const std::optional<DeviceTiling>& tiling) {
  const std::optional<Product> product = product_in(nest);
  if (!product) return false;
  if (!product->row || !product->column) {
    schedule_device_rows(b, reduction_of(nest, *product), name, comment);
    return true;
  }
  const Dim& count = nest.axes()[product->summed].length;
  if (count.is_known() && count.value() < kLeastTiledTerms) return false;
  DeviceProduct(b, nest, *product).run(name, comment, tiling);
  return true;
}

}  // namespace thtrain::kernel
