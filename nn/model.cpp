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
#include "nn/sequences.h"

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
  const LayerOptions::Maker& maker = options.kind_of().maker;
  add_layer(*options, options.name(), maker.takes_rows,
            [&](const LayerInput& input) { return maker.make(*options, input); });
}

std::string Model::name_at(size_t place) const {
  return place < inputs_.size() ? inputs_[place].name : layers_[place - inputs_.size()]->name();
}
const Shape& Model::shape_at(size_t place) const {
  return place < inputs_.size() ? inputs_[place].shape : layers_[place - inputs_.size()]->output_shape();
}

bool Model::is_sequence_at(size_t place) const {
  return place < inputs_.size() ? inputs_[place].is_sequence : gives_sequence_[place - inputs_.size()];
}

// A layer that is called as an input hides it.
size_t Model::place_of(const std::string& name) const {
  size_t place = inputs_.size() + layers_.size();
  while (place-- > 0)
    if (name_at(place) == name) return place;
  std::vector<std::string> names;
  for (place = 0; place < inputs_.size() + layers_.size(); ++place) names.push_back(name_at(place));
  const std::string near = nearest_name(name, names);
  throw UserError(Message{.what = str("the model has no layer ", escaped(name)),
                          .expected = join(names, ", "),
                          .hint = near.empty() ? "" : str("did you mean ", near, '?')});
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

// Values of steps do not stand beside values of whole sequences.
static void check_same_kind(const LayerOptions& options, std::string_view type, const LayerInput& input) {
  const std::vector<bool>& is_sequence = input.is_sequence;
  if (std::count(is_sequence.begin(), is_sequence.end(), is_sequence[0]) == std::ssize(is_sequence)) return;
  std::vector<std::string> kinds;
  for (size_t i = 0; i < is_sequence.size(); ++i)
    kinds.push_back(str(input.names[i], is_sequence[i] ? ", a sequence" : ", none"));
  throw UserError(Message{.what = str("layer ", options.name, " (", type, ") takes a sequence beside what is none"),
                          .expected = "inputs that are all sequences, or none of them",
                          .got = join(kinds, "; "),
                          .config = options.section.at("inputs"),
                          .hint = "a layer of type \"last_step\" or \"mean_steps\" makes one value of a sequence"});
}

void Model::add_layer(LayerOptions& options, std::string_view type, bool takes_rows, const Make& make) {
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
  for (size_t place : sources) {
    input.names.push_back(name_at(place));
    const Shape& shape = shape_at(place);
    input.shapes.push_back(takes_rows && is_image_at(place) ? Shape{element_count(shape)} : shape);
    input.is_sequence.push_back(is_sequence_at(place));
  }
  if (sources.size() == 1 && sources[0] < inputs_.size()) input.image = inputs_[sources[0]].image;
  check_same_kind(options, type, input);
  layers_.push_back(make(input));
  gives_sequence_.push_back(input.has_sequence() && layers_.back()->gives_sequence());
  takes_rows_.push_back(takes_rows);
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

// `layer`: where the softmax is wanted; null: an input, or no layer.
static void require_softmax(const Softmax* softmax, const Layer* layer) {
  if (softmax) return;
  throw UserError(
      Message{.what = "logits and probabilities are those of a softmax layer",
              .expected = "a layer of type \"softmax\"",
              .got = layer ? str("layer ", layer->name(), " (", layer->type(), ")") : "no layer",
              .config = layer ? layer->position() : ConfigPosition{},
              .hint = "model.add(Softmax::Options{{}, 10}) ends a classifier of 10 classes; output() is of any layer"});
}

const Softmax* Model::classifier() const {
  return layers_.empty() ? nullptr : dynamic_cast<const Softmax*>(layers_.back().get());
}
int64_t Model::classes() const {
  require_softmax(classifier(), layers_.empty() ? nullptr : layers_.back().get());
  return classifier()->classes();
}

// ---- expressions ---------------------------------------------------------------------------------------------------

ModelPass Model::pass(std::vector<Expr> values, Phase phase, const Expr& lengths) const {
  return {*this, std::move(values), phase, lengths};
}
Expr Model::output(const Expr& x, Phase phase) const {
  return pass({x}, phase).output();
}
Expr Model::logits(const Expr& x, Phase phase) const {
  return pass({x}, phase).logits();
}
Expr Model::probabilities(const Expr& x, Phase phase) const {
  require_softmax(classifier(), layers_.empty() ? nullptr : layers_.back().get());
  return output(x, phase);
}

static void check_value(const ModelInput& input, const Expr& value, DType dtype) {
  auto fail = [&](std::string what, std::string expected, std::string hint) {
    throw UserError(Message{.what = str("input ", input.name, " of the model: ", what),
                            .expected = std::move(expected),
                            .got = value_text(value),
                            .node = value.node().origin.text(),
                            .config = value.node().origin.config(),
                            .hint = std::move(hint)});
  };
  if (!value.has_value())
    throw UserError(Message{.what = str("input ", input.name, " of the model is an empty expression")});
  if (promote(value.dtype(), dtype) != dtype)
    fail(str("it is ", name_of(value.dtype()), ", and the weights are ", name_of(dtype)),
         str(name_of(dtype), ", or integers"),
         str("cast(x, DType::k", dtype == DType::kFloat32 ? "Float32" : "Float64", ")"));
  const size_t outer = input.is_sequence ? 2 : 1;
  bool fits = value.rank() == input.shape.size() + outer;
  for (size_t i = 0; fits && i < input.shape.size(); ++i) {
    const Dim& length = value.dims()[i + outer];
    fits = !length.is_known() || length.value() == input.shape[i];
  }
  if (!fits)
    fail("it is no minibatch of the model's examples",
         str(input.is_sequence ? "examples, steps, and for each step " : "examples, and for each ",
             shape_text(input.shape)),
         "");
}

ModelPass::ModelPass(const Model& model, std::vector<Expr> values, Phase phase, const Expr& lengths)
    : model_(model), phase_(phase), values_(model.inputs_.size() + model.layers_.size()) {
  if (values.size() != model.inputs_.size())
    throw UserError(Message{
        .what = "a model takes a value for each input",
        .expected = str(model.inputs_.size(), ": ", join(model.inputs_, ", ", [](const auto& in) { return in.name; })),
        .got = str(values.size())});
  Expr first;  // sequences
  for (size_t i = 0; i < values.size(); ++i) {
    check_value(model.inputs_[i], values[i], model.dtype_);
    if (!model.inputs_[i].is_sequence) {
      values_[i].rows = values[i];
      continue;
    }
    values_[i].sequences = time_major(values[i]);
    if (!first.has_value()) first = values_[i].sequences;
  }
  if (!first.has_value()) return;
  steps_ = first.dims()[0], batch_ = first.dims()[1];
  if (lengths.has_value()) mask_ = step_mask(lengths, first, model.dtype_);
}

const Expr& ModelPass::rows_at(size_t place) {
  compute(place);
  Value& value = values_[place];
  if (!value.rows.has_value()) value.rows = rows_of_steps(value.sequences);
  return value.rows;
}

const Expr& ModelPass::sequences_at(size_t place) {
  compute(place);
  Value& value = values_[place];
  if (!value.sequences.has_value()) value.sequences = steps_of_rows(value.rows, steps_, batch_);
  return value.sequences;
}

// What the layer takes of that place, which is no sequence to it.
Expr ModelPass::taken_from(size_t layer, size_t place) {
  const Expr& rows = rows_at(place);
  return model_.takes_rows_[layer] && model_.is_image_at(place) ? flatten(rows, 2) : rows;
}

// What a layer takes stands before it.
void ModelPass::compute(size_t place) {
  const size_t inputs = model_.inputs_.size();
  std::vector<bool> is_needed(values_.size(), false);
  is_needed[place] = true;
  for (size_t p = place + 1; p-- > inputs;)
    if (is_needed[p] && values_[p].is_empty())
      for (size_t source : model_.sources_[p - inputs]) is_needed[source] = true;
  for (size_t p = inputs; p <= place; ++p)
    if (is_needed[p] && values_[p].is_empty()) compute_layer(p - inputs);
}

void ModelPass::compute_layer(size_t number) {
  const Layer& layer = *model_.layers_[number];
  std::vector<Expr> inputs;
  for (size_t source : model_.sources_[number])
    inputs.push_back(layer.takes_sequences() ? sequences_at(source) : taken_from(number, source));
  const size_t updates_before = updates_.size();
  LayerPass pass{.phase = phase_, .updates = updates_, .mask = mask_};
  Expr out = layer(inputs, pass);
  TH_CHECK(phase_ != Phase::kEvaluation || updates_.size() == updates_before, "layer ", layer.name(),
           " updates its state in evaluation");
  Value& value = values_[model_.inputs_.size() + number];
  (layer.takes_sequences() && layer.gives_sequence() ? value.sequences : value.rows) = out;
}

static void require_layers(const Model& model) {
  if (model.layers().empty())
    throw UserError(Message{.what = "the model has no layers", .hint = "model.add(Dense::Options{{}, 10}) adds one"});
}

Expr ModelPass::output() {
  require_layers(model_);
  return rows_at(values_.size() - 1);
}
Expr ModelPass::output(const std::string& name) {
  return rows_at(model_.place_of(name));
}

ModelOutput ModelPass::model_output() {
  require_layers(model_);
  return model_output_at(values_.size() - 1);
}
ModelOutput ModelPass::model_output(const std::string& name) {
  return model_output_at(model_.place_of(name));
}

ModelOutput ModelPass::model_output_at(size_t place) {
  ModelOutput out{.value = rows_at(place), .is_sequence = model_.is_sequence_at(place)};
  if (out.is_sequence) {
    out.steps = steps_;
    out.batch = batch_;
    if (mask_.has_value()) out.mask = rows_of_steps(mask_);
  }
  if (place >= model_.inputs_.size()) {
    out.layer = model_.layers_[place - model_.inputs_.size()].get();
    const size_t layer = place - model_.inputs_.size();
    for (size_t source : model_.sources_[layer]) out.inputs.push_back(taken_from(layer, source));
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
  const size_t inputs = model_.inputs_.size();
  require_softmax(softmax, place < inputs ? nullptr : model_.layers_[place - inputs].get());
  const size_t layer = place - inputs;
  return softmax->logits(taken_from(layer, model_.sources_[layer].front()));
}
Expr ModelPass::logits() {
  require_layers(model_);
  return logits_at(values_.size() - 1);
}
Expr ModelPass::logits(const std::string& name) {
  return logits_at(model_.place_of(name));
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

void Model::load(const std::map<std::string, Tensor>& arrays, const std::string& source, const ConfigPosition& where) {
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
    if (!wanted.contains(name) && !is_generator(array))
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
