#include "compiler/cpu/pool/conv_pooling.h"

#include "compiler/cpu/conv/conv_cycles.h"
#include "compiler/cpu/pool/pooled_positions.h"
#include "compiler/ir/graph.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/pool/pool.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::Target;

constexpr const char* kPooledConv = "pooled_conv";
constexpr const char* kConv = "conv";
constexpr const char* kPool = "pool";
constexpr std::string_view kThen = " then ";
std::vector<Candidate> offer_pooled_conv(const ChoiceKey&, const Target&) {
  return {{.name = kApart, .rounding = RoundingClass::kSame}, {.name = kOneKernel, .rounding = RoundingClass::kSame}};
}

// By the model of the processor, where the rule for the convolution takes a direct kernel.
std::string rule_of_pooled_conv(const ChoiceKey& key, const Target& target, int threads, double tolerance) {
  const ConvPooling p = *conv_pooling_of(key);
  const ChoiceKey of_conv = key_of(p.conv);
  const std::optional<DirectTiling> tiling =
      direct_tiling_named(find_computation(kConv)->rule(of_conv, target, threads, tolerance));
  if (!tiling || !p.fits(*tiling)) return kApart;
  const Target usual = target.with_usual_rates();
  const ExpectedTime apart{kApart, expected_cycles(*tiling, p.c, usual), expected_cycles(*tiling, p.c, target)};
  return least_expected({apart,
                         {kOneKernel, apart.usual - expected_gain_of_pooling(*tiling, p.c, p.windows, usual),
                          apart.measured - expected_gain_of_pooling(*tiling, p.c, p.windows, target)}});
}

// The two nodes, which become one by the choice (compiler/passes/fuse_pooling.h).
std::optional<Graph> example_of_pooled_conv(const std::string& properties) {
  const std::optional<ConvPooling> p = conv_pooling_of({kPooledConv, properties});
  if (!p) return std::nullopt;
  Graph conv = *find_computation(kConv)->example(key_of(p->conv).properties),
        pool = *find_computation(kPool)->example(key_of(p->pooling).properties);
  return Graph{conv.inputs, substitute(pool.outputs, std::vector{std::pair(pool.inputs[0], conv.outputs[0])}), {}};
}

}  // namespace

std::optional<ConvPooling> ConvPooling::of(const Convolution& conv, const Pooling& pooling) {
  if (conv.pass != ConvPass::kForward || (pooling.op != &max_pool_op() && pooling.op != &sum_pool_op()) ||
      pooling.dtype != conv.dtype)
    return std::nullopt;
  Ints image = {conv.n, conv.f};
  for (size_t i = 3 - conv.rank; i < 3; ++i) image.push_back(conv.axes[i].out);
  const Correlation c = correlation_of(conv);
  const std::optional<PositionWindows> windows = PooledPositions::windows_of(pooling, c);
  if (image != pooling.image || !windows) return std::nullopt;
  return ConvPooling{conv, pooling, c, *windows};
}

std::optional<ConvPooling> ConvPooling::of(const Node& conv, const Node& pooling) {
  const std::optional<Convolution> known = known_convolution(conv);
  const std::optional<Pooling> pooled = known_pooling(pooling);
  return known && pooled ? of(*known, *pooled) : std::nullopt;
}

bool ConvPooling::fits(const DirectTiling& tiling) const {
  return is_possible(tiling, c, kernel::widest_target(), true, &windows);
}

ChoiceKey key_of(const ConvPooling& p) {
  return {kPooledConv, str(key_of(p.conv).properties, kThen, key_of(p.pooling).properties)};
}

std::optional<ConvPooling> conv_pooling_of(const ChoiceKey& key) {
  const size_t then = key.properties.find(kThen);
  if (key.computation != kPooledConv || then == std::string::npos) return std::nullopt;
  const std::optional<Convolution> conv = convolution_of({kConv, key.properties.substr(0, then)});
  const std::optional<Pooling> pooling = pooling_of({kPool, key.properties.substr(then + kThen.size())});
  return conv && pooling ? ConvPooling::of(*conv, *pooling) : std::nullopt;
}

const Computation& conv_pooling_choice() {
  static const Computation computation{kPooledConv, kApart, example_of_pooled_conv, rule_of_pooled_conv};
  return computation;
}

CandidateSource conv_poolings() {
  return {kPooledConv, offer_pooled_conv, nullptr, {kApart, kOneKernel}};
}

}  // namespace thtrain
