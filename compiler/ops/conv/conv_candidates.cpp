// The candidates of the three convolutions (docs/decisions/0017), and the rule that picks one where nothing was
// measured: the least of what a model of the processor expects.
#include <algorithm>
#include <cmath>

#include "compiler/ir/graph.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/conv_step.h"
#include "compiler/ops/conv/direct.h"
#include "compiler/ops/conv/direct_weights.h"
#include "compiler/ops/conv/winograd.h"
#include "compiler/ops/conv/winograd_weights.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::StepBuilder;
using kernel::Target;

// A new number where generated kernels of the same name became others.
constexpr const char* kDirectVersion = "2";
constexpr const char* kWinogradVersion = "1";
constexpr const char* kLoops = "loops";
constexpr const char* kPatches = "patches";  // by BLAS, where no generated kernel is good

bool has_fma(const Target& target) {
  return target.isa == "avx512" || target.isa == "avx2" || target.isa == "arm64";
}

double up(double a, double b) {
  return std::ceil(a / b);
}

// Accumulators: the other registers are for what a tile's multiply-adds share, and for the compiler's temporaries.
int most_sums(const Target& target) {
  return target.vector_bytes == 64 ? 24 : 12;
}

// Cycles of `a` times `b` multiply-adds into as many accumulators, by what limits them: two a cycle, two loads a cycle,
// and four cycles until a sum can be added to again. Only ratios count.
double tile_cycles(double a, double b, double loads) {
  return std::max({a * b / 2, loads / 2, 4.0});
}

double lanes_of(DType dtype, const Target& target) {
  return target.vector_bytes / static_cast<double>(size_of(dtype));
}

// ---- forward, and the gradient to the images

std::vector<DirectTiling> tilings_of(const Correlation& c, const Target& target) {
  std::vector<DirectTiling> out;
  for (bool over_filters : {true, false})
    for (int vectors = 1; vectors <= 8; ++vectors) {
      const DirectTiling tiling{over_filters, std::min(most_sums(target) / vectors, 14), vectors};
      if (tiling.tile >= 2 && is_possible(tiling, c, target.vector_bytes)) out.push_back(tiling);
    }
  return out;
}

// Of the taps along a row, the share that falls on elements: what a tile that is a whole row computes.
double share_of_elements(const CorrelationAxis& row) {
  int64_t elements = 0;
  for (int64_t place = 0; place < row.out; ++place)
    for (int64_t k = 0; k < row.kernel; ++k) elements += !row.falls_on_zero(place, k);
  return static_cast<double>(elements) / static_cast<double>(row.out * row.kernel);
}

double cycles(const DirectTiling& t, const Correlation& c, const Target& target) {
  const double lanes = lanes_of(c.dtype, target), terms = static_cast<double>(c.inputs * c.taps()),
               width = static_cast<double>(c.axes[2].out), filters = static_cast<double>(c.outputs),
               rows = static_cast<double>(c.n * c.groups * c.axes[0].out * c.axes[1].out);
  if (t.over_filters) {
    const double all = up(filters, lanes), blocks = up(all, t.vectors), vectors = up(all, blocks);  // equal blocks
    const double tiles = up(width, t.tile);
    const double tile = tiles > 1 ? width / tiles : width * share_of_elements(c.axes[2]);
    // The sums are transposed on their way out.
    return rows * blocks * (tiles * terms * tile_cycles(tile, vectors, tile + vectors) + vectors * width * 8);
  }
  const double all = up(width, lanes), tiles = up(all, t.vectors), vectors = all / tiles;
  const double blocks = up(filters, t.tile), tile = filters / blocks;
  // Most loads of the image cross a cache line.
  return rows * (blocks * tiles * terms * tile_cycles(tile, vectors, tile + 2 * vectors) + filters * all);
}

Candidate candidate_of(const Correlation& c, const DirectTiling& tiling, const Target& target) {
  return {.name = name_of(tiling),
          .version = kDirectVersion,
          .workspace_bytes = workspace_of(tiling, c, target.vector_bytes),
          .lower = [c, tiling](StepBuilder& builder) { lower_direct(builder, c, step_of(builder, c), tiling); }};
}

// ---- the gradient to the filters

std::vector<WeightTiling> tilings_of(const Convolution& c, const Target& target) {
  std::vector<WeightTiling> out;
  for (bool over_filters : {true, false})
    for (int width = 1; width <= 8; ++width) {
      const WeightTiling tiling{over_filters, most_sums(target) / width, width};
      if (tiling.taps >= 2 && is_possible(tiling, c, target.vector_bytes)) out.push_back(tiling);
    }
  return out;
}

double cycles(const WeightTiling& t, const Convolution& c, const Target& target) {
  const double lanes = lanes_of(c.dtype, target), filters = static_cast<double>(c.filters()),
               width = static_cast<double>(c.axes[2].out),
               rows = static_cast<double>(c.n * c.groups * c.axes[0].out * c.axes[1].out),
               kernel = static_cast<double>(c.axes[2].kernel),
               lines = static_cast<double>(c.channels() * c.taps()) / kernel;  // rows of taps
  const double blocks_of_line = up(kernel, t.taps);
  double taps = kernel / blocks_of_line, tiles = lines * blocks_of_line;
  if (t.taps >= 2 * kernel) {
    const double channels = std::min(std::floor(t.taps / kernel), static_cast<double>(c.channels()));
    taps *= channels;
    tiles /= channels;
  }
  if (t.over_filters) {
    const double all = up(filters, lanes), blocks = up(all, t.width), vectors = up(all, blocks);
    // The gradient is transposed first.
    return rows * width * (blocks * tiles * tile_cycles(taps, vectors, taps + vectors) + all * 8);
  }
  // Most loads of both cross a cache line, and rows are short.
  constexpr double kOfRows = 1.25;
  const double blocks = up(filters, t.width), of_tile = filters / blocks;
  return kOfRows * rows * up(width, lanes) * blocks * tiles * tile_cycles(taps, of_tile, 2 * (taps + of_tile));
}

Candidate candidate_of(const Convolution& c, const WeightTiling& tiling, const Target& target) {
  return {.name = name_of(tiling),
          .version = kDirectVersion,
          .workspace_bytes = workspace_of(tiling, c, target.vector_bytes),
          .lower = [c, tiling](StepBuilder& builder) { lower_direct_weights(builder, c, tiling); }};
}

// ---- Winograd's

// Of tiles of 2 x 2 and 4 x 4 places: "winograd 2", "winograd 4".
std::vector<Candidate> offer_winograd(const ChoiceKey& key, const Target& target) {
  std::vector<Candidate> out;
  if (!has_fma(target)) return out;
  const Convolution c = *convolution_of(key);
  const int bytes = target.vector_bytes;
  for (int64_t tile : {2, 4}) {
    Candidate one{.name = name_of_winograd(tile), .version = kWinogradVersion, .rounding = RoundingClass::kOther};
    if (c.pass != ConvPass::kWeightGradient) {
      const Correlation correlation = correlation_of(c);
      if (!is_winograd(correlation, tile)) continue;
      one.error_bound = winograd_error_bound(correlation, tile);
      one.workspace_bytes = winograd_workspace(correlation, tile, bytes);
      one.lower = [correlation, tile](StepBuilder& builder) {
        lower_winograd(builder, correlation, step_of(builder, correlation), tile);
      };
    } else {
      if (!is_winograd_weights(c, tile)) continue;
      one.error_bound = winograd_weights_error_bound(c, tile);
      one.workspace_bytes = winograd_weights_workspace(c, tile, bytes);
      one.lower = [c, tile](StepBuilder& builder) { lower_winograd_weights(builder, c, tile); };
    }
    out.push_back(std::move(one));
  }
  return out;
}

// ---- both

// The tilings, the best by the model first.
template <class Lengths>
auto sorted_tilings(const Lengths& c, const Target& target) {
  auto tilings = tilings_of(c, target);
  if (!has_fma(target)) tilings.clear();
  std::stable_sort(tilings.begin(), tilings.end(),
                   [&](const auto& a, const auto& b) { return cycles(a, c, target) < cycles(b, c, target); });
  return tilings;
}

// Those that the model finds near the best are worth a trial.
template <class Lengths>
std::vector<Candidate> offer_tilings(const Lengths& c, const Target& target) {
  constexpr double kNear = 1.5;
  std::vector<Candidate> out;
  const auto tilings = sorted_tilings(c, target);
  for (const auto& tiling : tilings)
    if (cycles(tiling, c, target) <= kNear * cycles(tilings.front(), c, target))
      out.push_back(candidate_of(c, tiling, target));
  return out;
}

template <class Lengths>
std::string first_tiling(const Lengths& c, const Target& target) {
  const auto tilings = sorted_tilings(c, target);
  return tilings.empty() ? kPatches : name_of(tilings.front());
}

template <class Tiling, class Lengths>
std::optional<Candidate> find_tiling(const std::optional<Tiling>& tiling, const Lengths& c, const Target& target) {
  if (!tiling || !is_possible(*tiling, c, target.vector_bytes)) return std::nullopt;
  return candidate_of(c, *tiling, target);
}

std::string rule(const ChoiceKey& key, const Target& target, int) {
  const Convolution c = *convolution_of(key);
  return c.pass == ConvPass::kWeightGradient ? first_tiling(c, target) : first_tiling(correlation_of(c), target);
}

std::vector<Candidate> offer_direct(const ChoiceKey& key, const Target& target) {
  const Convolution c = *convolution_of(key);
  return c.pass == ConvPass::kWeightGradient ? offer_tilings(c, target) : offer_tilings(correlation_of(c), target);
}

std::optional<Candidate> find_direct(const ChoiceKey& key, const std::string& name, const Target& target) {
  const Convolution c = *convolution_of(key);
  if (c.pass == ConvPass::kWeightGradient) return find_tiling(weight_tiling_named(name), c, target);
  return find_tiling(direct_tiling_named(name), correlation_of(c), target);
}

// A node of its op on new inputs.
std::optional<Graph> example_of(ConvPass pass, const std::string& properties) {
  const std::optional<Convolution> c = convolution_of({name_of(pass), properties});
  if (!c) return std::nullopt;
  ConvGeometry g{.stride = {}, .dilation = {}, .before = {}, .after = {}, .groups = c->groups};
  ConvLengths l{.n = c->n, .c = c->c, .f = c->f, .in = {}, .kernel = {}, .out = {}};
  for (size_t i = 3 - c->rank; i < 3; ++i) {
    const ConvAxis& axis = c->axes[i];
    g.stride.push_back(axis.stride);
    g.dilation.push_back(axis.dilation);
    g.before.push_back(axis.before);
    g.after.push_back(axis.after);
    l.in.push_back(axis.in);
    l.kernel.push_back(axis.kernel);
    l.out.push_back(axis.out);
  }
  auto input = [&](const char* name, const Dims& dims) { return make_input({.dtype = c->dtype, .dims = dims}, name); };
  Props props;
  g.add_to(props);
  const Expr x = input("x", l.of_x()), w = input("w", l.of_w(g)), dy = input("dy", l.of_y());
  if (pass == ConvPass::kForward) return Graph{{x, w}, {apply(conv_op(), {x, w}, props)}, {}};
  props.set("lengths", pass == ConvPass::kInputGradient ? l.in : l.kernel);
  if (pass == ConvPass::kInputGradient) return Graph{{w, dy}, {apply(conv_input_gradient_op(), {w, dy}, props)}, {}};
  return Graph{{x, dy}, {apply(conv_weight_gradient_op(), {x, dy}, props)}, {}};
}

template <ConvPass pass>
std::optional<Graph> example(const std::string& properties) {
  return example_of(pass, properties);
}

// Not worth a trial: they are taken by name.
CandidateSource loops_of(ConvPass pass) {
  return {name_of(pass), [](const ChoiceKey&, const Target&) { return std::vector<Candidate>(); },
          [](const ChoiceKey&, const std::string& name, const Target&) {
            const Candidate loops{.name = kLoops, .rounding = RoundingClass::kSame, .lower = lower_conv_loops};
            return name == loops.name ? std::optional(loops) : std::nullopt;
          }};
}

}  // namespace

#define TH_CONV_PASS(pass, choice, direct, winograd, loops)                           \
  const Computation& choice() {                                                       \
    static const Computation computation{name_of(pass), kLoops, example<pass>, rule}; \
    return computation;                                                               \
  }                                                                                   \
  CandidateSource direct() {                                                          \
    return {name_of(pass), offer_direct, find_direct};                                \
  }                                                                                   \
  CandidateSource winograd() {                                                        \
    return {name_of(pass), offer_winograd};                                           \
  }                                                                                   \
  CandidateSource loops() {                                                           \
    return loops_of(pass);                                                            \
  }
TH_CONV_PASS(ConvPass::kForward, conv_forward_choice, direct_forward, winograd_forward, loop_forward)
TH_CONV_PASS(ConvPass::kInputGradient, conv_input_choice, direct_input_gradients, winograd_input_gradients,
             loop_input_gradients)
TH_CONV_PASS(ConvPass::kWeightGradient, conv_weight_choice, direct_weight_gradients, winograd_weight_gradients,
             loop_weight_gradients)
#undef TH_CONV_PASS

}  // namespace thtrain
