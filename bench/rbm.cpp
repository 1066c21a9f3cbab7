// The update of a restricted Boltzmann machine of binary units by contrastive divergence, samples drawn by MRG31k3p.
#include <cmath>
#include <functional>
#include <span>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

namespace {

// bench/peers/rbm.py has the same.
constexpr double kRbmLearningRate = 0.01;

struct RbmVariables {
  Shared v, W, b, c;
};

RbmVariables first_variables(const RbmCase& what, DType dtype) {
  RandomState rng(2344);
  auto uniform = [&](double low, double high, int64_t rows, int64_t columns) {
    return Tensor::of(rng.uniform(low, high, static_cast<size_t>(rows * columns)), {rows, columns});
  };
  const double range = 4 * std::sqrt(6 / static_cast<double>(what.visible + what.hidden));
  Tensor v = uniform(0, 1, what.batch, what.visible);
  for (double& value : std::span(v.data<double>(), static_cast<size_t>(v.size()))) value = value < 0.3;
  const Tensor W = uniform(-range, range, what.visible, what.hidden);
  return {Shared(v.cast(dtype), "v"), Shared(W.cast(dtype), "W"), Shared(Tensor::zeros(dtype, {what.visible}), "b"),
          Shared(Tensor::zeros(dtype, {what.hidden}), "c")};
}

// Gives 0 or 1, 1 with the probabilities p.
using Sample = std::function<Expr(const Expr& p)>;

// The updates of one call. `take` makes a sampler of what a step of the chain walks along `draws`; without draws it is
// given nothing.
struct Chain {
  std::vector<ScanSequence> draws = {};
  std::function<std::pair<Sample, Sample>(const std::vector<Expr>& given)> samplers;  // of hidden and visible units
};

std::vector<Update> cd_updates(const RbmCase& what, const RbmVariables& rbm, const Chain& chain, DType dtype) {
  const Expr first = sigmoid(dot(rbm.v, rbm.W) + rbm.c);
  auto step = [&](const std::vector<Expr>& given) -> std::vector<Expr> {
    const size_t draws = chain.draws.size();
    const auto [hidden, visible] = chain.samplers({given.begin(), given.begin() + static_cast<std::ptrdiff_t>(draws)});
    const Expr v = visible(sigmoid(dot(hidden(given[draws]), rbm.W.T()) + rbm.b));
    return {sigmoid(dot(v, rbm.W) + rbm.c), v};
  };
  // The last v alone is kept: it is a state, which no step reads.
  auto [ends, updates] = reduce(
      step, {.sequences = chain.draws, .outputs_info = {first, rbm.v.expr()}, .n_steps = what.k, .name = "gibbs"});
  const Expr rate = make_constant(Tensor(kRbmLearningRate / static_cast<double>(what.batch)).cast(dtype));
  updates.push_back({rbm.W, rbm.W + rate * (dot(rbm.v.T(), first) - dot(ends[1].T(), ends[0]))});
  updates.push_back({rbm.b, rbm.b + rate * sum(rbm.v - ends[1], 0)});
  updates.push_back({rbm.c, rbm.c + rate * sum(first - ends[0], 0)});
  return updates;
}

}  // namespace

Workload rbm_workload(const std::string& text, const WorkloadOptions& options) {
  const RbmCase what = rbm_case(text);
  const RbmVariables rbm = first_variables(what, options.dtype);
  const MrgRandomStreams rng(1);
  const Chain chain{.samplers = [&](const std::vector<Expr>&) {
    const Sample draw = [&](const Expr& p) { return rng.binomial(p.dims(), 1, p, options.dtype); };
    return std::pair(draw, draw);
  }};
  auto train =
      std::make_shared<Function>(function({}, {}, cd_updates(what, rbm, chain, options.dtype),
                                          {.threads = options.threads, .target = options.target, .name = "bench rbm"}));
  auto run = [train](long calls) {
    for (; calls > 0; --calls) (*train)({});
  };
  return {run, static_cast<double>(what.batch), {}, train};
}

Tensor rbm_weights(const std::string& text, const WorkloadOptions& options, int calls) {
  const RbmCase what = rbm_case(text);
  const RbmVariables rbm = first_variables(what, options.dtype);
  RandomState draws(7);
  const Expr hidden = tensor("hidden", {what.k, what.batch, what.hidden}, options.dtype),
             visible = tensor("visible", {what.k, what.batch, what.visible}, options.dtype);
  const Chain chain{.draws = {hidden, visible}, .samplers = [&](const std::vector<Expr>& given) {
                      auto below = [&](const Expr& u) {
                        return Sample([&options, u](const Expr& p) { return cast(lt(u, p), options.dtype); });
                      };
                      return std::pair(below(given[0]), below(given[1]));
                    }};
  Function train = function({hidden, visible}, {}, cd_updates(what, rbm, chain, options.dtype),
                            {.threads = options.threads, .name = "bench rbm"});
  auto uniform = [&](int64_t units) {
    return Tensor::of(draws.uniform(0, 1, static_cast<size_t>(what.k * what.batch * units)),
                      {what.k, what.batch, units})
        .cast(options.dtype);
  };
  for (; calls > 0; --calls) {
    const Tensor h = uniform(what.hidden), v = uniform(what.visible);
    train({h, v});
  }
  return rbm.W.get_value();
}

}  // namespace thtrain
