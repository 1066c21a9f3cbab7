#include "trainers/sample_text.h"

#include <algorithm>

#include "compiler/base/escape.h"
#include "datasets/sources/text.h"
#include "nn/symbol_sampler.h"
#include "trainers/outputs.h"
#include "trainers/program.h"
#include "trainers/stepping_model.h"

namespace thtrain {

// Does the model take the number of a symbol, and not a row of zeros with a one?
static bool takes_symbol_numbers(const Experiment& experiment) {
  if (const auto* text = experiment.data.get_if<TextConfig>()) return !text->one_hot;
  const std::vector<OneOf<LayerOptions>>& layers = experiment.model.layers;
  return std::any_of(layers.begin(), layers.end(), [&](const OneOf<LayerOptions>& layer) {
    const std::vector<std::string>& inputs = layer->inputs;
    const bool is_first =
        inputs.empty() ? &layer == &layers.front() : std::count(inputs.begin(), inputs.end(), "x") > 0;
    return is_first && layer.kind_of().maker.symbols(*layer);
  });
}

// The longest symbol at each location.
static std::vector<int64_t> symbols_in(const std::string& text, const std::vector<std::string>& symbols,
                                       const std::string& name) {
  std::vector<int64_t> out;
  for (size_t at = 0; at < text.size();) {
    size_t best = symbols.size();
    for (size_t k = 0; k < symbols.size(); ++k)
      if (!symbols[k].empty() && text.compare(at, symbols[k].size(), symbols[k]) == 0 &&
          (best == symbols.size() || symbols[k].size() > symbols[best].size()))
        best = k;
    if (best == symbols.size())
      throw UserError(Message{
          .what = str(name, " has a symbol that the model does not know"),
          .expected = join(symbols, ", ", [](const std::string& symbol) { return str('"', printable(symbol), '"'); }),
          .got = str('"', excerpt(text.substr(at)), '"')});
    out.push_back(static_cast<int64_t>(best));
    at += symbols[best].size();
  }
  return out;
}

std::string sample_text(const Experiment& given, const std::vector<std::string>& symbols, const std::string& weights,
                        const TextSampling& how) {
  if (symbols.empty() || how.length < 0)
    throw UserError(Message{.what = "there is no such text",
                            .expected = "symbols, and a length of at least 0",
                            .got = str(symbols.size(), " symbols, length ", how.length)});
  const std::vector<int64_t> start = symbols_in(how.start, symbols, how.start_name);
  const Experiment experiment = step_by_step(checked_experiment(given), "text");
  const FloatXScope floatx(experiment.compiler.floatX);
  const bool takes_numbers = takes_symbol_numbers(experiment);
  const auto count = static_cast<int64_t>(symbols.size());
  const Model model =
      stepping_model(experiment, {takes_numbers ? 1 : count}, count, weights, "symbols, which are integers");
  using Input = SymbolSampler::Input;
  SymbolSampler sampler(model, outputs_of(experiment).front().layer, count,
                        takes_numbers ? Input::kNumber : Input::kOneHot,
                        function_options(experiment.compiler, "sample"), weights);
  RandomState random(how.seed);
  std::string text = how.start;
  for (int64_t symbol : start) sampler.take(symbol);
  for (int64_t i = 0; i < how.length; ++i) text += symbols[static_cast<size_t>(sampler.next(random, how.temperature))];
  return text;
}

}  // namespace thtrain
