#include "compiler/cpu/conv/winograd.h"

#include <algorithm>
#include <functional>

#include "compiler/cpu/conv/tiles.h"
#include "compiler/cpu/conv/winograd_plan.h"
#include "compiler/cpu/conv/winograd_strips.h"
#include "compiler/ops/conv/winograd_transforms.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

constexpr int64_t kWinogradSlabBytes = 16 << 10;  // of U, half of a first cache of 32 KiB
constexpr int64_t kFewTilesOfChunk = 24;          // of a chunk, if more parts are not of use
constexpr int64_t kManyTiles = 252;               // that one part of the products has
constexpr int64_t kWinogradParts = 16;            // that threads share, where there are as many

// V has inputs, M outputs as its columns.
struct ImagePlan : WinogradPlan {
  int64_t inputs;                // in whole vectors
  int64_t tiles;                 // of a chunk, or of one part of the products
  int64_t parts = 1;             // of all tiles
  int64_t v_product, m_product;  // elements from one product to the next
  int64_t m_row;                 // elements of a tile in M
  int64_t slab;                  // inputs

  ImagePlan(const Correlation& c, int64_t tile_, const kernel::Target& target)
      : WinogradPlan({c.dtype, c.n, c.axes[1].out, c.axes[2].out, c.outputs}, tile_, target),
        inputs(rounded(c.inputs)) {
    slab = even_part(c.inputs, std::max<int64_t>(1, kWinogradSlabBytes / (block * size)));
    cut_pieces(inputs + block, inputs + blocks * block, blocks * u_block(c));
    cut_chunks(inputs + block, std::max(ceil_div(kFewTilesOfChunk, row), rows / kWinogradParts));
    tiles = is_whole ? even_part(all_tiles(), kManyTiles) : chunk_rows * piece;
    if (is_whole) parts = ceil_div(all_tiles(), tiles);
    m_row = is_whole ? blocks * block : block;
    v_product = spread(parts * tiles * inputs);
    m_product = spread(parts * tiles * m_row);
  }

  int64_t u_block(const Correlation& c) const { return c.inputs * block; }
  int64_t u_product(const Correlation& c) const { return spread(blocks * u_block(c)); }
};

using Location = WinogradPosition;

class WinogradLowering {
 public:
  WinogradLowering(StepBuilder& builder, const Correlation& c, const CorrelationStep& step, int64_t tile)
      : builder_(builder),
        code_(builder.code()),
        c_(c),
        plan_(c, tile, builder.target()),
        lanes_(static_cast<int>(plan_.lanes)),
        transforms_(tile, kWinogradTaps, c.dtype, lanes_),
        step_(step),
        image_(step.image),
        w_(step.w),
        u_(builder.workspace(c.dtype, plan_.products * plan_.u_product(c))) {}

  void run() {
    filters();
    if (plan_.is_whole)
      whole();
    else
      in_chunks();
  }

 private:
  Term zero() const { return kernel::splat(kernel::constant(c_.dtype, 0), lanes_); }
  Term load(const Location& from, const Term& at, int lanes) {
    return from.operand ? builder_.load(*from.operand, at, lanes) : kernel::load(from.array, c_.dtype, lanes, at, 1);
  }
  void store(const Location& to, const Term& at, const Term& value) {
    if (to.operand)
      builder_.store(*to.operand, at, value);
    else
      code_.store(to.array, at, 1, value);
  }
  Location local(const char* name, int64_t elements) {
    return {code_.local_array(name, {c_.dtype, 1, 0}, elements).node().name, std::nullopt};
  }
  std::string comment(const char* what) const {
    return str(what, ", ", plan_.tile, "x", plan_.tile, " positions a tile: ", c_.n, " images of ", c_.inputs,
               " channels, ", c_.outputs, " filters, ", c_.axes[1].out, "x", c_.axes[2].out, " positions");
  }
  const char* name(const char* of_2, const char* of_4) const { return plan_.tile == 2 ? of_2 : of_4; }

  // ---- U: a range of vectors of outputs times inputs

  void filters() {
    const int64_t range = plan_.blocks * plan_.vectors * c_.inputs;
    code_.loop("i", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) {
      const Term input = code_.let("input", i % Term(c_.inputs)), vector = code_.let("vector", i / Term(c_.inputs)),
                 first = code_.let("first", vector * Term(lanes_));
      const Term to = code_.let("to", vector / Term(plan_.vectors) * Term(plan_.u_block(c_)) +
                                          input * Term(plan_.block) + vector % Term(plan_.vectors) * Term(lanes_));
      auto store = [&](int64_t a, int64_t b, const Term& x) {
        builder_.store(u_, to + Term((a * transforms_.points() + b) * plan_.u_product(c_)), x);
      };
      auto exist = [&](const Term& count) {
        transforms_.filter(
            code_, [&](int64_t a, int64_t b) { return taps(first, input, a, b, count); }, store);
      };
      const int64_t whole = c_.outputs / lanes_, rest = c_.outputs % lanes_;
      auto none = [&] {
        for (int64_t a = 0; a < transforms_.points(); ++a)
          for (int64_t b = 0; b < transforms_.points(); ++b) store(a, b, zero());
      };
      auto behind = [&] {
        if (rest == 0) return none();
        code_.if_(
            vector == Term(whole), [&] { exist(Term(rest)); }, none);
      };
      if (whole == plan_.blocks * plan_.vectors)
        exist({});
      else if (whole == 0)
        behind();
      else
        code_.if_(
            vector < Term(whole), [&] { exist({}); }, behind);
    });
    builder_.finish_kernel(name("winograd2_filters", "winograd4_filters"), comment("filters, transformed"), range,
                           std::max<int64_t>(1, (1 << 14) / (plan_.products * lanes_)));
  }

  // One tap of neighbouring outputs.
  Term taps(const Term& first, const Term& input, int64_t a, int64_t b, const Term& count) {
    const Term row = c_.is_gradient ? Term(kWinogradTaps - 1 - a) : Term(a),
               column = c_.is_gradient ? Term(kWinogradTaps - 1 - b) : Term(b);
    const Term at = builder_.index_of(
        w_, c_.is_gradient ? std::vector{input, first, row, column} : std::vector{first, input, row, column});
    return builder_.load(w_, at, lanes_, builder_.length(w_.layout.strides[c_.is_gradient ? 1 : 0]), count);
  }

  // ---- in chunks

  void in_chunks() {
    const Location v = local("v", plan_.products * plan_.v_product), m = local("m", plan_.products * plan_.m_product);
    ImageStrip in(builder_, c_, image_, plan_.tile + kWinogradTaps - 1, plan_.piece * plan_.tile + kWinogradTaps - 1);
    ResultStrip out(builder_, c_, step_, plan_.tile, plan_.piece * plan_.tile);
    code_.loop("chunk", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& chunk) {
      const Term first = code_.let("row0", chunk / Term(plan_.pieces) * Term(plan_.chunk_rows)),
                 last = code_.let("row1", minimum(first + Term(plan_.chunk_rows), plan_.rows, plan_.chunk_rows)),
                 x = code_.let("tile0", chunk % Term(plan_.pieces) * Term(plan_.piece));
      code_.loop("row", first, last, 1, LoopMark::kSequential, [&](const Term& row) {
        tiles_of_row(in, v, row, x, code_.let("tile_at", (row - first) * Term(plan_.piece)));
      });
      code_.loop("block", plan_.blocks, [&](const Term& block) {
        code_.loop("product", plan_.products, [&](const Term& product) {
          products(v, code_.let("v_at", product * Term(plan_.v_product)),
                   code_.let("u_at", product * Term(plan_.u_product(c_)) + block * Term(plan_.u_block(c_))), m,
                   code_.let("m_at", product * Term(plan_.m_product)));
        });
        code_.loop("row", first, last, 1, LoopMark::kSequential, [&](const Term& row) {
          positions_of_row(out, m, row, x, block,
                           code_.let("sums_at", (row - first) * Term(plan_.piece * plan_.m_row)));
        });
      });
    });
    builder_.finish_kernel(name_of_kernel(name("winograd2", "winograd4"), step_), comment("Winograd's convolution"),
                           plan_.chunks, 1);
  }

  // ---- all tiles at once

  void whole() {
    const Location v = {{}, builder_.workspace(c_.dtype, plan_.products * plan_.v_product)},
                   m = {{}, builder_.workspace(c_.dtype, plan_.products * plan_.m_product)};
    {
      ImageStrip in(builder_, c_, image_, plan_.tile + kWinogradTaps - 1, plan_.piece * plan_.tile + kWinogradTaps - 1);
      each_row([&](const Term& row, const Term& x, const Term& at) { tiles_of_row(in, v, row, x, at); });
      builder_.finish_kernel(name("winograd2_tiles", "winograd4_tiles"), comment("tiles, transformed"), plan_.chunks,
                             plan_.grain(plan_.inputs));
    }
    const int64_t range = plan_.products * plan_.parts * plan_.blocks;
    code_.loop("i", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) {
      const Term block = code_.let("block", i % Term(plan_.blocks)),
                 tile = code_.let("tile", i / Term(plan_.blocks) % Term(plan_.parts) * Term(plan_.tiles)),
                 product = code_.let("product", i / Term(plan_.blocks * plan_.parts));
      products(
          v, code_.let("v_at", product * Term(plan_.v_product) + tile * Term(plan_.inputs)),
          code_.let("u_at", product * Term(plan_.u_product(c_)) + block * Term(plan_.u_block(c_))), m,
          code_.let("m_at", product * Term(plan_.m_product) + tile * Term(plan_.m_row) + block * Term(plan_.block)));
    });
    builder_.finish_kernel(name("winograd2_products", "winograd4_products"), comment("products"), range, 1);
    {
      ResultStrip out(builder_, c_, step_, plan_.tile, plan_.piece * plan_.tile);
      each_row([&](const Term& row, const Term& x, const Term& at) {
        code_.loop("block", plan_.blocks, [&](const Term& block) {
          positions_of_row(out, m, row, x, block,
                           code_.let("sums_at", at * Term(plan_.m_row) + block * Term(plan_.block)));
        });
      });
      builder_.finish_kernel(name_of_kernel(name("winograd2_places", "winograd4_places"), step_),
                             comment("sums, transformed"), plan_.chunks, plan_.grain(plan_.m_row));
    }
  }

  void each_row(const std::function<void(const Term& row, const Term& x, const Term& at)>& body) {
    code_.loop("i", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) {
      const Term row = code_.let("row", i / Term(plan_.pieces)),
                 x = code_.let("tile0", i % Term(plan_.pieces) * Term(plan_.piece));
      body(row, x, code_.let("tile_at", row * Term(plan_.row) + x));
    });
  }

  // ---- what both share

  Term minimum(const Term& a, int64_t most, int64_t step) {
    return most % step == 0 ? a : select(a < Term(most), a, Term(most));
  }

  // The tiles of a piece of a row.
  Term tiles_from(const Term& x) {
    if (plan_.row % plan_.piece == 0) return Term(plan_.piece);
    const Term left = Term(plan_.row) - x;
    return code_.let("tiles", select(left < Term(plan_.piece), left, Term(plan_.piece)));
  }

  // The tiles of a row from tile x on, to V from tile `at` on.
  void tiles_of_row(ImageStrip& strip, const Location& v, const Term& row, const Term& x, const Term& at) {
    const Term image = code_.let("image", row / Term(plan_.rows_of_image)),
               y = code_.let("y", row % Term(plan_.rows_of_image) * Term(plan_.tile)), count = tiles_from(x);
    code_.loop("c", 0, plan_.inputs, lanes_, LoopMark::kSequential, [&](const Term& channel) {
      strip.read(image, channel, y, x * Term(plan_.tile));
      code_.loop("t", 0, count, 1, LoopMark::kSequential, [&](const Term& t) {
        const Term column = code_.let("column", t * Term(plan_.tile)),
                   to = code_.let("to", (at + t) * Term(plan_.inputs) + channel);
        transforms_.data(
            code_, [&](int64_t a, int64_t b) { return strip.load(a, column + Term(b)); },
            [&](int64_t a, int64_t b, const Term& value) {
              store(v, to + Term((a * transforms_.points() + b) * plan_.v_product), value);
            });
      });
    });
  }

  // The positions of the same tiles, of a block of outputs; the first tile's sums begin at `at`.
  void positions_of_row(ResultStrip& strip, const Location& m, const Term& row, const Term& x, const Term& block,
                        const Term& at) {
    const Term image = code_.let("image", row / Term(plan_.rows_of_image)),
               y = code_.let("y", row % Term(plan_.rows_of_image) * Term(plan_.tile)), count = tiles_from(x);
    code_.loop("o", 0, plan_.block, lanes_, LoopMark::kSequential, [&](const Term& o) {
      const Term output = code_.let("output", block * Term(plan_.block) + o);
      auto vector = [&] {
        code_.loop("t", 0, count, 1, LoopMark::kSequential, [&](const Term& t) {
          const Term column = code_.let("column", t * Term(plan_.tile)),
                     from = code_.let("from", at + t * Term(plan_.m_row) + o);
          transforms_.inverse(
              code_,
              [&](int64_t a, int64_t b) {
                return load(m, from + Term((a * transforms_.points() + b) * plan_.m_product), lanes_);
              },
              [&](int64_t a, int64_t b, const Term& value) { strip.store(a, column + Term(b), value); });
        });
        strip.write(image, output, y, x * Term(plan_.tile), count * Term(plan_.tile));
      };
      if (plan_.blocks * plan_.block - c_.outputs < lanes_) return vector();
      code_.if_(output < Term(c_.outputs), vector);
    });
  }

  // One product of `tiles` tiles and a block of outputs, over all inputs.
  void products(const Location& v, const Term& v_at, const Term& u_at, const Location& m, const Term& m_at) {
    const Tiles groups(plan_.tiles, plan_.sums);
    auto slab = [&](const Term& begin, const Term& end, bool is_first) {
      groups.each([&](int64_t group, int64_t first, int64_t last) {
        auto at = [&](const Term& t) {
          group_of_tiles(group, v, code_.let("v_tile", v_at + t * Term(plan_.inputs)), u_at, m,
                         code_.let("m_tile", m_at + t * Term(plan_.m_row)), begin, end, is_first);
        };
        if (last - first == group) return at(first);
        code_.loop("t", first, last, group, LoopMark::kSequential, at);
      });
    };
    slab(0, plan_.slab, true);
    if (plan_.slab < c_.inputs)
      code_.loop("slab", plan_.slab, c_.inputs, plan_.slab, LoopMark::kSequential, [&](const Term& begin) {
        slab(begin, code_.let("end", minimum(begin + Term(plan_.slab), c_.inputs, plan_.slab)), false);
      });
  }

  void group_of_tiles(int64_t group, const Location& v, const Term& v_at, const Term& u_at, const Location& m,
                      const Term& m_at, const Term& begin, const Term& end, bool is_first) {
    auto position = [&](int64_t t, int64_t k) { return m_at + Term(t * plan_.m_row + k * lanes_); };
    std::vector<Term> acc;
    for (int64_t t = 0; t < group; ++t)
      for (int64_t k = 0; k < plan_.vectors; ++k)
        acc.push_back(code_.sum(str("s", t, "_", k), is_first ? zero() : load(m, position(t, k), lanes_),
                                static_cast<int64_t>(acc.size())));
    code_.loop("c", begin, end, 1, LoopMark::kSequential, [&](const Term& c) {
      std::vector<Term> filters;
      for (int64_t k = 0; k < plan_.vectors; ++k)
        filters.push_back(
            code_.let(str("u", k), builder_.load(u_, u_at + c * Term(plan_.block) + Term(k * lanes_), lanes_)));
      size_t next = 0;
      for (int64_t t = 0; t < group; ++t) {
        const Term a = code_.let("a", kernel::splat(load(v, v_at + Term(t * plan_.inputs) + c, 1), lanes_));
        for (const Term& filter : filters) {
          code_.assign(acc[next], fma(a, filter, acc[next]));
          ++next;
        }
      }
    });
    for (Term& sum : acc) sum = code_.taken(sum);
    size_t next = 0;
    for (int64_t t = 0; t < group; ++t)
      for (int64_t k = 0; k < plan_.vectors; ++k) store(m, position(t, k), acc[next++]);
  }

  StepBuilder& builder_;
  Code& code_;
  const Correlation& c_;
  ImagePlan plan_;
  int lanes_;
  Winograd transforms_;
  const CorrelationStep& step_;
  kernel::Operand image_, w_, u_;
};

}  // namespace

std::string name_of_winograd(int64_t tile) {
  return str("winograd ", tile);
}

std::optional<int64_t> winograd_named(std::string_view name) {
  for (int64_t tile : {2, 4})
    if (name == name_of_winograd(tile)) return tile;
  return std::nullopt;
}

bool is_winograd(const Correlation& c, int64_t tile) {
  if ((tile != 2 && tile != 4) || c.rank != 2 || c.groups != 1) return false;
  return std::all_of(c.axes.begin() + 1, c.axes.end(), [](const CorrelationAxis& axis) {
    return axis.kernel == kWinogradTaps && axis.stride == 1 && axis.dilation == 1 && axis.gap == 1 && axis.phases == 1;
  });
}

double winograd_error_bound(const Correlation& c, int64_t tile) {
  return Winograd(tile, kWinogradTaps, c.dtype, 1).error_bound(static_cast<double>(c.inputs));
}

int64_t winograd_workspace(const Correlation& c, int64_t tile, const kernel::Target& target) {
  const ImagePlan plan(c, tile, target);
  const int64_t elements = plan.u_product(c) + (plan.is_whole ? plan.v_product + plan.m_product : 0);
  return plan.products * elements * static_cast<int64_t>(size_of(c.dtype));
}

void lower_winograd(StepBuilder& builder, const Correlation& c, const CorrelationStep& step, int64_t tile) {
  TH_CHECK(is_winograd(c, tile), "conv: Winograd's tiles of ", tile, " positions do not fit");
  WinogradLowering(builder, c, step, tile).run();
}

}  // namespace thtrain
