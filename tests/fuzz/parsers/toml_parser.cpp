// Experiment files: from TOML to located values.
#include "cli/toml_config.h"
#include "tests/fuzz/parsers/parser.h"

namespace thtrain::fuzz {
namespace {

bool parse(std::string_view bytes) {
  Findings findings;
  ConfigNode root = parse_toml(bytes, "fuzz.toml", findings);
  for (const Message& message : findings.sorted()) require(!message.text().empty(), "a finding without a text");
  Findings of_value;
  std::string text(bytes);
  parse_toml_value(text, 0, {.file = std::string(kCommandLine), .line = 1, .column = 1, .source_line = text}, of_value);
  if (!findings.empty()) return false;
  Findings of_copy;
  parse_toml(toml_text(root), "copy.toml", of_copy);
  require(of_copy.empty(), "what was read does not read back after it is written");
  return true;
}

std::vector<std::string> seeds() {
  return {
      "seed = 1\n[data]\nsource = \"digits\"\nn_train = 1_000\n\n[[model.layers]]\ntype = \"dense\"\nunits = 0x64\n"
      "[[model.layers]]\ntype = 'dense'\nactivation = \"tanh\"\n",
      "a = 1.5e-3\nb = [1, 2.0, \"x\", [true, false]]\nc = {d = 1, \"e f\" = -0}\nf.g.h = \"\"\"\ntwo\nlines\"\"\"\n",
      "when = 1979-05-27T07:32:00Z\nday = 1979-05-27\nhour = 07:32:00.5\ninf = -inf\nnan = nan\n",
      "text = \"\\u00e9\\t\\\\\" # a comment\n'quoted key' = '''raw\n'text'''\n",
      "[a.b]\nc = [\n  1, # one\n  2,\n]\n[a]\nd = 0b11\ne = 0o17\n",
      "",
  };
}

}  // namespace

const Parser kToml = {"toml", parse, seeds};

}  // namespace thtrain::fuzz
