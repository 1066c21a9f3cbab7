// Symbols as rows of zeros with a one.
#pragma once

#include "nn/layer.h"

namespace thtrain {

/// y[..., k] = 1 where x[...] == k, else 0. x: [batch, ...], integers from 0 to count - 1 in numbers of any dtype; a
/// last axis of length 1 is left out. y: [batch, ..., count]. A number that is no integer, or out of range, is an error
/// when it is read. There is no gradient. UserError where `count` is not given and the data has no classes.
class OneHot : public Layer {
 public:
  struct Options : LayerOptions {
    using Makes = OneHot;
    static constexpr std::string_view kName = "one_hot";
    std::optional<int64_t> count = {};
    static void describe(Fields<Options>& f);
    std::optional<Symbols> symbols() const { return Symbols{count}; }
  };
  OneHot(const Options& options, const LayerInput& input);

 protected:
  Expr forward(std::span<const Expr> inputs, LayerPass& pass) const override;

 private:
  DType dtype_;
};

// ---- layers of symbols ----------------------------------------------------------------------------------------------

/// The key `count`.
template <class T>
void describe_count(Fields<T>& f) {
  f.field("count", &T::count)
      .range(at_least(1))
      .unit("symbols")
      .synonyms({"num_embeddings", "input_dim", "vocabulary", "vocab_size", "classes"})
      .help("Number of symbols, which are integers from 0. Not given: the number of classes of the data.");
}

/// The number of symbols. UserError where neither the options nor the data say it.
template <class T>
int64_t symbol_count(const T& options, const LayerInput& input) {
  if (!options.count && input.classes == 0)
    throw UserError(Message{.what = str("layer ", options.name, ": the number of symbols is not known"),
                            .expected = str(options.section.name_of("count"), ", or data with classes"),
                            .config = options.section.position});
  return options.count.value_or(input.classes);
}

/// The lengths of an example of symbols, without a last axis of length 1.
Shape symbol_shape(Shape example);
/// x [batch, ...] as int64 of that shape; what is no integer from 0 to count - 1 is an error when it is read.
Expr symbols_of(const Expr& x, int64_t count);

}  // namespace thtrain
