// The candidates of the three convolutions (docs/decisions/0017), and the rule that picks one where nothing was
// measured: by what a model of the processor expects (conv_cycles.h).
#include <algorithm>
#include <limits>

#include "compiler/cpu/conv/conv_cycles.h"
#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/cpu/conv/direct.h"
#include "compiler/cpu/conv/direct_planes.h"
#include "compiler/cpu/conv/direct_weights.h"
#include "compiler/cpu/conv/exchanged.h"
#include "compiler/cpu/conv/patches.h"
#include "compiler/cpu/conv/tiles.h"
#include "compiler/cpu/conv/winograd.h"
#include "compiler/cpu/conv/winograd_weights.h"
#include "compiler/ir/graph.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/conv_step.h"
#include "compiler/ops/conv/device_candidates.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::StepBuilder;
using kernel::Target;

// A new number where generated kernels of the same name became others.
constexpr const char* kDirectVersion = "12";
constexpr const char* kWinogradVersion = "2";
constexpr const char* kLoops = "loops";
constexpr std::string_view kExchanged = "exchanged ";

// Accumulators: the other registers are for what a tile's multiply-adds share, and for the compiler's temporaries.
int most_sums(const Target& target) {
  return target.registers() * 3 / 4;
}

bool has_kernels(const Target& target) {
  return target.has_fma() && !target.is_device();
}

// ---- forward, and the gradient to the images

std::vector<DirectTiling> tilings_of(const Correlation& c, const Target& target) {
  std::vector<DirectTiling> out;
  for (bool over_filters : {true, false})
    for (int vectors = 1; vectors <= 8; ++vectors) {
      const DirectTiling tiling{over_filters, std::min(most_sums(target) / vectors, 14), vectors};
      if (tiling.tile >= 2 && is_possible(tiling, c, target)) out.push_back(tiling);
    }
  return out;
}

Candidate candidate_of(const Correlation& c, const DirectTiling& tiling, const Target& target) {
  return {.name = name_of(tiling),
          .version = kDirectVersion,
          .workspace_bytes = workspace_of(tiling, c, target),
          .lower = [c, tiling](StepBuilder& builder) { lower_direct(builder, c, step_of(builder, c), tiling); }};
}

// As many filters as leave sums for two rows, and as many rows as the sums then suffice for. With a quarter fewer sums
// than registers take, all taps of a row are unrolled, and nothing is spilled. Of 16 registers that leaves too few for
// two rows of three filters: where all sums take more filters at a time, they are worth some that are spilled; and so
// are 1x4x3 (1x6x2 is not) over rows of more than three taps, which are not kept in registers.
std::vector<PlanesTiling> planes_of(const Correlation& c, const Target& target) {
  constexpr int kMostRows = 8;
  std::vector<PlanesTiling> out;
  const int64_t row = ceil_div(c.axes[2].out, int64_t{target.lanes_of(c.dtype)});
  for (int vectors = 2; vectors <= 4; ++vectors) {
    int most_filters = 0;
    for (const int all : {most_sums(target) * 3 / 4, target.registers() > 16 ? 0 : most_sums(target)}) {
      const int sums = all / vectors, filters = static_cast<int>(even_part(c.outputs, std::max(1, sums / 2)));
      const PlanesTiling tiling{filters, std::min(sums / filters, kMostRows), vectors};
      const bool takes_more = filters > most_filters || (filters == 1 && vectors == 3 && c.axes[2].kernel > 3);
      if (takes_more && vectors <= row && tiling.rows >= 2 && is_possible(tiling, c, target)) out.push_back(tiling);
      most_filters = filters;
    }
  }
  return out;
}

Candidate candidate_of(const Correlation& c, const PlanesTiling& tiling, const Target&) {
  return {.name = name_of(tiling),
          .version = kDirectVersion,
          .workspace_bytes = workspace_of(tiling, c),
          .lower = [c, tiling](StepBuilder& builder) { lower_direct_planes(builder, c, step_of(builder, c), tiling); }};
}

// ---- the gradient to the filters

std::vector<WeightTiling> tilings_of(const Convolution& c, const Target& target) {
  std::vector<WeightTiling> out;
  // Next to 24 sums g++ 12 keeps a single vector of filters on the stack.
  constexpr int kMostSumsOfVector = 16;
  for (bool over_filters : {true, false})
    for (int width = over_filters && most_sums(target) > kMostSumsOfVector ? 2 : 1; width <= 8; ++width) {
      const WeightTiling tiling{over_filters, most_sums(target) / width, width};
      if (tiling.taps >= 2 && is_possible(tiling, c, target)) out.push_back(tiling);
    }
  return out;
}

Candidate candidate_of(const Convolution& c, const WeightTiling& tiling, const Target& target) {
  return {.name = name_of(tiling),
          .version = kDirectVersion,
          .workspace_bytes = workspace_of(tiling, c, target),
          .lower = [c, tiling](StepBuilder& builder) {
            lower_direct_weights(builder, c, weight_step_of(builder), tiling);
          }};
}

// ---- Winograd's

constexpr int64_t kWinogradTiles[] = {2, 4};  // of 2 x 2 and 4 x 4 positions

std::vector<Candidate> offer_winograd(const ChoiceKey& key, const Target& target) {
  std::vector<Candidate> out;
  if (!has_kernels(target)) return out;
  const Convolution c = *convolution_of(key);
  for (int64_t tile : kWinogradTiles) {
    Candidate one{.name = name_of_winograd(tile), .version = kWinogradVersion, .rounding = RoundingClass::kOther};
    if (c.pass != ConvPass::kWeightGradient) {
      const Correlation correlation = correlation_of(c);
      if (!is_winograd(correlation, tile)) continue;
      one.error_bound = winograd_error_bound(correlation, tile);
      one.workspace_bytes = winograd_workspace(correlation, tile, target);
      one.lower = [correlation, tile](StepBuilder& builder) {
        lower_winograd(builder, correlation, step_of(builder, correlation), tile);
      };
    } else {
      if (!is_winograd_weights(c, tile)) continue;
      one.error_bound = winograd_weights_error_bound(c, tile);
      one.workspace_bytes = winograd_weights_workspace(c, tile, target);
      one.lower = [c, tile](StepBuilder& builder) { lower_winograd_weights(builder, c, tile); };
    }
    out.push_back(std::move(one));
  }
  return out;
}

// ---- the tilings of all

struct Expected {
  Candidate candidate;
  double usual, cycles;  // by the usual rates, and by those that were measured
};

// Those that apply and are near the best by the usual rates, which comes first.
std::vector<Expected> near_tilings(const Convolution& c, const Target& target) {
  constexpr double kNear = 1.5;
  std::vector<Expected> out;
  if (!has_kernels(target)) return out;
  const Target usual = target.with_usual_rates();
  auto add = [&](const auto& tilings, const auto& lengths) {
    for (const auto& tiling : tilings)
      out.push_back({candidate_of(lengths, tiling, target), expected_cycles(tiling, lengths, usual),
                     expected_cycles(tiling, lengths, target)});
  };
  if (c.pass == ConvPass::kWeightGradient) {
    add(tilings_of(c, target), c);
  } else {
    const Correlation correlation = correlation_of(c);
    add(tilings_of(correlation, target), correlation);
    add(planes_of(correlation, target), correlation);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.usual < b.usual; });
  if (out.empty()) return out;
  std::erase_if(out, [most = kNear * out.front().usual](const Expected& one) { return one.usual > most; });
  return out;
}

template <class Tiling, class Lengths>
std::optional<Candidate> find_tiling(const std::optional<Tiling>& tiling, const Lengths& c, const Target& target) {
  if (!tiling || !is_possible(*tiling, c, target)) return std::nullopt;
  return candidate_of(c, *tiling, target);
}

// `as`: the pass that computes c with exchanged axes.
template <class Tiling, class Lengths>
std::optional<Candidate> find_exchanged(const Convolution& c, const Lengths& as, const std::optional<Tiling>& tiling,
                                        const Target& target) {
  if (!tiling || !is_exchangeable(c) || !is_possible(*tiling, as, target)) return std::nullopt;
  return Candidate{.name = str(kExchanged, name_of(*tiling)),
                   .version = kDirectVersion,
                   .workspace_bytes = exchanged_workspace(c, *tiling, target),
                   .lower = [c, tiling](StepBuilder& builder) { lower_exchanged(builder, c, *tiling); }};
}

// "exchanged filters 6x4": by name only, as it was never the fastest.
std::optional<Candidate> find_exchanged(const Convolution& c, const std::string& name, const Target& target) {
  if (c.pass == ConvPass::kWeightGradient)
    return find_exchanged(c, exchanged_gradient(c), direct_tiling_named(name), target);
  if (c.pass == ConvPass::kForward) return find_exchanged(c, exchanged_forward(c), weight_tiling_named(name), target);
  return std::nullopt;
}

// ---- the rule

std::string rule(const ChoiceKey& key, const Target& target, int, double tolerance) {
  const Convolution c = *convolution_of(key);
  if (target.is_device())
    return target.device.has_libraries && has_cudnn(c) ? kCudnn : usual_on_device(c, target, tolerance);
  if (!target.has_libraries()) return kLoops;
  const Target usual = target.with_usual_rates();
  std::vector<ExpectedTime> times;
  for (const Expected& one : near_tilings(c, target)) times.push_back({one.candidate.name, one.usual, one.cycles});
  // By slabs, not whole: its bits depend on the number of threads only where BLAS has all of them, as for one image.
  times.push_back({kPatchesBySlabs, expected_patches_cycles(c, usual), expected_patches_cycles(c, target)});
  if (tolerance > 0)
    for (const Candidate& one : offer_winograd(key, target))
      for (int64_t tile : kWinogradTiles)
        if (one.name == name_of_winograd(tile) && one.error_bound <= tolerance)
          times.push_back(
              {one.name, expected_winograd_cycles(c, tile, usual), expected_winograd_cycles(c, tile, target)});
  return least_expected(std::move(times));
}

// ---- the sources

std::vector<Candidate> offer_direct(const ChoiceKey& key, const Target& target) {
  std::vector<Candidate> out;
  for (Expected& one : near_tilings(*convolution_of(key), target)) out.push_back(std::move(one.candidate));
  return out;
}

std::optional<Candidate> find_direct(const ChoiceKey& key, const std::string& name, const Target& target) {
  if (target.is_device()) return std::nullopt;
  const Convolution c = *convolution_of(key);
  if (name.starts_with(kExchanged)) return find_exchanged(c, name.substr(kExchanged.size()), target);
  if (c.pass == ConvPass::kWeightGradient) return find_tiling(weight_tiling_named(name), c, target);
  if (const auto planes = planes_tiling_named(name)) return find_tiling(planes, correlation_of(c), target);
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
  return {name_of(pass),
          [](const ChoiceKey&, const Target&) { return std::vector<Candidate>(); },
          [](const ChoiceKey&, const std::string& name, const Target&) {
            const Candidate loops{.name = kLoops, .rounding = RoundingClass::kSame, .lower = lower_conv_loops};
            return name == loops.name ? std::optional(loops) : std::nullopt;
          },
          {kLoops}};
}

CandidateSource direct_of(ConvPass pass) {
  std::vector<std::string> names = {"filters #x#", "rows #x#"};
  if (pass != ConvPass::kWeightGradient) names.push_back("planes #x#x#");
  if (pass != ConvPass::kInputGradient)
    for (const char* tiling : {"filters #x#", "rows #x#"}) names.push_back(str(kExchanged, tiling));
  return {name_of(pass), offer_direct, find_direct, std::move(names)};
}

CandidateSource winograd_of(ConvPass pass) {
  std::vector<std::string> names;
  for (int64_t tile : kWinogradTiles) names.push_back(name_of_winograd(tile));
  return {name_of(pass), offer_winograd, nullptr, std::move(names)};
}

}  // namespace

#define TH_CONV_PASS(pass, choice, direct, winograd, loops)                           \
  const Computation& choice() {                                                       \
    static const Computation computation{name_of(pass), kLoops, example<pass>, rule}; \
    return computation;                                                               \
  }                                                                                   \
  CandidateSource direct() {                                                          \
    return direct_of(pass);                                                           \
  }                                                                                   \
  CandidateSource winograd() {                                                        \
    return winograd_of(pass);                                                         \
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
