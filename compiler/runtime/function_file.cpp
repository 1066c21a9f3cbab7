#include "compiler/runtime/function_file.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "compiler/autodiff/differentiation.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ops/registry.h"
#include "compiler/runtime/archive.h"
#include "compiler/runtime/covariance_root.h"
#include "compiler/runtime/function_state.h"
#include "compiler/store/entry_store.h"

namespace thtrain {

static constexpr std::string_view kFunctionMark = "thtrain function ", kFunctionVersion = "1\n";

// What the file holds after its mark.
struct SavedInput {
  std::optional<Tensor> value = {};
  bool has_update = false, is_mutable = false, strict = false, allow_downcast = false;
};
struct SavedLine {
  size_t file = 0;  // in FunctionImage::files
  int line = 0;
  size_t scope = 0;  // in FunctionImage::scopes, from 1; 0: none
  bool in_gradient = false;
  uint64_t serial = 0;
  bool in_body = false;
};
struct SavedVariable {
  std::string name = {};
  Type type = {};
  Tensor value = {};
};
struct SavedOp {
  std::string name = {}, version = {};
};
struct FunctionImage {
  FunctionOptions options = {};
  std::vector<SavedInput> inputs = {};
  std::vector<std::string> output_names = {};
  std::vector<bool> borrowed = {};
  std::vector<SavedOp> ops = {};
  std::string graph = {};  // after its outputs the next values of inputs
  std::vector<SavedVariable> variables = {};
  std::vector<Tensor> long_constants = {};
  std::vector<SavedLine> lines = {};
  std::vector<std::string> files = {};
  std::vector<ScopeInfo> scopes = {};
};

template <class Archive>
void fields(Archive& a, Is<SavedInput> auto& p) {
  a(p.value, p.has_update, p.is_mutable, p.strict, p.allow_downcast);
}
template <class Archive>
void fields(Archive& a, Is<SavedLine> auto& p) {
  a(p.file, p.line, p.scope, p.in_gradient, p.serial, p.in_body);
}
template <class Archive>
void fields(Archive& a, Is<SavedVariable> auto& p) {
  a(p.name, p.type, p.value);
}
template <class Archive>
void fields(Archive& a, Is<SavedOp> auto& p) {
  a(p.name, p.version);
}
template <class Archive>
void fields(Archive& a, Is<ScopeInfo> auto& p) {
  a(p.path, p.config);
}
template <class Archive>
void fields(Archive& a, Is<TakenCandidate> auto& p) {
  a(p.computation, p.candidate);
}
template <class Archive>
void fields(Archive& a, Is<CandidateLists> auto& p) {
  a(p.only, p.include, p.exclude, p.workspace_limit);
}
template <class Archive>
void fields(Archive& a, Is<BadValues> auto& p) {
  a(p.nan, p.infinity, p.above);
}
template <class Archive>
static void other_options(Archive& a, auto& o) {
  a(o.threads, o.name, o.use_cache, o.conv_tolerance, o.candidates, o.candidate_lists, o.background, o.nan_guard);
}
static void fields(ByteWriter& a, const FunctionOptions& o) {
  a(o.mode, o.level, o.tune, std::vector<std::string>(o.without.begin(), o.without.end()));
  other_options(a, o);
}
static void fields(ByteReader& a, FunctionOptions& o) {
  std::vector<std::string> without;
  a.one_of(o.mode, Mode::kNanGuard);
  a.one_of(o.level, Level::kFast);
  a.one_of(o.tune, Tune::kAlways);
  a(without);
  o.without = {without.begin(), without.end()};
  other_options(a, o);
}
template <class Archive>
void fields(Archive& a, Is<FunctionImage> auto& p) {
  a(p.options, p.inputs, p.output_names, p.borrowed, p.ops, p.graph, p.variables, p.long_constants, p.lines, p.files,
    p.scopes);
}

// ---- saving --------------------------------------------------------------------------------------------------------

static void add_places(const GraphDetails& details, FunctionImage& out) {
  std::map<std::string, size_t> files;
  std::map<const ScopeInfo*, size_t> scopes;
  for (const GraphDetails::Line& line : details.lines) {
    const Origin& origin = line.origin;
    const auto file = files.try_emplace(origin.file, files.size());
    if (file.second) out.files.emplace_back(origin.file);
    size_t scope = 0;
    if (origin.scope) {
      const auto at = scopes.try_emplace(origin.scope.get(), scopes.size() + 1);
      if (at.second) out.scopes.push_back(*origin.scope);
      scope = at.first->second;
    }
    out.lines.push_back({file.first->second, origin.line, scope, origin.in_gradient, line.serial, line.in_body});
  }
}

static void collect_versions(const Graph& graph, std::map<const Op*, std::string>& versions) {
  for (const Node* node : topological_order(graph.roots())) {
    versions.try_emplace(node->op, node->props.get_or("version", std::string()));
    for (const GraphPtr& body : node->bodies) collect_versions(*body, versions);
  }
}

static std::vector<SavedOp> ops_of_users(const Graph& graph, const std::string& name) {
  std::vector<SavedOp> out;
  std::map<const Op*, std::string> versions;
  collect_versions(graph, versions);
  for (const Op* op : user_ops_of(graph).ops) {
    if (std::any_of(out.begin(), out.end(), [&](const SavedOp& other) { return other.name == op->name; }))
      throw UserError({.what = str(escaped(name), ": two ops that C++ functions compute are called ", op->name,
                                   ", which a file cannot tell apart"),
                       .hint = "give each a name of its own, or make one op and use it twice"});
    out.push_back({op->name, versions.at(op)});
  }
  return out;
}

std::string function_bytes(const Function::State& s) {
  const std::string name = escaped(s.options.name);
  if (!s.options.extra_passes.empty())
    throw UserError({.what = str(name, ": a function with passes of its own cannot be saved"),
                     .got = join(s.options.extra_passes, ", ", [](const Pass& pass) { return pass.name; })});
  if (s.options.target)
    throw UserError({.what = str(name, ": a function for another target than this machine cannot be saved"),
                     .got = s.options.target->text()});
  FunctionImage image{.options = s.options, .output_names = s.output_names};
  image.borrowed.assign(s.borrowed.begin(), s.borrowed.begin() + static_cast<int64_t>(s.output_names.size()));
  for (const InOptions& input : s.inputs)
    image.inputs.push_back(
        {input.value, input.update.has_value(), input.is_mutable, input.strict, input.allow_downcast});
  Graph graph = s.graph;
  // The values of resized variables are updates, and what defines lengths follows from the others.
  const size_t kept = s.output_names.size() + s.next_values - s.resized.size();
  for (size_t i = 0; i < s.resized.size(); ++i) graph.updates.push_back({s.resized[i], graph.outputs[kept + i]});
  graph.outputs.resize(kept);
  image.ops = ops_of_users(graph, s.options.name);
  image.graph = graph_text(graph);
  GraphDetails details = details_of(graph);
  for (const std::shared_ptr<SharedStorage>& own : details.variables) {
    const auto at =
        std::find_if(s.leaves.begin(), s.leaves.end(), [&](const Expr& leaf) { return leaf.node().shared == own; });
    TH_CHECK(at != s.leaves.end(), "no leaf of ", own->name);
    const SharedStorage& used = *s.storages[static_cast<size_t>(at - s.leaves.begin())];
    image.variables.push_back({used.name, own->type, used.value.on_host()});
  }
  add_places(details, image);
  image.long_constants = std::move(details.long_constants);
  ByteWriter writer;
  writer(image);
  const std::string mark = str(kFunctionMark, kFunctionVersion);
  return str(mark, writer.bytes, detail::entry_trailer("function", "", writer.bytes));
}

void Function::save(const std::string& path) const {
  const State& s = state_behind(state_);
  const CallScope scope(*s.mark, name());
  const std::string bytes = function_bytes(s);
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

// ---- loading -------------------------------------------------------------------------------------------------------

// Nodes name their file by its address, as long as there may be nodes.
static const char* kept_name(const std::string& file) {
  static std::mutex mutex;
  static std::set<std::string>& all = *new std::set<std::string>();
  const std::lock_guard lock(mutex);
  return all.insert(file).first->c_str();
}

static GraphDetails details_of_image(const FunctionImage& image, std::vector<Shared>& variables) {
  GraphDetails out;
  std::vector<const char*> files;
  std::vector<std::shared_ptr<const ScopeInfo>> scopes{nullptr};
  for (const std::string& file : image.files) files.push_back(kept_name(file));
  for (const ScopeInfo& scope : image.scopes) scopes.push_back(std::make_shared<const ScopeInfo>(scope));
  for (const SavedLine& line : image.lines) {
    if (line.file >= files.size() || line.scope >= scopes.size())
      throw UserError(Message{.what = "a line of source that is none of its files"});
    out.lines.push_back(
        {{files[line.file], line.line, scopes[line.scope], line.in_gradient}, line.serial, line.in_body});
  }
  for (const SavedVariable& variable : image.variables) {
    variables.push_back(Shared::of_lengths(variable.type.dims, variable.value, variable.name));
    out.variables.push_back(variables.back().expr().node().shared);
  }
  out.long_constants = image.long_constants;
  return out;
}

static std::vector<const Op*> given_ops(const FunctionImage& image, const std::string& path,
                                        const LoadOptions& options) {
  std::vector<const Op*> out;
  for (const SavedOp& saved : image.ops) {
    if (saved.name == covariance_root_op().name) {
      out.push_back(&covariance_root_op());
      continue;
    }
    const auto at = std::find_if(options.ops.begin(), options.ops.end(),
                                 [&](const OpFromFunction& op) { return op.op().name == saved.name; });
    if (at == options.ops.end() || at->version() != saved.version)
      throw file_error(path, str("the function needs the op ", escaped(saved.name), ", which is not given"),
                       str(escaped(saved.name), " of version ", escaped(saved.version)),
                       at == options.ops.end() ? "" : str(escaped(saved.name), " of version ", escaped(at->version())),
                       "give it as the program did that saved the function: load_function(path, {.ops = {my_op}})");
    out.push_back(&at->op());
  }
  return out;
}

static LoadedFunction parts_of(const FunctionImage& image, const std::vector<const Op*>& ops) {
  std::vector<Shared> variables;
  const GraphDetails details = details_of_image(image, variables);
  const Graph graph = parse_graph(
      image.graph,
      [&](std::string_view name) {
        const auto at = std::find_if(ops.begin(), ops.end(), [&](const Op* op) { return op->name == name; });
        return at == ops.end() ? find_op(name) : *at;
      },
      &details);
  const auto next_values =
      std::count_if(image.inputs.begin(), image.inputs.end(), [](const SavedInput& input) { return input.has_update; });
  const size_t seen = image.output_names.size();
  if (graph.inputs.size() != image.inputs.size() || image.borrowed.size() != seen ||
      graph.outputs.size() != seen + static_cast<size_t>(next_values))
    throw UserError(Message{.what = "other numbers of inputs or outputs than those of its graph"});
  LoadedFunction out{.updates = graph.updates, .options = image.options};
  size_t next = seen;
  for (size_t i = 0; i < image.inputs.size(); ++i) {
    const SavedInput& input = image.inputs[i];
    out.inputs.emplace_back(graph.inputs[i], InOptions{.value = input.value,
                                                       .update = input.has_update ? graph.outputs[next++] : Expr(),
                                                       .is_mutable = input.is_mutable,
                                                       .strict = input.strict,
                                                       .allow_downcast = input.allow_downcast});
  }
  for (size_t k = 0; k < seen; ++k) {
    const std::string& name = image.output_names[k];  // given to function(), or the expression's
    out.outputs.emplace_back(name == graph.outputs[k].name() ? "" : name, graph.outputs[k], image.borrowed[k]);
  }
  out.options.effects = graph.effects;
  out.options.no_default_updates = true;  // they are among the updates
  out.options.unused_inputs = UnusedInputs::kAllowed;
  return out;
}

LoadedFunction function_of_bytes(const std::string& bytes, const std::string& path, const LoadOptions& options) {
  if (!bytes.starts_with(kFunctionMark))
    throw file_error(path, "this is no file of a function", "what Function::save() writes");
  const std::string_view version = std::string_view(bytes).substr(kFunctionMark.size());
  if (!version.starts_with(kFunctionVersion))
    throw file_error(path, "the function was saved by another version of thtrain",
                     str("version ", kFunctionVersion.substr(0, kFunctionVersion.size() - 1), " of its file"),
                     escaped(version.substr(0, std::min<size_t>(version.find('\n'), 20))),
                     "save it again with this one");
  const char* damaged = "the file is cut or was changed";
  const std::optional<std::string> content =
      detail::entry_content("function", "", std::string(version.substr(kFunctionVersion.size())));
  FunctionImage image;
  if (!content) throw file_error(path, damaged, "what Function::save() wrote");
  ByteReader reader(*content);
  reader(image);
  if (!reader.is_done()) throw file_error(path, damaged, "what Function::save() wrote", "lengths that do not fit");
  const std::vector<const Op*> ops = given_ops(image, path, options);
  try {
    return parts_of(image, ops);
  } catch (const Error& error) {  // an InternalError too: rules of types take for granted what builders give
    std::vector<Message> messages = error.messages();
    throw file_error(path, "the function in the file cannot be made", messages.at(0).expected, messages.at(0).what);
  }
}

Function load_function(const std::string& path, const LoadOptions& options, std::source_location where) {
  const EffectScope own;  // what is read belongs to no body that is being built
  LoadedFunction parts = function_of_bytes(read_file(path), path, options);
  return function(parts.inputs, parts.outputs, parts.updates, parts.options, where);
}

std::vector<Shared> Function::shared_variables() const {
  const State& s = state_behind(state_);
  std::vector<Shared> out;
  for (size_t i : s.own_leaves)
    out.push_back(Shared(s.leaves[i].node().shared == s.storages[i]
                             ? s.leaves[i]
                             : make_shared_leaf(s.storages[i], std::source_location::current())));
  return out;
}

}  // namespace thtrain
