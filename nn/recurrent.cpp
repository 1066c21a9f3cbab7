#include "nn/recurrent.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/control/scan.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"
#include "nn/layers/dense.h"
#include "nn/sequences.h"

namespace thtrain {

// ---- weights and state ----------------------------------------------------------------------------------------------

static Tensor recurrent_matrix(const RecurrentOptions& options, RandomState& random) {
  const int64_t n = options.units;
  const double bound = options.recurrent_scale / std::sqrt(static_cast<double>(n));
  switch (options.recurrent_init) {
    case RecurrentInit::kOrthogonal:
      return draw_weights({.law = Init::Law::kOrthogonal, .scale = options.recurrent_scale}, n, n, random);
    case RecurrentInit::kUniform:
      return draw_weights({.law = Init::Law::kUniform, .range = bound}, n, n, random);
    case RecurrentInit::kIdentity: {
      Tensor out = Tensor::zeros(DType::kFloat64, {n, n});
      for (int64_t i = 0; i < n; ++i) out.data<double>()[i * n + i] = options.recurrent_scale;
      return out;
    }
  }
  TH_CHECK(false, "no such initializer");
  __builtin_unreachable();
}

// Matrices of `units` columns next to each other.
template <class Draw>
static Tensor blocks(int64_t count, int64_t rows, int64_t units, const Draw& draw) {
  Tensor out = Tensor::empty(DType::kFloat64, {rows, count * units});
  for (int64_t k = 0; k < count; ++k) {
    const Tensor block = draw();
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(block.data<double>() + i * units, units, out.data<double>() + (i * count + k) * units);
  }
  return out;
}

static Shape output_of(std::string_view type, const RecurrentOptions& options, const LayerInput& input) {
  require_sequence(type, options, input);
  row_length(type, options, input);
  return {options.units};
}

void RecurrentOptions::go_step_by_step(const std::string& what) {
  if (go_backwards)
    throw UserError(Message{.what = str("layer ", name, " walks sequences backwards: it cannot write ", what),
                            .expected = "go_backwards = false",
                            .config = section.at("go_backwards")});
  carry = true;
}

Recurrent::Recurrent(std::string_view type, const RecurrentOptions& options, const LayerInput& input, int64_t gates,
                     std::vector<std::string> states)
    : Layer(type, options, output_of(type, options, input)),
      output_(options.output),
      go_backwards_(options.go_backwards),
      truncate_(options.truncate.value_or(-1)),
      states_(std::move(states)) {
  const int64_t n = options.units, length = input.shapes[0][0];
  check_units(options, n, length + n, input.dtype, gates);
  if (options.carry && input.batch == 0)
    throw UserError(Message{.what = str("layer ", options.name, " (", type,
                                        ") carries its state from one minibatch to the next, and their size is not "
                                        "known"),
                            .expected = "minibatches of one size",
                            .config = options.section.at("carry"),
                            .hint = "in a program, Model::set_batch gives it before layers are added"});
  if (options.carry && go_backwards_)
    throw UserError(Message{.what = str("layer ", options.name, " (", type,
                                        ") walks backwards, and has no state that the next minibatch goes on from"),
                            .expected = "go_backwards = false with carry = true",
                            .got = "go_backwards = true",
                            .config = options.section.at("carry")});
  w_ = add_param("W", blocks(gates, length, n, [&] { return draw_weights(options.init, length, n, input.random); }),
                 input.dtype, true)
           .expr();
  u_ = add_param("U", blocks(gates, n, n, [&] { return recurrent_matrix(options, input.random); }), input.dtype, true)
           .expr();
  if (options.bias) b_ = add_param("b", Tensor::zeros(input.dtype, {gates * n}), input.dtype, false).expr();
  if (!options.carry) return;
  for (const std::string& state : states_)
    carried_.push_back(add_state(state, Tensor::zeros(input.dtype, {input.batch, n})));
}

// ---- the loop -------------------------------------------------------------------------------------------------------

Expr Recurrent::gate(const Expr& z, int64_t number) const {
  return slice_axis(z, 1, number * units(), units());
}

Expr Recurrent::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  const Expr& x = inputs[0];
  const Dim steps = x.dims()[0], batch = x.dims()[1];
  const bool carries = !carried_.empty() && pass.phase != Phase::kEvaluation, has_mask = pass.mask.has_value();
  ScanOptions loop{.truncate_gradient = truncate_, .go_backwards = go_backwards_, .name = name()};
  loop.sequences.emplace_back(steps_of_rows(affine(rows_of_steps(x), w_, b_), steps, batch));
  if (has_mask) loop.sequences.emplace_back(gt(expand_dims(pass.mask, {2}), 0));
  for (size_t i = 0; i < states_.size(); ++i)
    loop.outputs_info.emplace_back(carries ? carried_[i].expr() : zeros({batch, units()}, x.dtype()));
  auto [outputs, updates] = scan(
      [&](const std::vector<Expr>& values) {
        const std::vector<Expr> before(values.begin() + (has_mask ? 2 : 1), values.end());
        std::vector<Expr> after = step(values[0], before);
        for (size_t i = 0; has_mask && i < after.size(); ++i) after[i] = where(values[1], after[i], before[i]);
        return after;
      },
      loop);
  for (size_t i = 0; carries && i < states_.size(); ++i) pass.updates.push_back({carried_[i], outputs[i][-1]});
  if (output_ == RecurrentOutput::kLast) return outputs[0][-1];
  return go_backwards_ ? subtensor(outputs[0], {Slice{.step = -1}}) : outputs[0];
}

void describe_recurrent_weights(Fields<RecurrentOptions> f) {
  const auto keys = f.group("recurrent layers");
  f.field("units", &RecurrentOptions::units)
      .range(at_least(1))
      .unit("outputs")
      .required()
      .synonyms({"hidden_size", "n_hidden", "hidden", "size", "num_units", "num_outputs"})
      .help("Number of outputs, which are also the state that is passed from step to step.");
  f.field("bias", &RecurrentOptions::bias).help("Whether a bias b is added.");
  describe_init(f, &RecurrentOptions::init);
  f.choice("recurrent_init", &RecurrentOptions::recurrent_init,
           {{"orthogonal", RecurrentInit::kOrthogonal},
            {"uniform", RecurrentInit::kUniform},
            {"identity", RecurrentInit::kIdentity}})
      .synonyms({"recurrent_initializer", "inner_init"})
      .help(
          "How the matrix U that the state is multiplied by starts, for each gate. `uniform` draws between "
          "-1 / sqrt(units) and 1 / sqrt(units), as PyTorch.");
  f.field("recurrent_scale", &RecurrentOptions::recurrent_scale).range(above(0)).help("Factor of `recurrent_init`.");
  f.choice("output", &RecurrentOptions::output, {{"all", RecurrentOutput::kAll}, {"last", RecurrentOutput::kLast}})
      .help("The outputs of all steps, which are a sequence again, or that of the last step.");
  f.field("truncate", &RecurrentOptions::truncate)
      .range(at_least(1))
      .unit("steps")
      .synonyms({"truncate_gradient", "bptt_truncate"})
      .help("Steps that gradients go back through, the last ones of a sequence. Not given: all.");
  describe_trained(f);
}

void describe_recurrent(Fields<RecurrentOptions> f) {
  const auto keys = f.group("recurrent layers");
  describe_layer(f);
  describe_recurrent_weights(f);
  f.field("go_backwards", &RecurrentOptions::go_backwards)
      .synonyms({"backwards", "reverse"})
      .help("Whether it goes from the last step to the first. Its outputs stay in the order of the steps.");
  f.field("carry", &RecurrentOptions::carry)
      .synonyms({"stateful"})
      .help(
          "Whether a minibatch of training begins with the state at the end of the one before it: long sequences in "
          "windows.");
}

}  // namespace thtrain
