// The [model] section: its layers, their names and the checks between them.
#include <algorithm>
#include <cctype>
#include <map>

#include "datasets/content.h"
#include "trainers/experiment.h"

namespace thtrain {

using Init = InitConfig::Init;

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = {"linear", "tanh", "sigmoid", "relu", "softplus"};
  return names;
}

// ---- initial weights ----

// A key that says something about an initializer other than the chosen one is a mistake, unless it says the default.
static void check_init(const InitConfig& c, Findings& findings) {
  bool scaled =
      c.init != Init::kNormal && c.init != Init::kUniform && c.init != Init::kConstant && c.init != Init::kZeros;
  auto unused = [&](std::string key, bool used, double value, double standard, std::string owner) {
    if (!used && value != standard)
      findings.add({.what = str(c.name_of(key), " has no effect"),
                    .expected = str("init = ", owner),
                    .config = c.at(key),
                    .hint = "the init of this layer does not use it"});
  };
  unused("init_scale", scaled, c.init_scale, 1, "\"glorot_*\", \"he_*\" or \"orthogonal\"");
  unused("init_std", c.init == Init::kNormal, c.init_std, 0.01, "\"normal\"");
  unused("init_range", c.init == Init::kUniform, c.init_range, 0.01, "\"uniform\"");
  unused("init_value", c.init == Init::kConstant, c.init_value, 0, "\"constant\"");
}

// Names of weights are those of entries in .npz files, which have at most 65,535 bytes, prefixes included.
static constexpr size_t kLongestName = 1000;

static void check_name(const Section& layer, const std::string& name, Findings& findings) {
  bool plain = std::all_of(name.begin(), name.end(),
                           [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; });
  if (!plain)
    findings.add({.what = str(layer.name_of("name"), " has a character that is not allowed in a name"),
                  .expected = "letters, digits, \"_\" and \"-\"",
                  .got = str('"', excerpt(name), '"'),
                  .config = layer.at("name")});
  else if (name.size() > kLongestName)
    findings.add({.what = str(layer.name_of("name"), " is too long"),
                  .expected = str("at most ", kLongestName, " characters"),
                  .got = str(name.size(), " characters"),
                  .config = layer.at("name")});
}

template <class T>
static void describe_name(Fields<T>& f) {
  f.field("name", &T::name)
      .help(
          "Name of the layer in messages and of its weights in files: at most 1000 letters, digits, `_` and `-`. "
          "Empty: its type and a number.");
}

template <class T>
void InitConfig::describe_init(Fields<T>& f) {
  f.choice("init", &T::init,
           {{"glorot_uniform", Init::kGlorotUniform},
            {"glorot_normal", Init::kGlorotNormal},
            {"he_uniform", Init::kHeUniform},
            {"he_normal", Init::kHeNormal},
            {"normal", Init::kNormal},
            {"uniform", Init::kUniform},
            {"orthogonal", Init::kOrthogonal},
            {"constant", Init::kConstant},
            {"zeros", Init::kZeros}})
      .help("How the weights start; biases start at 0.");
  f.field("init_scale", &T::init_scale)
      .range(above(0))
      .help("Factor of the weights of `glorot_*`, `he_*` and `orthogonal`.");
  f.field("init_std", &T::init_std).range(above(0)).help("Standard deviation of `normal`.");
  f.field("init_range", &T::init_range).range(above(0)).help("`uniform` draws from minus this to this.");
  f.field("init_value", &T::init_value).help("Value of `constant`.");
  f.field("seed", &T::seed)
      .range(between(0, 4294967295.0))
      .help(
          "Seed of this layer alone. Not given: the layers draw in turn from one generator of the experiment's seed.");
}

// ---- layers ----

void DenseConfig::describe(Fields<DenseConfig>& f) {
  f.about("y = activation(x W + b).");
  describe_name(f);
  f.field("units", &DenseConfig::units)
      .range(at_least(1))
      .unit("outputs")
      .required()
      .synonyms({"outputs", "n_out", "size", "hidden", "num_outputs", "out_features"})
      .help("Number of outputs, the columns of W.");
  f.field("activation", &DenseConfig::activation)
      .one_of(activation_names())
      .help("Function that is applied to each output.");
  f.field("bias", &DenseConfig::bias).help("Whether a bias b is added.");
  describe_init(f);
  f.check([](const DenseConfig& c, Findings& findings) {
    check_name(c, c.name, findings);
    check_init(c, findings);
  });
}

void ActivationConfig::describe(Fields<ActivationConfig>& f) {
  f.about("y = activation(x), element by element.");
  describe_name(f);
  f.field("activation", &ActivationConfig::activation)
      .one_of(activation_names())
      .required()
      .synonyms({"function"})
      .help("Function that is applied to each element.");
  f.check([](const ActivationConfig& c, Findings& findings) { check_name(c, c.name, findings); });
}

void FlattenConfig::describe(Fields<FlattenConfig>& f) {
  f.about("Turns each example into one row of numbers.");
  describe_name(f);
  f.check([](const FlattenConfig& c, Findings& findings) { check_name(c, c.name, findings); });
}

void SoftmaxConfig::describe(Fields<SoftmaxConfig>& f) {
  f.about("The classifier, p = softmax(x W + b): the last layer.");
  describe_name(f);
  f.field("units", &SoftmaxConfig::units)
      .range(at_least(2))
      .unit("classes")
      .synonyms({"outputs", "n_out", "classes", "num_outputs", "out_features"})
      .help("Number of classes. Not given: that of the data.");
  f.field("bias", &SoftmaxConfig::bias).help("Whether a bias b is added.");
  describe_init(f);
  f.check([](const SoftmaxConfig& c, Findings& findings) {
    check_name(c, c.name, findings);
    check_init(c, findings);
  });
}

const Section& section_of(const LayerConfig& layer) {
  return std::visit([](const auto& c) -> const Section& { return c; }, layer);
}
const std::string& name_of(const LayerConfig& layer) {
  return std::visit([](const auto& c) -> const std::string& { return c.name; }, layer);
}
static std::string kind_of(const LayerConfig& layer) {
  return std::visit([](const auto& c) { return std::string(c.kName); }, layer);
}

// A layer without a name is called by its type, and counted among those of its type: the one softmax is not.
static std::vector<std::string> final_names(const std::vector<LayerConfig>& layers) {
  std::map<std::string, int> count;
  std::vector<std::string> names;
  for (const LayerConfig& layer : layers) {
    std::string kind = kind_of(layer);
    int number = ++count[kind];
    names.push_back(!name_of(layer).empty() ? name_of(layer) : kind == "softmax" ? kind : str(kind, number));
  }
  return names;
}

void ModelConfig::describe(Fields<ModelConfig>& f) {
  f.about("A chain of layers.");
  f.field("weights", &ModelConfig::weights)
      .help("An .npz file to start from, with arrays such as `dense1/W`; it is looked for as the data is.");
  f.variant("layers", &ModelConfig::layers, "type").required().help("The layers, from input to output.");
  f.check([](const ModelConfig& c, Findings& findings) {
    std::map<std::string, std::string> owner;  // of a name
    std::vector<std::string> names = final_names(c.layers);
    for (size_t i = 0; i < c.layers.size(); ++i) {
      const Section& layer = section_of(c.layers[i]);
      bool last = i + 1 == c.layers.size(), softmax = std::holds_alternative<SoftmaxConfig>(c.layers[i]);
      if (softmax && !last)
        findings.add({.what = str(layer.path, " is a softmax, but not the last layer"),
                      .expected = "one softmax, at the end",
                      .config = layer.at("type")});
      if (last && !softmax)
        findings.add({.what = str("the last layer, ", layer.path, ", gives no probabilities"),
                      .expected = "type = \"softmax\"",
                      .got = str("type = \"", kind_of(c.layers[i]), '"'),
                      .config = layer.at("type"),
                      .hint = "a classifier ends with [[model.layers]] and type = \"softmax\""});
      auto [entry, fresh] = owner.emplace(names[i], layer.path);
      if (!fresh)
        findings.add({.what = str("two layers are called ", names[i]),
                      .expected = "a name for each layer",
                      .config = layer.at("name"),
                      .hint = str("the other one is ", entry->second)});
    }
  });
}

Experiment read_experiment(const ConfigNode& root, Findings& findings) {
  Experiment out = read_config<Experiment>(root, findings);
  std::vector<std::string> names = final_names(out.model.layers);
  for (size_t i = 0; i < names.size(); ++i)
    std::visit([&](auto& layer) { layer.name = names[i]; }, out.model.layers[i]);
  return out;
}

}  // namespace thtrain
