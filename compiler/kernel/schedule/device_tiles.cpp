#include "compiler/kernel/schedule/device_tiles.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/base/ceil_div.h"
#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"

namespace thtrain::kernel {
namespace {

constexpr int kSide = 16;  // threads along each side of a tile, and terms of a slab
constexpr int kPad = 4;    // elements behind each row of a shared array, against conflicts of its banks
constexpr int kLengths[] = {128, 64, 32, 16};
constexpr int kMostWords = 64;              // of a thread's sums
constexpr double kThreadsAtWork = 1 << 16;  // fewer take as long
constexpr double kUsualLength = 1024;       // that a call decides

// One factor's part of a tile: `wide` rows or columns of it, each of kSide terms.
struct Panel {
  const TiledProduct::Factor& factor;
  int each, wide;                                // of a thread; of all
  Term first = {};                               // of the tile
  Term along = {};                               // the thread's number along it
  std::string shared = {}, next = {}, own = {};  // arrays: of the block; of the thread, for the next slab and a term
};

class Tiles {
 public:
  Tiles(StepBuilder& b, const TiledProduct& product, const DeviceTiling& tiling)
      : b_(b),
        code_(b.code()),
        product_(product),
        panels_{Panel{product.left, tiling.rows / kSide, tiling.rows},
                Panel{product.right, tiling.columns / kSide, tiling.columns}} {
    const Dim& terms = product.terms;
    TH_CHECK(product.parts == 1 || terms.is_known(), "parts of a number of terms that a call decides");
    if (product.parts > 1) part_terms_ = ceil_div(ceil_div(terms.value(), product.parts), kReduceBlock) * kReduceBlock;
    has_levels_ = is_float(product.dtype) && !(terms.is_known() && terms.value() <= kReduceBlock);
  }

  void run(std::string name, std::string comment) {
    Panel &rows = panels_[0], &columns = panels_[1];
    for (Panel& panel : panels_)
      panel.shared =
          code_.shared_array(&panel == &rows ? "left" : "right", product_.dtype, int64_t{kSide} * pitch(panel));
    const Dim of_rows = tiles(rows), of_columns = tiles(columns);
    Term number = b_.block();
    columns.first = first_of(columns, number);
    rows.first = first_of(rows, number);
    begin(number);
    rows.along = code_.let("along_rows", b_.thread() / Term(kSide));
    columns.along = code_.let("along_columns", b_.thread() % Term(kSide));
    const Term sums = array("sum", rows.each * columns.each);
    sums_ = sums.node().name;
    if (has_levels_) totals_ = array("total", rows.each * columns.each).node().name;
    for (Panel& panel : panels_) {
      panel.next = code_.local_array("next", {product_.dtype, 1, 0}, panel.each).node().name;
      panel.own = code_.local_array("own", {product_.dtype, 1, 0}, panel.each).node().name;
    }
    if (product_.parts == 1 && product_.terms.is_known() && !product_.terms.is(0))
      fetch(first_term_);
    else
      code_.if_(first_term_ < last_term_, [&] { fetch(first_term_); });
    const auto slabs = [&](const Term& first, const Term& last) {
      code_.loop("slab", first, last, Term(kSide), LoopMark::kSequential, [&](const Term& slab) { add(slab); });
    };
    if (has_levels_)
      code_.loop("run", first_term_, last_term_, Term(kReduceBlock), LoopMark::kSequential, [&](const Term& run) {
        const Term stop = code_.let("stop", run + Term(kReduceBlock));
        slabs(run, code_.let("last", select(stop < last_term_, stop, last_term_)));
        code_.loop("i", 0, Term(rows.each * columns.each), 1, LoopMark::kUnrolled, [&](const Term& i) {
          code_.store(totals_, i, 1, element(totals_, i) + element(sums_, i));
          code_.store(sums_, i, 1, zero());
        });
      });
    else
      slabs(first_term_, last_term_);
    store_tile();
    const std::string in_parts = product_.parts == 1 ? "" : str(", the terms in ", product_.parts, " parts");
    b_.finish_device_kernel(std::move(name), std::move(comment),
                            of_rows * of_columns * Dim(product_.parts) * product_.count, kSide * kSide,
                            str("tiles of ", rows.wide, " x ", columns.wide, ", a thread for ", rows.each, " x ",
                                columns.each, has_levels_ ? ", on two levels" : "", in_parts));
  }

 private:
  static int64_t pitch(const Panel& panel) { return panel.wide + kPad; }
  static Dim tiles(const Panel& panel) { return blocks_for(panel.factor.lines, panel.wide); }
  Term zero() const { return is_float(product_.dtype) ? constant(product_.dtype, 0) : constant_int(product_.dtype, 0); }
  Term element(const std::string& array, const Term& i) const { return kernel::load(array, product_.dtype, 1, i, 1); }
  Term array(const std::string& name, int64_t size) {
    const Term out = code_.local_array(name, {product_.dtype, 1, 0}, size);
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

  void begin(Term number) {
    Term part = 0;
    last_term_ = b_.length(product_.terms);
    if (product_.parts > 1) {
      part = code_.let("part", number % Term(product_.parts));
      number = code_.let("outer", number / Term(product_.parts));
      first_term_ = code_.let("first_term", part * Term(part_terms_));
      const Term stop = code_.let("stop", first_term_ + Term(part_terms_));
      last_term_ = code_.let("last_term", select(stop < last_term_, stop, last_term_));
    }
    if (product_.begin) product_.begin(number, part);
  }

  // The tile's row, or column, of the thread's number `i`: up to 4 side by side, which are one load of a shared array.
  Term own(const Panel& panel, const Term& i) const {
    const int run = std::min(panel.each, 4);
    if (panel.each == run) return run == 1 ? panel.along : panel.along * Term(run) + i;
    return i / Term(run) * Term(kSide * run) + panel.along * Term(run) + i % Term(run);
  }

  // The thread's number `part` of a slab: its line and term. Neighbouring threads read what lies side by side.
  std::array<Term, 2> place(const Panel& panel, const Term& part) {
    const Term inner = panel.factor.are_lines_together ? panel.wide : kSide;
    const Term near = code_.let("near", b_.thread() % inner),
               far = code_.let("far", b_.thread() / inner + part * (Term(kSide * kSide) / inner));
    return panel.factor.are_lines_together ? std::array{near, far} : std::array{far, near};
  }

  // Loads the thread's elements of a slab; what is outside of a factor is 0.
  void fetch(const Term& slab) {
    for (const Panel& panel : panels_)
      code_.loop("part", 0, Term(panel.each), 1, LoopMark::kUnrolled, [&](const Term& part) {
        const auto [line, term] = place(panel, part);
        const Term i = code_.let("i", panel.first + line), k = code_.let("k", slab + term);
        const Term x = code_.var("x", zero());
        inside(i, panel.factor.lines, panel.wide,
               [&] { inside(k, product_.terms, kSide, [&] { panel.factor.load(x, i, k); }); });
        code_.store(panel.next, part, 1, x);
      });
  }

  // Puts the slab that was loaded where all threads read it, loads the next one, and adds the products to the sums.
  void add(const Term& slab) {
    code_.barrier();
    for (const Panel& panel : panels_)
      code_.loop("part", 0, Term(panel.each), 1, LoopMark::kUnrolled, [&](const Term& part) {
        const auto [line, term] = place(panel, part);
        code_.store(panel.shared, term * Term(pitch(panel)) + line, 1, element(panel.next, part));
      });
    code_.barrier();
    const Term next = code_.let("next_slab", slab + Term(kSide));
    code_.if_(next < last_term_, [&] { fetch(next); });
    const Panel &rows = panels_[0], &columns = panels_[1];
    code_.loop("k", 0, Term(kSide), 1, LoopMark::kUnrolled, [&](const Term& k) {
      for (const Panel& panel : panels_)
        code_.loop("i", 0, Term(panel.each), 1, LoopMark::kUnrolled, [&](const Term& i) {
          code_.store(panel.own, i, 1, element(panel.shared, k * Term(pitch(panel)) + own(panel, i)));
        });
      each_result([&](const Term& i, const Term& j, const Term& number) {
        const Term left = element(rows.own, i), right = element(columns.own, j), sum = element(sums_, number);
        code_.store(sums_, number, 1, is_float(product_.dtype) ? fma(left, right, sum) : sum + left * right);
      });
    });
  }

  void each_result(const std::function<void(const Term& i, const Term& j, const Term& number)>& body) {
    const Panel &rows = panels_[0], &columns = panels_[1];
    code_.loop("i", 0, Term(rows.each), 1, LoopMark::kUnrolled, [&](const Term& i) {
      code_.loop("j", 0, Term(columns.each), 1, LoopMark::kUnrolled,
                 [&](const Term& j) { body(i, j, i * Term(columns.each) + j); });
    });
  }

  void store_tile() {
    const Panel &rows = panels_[0], &columns = panels_[1];
    each_result([&](const Term& i, const Term& j, const Term& number) {
      const Term row = code_.let("row", rows.first + own(rows, i)),
                 column = code_.let("column", columns.first + own(columns, j));
      inside(row, rows.factor.lines, rows.wide, [&] {
        inside(column, columns.factor.lines, columns.wide,
               [&] { product_.store(row, column, code_.let("sum", element(has_levels_ ? totals_ : sums_, number))); });
      });
    });
  }

  StepBuilder& b_;
  Code& code_;
  const TiledProduct& product_;
  bool has_levels_ = false;
  int64_t part_terms_ = 0;
  Term first_term_ = 0, last_term_;
  std::array<Panel, 2> panels_;
  std::string sums_, totals_;
};

double expected_steps(const DeviceTiling& t, double rows, double columns, double count, double at_work) {
  const double blocks = std::ceil(rows / t.rows) * std::ceil(columns / t.columns) * count, of_rows = t.rows / kSide,
               of_columns = t.columns / kSide;
  const double threads = blocks * kSide * kSide, steps = of_rows * of_columns + of_rows + of_columns;
  return std::max(threads, at_work) * steps;
}

}  // namespace

std::string name_of(const DeviceTiling& tiling) {
  return str("tile ", tiling.rows, "x", tiling.columns);
}

std::optional<DeviceTiling> device_tiling_named(std::string_view name) {
  for (const int rows : kLengths)
    for (const int columns : kLengths)
      if (const DeviceTiling tiling{rows, columns}; name_of(tiling) == name) return tiling;
  return std::nullopt;
}

bool is_possible(const DeviceTiling& tiling, DType dtype) {
  const int words = static_cast<int>(std::max<size_t>(size_of(dtype), sizeof(float)) / sizeof(float));
  return tiling.rows / kSide * (tiling.columns / kSide) * words <= kMostWords;
}

std::vector<DeviceTiling> near_tilings(const Target& target, DType dtype, const Dim& rows, const Dim& columns,
                                       const Dim& count, double factor) {
  const double at_work = target.is_emulated() ? 1 : kThreadsAtWork;
  const auto length = [](const Dim& dim) { return dim.is_known() ? static_cast<double>(dim.value()) : kUsualLength; };
  std::vector<std::pair<double, DeviceTiling>> all;
  for (const int of_rows : kLengths)
    for (const int of_columns : kLengths)
      if (const DeviceTiling tiling{of_rows, of_columns}; is_possible(tiling, dtype))
        all.emplace_back(expected_steps(tiling, length(rows), length(columns), length(count), at_work), tiling);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<DeviceTiling> out;
  for (const auto& [steps, tiling] : all)
    if (out.empty() || steps <= factor * all[0].first) out.push_back(tiling);
  return out;
}

void tiled_product(StepBuilder& b, const TiledProduct& product, const DeviceTiling& tiling, std::string name,
                   std::string comment) {
  Tiles(b, product, tiling).run(std::move(name), std::move(comment));
}

}  // namespace thtrain::kernel
