#include "compiler/runtime/data_lengths.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/base/escape.h"
#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/length_condition.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/evaluate.h"
#include "compiler/runtime/buffer_owners.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {
namespace {

using State = Function::State;

// The outputs that the caller sees.
size_t seen_outputs(const State& s) {
  return s.graph.outputs.size() - s.lengths.names.size();
}

ThTensor& argument_of_output(State& s, size_t k) {
  return s.args[s.args.size() - s.graph.outputs.size() + k];
}

// Null: on the host.
const AddressSpace* space_of_output(const State& s, size_t k) {
  return s.device && s.internal[k] ? &s.device->on().memory : nullptr;
}

// The lengths that bodies define, each with its number in the canonical graph.
void add_lengths_of_bodies(const Graph& graph, std::map<std::string, size_t>& names) {
  for (const Node* node : topological_order(graph.roots()))
    for (const GraphPtr& body : node->bodies) {
      for (const Expr& effect : body->effects)
        if (const std::string name = defined_name(effect); !name.empty()) names.emplace(name, number_of_length(name));
      add_lengths_of_bodies(*body, names);
    }
}

bool is_known(const LengthCheck& check, const Lengths& lengths) {
  std::set<std::string> names;
  check.left.collect_names(names);
  check.right.collect_names(names);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return lengths.has(name); });
}

// A value that was made anew on other inputs keeps the name of its length: with the first one that is a mistake.
void check_one_value_each(const Graph& graph) {
  std::map<std::string, const Node*> definers;
  const Graph merged = rewrite_graph(graph, [](const Node&, const std::vector<Expr>&) { return std::vector<Expr>(); });
  for (const Node* node : topological_order(merged.roots())) {
    for (const GraphPtr& body : node->bodies) check_one_value_each(*body);
    if (!node->op->defines) continue;
    for (const DefinedLength& length : node->op->defines(*node)) {
      auto [at, fresh] = definers.try_emplace(length.name, node);
      if (!fresh && at->second != node)
        throw UserError({.what = str("function: the length ", readable(length.name), " has two values"),
                         .got = str(at->second->origin.text(), ", and ", node->origin.text()),
                         .node = node->origin.text(),
                         .config = node->origin.config(),
                         .hint = "a value and the same with something in it replaced cannot be in one function; "
                                 "build the other one anew"});
    }
  }
}

}  // namespace

Graph with_givens(const Graph& graph, const std::vector<std::pair<Expr, Expr>>& givens) {
  LengthMap map;
  for (const auto& [from, to] : givens) {
    const bool is_listed = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                       [&, &input = from](const Expr& listed) { return listed.same(input); });
    if (!is_input(from) || is_listed) continue;
    for (size_t axis = 0; axis < from.rank(); ++axis) {
      const Dim& length = from.dims()[axis];
      std::set<std::string> names;
      length.collect_names(names);
      if (names.size() == 1 && length == Dim::named(*names.begin()) && !(length == to.dims()[axis]))
        map.emplace(*names.begin(), to.dims()[axis]);
    }
  }
  return map.empty() ? substitute(graph, givens) : rename_lengths(graph, map, givens);
}

Graph with_definitions(Graph graph, size_t seen_outputs) {
  graph.outputs.resize(seen_outputs);
  const std::vector<Expr> definitions = definitions_of(graph.roots());
  graph.outputs.insert(graph.outputs.end(), definitions.begin(), definitions.end());
  return graph;
}

void name_definitions(State& s) {
  s.lengths.inside.clear();
  add_lengths_of_bodies(s.canonical.graph, s.lengths.inside);
  if (!s.lengths.any()) return;
  check_one_value_each(s.canonical.graph);
  size_t numbers = s.lengths.names.size();
  for (const auto& [name, number] : s.lengths.inside) numbers = std::max(numbers, number + 1);
  s.lengths.values.assign(numbers, 0);
  for (size_t i = 0; i < s.lengths.names.size(); ++i) {
    const size_t k = seen_outputs(s) + i;
    s.lengths.names[i] = {defined_name(s.graph.outputs[k]), defined_name(s.canonical.graph.outputs[k])};
  }
  for (size_t k = 0; k < s.graph.outputs.size(); ++k)
    if (is_data_dependent(s.graph.outputs[k].dims())) s.lengths.late_outputs.push_back(k);
}

void begin_lengths(State& s, std::span<const Tensor> inputs) {
  s.context.lengths = s.lengths.values.data();
  s.lengths.inputs = inputs;
  s.lengths.late_values.assign(s.graph.outputs.size(), Tensor());
  for (size_t k : s.lengths.late_outputs) {
    s.output_shapes[k] = {0};
    argument_of_output(s, k).data = nullptr;
  }
  for (size_t k = seen_outputs(s); k < s.graph.outputs.size(); ++k)
    *static_cast<int64_t*>(argument_of_output(s, k).data) = 0;
}

void read_lengths(State& s) {
  for (size_t i = 0; i < s.lengths.names.size(); ++i) {
    const int64_t value = *static_cast<const int64_t*>(argument_of_output(s, seen_outputs(s) + i).data);
    s.user_lengths.set(s.lengths.names[i].first, value);
    s.canonical_lengths.set(s.lengths.names[i].second, value);
  }
  for (const auto& [name, number] : s.lengths.inside) s.canonical_lengths.set(name, s.lengths.values[number]);
}

void finish_lengths(State& s, std::vector<Tensor>& outputs) {
  read_lengths(s);
  for (size_t k : s.lengths.late_outputs) {
    const Shape shape = s.user_lengths.evaluate(s.graph.outputs[k].dims());
    // The program asks for no memory where there are no elements whatever the data decides.
    outputs[k] = element_count(shape) == 0 ? Tensor::empty(s.graph.outputs[k].dtype(), shape, space_of_output(s, k))
                                           : s.lengths.late_values[k].reshape(shape);
  }
  outputs.resize(seen_outputs(s));
  s.lengths.late_values.clear();
}

UserError with_changed_variables(const UserError& error) {
  std::vector<Message> messages = error.messages();
  std::string& hint = messages.back().hint;
  hint += str(hint.empty() ? "" : "; ", kMayHaveChanged);
  return UserError(std::move(messages));
}

void* on_allocate(ThContext* context, int slot, long bytes) {
  State& s = *static_cast<State*>(context->host);
  const size_t number = static_cast<size_t>(slot);
  try {
    if (number < s.graph.outputs.size()) {
      read_lengths(s);
      s.output_shapes[number] = s.user_lengths.evaluate(s.graph.outputs[number].dims());
      Tensor out = output_buffer(s, number, s.lengths.inputs);
      TH_CHECK(out.bytes() == static_cast<size_t>(bytes), "output ", number, " of ", bytes, " bytes is ",
               out.type_text());
      s.lengths.late_values[number] = out;
      return argument_of_output(s, number).data = const_cast<void*>(out.address());
    }
    std::vector<Tensor>& buffers = s.lengths.temporaries;
    const size_t index = number - s.graph.outputs.size();
    if (buffers.size() <= index) buffers.resize(index + 1, Tensor::empty(DType::kUInt8, {0}));
    if (buffers[index].bytes() < static_cast<size_t>(bytes)) buffers[index] = Tensor::empty(DType::kUInt8, {bytes});
    return buffers[index].raw();
  } catch (const UserError& error) {
    s.fail(std::make_exception_ptr(s.graph.updates.empty() ? error : with_changed_variables(error)));
  } catch (...) {
    s.fail(std::current_exception());
  }
  return nullptr;
}

std::vector<std::pair<Expr, Tensor>> define_by_reference(State& s, std::span<const Tensor> inputs) {
  std::vector<std::pair<Expr, Tensor>> out;
  for (size_t i = 0; i < inputs.size(); ++i) out.emplace_back(s.graph.inputs[i], inputs[i]);
  for (size_t i = 0; i < s.leaves.size(); ++i) out.emplace_back(s.leaves[i], s.storages[i]->value.on_host());
  std::vector<LengthCheck> waiting = s.canonical.value_checks;
  auto check_known = [&] {
    std::vector<LengthCheck> known, others;
    for (LengthCheck& check : waiting)
      (is_known(check, s.canonical_lengths) ? known : others).push_back(std::move(check));
    waiting = std::move(others);
    check_lengths(known, s.canonical_lengths);
  };
  if (!s.lengths.any()) {
    check_lengths(waiting, s.canonical_lengths);
    return out;
  }
  for (const auto& [user, canonical] : s.lengths.names) s.canonical_lengths.forget(canonical);
  for (const auto& [name, number] : s.lengths.inside) s.canonical_lengths.forget(name);
  check_known();
  for (size_t i = 0; i < s.lengths.names.size(); ++i) {
    const Expr definition = s.graph.outputs[seen_outputs(s) + i];
    // What is computed here is computed again with the outputs: effects wait until then.
    Graph silent{.inputs = s.graph.inputs, .outputs = {definition}, .updates = {}};
    if (!s.graph.effects.empty()) silent = without_effects(silent);
    const Tensor value = evaluate_with(silent.outputs, out, s.user_lengths)[0];
    s.user_lengths.set(s.lengths.names[i].first, value.as_int());
    s.canonical_lengths.set(s.lengths.names[i].second, value.as_int());
    out.emplace_back(definition, value);
    check_known();
  }
  return out;
}

void check_lengths(const std::vector<LengthCheck>& checks, const Lengths& lengths) {
  for (const LengthCheck& check : checks)
    if (int64_t left = lengths.evaluate(check.left), right = lengths.evaluate(check.right); left != right)
      throw_lengths_differ(check, left, right);
}

void check_known_lengths(const std::vector<LengthCheck>& checks, const Lengths& lengths) {
  std::vector<LengthCheck> known;
  std::copy_if(checks.begin(), checks.end(), std::back_inserter(known),
               [&](const LengthCheck& check) { return is_known(check, lengths); });
  check_lengths(known, lengths);
}

static std::string output_text(const State& s, size_t k) {
  const std::string& name = s.graph.outputs[k].name();
  return str("output ", k, name.empty() ? "" : str(" (", escaped(name), ")"));
}

static Tensor new_output(const State& s, size_t k) {
  const Expr& output = s.graph.outputs[k];
  try {
    return Tensor::empty(output.dtype(), s.output_shapes[k], space_of_output(s, k));
  } catch (const UserError& error) {
    Message message = error.messages()[0];
    message.what = str(output_text(s, k), ": ", message.what);
    message.node = output.node().origin.text();
    message.config = output.node().origin.config();
    throw UserError(std::move(message));
  }
}

Tensor output_buffer(State& s, size_t k, std::span<const Tensor> inputs) {
  const DType dtype = s.graph.outputs[k].dtype();
  if (!s.borrowed[k]) return new_output(s, k);
  State::OwnOutput& own = s.own_outputs[k];
  const bool given_back = own.value && std::any_of(inputs.begin(), inputs.end(),
                                                   [&](const Tensor& t) { return t.shares_memory_with(*own.value); });
  if (!own.value || given_back || own.value->shape() != s.output_shapes[k] || own.value->dtype() != dtype) {
    Tensor fresh = new_output(s, k);
    own.claim = nullptr;
    own.value = std::move(fresh);  // the old one is freed after its claim is given up
    own.claim = claim_buffer(&s, str(output_text(s, k), " of ", escaped(s.options.name)), *own.value,
                             s.graph.outputs[k].node().origin);
  }
  return *own.value;
}

}  // namespace thtrain
