// Matrix products on a device. A block of 256 threads computes a tile of results, each thread up to 4 x 4 (8 x 8) of
// them in registers: slab after slab of what is summed, both factors' parts are copied into shared arrays, from which
// the threads read. After 64 terms the sums move to a second level. A product without rows, or without columns, is a
// reduction.
#include <algorithm>
#include <array>
#include <optional>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/schedule/locations.h"
#include "compiler/kernel/schedule/nest_copy.h"

namespace thtrain::kernel {
namespace {

using Kind = Nest::Value::Kind;

constexpr int kSide = 16;            // threads along each side of a tile, and terms of a slab
constexpr int kPad = 4;              // elements behind each row of a shared array, against conflicts of its banks
constexpr int64_t kLarge = 1 << 20;  // results that are worth tiles of 128 x 128

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

// One factor's part of a tile: `wide` rows or columns of it, each of kSide terms.
struct Panel {
  size_t value, axis;                 // of the nest: the load; of rows, or of columns
  int each, wide = 0;                 // of a thread; of all
  Term first = {};                    // of the tile
  std::string shared = {}, own = {};  // arrays: of the block, of the thread
};

class DeviceProduct {
 public:
  DeviceProduct(StepBuilder& b, const Nest& nest, const Product& product)
      : b_(b), code_(b.code()), nest_(nest), product_(product), tracks_(nest), axes_(tracks_.axes()) {
    dtype_ = nest.values()[product.sum].variable.dtype();
    const bool is_large = dtype_ == DType::kFloat32 && length(*product.row).is_known() &&
                          length(*product.column).is_known() &&
                          length(*product.row).value() * length(*product.column).value() >= kLarge;
    const auto each = [&](size_t axis) {
      int out = is_large ? 8 : 4;
      while (out > 1 && length(axis).is_known() && length(axis).value() <= kSide * out / 2) out /= 2;
      return out;
    };
    panels_ = {Panel{product.left, *product.row, each(*product.row)},
               Panel{product.right, *product.column, each(*product.column)}};
    for (Panel& panel : panels_) panel.wide = panel.each * kSide;
    has_levels_ = is_float(dtype_) && !(count().is_known() && count().value() <= kReduceBlock);
  }

  void run(std::string name, std::string comment) {
    Panel &rows = panels_[0], &columns = panels_[1];
    for (Panel& panel : panels_)
      panel.shared = code_.shared_array(&panel == &rows ? "left" : "right", dtype_, int64_t{kSide} * pitch(panel));
    std::vector<LoopAxis> batch;
    for (size_t i = 0; i < axes_.size(); ++i)
      if (i != product_.row && i != product_.column && i != product_.summed) batch.push_back(axes_[i]);
    batch = collapse(batch);
    const Dim of_rows = tiles(rows), of_columns = tiles(columns);
    Term number = b_.block();
    columns.first = first_of(columns, number);
    rows.first = first_of(rows, number);
    const std::vector<Term> at = batch.empty() ? tracks_.firsts() : unravelled(b_, batch, tracks_.firsts(), number);
    const Term side = Term(kSide);
    along_ = {code_.let("along_rows", b_.thread() / side), code_.let("along_columns", b_.thread() % side)};

    const Term sums = array("sum", rows.each * columns.each);
    if (has_levels_) totals_ = array("total", rows.each * columns.each).node().name;
    sums_ = sums.node().name;
    for (Panel& panel : panels_) panel.own = code_.local_array("own", {dtype_, 1, 0}, panel.each).node().name;
    const Term terms = b_.length(count());
    const auto slabs = [&](const Term& first, const Term& last) {
      code_.loop("slab", first, last, Term(kSide), LoopMark::kSequential, [&](const Term& slab) { add(at, slab); });
    };
    if (has_levels_)
      code_.loop("run", 0, terms, Term(kReduceBlock), LoopMark::kSequential, [&](const Term& run) {
        const Term stop = code_.let("stop", run + Term(kReduceBlock));
        slabs(run, code_.let("last", select(stop < terms, stop, terms)));
        code_.loop("i", 0, Term(rows.each * columns.each), 1, LoopMark::kUnrolled, [&](const Term& i) {
          code_.store(totals_, i, 1, element(totals_, i) + element(sums_, i));
          code_.store(sums_, i, 1, zero());
        });
      });
    else
      slabs(0, terms);
    store_tile(at);
    b_.finish_device_kernel(std::move(name), std::move(comment), of_rows * of_columns * product_of(batch),
                            kSide * kSide,
                            str("tiles of ", rows.wide, " x ", columns.wide, ", a thread for ", rows.each, " x ",
                                columns.each, has_levels_ ? ", on two levels" : ""));
  }

 private:
  const Dim& length(size_t axis) const { return axes_[axis].length; }
  const Dim& count() const { return length(product_.summed); }
  static int64_t pitch(const Panel& panel) { return panel.wide + kPad; }
  Dim tiles(const Panel& panel) const { return blocks_for(length(panel.axis), panel.wide); }
  Term zero() const { return is_float(dtype_) ? constant(dtype_, 0) : constant_int(dtype_, 0); }
  Term element(const std::string& array, const Term& i) const { return kernel::load(array, dtype_, 1, i, 1); }
  Term array(const std::string& name, int64_t size) {
    const Term out = code_.local_array(name, {dtype_, 1, 0}, size);
    code_.loop("i", 0, Term(size), 1, LoopMark::kUnrolled,
               [&](const Term& i) { code_.store(out.node().name, i, 1, zero()); });
    return out;
  }

  // Where tiles, or slabs, of so many end beyond the length, the condition is asked for.
  void inside(const Term& i, const Dim& length, int64_t of, const std::function<void()>& body) {
    if (length.is_known() && length.value() % of == 0) return body();
    code_.if_(i < b_.length(length), body);
  }

  // Takes the tile's number along the panel out of the block's.
  Term first_of(const Panel& panel, Term& number) {
    const Dim count = tiles(panel);
    if (count.is(1)) return 0;
    const Term tile = code_.let("tile", number % b_.length(count));
    number = code_.let("outer", number / b_.length(count));
    return code_.let("first", tile * Term(panel.wide));
  }

  // The tile's row, or column, of the thread's number `i`: up to 4 side by side, which are one load of a shared array.
  Term own(const Panel& panel, const Term& along, const Term& i) const {
    const int run = std::min(panel.each, 4);
    if (panel.each == run) return run == 1 ? along : along * Term(run) + i;
    return i / Term(run) * Term(kSide * run) + along * Term(run) + i % Term(run);
  }

  // Copies a slab of both factors, and adds its products to the sums.
  void add(const std::vector<Term>& at, const Term& slab) {
    code_.barrier();
    for (const Panel& panel : panels_) copy(panel, at, slab);
    code_.barrier();
    const Panel &rows = panels_[0], &columns = panels_[1];
    code_.loop("k", 0, Term(kSide), 1, LoopMark::kUnrolled, [&](const Term& k) {
      for (size_t p : {0, 1})
        code_.loop("i", 0, Term(panels_[p].each), 1, LoopMark::kUnrolled, [&](const Term& i) {
          code_.store(panels_[p].own, i, 1,
                      element(panels_[p].shared, k * Term(pitch(panels_[p])) + own(panels_[p], along_[p], i)));
        });
      each_result([&](const Term& i, const Term& j, const Term& number) {
        const Term left = element(rows.own, i), right = element(columns.own, j), sum = element(sums_, number);
        code_.store(sums_, number, 1, is_float(dtype_) ? fma(left, right, sum) : sum + left * right);
      });
    });
  }

  // Neighbouring threads read what lies side by side; what is outside of the factor is 0.
  void copy(const Panel& panel, const std::vector<Term>& at, const Term& slab) {
    const LoopAxis &lines = axes_[panel.axis], &terms = axes_[product_.summed];
    const bool is_along = tracks_.is_contiguous(tracks_.of_value(panel.value), lines);
    const Term inner = is_along ? panel.wide : kSide;
    code_.loop("part", 0, Term(panel.each), 1, LoopMark::kUnrolled, [&](const Term& part) {
      const Term near = code_.let("near", b_.thread() % inner),
                 far = code_.let("far", b_.thread() / inner + part * (Term(kSide * kSide) / inner));
      const Term &line = is_along ? near : far, &term = is_along ? far : near;
      const Term i = code_.let("i", panel.first + line), k = code_.let("k", slab + term);
      const Term x = code_.var("x", zero());
      inside(i, lines.length, panel.wide, [&] {
        inside(k, terms.length, kSide, [&] {
          std::vector<Term> values(nest_.values().size());
          tracks_.compute(b_, panel.value, {.at = further(b_, further(b_, at, lines, i), terms, k)}, {}, values);
          code_.assign(x, values[panel.value]);
        });
      });
      code_.store(panel.shared, term * Term(pitch(panel)) + line, 1, x);
    });
  }

  void each_result(const std::function<void(const Term& i, const Term& j, const Term& number)>& body) {
    const Panel &rows = panels_[0], &columns = panels_[1];
    code_.loop("i", 0, Term(rows.each), 1, LoopMark::kUnrolled, [&](const Term& i) {
      code_.loop("j", 0, Term(columns.each), 1, LoopMark::kUnrolled,
                 [&](const Term& j) { body(i, j, i * Term(columns.each) + j); });
    });
  }

  void store_tile(const std::vector<Term>& at) {
    const Panel &rows = panels_[0], &columns = panels_[1];
    each_result([&](const Term& i, const Term& j, const Term& number) {
      const Term row = code_.let("row", rows.first + own(rows, along_[0], i)),
                 column = code_.let("column", columns.first + own(columns, along_[1], j));
      inside(row, length(rows.axis), rows.wide, [&] {
        inside(column, length(columns.axis), columns.wide, [&] {
          const LocationInLoops here{
              .at = further(b_, further(b_, at, axes_[rows.axis], row), axes_[columns.axis], column)};
          std::vector<Term> values(nest_.values().size());
          for (size_t v = 0; v < values.size(); ++v) {
            if (v == product_.sum || v == product_.next || v == product_.left || v == product_.right) continue;
            if (nest_.values()[v].kind == Kind::kLast)
              values[v] = code_.let("sum", element(has_levels_ ? totals_ : sums_, number));
            else
              tracks_.compute(b_, v, here, std::vector<bool>(values.size(), false), values);
          }
          for (size_t s = 0; s < nest_.stores().size(); ++s)
            tracks_.store(b_, s, here, bound(nest_, nest_.stores()[s].value, values), values);
        });
      });
    });
  }

  StepBuilder& b_;
  Code& code_;
  const Nest& nest_;
  const Product product_;
  Tracks tracks_;
  const std::vector<LoopAxis> axes_;
  DType dtype_;
  bool has_levels_ = false;
  std::array<Panel, 2> panels_;
  std::array<Term, 2> along_;  // the thread's number along the rows, and the columns, of threads
  std::string sums_, totals_;
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

bool schedule_device_product(StepBuilder& b, const Nest& nest, const std::string& name, const std::string& comment) {
  const std::optional<Product> product = product_in(nest);
  if (!product) return false;
  if (!product->row || !product->column) {
    schedule_device_rows(b, reduction_of(nest, *product), name, comment);
    return true;
  }
  const Dim& count = nest.axes()[product->summed].length;
  if (count.is_known() && count.value() < kSide) return false;  // not worth a slab
  DeviceProduct(b, nest, *product).run(name, comment);
  return true;
}

}  // namespace thtrain::kernel
