#include "nn/objectives/contrastive_divergence.h"

#include <algorithm>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

void ContrastiveDivergence::Options::describe(Fields<Options>& f) {
  f.about(
      "Trains an rbm layer without targets: the free energy of examples falls, that of what the machine makes of them "
      "rises. Shown is minus the pseudo-likelihood, or the error of the reconstruction.");
  f.field("k", &Options::k)
      .range(at_least(1))
      .unit("steps")
      .synonyms({"n_steps", "gibbs_steps"})
      .help("Steps of Gibbs sampling for each minibatch.");
  f.field("persistent", &Options::persistent)
      .help("Whether chains go on from minibatch to minibatch (PCD) or begin at the examples (CD).");
}

std::unique_ptr<Objective> ContrastiveDivergence::Options::make() const {
  return std::make_unique<ContrastiveDivergence>(*this);
}

std::optional<Message> ContrastiveDivergence::misfit(const ModelOutput& output, TargetForm) const {
  if (dynamic_cast<const Rbm*>(output.layer)) return {};
  return Message{.what = "",
                 .expected = "that of an rbm layer",
                 .got = output.layer ? str("that of ", output.layer->name(), ", of type ", output.layer->type())
                                     : "a value of no layer",
                 .config = output.layer ? output.layer->position() : ConfigPosition(),
                 .hint = "type = \"rbm\" for the layer that is judged, the last one"};
}

static const Rbm& rbm_of(const ModelOutput& output) {
  return dynamic_cast<const Rbm&>(*output.layer);
}

// Of rows v and means, with the means' logits for binary units.
static Expr reconstruction_error(const Rbm& rbm, const Expr& v, const Expr& input) {
  if (rbm.is_gaussian()) return 0.5 * sum(sqr(v - input), 1);
  return sum(v * softplus(-input) + (1 - v) * softplus(input), 1);
}

Expr ContrastiveDivergence::elements(const ModelOutput& output, const Expr&, TargetForm) const {
  const Rbm& rbm = rbm_of(output);
  const Expr& v = output.inputs.at(0);
  if (rbm.is_gaussian()) return reconstruction_error(rbm, v, rbm.propdown(rbm.propup(v)));
  return -rbm.pseudo_log_likelihood(v, arange(length(v, 0)) % rbm.visible_units());
}

Expr ContrastiveDivergence::shown(const Rbm& rbm, const Expr& v, const GibbsStep& end,
                                  std::vector<Update>& updates) const {
  if (!options_.persistent || rbm.is_gaussian()) {
    // Persistent chains have other examples: those of Gaussian units are measured as examples that are not trained on.
    const Expr input = options_.persistent ? rbm.propdown(rbm.propup(v)) : end.visible_input;
    return mean(reconstruction_error(rbm, v, input));
  }
  updates.push_back({*bit_, (*bit_ + 1) % rbm.visible_units()});
  return -mean(rbm.pseudo_log_likelihood(v, expand_dims(*bit_, {0})));
}

ObjectiveStep ContrastiveDivergence::step(const ObjectiveInput& input) {
  check(input.output, input.targets);
  const Rbm& rbm = rbm_of(input.output);
  Scope scope(name());
  const Expr v = stop_gradient(input.output.inputs.at(0));
  if (options_.persistent && !chains_) {
    TH_CHECK(v.dims()[0].is_known(), "chains for a minibatch of a length that is not known");
    chains_.emplace(Tensor::zeros(v.dtype(), {v.dims()[0].value(), rbm.hidden_units()}), "chains");
    if (!rbm.is_gaussian()) bit_.emplace(int64_t{0}, "bit");
  }
  Expr h, hidden_random = rbm.hidden_random();
  if (options_.persistent) {
    h = *chains_;
  } else {
    const Drawn first = rbm.sample_hidden(v, hidden_random);
    h = first.sample;
    hidden_random = first.next;
  }
  const GibbsStep end = rbm.gibbs_chain(h, options_.k, rbm.visible_random(), hidden_random);
  ObjectiveStep out;
  out.updates = {{rbm.visible_random(), end.visible_random}, {rbm.hidden_random(), end.hidden_random}};
  if (options_.persistent) out.updates.push_back({*chains_, end.hidden});
  out.cost = shown(rbm, v, end, out.updates);
  const Expr difference = mean(rbm.free_energy(v)) - mean(rbm.free_energy(stop_gradient(end.visible)));
  std::vector<Expr> own;
  auto is_own = [&](const Param& param) {
    return std::any_of(rbm.params().begin(), rbm.params().end(),
                       [&](const Param& p) { return p.variable.name() == param.variable.name(); });
  };
  for (const Param& param : input.params)
    if (is_own(param)) own.push_back(param.expr());
  if (own.empty())
    throw UserError(
        Message{.what = str("objective \"", name(), "\" trains the layer ", rbm.name(), " alone, which is not trained"),
                .expected = str(rbm.name(), " with trained = true, or among the layers of a phase's trained"),
                .config = rbm.position()});
  const std::vector<Expr> gradients = grad(difference, own);
  out.gradients.emplace();
  for (size_t i = 0; const Param& param : input.params)
    out.gradients->push_back(is_own(param) ? gradients[i++] : Expr());
  return out;
}

std::vector<std::pair<std::string, Shared>> ContrastiveDivergence::state() const {
  std::vector<std::pair<std::string, Shared>> out;
  if (chains_) out.emplace_back(chains_->name(), *chains_);
  if (bit_) out.emplace_back(bit_->name(), *bit_);
  return out;
}

Kind<ObjectiveOptions> contrastive_divergence_objective() {
  return kind<ContrastiveDivergence::Options, ObjectiveOptions>();
}

}  // namespace thtrain
