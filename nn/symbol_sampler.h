// Drawing sequences of symbols from a model that tells the next one: text, character by character.
//
//   model.set_batch(1);  // before layers are added; the recurrent ones have carry = true
//   SymbolSampler sampler(model, "softmax", 65, SymbolSampler::Input::kNumber);
//   RandomState random(1);
//   sampler.take(12);
//   for (int i = 0; i < 500; ++i) text += symbols[sampler.next(random, 0.8)];
#pragma once

#include <string>
#include <vector>

#include "compiler/base/random_state.h"
#include "compiler/runtime/function.h"
#include "nn/model.h"

namespace thtrain {

class SymbolSampler {
 public:
  /// What the model takes of a symbol.
  enum class Input {
    kNumber,  // [1, 1, 1], its number
    kOneHot,  // [1, 1, symbols], zeros and a one
  };
  /// `output`: a layer that gives the logits of the next symbol at each step, a softmax or a linear one; they may be
  /// more than `symbols`, of which the first ones count. Layers go on from call to call from the state that they keep
  /// (Phase::kGeneration). `source` names the weights in messages. The model stays alive. UserError where the output is
  /// another one.
  SymbolSampler(const Model& model, const std::string& output, int64_t symbols, Input input,
                const FunctionOptions& options = {}, std::string source = "the model");

  /// The next symbol is the first one of a sequence: states are 0.
  void begin();
  /// The sequence goes on with this symbol. UserError where the model gives numbers that are not finite.
  void take(int64_t symbol);
  /// Draws the next symbol with probabilities softmax(logits / temperature), and takes it; for the temperature 0, the
  /// one with the largest logit. The first one of a sequence is drawn from all alike. UserError where the temperature
  /// is below 0, and as take().
  int64_t next(RandomState& random, double temperature = 1);

 private:
  std::vector<Param> carried_;
  DType dtype_;
  int64_t width_, symbols_;
  Input input_;
  std::string source_;
  Function step_;  // from a symbol to the logits of the next one
  Tensor logits_;  // of rank 0 where no symbol was taken
};

}  // namespace thtrain
