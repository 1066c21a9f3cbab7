#include "compiler/tuning/trial_program.h"

#include <algorithm>

#include "compiler/base/error.h"
#include "compiler/codegen/emit.h"
#include "compiler/ir/op.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/clone_replace.h"
#include "compiler/passes/fuse_pooling.h"

namespace thtrain {
namespace {

Tensor filled(const Type& type, const TrialNumbers& numbers, size_t array) {
  Tensor out = Tensor::empty(type.dtype, type.known_shape());
  visit(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < out.size(); ++i) {
      if constexpr (is_complex_v<T>)
        out.data<T>()[i] = static_cast<typename T::value_type>(numbers(array, i));
      else
        out.data<T>()[i] = static_cast<T>(numbers(array, i));
    }
  });
  return out;
}

Expr variable_of(const Type& type, std::string name) {
  auto storage = std::make_shared<SharedStorage>();
  storage->name = std::move(name);
  storage->type = type;
  return make_shared_leaf(storage, std::source_location::current());
}

// Variables stay on a device between calls: nothing is copied while it is timed.
Graph on_target(const Graph& graph, const kernel::Target& target) {
  if (!target.is_device()) return graph;
  std::vector<std::pair<Expr, Expr>> replaced;
  for (const Expr& input : graph.inputs) replaced.emplace_back(input, variable_of(input.type(), input.name()));
  std::vector<Expr> values = graph.outputs;
  for (const Update& update : graph.updates) values.push_back(update.value);
  values = clone_replace(values, replaced);
  Graph out;
  for (size_t k = 0; k < values.size(); ++k) {
    const bool is_output = k < graph.outputs.size();
    const Expr to =
        is_output ? variable_of(values[k].type(), str("result ", k)) : graph.updates[k - graph.outputs.size()].variable;
    out.updates.push_back({to, values[k]});
  }
  return out;
}

}  // namespace

double small_numbers(size_t, int64_t i) {
  return static_cast<double>(i * 7 % 13 - 6);
}

int64_t TrialArguments::bytes() const {
  int64_t out = 0;
  for (const std::vector<Tensor>* part : {&inputs, &variables, &constants, &outputs})
    for (const Tensor& t : *part) out += static_cast<int64_t>(t.bytes());
  return out;
}

std::vector<Tensor> TrialArguments::results() const {
  std::vector<Tensor> out = variables;
  out.insert(out.end(), outputs.begin(), outputs.end());
  return out;
}

TrialProgram::Forced::Forced(std::string name, int threads, const kernel::Target& target)
    : candidate(std::move(name)), target(target), others({.target = target, .threads = threads}) {}

std::string TrialProgram::Forced::choose(const kernel::ChoiceKey& key) const {
  return find_candidate(key, candidate, target) ? candidate : others.choose(key);
}

TrialProgram::TrialProgram(const Graph& graph, const std::string& candidate, int threads, const kernel::Target& target)
    : forced_(std::make_unique<Forced>(candidate, threads, target)),
      program_(plan(fuse_pooling(on_target(graph, target), {.chooser = forced_.get(), .target = target}), {},
                    {.target = target, .threads = threads, .chooser = forced_.get()})),
      source_(emit_cpp(program_).text) {
  context_.version = TH_ABI_VERSION;
  context_.threads = threads;
  context_.parallel_for = parallel_for;
  context_.fail = record_failure;
}

void TrialProgram::load() {
  LoadedObject loaded = cache().load_object(source_, "thtrain_entry");
  if (!loaded.object)
    throw UserError(Message{.what = "no candidate can be compiled", .got = loaded.reason, .hint = "install g++"});
  object_ = loaded.object;
  entry_ = reinterpret_cast<ThEntry>(object_->symbol("thtrain_entry"));
  library_ = library_table(source_.libraries);
  context_.library = library_.data();
  const Shape bytes{program_.memory.arena_bytes.value()};
  if (program_.target.is_device()) {
    const ProgramDevice& on = device_of(program_.target);
    device_ = std::make_unique<const DeviceProgram>(on, source_, program_.constants);
    calls_ = std::make_unique<DeviceCalls>(on);
    calls_->start_timing();
    context_.device = calls_.get();
    arena_ = Tensor::empty(DType::kUInt8, bytes, &on.memory);
  } else {
    arena_ = Tensor::zeros(DType::kUInt8, bytes);  // each page is touched
  }
  context_.arena = static_cast<char*>(const_cast<void*>(arena_.address()));
}

TrialArguments TrialProgram::arguments(const TrialNumbers& numbers) const {
  TrialArguments out;
  size_t array = 0;
  for (const Expr& input : program_.graph.inputs) out.inputs.push_back(filled(input.type(), numbers, array++));
  for (const Expr& leaf : program_.shared) {
    out.variables.push_back(filled(leaf.type(), numbers, array++));
    if (calls_) out.variables.back() = out.variables.back().copy(&calls_->on().memory);
  }
  out.constants = program_.constants;
  for (const Expr& output : program_.graph.outputs) out.outputs.push_back(filled(output.type(), numbers, array++));
  bind(out);
  return out;
}

TrialArguments TrialProgram::arguments_in(const TrialArguments& other) const {
  TrialArguments out;
  out.inputs = other.inputs;
  out.variables = other.variables;
  out.constants = program_.constants;
  out.outputs = other.outputs;
  bind(out);
  return out;
}

void TrialProgram::bind(TrialArguments& arguments) {
  for (std::vector<Tensor>* part : {&arguments.inputs, &arguments.variables, &arguments.constants, &arguments.outputs})
    for (Tensor& t : *part) arguments.entry.push_back({const_cast<void*>(t.address()), t.shape().data()});
}

void TrialProgram::fill_arena(uint8_t byte) {
  std::fill_n(arena_.data<uint8_t>(), arena_.size(), byte);
}

bool TrialProgram::run(const TrialArguments& arguments) {
  if (calls_) return run_on_device(arguments);
  return entry_(&context_, arguments.entry.data()) == 0;
}

bool TrialProgram::run_on_device(const TrialArguments& arguments) {
  context_.failure.word = 0;
  calls_->begin(*device_, 0, &context_, [](ThContext*) {});  // the word of failure says it all
  try {
    const bool is_done = entry_(&context_, arguments.entry.data()) == 0;
    is_done ? calls_->finish() : calls_->end_early();
    calls_->on().memory.settle();
    return is_done && context_.failure.word == 0;
  } catch (const Error& error) {  // of memory that has run out, for example
    trouble_ = str(error.messages().front().what,
                   error.messages().front().got.empty() ? "" : str(": ", error.messages().front().got));
    return false;
  }
}

Graph example_of(const kernel::ChoiceKey& key) {
  const Computation* computation = find_computation(key.computation);
  std::optional<Graph> graph = computation ? computation->example(key.properties) : std::nullopt;
  if (!graph) throw UserError({.what = "no computation can be timed by this key", .got = key.text()});
  return std::move(*graph);
}

double flops_of(const Graph& graph) {
  Dim flops = 0;
  for (const Node* node : topological_order(graph.roots()))
    if (node->op->cost) flops = flops + node->op->cost(*node).flops;
  return flops.is_known() ? static_cast<double>(flops.value()) : 0;
}

}  // namespace thtrain
