#include "trainers/phase_config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <unordered_map>

#include "compiler/base/nearest_name.h"
#include "trainers/experiment.h"
#include "trainers/replaced_kinds.h"

namespace thtrain {

constexpr std::array<std::string_view, 4> kTables = {"data", "model", "loss", "trainer"};

static bool is_table_of_phase(const std::string& key) {
  return std::find(kTables.begin(), kTables.end(), key) != kTables.end();
}

static bool is_own_key(const std::string& key) {
  return schema_of<PhaseConfig>().find(key) != nullptr;
}

namespace {

// [[phase]] alone, under the key that messages name.
struct PhaseList : Section {
  std::vector<PhaseConfig> phase;
  static void describe(Fields<PhaseList>& f) { f.field("phase", &PhaseList::phase); }
};

}  // namespace

PhaseTrees::PhaseTrees(const ConfigNode& root, Findings& findings) : tables_(*root.find("phase")), findings_(findings) {
  root_.position = root.position;
  root_.incomplete = root.incomplete;
  for (const ConfigNode& entry : root.children)
    if (entry.key != "phase") root_.children.push_back(entry);
  ConfigNode own;
  own.incomplete = root.incomplete;
  ConfigNode& list = own.children.emplace_back();
  list.kind = ConfigNode::Kind::kArray;
  list.key = "phase";
  list.position = tables_.position;
  for (size_t i = 0; i < tables_.children.size(); ++i) list.children.push_back(own_table(i));
  own_ = read_config<PhaseList>(own, findings_).phase;
}

// The phase without its tables, and with a name.
ConfigNode PhaseTrees::own_table(size_t i) {
  const ConfigNode& table = tables_.children[i];
  ConfigNode out;
  out.position = table.position;
  for (const ConfigNode& entry : table.children) {
    check_key(i, entry);
    if (is_own_key(entry.key)) out.children.push_back(entry);
  }
  if (const ConfigNode* model = table.find("model"); model && i > 0)
    if (const ConfigNode* weights = model->find("weights"))
      findings_.add({.what = str("phase.", i, ".model.weights: only the first phase takes weights from a file"),
                     .config = weights->position,
                     .hint = "a later phase begins with those of the phase before it"});
  ConfigNode* given = out.find("name");
  const std::string name = given && !given->text.empty() ? given->text : str("phase", i + 1);
  check_name(i, name, given ? given->position : table.position);
  if (!given) {
    ConfigNode& made = out.children.emplace_back(ConfigNode::of(name));
    made.key = "name";
    made.position = table.position;
  } else if (given->text.empty() && given->kind == ConfigNode::Kind::kString) {
    given->text = name;
  }
  return out;
}

void PhaseTrees::check_key(size_t i, const ConfigNode& entry) {
  if (is_own_key(entry.key) || is_table_of_phase(entry.key)) return;
  std::vector<std::string> names(kTables.begin(), kTables.end());
  for (const FieldSpec& field : schema_of<PhaseConfig>().fields) names.push_back(field.name);
  const std::string near = nearest_name(entry.key, names), home = path_of_key(entry.key);
  const std::string section = home.substr(0, home.find('.'));
  std::string hint = near.empty() ? str("the keys here are ", join(names, ", ")) : str("did you mean ", near, '?');
  if (is_table_of_phase(section))
    hint = str(home.substr(section.size() + 1), " is a key of [phase.", section, ']');
  else if (!section.empty())
    hint = str(home, " is the same in all phases: it belongs outside of [[phase]]");
  if (schema_of<Experiment>().find(entry.key))
    hint = str(entry.key, " is the same in all phases: it belongs outside of [[phase]]");
  findings_.add({.what = str("unknown key phase.", i, '.', entry.key), .config = entry.key_position, .hint = hint});
}

void PhaseTrees::check_name(size_t i, const std::string& name, const ConfigPosition& position) {
  const bool fits = name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
                      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
                    });
  const auto [other, is_new] = names_.emplace(name, i);
  if (!fits)
    findings_.add({.what = str("phase.", i, ".name cannot be part of a file's name"),
                   .expected = "at most 100 letters, digits, _ and -",
                   .got = str('"', name, '"'),
                   .config = position});
  else if (!is_new)
    findings_.add({.what = str("two phases are called ", name),
                   .expected = "a name for each phase",
                   .config = position,
                   .hint = str("the other one is phase.", other->second)});
}

static void replace(ConfigNode& tree, const ConfigNode& table) {
  ConfigNode* there = tree.find(table.key);
  if (!there) {
    tree.children.push_back(table);
    return;
  }
  if (!there->is_table() || !table.is_table()) {
    *there = table;
    return;
  }
  std::set<std::string> gone = keys_of_replaced_kinds(*schema_of<Experiment>().find(table.key), *there, table);
  for (const ConfigNode& entry : table.children) gone.insert(entry.key);
  std::erase_if(there->children, [&](const ConfigNode& entry) { return gone.contains(entry.key); });
  there->children.insert(there->children.end(), table.children.begin(), table.children.end());
  there->position = table.position;
}

ConfigNode PhaseTrees::tree(size_t phase) {
  ConfigNode out = root_;
  for (const ConfigNode& table : tables_.children[phase].children)
    if (is_table_of_phase(table.key)) replace(out, table);
  ConfigNode* model = phase > 0 ? out.find("model") : nullptr;
  if (model && model->is_table())
    std::erase_if(model->children, [](const ConfigNode& entry) { return entry.key == "weights"; });
  note_used(out);
  return out;
}

// A key is the experiment's own where it is at the same position.
void PhaseTrees::note_used(const ConfigNode& tree) {
  for (std::string_view table : kTables) {
    const ConfigNode *ours = root_.find(table), *merged = tree.find(table);
    if (!ours || !merged) continue;
    std::unordered_map<std::string_view, const ConfigPosition*> positions;
    for (const ConfigNode& entry : merged->children) positions.emplace(entry.key, &entry.key_position);
    for (const ConfigNode& entry : ours->children) {
      auto found = positions.find(entry.key);
      if (found == positions.end()) continue;
      const ConfigPosition &here = *found->second, &there = entry.key_position;
      if (here.line == there.line && here.column == there.column && here.file == there.file)
        used_.insert(str(table, '.', entry.key));
    }
  }
}

void PhaseTrees::refuse_unused() {
  for (std::string_view table : kTables) {
    const ConfigNode* ours = root_.find(table);
    if (!ours || !ours->is_table()) continue;
    for (const ConfigNode& entry : ours->children) {
      const std::string key = str(table, '.', entry.key);
      if (used_.contains(key)) continue;
      findings_.add({.what = str(key, " has no effect: every phase has its own, or replaces what it belongs to"),
                     .config = entry.key_position,
                     .hint = str("phase.", own_.size() - 1, '.', key, " is that of ", own_.back().name)});
    }
  }
}

void PhaseConfig::describe(Fields<PhaseConfig>& f) {
  f.about(
      "A run in phases, one after the other: each is the experiment, in which the keys of the phase's own "
      "`[phase.data]`, `[phase.model]`, `[phase.loss]` and `[phase.trainer]` replace those of `[data]`, "
      "`[model]`, `[loss]` and `[trainer]`; an array, such as `[[phase.model.layers]]`, is replaced as a whole. With "
      "another source, optimizer or objective, the keys that it does not have are dropped, and so are `learning_rate` "
      "and "
      "the source's files. A phase begins with the weights "
      "of the phase before it, by their names, and with new ones where a layer is new; its optimizer, schedules and "
      "early stopping begin anew. On the command line the first phase is `phase.0`, as in "
      "`phase.0.trainer.epochs=5`. Without a `[[phase]]`, the experiment is the one phase.");
  f.field("name", &PhaseConfig::name)
      .help(
          "Name of the phase in messages, in `metrics.jsonl` and in the names of files: letters, digits, `_` and `-`. "
          "Empty: `phase1`, `phase2`, ...");
  f.field("trained", &PhaseConfig::trained)
      .synonyms({"train_layers", "trainable"})
      .help("Names of the layers whose parameters are trained. Empty: all but those with `trained = false`.");
  f.choice("pass_on", &PhaseConfig::pass_on,
           {{"last", PhaseConfig::PassOn::kLast}, {"best", PhaseConfig::PassOn::kBest}})
      .help(
          "Which weights the next phase begins with: the last ones, or those with the best validation value, which "
          "needs validation examples.");
}

bool has_phases(const ConfigNode& root) {
  const ConfigNode* phases = root.find("phase");
  return phases && phases->is_array() && !phases->children.empty() &&
         std::all_of(phases->children.begin(), phases->children.end(),
                     [](const ConfigNode& p) { return p.is_table(); });
}

}  // namespace thtrain
