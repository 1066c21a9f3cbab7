#include "nn/model.h"

#include "nn/finite.h"

namespace thtrain {

template <class L>
std::shared_ptr<const L> Model::add_layer(const typename L::Options& options, std::optional<int64_t> seed) {
  TH_CHECK(!classifier_, "layer ", options.name, " after the classifier");
  std::optional<RandomState> own;
  if (seed) own.emplace(*seed);
  auto layer = std::make_shared<const L>(options, LayerInput{next_input(), dtype_, own ? *own : random_});
  layers_.push_back(layer);
  return layer;
}
template std::shared_ptr<const Dense> Model::add_layer<Dense>(const Dense::Options&, std::optional<int64_t>);
template std::shared_ptr<const Activation> Model::add_layer<Activation>(const Activation::Options&,
                                                                        std::optional<int64_t>);
template std::shared_ptr<const Flatten> Model::add_layer<Flatten>(const Flatten::Options&, std::optional<int64_t>);

void Model::add(const Softmax::Options& options, std::optional<int64_t> seed) {
  classifier_ = add_layer<Softmax>(options, seed);
}

const Softmax& Model::classifier() const {
  TH_CHECK(classifier_ != nullptr, "a model without a softmax");
  return *classifier_;
}

Expr Model::before_classifier(const Expr& x) const {
  Expr value = x;
  for (size_t i = 0; i + 1 < layers_.size(); ++i) value = (*layers_[i])(value);
  return value;
}
Expr Model::logits(const Expr& x) const {
  return classifier().logits(before_classifier(x));
}
Expr Model::probabilities(const Expr& x) const {
  return classifier()(before_classifier(x));
}

std::vector<Param> Model::params() const {
  std::vector<Param> out;
  for (const auto& layer : layers_) out.insert(out.end(), layer->params().begin(), layer->params().end());
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

// What is wrong with the array for this parameter; nothing if all is well.
static std::optional<Message> misfit(const Param& param, const Tensor& array, const std::string& source) {
  Shape wanted = param.variable.type().known_shape();
  Message message{.what = str(source, ": ", param.name, " does not fit the model"),
                  .expected = str(name_of(param.variable.type().dtype), shape_text(wanted)),
                  .got = array.type_text(),
                  .config = param.config};
  if (array.shape() != wanted) return message;
  if (is_complex(array.dtype())) return message;
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
  for (const Param& param : all) param.variable.set_value(arrays.at(param.name).cast(dtype_));
}

}  // namespace thtrain
