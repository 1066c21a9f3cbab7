#include "compiler/cpu/conv/winograd_weights.h"

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

constexpr int64_t kWinogradWeightSlabBytes = 16 << 10;  // of D, half of a first cache of 32 KiB
constexpr int64_t kFewTilesOfSlab = 24;                 // of a slab at least
constexpr int64_t kWinogradWeightParts = 16;
constexpr int64_t kWinogradWeightSumsBytes = 4 << 20;  // of all parts, if there is more than one

// V has channels, D filters as its columns.
struct WinogradWeightPlan : WinogradPlan {
  int64_t channels, filters;  // in whole vectors, in whole blocks
  int64_t tiles;              // of a chunk, or all
  int64_t parts = 1, chunks_of_part = 1;
  int64_t v_product, d_product, s_product, s_part;
  int64_t slab;  // tiles

  WinogradWeightPlan(const Convolution& c, int64_t tile_, const kernel::Target& target)
      : WinogradPlan({c.dtype, c.n, c.axes[1].out, c.axes[2].out, c.f}, tile_, target),
        channels(rounded(c.c)),
        filters(blocks * block) {
    cut_pieces(channels + filters, channels + filters, 2 * filters * c.c);
    cut_chunks(channels + filters, rows);
    tiles = is_whole ? all_tiles() : chunk_rows * piece;
    v_product = spread(tiles * channels);
    d_product = spread(tiles * filters);
    s_product = spread(c.c * filters);
    s_part = products * s_product;
    if (!is_whole) {
      parts =
          std::min({kWinogradWeightParts, chunks, std::max<int64_t>(1, kWinogradWeightSumsBytes / (s_part * size))});
      chunks_of_part = ceil_div(chunks, parts);
      parts = ceil_div(chunks, chunks_of_part);
    }
    slab = is_whole ? even_part(tiles, std::max<int64_t>(kFewTilesOfSlab, kWinogradWeightSlabBytes / (block * size)))
                    : tiles;
  }
};

using Location = WinogradPosition;

Correlation image_of(Convolution c) {
  c.pass = ConvPass::kForward;
  return correlation_of(c);
}

// The result's gradient as an image whose positions are its elements.
Correlation gradient_of(const Convolution& c) {
  Correlation out = image_of(c);
  out.inputs = c.f;
  for (CorrelationAxis& axis : out.axes) {
    axis.in = axis.out;
    axis.before = 0;
  }
  return out;
}

class WinogradWeightLowering {
 public:
  WinogradWeightLowering(StepBuilder& builder, const Convolution& c, int64_t tile)
      : builder_(builder),
        code_(builder.code()),
        c_(c),
        image_(image_of(c)),
        gradient_(gradient_of(c)),
        plan_(c, tile, builder.target()),
        lanes_(static_cast<int>(plan_.lanes)),
        transforms_(kWinogradTaps, tile, c.dtype, lanes_),
        s_(builder.workspace(c.dtype, plan_.parts * plan_.s_part)) {}

  void run() {
    if (plan_.is_whole)
      whole();
    else
      in_chunks();
    write();
  }

 private:
  Term zero() const { return kernel::splat(kernel::constant(c_.dtype, 0), lanes_); }
  Term load(const Location& from, const Term& at, int lanes) {
    return from.operand ? builder_.load(*from.operand, at, lanes) : kernel::load(from.array, c_.dtype, lanes, at, 1);
  }
  Location local(const char* name, int64_t elements) {
    return {code_.local_array(name, {c_.dtype, 1, 0}, elements).node().name, std::nullopt};
  }
  std::string comment(const char* what) const {
    return str(what, ", ", plan_.tile, "x", plan_.tile, " positions a tile: ", c_.n, " images of ", c_.c, " channels, ",
               c_.f, " filters, ", c_.axes[1].out, "x", c_.axes[2].out, " positions");
  }
  const char* name(const char* of_2, const char* of_4) const { return plan_.tile == 2 ? of_2 : of_4; }
  Term minimum(const Term& a, int64_t most, int64_t step) {
    return most % step == 0 ? a : select(a < Term(most), a, Term(most));
  }

  // ---- in chunks

  void in_chunks() {
    const Location v = local("v", plan_.products * plan_.v_product), d = local("d", plan_.products * plan_.d_product);
    ImageStrip image = image_strip(), gradient = gradient_strip();
    code_.loop("part", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& part) {
      const Term sums = code_.let("sums", part * Term(plan_.s_part)),
                 chunk0 = code_.let("chunk0", part * Term(plan_.chunks_of_part)),
                 chunk1 = code_.let("chunk1",
                                    minimum(chunk0 + Term(plan_.chunks_of_part), plan_.chunks, plan_.chunks_of_part));
      code_.loop("z", plan_.s_part / lanes_,
                 [&](const Term& z) { builder_.store(s_, sums + z * Term(lanes_), zero()); });
      code_.loop("chunk", chunk0, chunk1, 1, LoopMark::kSequential, [&](const Term& chunk) {
        const Term first = code_.let("row0", chunk / Term(plan_.pieces) * Term(plan_.chunk_rows)),
                   last = code_.let("row1", minimum(first + Term(plan_.chunk_rows), plan_.rows, plan_.chunk_rows)),
                   x = code_.let("tile0", chunk % Term(plan_.pieces) * Term(plan_.piece)), count = tiles_from(x);
        code_.loop("row", first, last, 1, LoopMark::kSequential, [&](const Term& row) {
          // Pieces of rows are chunks of one row: the tiles of a chunk lie one behind the other.
          tiles_of_row(image, gradient, v, d, row, x, count, code_.let("at", (row - first) * Term(plan_.piece)));
        });
        const Term tiles = code_.let("all", (last - first) * count);
        code_.loop("product", plan_.products, [&](const Term& product) {
          code_.loop("block", plan_.blocks, [&](const Term& block) {
            const Term d_at = code_.let("d_at", product * Term(plan_.d_product) + block * Term(plan_.block)),
                       v_at = code_.let("v_at", product * Term(plan_.v_product)),
                       s_at = code_.let("s_at", sums + product * Term(plan_.s_product) + block * Term(plan_.block));
            products(v, v_at, d, d_at, s_at, 0, tiles, false);
          });
        });
      });
    });
    builder_.finish_kernel(name("winograd2_weights", "winograd4_weights"), comment("sums of Winograd's products"),
                           plan_.parts, 1);
  }

  // ---- all tiles at once

  void whole() {
    const Location v = {{}, builder_.workspace(c_.dtype, plan_.products * plan_.v_product)},
                   d = {{}, builder_.workspace(c_.dtype, plan_.products * plan_.d_product)};
    {
      ImageStrip image = image_strip(), gradient = gradient_strip();
      code_.loop("i", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) {
        const Term row = code_.let("row", i / Term(plan_.pieces)),
                   x = code_.let("tile0", i % Term(plan_.pieces) * Term(plan_.piece));
        tiles_of_row(image, gradient, v, d, row, x, tiles_from(x), code_.let("at", row * Term(plan_.row) + x));
      });
      builder_.finish_kernel(name("winograd2_tiles", "winograd4_tiles"), comment("tiles, transformed"), plan_.chunks,
                             plan_.grain(plan_.channels + plan_.filters));
    }
    code_.loop("i", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) {
      const Term block = code_.let("block", i % Term(plan_.blocks)),
                 product = code_.let("product", i / Term(plan_.blocks));
      const Term d_at = code_.let("d_at", product * Term(plan_.d_product) + block * Term(plan_.block)),
                 v_at = code_.let("v_at", product * Term(plan_.v_product)),
                 s_at = code_.let("s_at", product * Term(plan_.s_product) + block * Term(plan_.block));
      products(v, v_at, d, d_at, s_at, 0, plan_.slab, true);
      if (plan_.slab < plan_.tiles)
        code_.loop("slab", plan_.slab, plan_.tiles, plan_.slab, LoopMark::kSequential, [&](const Term& begin) {
          products(v, v_at, d, d_at, s_at, begin,
                   code_.let("end", minimum(begin + Term(plan_.slab), plan_.tiles, plan_.slab)), false);
        });
    });
    builder_.finish_kernel(name("winograd2_products", "winograd4_products"), comment("products"),
                           plan_.products * plan_.blocks, 1);
  }

  // ---- what both share

  ImageStrip image_strip() {
    return {builder_, image_, builder_.input(0), plan_.tile + kWinogradTaps - 1,
            plan_.piece * plan_.tile + kWinogradTaps - 1};
  }
  ImageStrip gradient_strip() { return {builder_, gradient_, builder_.input(1), plan_.tile, plan_.piece * plan_.tile}; }

  // The tiles of a piece of a row.
  Term tiles_from(const Term& x) {
    if (plan_.row % plan_.piece == 0) return Term(plan_.piece);
    const Term left = Term(plan_.row) - x;
    return code_.let("tiles", select(left < Term(plan_.piece), left, Term(plan_.piece)));
  }

  void tiles_of_row(ImageStrip& image, ImageStrip& gradient, const Location& v, const Location& d, const Term& row,
                    const Term& x, const Term& count, const Term& at) {
    const Term n = code_.let("n", row / Term(plan_.rows_of_image)),
               y = code_.let("y", row % Term(plan_.rows_of_image) * Term(plan_.tile)),
               column = code_.let("column", x * Term(plan_.tile));
    auto each = [&](ImageStrip& strip, int64_t channels, int64_t exist, const Location& to, int64_t product,
                    auto line) {
      code_.loop("c", 0, ceil_div(exist, lanes_) * lanes_, lanes_, LoopMark::kSequential, [&](const Term& channel) {
        strip.read(n, channel, y, column);
        code_.loop("t", 0, count, 1, LoopMark::kSequential, [&](const Term& t) {
          const Term from = code_.let("from", t * Term(plan_.tile)),
                     position = code_.let("to", (at + t) * Term(channels) + channel);
          line([&](int64_t a, int64_t b) { return strip.load(a, from + Term(b)); },
               [&](int64_t a, int64_t b, const Term& value) {
                 const Term p = position + Term((a * transforms_.points() + b) * product);
                 if (to.operand)
                   builder_.store(*to.operand, p, value);
                 else
                   code_.store(to.array, p, 1, value);
               });
        });
      });
    };
    each(image, plan_.channels, c_.c, v, plan_.v_product,
         [&](const auto& from, const auto& to) { transforms_.data(code_, from, to); });
    each(gradient, plan_.filters, c_.f, d, plan_.d_product,
         [&](const auto& from, const auto& to) { transforms_.filter(code_, from, to); });
  }

  // Adds tiles [begin, end) of one product and a block of filters to the sums, for all channels.
  void products(const Location& v, const Term& v_at, const Location& d, const Term& d_at, const Term& s_at,
                const Term& begin, const Term& end, bool is_first) {
    const Tiles groups(c_.c, plan_.sums);
    groups.each([&](int64_t group, int64_t first, int64_t last) {
      auto at = [&](const Term& channel) {
        const Term s = code_.let("s", s_at + channel * Term(plan_.filters)), from = code_.let("from", v_at + channel);
        auto position = [&](int64_t c, int64_t k) { return s + Term(c * plan_.filters + k * lanes_); };
        std::vector<Term> acc;
        for (int64_t c = 0; c < group; ++c)
          for (int64_t k = 0; k < plan_.vectors; ++k)
            acc.push_back(code_.sum(str("s", c, "_", k), is_first ? zero() : builder_.load(s_, position(c, k), lanes_),
                                    static_cast<int64_t>(acc.size())));
        code_.loop("t", begin, end, 1, LoopMark::kSequential, [&](const Term& t) {
          std::vector<Term> gradients;
          for (int64_t k = 0; k < plan_.vectors; ++k)
            gradients.push_back(
                code_.let(str("d", k), load(d, d_at + t * Term(plan_.filters) + Term(k * lanes_), lanes_)));
          size_t next = 0;
          for (int64_t c = 0; c < group; ++c) {
            const Term a = code_.let("a", kernel::splat(load(v, from + t * Term(plan_.channels) + Term(c), 1), lanes_));
            for (const Term& gradient : gradients) {
              code_.assign(acc[next], fma(a, gradient, acc[next]));
              ++next;
            }
          }
        });
        for (Term& sum : acc) sum = code_.taken(sum);
        size_t next = 0;
        for (int64_t c = 0; c < group; ++c)
          for (int64_t k = 0; k < plan_.vectors; ++k) builder_.store(s_, position(c, k), acc[next++]);
      };
      if (last - first == group) return at(first);
      code_.loop("c", first, last, group, LoopMark::kSequential, at);
    });
  }

  // From sums to filters: a range of vectors of filters times channels.
  void write() {
    const int64_t range = ceil_div(c_.f, lanes_) * c_.c, step = c_.c * kWinogradTaps * kWinogradTaps,
                  rest = c_.f % lanes_;
    code_.loop("i", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) {
      const Term channel = code_.let("channel", i % Term(c_.c)),
                 first = code_.let("first", i / Term(c_.c) * Term(lanes_)),
                 from = code_.let("from", channel * Term(plan_.filters) + first),
                 to = code_.let("to", first * Term(step) + channel * Term(kWinogradTaps * kWinogradTaps));
      auto sum = [&](int64_t a, int64_t b) {
        const Term at = from + Term((a * transforms_.points() + b) * plan_.s_product);
        Term out = builder_.load(s_, at, lanes_);
        for (int64_t p = 1; p < plan_.parts; ++p) out = out + builder_.load(s_, at + Term(p * plan_.s_part), lanes_);
        return out;
      };
      auto exist = [&](const Term& count) {
        transforms_.inverse(code_, sum, [&](int64_t a, int64_t b, const Term& value) {
          builder_.store(builder_.output(), to + Term(a * kWinogradTaps + b), value, step, count);
        });
      };
      if (rest == 0) return exist({});
      if (c_.f < lanes_) return exist(Term(rest));
      code_.if_(
          first < Term(c_.f - rest), [&] { exist({}); }, [&] { exist(Term(rest)); });
    });
    builder_.finish_kernel(name("winograd2_taps", "winograd4_taps"), comment("sums, transformed"), range,
                           std::max<int64_t>(1, (1 << 14) / (plan_.products * lanes_ * plan_.parts)));
  }

  StepBuilder& builder_;
  Code& code_;
  const Convolution& c_;
  Correlation image_, gradient_;
  WinogradWeightPlan plan_;
  int lanes_;
  Winograd transforms_;
  kernel::Operand s_;
};

}  // namespace

bool is_winograd_weights(const Convolution& c, int64_t tile) {
  if ((tile != 2 && tile != 4) || c.rank != 2 || c.groups != 1) return false;
  return std::all_of(c.axes.begin() + 1, c.axes.end(), [](const ConvAxis& axis) {
    return axis.kernel == kWinogradTaps && axis.stride == 1 && axis.dilation == 1;
  });
}

double winograd_weights_error_bound(const Convolution& c, int64_t tile) {
  const int64_t tiles = c.n * ceil_div(c.axes[1].out, tile) * ceil_div(c.axes[2].out, tile);
  return Winograd(kWinogradTaps, tile, c.dtype, 1).error_bound(static_cast<double>(tiles + kWinogradWeightParts));
}

int64_t winograd_weights_workspace(const Convolution& c, int64_t tile, const kernel::Target& target) {
  const WinogradWeightPlan plan(c, tile, target);
  const int64_t tiles = plan.is_whole ? plan.products * (plan.v_product + plan.d_product) : 0;
  return (plan.parts * plan.s_part + tiles) * static_cast<int64_t>(size_of(c.dtype));
}

void lower_winograd_weights(StepBuilder& builder, const Convolution& c, int64_t tile) {
  TH_CHECK(is_winograd_weights(c, tile), "conv: Winograd's tiles of ", tile, " positions do not fit");
  WinogradWeightLowering(builder, c, tile).run();
}

}  // namespace thtrain
