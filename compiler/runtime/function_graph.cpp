#include "compiler/runtime/function_graph.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <unordered_set>

#include "compiler/autodiff/differentiation.h"
#include "compiler/base/escape.h"
#include "compiler/ir/default_updates.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/lengths.h"
#include "compiler/ir/op.h"
#include "compiler/ops/shape/specify_lengths.h"
#include "compiler/runtime/arguments.h"
#include "compiler/runtime/data_lengths.h"

namespace thtrain {

namespace {

// Every name of a length in types and properties of nodes that are no leaves.
void collect_length_names(const Graph& graph, std::set<std::string>& names) {
  for (const Node* node : topological_order(graph.roots())) {
    if (node->is_leaf()) continue;
    for (const Type& type : node->types)
      for (const Dim& dim : type.dims) dim.collect_names(names);
    for (const auto& [key, value] : node->props.all())
      if (const Dims* dims = std::get_if<Dims>(&value))
        for (const Dim& dim : *dims) dim.collect_names(names);
    for (const GraphPtr& body : node->bodies) collect_length_names(*body, names);
  }
}

void check_graph(const Graph& graph, const FunctionOptions& options, const std::source_location& where) {
  const std::string name_of_function = escaped(options.name);
  std::unordered_set<const Node*> listed, updated;
  for (const Expr& input : graph.inputs) {
    if (!is_input(input))
      throw UserError({.what = name_of_function + ": an input must be a variable",
                       .got = described(input),
                       .node = input.node().origin.text()});
    if (!listed.insert(&input.node()).second)
      throw UserError({.what = name_of_function + ": an input is listed twice",
                       .got = described(input),
                       .node = input.node().origin.text()});
  }
  for (const Update& update : graph.updates) {
    const Origin& origin = update.value.node().origin;
    if (!is_shared(update.variable))
      throw UserError({.what = name_of_function + ": only shared variables can be updated",
                       .got = described(update.variable),
                       .node = origin.text()});
    if (!updated.insert(&update.variable.node()).second)
      throw UserError({.what = name_of_function + ": two updates of one shared variable",
                       .got = described(update.variable),
                       .node = origin.text()});
    if (!(update.value.type() == update.variable.type()) &&
        (update.value.dtype() != update.variable.dtype() || update.value.rank() != update.variable.rank()))
      throw UserError(
          {.what = str(name_of_function, ": the update of ", escaped(update.variable.name()), " has another type"),
           .expected = readable(update.variable.type().text()),
           .got = readable(update.value.type().text()),
           .node = origin.text(),
           .config = origin.config(),
           .hint = update.value.dtype() == update.variable.dtype() ? "" : "cast the value to the variable's dtype"});
  }
  // A variable may be read through its value as a length (rows(x, start, n)) or through its shape alone.
  std::set<std::string> names;
  collect_length_names(graph, names);
  std::unordered_set<const Node*> used;
  std::set<std::string> bound;
  for (const Expr& leaf : shared_leaves(graph))
    for (const Dim& dim : leaf.dims())
      if (const auto told = told_by(dim)) bound.insert(told->first);
  for (const Expr& input : graph.inputs) {
    std::set<std::string> own{value_name(input.node())};
    bound.insert(value_name(input.node()));
    for (const Dim& dim : input.dims()) {
      dim.collect_names(own);
      if (const auto told = told_by(dim)) bound.insert(told->first);
    }
    for (const std::string& name : own)
      if (names.count(name)) used.insert(&input.node());
  }
  for (const std::string& name : names)
    if (name[0] == '@' && !bound.count(name))
      throw UserError(Message{.what = str(name_of_function, ": an output needs the value of ", readable(name.substr(1)),
                                          ", which is not among the inputs"),
                              .node = Origin::here(where).text(),
                              .hint = "list it as an input, or replace it through givens"});
  for (const Expr& leaf : leaves_of(graph.roots())) {
    used.insert(&leaf.node());
    if (is_input(leaf) && !listed.count(&leaf.node()))
      throw UserError(
          {.what = str(name_of_function, ": an output needs ", escaped(leaf.name()), ", which is not among the inputs"),
           .got = described(leaf),
           .node = leaf.node().origin.text(),
           .hint = "list it as an input, or replace it through givens"});
  }
  for (const std::string& name : names)
    if (name[0] != '@' && name[0] != '#' && !bound.count(name))
      throw UserError(Message{
          .what = str(name_of_function, ": an output needs the length ", readable(name), ", which no input has"),
          .expected = "an input with an axis of that length",
          .node = Origin::here(where).text(),
          .hint = "list one, such as matrix(\"x\", {\"n\", 784}) for n, or give a number"});
  for (const Expr& input : graph.inputs) {
    if (options.unused_inputs == UnusedInputs::kAllowed || used.count(&input.node())) continue;
    const UserError error({.what = str(name_of_function, ": nothing reads the input ", escaped(input.name())),
                           .got = described(input),
                           .node = input.node().origin.text(),
                           .hint = "leave it out, or set FunctionOptions::unused_inputs"});
    if (options.unused_inputs == UnusedInputs::kRefused) throw error;
    std::fprintf(stderr, "warning: %s: nothing reads the input %s (%s)\n", printable(options.name).c_str(),
                 printable(input.name()).c_str(), printable(input.node().origin.text()).c_str());
  }
}

// An update whose lengths cannot be proved to be the variable's gets a check, and the variable's type.
Graph with_exact_updates(Graph graph) {
  for (Update& update : graph.updates) {
    if (update.value.type() == update.variable.type()) continue;
    InheritOrigin inherit(update.value.node().origin);
    update.value = specify_lengths(update.value, update.variable.type().dims);
  }
  return graph;
}

// With the lengths that the type knows.
Expr with_known_lengths(const Expr& value, const Type& type) {
  Dims dims = value.dims();
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (type.dims[axis].is_known()) dims[axis] = type.dims[axis];
  InheritOrigin inherit(value.node().origin);
  return dims == value.dims() ? value : specify_lengths(value, dims);
}

// The value that an input has in the next call, with its known lengths.
Expr next_value(const In& in) {
  const Expr &variable = in.variable, &value = in.options.update;
  const Origin& origin = value.node().origin;
  if (value.dtype() != variable.dtype() || value.rank() != variable.rank())
    throw UserError({.what = str("function: the update of the input ", escaped(variable.name()), " has another type"),
                     .expected = readable(variable.type().text()),
                     .got = readable(value.type().text()),
                     .node = origin.text(),
                     .config = origin.config(),
                     .hint = value.dtype() == variable.dtype() ? "" : "cast the update to the input's dtype"});
  return with_known_lengths(value, variable.type());
}

// May the update have another length than the variable's value, where the variable's type allows it? A second update
// of the variable is a mistake, which check_graph() names.
bool may_resize(const Update& update, const std::vector<Update>& all) {
  const Type &own = update.variable.type(), &next = update.value.type();
  const auto is_of_it = [&](const Update& other) { return other.variable.same(update.variable); };
  return is_shared(update.variable) && !own.is_known() && !(own == next) && own.dtype == next.dtype &&
         own.rank() == next.rank() && std::count_if(all.begin(), all.end(), is_of_it) == 1;
}

// What is listed as an effect must be one.
void check_effects(const FunctionOptions& options, const std::source_location& where) {
  for (const Expr& effect : options.effects) {
    require_value(effect, "function: an effect", where);
    const Origin& origin = effect.node().origin;
    if (!has_effect(effect.node()))
      throw UserError({.what = "function: a value is listed in effects and has none",
                       .expected = "the result of print, or of an op with a print in its body",
                       .got = described(effect),
                       .node = origin.text(),
                       .config = origin.config(),
                       .hint = "list y = print(x, ...) itself, not what is computed from it"});
  }
}

void check_numbers(const FunctionOptions& options, const std::source_location& where) {
  auto check = [&](const char* name, double value, const char* expected) {
    if (!(value >= 0))
      throw UserError({.what = str("function: the option ", name, " is out of range"),
                       .expected = expected,
                       .got = str(value),
                       .node = Origin::here(where).text()});
  };
  check("threads", options.threads, "an integer, at least 0 (0: OMP_NUM_THREADS, or all cores)");
  check("conv_tolerance", options.conv_tolerance, "a number, at least 0");
  check("nan_guard.above", options.nan_guard.above, "a number, at least 0 (infinity: none is too large)");
}

void check_givens(const FunctionOptions& options, const std::source_location& where) {
  std::set<std::pair<const Node*, size_t>> replaced;
  for (const auto& [from, to] : options.givens) {
    require_value(from, "givens: what is replaced", where);
    require_value(to, "givens: what replaces another value", where);
    if (!(from.type() == to.type()) && (from.dtype() != to.dtype() || from.rank() != to.rank()))
      throw UserError({.what = "givens: a value must be replaced by one of its type",
                       .expected = described(from),
                       .got = described(to)});
    if (!replaced.insert({&from.node(), from.output()}).second)
      throw UserError({.what = "givens: a value is replaced twice",
                       .expected = "one replacement of each value",
                       .got = described(from),
                       .node = Origin::here(where).text()});
  }
}

// Generators that the draws of the graph move on, unless the caller updates them or asks to leave them alone.
void add_default_updates(Graph& graph, const FunctionOptions& options) {
  const auto* left_alone = std::get_if<std::vector<Expr>>(&options.no_default_updates);
  if (!left_alone && std::get<bool>(options.no_default_updates)) return;
  for (Update& update : default_updates(graph)) {
    auto is_this = [&](const Expr& other) { return other.same(update.variable); };
    if (left_alone && std::any_of(left_alone->begin(), left_alone->end(), is_this)) continue;
    const Origin& origin = update.variable.node().origin;
    if (!update.value.has_value())
      throw UserError(
          {.what = str("function: a random draw in the body of a loop or a branch reads ",
                       escaped(update.variable.name()), ", and would give the same numbers in every iteration"),
           .expected = "draws outside of bodies, or generators that are states of the loop",
           .node = origin.text(),
           .config = origin.config(),
           .hint = "scan() draws anew in every step; repeat() takes numbers that were drawn before the loop"});
    graph.updates.push_back(std::move(update));
  }
}

bool fits(const Tensor& value, const Type& type) {
  bool out = value.dtype() == type.dtype && value.rank() == type.rank();
  for (size_t i = 0; out && i < type.rank(); ++i)
    out = !type.dims[i].is_known() || type.dims[i].value() == value.dim(i);
  return out;
}

}  // namespace

std::vector<InOptions> options_of_inputs(const std::vector<In>& inputs, const std::source_location& where) {
  std::vector<InOptions> out;
  for (const In& in : inputs) {
    out.push_back(in.options);
    const Type& type = in.variable.type();
    const Origin& origin = in.variable.node().origin;
    std::optional<Tensor>& value = out.back().value;
    if (!value && in.options.update.has_value())
      throw UserError({.what = str("function: the input ", escaped(in.variable.name()),
                                   " has an update, and no value that it would replace"),
                       .node = with_call(origin.text(), "function", where),
                       .config = origin.config(),
                       .hint = "give the value of the first call: In(x, {.value = 0.0, .update = x + 1})"});
    if (!value) continue;
    if (std::optional<Tensor> converted = in_dtype(*value, type.dtype, in.options)) value = converted;
    if (in.options.is_mutable && in.options.update.has_value()) value = value->copy();  // calls write over it
    if (!fits(*value, type))
      throw UserError({.what = "function: the value of an input has another type",
                       .expected = described(in.variable),
                       .got = value->type_text(),
                       .node = with_call(origin.text(), "function", where),
                       .config = origin.config(),
                       .hint = value->dtype() == type.dtype ? "" : "cast the value to the input's dtype"});
  }
  return out;
}

std::vector<std::string> names_of_outputs(const std::vector<Out>& outputs, const std::source_location& where) {
  std::vector<std::string> out;
  std::set<std::string> given;
  for (const Out& output : outputs) {
    out.push_back(output.name.empty() ? output.expr.name() : output.name);
    if (!output.name.empty() && !given.insert(output.name).second)
      throw UserError({.what = str("function: two outputs are called ", escaped(output.name)),
                       .expected = "names that tell the outputs apart",
                       .node = with_call("", "function", where)});
  }
  return out;
}

Graph function_graph(const std::vector<In>& inputs, const std::vector<Out>& outputs, const std::vector<Update>& updates,
                     const FunctionOptions& options, std::vector<Expr>& resized, const std::source_location& where) {
  for (const Update& update : updates) {
    require_value(update.variable, "function: an updated variable", where);
    require_value(update.value, "function: the value of an update", where);
  }
  check_numbers(options, where);
  require_rewrites(options.without);
  check_givens(options, where);
  check_effects(options, where);
  Graph graph{.inputs = {}, .outputs = {}, .updates = {}, .effects = options.effects};
  for (const In& in : inputs) graph.inputs.push_back(in.variable);
  for (const Out& out : outputs) graph.outputs.push_back(out.expr);
  for (const In& in : inputs)
    if (in.options.update.has_value()) graph.outputs.push_back(next_value(in));
  for (const Update& update : updates) {
    if (!may_resize(update, updates)) {
      graph.updates.push_back(update);
      continue;
    }
    resized.push_back(update.variable);
    graph.outputs.push_back(with_known_lengths(update.value, update.variable.type()));
  }
  const size_t seen_or_next = graph.outputs.size();
  graph = with_definitions(std::move(graph), seen_or_next);
  if (!options.givens.empty()) {
    graph = with_givens(graph, options.givens);
    graph = with_definitions(std::move(graph), seen_or_next);
  }
  add_default_updates(graph, options);
  check_graph(graph, options, where);
  return thread_effects(with_exact_updates(std::move(graph)));
}

}  // namespace thtrain
