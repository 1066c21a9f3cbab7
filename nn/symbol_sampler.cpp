#include "nn/symbol_sampler.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/bad_values.h"
#include "compiler/ir/variables.h"
#include "nn/model_pass.h"

namespace thtrain {

static Function step_of(const Model& model, const std::string& layer, int64_t symbols, const FunctionOptions& options) {
  const Expr symbol = tensor("symbol", {1, 1, model.input_shape()[0]}, model.dtype());
  ModelPass pass = model.pass({symbol}, Phase::kGeneration);
  const ModelOutput output = pass.model_output(layer);
  const Dims& dims = output.value.dims();
  const bool fits = output.is_sequence && output.link != ModelOutput::Link::kSigmoid && dims.size() == 2 &&
                    dims[1].is_known() && dims[1].value() >= symbols;
  if (!fits)
    throw UserError(
        Message{.what = str("the output ", layer, " does not tell the next symbol of a text"),
                .expected = str("logits of ", symbols, " symbols at each step of a sequence: the layer softmax"),
                .got = str(output.is_sequence ? "at each step " : "of each sequence ", type_text(output.value)),
                .config = output.value.node().origin.config()});
  return function({symbol}, {Out(logits_of(output))}, pass.updates(), options);
}

SymbolSampler::SymbolSampler(const Model& model, const std::string& output, int64_t symbols, Input input,
                             const FunctionOptions& options, std::string source)
    : carried_(model.carried_state()),
      dtype_(model.dtype()),
      width_(model.input_shape()[0]),
      symbols_(symbols),
      input_(input),
      source_(std::move(source)),
      step_(step_of(model, output, symbols, options)) {}

void SymbolSampler::begin() {
  for (const Param& state : carried_) state.variable.set_zero();
  logits_ = {};
}

void SymbolSampler::take(int64_t symbol) {
  if (symbol < 0 || symbol >= symbols_)
    throw UserError(
        Message{.what = "there is no such symbol", .expected = str("0 to ", symbols_ - 1), .got = str(symbol)});
  Tensor x = Tensor::zeros(DType::kFloat64, {1, 1, width_});
  const bool is_number = input_ == Input::kNumber;
  x.data<double>()[is_number ? 0 : symbol] = is_number ? static_cast<double>(symbol) : 1;
  logits_ = step_({x.cast(dtype_)})[0];
  if (first_non_finite(logits_))
    throw UserError(Message{.what = str(source_, ": the model gives numbers that are not finite"),
                            .expected = "weights of a run that did not diverge"});
}

static int64_t draw(const Tensor& logits, size_t symbols, double temperature, RandomState& random) {
  std::vector<double> weights(symbols);
  for (size_t k = 0; k < symbols; ++k) weights[k] = logits.as_double(static_cast<int64_t>(k));
  const auto largest = std::max_element(weights.begin(), weights.end());
  if (temperature == 0) return largest - weights.begin();
  const double most = *largest;
  double total = 0;
  for (double& weight : weights) total += weight = std::exp((weight - most) / temperature);
  double rest = random.uniform(0, total);
  for (size_t k = 0; k + 1 < symbols; ++k)
    if ((rest -= weights[k]) < 0) return static_cast<int64_t>(k);
  return static_cast<int64_t>(symbols) - 1;
}

int64_t SymbolSampler::next(RandomState& random, double temperature) {
  if (!(temperature >= 0))
    throw UserError(
        Message{.what = "the temperature is out of range", .expected = "at least 0", .got = str(temperature)});
  const int64_t symbol = logits_.rank() == 0 ? static_cast<int64_t>(random.uniform(0, static_cast<double>(symbols_)))
                                             : draw(logits_, static_cast<size_t>(symbols_), temperature, random);
  take(symbol);
  return symbol;
}

}  // namespace thtrain
