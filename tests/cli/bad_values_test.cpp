// A bad value of every key of an experiment, and the whole message that it gives: tests/errors/bad_values_*.txt. The
// keys come from the declarations, so a new one is asked as soon as it is declared. With THTRAIN_UPDATE_EXPECTED=1 the
// file is written instead of compared.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/overrides.h"
#include "cli/toml_config.h"
#include "trainers/experiment.h"

namespace thtrain {
namespace {

using Value = FieldAccess::Value;
using Container = FieldAccess::Container;

// What the declaration rules out, as it is typed: a number out of its range, a name that is none, another type.
std::string bad_value(const FieldSpec& field) {
  const Value value = field.access->value;
  std::string out;
  if (value == Value::kBool) {
    out = "maybe";
  } else if (value == Value::kKind || !field.choices.empty()) {
    out = "nonsense";
  } else if (value == Value::kString) {
    out = "{x = 5}";
  } else if (std::isfinite(field.range.low)) {
    out = number_text(field.range.low_excluded ? field.range.low : field.range.low - 1);
  } else if (std::isfinite(field.range.high)) {
    out = number_text(field.range.high + 1);
  } else {
    out = "much";
  }
  if (field.access->container != Container::kList) return out;
  const bool is_word = out == "maybe" || out == "nonsense" || out == "much";
  return is_word ? str("[\"", out, "\"]") : str('[', out, ']');
}

// A value that the declaration allows, in TOML.
std::string good_value(const FieldSpec& field) {
  const Value value = field.access->value;
  const std::string out = value == Value::kString ? "\"x\"" : value == Value::kFloat ? "0.5" : "3";
  return field.access->container == Container::kList ? str('[', out, ']') : out;
}

// The keys that a table of this kind cannot do without, but for one.
std::string required_keys(const Schema& schema, const std::string& but) {
  std::string out;
  for (const FieldSpec& field : schema.fields)
    if (field.required && field.name != but) out += str(field.name, " = ", good_value(field), '\n');
  return out;
}

struct Case {
  std::string label;  // "trainer[adam].beta1"
  std::string data, layer, more;
  std::string path;  // "trainer.beta1"
  const FieldSpec* field;
};

std::string message_of(const Case& c) {
  try {
    Findings findings;
    ConfigNode root = parse_toml(str("[data]\n", c.data, "[[model.layers]]\n", c.layer), "e.toml", findings);
    std::vector<std::string> overrides;
    if (!c.more.empty()) overrides.push_back(c.more);
    overrides.push_back(str(c.path, '=', bad_value(*c.field)));
    apply_overrides(root, overrides, findings);
    read_experiment(root, findings);
    findings.raise();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// Of every field, those of every kind included.
void collect(const Schema& schema, const Case& outer, std::vector<Case>& out) {
  for (const FieldSpec& field : schema.fields) {
    const FieldAccess& access = *field.access;
    Case key = outer;
    key.label += (outer.label.empty() ? "" : ".") + field.name;
    key.path += (outer.path.empty() ? "" : ".") + field.name;
    key.field = &field;
    if (access.value == Value::kTable) {
      if (access.container != Container::kList) collect(access.schema(), key, out);
      continue;
    }
    if (access.value != Value::kKind) {
      const bool is_of_data = outer.label.starts_with("data["), is_of_layer = outer.label.starts_with("model.layers[");
      if (is_of_data) key.data += required_keys(schema, field.name);
      if (is_of_layer) key.layer += required_keys(schema, field.name);
      out.push_back(key);
      continue;
    }
    const bool is_list = access.container == Container::kList;
    if (field.name != "layers" && field.name != "data") out.push_back(key);
    for (const Alternative& kind : access.alternatives) {
      const std::string name(kind.name);
      Case inner = field.inlined ? outer : key;
      inner.label += '[' + name + ']';
      if (field.name == "data") {
        inner.data = str("source = \"", name, "\"\n");
      } else if (field.name == "layers") {
        inner.layer = str("type = \"", name, "\"\n");
        inner.path += ".0";
      } else {
        std::string needs;
        for (const FieldSpec& of_kind : kind.schema().fields)
          if (of_kind.required) needs += str(", ", of_kind.name, " = ", good_value(of_kind));
        const std::string table = str("{type = \"", name, '"', needs, '}');
        inner.more =
            field.inlined ? str(key.path, '=', name) : str(key.path, '=', is_list ? str('[', table, ']') : table);
        if (is_list) inner.path += ".0";
      }
      collect(kind.schema(), inner, out);
    }
  }
}

TEST(BadValues, OfEveryKeyHaveTheirWholeMessage) {
  std::vector<Case> cases;
  collect(schema_of<Experiment>(), {"", "source = \"digits\"\n", "type = \"softmax\"\n", "", "", nullptr}, cases);
  EXPECT_GT(cases.size(), 300u);
  std::map<std::string, std::string> texts;  // of each section, a file
  for (const Case& c : cases) {
    const std::string message = message_of(c);
    EXPECT_NE(message, "no error") << c.label;
    EXPECT_NE(message.find(c.field->name), std::string::npos) << c.label << "\n" << message;
    texts[c.label.substr(0, c.label.find_first_of(".["))] +=
        str("# ", c.label, " = ", bad_value(*c.field), '\n', message, "\n\n");
  }
  for (const auto& [section, text] : texts) {
    const std::string path = str("tests/errors/bad_values_", section, ".txt");
    if (std::getenv("THTRAIN_UPDATE_EXPECTED")) std::ofstream(path, std::ios::binary) << text;
    std::ifstream file(path, std::ios::binary);
    std::stringstream expected;
    expected << file.rdbuf();
    EXPECT_EQ(text, expected.str()) << path;
  }
}

}  // namespace
}  // namespace thtrain
