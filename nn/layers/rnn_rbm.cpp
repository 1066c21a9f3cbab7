#include "nn/layers/rnn_rbm.h"

#include "compiler/ops/control/scan.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"
#include "nn/layers/dense.h"
#include "nn/sequences.h"

namespace thtrain {

void RnnRbm::Options::describe(Fields<Options>& f) {
  f.about(
      "A restricted Boltzmann machine for each step of a sequence, with biases that a recurrent network makes of the "
      "steps before it. The objective `contrastive_divergence` trains it; `thtrain sample` draws sequences of it.");
  describe_layer(f);
  f.field("units", &Options::units)
      .range(at_least(1))
      .unit("hidden units")
      .required()
      .synonyms({"n_hidden", "size", "hidden", "num_outputs", "out_features"})
      .help("Number of hidden units of the machine, the columns of W.");
  f.field("recurrent_units", &Options::recurrent_units)
      .range(at_least(1))
      .unit("units")
      .required()
      .synonyms({"n_hidden_recurrent", "hidden_size", "recurrent"})
      .help("Number of units of the recurrent network.");
  describe_init(f, &Options::init);
  f.field("recurrent_std", &Options::recurrent_std)
      .range(above(0))
      .help("Standard deviation of the normal numbers that the recurrent network's matrices start with.");
  describe_trained(f);
}

// ---- weights --------------------------------------------------------------------------------------------------------

static Shape output_of(const RnnRbm::Options& options, const LayerInput& input) {
  require_sequence(RnnRbm::Options::kName, options, input);
  row_length(RnnRbm::Options::kName, options, input);
  return {options.units};
}

RnnRbm::RnnRbm(const Options& options, const LayerInput& input)
    : MachineLayer(Options::kName, options, output_of(options, input)) {
  const int64_t length = input.shapes[0][0], units = options.units, recurrent = options.recurrent_units;
  check_units(options, units, length, input.dtype);
  check_units(options, recurrent, 2 * length + units + recurrent, input.dtype);
  const Init small{.law = Init::Law::kNormal, .deviation = options.recurrent_std};
  auto matrix = [&](const char* name, const Init& init, int64_t rows, int64_t columns) {
    return add_param(name, draw_weights(init, rows, columns, input.random), input.dtype, true).expr();
  };
  auto bias = [&](const char* name, int64_t count) {
    return add_param(name, Tensor::zeros(input.dtype, {count}), input.dtype, false).expr();
  };
  w_ = matrix("W", options.init, length, units);
  b_ = bias("b", units);
  a_ = bias("a", length);
  w_uh_ = matrix("W_uh", small, recurrent, units);
  w_uv_ = matrix("W_uv", small, recurrent, length);
  w_vu_ = matrix("W_vu", small, length, recurrent);
  w_uu_ = matrix("W_uu", small, recurrent, recurrent);
  b_u_ = bias("b_u", recurrent);
  add_generators(length, units, input.random);
}

// ---- the machines of given sequences --------------------------------------------------------------------------------

BoltzmannMachine RnnRbm::machine_after(const Expr& u) const {
  return {.w = w_, .a = affine(u, w_uv_, a_), .b = affine(u, w_uh_, b_)};
}

BoltzmannMachine RnnRbm::machine_of(const Expr& x, const Expr& mask) const {
  const Dim steps = x.dims()[0], batch = x.dims()[1];
  const bool has_mask = mask.has_value();
  ScanOptions loop{.name = name()};
  loop.sequences.emplace_back(steps_of_rows(affine(rows_of_steps(x), w_vu_, b_u_), steps, batch));
  if (has_mask) loop.sequences.emplace_back(gt(expand_dims(mask, {2}), 0));
  loop.outputs_info = {zeros({batch, w_uu_.dims()[0]}, x.dtype()), std::nullopt};
  const std::vector<Expr> outputs =
      scan(
          [&](const std::vector<Expr>& values) {
            const Expr &before = values.back(), after = tanh(values[0] + dot(before, w_uu_));
            return std::vector<Expr>{has_mask ? where(values[1], after, before) : after, before};
          },
          loop)
          .outputs;
  return machine_after(rows_of_steps(outputs[1]));  // u(t-1) of each step t
}

BoltzmannMachine RnnRbm::machine(const ModelOutput& output) const {
  Scope scope(name(), position());
  const Expr mask = output.mask.has_value() ? steps_of_rows(output.mask, output.steps, output.batch) : Expr();
  return machine_of(steps_of_rows(output.inputs.at(0), output.steps, output.batch), mask);
}

Expr RnnRbm::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  const Expr& x = inputs[0];
  return steps_of_rows(machine_of(x, pass.mask).propup(rows_of_steps(x)), x.dims()[0], x.dims()[1]);
}

// ---- sequences that are drawn ---------------------------------------------------------------------------------------

GeneratedSequences RnnRbm::generate(const Expr& steps, int64_t batch, int64_t gibbs_steps, const Expr& visible_random,
                                    const Expr& hidden_random) const {
  Scope scope(name(), position());
  const Expr silence = zeros({batch, w_.dims()[0]}, w_.dtype()), u = zeros({batch, w_uu_.dims()[0]}, w_.dtype());
  auto step = [&](const Expr& before, const Expr& of_visible, const Expr& of_hidden) {
    const GibbsStep end = machine_after(before).gibbs_vhv(silence, gibbs_steps, of_visible, of_hidden);
    const Expr after = tanh(affine(end.visible, w_vu_, b_u_) + dot(before, w_uu_));
    return std::vector<Expr>{after, end.visible_random, end.hidden_random, end.visible};
  };
  const std::vector<Expr> outputs =
      scan(step, {.outputs_info = {u, visible_random, hidden_random, std::nullopt}, .n_steps = steps, .name = name()})
          .outputs;
  return {.visible = outputs[3], .visible_random = outputs[1][-1], .hidden_random = outputs[2][-1]};
}

LayerKind rnn_rbm_layer() {
  return layer_kind<RnnRbm>();
}

}  // namespace thtrain
