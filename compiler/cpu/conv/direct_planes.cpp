#include "compiler/cpu/conv/direct_planes.h"

#include <algorithm>
#include <functional>

#include "compiler/base/str.h"
#include "compiler/cpu/conv/direct_results.h"
#include "compiler/cpu/conv/tiles.h"
#include "compiler/ops/key_reader.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

constexpr int64_t kPlanesStackBytes = 256 << 10;
// Of a channel's rows, and of the sums, of a band: with so many multiply-adds for each element of a row, what two bands
// share is copied twice for the sake of a first cache.
constexpr int64_t kNearBand = 32 << 10, kFarBand = 64 << 10, kManyOfElement = 100;
constexpr int64_t kSlabOfPlanes = 24 << 10;  // half of a first cache of 48 KiB, if one channel has no more
constexpr int64_t kBandsOfThreads = 32;      // that threads share, where there is as much
constexpr int64_t kMostUnrolledTaps = 192;   // multiply-adds of a row of taps that is unrolled
constexpr int64_t kOfSets = 2 << 10;         // rows so long fall in the same few sets of a first cache
constexpr int64_t kLineOfPlanes = 64;        // bytes

int64_t to_lanes(int64_t n, int lanes) {
  return ceil_div(n, lanes) * lanes;
}

class PlanesKernel {
 public:
  PlanesKernel(StepBuilder& builder, const Correlation& c, const CorrelationStep& step, const PlanesTiling& tiling)
      : builder_(builder),
        code_(builder.code()),
        c_(bare(c)),
        step_(step),
        tiling_(tiling),
        plan_(tiling, c_, builder.lanes_of(c.dtype)),
        lanes_(plan_.lanes),
        results_(builder, c_, step, tiling.filters, true),
        at_(prepare(builder, c_, step, tiling.filters)) {}

  void run() {
    planes_ = code_.local_array("planes", {c_.dtype, 1, 0}, plan_.slab * plan_.plane).node().name;
    if (plan_.slabs > 1)
      sums_ = code_.local_array("sums", {c_.dtype, 1, 0}, tiling_.filters * plan_.tall * plan_.sums_pitch).node().name;
    if (results_.is_ended()) results_.begin(plan_.band);
    // What rows have besides their elements is never written again.
    code_.loop("at", 0, plan_.slab * plan_.plane, lanes_, LoopMark::kSequential,
               [&](const Term& at) { code_.store(planes_, at, 1, zero()); });
    const int64_t range = c_.n * c_.groups * plan_.blocks * plan_.bands;
    code_.loop("part", builder_.begin(), builder_.end(), 1, LoopMark::kSequential, [&](const Term& i) { part(i); });
    const double flops = 2.0 * static_cast<double>(c_.n * c_.groups * c_.outputs * c_.positions()) *
                         static_cast<double>(c_.inputs * c_.taps()) / static_cast<double>(range);
    const auto grain = static_cast<double>(builder_.target().grain_of_products());
    builder_.finish_kernel(
        name_of_kernel(str("conv_planes_", tiling_.filters, "x", tiling_.rows, "x", tiling_.vectors), step_),
        str(step_.epilogue ? step_.epilogue->comment() + "; " : std::string(), c_.n, " images of ",
            c_.groups * c_.inputs, " channels, ", c_.groups * c_.outputs, " filters of ", c_.taps(), " taps, ",
            c_.positions(), " positions; ", name_of(tiling_)),
        range, std::max<int64_t>(1, static_cast<int64_t>(grain / flops)));
  }

 private:
  const CorrelationAxis& height() const { return c_.axes[1]; }
  const CorrelationAxis& width() const { return c_.axes[2]; }
  Term zero() const { return kernel::splat(kernel::constant(c_.dtype, 0), lanes_); }

  static Correlation bare(Correlation c) {
    for (CorrelationAxis& axis : c.axes) axis.is_bare = true;
    return c;
  }

  void part(const Term& i) {
    const Term band = code_.let("band", i % Term(plan_.bands)),
               block = code_.let("block", i / Term(plan_.bands) % Term(plan_.blocks)),
               group = code_.let("group", i / Term(plan_.bands * plan_.blocks) % Term(c_.groups)),
               image = code_.let("image", i / Term(plan_.bands * plan_.blocks * c_.groups));
    first_filter_ = code_.let("filter", block * Term(tiling_.filters));
    image_ = code_.let("image_at", (image * Term(c_.groups) + group) * Term(c_.inputs * c_.stored_pixels()));
    w_ = code_.let("w_at",
                   (group * Term(plan_.blocks) + block) * Term(c_.inputs * c_.taps() * int64_t{tiling_.filters}));
    results_.set_block(image, group, first_filter_);
    first_ = code_.let("first", band * Term(plan_.band));
    last_ = code_.let("last", least(first_ + Term(plan_.band), height().out));
    if (plan_.slabs == 1) {
      slab(0, c_.inputs, true, true);
    } else {
      slab(0, plan_.slab, true, false);
      if (plan_.slabs > 2)
        code_.loop("slab", plan_.slab, (plan_.slabs - 1) * plan_.slab, plan_.slab, LoopMark::kSequential,
                   [&](const Term& begin) { slab(begin, plan_.slab, false, false); });
      slab((plan_.slabs - 1) * plan_.slab, c_.inputs - (plan_.slabs - 1) * plan_.slab, false, true);
    }
    if (results_.is_ended()) results_.write(first_, last_);
  }

  Term least(const Term& a, int64_t most) { return select(a < Term(most), a, Term(most)); }

  // `count` channels from `begin` on. The sums of the slabs before are in their array, unless there are none.
  void slab(const Term& begin, int64_t count, bool is_first, bool is_last) {
    copy(begin, count);
    code_.loop("y", first_, last_, tiling_.rows, LoopMark::kSequential, [&](const Term& y) {
      Tiles(plan_.vectors, tiling_.vectors).each([&](int64_t vectors, int64_t from, int64_t to) {
        auto at = [&](const Term& x, bool ends) { tile(begin, count, y, x, vectors, ends, is_first, is_last); };
        // The last vector of a row may be shorter: its tile stands alone.
        const bool ends = to == plan_.vectors && width().out % lanes_ != 0;
        const int64_t whole = ends ? to - vectors : to;
        if (whole - from == vectors)
          at(from * lanes_, false);
        else if (whole > from)
          code_.loop("x", from * lanes_, whole * lanes_, vectors * lanes_, LoopMark::kSequential,
                     [&](const Term& x) { at(x, false); });
        if (ends) at(whole * lanes_, true);
      });
    });
  }

  // The rows under the band's taps, of the slab's channels.
  void copy(const Term& begin, int64_t count) {
    const int64_t from = std::max<int64_t>(0, -width().before),
                  to = std::min(width().in, width().out + width().kernel - 1 - width().before),
                  column = plan_.shift + width().before;
    const Term row0 = code_.let("row0", first_ - Term(height().before)),
               low = code_.let("low", select(row0 < Term(0), Term(0), row0)),
               high = code_.let("high", least(last_ + Term(height().kernel - 1 - height().before), height().in));
    code_.loop("c", count, [&](const Term& c) {
      const Term plane = code_.let("plane", image_ + (begin + c) * Term(c_.stored_pixels())),
                 array = code_.let("array", c * Term(plan_.plane) - row0 * Term(plan_.pitch) + Term(column));
      code_.loop("row", low, high, 1, LoopMark::kSequential, [&](const Term& row) {
        const Term source = code_.let("from", plane + row * Term(width().in)),
                   target = code_.let("to", array + row * Term(plan_.pitch));
        auto vector = [&](const Term& x, const Term& existing) {
          code_.store(planes_, target + x, 1, builder_.load(at_.image, source + x, lanes_, 1, existing), existing);
        };
        const int64_t whole = from + (to - from) / lanes_ * lanes_;
        if (whole > from)
          code_.loop("x", from, whole, lanes_, LoopMark::kSequential, [&](const Term& x) { vector(x, {}); });
        if (whole < to) vector(Term(whole), Term(to - whole));
      });
    });
  }

  // Where the image has what will be copied next for row y, its last tap's row: of the next slab; or of the first one,
  // for the next band, or the next image.
  Term ahead(const Term& begin, int64_t count, const Term& y, bool is_last) {
    const bool is_band = is_last && plan_.bands > 1;
    const Term row = y + Term((is_band ? plan_.band : 0) + height().kernel - 1 - height().before),
               channel = is_band ? Term(0) : begin + Term(count);
    return code_.let("ahead", image_ + channel * Term(c_.stored_pixels()) + row * Term(width().in));
  }

  // Rows y to y + rows, positions x to x + vectors lanes; of what lies behind the band or the row nothing is stored.
  void tile(const Term& begin, int64_t count, const Term& y, const Term& x, int64_t vectors, bool ends, bool is_first,
            bool is_last) {
    const Term row = code_.let("row", y - first_);
    auto position = [&](int64_t f, int64_t r, int64_t v) {
      return (Term(f * plan_.tall + r) + row) * Term(plan_.sums_pitch) + x + Term(v * lanes_);
    };
    sum_.clear();
    for (int64_t f = 0; f < tiling_.filters; ++f)
      for (int64_t r = 0; r < tiling_.rows; ++r)
        for (int64_t v = 0; v < vectors; ++v)
          sum_.push_back(code_.sum(str("s", f, "_", r, "_", v),
                                   is_first ? zero() : kernel::load(sums_, c_.dtype, lanes_, position(f, r, v), 1),
                                   static_cast<int64_t>(sum_.size())));
    auto sum = [&](int64_t f, int64_t r, int64_t v) -> const Term& {
      return sum_[static_cast<size_t>((f * tiling_.rows + r) * vectors + v)];
    };
    const Term ahead = code_.let("ahead", this->ahead(begin, count, y, is_last) + x);
    code_.loop("c", count, [&](const Term& c) {
      const Term plane = code_.let("plane", c * Term(plan_.plane) + row * Term(plan_.pitch) + x + Term(plan_.shift)),
                 w = code_.let("taps", w_ + (begin + c) * Term(c_.taps() * int64_t{tiling_.filters}));
      rows_of_image(y, plane, w, code_.let("next", ahead + c * Term(c_.stored_pixels())), vectors, sum);
    });
    for (Term& each : sum_) each = code_.taken(each);
    for (int64_t r = 0; r < tiling_.rows; ++r) {
      auto store = [&] {
        for (int64_t f = 0; f < tiling_.filters; ++f) store_row(f, r, vectors, ends, row, y, x, sum);
      };
      if (!is_last) {
        for (int64_t f = 0; f < tiling_.filters; ++f)
          for (int64_t v = 0; v < vectors; ++v) code_.store(sums_, position(f, r, v), 1, sum(f, r, v));
      } else if (r == 0 || (plan_.band % tiling_.rows == 0 && height().out % tiling_.rows == 0)) {
        store();
      } else {
        code_.if_(y + Term(r) < last_, store);
      }
    }
  }

  using Sum = std::function<const Term&(int64_t f, int64_t r, int64_t v)>;

  void store_row(int64_t f, int64_t r, int64_t vectors, bool ends, const Term& row, const Term& y, const Term& x,
                 const Sum& sum) {
    auto store = [&] {
      for (int64_t v = 0; v < vectors; ++v) {
        const Term count = ends && v == vectors - 1 ? Term(width().out % lanes_) : Term();
        if (results_.is_ended())
          code_.store(results_.array(), results_.at((row + Term(r)) * Term(width().out) + x + Term(v * lanes_), f), 1,
                      sum(f, r, v), count);
        else
          builder_.store(
              step_.out,
              results_.out() + Term(f * c_.positions()) + (y + Term(r)) * Term(width().out) + x + Term(v * lanes_),
              sum(f, r, v), 1, count);
      }
    };
    if (c_.outputs % tiling_.filters == 0 || f < c_.outputs - (plan_.blocks - 1) * tiling_.filters)
      store();
    else if (plan_.blocks > 1)
      code_.if_(first_filter_ + Term(f) < Term(c_.outputs), store);
  }

  // Row y + d of the padded image is under tap d - r of row y + r. Rows that are under taps of all rows are a loop.
  // What will be copied next is fetched meanwhile, a few lines at a time.
  void rows_of_image(const Term& y, const Term& plane, const Term& w, const Term& ahead, int64_t vectors,
                     const Sum& sum) {
    const int64_t kernel = height().kernel, rows = tiling_.rows;
    auto one = [&](const Term& d, int64_t first, int64_t last) {
      auto taps = [&] { row_of_taps(d, first, last, plane, w, vectors, sum); };
      if (!height().has_zeros()) return taps();
      const Term at = code_.let("at", y + d - Term(height().before));
      code_.if_(at >= Term(0) && at < Term(height().in), taps);
    };
    const int64_t line = kLineOfPlanes / static_cast<int64_t>(size_of(c_.dtype));
    for (int64_t d = 0; d < rows + kernel - 1; ++d) {
      for (int64_t x = 0; d < rows && x < vectors * lanes_; x += line)
        builder_.prefetch(at_.image, ahead + Term(d * width().in + x), kernel::Prefetch::kL2);
      if (d >= rows - 1 && d < kernel) {
        if (d == rows - 1 && kernel > rows)
          code_.loop("d", d, kernel, 1, LoopMark::kSequential, [&](const Term& k) { one(k, 0, rows); });
        else if (d == rows - 1)
          one(d, 0, rows);
        continue;
      }
      one(d, std::max<int64_t>(0, d - kernel + 1), std::min(rows, d + 1));
    }
  }

  // The taps of a row of the image are used again by the next row of a tile: compilers keep few of them in registers,
  // and would write more to memory instead of loading them again.
  bool spreads_at_load() const { return width().kernel > 3; }

  // The taps of rows [first, last) of a tile that fall on row d of the image.
  void row_of_taps(const Term& d, int64_t first, int64_t last, const Term& plane, const Term& w, int64_t vectors,
                   const Sum& sum) {
    const Term from = code_.let("from", plane + d * Term(plan_.pitch)),
               of_row = code_.let("w", w + d * Term(width().kernel * int64_t{tiling_.filters}));
    auto tap = [&](const Term& k) {
      std::vector<Term> a;
      for (int64_t v = 0; v < vectors; ++v)
        a.push_back(code_.let(
            str("a", v), kernel::in_register(kernel::load(planes_, c_.dtype, lanes_, from + k + Term(v * lanes_), 1))));
      for (int64_t r = first; r < last; ++r)
        for (int64_t f = 0; f < tiling_.filters; ++f) {
          const Term at = of_row + (k - Term(r * width().kernel)) * Term(int64_t{tiling_.filters}) + Term(f);
          const Term filter = code_.let("w", spreads_at_load() ? builder_.load(at_.w, at, lanes_, 0)
                                                               : kernel::splat(builder_.load(at_.w, at), lanes_));
          for (int64_t v = 0; v < vectors; ++v)
            code_.assign(sum(f, r, v), fma(a[static_cast<size_t>(v)], filter, sum(f, r, v)));
        }
    };
    const int64_t work = (last - first) * tiling_.filters * vectors;
    if (width().kernel * work > kMostUnrolledTaps && width().kernel > 1)
      code_.loop("kx", width().kernel, tap);
    else
      for (int64_t k = 0; k < width().kernel; ++k) tap(k);
  }

  StepBuilder& builder_;
  Code& code_;
  const Correlation c_;
  const CorrelationStep& step_;
  PlanesTiling tiling_;
  PlanesPlan plan_;
  int lanes_;
  DirectResults results_;
  CorrelationOperands at_;
  std::string planes_, sums_;  // arrays
  std::vector<Term> sum_;
  Term first_filter_, image_, w_, first_, last_;
};

}  // namespace

std::string name_of(const PlanesTiling& t) {
  return str("planes ", t.filters, "x", t.rows, "x", t.vectors);
}

std::optional<PlanesTiling> planes_tiling_named(std::string_view name) {
  constexpr int kMost = 64;
  KeyReader reader(name);
  PlanesTiling out;
  if (!reader.take("planes ") || !reader.numbers({&out.filters, &out.rows, &out.vectors}, 1, kMost) ||
      !reader.is_at_end())
    return std::nullopt;
  return out;
}

PlanesPlan::PlanesPlan(const PlanesTiling& t, const Correlation& c, int lanes_) : lanes(lanes_) {
  const CorrelationAxis &height = c.axes[1], &width = c.axes[2];
  const int64_t size = static_cast<int64_t>(size_of(c.dtype));
  blocks = ceil_div(c.outputs, t.filters);
  vectors = ceil_div(width.out, lanes);
  // The first element that is copied lies at the beginning of a vector.
  const int64_t first = std::max<int64_t>(0, width.before);
  shift = to_lanes(first, lanes) - first;
  pitch = to_lanes(shift + vectors * lanes + width.kernel - 1, lanes);
  sums_pitch = vectors * lanes * size % kOfSets == 0 ? (vectors + 1) * lanes : vectors * lanes;
  const int64_t of_row = std::max(pitch, t.filters * sums_pitch) * size;
  const int64_t of_threads = ceil_div(height.out * c.n * c.groups * blocks, kBandsOfThreads);
  band = std::clamp<int64_t>(
      std::min((t.filters * c.taps() < kManyOfElement ? kFarBand : kNearBand) / of_row, of_threads), 1, height.out);
  band = std::min(height.out, ceil_div(even_part(height.out, band), t.rows) * t.rows);
  bands = ceil_div(height.out, band);
  tall = ceil_div(band, t.rows) * t.rows;
  plane = (tall + height.kernel - 1) * pitch;
  slab = even_part(c.inputs, std::clamp<int64_t>(kSlabOfPlanes / (plane * size), 1, c.inputs));
  slabs = ceil_div(c.inputs, slab);
  planes_bytes = slab * plane * size;
  sums_bytes = slabs > 1 ? t.filters * tall * sums_pitch * size : 0;
}

bool is_possible(const PlanesTiling& t, const Correlation& c, const kernel::Target& target, bool has_epilogue) {
  const int lanes = target.lanes_of(c.dtype);
  if (t.filters * t.rows * t.vectors + t.vectors + 1 > target.registers()) return false;
  const CorrelationAxis& depth = c.axes[0];
  if (depth.kernel != 1 || depth.out != 1 || depth.in != 1 || depth.before != 0) return false;
  for (const CorrelationAxis& axis : {c.axes[1], c.axes[2]})
    if (axis.stride != 1 || axis.dilation != 1 || axis.gap != 1 || axis.phases != 1) return false;
  if (t.filters > c.outputs || t.rows > c.axes[1].out) return false;
  const PlanesPlan plan(t, c, lanes);
  const int64_t results =
      has_epilogue ? t.filters * to_lanes(plan.band * c.axes[2].out, lanes) + lanes : 0;  // as DirectResults has them
  return plan.planes_bytes + plan.sums_bytes + results * static_cast<int64_t>(size_of(c.dtype)) <= kPlanesStackBytes;
}

int64_t workspace_of(const PlanesTiling& t, const Correlation& c) {
  return c.groups * ceil_div(c.outputs, t.filters) * t.filters * c.inputs * c.taps() *
         static_cast<int64_t>(size_of(c.dtype));
}

void lower_direct_planes(StepBuilder& builder, const Correlation& c, const CorrelationStep& step,
                         const PlanesTiling& tiling) {
  TH_CHECK(!step.pooling && is_possible(tiling, c, builder.target(), step.epilogue), "conv: ", name_of(tiling),
           " does not fit");
  PlanesKernel(builder, c, step, tiling).run();
}

}  // namespace thtrain
