#include "compiler/runtime/debug_rewrites.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/print.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {
namespace {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

Bindings bindings_of(const Function::State& s, std::span<const Tensor> inputs) {
  Bindings out;
  for (size_t i = 0; i < inputs.size(); ++i) out.emplace_back(s.canonical.graph.inputs[i], inputs[i]);
  for (size_t i = 0; i < s.leaves.size(); ++i) out.emplace_back(s.leaves[i], s.storages[i]->value.on_host());
  return out;
}

Infinities infinities_of(bool is_exact) {
  return is_exact ? Infinities::kSame : Infinities::kUnknown;
}

void note(const std::function<void(const std::string&)>& sink, const std::string& line) {
  if (sink) return sink(line);
  static std::mutex mutex;
  static std::set<std::string> said;
  std::lock_guard lock(mutex);
  if (said.insert(line).second) std::fprintf(stderr, "%s\n", line.c_str());
}

// Is it no value of a loop's or a branch's body? Inputs of bodies are not among the leaves, and lengths that bodies
// define are not known.
bool closed(const Expr& value, const std::unordered_set<const Node*>& bound, const Lengths& lengths) {
  std::set<std::string> names;
  for (const Node* node : topological_order(std::vector<Expr>{value})) {
    if (node->is_leaf() && !bound.count(node)) return false;
    collect_defined_names(*node, names);
  }
  return std::ranges::all_of(names, [&](const std::string& name) { return lengths.has(name); });
}

// Expressions of float32 as they are in float64, on leaves with the same values.
class Widened {
 public:
  explicit Widened(const RewriteCase& rewritten) : evaluator_({}, rewritten.lengths, Infinities::kUnknown) {
    for (const auto& [leaf, value] : rewritten.leaves) {
      const Expr wide = leaf.dtype() == DType::kFloat32 ? make_input(wider(leaf.type()), leaf.name()) : leaf;
      made_[&leaf.node()] = {wide};
      evaluator_.set(wide, exactly(value.cast(wide.dtype())));
    }
  }

  // The value rounded to float32; nullopt where an op or a body is for float32 alone.
  std::optional<Bounded> operator()(const Expr& value) {
    for (const Node* node : topological_order(std::vector{value}))
      if (!made_.count(node)) make(*node);
    const Expr wide = made_.at(&value.node())[value.output()];
    if (!wide.has_value() || wide.dtype() != DType::kFloat64) return std::nullopt;
    const Bounded& exact = evaluator_(wide);
    Bounded out{exact.value.cast(DType::kFloat32), exact.error.copy()};
    for (int64_t i = 0; i < out.value.size(); ++i) {
      double& error = out.error.data<double>()[i];
      error += std::abs(exact.value.data<double>()[i]) * 0x1p-24 + 0x1p-149;
      if (!std::isfinite(out.value.data<float>()[i])) error = std::numeric_limits<double>::infinity();
    }
    return out;
  }

 private:
  static Type wider(Type type) {
    type.dtype = DType::kFloat64;
    return type;
  }

  void make(const Node& node) {
    std::vector<Expr>& made = made_[&node];
    for (size_t o = 0; o < node.types.size(); ++o) {
      made.push_back(node[o]);
      held_.push_back(made.back());
    }
    if (const Tensor* value = constant_value(node[0])) {
      if (value->dtype() == DType::kFloat32) made = {make_constant(value->cast(DType::kFloat64))};
      return;
    }
    std::vector<Expr> inputs;
    bool is_known = node.bodies.empty(), is_same = true;
    for (const Expr& input : node.inputs) {
      inputs.push_back(made_.at(&input.node())[input.output()]);
      is_known = is_known && inputs.back().has_value();
      is_same = is_same && inputs.back().same(input);
    }
    Props props = node.props;
    for (const auto& [name, value] : node.props.all())
      if (const DType* dtype = std::get_if<DType>(&value); dtype && *dtype == DType::kFloat32) {
        props.set(name, DType::kFloat64);
        is_same = false;
      }
    if (is_same) return;
    try {
      if (is_known) {
        const std::shared_ptr<const Node> wide = make_node(*node.op, inputs, props);
        for (size_t o = 0; o < made.size(); ++o) made[o] = (*wide)[o];
        return;
      }
    } catch (const UserError&) {  // not for these dtypes
    }
    std::ranges::fill(made, Expr());
  }

  BoundedEvaluator evaluator_;
  std::unordered_map<const Node*, std::vector<Expr>> made_;
  std::vector<Expr> held_;  // what is known by address stays where it is
};

class Rewrites {
 public:
  explicit Rewrites(const RewriteCase& rewritten)
      : on_note_(rewritten.on_note),
        evaluator_(rewritten.leaves, rewritten.lengths, Infinities::kUnknown),
        widened_(rewritten),
        lengths_(rewritten.lengths) {
    for (const auto& [leaf, value] : rewritten.leaves) leaves_.insert(&leaf.node());
  }

  void check(const Fired& rewrite) {
    if (!closed(rewrite.before, leaves_, lengths_) || !closed(rewrite.after, leaves_, lengths_)) return;
    Bounded before = evaluator_(rewrite.before), after = evaluator_(rewrite.after);
    if (rewrite.safety == Safety::kExact) before = exactly(before.value), after = exactly(after.value);
    const bool range_may_grow = rewrite.safety == Safety::kRangeChanging;
    if (std::optional<std::string> where = beyond_bounds(after, before, range_may_grow)) fail(rewrite, *where);
    if (range_may_grow && before.value.dtype() == DType::kFloat32)
      if (const std::optional<Bounded> wide = widened_(rewrite.before))
        if (std::optional<std::string> where = beyond_bounds(after, *wide)) fail(rewrite, *where);
    if (rewrite.safety == Safety::kFiniteMath && forgets(before, after))
      note(on_note_, str("debug: note: the rule ", rewrite.rule, " forgot an infinity or a NaN: ",
                         expr_text(rewrite.before), " became ", expr_text(rewrite.after), location(rewrite.before)));
  }

 private:
  static std::string location(const Expr& value) {
    const std::string text = value.node().origin.text();
    return text.empty() ? "" : ", " + text;
  }

  // Where the plain form is no finite number, is the other one a different value?
  static bool forgets(const Bounded& before, const Bounded& after) {
    const Tensor &a = before.value, &b = after.value;
    for (int64_t i = 0; i < a.size(); ++i) {
      const double x = a.as_double(i), y = b.as_double(i);
      if (!std::isfinite(x) && x != y && !(std::isnan(x) && std::isnan(y))) return true;
    }
    return false;
  }

  [[noreturn]] void fail(const Fired& rewrite, const std::string& where) const {
    throw InternalError(
        {.what = str("debug: the rule ", rewrite.rule, " of the pass ", rewrite.pass, " changes a value"),
         .expected = expr_text(rewrite.before),
         .got = str(expr_text(rewrite.after), "\ndiffers at ", where),
         .node = rewrite.before.node().origin.text()});
  }

  const std::function<void(const std::string&)>& on_note_;
  BoundedEvaluator evaluator_;
  Widened widened_;
  const Lengths& lengths_;
  std::unordered_set<const Node*> leaves_;
};

// "output 1", "the update of w": root i of a graph.
std::string root_name(const Graph& graph, size_t i) {
  const size_t outputs = graph.outputs.size();
  if (i >= outputs + graph.updates.size()) return "the effects";
  return i < outputs ? str("output ", i) : str("the update of ", graph.updates[i - outputs].variable.name());
}

void check_passes(const Graph& graph, const std::vector<PassRecord>& records, BoundedEvaluator& evaluator) {
  std::vector<Expr> last = graph.roots();
  evaluator.expect(last);
  for (const PassRecord& record : records) {
    const std::vector<Expr> now = record.after.roots();
    evaluator.expect(now);
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i].same(last[i])) continue;
      const Bounded before = evaluator(last[i]), after = evaluator(now[i]);
      if (std::optional<std::string> where = beyond_bounds(after, before))
        throw InternalError({.what = str("debug: the pass ", record.name, " changes ", root_name(graph, i)),
                             .got = str("differs at ", *where)});
    }
    last = now;
  }
}

}  // namespace

CheckedRewrites check_rewrites(RewriteCase rewritten) {
  std::vector<Fired> fired;
  std::vector<PassRecord> records;
  rewritten.options.keep_graphs = true;
  rewritten.options.verify = true;
  rewritten.options.fired = &fired;
  rewritten.options.records = &records;
  Graph optimized = optimize(rewritten.graph, rewritten.options);

  Rewrites rewrites(rewritten);
  for (const Fired& rewrite : fired) rewrites.check(rewrite);
  const bool is_exact = std::ranges::all_of(fired, [](const Fired& f) { return f.safety == Safety::kExact; });
  BoundedEvaluator evaluator(rewritten.leaves, rewritten.lengths, infinities_of(is_exact));
  check_passes(rewritten.graph, records, evaluator);
  return {std::move(optimized), is_exact};
}

CheckedRewrites check_rewrites(const Function::State& s, std::span<const Tensor> inputs) {
  const Tuner tuner = answered_tuner(s);
  const PipelineOptions options{.level = s.options.level,
                                .without = s.options.without,
                                .extra = s.options.extra_passes,
                                .chooser = &tuner,
                                .target = compile_options(s).target};
  return check_rewrites({s.canonical.graph, bindings_of(s, inputs), s.canonical_lengths, options, s.options.on_note});
}

ExpectedResults::ExpectedResults(const Function::State& s, std::span<const Tensor> inputs) {
  BoundedEvaluator evaluator(bindings_of(s, inputs), s.canonical_lengths, infinities_of(s.rewrites->is_exact));
  const std::vector<Expr> roots = s.canonical.graph.roots(), optimized = s.rewrites->optimized.roots();
  evaluator.expect(roots);
  evaluator.expect(optimized);
  for (const Expr& root : roots) {
    const Bounded& value = evaluator(root);
    plain_.push_back({value.value.copy(), value.error});
  }
  for (const Expr& root : optimized) errors_.push_back(evaluator(root).error);
}

void ExpectedResults::check(const Function::State& s, const std::vector<Tensor>& outputs) const {
  const size_t all_outputs = s.graph.outputs.size();  // the last of them are lengths
  for (size_t i = 0; i < all_outputs + s.graph.updates.size(); ++i) {
    const bool is_output = i < outputs.size();
    if (!is_output && i < all_outputs) continue;
    const Update* update = is_output ? nullptr : &s.graph.updates[i - all_outputs];
    const Tensor got = is_output ? outputs[i] : s.storage_of(update->variable)->value.on_host();
    if (std::optional<std::string> where = beyond_bounds({got, errors_[i]}, plain_[i]))
      throw InternalError({.what = str("debug: native code and reference differ in ", root_name(s.graph, i)),
                           .got = str("at ", *where),
                           .node = (is_output ? s.graph.outputs[i] : update->value).node().origin.text()});
  }
}

}  // namespace thtrain
