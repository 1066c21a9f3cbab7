#include "compiler/plan/merge_kernels.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <span>
#include <unordered_map>

#include "compiler/base/str.h"
#include "compiler/kernel/statement.h"

namespace thtrain {
namespace {

using kernel::Block;
using kernel::Function;
using kernel::KernelCall;
using kernel::Prim;
using kernel::Statement;
using kernel::Term;
using kernel::TermNode;

// A constant costs less than a parameter; a kernel costs the host compiler tens of milliseconds.
constexpr size_t kFewKernels = 8;

// Walks through a kernel, always in the same order. On the way it writes down all but the constants that may become
// parameters, and collects those; where it is given terms to use instead, it makes the kernel with them.
class ConstantWalk {
 public:
  explicit ConstantWalk(std::span<const Term> replacements = {}) : replacements_(replacements) {}

  Block copy(Block statements) {
    block(statements);
    return statements;
  }

  std::string key;
  std::vector<Term> constants;

  // ---- the fields of statements
  void note(const std::string&) {}
  void name(const std::string& name) { text(name); }
  void define(const std::string& name, const kernel::TermType& of) {
    text(name);
    type(of);
  }
  void term(Term& old) { old = optional(old); }
  void index(Term& old) { old = address(old); }
  void option(auto value) { number(static_cast<int64_t>(value)); }
  void block(Block& statements) {
    for (Statement& statement : statements) {
      number(static_cast<int64_t>(statement.index()));
      visit_fields(statement, *this);
    }
    text("}");
  }

 private:
  Term optional(const Term& old) {
    if (old) return changed(old);
    text("-");
    return old;
  }

  Term changed(const Term& old) {
    const TermNode& node = old.node();
    if (node.prim == Prim::kConstant && is_float(node.type.dtype) && !node.type.is_vector()) return constant(old);
    return with_arguments(old, [&](size_t i) {
      return node.prim == Prim::kLoad && i == 0 ? address(node.args[i]) : changed(node.args[i]);
    });
  }

  Term address(const Term& old) {
    const TermNode& node = old.node();
    if (node.prim == Prim::kConstant) return constant(old);
    if (node.prim != Prim::kAdd) return changed(old);
    return with_arguments(old, [&](size_t i) { return address(node.args[i]); });
  }

  // The term with the arguments that `argument(i)` gives.
  template <class F>
  Term with_arguments(const Term& old, const F& argument) {
    const TermNode& node = old.node();
    number(static_cast<int64_t>(node.prim));
    type(node.type);
    text(node.name);
    number(node.integer);
    key.append(reinterpret_cast<const char*>(&node.number), sizeof node.number);
    std::shared_ptr<TermNode> copy;
    for (size_t i = 0; i < node.args.size(); ++i) {
      Term now = argument(i);
      if (&now.node() == &node.args[i].node()) continue;
      if (!copy) copy = std::make_shared<TermNode>(node);
      copy->args[i] = std::move(now);
    }
    return copy ? Term(std::move(copy)) : old;
  }

  Term constant(const Term& old) {
    text("constant");
    type(old.type());
    const size_t index = constants.size();
    constants.push_back(old);
    const bool stays = index >= replacements_.size() || !static_cast<bool>(replacements_[index]);
    return stays ? old : replacements_[index];
  }

  void number(int64_t value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    key += value;
  }
  void type(const kernel::TermType& type) {
    number(static_cast<int64_t>(type.dtype) << 32 | static_cast<int64_t>(type.mask_bytes) << 16 | type.lanes);
  }

  std::span<const Term> replacements_;  // by index; null: the constant stays
};

struct Skeleton {
  std::string key;
  std::vector<Term> constants;
};

Skeleton skeleton_of(const Function& function) {
  ConstantWalk walk;
  walk.copy(function.body);
  Skeleton out{std::move(walk.key), std::move(walk.constants)};
  out.key += str(function.threads, function.name);
  for (const kernel::BufferParameter& buffer : function.buffers)
    out.key += str(' ', buffer.name, ' ', name_of(buffer.dtype), ' ', buffer.written);
  for (const std::string& length : function.lengths) out.key += str(' ', length);
  return out;
}

// Kernels with one skeleton.
struct Group {
  std::vector<std::shared_ptr<const Function>> functions;
  std::vector<std::vector<Term>> constants;  // of each function
};

bool are_equal(const Term& a, const Term& b) {
  const TermNode &x = a.node(), &y = b.node();
  return x.integer == y.integer && std::bit_cast<uint64_t>(x.number) == std::bit_cast<uint64_t>(y.number);
}

// The constants at one index, of all functions of a group.
bool have_equal_constants(const Group& group, size_t a, size_t b) {
  return std::all_of(group.constants.begin(), group.constants.end(), [&](const std::vector<Term>& of) {
    return of[a].dtype() == of[b].dtype() && are_equal(of[a], of[b]);
  });
}

// What stands for a group: its function, and the indices of the constants that calls pass to it.
struct Merged {
  std::shared_ptr<const Function> function;
  std::vector<size_t> numbers, lengths;
};

Merged merge(const Group& group) {
  const Function& first = *group.functions.front();
  Merged out;
  Function merged = first;
  std::vector<Term> replacements(group.constants.front().size());
  std::vector<size_t> varying;
  for (size_t index = 0; index < replacements.size(); ++index) {
    const Term& constant = group.constants.front()[index];
    if (std::all_of(group.constants.begin(), group.constants.end(),
                    [&](const std::vector<Term>& of) { return are_equal(of[index], constant); }))
      continue;
    auto same = std::find_if(varying.begin(), varying.end(),
                             [&](size_t other) { return have_equal_constants(group, index, other); });
    if (same != varying.end()) {
      replacements[index] = replacements[*same];
      continue;
    }
    varying.push_back(index);
    const std::string of_first = str("a number of each of ", group.functions.size(), " kernels");
    if (is_float(constant.dtype())) {
      const std::string name = str("c", out.numbers.size());
      replacements[index] = kernel::variable(name, constant.type());
      merged.numbers.push_back({name, constant.dtype(), of_first});
      out.numbers.push_back(index);
    } else {
      const std::string name = str("offset", out.lengths.size());
      replacements[index] = kernel::variable(name, constant.type());
      merged.lengths.push_back(name);
      merged.length_texts.push_back(of_first);
      out.lengths.push_back(index);
    }
  }
  merged.comment += ", for the first of them";
  merged.body = ConstantWalk(replacements).copy(first.body);
  out.function = std::make_shared<const Function>(std::move(merged));
  return out;
}

void for_each_call(Region& region, const std::function<void(KernelCall&)>& visit) {
  for (auto& item : region.items) {
    if (Step* step = std::get_if<Step>(&item)) {
      if (KernelCall* call = std::get_if<KernelCall>(&step->code)) visit(*call);
    } else if (Loop* loop = std::get_if<Loop>(&item)) {
      for_each_call(*loop->body, visit);
    } else {
      Branch& branch = std::get<Branch>(item);
      for_each_call(*branch.then, visit);
      for_each_call(*branch.otherwise, visit);
    }
  }
}

}  // namespace

void merge_kernels(Program& program) {
  std::unordered_map<const Function*, std::pair<size_t, size_t>> index_of;  // group, number in it
  std::vector<std::shared_ptr<const Function>> functions;
  for_each_call(program.body, [&](KernelCall& call) {
    if (index_of.try_emplace(call.function.get()).second) functions.push_back(call.function);
  });
  if (functions.size() < kFewKernels) return;

  std::unordered_map<std::string, size_t> group_of;
  std::vector<Group> groups;
  for (const auto& function : functions) {
    Skeleton skeleton = skeleton_of(*function);
    const size_t group = group_of.try_emplace(std::move(skeleton.key), groups.size()).first->second;
    if (group == groups.size()) groups.emplace_back();
    index_of[function.get()] = {group, groups[group].functions.size()};
    groups[group].functions.push_back(function);
    groups[group].constants.push_back(std::move(skeleton.constants));
  }
  std::vector<Merged> merged(groups.size());
  for (size_t g = 0; g < groups.size(); ++g)
    if (groups[g].functions.size() >= kFewKernels) merged[g] = merge(groups[g]);

  for_each_call(program.body, [&](KernelCall& call) {
    const auto [g, k] = index_of.at(call.function.get());
    if (!merged[g].function) return;
    const std::vector<Term>& constants = groups[g].constants[k];
    for (size_t index : merged[g].lengths) call.lengths.emplace_back(Dim(constants[index].node().integer));
    for (size_t index : merged[g].numbers) call.numbers.push_back(constants[index].node().number);
    call.function = merged[g].function;
  });
}

}  // namespace thtrain
