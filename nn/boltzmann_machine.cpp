#include "nn/boltzmann_machine.h"

#include "compiler/ops/control/scan.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "nn/noise.h"

namespace thtrain {

// ---- energies
// ---------------------------------------------------------------------------------------------------------

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

// Only the products of one visible unit change with its bit: x' W = x W + (1 - 2 x_i) W_i.
Expr BoltzmannMachine::pseudo_log_likelihood(const Expr& v, const Expr& bits) const {
  TH_CHECK(!is_gaussian, "the pseudo-likelihood of Gaussian units");
  const Expr x = round(v);
  const bool is_one = bits.dims()[0].is(1);
  auto own = [&](const Expr& rows) { return is_one ? take(rows, bits[0], 1) : pick_rows(rows, bits); };
  const Expr change = 1 - 2 * own(x);  // [n]
  const Expr z = dot(x, w) + b, flipped = z + expand_dims(change, {1}) * take(w, bits);
  const Expr bias = has_rows(a) ? own(a) : take(a, bits);
  // F(x') - F(x), and log P(x_i | the others) = log sigmoid of it.
  const Expr difference = -change * bias - sum(softplus(flipped), 1) + sum(softplus(z), 1);
  return -static_cast<double>(visible_units()) * softplus(-difference);
}

// ---- Gibbs sampling
// ---------------------------------------------------------------------------------------------------

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
  out.visible_input = dot(h, w.T()) + a;
  out.visible_mean = is_gaussian ? out.visible_input : sigmoid(out.visible_input);
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
    return std::vector<Expr>{one.hidden,       one.visible_random, one.hidden_random, one.visible_input,
                             one.visible_mean, one.visible,        one.hidden_mean};
  };
  const std::nullopt_t none = std::nullopt;
  const std::vector<Expr> last =
      reduce(step, {.outputs_info = {h, visible_random, hidden_random, none, none, none, none},
                    .n_steps = steps,
                    .name = "gibbs"})
          .outputs;
  return {.visible_input = last[3],
          .visible_mean = last[4],
          .visible = last[5],
          .hidden_mean = last[6],
          .hidden = last[0],
          .visible_random = last[1],
          .hidden_random = last[2]};
}

GibbsStep BoltzmannMachine::gibbs_vhv(const Expr& v, int64_t steps, const Expr& visible_random,
                                      const Expr& hidden_random) const {
  const Drawn h = sample_hidden(v, hidden_random);
  return gibbs_chain(h.sample, steps, visible_random, h.next);
}

// ---- the layer
// --------------------------------------------------------------------------------------------------------

void MachineLayer::add_generators(int64_t visible, int64_t hidden, RandomState& random) {
  visible_random_ = add_state("visible_random", mrg_state_of(random, mrg_streams_of({visible})));
  hidden_random_ = add_state("hidden_random", mrg_state_of(random, mrg_streams_of({hidden})));
}

}  // namespace thtrain
