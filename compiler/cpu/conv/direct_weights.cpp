#include "compiler/cpu/conv/direct_weights.h"

#include <algorithm>
#include <functional>

#include "compiler/cpu/conv/correlation.h"
#include "compiler/cpu/conv/direct.h"
#include "compiler/cpu/conv/direct_weights_plan.h"
#include "compiler/cpu/conv/tiles.h"
#include "compiler/kernel/tile_cycles.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

class DirectWeights {
 public:
  DirectWeights(StepBuilder& builder, const Convolution& c, const WeightStep& step, const WeightTiling& tiling)
      : builder_(builder),
        code_(builder.code()),
        c_(as_computed(c, tiling, builder.lanes_of(c.dtype))),
        is_exchanged_(exchanges(c, tiling, builder.lanes_of(c.dtype))),
        step_(is_exchanged_ ? WeightStep{step.dy, step.image, step.out} : step),
        tiling_(tiling),
        plan_(tiling, c_, builder.lanes_of(c.dtype)),
        padded_(images_read_by(tiling, c_, builder.target())),
        lanes_(plan_.lanes),
        image_(padded_images(builder, padded_, step_.image)),
        sums_(builder.workspace(c.dtype, plan_.parts * plan_.sums(c_, tiling))) {}

  void run() {
    if (tiling_.over_filters)
      dy_ = code_.local_array("dy", {c_.dtype, 1, 0}, plan_.positions_of_chunk(c_) * plan_.block).node().name;
    const int64_t range = plan_.parts * c_.groups * blocks_of_range() * plan_.channel_parts;
    code_.loop("part", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) { part(i); });
    builder_.finish_kernel(
        str("conv_weights_", tiling_.over_filters ? "filters_" : "rows_", plan_.taps.tile, "x", plan_.vectors),
        str("sums of ", c_.n, " images of ", c_.c, " channels, ", c_.f, " filters of ", c_.taps(), " taps, ",
            c_.positions(), " positions; ", name_of(tiling_)),
        range, 1);
    write();
  }

 private:
  const CorrelationAxis& depth() const { return padded_.axes[0]; }
  const CorrelationAxis& height() const { return padded_.axes[1]; }
  const CorrelationAxis& width() const { return padded_.axes[2]; }
  int64_t blocks_of_range() const { return plan_.blocks_inside ? 1 : plan_.blocks; }
  int64_t sum_vectors() const { return plan_.block * (tiling_.over_filters ? 1 : lanes_); }  // elements for each tap

  // ---- the sums of one part

  void part(const Term& i) {
    const Term channels = code_.let("channels", i % Term(plan_.channel_parts)),
               block = code_.let("block", i / Term(plan_.channel_parts) % Term(blocks_of_range())),
               group = code_.let("group", i / Term(plan_.channel_parts * blocks_of_range()) % Term(c_.groups)),
               rows = code_.let("rows", i / Term(plan_.channel_parts * blocks_of_range() * c_.groups));
    const Term first = code_.let("c0", channels * Term(plan_.channels_of_part));
    const Term last = code_.let("c1", minimum(first + Term(plan_.channels_of_part), c_.channels()));
    auto sums_of = [&](const Term& b) {
      return code_.let("sums_at", ((rows * Term(c_.groups) + group) * Term(plan_.blocks) + b) *
                                      Term(c_.channels() * c_.taps() * sum_vectors()));
    };
    auto each_block = [&](const std::function<void(const Term&)>& body) {
      if (!plan_.blocks_inside) return body(block);
      code_.loop("b", plan_.blocks, body);
    };
    each_block([&](const Term& b) {
      clear(sums_of(b) + first * Term(c_.taps() * sum_vectors()), (last - first) * Term(c_.taps() * sum_vectors()));
    });
    const Term begin = code_.let("chunk0", rows * Term(plan_.chunks_of_part));
    const Term end = code_.let("chunk1", minimum(begin + Term(plan_.chunks_of_part), c_.n * plan_.chunks));
    code_.loop("chunk", begin, end, 1, LoopMark::kSequential, [&](const Term& chunk) {
      const Term image = code_.let("image", chunk / Term(plan_.chunks)),
                 row0 = code_.let("row0", chunk % Term(plan_.chunks) * Term(plan_.chunk)),
                 row1 = code_.let("row1", minimum(row0 + Term(plan_.chunk), plan_.rows)),
                 of_group = code_.let("of_group", image * Term(c_.groups) + group);
      const Term skipped((depth().skipped() * height().stored() + height().skipped()) * width().stored() +
                         width().skipped());
      image_at_ = code_.let("image_at", of_group * Term(c_.channels() * padded_.stored_pixels()) - skipped);
      each_block([&](const Term& b) {
        dy_at_ = code_.let("dy_at", (of_group * Term(c_.filters()) + b * Term(plan_.block)) * Term(c_.positions()));
        block_of_chunk(sums_of(b), b, first, last, row0, row1);
      });
    });
  }

  void block_of_chunk(const Term& sums, const Term& block, const Term& first, const Term& last, const Term& row0,
                      const Term& row1) {
    if (tiling_.over_filters) transpose_rows(block, row0, row1);
    const int64_t rest = c_.filters() - (plan_.blocks - 1) * plan_.block;
    if (tiling_.over_filters || rest == plan_.block) return all_channels(sums, first, last, row0, row1, plan_.vectors);
    if (plan_.blocks == 1) return all_channels(sums, first, last, row0, row1, rest);
    code_.if_(
        block < Term(plan_.blocks - 1), [&] { all_channels(sums, first, last, row0, row1, plan_.vectors); },
        [&] { all_channels(sums, first, last, row0, row1, rest); });
  }

  // The chunk's rows of the gradient as [position][filter of the block], with zeros for filters that do not exist.
  void transpose_rows(const Term& block, const Term& row0, const Term& row1) {
    const Term zero = kernel::splat(kernel::constant(c_.dtype, 0), lanes_);
    const Term from = code_.let("from", dy_at_ + row0 * Term(width().out)),
               positions = code_.let("positions", (row1 - row0) * Term(width().out));
    auto columns = [&](int64_t exist) {
      for (int64_t v = 0; v * lanes_ < plan_.block; ++v) {
        auto square = [&](const Term& p, const Term& count) {
          std::vector<Term> rows;
          // A line of each row; the next chunk's is fetched meanwhile.
          for (int64_t o = v * lanes_; o < std::min((v + 1) * lanes_, exist); ++o)
            builder_.prefetch(step_.dy, from + Term(o * c_.positions() + plan_.chunk * width().out) + p,
                              kernel::Prefetch::kL2);
          for (int64_t o = v * lanes_; o < (v + 1) * lanes_; ++o)
            rows.push_back(o < exist ? code_.let("r", builder_.load(step_.dy, from + Term(o * c_.positions()) + p,
                                                                    lanes_, 1, count))
                                     : zero);
          rows = transposed(code_, std::move(rows));
          for (int64_t k = 0; k < lanes_; ++k)
            code_.store(dy_, (p + Term(k)) * Term(plan_.block) + Term(v * lanes_), 1, rows[static_cast<size_t>(k)]);
        };
        const Term whole = code_.let("whole", positions / Term(lanes_) * Term(lanes_));
        code_.loop("p", 0, whole, lanes_, LoopMark::kSequential, [&](const Term& p) { square(p, {}); });
        code_.if_(whole < positions, [&] { square(whole, code_.let("left", positions - whole)); });
      }
    };
    const int64_t rest = c_.filters() - (plan_.blocks - 1) * plan_.block;
    if (rest == plan_.block || plan_.blocks == 1) return columns(rest);
    code_.if_(
        block < Term(plan_.blocks - 1), [&] { columns(plan_.block); }, [&] { columns(rest); });
  }

  Term minimum(const Term& a, int64_t most) { return select(a < Term(most), a, Term(most)); }

  void clear(const Term& first, const Term& count) {
    code_.loop("z", 0, count, 1, LoopMark::kSequential,
               [&](const Term& z) { builder_.store(sums_, first + z, kernel::constant(c_.dtype, 0)); });
  }

  void all_channels(const Term& sums, const Term& first, const Term& last, const Term& row0, const Term& row1,
                    int64_t vectors) {
    const int64_t of_tile = plan_.channels_of_tile, rest = c_.channels() % of_tile;
    auto tiles = [&](const Term& c, int64_t count) {
      code_.loop("kz", depth().kernel, [&](const Term& kz) {
        code_.loop("ky", height().kernel, [&](const Term& ky) {
          const Term image =
              code_.let("plane", image_at_ + c * Term(padded_.stored_pixels()) +
                                     (kz * Term(depth().dilation * height().stored()) + ky * Term(height().dilation)) *
                                         Term(width().stored()));
          const Term at =
              code_.let("tap", sums + (c * Term(c_.taps()) + (kz * Term(height().kernel) + ky) * Term(width().kernel)) *
                                          Term(sum_vectors()));
          ky_ = ky;
          kz_ = kz;
          plan_.taps.each([&](int64_t tile, int64_t from, int64_t to) {
            for (int64_t k = from; k < to; k += tile)
              chunk_of_taps(image + Term(k * width().dilation), at + Term(k * sum_vectors()), k, tile, count, row0,
                            row1, vectors);
          });
        });
      });
    };
    const Term whole = rest == 0 ? last : code_.let("whole", minimum(last, c_.channels() - rest));
    code_.loop("c", first, whole, of_tile, LoopMark::kSequential, [&](const Term& c) { tiles(c, of_tile); });
    if (rest != 0) code_.if_(last == Term(c_.channels()), [&] { tiles(Term(c_.channels() - rest), rest); });
  }

  // `taps` neighbours from `first_tap` on, of `channels` channels, over the rows of the chunk.
  void chunk_of_taps(const Term& image, const Term& sums, int64_t first_tap, int64_t taps, int64_t channels,
                     const Term& row0, const Term& row1, int64_t vectors) {
    auto position = [&](int64_t c, int64_t k, int64_t v) {
      return sums + Term((c * c_.taps() + k) * sum_vectors() + v * lanes_);
    };
    std::vector<Term> acc;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t k = 0; k < taps; ++k)
        for (int64_t v = 0; v < vectors; ++v)
          acc.push_back(code_.sum(str("s", c, "_", k, "_", v), builder_.load(sums_, position(c, k, v), lanes_),
                                  static_cast<int64_t>(acc.size())));
    code_.loop("row", row0, row1, 1, LoopMark::kSequential, [&](const Term& row) {
      const Term y = code_.let("y", row % Term(height().out)), z = code_.let("z", row / Term(height().out));
      auto positions = [&] {
        const Term x_row =
            code_.let("x_row", image + (z * Term(depth().stride * height().stored()) + y * Term(height().stride)) *
                                           Term(width().stored()));
        fetch_next_chunk(x_row, channels);
        if (tiling_.over_filters)
          positions_by_filters(x_row, code_.let("dy_row", (row - row0) * Term(width().out * plan_.block)), first_tap,
                               taps, channels, vectors, acc);
        else
          positions_by_rows(x_row, code_.let("dy_row", dy_at_ + row * Term(width().out)), taps, channels, vectors, acc);
      };
      Term is_inside;
      for (const auto& [axis, position, k] : {std::tuple(&depth(), &z, &kz_), std::tuple(&height(), &y, &ky_)}) {
        if (!axis->has_zeros()) continue;
        const Term at =
            code_.let("at", *position * Term(axis->stride) + *k * Term(axis->dilation) - Term(axis->before));
        const Term one = at >= Term(0) && at < Term(axis->in);
        is_inside = is_inside ? is_inside && one : one;
      }
      if (is_inside)
        code_.if_(is_inside, positions);
      else
        positions();
    });
    for (Term& sum : acc) sum = code_.taken(sum);
    size_t next = 0;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t k = 0; k < taps; ++k)
        for (int64_t v = 0; v < vectors; ++v) builder_.store(sums_, position(c, k, v), acc[next++]);
  }

  // What the row of the next chunk reads of each channel: short runs of planes that lie far from each other.
  void fetch_next_chunk(const Term& x_row, int64_t channels) {
    constexpr int64_t kLineBytes = 64;
    if (c_.channels() <= kFewStreams) return;
    const int64_t ahead = plan_.chunk * height().stride * width().stored();
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t at = 0; at < width().stored(); at += kLineBytes / static_cast<int64_t>(size_of(c_.dtype)))
        builder_.prefetch(image_, x_row + Term(c * padded_.stored_pixels() + ahead + at), kernel::Prefetch::kL2);
  }

  Term element(const Term& at, int64_t c, int64_t k) {
    return at + Term(c * padded_.stored_pixels() + k * width().dilation);
  }

  void positions_by_filters(const Term& x_row, const Term& dy_row, int64_t first_tap, int64_t taps, int64_t channels,
                            int64_t vectors, const std::vector<Term>& acc) {
    auto is_border = [&](int64_t x) { return width().is_bare && is_over_zeros(width(), x, first_tap, taps); };
    auto at = [&](const Term& x, int64_t border) {
      std::vector<Term> filters;
      for (int64_t v = 0; v < vectors; ++v)
        filters.push_back(code_.let(
            str("d", v),
            kernel::held(builder_.target(),
                         kernel::load(dy_, c_.dtype, lanes_, dy_row + x * Term(plan_.block) + Term(v * lanes_), 1), v,
                         channels * taps, vectors)));
      size_t next = 0;
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t k = 0; k < taps; ++k) {
          if (border >= 0 && width().falls_on_zero(border, first_tap + k)) {
            next += filters.size();
            continue;
          }
          const Term a =
              code_.let("a", builder_.load(image_, element(x_row + x * Term(width().stride), c, k), lanes_, 0));
          for (const Term& filter : filters) {
            code_.assign(acc[next], fma(a, filter, acc[next]));
            ++next;
          }
        }
    };
    for (int64_t first = 0; first < width().out;) {
      int64_t last = first;
      while (last < width().out && !is_border(last)) ++last;
      if (last > first) {
        code_.loop("x", first, last, 1, LoopMark::kSequential, [&](const Term& x) { at(x, -1); });
        first = last;
      } else {
        at(first, first);
        ++first;
      }
    }
  }

  void positions_by_rows(const Term& x_row, const Term& dy_row, int64_t taps, int64_t channels, int64_t filters,
                         const std::vector<Term>& acc) {
    const int64_t whole = width().out / lanes_ * lanes_, left = width().out - whole;
    auto vector = [&](const Term& x, const Term& count) {
      std::vector<Term> d;
      for (int64_t o = 0; o < filters; ++o) {
        Term lanes = builder_.load(step_.dy, dy_row + Term(o * c_.positions()) + x, lanes_, 1, count);
        // Lanes behind the row's end count nothing.
        if (count)
          lanes = select(kernel::iota(c_.dtype, lanes_) <
                             kernel::splat(kernel::constant(c_.dtype, static_cast<double>(left)), lanes_),
                         lanes, kernel::splat(kernel::constant(c_.dtype, 0), lanes_));
        d.push_back(code_.let(str("d", o), kernel::in_register(lanes)));
      }
      size_t next = 0;
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t k = 0; k < taps; ++k) {
          // Most of these loads, and of those of the gradient's rows, cross a cache line: none is repeated, though with
          // 16 registers that leaves g++ none.
          const Term a =
              code_.let("a", kernel::in_register(builder_.load(image_, element(x_row + x, c, k), lanes_, 1, count)));
          for (const Term& filter : d) {
            code_.assign(acc[next], fma(a, filter, acc[next]));
            ++next;
          }
        }
    };
    if (whole > 0) code_.loop("x", 0, whole, lanes_, LoopMark::kSequential, [&](const Term& x) { vector(x, {}); });
    if (left > 0) vector(whole, left);
  }

  // ---- from sums to filters

  void write() {
    if (is_exchanged_)
      write_exchanged();
    else if (tiling_.over_filters)
      write_filters();
    else
      write_rows();
  }

  // The sum of the parts of what lies at `at` in each.
  Term added(const Term& at, int lanes) {
    const int64_t part = plan_.sums(c_, tiling_);
    Term sum = builder_.load(sums_, at, lanes);
    for (int64_t p = 1; p < plan_.parts; ++p) sum = sum + builder_.load(sums_, at + Term(p * part), lanes);
    return sum;
  }

  // Squares of taps x filters are transposed: [tap of a channel][filter] to [filter][tap of a channel].
  void write_filters() {
    const int64_t taps = c_.channels() * c_.taps(), filters = c_.filters();
    const int64_t vectors = plan_.block / lanes_, range = c_.groups * plan_.blocks * vectors;
    code_.loop("i", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) {
      const Term v = code_.let("v", i % Term(vectors)), block = code_.let("block", i / Term(vectors)),
                 from = code_.let("from", block * Term(taps * plan_.block) + v * Term(lanes_)),
                 of_group = code_.let("of_group", block % Term(plan_.blocks) * Term(plan_.block) + v * Term(lanes_)),
                 to = code_.let("to", (block / Term(plan_.blocks) * Term(filters) + of_group) * Term(taps));
      auto square = [&](const Term& k, int64_t most) {
        std::vector<Term> rows;
        for (int64_t j = 0; j < lanes_; ++j)
          rows.push_back(j < most ? code_.let("r", added(from + (k + Term(j)) * Term(plan_.block), lanes_))
                                  : kernel::splat(kernel::constant(c_.dtype, 0), lanes_));
        rows = transposed(code_, std::move(rows));
        for (int64_t o = 0; o < lanes_; ++o) {
          auto store = [&] {
            builder_.store(step_.out, to + Term(o * taps) + k, rows[static_cast<size_t>(o)], 1,
                           most < lanes_ ? Term(most) : Term());
          };
          if (filters % lanes_ == 0 && filters % plan_.block == 0)
            store();
          else
            code_.if_(of_group + Term(o) < Term(filters), store);
        }
      };
      const int64_t whole = taps / lanes_ * lanes_;
      if (whole > 0)
        code_.loop("k", 0, whole, lanes_, LoopMark::kSequential, [&](const Term& k) { square(k, lanes_); });
      if (whole < taps) square(whole, taps - whole);
    });
    builder_.finish_kernel("conv_weights", str("the sums of ", plan_.parts, " parts, as filters"), range,
                           std::max<int64_t>(1, (1 << 14) / (taps * lanes_)));
  }

  // Vectors hold channels, and lie as they are wanted.
  void write_exchanged() {
    const int64_t filters = c_.channels(), channels = c_.filters();
    code_.loop("i", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) {
      const Term of_group = code_.let("of_group", i % Term(filters)), group = code_.let("group", i / Term(filters));
      auto vectors = [&](const Term& block, int64_t exist) {
        const Term from = ((group * Term(plan_.blocks) + block) * Term(filters) + of_group) * Term(plan_.block),
                   to = i * Term(channels) + block * Term(plan_.block);
        for (int64_t v = 0; v < exist; v += lanes_)
          builder_.store(step_.out, to + Term(v), added(from + Term(v), lanes_), 1,
                         exist - v < lanes_ ? Term(exist - v) : Term());
      };
      const int64_t whole = channels / plan_.block;
      if (whole > 0) code_.loop("b", whole, [&](const Term& b) { vectors(b, plan_.block); });
      if (channels % plan_.block != 0) vectors(Term(whole), channels % plan_.block);
    });
    builder_.finish_kernel("conv_weights", str("the sums of ", plan_.parts, " parts, as filters"), c_.c,
                           std::max<int64_t>(1, (1 << 14) / channels));
  }

  void write_rows() {
    const int64_t taps = c_.channels() * c_.taps(), filters = c_.filters();
    code_.loop("i", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) {
      const Term of_group = code_.let("of_group", i % Term(filters)), group = code_.let("group", i / Term(filters)),
                 from = code_.let("from", ((group * Term(plan_.blocks) + of_group / Term(plan_.block)) * Term(taps) *
                                               Term(plan_.block) +
                                           of_group % Term(plan_.block)) *
                                              Term(lanes_));
      code_.loop("k", taps, [&](const Term& k) {
        const Term sum = code_.let("sum", added(from + k * Term(plan_.block * lanes_), lanes_));
        builder_.store(step_.out, i * Term(taps) + k, kernel::reduce_lanes("add", sum));
      });
    });
    builder_.finish_kernel("conv_weights", str("the sums of ", plan_.parts, " parts and of lanes, as filters"), c_.f,
                           std::max<int64_t>(1, (1 << 14) / taps));
  }

  StepBuilder& builder_;
  Code& code_;
  const Convolution c_;
  const bool is_exchanged_;  // the image is the gradient, and channels are filters
  const WeightStep step_;
  WeightTiling tiling_;
  WeightsPlan plan_;
  Correlation padded_;
  int lanes_;
  kernel::Operand image_, sums_;
  std::string dy_;  // the transposed rows of a chunk
  Term image_at_, dy_at_;
  Term kz_, ky_;  // the tap's row
};

}  // namespace

WeightStep weight_step_of(const StepBuilder& b) {
  return {b.input(0), b.input(1), b.output()};
}

void lower_direct_weights(StepBuilder& builder, const Convolution& c, const WeightStep& step,
                          const WeightTiling& tiling) {
  TH_CHECK(is_possible(tiling, c, builder.target()), "conv: ", name_of(tiling), " does not fit");
  DirectWeights(builder, c, step, tiling).run();
}

}  // namespace thtrain
