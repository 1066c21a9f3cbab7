// Are wrong kernels found? The kernels of the ops' cases are mutated, compiled in batches, and held against the
// references as the cases are.
#include "tests/compiler/ops/mutants/kernel_mutants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <set>

#include "compiler/host/host_compiler.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/registry.h"
#include "compiler/ops/sparse/parts.h"
#include "compiler/passes/rename_lengths.h"
#include "tests/support/native_program.h"
#include "tests/support/op_case_runner.h"

namespace thtrain {
namespace {

constexpr double kLeastCaught = 0.95;
constexpr size_t kDraws = 48;     // of values: the case's, then hard ones
constexpr double kHardUlps = 64;  // as the ops' cases have it
constexpr size_t kBatch = 150;    // compile time grows faster than the text

// Mutants that no draw of values finds.
struct Survivors {
  std::string why;
  std::vector<std::string> mutants;
};
const std::vector<Survivors>& survivors() {
  static const std::vector<Survivors> table{
      {"of equal values the other one is taken: the same, or a zero of the other sign, which numbers do not tell",
       {"clip: <= for <", "maximum: >= for >", "minimum: <= for <", "log_softmax: <= for <", "softmax: <= for <"}},
      {"the branches agree where the operands are equal, or no draw has the one number where they do not",
       {"abs: <= for <", "cast: <= for <", "cast: >= for >", "erfcinv: <= for <", "erfcx: <= for <", "erfinv: <= for <",
        "gammaln: <= for <", "gammaln: >= for >", "i0e: <= for <", "j0: <= for <", "sigmoid: <= for <",
        "softplus: <= for <"}},
      {"erfinv of doubles ends before the last polynomial", {"erfinv: branches swapped"}},
      {"what is left of a number is an angle, and any whole number near it serves",
       {"gammaln: floor for rint", "gammaln: trunc for rint", "psi: floor for rint", "psi: trunc for rint"}},
      {"in rows of one block: what its extremum is compared with is one of its elements, and its number is 0",
       {"argmax: >= for >", "argmax: || for &&", "argmin: <= for <", "argmin: || for &&",
        "argmin: a number one larger"}},
      {"the row of what lies around an image is behind all others, and so is the next one",
       {"max_pool_pick: a number one larger"}},
      {"a zero behind the last filter, that fills a block of filters: what it gives is not stored",
       {"fused_conv: a number one larger", "pooled_conv: a number one larger"}},
      {"in a short loop that location is one vector or one element: no draw has an infinity, a NaN or a zero just "
       "there",
       {"abs: a number one larger", "isinf: reads the element before", "isnan: reads the element before"}},
      {"where the divisor or the remainder is zero, another branch is taken; of halves there are none",
       {"floor_div: <= for <", "floor_div: >= for >", "mod: <= for <", "divmod: <= for <", "divmod: >= for >"}},
      {"only where the one element that decides a slice is in the last lane, or goes through one of four accumulators: "
       "no draw has it there",
       {"all: <= for <", "all: does not read the last lane", "any: does not read the last lane"}},
      {"complex numbers: a comparison with the limit between two rules, which agree there in the draws that meet it",
       {"arccos: <= for <",     "arccosh: <= for <", "arcsin: <= for <",     "arcsinh: <= for <",
        "arctan: <= for <",     "arctan: >= for >",  "arctanh: <= for <",    "arctanh: >= for >",
        "cos: >= for >",        "cosh: < for <=",    "cosh: >= for >",       "exp: < for <=",
        "exp: >= for >",        "log: <= for <",     "reciprocal: < for <=", "reciprocal: <= for <",
        "reciprocal: >= for >", "sin: >= for >",     "sinh: < for <=",       "sinh: >= for >",
        "sqrt: <= for <",       "tan: >= for >",     "tanh: >= for >",       "true_div: < for <=",
        "true_div: <= for <",   "true_div: >= for >"}},
      {"complex numbers: a rule for pairs of special parts that no draw tells",
       {"abs: operands swapped", "cast: && for ||", "cos: + for -", "cosh: + for -", "exp: + for -",
        "prod: min for max", "sin: + for -", "sinh: + for -", "true_div: a number one larger",
        "exp: without a sign, or a not", "reciprocal: branches swapped", "tan: a number one larger",
        "tanh: a number one larger"}},
  };
  return table;
}

// A kernel that can fail the call would end the whole batch.
bool can_fail(const kernel::KernelCall& call) {
  return std::ranges::any_of(call.lengths,
                             [](const auto& length) { return std::holds_alternative<kernel::RuntimeCheck>(length); });
}

// The kernels that an op lowers to, in order, but for those that check something. What is changed belongs to one step
// alone, where equal steps share theirs.
void for_each_kernel(Region& region, const std::set<const Op*>& ops,
                     const std::function<void(const Step&, kernel::Function&)>& visit) {
  for (auto& item : region.items)
    if (Step* step = std::get_if<Step>(&item)) {
      auto* call = std::get_if<kernel::KernelCall>(&step->code);
      if (!step->node || !ops.count(step->node->op) || !call || can_fail(*call)) continue;
      auto own = std::make_shared<kernel::Function>(*call->function);
      visit(*step, *own);
      call->function = own;
    } else if (Loop* loop = std::get_if<Loop>(&item)) {
      for_each_kernel(*loop->body, ops, visit);
    } else {
      for_each_kernel(*std::get<Branch>(item).then, ops, visit);
      for_each_kernel(*std::get<Branch>(item).otherwise, ops, visit);
    }
}

struct Location {
  const Op* op;
  OpCase made_of;
  int64_t weight;  // of the case: large ones and floats are looked at first
  uint64_t seed;
  size_t kernel, mutation;  // the kernel's number in the program of the case, the mutation's in the kernel
  std::string name;
};

std::vector<Tensor> outputs_of(const std::vector<Expr>& outputs, const CaseInputs& in) {
  std::vector<std::pair<Expr, Tensor>> bound;
  for (size_t i = 0; i < in.variables.size(); ++i) bound.emplace_back(in.variables[i], in.values[i]);
  return evaluate(outputs, bound);
}

// Tensors of a case on these variables.
std::vector<Expr> built(const OpCase& c, const std::vector<Expr>& variables) {
  std::vector<Expr> out;
  for (const Expr& value : c.build(variables))
    if (value.type().kind == TypeKind::kTensor) out.push_back(value);
  return out;
}

// For each op up to three locations of each kind of mutation, in its cases.
std::vector<Location> locations(const Op& op, const Target& target) {
  std::map<std::string, std::vector<Location>> by_kind;
  std::vector<std::string> kinds;
  size_t number = 0;
  uint64_t seed = 0;
  for (const OpCase& c : op.cases()) {
    CaseInputs in = make_inputs(c, "x", ++seed);
    const Graph graph{in.variables, built(c, in.variables), {}};
    if (graph.outputs.empty() || !is_all_native(graph)) continue;
    int64_t weight = !in.values.empty() && is_float(in.values[0].dtype());
    bool has_elements = true;
    for (const Tensor& out : outputs_of(graph.outputs, in)) {
      has_elements = has_elements && out.size() > 1;
      weight += 2 * out.size();
    }
    if (!has_elements) continue;
    Program program = unoptimized_program(graph, target);
    size_t kernel = 0;
    for_each_kernel(program.body, {&op}, [&](const Step&, kernel::Function& f) {
      size_t mutation = 0;
      for (const std::string& what : kernel_mutations(f)) {
        auto [at, fresh] = by_kind.try_emplace(what);
        if (fresh) kinds.push_back(what);
        at->second.push_back({&op, c, weight, seed, kernel, mutation++, str(op.name, ": ", what)});
      }
      ++kernel;
    });
  }
  std::vector<Location> out;
  for (const std::string& kind : kinds) {
    std::vector<Location>& all = by_kind.at(kind);
    std::ranges::stable_sort(all, std::ranges::greater(), &Location::weight);
    out.push_back(all[0]);
    for (int more = 0; more < 2 && all.size() > 1; ++more) out.push_back(all[1 + number++ * 7919 % (all.size() - 1)]);
  }
  return out;
}

// Mutants that are compiled together, each in a copy of its case.
class Batch {
 public:
  explicit Batch(std::vector<Location> locations) : locations_(std::move(locations)) {
    for (size_t i = 0; i < locations_.size(); ++i) {
      const OpCase& c = locations_[i].made_of;
      const CaseInputs in = make_inputs(c, str("x", i, "_"), locations_[i].seed);
      for (const Expr& out : built(c, in.variables)) {
        graph_.outputs.push_back(out);
        owner_.push_back(i);
      }
      graph_.inputs.insert(graph_.inputs.end(), in.variables.begin(), in.variables.end());
      for (size_t d = 0; d < kDraws; ++d) {
        const bool hard = d > 0 && takes_any_values(*locations_[i].op);
        for (const Tensor& value : hard ? make_hard_values(*locations_[i].op, c.inputs, d) : in.values)
          draws_[d].push_back(value);
      }
    }
  }

  /// The mutants' names, and whether their outputs differ from the references'.
  std::vector<std::pair<std::string, bool>> caught(const Target& target) const {
    const NativeProgram program(graph_, target, false, [this](Program& p) { mutate(p); });
    std::vector<std::pair<std::string, bool>> out;
    for (const Location& location : locations_) out.emplace_back(location.name, false);
    for (const std::vector<Tensor>& values : draws_) {
      std::vector<std::pair<Expr, Tensor>> bound;
      for (size_t i = 0; i < values.size(); ++i) bound.emplace_back(graph_.inputs[i], values[i]);
      const std::vector<Tensor> expected = evaluate(graph_.outputs, bound), got = program(values);
      for (size_t i = 0; i < got.size(); ++i) {
        double ulps = locations_[owner_[i]].made_of.bound;
        if (&values != &draws_[0] && ulps > 0) ulps += kHardUlps;
        if (difference(got[i], expected[i], ulps)) out[owner_[i]].second = true;
      }
    }
    return out;
  }

 private:
  void mutate(Program& program) const {
    std::map<const Node*, size_t> owner;
    for (size_t i = 0; i < owner_.size(); ++i)
      for (const Node* node : topological_order(std::vector{program.graph.outputs[i]})) owner.emplace(node, owner_[i]);
    std::vector<size_t> met(locations_.size());
    std::set<const Op*> ops;
    for (const Location& location : locations_) ops.insert(location.op);
    for_each_kernel(program.body, ops, [&](const Step& step, kernel::Function& f) {
      const size_t i = owner.at(step.node);
      if (step.node->op != locations_[i].op) return;
      if (met[i]++ == locations_[i].kernel) mutate_kernel(f, locations_[i].mutation);
    });
  }

  std::vector<Location> locations_;
  Graph graph_;
  std::vector<size_t> owner_;  // of each output: its mutant
  std::array<std::vector<Tensor>, kDraws> draws_;
};

// The next kernels of a sort write where the counts of the ones before say: outside of a buffer, where these are wrong.
// A product of sparse matrices fails where its rows have not as many elements as were counted.
bool writes_where_data_says(const Op& op) {
  return &op == &sort_op() || &op == &argsort_op() || &op == &csr_product_op();
}

TEST(KernelMutants, AreCaught) {
  if (!generated_flags().empty()) GTEST_SKIP() << "a mutant may leave an output unwritten, which sanitizers report";
  const Target target{"g++", 32};
  if (std::string reason = why_not(target); !reason.empty()) GTEST_SKIP() << reason;
  std::vector<Location> all;
  for (const Op* op : all_ops())
    if (op->cases && !writes_where_data_says(*op))
      for (Location& location : locations(*op, target)) all.push_back(std::move(location));
  std::map<std::string, bool> caught;  // in one of its locations
  for (size_t from = 0; from < all.size(); from += kBatch) {
    const Batch batch({all.begin() + static_cast<std::ptrdiff_t>(from),
                       all.begin() + static_cast<std::ptrdiff_t>(std::min(from + kBatch, all.size()))});
    for (const auto& [name, found] : batch.caught(target)) caught[name] = caught[name] || found;
  }
  std::set<std::string> expected;
  size_t count = 0;
  for (const Survivors& row : survivors()) expected.insert(row.mutants.begin(), row.mutants.end());
  for (const auto& [name, found] : caught) {
    count += found;
    const bool survives = expected.erase(name) != 0;
    EXPECT_EQ(found, !survives) << name << (found ? " is caught, and listed" : " is not caught");
  }
  EXPECT_TRUE(expected.empty()) << "listed, but not made: " << join(expected, "; ");
  std::cout << "kernels: " << caught.size() << " mutants, " << count << " caught\n";
  EXPECT_GE(static_cast<double>(count), kLeastCaught * static_cast<double>(caught.size()));
}

}  // namespace
}  // namespace thtrain
