#include "nn/model.h"

#include <algorithm>
#include <set>

#include "compiler/base/escape.h"
#include "compiler/base/nearest_name.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ir/op.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"
#include "config/near_value.h"
#include "nn/model_pass.h"
#include "nn/sequences.h"
#include "nn/sparse_examples.h"

namespace thtrain {

Model::Model(Several, std::vector<ModelInput> inputs, DType dtype, int64_t seed, int64_t classes)
    : inputs_(std::move(inputs)), dtype_(dtype), random_(seed), known_classes_(classes) {
  auto fail = [](std::string what, std::string expected, std::string got) {
    throw UserError(Message{.what = std::move(what), .expected = std::move(expected), .got = std::move(got)});
  };
  if (inputs_.empty()) fail("the model has no inputs", "one or more", "");
  if (!is_float(dtype)) fail("the model has a dtype of no weights", "float32 or float64", std::string(name_of(dtype)));
  if (classes < 0) fail("the model's number of classes is negative", "at least 0 (0: not known)", str(classes));
  for (const ModelInput& input : inputs_)
    if (std::any_of(input.shape.begin(), input.shape.end(), [](int64_t length) { return length < 0; }))
      fail(str("input ", input.name, " of the model has a negative length"), "lengths of one example",
           shape_text(input.shape));
}

// "layer hidden (dense)"
std::string Model::called(const LayerOptions& options, std::string_view type) {
  return options.name.empty() ? str("layer ", type) : str("layer ", escaped(options.name), " (", type, ")");
}

// ---- the graph of layers -------------------------------------------------------------------------------------------

void Model::add(OneOf<LayerOptions> options) {
  const std::string name = called(*options, options.name());  // first: there are no options of no kind
  OneOf<LayerOptions> fresh(options);
  check_declared(name, options.kind_of().schema(), options.object(), fresh.object());
  add_layer(*options, options.name(), options.kind_of().maker);
}

std::string Model::name_at(size_t index) const {
  return index < inputs_.size() ? inputs_[index].name : layers_[index - inputs_.size()]->name();
}
const Shape& Model::shape_at(size_t index) const {
  return index < inputs_.size() ? inputs_[index].shape : layers_[index - inputs_.size()]->output_shape();
}

bool Model::is_sequence_at(size_t index) const {
  return index < inputs_.size() ? inputs_[index].is_sequence : gives_sequence_[index - inputs_.size()];
}

// A layer that is called as an input hides it.
size_t Model::index_of(const std::string& name) const {
  size_t index = inputs_.size() + layers_.size();
  while (index-- > 0)
    if (name_at(index) == name) return index;
  std::vector<std::string> names;
  for (index = 0; index < inputs_.size() + layers_.size(); ++index) names.push_back(name_at(index));
  const std::string near = nearest_name(name, names);
  throw UserError(Message{.what = str("the model has no layer ", escaped(name)),
                          .expected = join(names, ", "),
                          .hint = near.empty() ? "" : str("did you mean ", near, '?')});
}

std::vector<size_t> Model::sources_of(const LayerOptions& options, std::string_view type) const {
  if (options.inputs.empty()) return {layers_.empty() ? 0 : inputs_.size() + layers_.size() - 1};
  std::vector<std::string> before;
  for (size_t index = 0; index < inputs_.size() + layers_.size(); ++index) before.push_back(name_at(index));
  std::vector<size_t> out;
  for (const std::string& name : options.inputs) {
    if (std::optional<Message> message = wrong_input(type, options, name, before, {}))
      throw UserError(std::move(*message));
    out.push_back(index_of(name));
  }
  return out;
}

// Values of steps are not mixed with values of whole sequences.
static void check_same_kind(const LayerOptions& options, std::string_view type, const LayerInput& input) {
  const std::vector<bool>& is_sequence = input.is_sequence;
  if (std::count(is_sequence.begin(), is_sequence.end(), is_sequence[0]) == std::ssize(is_sequence)) return;
  std::vector<std::string> kinds;
  for (size_t i = 0; i < is_sequence.size(); ++i)
    kinds.push_back(str(input.names[i], is_sequence[i] ? ", a sequence" : ", none"));
  throw UserError(
      Message{.what = str("layer ", options.name, " (", type, ") takes a sequence with an input that is none"),
              .expected = "inputs that are all sequences, or none of them",
              .got = join(kinds, "; "),
              .config = options.section.at("inputs"),
              .hint = "a layer of type \"last_step\" or \"mean_steps\" makes one value of a sequence"});
}

void Model::add_layer(LayerOptions& options, std::string_view type, const LayerOptions::Maker& kind) {
  auto same_type = [&](const auto& layer) { return layer->type() == type; };
  auto same_name = [&](const auto& layer) { return layer->name() == options.name; };
  if (options.name.empty()) options.name = str(type, std::count_if(layers_.begin(), layers_.end(), same_type) + 1);
  if (std::any_of(layers_.begin(), layers_.end(), same_name))
    throw UserError(Message{.what = str("two layers are called ", options.name),
                            .expected = "a name for each layer",
                            .config = options.section.at("name")});
  std::vector<size_t> sources = sources_of(options, type);
  std::optional<RandomState> own;
  if (options.seed) own.emplace(*options.seed);
  LayerInput input{.names = {},
                   .shapes = {},
                   .dtype = dtype_,
                   .random = own ? *own : random_,
                   .classes = known_classes_,
                   .batch = batch_,
                   .before = layers_};
  for (size_t index : sources) {
    input.names.push_back(name_at(index));
    const Shape& shape = shape_at(index);
    input.shapes.push_back(kind.takes_rows && is_image_at(index) ? Shape{element_count(shape)} : shape);
    input.is_sequence.push_back(is_sequence_at(index));
  }
  if (sources.size() == 1 && sources[0] < inputs_.size()) input.image = inputs_[sources[0]].image;
  check_same_kind(options, type, input);
  layers_.push_back(kind.make(options, input));
  gives_sequence_.push_back(input.has_sequence() && layers_.back()->gives_sequence());
  kinds_.push_back(kind);
  sources_.push_back(std::move(sources));
}

std::vector<std::string> Model::outputs() const {
  std::vector<bool> is_taken(inputs_.size() + layers_.size(), false);
  for (const std::vector<size_t>& sources : sources_)
    for (size_t index : sources) is_taken[index] = true;
  std::vector<std::string> out;
  for (size_t i = 0; i < layers_.size(); ++i)
    if (!is_taken[inputs_.size() + i]) out.push_back(layers_[i]->name());
  return out;
}

// UserError where there is none: another layer, an input, or no layer.
const Layer& Model::classifier_at(size_t index) const {
  const Layer* layer = index >= inputs_.size() && !layers_.empty() ? layers_[index - inputs_.size()].get() : nullptr;
  if (layer && is_classifier_at(index)) return *layer;
  throw UserError(
      Message{.what = "logits and probabilities are those of a softmax layer",
              .expected = "a layer of type \"softmax\"",
              .got = layer ? str("layer ", layer->name(), " (", layer->type(), ")") : "no layer",
              .config = layer ? layer->position() : ConfigPosition{},
              .hint = "model.add(Softmax::Options{{}, 10}) ends a classifier of 10 classes; output() is of any layer"});
}

const Layer& Model::classifier() const {
  return classifier_at(inputs_.size() + layers_.size() - 1);
}
int64_t Model::classes() const {
  return classifier().output_shape()[0];
}

// ---- expressions ---------------------------------------------------------------------------------------------------

ModelPass Model::pass(std::vector<Expr> values, Phase phase, const Expr& lengths) const {
  return {*this, std::move(values), phase, lengths};
}
ModelPass Model::pass(const SparseExamples& examples, Phase phase) const {
  return {*this, {examples.x}, phase, {}, &examples};
}
Expr Model::output(const Expr& x, Phase phase) const {
  return pass({x}, phase).output();
}
Expr Model::logits(const Expr& x, Phase phase) const {
  return pass({x}, phase).logits();
}
Expr Model::probabilities(const Expr& x, Phase phase) const {
  classifier();
  return output(x, phase);
}

// ---- parameters and state ------------------------------------------------------------------------------------------

std::vector<Param> Model::params() const {
  std::vector<Param> out;
  for (const auto& layer : layers_) out.insert(out.end(), layer->params().begin(), layer->params().end());
  return out;
}

std::vector<Param> Model::trained_params() const {
  std::vector<Param> out = params();
  std::erase_if(out, [](const Param& param) { return !param.trained; });
  return out;
}

std::vector<Param> Model::state() const {
  std::vector<Param> out;
  for (const auto& layer : layers_) out.insert(out.end(), layer->state().begin(), layer->state().end());
  return out;
}

std::vector<Param> Model::carried_state() const {
  std::vector<Param> out;
  for (const auto& layer : layers_)
    for (const Param& state : layer->carried_state()) out.push_back(state);
  return out;
}

std::vector<Expr> Model::exprs() const {
  std::vector<Expr> out;
  for (const Param& param : params()) out.push_back(param.expr());
  return out;
}

int64_t Model::parameter_count() const {
  int64_t out = 0;
  for (const Param& param : params()) out += element_count(param.variable.type().known_shape());
  return out;
}

// What is wrong with the array for this variable; nothing if all is well. A rounded integer is another one.
static std::optional<Message> misfit(const Param& param, const Tensor& array, const std::string& source) {
  const DType dtype = param.variable.type().dtype;
  Shape wanted = param.variable.type().known_shape();
  Message message{.what = str(source, ": ", param.name, " does not fit the model"),
                  .expected = str(name_of(dtype), shape_text(wanted)),
                  .got = array.type_text(),
                  .config = param.config};
  if (array.shape() != wanted) return message;
  if (is_complex(array.dtype())) return message;
  if (!is_float(dtype) && array.dtype() != dtype) return message;
  if (first_non_finite(array)) {
    message.what = str(source, ": ", param.name, " holds values that are not finite");
    message.expected = message.got = "";
    return message;
  }
  return {};
}

// Is this the state [batch, ...] of minibatches of another size?
static bool is_of_other_batch(const Param& state, const Tensor& array) {
  Shape own = state.variable.type().known_shape(), other = array.shape();
  if (own.empty() || own == other || own.size() != other.size()) return false;
  own[0] = other[0];
  return own == other;
}

// A state of MRG31k3p: what a layer that draws leaves in files of weights.
static bool is_generator(const Tensor& array) {
  return array.dtype() == DType::kInt32 && array.rank() == 2 && array.dim(0) == 6;
}

void Model::load(const std::map<std::string, Tensor>& arrays, const std::string& source, const ConfigPosition& where,
                 std::vector<std::string>* unused) {
  std::vector<Message> messages;
  std::vector<Param> all = params();
  std::set<std::string> carried, generators;
  for (const Param& state : carried_state()) carried.insert(state.name);
  for (const auto& layer : layers_)
    for (const Param& generator : layer->generators()) generators.insert(generator.name);
  auto stays = [&](const Param& param) { return generators.contains(param.name) && !arrays.contains(param.name); };
  auto begins_anew = [&](const Param& param) {
    auto found = arrays.find(param.name);
    return carried.contains(param.name) && (found == arrays.end() || is_of_other_batch(param, found->second));
  };
  for (const Param& state : state()) all.push_back(state);
  std::map<std::string, const Param*> wanted;
  for (const Param& param : all) wanted[param.name] = &param;
  auto names = [](const auto& map) { return join(map, ", ", [](const auto& entry) { return entry.first; }); };
  for (const Param& param : all) {
    auto found = arrays.find(param.name);
    if (begins_anew(param) || stays(param)) continue;
    if (found == arrays.end())
      messages.push_back({.what = str(source, ": there is no ", param.name),
                          .expected = names(wanted),
                          .got = arrays.empty() ? "no arrays" : names(arrays),
                          .config = where ? where : param.config});
    else if (auto message = misfit(param, found->second, source))
      messages.push_back(std::move(*message));
  }
  for (const auto& [name, array] : arrays)
    if (wanted.contains(name) || is_generator(array))
      continue;
    else if (unused)
      unused->push_back(name);
    else
      messages.push_back({.what = str(source, ": the model has no ", name, " ", array.type_text()),
                          .expected = names(wanted),
                          .config = where});
  if (!messages.empty()) throw UserError(std::move(messages));
  for (const Param& param : all) {
    if (stays(param)) continue;
    const Type& type = param.variable.type();
    param.variable.set_value(begins_anew(param) ? Tensor::zeros(type.dtype, type.known_shape())
                                                : arrays.at(param.name).cast(type.dtype));
  }
}

}  // namespace thtrain
