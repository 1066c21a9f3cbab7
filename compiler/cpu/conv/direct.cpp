#include "compiler/cpu/conv/direct.h"

#include <algorithm>
#include <functional>

#include "compiler/cpu/conv/direct_plan.h"
#include "compiler/cpu/conv/direct_results.h"
#include "compiler/cpu/conv/tiles.h"
#include "compiler/kernel/tile_cycles.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;
using Grid = std::vector<std::vector<Term>>;  // of accumulators

constexpr int64_t kFilterSlabBytes = 16 << 10;  // of filters, half of a first cache of 32 KiB
constexpr int64_t kLineBytes = 64;
constexpr int64_t kMostUnrolled = 128;  // multiply-adds of the innermost loop's body, if one tap has no more

class DirectKernel {
 public:
  DirectKernel(StepBuilder& builder, const Correlation& c, const CorrelationStep& step, const DirectTiling& tiling)
      : builder_(builder),
        code_(builder.code()),
        c_(correlation_read_by(tiling, c, builder.target(), may_merge(c, step))),
        step_(step),
        tiling_(tiling),
        lanes_(builder.lanes_of(c.dtype)),
        block_(block_of(tiling, c, lanes_)),
        blocks_(ceil_div(c.outputs, block_)),
        blocks_first_(takes_blocks_first(c_)),
        results_(builder, c_, step, block_, !tiling.over_filters),
        at_(prepare(builder, c_, step, block_)) {}

  void run() {
    if (tiling_.over_filters)
      over_filters();
    else
      over_rows();
  }

 private:
  const CorrelationAxis& depth() const { return c_.axes[0]; }
  const CorrelationAxis& height() const { return c_.axes[1]; }
  const CorrelationAxis& width() const { return c_.axes[2]; }
  int64_t phases() const { return std::min(width().phases, width().out); }

  // ---- what both forms share

  // An epilogue counts positions in the order of their axes, and windows are of those axes.
  static bool may_merge(const Correlation& c, const CorrelationStep& step) {
    if (step.pooling) return false;
    return !step.epilogue || (c.axes[2].out > 1 && step.epilogue->is_flat_from(2));
  }

  // Which image, group and block of filters a part of the range belongs to, and which of the parts of their rows it is.
  Term locate(const Term& part, int64_t parts_of_rows) {
    const Term block = code_.let("block", (blocks_first_ ? part : part / Term(parts_of_rows)) % Term(blocks_)),
               of_rows = code_.let("rows", (blocks_first_ ? part / Term(blocks_) : part) % Term(parts_of_rows)),
               group = code_.let("group", part / Term(parts_of_rows * blocks_) % Term(c_.groups)),
               image = code_.let("image", part / Term(parts_of_rows * blocks_ * c_.groups));
    const Term of_group = code_.let("of_group", image * Term(c_.groups) + group);
    first_filter_ = code_.let("filter", block * Term(block_));
    image_ = code_.let("image_at", of_group * Term(c_.inputs * c_.stored_pixels()));
    w_ = code_.let("w_at", (group * Term(blocks_) + block) * Term(c_.inputs * c_.taps() * block_));
    results_.set_block(image, group, first_filter_);
    return of_rows;
  }

  int64_t rows_of_part() const {
    return DirectResults::rows_of_part(c_, block_, !tiling_.over_filters, lanes_,
                                       step_.pooling ? &step_.pooling->windows() : nullptr);
  }

  // The rows of the result of a part that has at most `rows`.
  std::pair<Term, Term> rows_of(const Term& part, int64_t rows) {
    const Term first = code_.let("first", part * Term(rows));
    Term last = first + Term(rows);
    const int64_t all = results_.rows();
    if (all % rows != 0) last = select(last < Term(all), last, Term(all));
    return {first, code_.let("last", last)};
  }

  Dim grain(int64_t parts) const {
    const double flops = 2.0 * static_cast<double>(c_.n * c_.groups * c_.outputs) *
                         static_cast<double>(c_.positions() * c_.inputs * c_.taps()) / static_cast<double>(parts);
    return std::max<int64_t>(1,
                             static_cast<int64_t>(static_cast<double>(builder_.target().grain_of_products()) / flops));
  }

  // Taps of an axis that fall on elements of the image, not on zeros around or between them; and on which elements of
  // the image that is read: tap k on (first + k dilation) / gap.
  struct TapRange {
    Term begin, end, step, first;
    int64_t dilation, gap = 1;

    Term element(const Term& k) const {
      const Term at = first + k * Term(dilation);
      return gap == 1 ? at : at / Term(gap);
    }
  };
  TapRange taps_at(const CorrelationAxis& axis, const Term& position) {
    if (!axis.has_zeros()) {
      const Term first = code_.let("first", position * Term(axis.stride) - Term(axis.skipped()));
      return {0, Term(axis.kernel), 1, first, axis.dilation};
    }
    const bool is_between = axis.gap > 1 && axis.dilation == 1;
    // Tap 0 falls on position `first` among elements and zeros, and tap k on first + k dilation.
    const Term first = code_.let("first", position * Term(axis.stride) - Term(axis.before)),
               last = Term((axis.in - 1) * axis.gap) - first;
    Term begin = select(first < Term(0), (Term(axis.dilation - 1) - first) / Term(axis.dilation), Term(0));
    if (is_between) begin = begin + (Term(axis.gap) - (first + begin) % Term(axis.gap)) % Term(axis.gap);
    const Term most = code_.let("most", select(last < Term(0), Term(0), last / Term(axis.dilation) + Term(1)));
    return {code_.let("begin", begin),
            code_.let("end", select(most < Term(axis.kernel), most, Term(axis.kernel))),
            Term(is_between ? axis.gap : 1),
            axis.is_bare ? first : code_.let("first", first + Term(axis.before)),
            axis.dilation,
            axis.is_bare ? axis.gap : 1};
  }

  // The taps of a row's positions, but for those along the row.
  void set_row(const Term& row) {
    ky_ = taps_at(height(), code_.let("y", row % Term(height().out)));
    kz_ = taps_at(depth(), code_.let("z", row / Term(height().out)));
    set_fetched(row);
    has_taps_ = {};
    for (const auto& [axis, taps] : {std::pair(&depth(), &kz_), std::pair(&height(), &ky_)})
      if (axis->has_empty_positions())
        has_taps_ = has_taps_ ? has_taps_ && taps->begin < taps->end : taps->begin < taps->end;
  }

  // The last tap's row of the positions `ahead_` rows later: behind the last row those of the next image.
  void set_fetched(const Term& row) {
    if (c_.inputs <= kFewStreams) return;
    const Term later = kz_.element(Term(depth().kernel - 1)) * Term(height().stored()) +
                       ky_.element(Term(height().kernel - 1 + ahead_ * height().stride));
    fetched_ = later * Term(width().stored());
    if (depth().out == 1) {
      const int64_t rows = height().out, of_image = c_.groups * c_.inputs * c_.stored_pixels(),
                    of_rows = rows * height().stride / height().gap * width().stored();
      const Term next = fetched_ + Term(of_image - of_rows);
      // All blocks of filters read an image, and the last one fetches the next.
      fetched_ = ahead_ < rows ? select(row < Term(rows - ahead_), fetched_, next)
                               : select(first_filter_ < Term((blocks_ - 1) * block_), Term(0), next);
    }
    fetched_ = code_.let("fetched", fetched_);
  }

  // For each channel of [first, last) and each tap of the phase, for a tile whose first position begins at element x of
  // a row: body(position of the element under the tap, position of its filters, which tap along the width: -1 in a
  // loop). Taps along the width are unrolled as far as `work` multiply-adds for each leave the code small, and at a
  // border. What the last tap's row will have under the tile some rows later, of `elements`, is fetched meanwhile:
  // planes are far from each other in memory, and runs are short.
  void each_tap(int64_t phase, const Term& x, int64_t elements, const Term& first, const Term& last, int64_t work,
                bool is_border, const std::function<void(const Term&, const Term&, int64_t)>& body) {
    const PhaseTaps of_phase = width().taps_of(phase);
    if (of_phase.count == 0) return;
    const bool is_unrolled = is_border || of_phase.count * work <= kMostUnrolled || of_phase.count == 1;
    const Term start = code_.let("from", image_ + x + Term(of_phase.offset - width().skipped()));
    auto taps = [&](const Term& image, const Term& w) {
      auto tap = [&](const Term& k, int64_t number) {
        Term at = image + k * Term(of_phase.offset_step);
        // Elements that several taps read are loaded by each: kept from tap to tap they would take the sums' registers.
        if (is_unrolled && of_phase.count > 1 && vectors_ > 1) at = code_.let("at", kernel::in_register(at));
        body(at, w + (Term(of_phase.first) + k * Term(of_phase.step)) * Term(block_), number);
      };
      if (!is_unrolled) return code_.loop("kx", of_phase.count, [&](const Term& k) { tap(k, -1); });
      for (int64_t k = 0; k < of_phase.count; ++k) tap(k, of_phase.first + k * of_phase.step);
    };
    auto loop_or_once = [&](const char* name, int64_t length, const TapRange& range,
                            const std::function<void(const Term&)>& inside) {
      if (length == 1) return inside(0);
      code_.loop(name, range.begin, range.end, range.step, LoopMark::kSequential, inside);
    };
    const Term end = has_taps_ ? code_.let("channels", select(has_taps_, last, first)) : last;
    code_.loop("c", first, end, 1, LoopMark::kSequential, [&](const Term& c) {
      const Term image = code_.let("plane", start + c * Term(c_.stored_pixels())),
                 w = code_.let("taps", w_ + c * Term(c_.taps() * block_));
      for (int64_t at = 0; at < elements && bool(fetched_); at += kLineBytes / static_cast<int64_t>(size_of(c_.dtype)))
        builder_.prefetch(at_.image, image + fetched_ + Term(at), kernel::Prefetch::kL2);
      loop_or_once("kz", depth().kernel, kz_, [&](const Term& z) {
        loop_or_once("ky", height().kernel, ky_, [&](const Term& y) {
          const Term row = (kz_.element(z) * Term(height().stored()) + ky_.element(y)) * Term(width().stored());
          taps(code_.let("at", image + row),
               code_.let("w", w + (z * Term(height().kernel) + y) * Term(width().kernel * block_)));
        });
      });
    });
  }

  Grid accumulators(int64_t rows, int64_t columns, const std::function<Term(int64_t, int64_t)>& start) {
    Grid out(static_cast<size_t>(rows));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t k = 0; k < columns; ++k)
        out[static_cast<size_t>(r)].push_back(code_.sum(str("s", r, "_", k), start(r, k), r * columns + k));
    return out;
  }
  void take(Grid& sums) {
    for (std::vector<Term>& row : sums)
      for (Term& sum : row) sum = code_.taken(sum);
  }
  Term zero() const { return kernel::splat(kernel::constant(c_.dtype, 0), lanes_); }

  // ---- over filters

  void over_filters() {
    vectors_ = static_cast<int>(block_ / lanes_);
    const int64_t rows = rows_of_part(), parts = ceil_div(results_.rows(), rows);
    const int64_t channel_bytes = c_.taps() * block_ * static_cast<int64_t>(size_of(c_.dtype));
    slab_ = std::clamp<int64_t>(kFilterSlabBytes / channel_bytes, 1, c_.inputs);
    slab_ = even_part(c_.inputs, slab_);
    // The next image where it is one part; else as much as stays in the first cache.
    const int64_t bytes_of_row =
        std::max<int64_t>(1, c_.inputs * width().stored() * static_cast<int64_t>(size_of(c_.dtype)));
    ahead_ = parts == 1 ? results_.rows() : std::clamp<int64_t>(kFilterSlabBytes / bytes_of_row, 1, rows);
    results_.begin(rows);
    const int64_t range = c_.n * c_.groups * blocks_ * parts;
    code_.loop("part", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& part) {
      const auto [first, last] = rows_of(locate(part, parts), rows);
      const auto [from, until] = results_.rows_of_positions(first, last);
      auto slab = [&, from = from, until = until](const Term& begin, const Term& end, bool is_first) {
        code_.loop("row", from, until, 1, LoopMark::kSequential, [&](const Term& row) {
          row_of_tiles(row, code_.let("sums_at", (row - from) * Term(width().out * block_)), begin, end, is_first);
        });
      };
      slab(0, slab_, true);
      if (slab_ < c_.inputs)
        code_.loop("slab", slab_, c_.inputs, slab_, LoopMark::kSequential, [&](const Term& begin) {
          Term end = begin + Term(slab_);
          if (c_.inputs % slab_ != 0) end = select(end < Term(c_.inputs), end, Term(c_.inputs));
          slab(begin, code_.let("end", end), false);
        });
      results_.write(first, last);
    });
    builder_.finish_kernel(name_of_kernel(str("conv_filters_", tiling_.tile, "x", vectors_), step_), comment(), range,
                           grain(range));
  }

  void row_of_tiles(const Term& row, const Term& sums, const Term& begin, const Term& end, bool is_first) {
    set_row(row);
    for (int64_t phase = 0; phase < phases(); ++phase) {
      if (!is_first && width().taps_of(phase).count == 0) continue;
      const Tiles tiles(width().positions_of(phase), tiling_.tile);
      tiles.each([&](int64_t tile, int64_t first, int64_t last) {
        auto at = [&](const Term& x, int64_t border) {
          if (is_first && phases() == 1)
            results_.prefetch(row, x * Term(block_) / Term(width().out),
                              (x + Term(tile)) * Term(block_) / Term(width().out));
          filters_tile(phase, tile, sums, x, border, begin, end, is_first);
        };
        auto is_border = [&](int64_t x) { return width().is_bare && has_zeros(width(), phase, x, tile); };
        while (first < last) {
          if (is_border(first)) {
            at(first, first);
            first += tile;
            continue;
          }
          int64_t inner = first + tile;
          while (inner < last && !is_border(inner)) inner += tile;
          if (inner - first == tile)
            at(first, -1);
          else
            code_.loop("x", first, inner, tile, LoopMark::kSequential, [&](const Term& x) { at(x, -1); });
          first = inner;
        }
      });
    }
  }

  // A tile that begins at position x of the phase; `border` is x where some of its taps fall on zeros, else -1.
  void filters_tile(int64_t phase, int64_t tile, const Term& sums, const Term& x, int64_t border, const Term& begin,
                    const Term& end, bool is_first) {
    auto position = [&](int64_t p, int64_t v) {
      return sums + ((x + Term(p)) * Term(width().phases) + Term(phase)) * Term(block_) + Term(v * lanes_);
    };
    Grid acc = accumulators(tile, vectors_, [&](int64_t p, int64_t v) {
      return is_first ? zero() : kernel::load(results_.array(), c_.dtype, lanes_, position(p, v), 1);
    });
    const bool is_border = border >= 0;
    auto tap = [&](const Term& image, const Term& w, int64_t k) {
      std::vector<Term> filters;
      for (int64_t p = 0; p < tile; ++p) {
        if (is_border && width().falls_on_zero((border + p) * width().phases + phase, k)) continue;
        for (int v = static_cast<int>(filters.size()); v < vectors_; ++v)
          filters.push_back(code_.let(
              str("w", v),
              kernel::held(builder_.target(), builder_.load(at_.w, w + Term(v * lanes_), lanes_), v, tile, vectors_)));
        const Term a = code_.let(str("a", p), builder_.load(at_.image, image + Term(p * width().stride), lanes_, 0));
        for (size_t v = 0; v < filters.size(); ++v) {
          const Term& sum = acc[static_cast<size_t>(p)][v];
          code_.assign(sum, fma(a, filters[v], sum));
        }
      }
    };
    each_tap(phase, x * Term(width().stride), tile * width().stride, begin, end, tile * vectors_, is_border, tap);
    take(acc);
    for (int64_t p = 0; p < tile; ++p)
      for (int v = 0; v < vectors_; ++v)
        code_.store(results_.array(), position(p, v), 1, acc[static_cast<size_t>(p)][static_cast<size_t>(v)]);
  }

  // ---- over rows

  // Each row for itself, or some rows, whose sums are in an array, for an epilogue or to be pooled.
  void over_rows() {
    const int64_t rows = results_.is_ended() ? rows_of_part() : 1, parts = ceil_div(results_.rows(), rows),
                  range = c_.n * c_.groups * blocks_ * parts;
    if (results_.is_ended()) results_.begin(rows);
    code_.loop("part", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& part) {
      const Term of_rows = locate(part, parts);
      if (!results_.is_ended()) {
        const Term& row = of_rows;
        return row_of_vectors(row, code_.let("to", results_.out() + row * Term(width().out)));
      }
      const auto [first, last] = rows_of(of_rows, rows);
      const auto [from, until] = results_.rows_of_positions(first, last);
      code_.loop("row", from, until, 1, LoopMark::kSequential, [&, from = from](const Term& row) {
        row_of_vectors(row, code_.let("sums_at", (row - from) * Term(width().out)));
      });
      results_.write(first, last);
    });
    builder_.finish_kernel(name_of_kernel(str("conv_rows_", block_, "x", tiling_.vectors), step_), comment(), range,
                           grain(range));
  }

  // A row to the result, or to the array of sums, from `to` on.
  void row_of_vectors(const Term& row, const Term& to) {
    set_row(row);
    auto tiles = [&](int64_t filters) {
      for (int64_t phase = 0; phase < phases(); ++phase) phase_of_vectors(phase, filters, to);
    };
    const int64_t rest = c_.outputs - (blocks_ - 1) * block_;
    if (rest == block_) return tiles(block_);
    code_.if_(
        first_filter_ < Term((blocks_ - 1) * block_), [&] { tiles(block_); }, [&] { tiles(rest); });
  }

  // The last vector of a phase ends with the last position, where there are as many: what it shares with the vector
  // before it is computed twice, and is the same. Of fewer positions there is a part of one vector.
  void phase_of_vectors(int64_t phase, int64_t filters, const Term& to) {
    const int64_t positions = width().positions_of(phase), all = ceil_div(positions, lanes_);
    const Tiles t(all, tiling_.vectors);
    t.each([&](int64_t vectors, int64_t first, int64_t last) {
      // A tile with that vector stands alone.
      const bool ends = last == all && positions % lanes_ != 0;
      const int64_t whole = ends ? last - vectors : last;
      auto tile = [&](const Term& x, int64_t left) { rows_tile(phase, filters, vectors, to, x, left); };
      if (whole - first == vectors)
        tile(first * lanes_, vectors * lanes_);
      else if (whole > first)
        code_.loop("x", first * lanes_, whole * lanes_, vectors * lanes_, LoopMark::kSequential,
                   [&](const Term& x) { tile(x, vectors * lanes_); });
      if (ends) tile(whole * lanes_, positions - whole * lanes_);
    });
  }

  // `filters` filters, positions x to x + columns of a row's phase.
  void rows_tile(int64_t phase, int64_t filters, int64_t vectors, const Term& to, const Term& x, int64_t columns) {
    const bool is_part = width().positions_of(phase) < lanes_;
    auto first = [&](int64_t v) { return is_part ? v * lanes_ : std::min(v * lanes_, columns - lanes_); };
    auto count = [&](int64_t v) { return is_part && columns - v * lanes_ < lanes_ ? Term(columns) : Term(); };
    Grid acc = accumulators(filters, vectors, [&](int64_t, int64_t) { return zero(); });
    each_tap(phase, x, vectors * lanes_, 0, c_.inputs, filters * vectors, false,
             [&](const Term& image, const Term& w, int64_t) {
               std::vector<Term> elements;
               for (int64_t v = 0; v < vectors; ++v)
                 elements.push_back(code_.let(
                     str("a", v), kernel::held(builder_.target(),
                                               builder_.load(at_.image, image + Term(first(v)), lanes_, 1, count(v)), v,
                                               filters, vectors, /*crosses=*/true)));
               for (int64_t o = 0; o < filters; ++o) {
                 const Term filter = code_.let(str("w", o), kernel::splat(builder_.load(at_.w, w + Term(o)), lanes_));
                 for (size_t v = 0; v < elements.size(); ++v) {
                   const Term& sum = acc[static_cast<size_t>(o)][v];
                   code_.assign(sum, fma(elements[v], filter, sum));
                 }
               }
             });
    take(acc);
    for (int64_t o = 0; o < filters; ++o)
      for (int64_t v = 0; v < vectors; ++v) {
        const Term& sum = acc[static_cast<size_t>(o)][static_cast<size_t>(v)];
        const Term position = to + Term(phase) + (x + Term(first(v))) * Term(width().phases);
        if (results_.is_ended())
          code_.store(results_.array(), results_.at(position, o), width().phases, sum, count(v));
        else
          builder_.store(step_.out, position + Term(o * c_.positions()), sum, width().phases, count(v));
      }
  }

  std::string comment() const {
    return str(step_.epilogue ? step_.epilogue->comment() + "; " : std::string(), c_.n, " images of ",
               c_.groups * c_.inputs, " channels, ", c_.groups * c_.outputs, " filters of ", c_.taps(), " taps, ",
               c_.positions(), " positions; ", name_of(tiling_));
  }

  StepBuilder& builder_;
  Code& code_;
  const Correlation c_;
  const CorrelationStep& step_;
  DirectTiling tiling_;
  int lanes_;
  int64_t block_, blocks_;  // filters of a block, blocks of a group
  bool blocks_first_;       // in the range, before parts of rows
  DirectResults results_;
  CorrelationOperands at_;
  int vectors_ = 0;
  int64_t ahead_ = 1;  // rows
  int64_t slab_ = 0;
  Term first_filter_, image_, w_;
  TapRange kz_, ky_;  // of the row
  Term fetched_;      // where the elements are, from a tile's first one on, that are fetched meanwhile
  Term has_taps_;     // where some rows have none
};

}  // namespace

void lower_direct(StepBuilder& builder, const Correlation& c, const CorrelationStep& step, const DirectTiling& tiling) {
  TH_CHECK(is_possible(tiling, c, builder.target(), step.epilogue, step.pooling ? &step.pooling->windows() : nullptr),
           "conv: ", name_of(tiling), " does not fit");
  DirectKernel(builder, c, step, tiling).run();
}

}  // namespace thtrain
