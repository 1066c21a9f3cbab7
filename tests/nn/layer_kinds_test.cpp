// What kinds of layers and functions say of themselves, which other code asks instead of naming them.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "nn/activations.h"
#include "nn/layer.h"

namespace thtrain::layer_kinds_test {

// The names of the kinds of which `is` holds, in the order of nn/layer_list.inc.
template <class Is>
std::string kinds_that(Is is) {
  std::vector<std::string> out;
  for (const LayerKind& kind : LayerOptions::kinds())
    if (is(OneOf<LayerOptions>(kind), kind.maker)) out.emplace_back(kind.name);
  return join(out, " ");
}
std::string kinds_that(bool LayerOptions::Maker::*is) {
  return kinds_that([is](const auto&, const LayerOptions::Maker& kind) { return kind.*is; });
}

TEST(LayerKinds, SayWhatTheyTakeAndGive) {
  using Kind = LayerOptions::Maker;
  EXPECT_EQ(kinds_that(&Kind::keeps_numbers), "flatten");
  EXPECT_EQ(kinds_that(&Kind::is_recurrent), "rnn lstm gru bidirectional rnn_rbm");
  EXPECT_EQ(kinds_that(&Kind::is_classifier), "softmax");
  EXPECT_EQ(kinds_that(&Kind::is_affine), "dense softmax rbm");
  EXPECT_EQ(kinds_that(&Kind::exceeds_shares), "maxout factorization prelu lstm gru embedding");
  EXPECT_EQ(kinds_that(&Kind::generates_sequences), "rnn_rbm");
  EXPECT_EQ(kinds_that([](const auto& layer, const Kind& kind) { return kind.symbols(*layer).has_value(); }),
            "embedding one_hot");
  EXPECT_EQ(kinds_that([](const auto& layer, const Kind& kind) { return !kind.activation(*layer).empty(); }),
            "dense activation add rnn bidirectional transposed conv conv_transposed pool batch_norm");
}

TEST(Activations, ThoseThatGiveSharesStayFromZeroToOne) {
  const Expr x = tensor("x", {1, 81}, DType::kFloat64);
  std::vector<double> points;
  for (int i = -40; i <= 40; ++i) points.push_back(i / 4.0);
  const Tensor row = Tensor::of(points, {1, 81});
  for (const std::string& name : activation_function_names()) {
    const Tensor y = function({x}, {apply_activation(name, x)}, {}, {.mode = Mode::kReference})({row})[0];
    bool are_shares = true;
    for (int64_t i = 0; i < y.size(); ++i) are_shares = are_shares && y.as_double(i) >= 0 && y.as_double(i) <= 1;
    EXPECT_EQ(gives_shares(name), are_shares) << name;
  }
  EXPECT_FALSE(gives_shares("step"));
}

}  // namespace thtrain::layer_kinds_test
