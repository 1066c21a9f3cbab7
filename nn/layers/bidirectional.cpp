#include "nn/layers/bidirectional.h"

#include "compiler/ops/shape/shape.h"
#include "nn/activations.h"
#include "nn/layers/gru.h"
#include "nn/layers/lstm.h"
#include "nn/layers/rnn.h"

namespace thtrain {

// A key of another kind is a mistake, unless it says the default.
static void check_keys_of_kinds(const Bidirectional::Options& c, Findings& findings) {
  using OfKind = Bidirectional::OfKind;
  const Bidirectional::Options standard;
  auto unused = [&](const char* key, OfKind owner, const char* name, bool is_standard) {
    if (c.kind != owner && !is_standard)
      findings.add({.what = str(c.section.name_of(key), " has no effect"),
                    .expected = str("kind = \"", name, '"'),
                    .config = c.section.at(key)});
  };
  unused("activation", OfKind::kRnn, "rnn", c.activation == standard.activation);
  unused("reset_after", OfKind::kGru, "gru", c.reset_after == standard.reset_after);
  unused("forget_bias", OfKind::kLstm, "lstm", c.forget_bias == standard.forget_bias);
}

void Bidirectional::Options::describe(Fields<Options>& f) {
  f.about("Two recurrent layers: one reads sequences forwards, the other one backwards.");
  describe_layer(f);
  f.choice("kind", &Options::kind, {{"rnn", OfKind::kRnn}, {"lstm", OfKind::kLstm}, {"gru", OfKind::kGru}})
      .synonyms({"cell", "rnn_type"})
      .help("What both layers are.");
  describe_recurrent_weights(f);
  f.field("activation", &Options::activation).one_of(activation_function_names()).help("Of the kind `rnn`.");
  describe_forget_bias(f);
  describe_reset_after(f);
  f.check(check_keys_of_kinds);
}

void Bidirectional::Options::go_step_by_step(const std::string& what) {
  throw UserError(Message{.what = str("layer ", name, " walks sequences backwards: it cannot write ", what),
                          .expected = "layers of one direction, such as type = \"lstm\"",
                          .config = section.at("type")});
}

template <class Options>
static Options part(const Bidirectional::Options& options, bool backwards) {
  Options out;
  static_cast<RecurrentOptions&>(out) = options;
  out.name = str(options.name, backwards ? "/backward" : "/forward");
  out.go_backwards = backwards;
  return out;
}

static std::shared_ptr<const Layer> make_part(const Bidirectional::Options& options, const LayerInput& input,
                                              bool backwards) {
  switch (options.kind) {
    case Bidirectional::OfKind::kRnn: {
      auto rnn = part<Rnn::Options>(options, backwards);
      rnn.activation = options.activation;
      return std::make_shared<const Rnn>(rnn, input);
    }
    case Bidirectional::OfKind::kLstm: {
      auto lstm = part<Lstm::Options>(options, backwards);
      lstm.forget_bias = options.forget_bias;
      return std::make_shared<const Lstm>(lstm, input);
    }
    case Bidirectional::OfKind::kGru: {
      auto gru = part<Gru::Options>(options, backwards);
      gru.reset_after = options.reset_after;
      return std::make_shared<const Gru>(gru, input);
    }
  }
  TH_CHECK(false, "no such kind");
  __builtin_unreachable();
}

static Shape both(const Bidirectional::Options& options, const LayerInput& input) {
  require_sequence(Bidirectional::Options::kName, options, input);
  row_length(Bidirectional::Options::kName, options, input);
  return {2 * options.units};
}

Bidirectional::Bidirectional(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, both(options, input)),
      forward_(make_part(options, input, false)),
      backward_(make_part(options, input, true)) {
  add_arrays_of(*forward_);
  add_arrays_of(*backward_);
}

Expr Bidirectional::forward(std::span<const Expr> inputs, LayerPass& pass) const {
  return concatenate({(*forward_)(inputs, pass), (*backward_)(inputs, pass)}, gives_sequence() ? 2 : 1);
}

LayerKind bidirectional_layer() {
  return layer_kind<Bidirectional>();
}

}  // namespace thtrain
