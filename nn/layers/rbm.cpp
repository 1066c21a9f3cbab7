#include "nn/layers/rbm.h"

#include "compiler/ops/control/scan.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "nn/noise.h"

namespace thtrain {

void Rbm::Options::describe(Fields<Options>& f) {
  f.about(
      "A restricted Boltzmann machine, whose hidden units give sigmoid(x W + b). The objective "
      "`contrastive_divergence` "
      "trains it, and its visible bias a.");
  describe_layer(f);
  f.field("units", &Options::units)
      .range(at_least(1))
      .unit("hidden units")
      .required()
      .synonyms({"outputs", "n_hidden", "size", "hidden", "num_outputs", "out_features"})
      .help("Number of hidden units, the columns of W.");
  f.choice("visible", &Options::visible, {{"binary", Visible::kBinary}, {"gaussian", Visible::kGaussian}})
      .help("What its inputs are: numbers from 0 to 1, or any numbers, of variance 1 given the hidden units.");
  describe_init(f, &Options::init);
  describe_trained(f);
}

Rbm::Rbm(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, {options.units}),
      visible_(options.visible),
      length_(row_length(Options::kName, options, input)) {
  check_units(options, options.units, length_, input.dtype);
  Tensor w = draw_weights(options.init, length_, options.units, input.random);
  w_ = add_param("W", w, input.dtype, true).expr();
  b_ = add_param("b", Tensor::zeros(input.dtype, {options.units}), input.dtype, false).expr();
  a_ = add_param("a", Tensor::zeros(input.dtype, {length_}), input.dtype, false).expr();
  visible_random_ = add_state("visible_random", mrg_state_of(input.random, mrg_streams_of({length_})));
  hidden_random_ = add_state("hidden_random", mrg_state_of(input.random, mrg_streams_of({options.units})));
}

Expr Rbm::free_energy(const Expr& v) const {
  const Expr hidden = sum(softplus(dot(v, w_) + b_), 1);
  if (is_gaussian()) return 0.5 * sum(sqr(v - a_), 1) - hidden;
  return -dot(v, a_) - hidden;
}

Expr Rbm::propup(const Expr& v) const {
  return sigmoid(dot(v, w_) + b_);
}

Expr Rbm::propdown(const Expr& h) const {
  const Expr input = dot(h, w_.T()) + a_;
  return is_gaussian() ? input : sigmoid(input);
}

Drawn Rbm::sample_hidden(const Expr& v, const Expr& hidden_random) const {
  return draw_bernoulli(hidden_random, propup(v));
}

Drawn Rbm::sample_visible(const Expr& mean, const Expr& visible_random) const {
  if (!is_gaussian()) return draw_bernoulli(visible_random, mean);
  const Drawn z = draw_standard_normal(visible_random, mean.dims(), mean.dtype());
  return {z.next, mean + z.sample};
}

GibbsStep Rbm::gibbs_hvh(const Expr& h, const Expr& visible_random, const Expr& hidden_random) const {
  GibbsStep out;
  out.visible_input = dot(h, w_.T()) + a_;
  out.visible_mean = is_gaussian() ? out.visible_input : sigmoid(out.visible_input);
  const Drawn v = sample_visible(out.visible_mean, visible_random);
  out.visible = v.sample;
  out.hidden_mean = propup(out.visible);
  const Drawn next = draw_bernoulli(hidden_random, out.hidden_mean);
  out.hidden = next.sample;
  out.visible_random = v.next;
  out.hidden_random = next.next;
  return out;
}

GibbsStep Rbm::gibbs_chain(const Expr& h, int64_t steps, const Expr& visible_random, const Expr& hidden_random) const {
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

GibbsStep Rbm::gibbs_vhv(const Expr& v, int64_t steps, const Expr& visible_random, const Expr& hidden_random) const {
  const Drawn h = sample_hidden(v, hidden_random);
  return gibbs_chain(h.sample, steps, visible_random, h.next);
}

// Only the products of one visible unit change with its bit: x' W = x W + (1 - 2 x_i) W_i.
Expr Rbm::pseudo_log_likelihood(const Expr& v, const Expr& bits) const {
  TH_CHECK(!is_gaussian(), "the pseudo-likelihood of Gaussian units");
  const Expr x = round(v);
  const bool is_one = bits.dims()[0].is(1);
  const Expr own = is_one ? take(x, bits[0], 1) : pick_rows(x, bits);
  const Expr change = 1 - 2 * own;  // [n]
  const Expr z = dot(x, w_) + b_, flipped = z + expand_dims(change, {1}) * take(w_, bits);
  // F(x') - F(x), and log P(x_i | the others) = log sigmoid of it.
  const Expr difference = -change * take(a_, bits) - sum(softplus(flipped), 1) + sum(softplus(z), 1);
  return -static_cast<double>(length_) * softplus(-difference);
}

Expr Rbm::forward(std::span<const Expr> inputs, LayerPass&) const {
  return propup(inputs[0]);
}

LayerKind rbm_layer() {
  return layer_kind<Rbm>();
}

}  // namespace thtrain
