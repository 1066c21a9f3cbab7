#include "compiler/ops/conv/device_winograd.h"

#include "compiler/base/ceil_div.h"
#include "compiler/ops/conv/device_patches.h"
#include "compiler/ops/conv/winograd_transforms.h"

namespace thtrain {
namespace {

using kernel::DeviceTiling;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

constexpr int64_t kTaps = 3;

// Rows, columns and terms of the product of each of the points' products.
struct WinogradShape {
  int64_t tile, products, height, width;  // of the plane that is cut into tiles
  int64_t down, across, tiles;            // tiles of a column and of a row of an image; of all images
  PatchProduct product;
  int64_t parts = 1;

  WinogradShape(const Convolution& c, int64_t tile_) : tile(tile_), products((tile + kTaps - 1) * (tile + kTaps - 1)) {
    const bool is_of_images = c.pass == ConvPass::kInputGradient;
    height = is_of_images ? c.axes[1].in : c.axes[1].out;
    width = is_of_images ? c.axes[2].in : c.axes[2].out;
    down = ceil_div(height, tile);
    across = ceil_div(width, tile);
    tiles = c.n * down * across;
    if (c.pass == ConvPass::kForward) product = {c.f, tiles, c.c};
    if (c.pass == ConvPass::kInputGradient) product = {c.c, tiles, c.f};
    if (c.pass == ConvPass::kWeightGradient) product = {c.f, c.c, tiles};
    if (c.pass == ConvPass::kWeightGradient) parts = parts_of_terms(product, products);
  }

  int64_t left() const { return products * product.rows * product.terms; }
  int64_t right() const { return products * product.columns * product.terms; }
  int64_t results() const { return products * product.rows * product.columns; }
};

class WinogradKernels {
 public:
  WinogradKernels(StepBuilder& b, const Convolution& c, int64_t tile)
      : b_(b),
        code_(b.code()),
        c_(c),
        conv_(b, c),
        is_weight_(c.pass == ConvPass::kWeightGradient),
        shape_(c, tile),
        transforms_(is_weight_ ? kTaps : tile, is_weight_ ? tile : kTaps, c.dtype, 1),
        left_(b.workspace(c.dtype, Dim(shape_.left()))),
        right_(b.workspace(c.dtype, Dim(shape_.right()))) {}

  void run() {
    is_weight_ ? gradient_tiles() : filters();
    images();
    kernel::Operand results = b_.workspace(c_.dtype, Dim(shape_.parts * shape_.results()));
    products(results);
    if (shape_.parts > 1) {
      kernel::Operand sums = b_.workspace(c_.dtype, Dim(shape_.results()));
      add_parts(b_, results, shape_.parts, sums);
      results = sums;
    }
    is_weight_ ? gradients(results) : positions(results);
  }

 private:
  bool is_forward() const { return c_.pass == ConvPass::kForward; }
  Term zero() const { return kernel::constant(c_.dtype, 0); }

  // A thread for each of `count`.
  void each(const char* name, const char* what, int64_t count, const std::function<void(const Term&)>& body) {
    code_.loop("i", b_.begin(), b_.end(), 1, LoopMark::kSequential, body);
    b_.finish_kernel(str("winograd", shape_.tile, "_", name), what, Dim(count), 1);
  }
  // Two numbers of one that counts the second of them first.
  std::array<Term, 2> pair(const Term& number, int64_t of_second) {
    const std::vector<Term> at = conv_.positions(conv_.number(number), {2, of_second});
    return {at[0], at[1]};
  }
  // Product number (r, k) of the transforms.
  int64_t product(int64_t r, int64_t k) const { return r * transforms_.points() + k; }
  Winograd::Store to(const kernel::Operand& operand, int64_t of_product, const Term& i) {
    return [&, of_product, i](int64_t r, int64_t k, const Term& x) {
      b_.store(operand, i + Term(product(r, k) * of_product), x);
    };
  }
  Winograd::Load from(const kernel::Operand& operand, int64_t of_product, const Term& i) {
    return [&, of_product, i](int64_t r, int64_t k) { return b_.load(operand, i + Term(product(r, k) * of_product)); };
  }

  // U[p][input][output]
  void filters() {
    each("filters", "the filters' transforms", shape_.product.terms * shape_.product.rows, [&](const Term& i) {
      const auto [input, output] = pair(i, shape_.product.rows);
      const kernel::Operand& w = conv_.filters();
      const Term first = code_.let(
          "first", conv_.along(w, is_forward() ? 0 : 1, output) + conv_.along(w, is_forward() ? 1 : 0, input));
      transforms_.filter(
          code_,
          [&](int64_t r, int64_t k) {
            const Term at = first + conv_.along(w, 2, conv_.constant(is_forward() ? r : kTaps - 1 - r)) +
                            conv_.along(w, 3, conv_.constant(is_forward() ? k : kTaps - 1 - k));
            return b_.load(w, at);
          },
          to(left_, shape_.product.rows * shape_.product.terms, i));
    });
  }

  // Where the tile lies: its image, and its first position.
  struct TilePlace {
    Term n, row, column;
  };
  TilePlace tile_place(const Term& tile) {
    const std::vector<Term> at = conv_.positions(tile, {c_.n, shape_.down, shape_.across});
    return {at[0], code_.let("row", at[1] * conv_.constant(shape_.tile)),
            code_.let("column", at[2] * conv_.constant(shape_.tile))};
  }
  // Elements of a plane of height x width, 0 outside, from `first` on.
  Winograd::Load plane(const kernel::Operand& operand, const TilePlace& place, const Term& channel,
                       std::array<int64_t, 2> before, std::array<int64_t, 2> lengths) {
    return [=, this, &operand](int64_t r, int64_t k) {
      const Term row = code_.let("r", place.row + conv_.constant(r - before[0])),
                 column = code_.let("k", place.column + conv_.constant(k - before[1]));
      const Term x = code_.var("x", zero());
      code_.if_(row >= conv_.constant(0) && row < conv_.constant(lengths[0]) && column >= conv_.constant(0) &&
                    column < conv_.constant(lengths[1]),
                [&] {
                  code_.assign(x, b_.load(operand, conv_.along(operand, 0, place.n) + conv_.along(operand, 1, channel) +
                                                       conv_.along(operand, 2, row) + conv_.along(operand, 3, column)));
                });
      return x;
    };
  }

  // V[p][channel][tile], of what the positions are sums of
  void images() {
    const bool reads_images = c_.pass != ConvPass::kInputGradient;
    const ConvAxis &h = c_.axes[1], &w = c_.axes[2];
    const kernel::Operand& in = reads_images ? conv_.image() : conv_.results();
    const int64_t channels = reads_images ? c_.c : c_.f;
    const std::array<int64_t, 2> before = reads_images ? std::array{h.before, w.before}
                                                       : std::array{kTaps - 1 - h.before, kTaps - 1 - w.before},
                                 lengths = reads_images ? std::array{h.in, w.in} : std::array{h.out, w.out};
    each("images", "the transforms of the images' tiles", channels * shape_.tiles, [&](const Term& i) {
      const auto [channel, tile] = pair(i, shape_.tiles);
      transforms_.data(code_, plane(in, tile_place(tile), channel, before, lengths),
                       to(right_, channels * shape_.tiles, i));
    });
  }

  // D[p][filter][tile]
  void gradient_tiles() {
    each("gradients", "the transforms of the tiles of the results' gradient", c_.f * shape_.tiles, [&](const Term& i) {
      const auto [filter, tile] = pair(i, shape_.tiles);
      transforms_.filter(code_, plane(conv_.results(), tile_place(tile), filter, {0, 0}, {shape_.height, shape_.width}),
                         to(left_, c_.f * shape_.tiles, i));
    });
  }

  void products(const kernel::Operand& results) {
    const PatchProduct& p = shape_.product;
    Term first, left, right;  // of the product
    const kernel::TiledProduct tiles{
        .dtype = c_.dtype,
        .left = {.lines = p.rows,
                 .are_lines_together = !is_weight_,
                 .load =
                     [&](const Term& x, const Term& row, const Term& term) {
                       const Term at = is_weight_ ? row * Term(p.terms) + term : term * Term(p.rows) + row;
                       code_.assign(x, b_.load(left_, left + at));
                     }},
        .right = {.lines = p.columns,
                  .are_lines_together = !is_weight_,
                  .load =
                      [&](const Term& x, const Term& column, const Term& term) {
                        const Term at = is_weight_ ? column * Term(p.terms) + term : term * Term(p.columns) + column;
                        code_.assign(x, b_.load(right_, right + at));
                      }},
        .terms = p.terms,
        .count = shape_.products,
        .parts = shape_.parts,
        .begin =
            [&](const Term& number, const Term& part) {
              left = code_.let("left", number * Term(p.rows * p.terms));
              right = code_.let("right", number * Term(p.columns * p.terms));
              first = code_.let("first", (part * Term(shape_.products) + number) * Term(p.rows * p.columns));
            },
        .store = [&](const Term& row, const Term& column,
                     const Term& sum) { b_.store(results, first + row * Term(p.columns) + column, sum); }};
    const DeviceTiling tiling =
        kernel::near_tilings(b_.target(), c_.dtype, p.rows, p.columns, shape_.products * shape_.parts).front();
    kernel::tiled_product(b_, tiles, tiling, str("winograd", shape_.tile, "_products"),
                          "the products of the transforms");
  }

  // M[p][output][tile] to the positions
  void positions(const kernel::Operand& results) {
    const int64_t count = shape_.product.rows * shape_.tiles;
    each("positions", str("out0 = ", name_of(c_.pass), "(in0, in1)").c_str(), count, [&](const Term& i) {
      const std::array<Term, 2> of = pair(i, shape_.tiles);
      const TilePlace place = tile_place(of[1]);
      const kernel::Operand& out = b_.output();
      transforms_.inverse(code_, from(results, count, i), [&](int64_t r, int64_t k, const Term& y) {
        const Term row = code_.let("r", place.row + conv_.constant(r)),
                   column = code_.let("k", place.column + conv_.constant(k));
        code_.if_(row < conv_.constant(shape_.height) && column < conv_.constant(shape_.width), [&] {
          b_.store(out,
                   conv_.along(out, 0, place.n) + conv_.along(out, 1, of[0]) + conv_.along(out, 2, row) +
                       conv_.along(out, 3, column),
                   y);
        });
      });
    });
  }

  // S[p][filter][channel] to the filters
  void gradients(const kernel::Operand& results) {
    const int64_t count = c_.f * c_.c;
    each("filters", "out0 = conv_weight_gradient(in0, in1)", count, [&](const Term& i) {
      const Term first = code_.let("first", i * Term(kTaps * kTaps));
      transforms_.inverse(code_, from(results, count, i), [&](int64_t r, int64_t k, const Term& w) {
        b_.store(b_.output(), first + Term(r * kTaps + k), w);
      });
    });
  }

  StepBuilder& b_;
  kernel::Code& code_;
  const Convolution& c_;
  DeviceConv conv_;
  const bool is_weight_;
  const WinogradShape shape_;
  const Winograd transforms_;
  const kernel::Operand left_, right_;  // U and V, or D and V
};

}  // namespace

bool is_device_winograd(const Convolution& c) {
  const auto fits = [](const ConvAxis& axis) { return axis.kernel == kTaps && axis.stride == 1 && axis.dilation == 1; };
  return c.rank == 2 && c.groups == 1 && fits(c.axes[1]) && fits(c.axes[2]);
}

double device_winograd_error_bound(const Convolution& c, int64_t tile) {
  const WinogradShape shape(c, tile);
  const auto terms = static_cast<double>(shape.product.terms + shape.parts);
  return c.pass == ConvPass::kWeightGradient ? Winograd(kTaps, tile, c.dtype, 1).error_bound(terms)
                                             : Winograd(tile, kTaps, c.dtype, 1).error_bound(terms);
}

int64_t device_winograd_workspace(const Convolution& c, int64_t tile) {
  const WinogradShape shape(c, tile);
  const int64_t of_results = shape.parts + (shape.parts > 1 ? 1 : 0);
  return (shape.left() + shape.right() + of_results * shape.results()) * static_cast<int64_t>(size_of(c.dtype));
}

void lower_device_winograd(StepBuilder& b, const Convolution& c, int64_t tile) {
  WinogradKernels(b, c, tile).run();
}

}  // namespace thtrain
