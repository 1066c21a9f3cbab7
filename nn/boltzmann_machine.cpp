#include "nn/boltzmann_machine.h"

#include "compiler/ops/control/scan.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "nn/noise.h"

namespace thtrain {

// ---- energies -------------------------------------------------------------------------------------------------------

static bool has_rows(const Expr& biases) {
  return biases.rank() == 2;
}

Expr BoltzmannMachine::free_energy(const Expr& v) const {
  const Expr hidden = sum(softplus(dot(v, w) + b), 1);
  if (is_gaussian) return 0.5 * sum(sqr(v - a), 1) - hidden;
  return -(has_rows(a) ? sum(v * a, 1) : dot(v, a)) - hidden;
}

Expr BoltzmannMachine::propup(const Expr& v) const {
  return sigmoid(dot(v, w) + b);
}

Expr BoltzmannMachine::propdown(const Expr& h) const {
  const Expr input = dot(h, w.T()) + a;
  return is_gaussian ? input : sigmoid(input);
}

// Where x' is x with its unit i flipped and s = 1 - 2 x_i, z = x W + b becomes z + s W_i: the free energies take no
// other product than x W, and log P(x') - log P(x) = s a_i + sum(softplus(z + s W_i) - softplus(z)).
Expr BoltzmannMachine::pseudo_log_likelihood(const Expr& v, const Expr& units) const {
  TH_CHECK(!is_gaussian, "the pseudo-likelihood of Gaussian units");
  const Expr x = round(v), z = dot(x, w) + b, before = softplus(z);
  const int64_t count = units.dims()[0].value();
  // log P(x_i | the others) of the units [n] or [1].
  auto of_units = [&](const Expr& i) {
    const bool is_one = i.dims()[0].is(1);
    auto own = [&](const Expr& rows) { return is_one ? take(rows, i[0], 1) : pick_rows(rows, i); };
    const Expr sign = 1 - 2 * own(x);  // [n]
    const Expr after = softplus(z + expand_dims(sign, {1}) * take(w, i));
    const Expr bias = has_rows(a) ? own(a) : take(a, i);
    return -softplus(sign * bias + sum(after - before, 1));
  };
  if (count == 1) return static_cast<double>(visible_units()) * of_units(units[0]);
  auto step = [&](const Expr& i, const Expr& total) { return total + of_units(i); };
  const Expr total =
      reduce(step, {.sequences = {units}, .outputs_info = {zeros({x.dims()[0]}, x.dtype())}, .name = "units"}).outputs;
  return static_cast<double>(visible_units()) / static_cast<double>(count) * total;
}

// ---- Gibbs sampling -------------------------------------------------------------------------------------------------

Drawn BoltzmannMachine::sample_hidden(const Expr& v, const Expr& hidden_random) const {
  return draw_bernoulli(hidden_random, propup(v));
}

static Drawn sample_visible(const Expr& mean, bool is_gaussian, const Expr& visible_random) {
  if (!is_gaussian) return draw_bernoulli(visible_random, mean);
  const Drawn z = draw_standard_normal(visible_random, mean.dims(), mean.dtype());
  return {z.next, mean + z.sample};
}

GibbsStep BoltzmannMachine::gibbs_hvh(const Expr& h, const Expr& visible_random, const Expr& hidden_random) const {
  GibbsStep out;
  out.visible_mean = propdown(h);
  const Drawn v = sample_visible(out.visible_mean, is_gaussian, visible_random);
  out.visible = v.sample;
  out.hidden_mean = propup(out.visible);
  const Drawn next = draw_bernoulli(hidden_random, out.hidden_mean);
  out.hidden = next.sample;
  out.visible_random = v.next;
  out.hidden_random = next.next;
  return out;
}

GibbsStep BoltzmannMachine::gibbs_chain(const Expr& h, int64_t steps, const Expr& visible_random,
                                        const Expr& hidden_random) const {
  Scope scope("gibbs");
  if (steps == 1) return gibbs_hvh(h, visible_random, hidden_random);
  auto step = [&](const Expr& h, const Expr& of_visible, const Expr& of_hidden) {
    const GibbsStep one = gibbs_hvh(h, of_visible, of_hidden);
    return std::vector<Expr>{one.hidden,       one.visible_random, one.hidden_random,
                             one.visible_mean, one.visible,        one.hidden_mean};
  };
  const std::nullopt_t none = std::nullopt;
  const std::vector<Expr> last =
      reduce(step,
             {.outputs_info = {h, visible_random, hidden_random, none, none, none}, .n_steps = steps, .name = "gibbs"})
          .outputs;
  return {.visible_mean = last[3],
          .visible = last[4],
          .hidden_mean = last[5],
          .hidden = last[0],
          .visible_random = last[1],
          .hidden_random = last[2]};
}

GibbsStep BoltzmannMachine::gibbs_vhv(const Expr& v, int64_t steps, const Expr& visible_random,
                                      const Expr& hidden_random) const {
  const Drawn h = sample_hidden(v, hidden_random);
  return gibbs_chain(h.sample, steps, visible_random, h.next);
}

// ---- the layer ------------------------------------------------------------------------------------------------------

GeneratedSequences MachineLayer::generate(const Expr&, int64_t, int64_t, const Expr&, const Expr&) const {
  TH_CHECK(false, "layer ", name(), " draws no sequences");
  __builtin_unreachable();
}

void MachineLayer::add_generators(int64_t visible, int64_t hidden, RandomState& random) {
  visible_random_ = add_state("visible_random", mrg_state_of(random, mrg_streams_of({visible})));
  hidden_random_ = add_state("hidden_random", mrg_state_of(random, mrg_streams_of({hidden})));
}

}  // namespace thtrain
