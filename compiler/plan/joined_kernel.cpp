#include "compiler/plan/joined_kernel.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace thtrain {
namespace {

using kernel::Block;
using kernel::constant_int;
using kernel::Function;
using kernel::KernelCall;
using kernel::Statement;
using kernel::Term;
using kernel::TermNode;
using kernel::variable;

constexpr kernel::TermType kIndex{DType::kInt64, 1, 0};

// Other names for what a kernel takes and defines: each begins with `mark`.
class Renamed {
 public:
  explicit Renamed(std::string mark) : mark_(std::move(mark)) {}

  std::string renamed(const std::string& name) { return names_[name] = mark_ + name; }
  Block copy(Block statements) {
    block(statements);
    return statements;
  }

  // ---- the fields of statements
  void note(const std::string&) {}
  void define(std::string& name, const kernel::TermType&) { name = renamed(name); }
  void name(std::string& name) {
    if (const auto at = names_.find(name); at != names_.end()) name = at->second;
  }
  void term(Term& old) {
    if (old) old = changed(old);
  }
  void index(Term& old) { term(old); }
  void option(auto) {}
  void block(Block& statements) {
    for (Statement& statement : statements) visit_fields(statement, *this);
  }

 private:
  Term changed(const Term& old) {
    const TermNode& node = old.node();
    std::shared_ptr<TermNode> copy;
    if (names_.contains(node.name)) {
      copy = std::make_shared<TermNode>(node);
      name(copy->name);
    }
    for (size_t i = 0; i < node.args.size(); ++i) {
      Term now = changed(node.args[i]);
      if (&now.node() == &node.args[i].node()) continue;
      if (!copy) copy = std::make_shared<TermNode>(node);
      copy->args[i] = std::move(now);
    }
    return copy ? Term(std::move(copy)) : old;
  }

  std::string mark_;
  std::map<std::string, std::string> names_;
};

// Whole warps are asked as such: the threads of one stay together.
Term has_thread(int threads) {
  constexpr int kWarp = kernel::DeviceLimits().warp;
  const Term thread = variable("thread", kIndex);
  if (threads % kWarp != 0) return thread < constant_int(DType::kInt64, threads);
  return thread / constant_int(DType::kInt64, kWarp) < constant_int(DType::kInt64, threads / kWarp);
}

class KernelJoiner {
 public:
  explicit KernelJoiner(std::span<const Step> steps)
      : steps_(steps), out_{nullptr, {}, {}, 0, 0, KernelCall{}, steps[0].origin} {
    for (const Step& step : steps) function_.threads = std::max(function_.threads, function_of(step).threads);
  }

  Step run() {
    join_operands();
    for (size_t s = 0; s < steps_.size(); ++s) add(s);
    Block body = parts(0, parts_.size());
    function_.body.insert(function_.body.end(), std::make_move_iterator(body.begin()),
                          std::make_move_iterator(body.end()));
    function_.name = str(function_of(steps_[0]).name, "_and_", steps_.size() - 1);
    function_.comment = join(steps_, "; ", [](const Step& step) { return function_of(step).comment; });
    out_.comment = join(steps_, ", ", [](const Step& step) { return step.comment; });
    call_.schedule =
        str(steps_.size(),
            " kernels in one launch: ", join(steps_, "; ", [](const Step& step) { return call_of(step).schedule; }));
    call_.function = std::make_shared<const Function>(std::move(function_));
    out_.code = std::move(call_);
    out_.parts.assign(steps_.begin(), steps_.end());
    return std::move(out_);
  }

 private:
  static const KernelCall& call_of(const Step& step) { return std::get<KernelCall>(step.code); }
  static const Function& function_of(const Step& step) { return *call_of(step).function; }

  // All inputs, then outputs, then workspaces.
  void join_operands() {
    operands_.resize(steps_.size());
    auto add = [&](size_t s, size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k) {
        operands_[s].push_back(static_cast<int>(out_.operands.size()));
        out_.operands.push_back(steps_[s].operands[k]);
      }
      return end - begin;
    };
    for (size_t s = 0; s < steps_.size(); ++s) out_.inputs += add(s, 0, steps_[s].inputs);
    for (size_t s = 0; s < steps_.size(); ++s)
      out_.outputs += add(s, steps_[s].inputs, steps_[s].inputs + steps_[s].outputs);
    for (size_t s = 0; s < steps_.size(); ++s) add(s, steps_[s].inputs + steps_[s].outputs, steps_[s].operands.size());
  }

  void add(size_t s) {
    const KernelCall& own = call_of(steps_[s]);
    const Function& of = *own.function;
    const std::string mark = s == 0 ? "" : str("p", s, "_");
    Renamed names(mark);
    for (size_t i = 0; i < of.buffers.size(); ++i) {
      function_.buffers.push_back(of.buffers[i]);
      function_.buffers.back().name = names.renamed(of.buffers[i].name);
      call_.operands.push_back(operands_[s][static_cast<size_t>(own.operands[i])]);
    }
    for (size_t i = 0; i < of.lengths.size(); ++i)
      add_length(names.renamed(of.lengths[i]), of.length_texts[i], own.lengths[i]);
    for (size_t i = 0; i < of.numbers.size(); ++i) {
      function_.numbers.push_back(of.numbers[i]);
      function_.numbers.back().name = names.renamed(of.numbers[i].name);
      call_.numbers.push_back(own.numbers[i]);
    }
    Block part;
    if (s > 0) part.push_back(kernel::Let{names.renamed("block"), variable("block", kIndex) - ends_.back()});
    for (Statement& statement : names.copy(of.body))
      (std::holds_alternative<kernel::SharedArray>(statement) ? function_.body : part).push_back(std::move(statement));
    if (of.threads < function_.threads) part = {kernel::If{has_thread(of.threads), std::move(part), {}}};
    parts_.push_back(std::move(part));
    call_.blocks = s == 0 ? own.blocks : call_.blocks + own.blocks;
    if (s + 1 == steps_.size()) return;
    Term end = constant_int(DType::kInt64, call_.blocks.is_known() ? call_.blocks.value() : 0);
    if (!call_.blocks.is_known()) {
      const std::string name = str("blocks_", s);
      add_length(name, str("blocks up to the end of part ", s), call_.blocks);
      end = variable(name, kIndex);
    }
    ends_.push_back(std::move(end));
  }

  // Found by halves: nested as deep as there are parts, a kernel of hundreds would be refused by some compilers.
  Block parts(size_t begin, size_t end) {
    if (end - begin == 1) return std::move(parts_[begin]);
    const size_t middle = (begin + end) / 2;
    return {kernel::If{variable("block", kIndex) < ends_[middle - 1], parts(begin, middle), parts(middle, end)}};
  }

  void add_length(std::string name, std::string text, std::variant<Dim, kernel::RuntimeCheck> length) {
    function_.lengths.push_back(std::move(name));
    function_.length_texts.push_back(std::move(text));
    call_.lengths.push_back(std::move(length));
  }

  std::span<const Step> steps_;
  Step out_;
  Function function_;
  KernelCall call_;
  std::vector<std::vector<int>> operands_;  // numbers in out_, by those of the steps
  std::vector<Block> parts_;
  std::vector<Term> ends_;  // behind the last block of each part but the last
};

}  // namespace

Step joined_kernel(std::span<const Step> steps) {
  return KernelJoiner(steps).run();
}

}  // namespace thtrain
