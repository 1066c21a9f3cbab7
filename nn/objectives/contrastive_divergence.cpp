#include "nn/objectives/contrastive_divergence.h"

#include <algorithm>

#include "compiler/autodiff/gradient.h"
#include "compiler/base/random_state.h"
#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

void ContrastiveDivergence::Options::describe(Fields<Options>& f) {
  f.about(
      "Trains an rbm or rnn_rbm layer without targets: the free energy of examples falls, that of what the machine "
      "makes of them rises. Its loss, in the lines of epochs and in `thtrain eval`, is minus the pseudo-likelihood, "
      "the sum over the visible units of log P(unit | all others); of Gaussian visible units, half the squared "
      "error of the reconstruction. Training takes one visible unit of each example, each unit as often as any "
      "other. Examples that are not trained on are measured by all visible units where these times the hidden units "
      "are at most 20,000, and where a chunk (all examples, or about a thousand of them) has at most 100,000 pairs "
      "of an example and a unit; else by so many units of each example that it has about so many, the same in every "
      "epoch, and each unit as often as any other.");
  f.field("k", &Options::k)
      .range(at_least(1))
      .unit("steps")
      .synonyms({"n_steps", "gibbs_steps"})
      .help("Steps of Gibbs sampling for each minibatch.");
  f.field("persistent", &Options::persistent)
      .help(
          "Whether chains go on from minibatch to minibatch (PCD) or begin at the examples (CD). Chains of an rnn_rbm "
          "layer begin at the examples.");
}

std::unique_ptr<Objective> ContrastiveDivergence::Options::make() const {
  return std::make_unique<ContrastiveDivergence>(*this);
}

static const MachineLayer* machine_layer_of(const ModelOutput& output) {
  return dynamic_cast<const MachineLayer*>(output.layer);
}

std::optional<Message> ContrastiveDivergence::misfit(const ModelOutput& output, TargetForm) const {
  const MachineLayer* layer = machine_layer_of(output);
  if (layer && (layer->is_one_machine() || !options_.persistent)) return {};
  Message out{.what = "",
              .expected = "that of an rbm or an rnn_rbm layer",
              .got = output.layer ? str("that of ", output.layer->name(), ", of type ", output.layer->type())
                                  : "a value of no layer",
              .config = output.layer ? output.layer->position() : ConfigPosition(),
              .hint = "type = \"rbm\" for the layer that is judged, the last one"};
  if (layer) {
    out.expected = "that of an rbm layer, for persistent chains";
    out.config = options_.at("persistent");
    out.hint = str("persistent = false begins chains at the examples: the machines of ", layer->name(),
                   " are others in each minibatch");
  }
  return out;
}

// Half of it, of each row.
static Expr squared_distance(const Expr& v, const Expr& mean) {
  return 0.5 * sum(sqr(v - mean), 1);
}

// Of one number for each row; of sequences, of the steps that they have. Lengths are at least 1.
static Expr mean_of_rows(const Expr& rows, const Expr& mask) {
  return mask.has_value() ? sum(rows * mask) / sum(mask) : mean(rows);
}

// The visible units in the order in which examples are measured by some of them: at random, so that neighbours in a
// picture are not measured together.
static Expr units_at(const BoltzmannMachine& machine, const Expr& indices) {
  constexpr int64_t kSeed = 1;
  const int64_t visible = machine.visible_units();
  return take(make_constant(Tensor::of(RandomState(kSeed).permutation(visible), {visible})), indices % visible);
}

// The units that each example of a chunk is measured by: [visible, 1] where all are affordable, else [m, examples].
static Expr units_to_measure(const BoltzmannMachine& machine, const Expr& v) {
  constexpr int64_t kMostTerms = 20'000, kPairs = 100'000, kUsualChunk = 1000;
  const int64_t visible = machine.visible_units();
  const int64_t examples = v.dims()[0].is_known() ? std::max<int64_t>(v.dims()[0].value(), 1) : kUsualChunk;
  const int64_t count = (kPairs + examples - 1) / examples;
  if (visible * machine.hidden_units() <= kMostTerms || visible <= count) return expand_dims(arange(visible), {1});
  return units_at(machine, count * expand_dims(arange(length(v, 0)), {0}) + expand_dims(arange(count), {1}));
}

Expr ContrastiveDivergence::elements(const ModelOutput& output, const Expr&, TargetForm) const {
  const BoltzmannMachine machine = machine_layer_of(output)->machine(output);
  const Expr& v = output.inputs.at(0);
  if (machine.is_gaussian) return squared_distance(v, machine.propdown(machine.propup(v)));
  return -machine.pseudo_log_likelihood(v, units_to_measure(machine, v));
}

Expr ContrastiveDivergence::shown(const BoltzmannMachine& machine, const Expr& v, const Expr& mask,
                                  const GibbsStep& end, std::vector<Update>& updates) const {
  if (machine.is_gaussian) {
    // Persistent chains have other examples: those of Gaussian units are measured as examples that are not trained on.
    const Expr mean = options_.persistent ? machine.propdown(machine.propup(v)) : end.visible_mean;
    return mean_of_rows(squared_distance(v, mean), mask);
  }
  const Expr examples = length(v, 0);
  updates.push_back({*bit_, (*bit_ + examples) % machine.visible_units()});
  const Expr units = units_at(machine, *bit_ + arange(examples));
  return -mean_of_rows(machine.pseudo_log_likelihood(v, expand_dims(units, {0})), mask);
}

// What each parameter gets: of the layer's own the gradient of `difference`, of others nothing.
static std::vector<Expr> own_gradients(const Expr& difference, const Layer& layer, const std::vector<Param>& params,
                                       const std::string& objective) {
  std::vector<Expr> own, out;
  auto is_own = [&](const Param& param) {
    return std::any_of(layer.params().begin(), layer.params().end(),
                       [&](const Param& p) { return p.variable.name() == param.variable.name(); });
  };
  for (const Param& param : params)
    if (is_own(param)) own.push_back(param.expr());
  if (own.empty())
    throw UserError(Message{
        .what = str("objective \"", objective, "\" trains the layer ", layer.name(), " alone, which is not trained"),
        .expected = str(layer.name(), " with trained = true, or among the layers of a phase's trained"),
        .config = layer.position()});
  const std::vector<Expr> gradients = grad(difference, own);
  for (size_t i = 0; const Param& param : params) out.push_back(is_own(param) ? gradients[i++] : Expr());
  return out;
}

ObjectiveStep ContrastiveDivergence::step(const ObjectiveInput& input) {
  check(input.output, input.targets);
  const MachineLayer& layer = *machine_layer_of(input.output);
  Scope scope(name());
  ModelOutput output = input.output;
  const Expr v = output.inputs.at(0) = stop_gradient(output.inputs.at(0));
  const BoltzmannMachine machine = layer.machine(output);
  if (options_.persistent && !chains_) {
    TH_CHECK(v.dims()[0].is_known(), "chains for a minibatch of a length that is not known");
    chains_.emplace(Tensor::zeros(v.dtype(), {v.dims()[0].value(), machine.hidden_units()}), "chains");
  }
  if (!machine.is_gaussian && !bit_) bit_.emplace(int64_t{0}, "bit");
  Expr h, hidden_random = layer.hidden_random();
  if (options_.persistent) {
    h = *chains_;
  } else {
    const Drawn first = machine.sample_hidden(v, hidden_random);
    h = first.sample;
    hidden_random = first.next;
  }
  const GibbsStep end = machine.gibbs_chain(h, options_.k, layer.visible_random(), hidden_random);
  ObjectiveStep out;
  out.updates = {{layer.visible_random(), end.visible_random}, {layer.hidden_random(), end.hidden_random}};
  if (options_.persistent) out.updates.push_back({*chains_, end.hidden});
  out.cost = shown(machine, v, output.mask, end, out.updates);
  const Expr difference = mean_of_rows(machine.free_energy(v), output.mask) -
                          mean_of_rows(machine.free_energy(stop_gradient(end.visible)), output.mask);
  out.gradients = own_gradients(difference, layer, input.params, name());
  return out;
}

std::vector<std::pair<std::string, Shared>> ContrastiveDivergence::state() const {
  std::vector<std::pair<std::string, Shared>> out;
  if (chains_) out.emplace_back(chains_->name(), *chains_);
  if (bit_) out.emplace_back(bit_->name(), *bit_);
  return out;
}

std::optional<Message> ContrastiveDivergence::misfit_of_state(
    const std::vector<std::pair<std::string, Tensor>>& kept) const {
  const char* hint = "a new run with model.weights begins with the weights of this one, and with new chains";
  const auto found = std::find_if(kept.begin(), kept.end(), [](const auto& entry) { return entry.first == "chains"; });
  const bool persisted = found != kept.end();
  if (persisted != chains_.has_value())
    return Message{.what = str("the chains of the run ", persisted ? "persist" : "begin at the examples",
                               "; loss.persistent cannot change"),
                   .expected = str("loss.persistent = ", persisted ? "true" : "false"),
                   .got = persisted ? "false" : "true",
                   .config = options_.at("persistent"),
                   .hint = hint};
  if (!persisted) return {};
  const Tensor& then = found->second;
  const Shape own = chains_->type().known_shape();
  if (then.rank() != 2 || then.dim(1) != own[1] || then.dim(0) == own[0]) return {};
  return Message{.what = str("the persistent chains of the run are of ", then.dim(0),
                             " examples; trainer.batch_size cannot change"),
                 .expected = str("trainer.batch_size = ", then.dim(0)),
                 .got = std::to_string(own[0]),
                 .hint = hint};
}

Kind<ObjectiveOptions> contrastive_divergence_objective() {
  return kind<ContrastiveDivergence::Options, ObjectiveOptions>();
}

}  // namespace thtrain
