#include "nn/layer.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "compiler/base/escape.h"
#include "compiler/base/nearest_name.h"

namespace thtrain {

Shared Layer::add_param(const std::string& name, const Tensor& value, DType dtype, bool penalized) {
  Shared variable(value.cast(dtype), str(this->name(), "/", name), true);
  params_.push_back({.name = variable.name(),
                     .variable = variable,
                     .penalized = penalized,
                     .config = position(),
                     .trained = options_.trained,
                     .rate_factor = options_.rate_factor,
                     .weight_decay = penalized ? options_.weight_decay : std::nullopt});
  return variable;
}

Shared Layer::add_state(const std::string& name, const Tensor& value) {
  Shared variable(value, str(this->name(), "/", name));
  state_.push_back({variable.name(), variable, false, position(), false});
  return variable;
}

void Layer::add_arrays_of(const Layer& part) {
  params_.insert(params_.end(), part.params().begin(), part.params().end());
  state_.insert(state_.end(), part.state().begin(), part.state().end());
}

// ---- kinds of layers ------------------------------------------------------------------------------------------------

#define TH_LAYER(name) LayerKind name##_layer();
#include "nn/layer_list.inc"
#undef TH_LAYER

const std::vector<LayerKind>& LayerOptions::kinds() {
  static const std::vector<LayerKind> kinds = {
#define TH_LAYER(name) name##_layer(),
#include "nn/layer_list.inc"
#undef TH_LAYER
  };
  return kinds;
}

// ---- what layers declare --------------------------------------------------------------------------------------------

// Names of weights are those of entries in .npz files, which have at most 65,535 bytes, prefixes included.
static constexpr size_t kLongestName = 1000;

void check_layer_name(const LayerOptions& options, Findings& findings) {
  const std::string& name = options.name;
  const Section& section = options.section;
  bool plain = std::all_of(name.begin(), name.end(),
                           [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; });
  if (!plain)
    findings.add({.what = str(section.name_of("name"), " has a character that is not allowed in a name"),
                  .expected = "letters, digits, \"_\" and \"-\"",
                  .got = str('"', excerpt(name), '"'),
                  .config = section.at("name")});
  else if (name.size() > kLongestName)
    findings.add({.what = str(section.name_of("name"), " is too long"),
                  .expected = str("at most ", kLongestName, " characters"),
                  .got = str(name.size(), " characters"),
                  .config = section.at("name")});
}

// A key that says something about an initializer other than the chosen one is a mistake, unless it says the default.
void check_init(const Section& section, const Init& init, const Init& standard, Findings& findings) {
  using Law = Init::Law;
  bool scaled =
      init.law != Law::kNormal && init.law != Law::kUniform && init.law != Law::kConstant && init.law != Law::kZeros;
  auto unused = [&](std::string key, bool used, double value, double standard, std::string owner) {
    if (!used && value != standard)
      findings.add({.what = str(section.name_of(key), " has no effect"),
                    .expected = str("init = ", owner),
                    .config = section.at(key),
                    .hint = "the init of this layer does not use it"});
  };
  unused("init_scale", scaled, init.scale, standard.scale, "\"glorot_*\", \"he_*\" or \"orthogonal\"");
  unused("init_std", init.law == Law::kNormal, init.deviation, standard.deviation, "\"normal\"");
  unused("init_range", init.law == Law::kUniform, init.range, standard.range, "\"uniform\"");
  unused("init_value", init.law == Law::kConstant, init.value, standard.value, "\"constant\"");
}

// ---- what layers ask for --------------------------------------------------------------------------------------------

static std::string shapes_text(const LayerInput& input) {
  if (input.shapes.size() == 1)
    return str(input.has_sequence() ? "steps" : "examples", " of shape ", shape_text(input.shapes[0]));
  std::vector<std::string> parts;
  for (size_t i = 0; i < input.shapes.size(); ++i)
    parts.push_back(str(input.names[i], ' ', shape_text(input.shapes[i])));
  return join(parts, ", ");
}

void fail_layer(std::string_view type, const LayerOptions& layer, const LayerInput& input, std::string expected,
                std::string hint) {
  std::string inputs = layer.inputs.empty()
                           ? "the layer before it"
                           : str(input.names.size() == 1 ? "its input " : "its inputs ", join(input.names, ", "));
  throw UserError(Message{.what = str("layer ", layer.name, " (", type, ") does not fit ", inputs),
                          .expected = std::move(expected),
                          .got = shapes_text(input),
                          .config = layer.section.position,
                          .hint = std::move(hint)});
}

const Shape& only_input(std::string_view type, const LayerOptions& layer, const LayerInput& input) {
  if (input.shapes.size() != 1)
    throw UserError(Message{.what = str("layer ", layer.name, " (", type, ") takes one input"),
                            .expected = "one name",
                            .got = join(input.names, ", "),
                            .config = layer.section.at("inputs"),
                            .hint = "a layer of type \"concat\" or \"add\" makes one of them"});
  return input.shapes[0];
}

const std::vector<Shape>& several_inputs(std::string_view type, const LayerOptions& layer, const LayerInput& input) {
  if (input.shapes.size() == 1)
    throw UserError(
        Message{.what = str("layer ", layer.name, " (", type, ") takes several inputs"),
                .expected = "two names or more",
                .got = layer.inputs.empty() ? str("none, which stands for ", input.names[0]) : input.names[0],
                .config = layer.section.at("inputs"),
                .hint = str("inputs = [\"", input.names[0], "\", \"the name of another layer\"]")});
  return input.shapes;
}

int64_t row_length(std::string_view type, const LayerOptions& layer, const LayerInput& input) {
  const Shape& shape = only_input(type, layer, input);
  if (shape.size() != 1)
    fail_layer(type, layer, input, str("one row of numbers for each ", input.has_sequence() ? "step" : "example"),
               input.has_sequence() ? "a flatten layer before it makes a row of each step"
                                    : "a flatten layer before it makes rows");
  return shape[0];
}

void require_sequence(std::string_view type, const LayerOptions& layer, const LayerInput& input) {
  only_input(type, layer, input);
  if (!input.has_sequence())
    fail_layer(type, layer, input, "sequences",
               "data of sequences has steps along its second axis; a recurrent layer with output = \"all\" gives them");
}

// A matrix that no memory of this machine holds is no matter of how much is free just now.
void check_units(const LayerOptions& layer, int64_t units, int64_t row_length, DType dtype, int64_t columns) {
  double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  double bytes = static_cast<double>(row_length) * static_cast<double>(units) * static_cast<double>(columns) *
                 static_cast<double>(size_of(dtype));
  if (bytes <= memory) return;
  auto gibibytes = [](double count) { return number_text(std::round(count / (1 << 30))); };
  throw UserError(
      Message{.what = str(layer.section.name_of("units"), " is too large: its weights do not fit into this machine"),
              .expected = str("at most ", gibibytes(memory), " GiB (all of its memory)"),
              .got = str(units, " units with ", row_length, " inputs: ", gibibytes(bytes), " GiB of ", name_of(dtype)),
              .config = layer.section.at("units")});
}

std::optional<Message> wrong_input(std::string_view type, const LayerOptions& layer, const std::string& name,
                                   const std::vector<std::string>& before, const std::vector<std::string>& after) {
  auto is_in = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_in(before)) return {};
  Message message{.what = {}, .expected = join(before, ", "), .config = layer.section.at("inputs")};
  std::string start = str("layer ", layer.name, " (", type, ") takes ");
  if (name == layer.name) {
    message.what = start + "itself";
    message.hint = "a layer takes what precedes it";
  } else if (is_in(after)) {
    message.what = str(start, name, ", which follows it");
    message.hint = str("a layer takes what precedes it: move ", name, " in front of ", layer.name);
  } else {
    message.what = str(start, '"', excerpt(name), "\", and there is no such layer");
    std::string near = nearest_name(name, before);
    if (!near.empty()) message.hint = str("did you mean ", near, "?");
  }
  return message;
}

}  // namespace thtrain
