#include "compiler/ops/conv/direct.h"

#include <algorithm>
#include <functional>

#include "compiler/ops/conv/direct_results.h"
#include "compiler/ops/conv/tiles.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;
using Grid = std::vector<std::vector<Term>>;  // of accumulators

constexpr int64_t kFilterSlabBytes = 16 << 10;  // of filters, half of a first cache of 32 KiB
constexpr int64_t kRowSumsBytes = 16 << 10;     // what a block of rows may have of sums, where one row has no more
constexpr int64_t kDirectStackBytes = 256 << 10;
constexpr int64_t kGrainFlops = 500'000;
constexpr int64_t kMostUnrolled = 128;  // multiply-adds of the innermost loop's body, if one tap has no more

int vectors_of_filters(const DirectTiling& t, const Correlation& c, int lanes) {
  return static_cast<int>(even_part(ceil_div(c.outputs, lanes), t.vectors));
}

int64_t block_of(const DirectTiling& t, const Correlation& c, int lanes) {
  if (t.over_filters) return int64_t{vectors_of_filters(t, c, lanes)} * lanes;
  return even_part(c.outputs, t.tile);
}

// Bytes of the array with the fewest sums that the kernel can have; 0 where it has none.
int64_t fewest_sums(const DirectTiling& t, const Correlation& c, int vector_bytes, bool has_epilogue) {
  const int size = static_cast<int>(size_of(c.dtype)), lanes = vector_bytes / size;
  if (!t.over_filters && !has_epilogue) return 0;
  const int64_t rows = t.over_filters ? 1 : DirectResults::rows_by_filter(c, lanes);
  return DirectResults::elements(c, block_of(t, c, lanes), rows, !t.over_filters, lanes, has_epilogue) * size;
}

class DirectKernel {
 public:
  DirectKernel(StepBuilder& builder, const Correlation& c, const CorrelationStep& step, const DirectTiling& tiling)
      : builder_(builder),
        code_(builder.code()),
        c_(c),
        step_(step),
        tiling_(tiling),
        lanes_(builder.lanes_of(c.dtype)),
        block_(block_of(tiling, c, lanes_)),
        blocks_(ceil_div(c.outputs, block_)),
        rows_(c.axes[0].out * c.axes[1].out),
        results_(builder, c, step, block_, !tiling.over_filters),
        at_(prepare(builder, c, step, block_)) {}

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

  // Which image, group and block of filters a part of the range belongs to.
  void locate(const Term& part, int64_t parts_of_rows) {
    const Term block = code_.let("block", part / Term(parts_of_rows) % Term(blocks_)),
               group = code_.let("group", part / Term(parts_of_rows * blocks_) % Term(c_.groups)),
               image = code_.let("image", part / Term(parts_of_rows * blocks_ * c_.groups));
    const Term of_group = code_.let("of_group", image * Term(c_.groups) + group);
    first_filter_ = code_.let("filter", block * Term(block_));
    image_ = code_.let("image_at", of_group * Term(c_.inputs * c_.padded_pixels()));
    w_ = code_.let("w_at", (group * Term(blocks_) + block) * Term(c_.inputs * c_.taps() * block_));
    results_.set_block(image, group, first_filter_);
  }

  // Rows of a part of the range, of which each image's block of filters has `parts` of `rows` rows.
  std::pair<Term, Term> rows_of(const Term& part, int64_t parts, int64_t rows) {
    const Term first = code_.let("first", part % Term(parts) * Term(rows));
    Term last = first + Term(rows);
    if (rows_ % rows != 0) last = select(last < Term(rows_), last, Term(rows_));
    return {first, code_.let("last", last)};
  }

  Dim grain(int64_t parts) const {
    const double flops = 2.0 * static_cast<double>(c_.n * c_.groups * c_.outputs) *
                         static_cast<double>(c_.places() * c_.inputs * c_.taps()) / static_cast<double>(parts);
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(kGrainFlops) / flops));
  }

  // Taps of an axis that fall on elements of the image, not on zeros around or between them.
  struct TapRange {
    Term begin, end, step;
  };
  TapRange taps_at(const CorrelationAxis& axis, const Term& place) {
    const bool is_between = axis.gap > 1 && axis.dilation == 1;
    if (axis.kernel == 1 || (axis.before <= 0 && axis.padded == axis.in && !is_between))
      return {0, Term(axis.kernel), 1};
    // Tap 0 falls on element `first`, and tap k on first + k dilation.
    const Term first = code_.let("first", place * Term(axis.stride) - Term(axis.before)),
               last = Term((axis.in - 1) * axis.gap) - first;
    Term begin = select(first < Term(0), (Term(axis.dilation - 1) - first) / Term(axis.dilation), Term(0));
    if (is_between) begin = begin + (Term(axis.gap) - (first + begin) % Term(axis.gap)) % Term(axis.gap);
    const Term most = code_.let("most", select(last < Term(0), Term(0), last / Term(axis.dilation) + Term(1)));
    return {code_.let("begin", begin), code_.let("end", select(most < Term(axis.kernel), most, Term(axis.kernel))),
            Term(is_between ? axis.gap : 1)};
  }

  // Where channel 0 of the image has what tap 0 of a row's place 0 reads.
  Term row_start(const Term& row) {
    const Term y = code_.let("y", row % Term(height().out)), z = code_.let("z", row / Term(height().out));
    ky_ = taps_at(height(), y);
    kz_ = taps_at(depth(), z);
    return code_.let("start", image_ + (z * Term(depth().stride * height().padded) + y * Term(height().stride)) *
                                           Term(width().padded));
  }

  // For each channel of [first, last) and each tap of the phase: body(place of the element under the tap, place of its
  // filters, which tap along the width: -1 in a loop). Taps along the width are unrolled as far as `work` multiply-adds
  // for each leave the code small.
  void each_tap(int64_t phase, const Term& start, const Term& first, const Term& last, int64_t work,
                const std::function<void(const Term&, const Term&, int64_t)>& body) {
    const PhaseTaps of_phase = width().taps_of(phase);
    if (of_phase.count == 0) return;
    const bool is_unrolled = of_phase.count * work <= kMostUnrolled || of_phase.count == 1;
    auto taps = [&](const Term& image, const Term& w) {
      auto tap = [&](const Term& k, int64_t number) {
        body(image + Term(of_phase.offset) + k * Term(of_phase.offset_step),
             w + (Term(of_phase.first) + k * Term(of_phase.step)) * Term(block_), number);
      };
      if (!is_unrolled) return code_.loop("kx", of_phase.count, [&](const Term& k) { tap(k, -1); });
      for (int64_t k = 0; k < of_phase.count; ++k) tap(k, of_phase.first + k * of_phase.step);
    };
    auto loop_or_once = [&](const char* name, int64_t length, const TapRange& range,
                            const std::function<void(const Term&)>& inside) {
      if (length == 1) return inside(0);
      code_.loop(name, range.begin, range.end, range.step, LoopMark::kSequential, inside);
    };
    code_.loop("c", first, last, 1, LoopMark::kSequential, [&](const Term& c) {
      const Term image = code_.let("plane", start + c * Term(c_.padded_pixels())),
                 w = code_.let("taps", w_ + c * Term(c_.taps() * block_));
      loop_or_once("kz", depth().kernel, kz_, [&](const Term& z) {
        loop_or_once("ky", height().kernel, ky_, [&](const Term& y) {
          const Term row =
              (z * Term(depth().dilation * height().padded) + y * Term(height().dilation)) * Term(width().padded);
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
        out[static_cast<size_t>(r)].push_back(code_.var(str("s", r, "_", k), start(r, k)));
    return out;
  }
  Term zero() const { return kernel::splat(kernel::constant(c_.dtype, 0), lanes_); }

  // ---- over filters

  void over_filters() {
    vectors_ = static_cast<int>(block_ / lanes_);
    const int64_t row_bytes = width().out * block_ * static_cast<int64_t>(size_of(c_.dtype));
    const int64_t rows = std::clamp<int64_t>(kRowSumsBytes / row_bytes, 1, rows_), parts = ceil_div(rows_, rows);
    const int64_t channel_bytes = c_.taps() * block_ * static_cast<int64_t>(size_of(c_.dtype));
    slab_ = std::clamp<int64_t>(kFilterSlabBytes / channel_bytes, 1, c_.inputs);
    slab_ = even_part(c_.inputs, slab_);
    results_.begin(rows);
    const int64_t range = c_.n * c_.groups * blocks_ * parts;
    code_.loop("part", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& part) {
      locate(part, parts);
      const auto [first, last] = rows_of(part, parts, rows);
      auto slab = [&](const Term& begin, const Term& end, bool is_first) {
        code_.loop("row", first, last, 1, LoopMark::kSequential, [&](const Term& row) {
          row_of_tiles(row, code_.let("sums_at", (row - first) * Term(width().out * block_)), begin, end, is_first);
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
    const Term start = row_start(row);
    for (int64_t phase = 0; phase < phases(); ++phase) {
      if (!is_first && width().taps_of(phase).count == 0) continue;
      const Tiles tiles(width().places_of(phase), tiling_.tile);
      tiles.each([&](int64_t tile, int64_t first, int64_t last) {
        auto at = [&](const Term& x) {
          if (is_first && phases() == 1)
            results_.prefetch(row, x * Term(block_) / Term(width().out),
                              (x + Term(tile)) * Term(block_) / Term(width().out));
          filters_tile(phase, tile, start, sums, x, begin, end, is_first);
        };
        if (last - first == tile) return at(first);
        code_.loop("x", first, last, tile, LoopMark::kSequential, at);
      });
    }
  }

  void filters_tile(int64_t phase, int64_t tile, const Term& start, const Term& sums, const Term& x, const Term& begin,
                    const Term& end, bool is_first) {
    auto place = [&](int64_t p, int64_t v) {
      return sums + ((x + Term(p)) * Term(width().phases) + Term(phase)) * Term(block_) + Term(v * lanes_);
    };
    const Grid acc = accumulators(tile, vectors_, [&](int64_t p, int64_t v) {
      return is_first ? zero() : kernel::load(results_.array(), c_.dtype, lanes_, place(p, v), 1);
    });
    const Term from = code_.let("from", start + x * Term(width().stride));
    const bool is_whole_row = tile == width().places_of(phase);
    each_tap(phase, from, begin, end, tile * vectors_, [&](const Term& image, const Term& w, int64_t k) {
      std::vector<Term> filters;
      for (int v = 0; v < vectors_; ++v)
        filters.push_back(code_.let(str("w", v), builder_.load(at_.w, w + Term(v * lanes_), lanes_)));
      for (int64_t p = 0; p < tile; ++p) {
        if (is_whole_row && k >= 0 && width().falls_on_zero(p * width().phases + phase, k)) continue;
        const Term element = builder_.load(at_.image, image + Term(p * width().stride));
        const Term a = code_.let(str("a", p), kernel::splat(element, lanes_));
        for (size_t v = 0; v < filters.size(); ++v) {
          const Term& sum = acc[static_cast<size_t>(p)][v];
          code_.assign(sum, fma(a, filters[v], sum));
        }
      }
    });
    for (int64_t p = 0; p < tile; ++p)
      for (int v = 0; v < vectors_; ++v)
        code_.store(results_.array(), place(p, v), 1, acc[static_cast<size_t>(p)][static_cast<size_t>(v)]);
  }

  // ---- over rows

  // Each row for itself, or for an epilogue some rows, whose sums stand in an array.
  void over_rows() {
    const int64_t rows = step_.epilogue ? results_.rows_to_end() : 1, parts = ceil_div(rows_, rows),
                  range = c_.n * c_.groups * blocks_ * parts;
    if (step_.epilogue) results_.begin(rows);
    code_.loop("part", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& part) {
      locate(part, parts);
      if (!step_.epilogue) {
        const Term row = code_.let("row", part % Term(rows_)), start = row_start(row);
        return row_of_vectors(start, code_.let("to", results_.out() + row * Term(width().out)));
      }
      const auto [first, last] = rows_of(part, parts, rows);
      code_.loop("row", first, last, 1, LoopMark::kSequential, [&](const Term& row) {
        row_of_vectors(row_start(row), code_.let("sums_at", (row - first) * Term(width().out)));
      });
      results_.write(first, last);
    });
    builder_.finish_kernel(name_of_kernel(str("conv_rows_", block_, "x", tiling_.vectors), step_), comment(), range,
                           grain(range));
  }

  // A row to the result, or to the array of sums, from `to` on.
  void row_of_vectors(const Term& start, const Term& to) {
    auto tiles = [&](int64_t filters) {
      for (int64_t phase = 0; phase < phases(); ++phase) phase_of_vectors(phase, filters, start, to);
    };
    const int64_t rest = c_.outputs - (blocks_ - 1) * block_;
    if (rest == block_) return tiles(block_);
    code_.if_(
        first_filter_ < Term((blocks_ - 1) * block_), [&] { tiles(block_); }, [&] { tiles(rest); });
  }

  void phase_of_vectors(int64_t phase, int64_t filters, const Term& start, const Term& to) {
    const int64_t places = width().places_of(phase), all = ceil_div(places, lanes_);
    const Tiles t(all, tiling_.vectors);
    t.each([&](int64_t vectors, int64_t first, int64_t last) {
      // The last vector may be shorter: its tile stands alone.
      const bool ends = last == all && places % lanes_ != 0;
      const int64_t whole = ends ? last - vectors : last;
      auto tile = [&](const Term& x, int64_t left) { rows_tile(phase, filters, vectors, start, to, x, left); };
      if (whole - first == vectors)
        tile(first * lanes_, vectors * lanes_);
      else if (whole > first)
        code_.loop("x", first * lanes_, whole * lanes_, vectors * lanes_, LoopMark::kSequential,
                   [&](const Term& x) { tile(x, vectors * lanes_); });
      if (ends) tile(whole * lanes_, places - whole * lanes_);
    });
  }

  // `filters` filters, places x to x + columns of a row's phase.
  void rows_tile(int64_t phase, int64_t filters, int64_t vectors, const Term& start, const Term& to, const Term& x,
                 int64_t columns) {
    auto count = [&](int64_t v) { return columns - v * lanes_ < lanes_ ? Term(columns - v * lanes_) : Term(); };
    const Grid acc = accumulators(filters, vectors, [&](int64_t, int64_t) { return zero(); });
    each_tap(phase, code_.let("from", start + x), 0, c_.inputs, filters * vectors,
             [&](const Term& image, const Term& w, int64_t) {
               std::vector<Term> elements;
               for (int64_t v = 0; v < vectors; ++v)
                 elements.push_back(
                     code_.let(str("a", v), builder_.load(at_.image, image + Term(v * lanes_), lanes_, 1, count(v))));
               for (int64_t o = 0; o < filters; ++o) {
                 const Term filter = code_.let(str("w", o), kernel::splat(builder_.load(at_.w, w + Term(o)), lanes_));
                 for (size_t v = 0; v < elements.size(); ++v) {
                   const Term& sum = acc[static_cast<size_t>(o)][v];
                   code_.assign(sum, fma(elements[v], filter, sum));
                 }
               }
             });
    for (int64_t o = 0; o < filters; ++o)
      for (int64_t v = 0; v < vectors; ++v) {
        const Term& sum = acc[static_cast<size_t>(o)][static_cast<size_t>(v)];
        const Term place = to + Term(phase) + (x + Term(v * lanes_)) * Term(width().phases);
        if (step_.epilogue)
          code_.store(results_.array(), results_.at(place, o), width().phases, sum, count(v));
        else
          builder_.store(step_.out, place + Term(o * c_.places()), sum, width().phases, count(v));
      }
  }

  std::string comment() const {
    return str(step_.epilogue ? step_.epilogue->comment() + "; " : std::string(), c_.n, " images of ",
               c_.groups * c_.inputs, " channels, ", c_.groups * c_.outputs, " filters of ", c_.taps(), " taps, ",
               c_.places(), " places; ", name_of(tiling_));
  }

  StepBuilder& builder_;
  Code& code_;
  const Correlation& c_;
  const CorrelationStep& step_;
  DirectTiling tiling_;
  int lanes_;
  int64_t block_, blocks_, rows_;  // filters of a block, blocks of a group, rows of the result
  DirectResults results_;
  CorrelationOperands at_;
  int vectors_ = 0;
  int64_t slab_ = 0;
  Term first_filter_, image_, w_;
  TapRange kz_, ky_;  // of the row
};

}  // namespace

std::string name_of(const DirectTiling& t) {
  return name_of_tiling(t.over_filters, t.tile, t.vectors);
}

std::optional<DirectTiling> direct_tiling_named(std::string_view name) {
  const auto parts = tiling_named(name);
  if (!parts) return std::nullopt;
  return DirectTiling{parts->over_filters, parts->first, parts->second};
}

bool is_possible(const DirectTiling& t, const Correlation& c, int vector_bytes, bool has_epilogue) {
  const int registers = vector_bytes == 64 ? 32 : 16;
  // Accumulators, the vectors that all of a tile share, and one that is broadcast.
  if (t.tile * t.vectors + t.vectors + 1 > registers) return false;
  if (!t.over_filters && c.axes[2].stride != 1) return false;
  return fewest_sums(t, c, vector_bytes, has_epilogue) <= kDirectStackBytes;
}

int64_t workspace_of(const DirectTiling& t, const Correlation& c, int vector_bytes) {
  return prepared_bytes(c, block_of(t, c, vector_bytes / static_cast<int>(size_of(c.dtype))));
}

void lower_direct(StepBuilder& builder, const Correlation& c, const CorrelationStep& step, const DirectTiling& tiling) {
  TH_CHECK(is_possible(tiling, c, builder.vector_bytes(), step.epilogue), "conv: ", name_of(tiling), " does not fit");
  DirectKernel(builder, c, step, tiling).run();
}

}  // namespace thtrain
