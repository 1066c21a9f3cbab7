#include "nn/model.h"

#include <algorithm>

#include "compiler/ir/op.h"

#include "nn/finite.h"

namespace thtrain {

Model::Model(Several, std::vector<ModelInput> inputs, DType dtype, int64_t seed, int64_t classes)
    : inputs_(std::move(inputs)), dtype_(dtype), random_(seed), known_classes_(classes) {
  TH_CHECK(!inputs_.empty(), "a model without inputs");
}

// ---- the graph of layers
// ---------------------------------------------------------------------------------------------

void Model::add(OneOf<LayerOptions> options) {
  const LayerOptions::Maker& maker = options.kind_of().maker;
  add_layer(*options, options.name(), [&](const LayerInput& input) { return maker.make(*options, input); });
}

std::string Model::name_at(size_t place) const {
  return place < inputs_.size() ? inputs_[place].name : layers_[place - inputs_.size()]->name();
}
const Shape& Model::shape_at(size_t place) const {
  return place < inputs_.size() ? inputs_[place].shape : layers_[place - inputs_.size()]->output_shape();
}

// A layer that is called as an input hides it.
size_t Model::place_of(const std::string& name) const {
  size_t place = inputs_.size() + layers_.size();
  while (place-- > 0)
    if (name_at(place) == name) return place;
  TH_CHECK(false, "the model has no layer ", name);
  __builtin_unreachable();
}

std::vector<size_t> Model::sources_of(const LayerOptions& options, std::string_view type) const {
  if (options.inputs.empty()) return {layers_.empty() ? 0 : inputs_.size() + layers_.size() - 1};
  std::vector<std::string> before;
  for (size_t place = 0; place < inputs_.size() + layers_.size(); ++place) before.push_back(name_at(place));
  std::vector<size_t> out;
  for (const std::string& name : options.inputs) {
    if (std::optional<Message> message = wrong_input(type, options, name, before, {}))
      throw UserError(std::move(*message));
    out.push_back(place_of(name));
  }
  return out;
}

void Model::add_layer(LayerOptions& options, std::string_view type, const Make& make) {
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
                   .before = layers_};
  for (size_t place : sources) {
    input.names.push_back(name_at(place));
    input.shapes.push_back(shape_at(place));
  }
  layers_.push_back(make(input));
  sources_.push_back(std::move(sources));
}

std::vector<std::string> Model::outputs() const {
  std::vector<bool> is_taken(inputs_.size() + layers_.size(), false);
  for (const std::vector<size_t>& sources : sources_)
    for (size_t place : sources) is_taken[place] = true;
  std::vector<std::string> out;
  for (size_t i = 0; i < layers_.size(); ++i)
    if (!is_taken[inputs_.size() + i]) out.push_back(layers_[i]->name());
  return out;
}

const Softmax* Model::classifier() const {
  return layers_.empty() ? nullptr : dynamic_cast<const Softmax*>(layers_.back().get());
}
int64_t Model::classes() const {
  TH_CHECK(classifier() != nullptr, "a model without a softmax at its end");
  return classifier()->classes();
}

// ---- expressions
// -----------------------------------------------------------------------------------------------------

ModelPass Model::pass(std::vector<Expr> values, Phase phase, const Expr& lengths) const {
  TH_CHECK(!lengths.has_value(), "lengths of sequences");
  return {*this, std::move(values), phase};
}
Expr Model::output(const Expr& x, Phase phase) const {
  return pass({x}, phase).output();
}
Expr Model::logits(const Expr& x, Phase phase) const {
  return pass({x}, phase).logits();
}
Expr Model::probabilities(const Expr& x, Phase phase) const {
  TH_CHECK(classifier() != nullptr, "a model without a softmax at its end");
  return output(x, phase);
}

ModelPass::ModelPass(const Model& model, std::vector<Expr> values, Phase phase)
    : model_(model), phase_(phase), values_(std::move(values)) {
  TH_CHECK(values_.size() == model.inputs_.size(), values_.size(), " values for ", model.inputs_.size(), " inputs");
  values_.resize(model.inputs_.size() + model.layers_.size());
}

// What a layer takes stands before it.
const Expr& ModelPass::value_at(size_t place) {
  const size_t inputs = model_.inputs_.size();
  std::vector<bool> is_needed(values_.size(), false);
  is_needed[place] = true;
  for (size_t p = place + 1; p-- > inputs;)
    if (is_needed[p] && !values_[p].has_value())
      for (size_t source : model_.sources_[p - inputs]) is_needed[source] = true;
  for (size_t p = inputs; p <= place; ++p)
    if (is_needed[p] && !values_[p].has_value()) values_[p] = compute(p - inputs);
  return values_[place];
}

Expr ModelPass::compute(size_t layer) {
  std::vector<Expr> inputs;
  for (size_t source : model_.sources_[layer]) inputs.push_back(values_[source]);
  const size_t updates_before = updates_.size();
  LayerPass pass{.phase = phase_, .updates = updates_};
  Expr out = (*model_.layers_[layer])(inputs, pass);
  TH_CHECK(phase_ != Phase::kEvaluation || updates_.size() == updates_before, "layer ", model_.layers_[layer]->name(),
           " updates its state in evaluation");
  return out;
}

Expr ModelPass::output() {
  TH_CHECK(!model_.layers_.empty(), "a model without layers");
  return value_at(values_.size() - 1);
}
Expr ModelPass::output(const std::string& name) {
  return value_at(model_.place_of(name));
}

ModelOutput ModelPass::model_output() {
  TH_CHECK(!model_.layers_.empty(), "a model without layers");
  return model_output_at(values_.size() - 1);
}
ModelOutput ModelPass::model_output(const std::string& name) {
  return model_output_at(model_.place_of(name));
}

ModelOutput ModelPass::model_output_at(size_t place) {
  ModelOutput out{.value = value_at(place)};
  if (place >= model_.inputs_.size()) {
    out.layer = model_.layers_[place - model_.inputs_.size()].get();
    for (size_t source : model_.sources_[place - model_.inputs_.size()]) out.inputs.push_back(value_at(source));
  }
  const Node& node = out.value.node();
  if (softmax_at(place)) {
    out.logits = logits_at(place);
    out.link = ModelOutput::Link::kSoftmax;
  } else if (node.op && node.op->name == "sigmoid") {
    out.logits = node.inputs[0];
    out.link = ModelOutput::Link::kSigmoid;
  }
  return out;
}

// Null where it is another layer, or an input.
const Softmax* ModelPass::softmax_at(size_t place) const {
  const size_t inputs = model_.inputs_.size();
  return place < inputs ? nullptr : dynamic_cast<const Softmax*>(model_.layers_[place - inputs].get());
}

Expr ModelPass::logits_at(size_t place) {
  const Softmax* softmax = softmax_at(place);
  TH_CHECK(softmax != nullptr, "logits of ", model_.name_at(place), ", which is no softmax");
  return softmax->logits(value_at(model_.sources_[place - model_.inputs_.size()].front()));
}
Expr ModelPass::logits() {
  TH_CHECK(!model_.layers_.empty(), "a model without layers");
  return logits_at(values_.size() - 1);
}
Expr ModelPass::logits(const std::string& name) {
  return logits_at(model_.place_of(name));
}

// ---- parameters and state
// --------------------------------------------------------------------------------------------

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

void Model::load(const std::map<std::string, Tensor>& arrays, const std::string& source, const ConfigPosition& where) {
  std::vector<Message> messages;
  std::vector<Param> all = params();
  for (const Param& state : state()) all.push_back(state);
  std::map<std::string, const Param*> wanted;
  for (const Param& param : all) wanted[param.name] = &param;
  auto names = [](const auto& map) { return join(map, ", ", [](const auto& entry) { return entry.first; }); };
  for (const Param& param : all) {
    auto found = arrays.find(param.name);
    if (found == arrays.end())
      messages.push_back({.what = str(source, ": there is no ", param.name),
                          .expected = names(wanted),
                          .got = arrays.empty() ? "no arrays" : names(arrays),
                          .config = where ? where : param.config});
    else if (auto message = misfit(param, found->second, source))
      messages.push_back(std::move(*message));
  }
  for (const auto& [name, array] : arrays)
    if (!wanted.contains(name))
      messages.push_back({.what = str(source, ": the model has no ", name, " ", array.type_text()),
                          .expected = names(wanted),
                          .config = where});
  if (!messages.empty()) throw UserError(std::move(messages));
  for (const Param& param : all) param.variable.set_value(arrays.at(param.name).cast(param.variable.type().dtype));
}

}  // namespace thtrain
