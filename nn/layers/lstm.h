// Long short-term memory.
#pragma once

#include "nn/recurrent.h"

namespace thtrain {

/// A recurrent layer whose cells c keep what they hold for as long as gates let them:
///
///   [i, f, g, o] = x_t W + b + h_(t-1) U, in this order of columns
///   c_t = sigmoid(f) c_(t-1) + sigmoid(i) tanh(g)
///   h_t = sigmoid(o) tanh(c_t)
///
/// S. Hochreiter, J. Schmidhuber, "Long short-term memory", Neural Computation 9(8), 1997, with the forget gate of F.
/// A. Gers, J. Schmidhuber, F. Cummins, "Learning to forget: continual prediction with LSTM", Neural Computation
/// 12(10), 2000; PyTorch's nn.LSTM, whose two biases are one here. b starts at 0, and at `forget_bias` in the columns
/// of f: R. Jozefowicz, W. Zaremba, I. Sutskever, "An empirical exploration of recurrent network architectures", ICML
/// 2015, section 2.2. Weights, states and the loop: see Recurrent; the states are h and c.
class Lstm : public Recurrent {
 public:
  struct Options : RecurrentOptions {
    using Makes = Lstm;
    static constexpr std::string_view kName = "lstm";
    double forget_bias = 1;
    static void describe(Fields<Options>& f);
  };
  static constexpr bool kExceedsShares = true;
  Lstm(const Options& options, const LayerInput& input);

 protected:
  std::vector<Expr> step(const Expr& z, const std::vector<Expr>& before) const override;
};

/// The key `forget_bias`.
template <class T>
FieldBuilder describe_forget_bias(Fields<T>& f) {
  f.check([](const T& c, Findings& findings) {
    if (!c.bias && c.forget_bias != T().forget_bias)
      findings.add({.what = str(c.section.name_of("forget_bias"), " has no effect"),
                    .expected = "bias = true",
                    .config = c.section.at("forget_bias")});
  });
  return f.field("forget_bias", &T::forget_bias)
      .synonyms({"unit_forget_bias"})
      .help("What the biases of the forget gates start at: above 0, cells keep what they hold at first.");
}

}  // namespace thtrain
