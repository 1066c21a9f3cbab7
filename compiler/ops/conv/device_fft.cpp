#include "compiler/ops/conv/device_fft.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "compiler/base/str.h"
#include "compiler/kernel/schedule/device_tiles.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/conv/device_conv.h"
#include "compiler/ops/fft/fft_functions.h"
#include "compiler/ops/fft/transform.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {
namespace {

using kernel::Operand;
using kernel::StepBuilder;
using kernel::Term;

enum class Role : uint8_t { kImages, kFilters, kResults };

// The planes of images [n, c], of filters [f, c / groups], or of results [n, f].
struct Planes {
  Role role;
  int64_t first, second;
  std::array<int64_t, 3> lengths = {}, before = {};

  Planes(const Convolution& c, Role role_)
      : role(role_),
        first(role == Role::kFilters ? c.f : c.n),
        second(role == Role::kImages    ? c.c
               : role == Role::kFilters ? c.channels()
                                        : c.f) {
    for (size_t i = 0; i < 3; ++i) {
      const ConvAxis& axis = c.axes[i];
      lengths[i] = role == Role::kImages ? axis.in : role == Role::kFilters ? axis.kernel : axis.out;
      before[i] = role == Role::kImages ? axis.before : 0;
    }
  }
  int64_t count() const { return first * second; }
};

// How a product's lines (rows or columns) and terms count planes, and where those of the next group begin.
struct Factor {
  Role role;
  int64_t line, term, group;
};

// Of the expansion into real matrices the left one's part for (row, term) is that of row xor term, and is subtracted
// for one of the four.
struct SpectraProduct {
  Factor left, right, result;  // of the result: rows, columns
  int64_t rows, columns, terms;
  int row_subtracted, term_subtracted;
};

SpectraProduct product_of(const Convolution& c) {
  const int64_t of_x = c.channels(), of_w = c.filters() * c.channels(), of_y = c.filters();
  switch (c.pass) {
    case ConvPass::kForward:
      return {{Role::kImages, c.c, 1, of_x},
              {Role::kFilters, c.channels(), 1, of_w},
              {Role::kResults, c.f, 1, of_y},
              c.n,
              c.filters(),
              c.channels(),
              1,
              1};
    case ConvPass::kInputGradient:
      return {{Role::kResults, c.f, 1, of_y},
              {Role::kFilters, 1, c.channels(), of_w},
              {Role::kImages, c.c, 1, of_x},
              c.n,
              c.channels(),
              c.filters(),
              0,
              1};
    case ConvPass::kWeightGradient:
      break;
  }
  return {{Role::kResults, 1, c.f, of_y},
          {Role::kImages, 1, c.c, of_x},
          {Role::kFilters, c.channels(), 1, of_w},
          c.filters(),
          c.channels(),
          c.n,
          1,
          0};
}

struct Sizes {
  std::array<int64_t, 3> lengths;
  int64_t elements, of_spectrum;  // of a plane; of its spectrum, two for each complex number

  explicit Sizes(const Convolution& c)
      : lengths(fft_lengths(c)),
        elements(lengths[0] * lengths[1] * lengths[2]),
        of_spectrum(lengths[0] * lengths[1] * (lengths[2] / 2 + 1) * 2) {}
};

int64_t most_planes(const Convolution& c) {
  return std::max(
      {Planes(c, Role::kImages).count(), Planes(c, Role::kFilters).count(), Planes(c, Role::kResults).count()});
}

class FftKernels {
 public:
  FftKernels(StepBuilder& b, const Convolution& c, bool by_cufft)
      : b_(b), c_(c), conv_(b, c), by_cufft_(by_cufft), sizes_(c), product_(product_of(c)) {
    const int64_t most = most_planes(c);
    planes_ = b.workspace(c.dtype, most * sizes_.elements);
    spectra_ = b.workspace(c.dtype, most * sizes_.of_spectrum);
    if (by_cufft) return;
    memory_.numbers = b.workspace(c.dtype, most * 2 * sizes_.elements);
    memory_.other = b.workspace(c.dtype, most * 2 * sizes_.elements);
  }

  void run() {
    const size_t of_left = c_.pass == ConvPass::kForward ? 0 : 1;
    const Operand left = spectra(product_.left.role, of_left), right = spectra(product_.right.role, 1 - of_left);
    const Planes out(c_, product_.result.role);
    const Operand results = b_.workspace(c_.dtype, out.count() * sizes_.of_spectrum);
    multiply(left, right, results);
    move_kernel(b_, by_frequency(results, out), by_plane(spectra_, out), "fft_by_plane", "the results' spectra", true);
    transform_back(out.count());
    crop(out);
  }

 private:
  const Operand& operand(Role role) const {
    return role == Role::kImages ? conv_.image() : role == Role::kFilters ? conv_.filters() : conv_.results();
  }

  static kernel::Location viewed(Operand operand, Dims dims, Dims strides) {
    operand.type.dims = std::move(dims);
    operand.layout = {.strides = strides};
    return {std::move(operand), std::move(strides)};
  }
  kernel::Location by_plane(const Operand& of, const Planes& planes) const {
    return viewed(of, {planes.count(), sizes_.of_spectrum}, {sizes_.of_spectrum, 1});
  }
  kernel::Location by_frequency(const Operand& of, const Planes& planes) const {
    return viewed(of, {planes.count(), sizes_.of_spectrum}, {1, planes.count()});
  }
  // Along (first, second, three axes), with the first element `before` of each axis.
  kernel::Location in_planes(const Planes& planes, const std::array<int64_t, 3>& before) const {
    const auto& [depth, height, width] = sizes_.lengths;
    kernel::Location out{planes_, {planes.second * sizes_.elements, sizes_.elements, height * width, width, 1}};
    out.first = Term((before[0] * height + before[1]) * width + before[2]);
    return out;
  }
  kernel::Location in_operand(const Planes& planes, const std::array<int64_t, 3>& before) const {
    const Operand& of = operand(planes.role);
    kernel::Location out{of, {of.layout.strides[0], of.layout.strides[1], 0, 0, 0}};
    Dim first = 0;
    for (size_t i = 3 - c_.rank; i < 3; ++i) {
      out.strides[2 + i] = of.layout.strides[2 + i - (3 - c_.rank)];
      first = first - Dim(before[i]) * out.strides[2 + i];
    }
    out.first = b_.length(first);
    return out;
  }

  Operand spectra(Role role, size_t input) {
    const Planes planes(c_, role);
    const auto list = [](const std::array<int64_t, 3>& of) { return join(of, "x", [](int64_t n) { return str(n); }); };
    const StepBuilder::Derived out =
        b_.derived({input, str("device spectra ", list(sizes_.lengths), " from ", list(planes.before))}, c_.dtype,
                   planes.count() * sizes_.of_spectrum);
    if (out.is_there) return out.operand;
    pad(planes);
    transform(planes.count());
    move_kernel(b_, by_plane(spectra_, planes), by_frequency(out.operand, planes), "fft_by_frequency",
                str("the spectra of in", input), true);
    return out.operand;
  }

  void pad(const Planes& planes) {
    const auto& lengths = sizes_.lengths;
    kernel::Nest nest(Dims{planes.first, planes.second, lengths[0], lengths[1], lengths[2]});
    for (size_t i = 0; i < 3; ++i) {
      if (planes.lengths[i] == lengths[i]) continue;
      Dims strides(5, 0);
      strides[2 + i] = 1;
      nest.bounds.push_back({std::move(strides), Dim(-planes.before[i]), planes.lengths[i]});
    }
    const Term zero = kernel::constant(c_.dtype, 0);
    nest.store(in_planes(planes, {}), nest.load_inside("x", in_operand(planes, planes.before), zero));
    nest.work = kMoveWork;
    nest.is_read_again = true;
    kernel::schedule(b_, nest, "fft_planes", str("in", operand(planes.role).index, " with zeros around its planes"));
  }

  void crop(const Planes& planes) {
    kernel::Nest nest(Dims{planes.first, planes.second, planes.lengths[0], planes.lengths[1], planes.lengths[2]});
    const Term scale = kernel::constant(c_.dtype, 1 / static_cast<double>(sizes_.elements));
    nest.store(in_operand(planes, {}), nest.load("x", in_planes(planes, planes.before)) * scale);
    nest.work = kMoveWork;
    kernel::schedule(b_, nest, "fft_results", str("out0 = ", name_of(c_.pass), "(in0, in1), by transforms"));
  }

  void transform(int64_t count) {
    const auto& [depth, height, width] = sizes_.lengths;
    transform({.kind = Transform::kRealToHalf, .count = count, .n = {depth, height, width}}, planes_, spectra_);
  }
  void transform_back(int64_t count) {
    const auto& [depth, height, width] = sizes_.lengths;
    Transform to_real{.kind = Transform::kHalfToReal, .count = count, .n = {depth, height, width}, .inverse = true};
    if (!by_cufft_) {  // whose kernels know half of a row alone
      if (depth * height > 1)
        transform({.kind = Transform::kComplex,
                   .count = count,
                   .n = {1, depth, height},
                   .inner = width / 2 + 1,
                   .inverse = true},
                  spectra_, spectra_);
      to_real.count = count * depth * height;
      to_real.n = {1, 1, width};
    }
    transform(to_real, spectra_, planes_);
  }
  void transform(const Transform& of, const Operand& from, const Operand& to) {
    by_cufft_ ? call_transform(b_, cufft_function(b_.target(), c_.dtype), of, from, to)
              : transform_lines(b_, of, from, to, memory_);
  }

  void multiply(const Operand& left, const Operand& right, const Operand& results) {
    const SpectraProduct& p = product_;
    kernel::Code& code = b_.code();
    const auto planes_of = [&](const Factor& factor) { return Term(Planes(c_, factor.role).count()); };
    Term frequency, group;
    const auto element = [&](const Factor& factor, const Term& part, const Term& line, const Term& term) {
      return (frequency * Term(2) + part) * planes_of(factor) + group * Term(factor.group) + line * Term(factor.line) +
             term * Term(factor.term);
    };
    // Which part a doubled number is of, and its number there.
    const auto halves = [&](const Term& number, int64_t count) {
      const Term part = code.let("part", select(number >= Term(count), Term(1), Term(0)));
      return std::array{part, code.let("of_part", number - part * Term(count))};
    };
    const kernel::TiledProduct tiles{
        .dtype = c_.dtype,
        .left = {.lines = 2 * p.rows,
                 .are_lines_together = p.left.line == 1,
                 .load =
                     [&](const Term& x, const Term& row, const Term& term) {
                       const auto [of_row, r] = halves(row, p.rows);
                       const auto [of_term, k] = halves(term, p.terms);
                       const Term part = select(of_row == of_term, Term(0), Term(1)),
                                  value = code.let("value", b_.load(left, element(p.left, part, r, k)));
                       code.assign(x, select(of_row == Term(p.row_subtracted) && of_term == Term(p.term_subtracted),
                                             -value, value));
                     }},
        .right = {.lines = p.columns,
                  .are_lines_together = p.right.line == 1,
                  .load =
                      [&](const Term& x, const Term& column, const Term& term) {
                        const auto [part, k] = halves(term, p.terms);
                        code.assign(x, b_.load(right, element(p.right, part, column, k)));
                      }},
        .terms = 2 * p.terms,
        .count = sizes_.of_spectrum / 2 * c_.groups,
        .begin =
            [&](const Term& number, const Term&) {
              frequency = c_.groups == 1 ? number : code.let("frequency", number / Term(c_.groups));
              group = c_.groups == 1 ? Term(0) : code.let("group", number - frequency * Term(c_.groups));
            },
        .store =
            [&](const Term& row, const Term& column, const Term& sum) {
              const auto [part, r] = halves(row, p.rows);
              b_.store(results, code.let("element", element(p.result, part, r, column)), sum);
            }};
    const kernel::DeviceTiling tiling =
        kernel::near_tilings(b_.target(), c_.dtype, tiles.left.lines, tiles.right.lines, tiles.count).front();
    kernel::tiled_product(b_, tiles, tiling, "fft_products", "the products of the spectra");
  }

  StepBuilder& b_;
  const Convolution& c_;
  DeviceConv conv_;
  const bool by_cufft_;
  const Sizes sizes_;
  const SpectraProduct product_;
  Operand planes_, spectra_;  // of one operand at a time
  LineMemory memory_;
};

}  // namespace

double device_fft_error_bound(const Convolution& c) {
  const double unit = c.dtype == DType::kFloat32 ? 0x1p-24 : 0x1p-53, length = static_cast<double>(Sizes(c).elements),
               terms = static_cast<double>(fft_terms(c) + 4);
  return unit * std::sqrt(length) * (30 * std::max(1.0, std::log2(length)) + 3 * terms);
}

int64_t device_fft_workspace(const Convolution& c, bool by_cufft) {
  const Sizes sizes(c);
  int64_t elements = most_planes(c) * (sizes.elements + sizes.of_spectrum + (by_cufft ? 0 : 4 * sizes.elements));
  for (const Role role : {Role::kImages, Role::kFilters, Role::kResults})
    elements += Planes(c, role).count() * sizes.of_spectrum;
  constexpr int64_t kTransforms = 3;
  if (!by_cufft) elements += kTransforms * line_roots(sizes.lengths);
  return elements * static_cast<int64_t>(size_of(c.dtype));
}

void lower_device_fft(StepBuilder& b, const Convolution& c, bool by_cufft) {
  FftKernels(b, c, by_cufft).run();
}

}  // namespace thtrain
