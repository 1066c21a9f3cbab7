#include "compiler/kernel/step_builder.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace thtrain::kernel {

const Code::Uses Code::kOfProcessor = {{"begin", 1}, {"end", 1}};
const Code::Uses Code::kOfDevice = {{"begin", 1}, {"end", 1}, {"block", 1}, {"thread", 1}};

std::string Code::unique(std::string name) {
  for (auto& [known, count] : used_)
    if (known == name) return str(name, "_", ++count);
  used_.emplace_back(name, 1);
  return name;
}

Term Code::let(std::string name, Term value) {
  const Prim prim = value.node().prim;
  if (prim == Prim::kConstant || prim == Prim::kVariable) return value;
  name = unique(std::move(name));
  const TermType type = value.type();
  current_->push_back(Let{name, std::move(value)});
  return variable(name, type);
}

Term Code::var(std::string name, Term start) {
  return sum(std::move(name), std::move(start), -1);
}

Term Code::sum(std::string name, Term start, int64_t number) {
  name = unique(std::move(name));
  const TermType type = start.type();
  current_->push_back(Var{name, std::move(start), number});
  return variable(name, type);
}

void Code::assign(const Term& var, Term value) {
  TH_CHECK(var.dtype() == value.dtype() && var.lanes() == value.lanes(), "loop language: assignment of another type");
  current_->push_back(Assign{var.node().name, std::move(value)});
}

void Code::comment(std::string text) {
  current_->push_back(Comment{std::move(text)});
}

Block Code::block(const std::function<void()>& statements) {
  Block out;
  Block* const outer = std::exchange(current_, &out);
  statements();
  current_ = outer;
  return out;
}

void Code::loop(std::string name, Term begin, Term end, Term step, LoopMark mark,
                const std::function<void(Term)>& body) {
  ForLoop out{unique(std::move(name)), std::move(begin), std::move(end), std::move(step), mark, {}};
  out.body = block([&] { body(variable(out.name, {DType::kInt64, 1, 0})); });
  if (!out.body.empty()) current_->push_back(std::move(out));  // an epilogue that reads nothing prefetches nothing
}

void Code::if_(Term condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  If out{std::move(condition), {}, {}};
  out.then = block(then);
  if (otherwise) out.otherwise = block(otherwise);
  current_->push_back(std::move(out));
}

void Code::while_(Term condition, const std::function<void()>& body) {
  While out{std::move(condition), {}};
  out.body = block(body);
  current_->push_back(std::move(out));
}

Term Code::local_array(std::string name, TermType type, int64_t count) {
  name = unique(std::move(name));
  current_->push_back(LocalArray{name, type, count});
  return variable(name, type);
}

void Code::store(const std::string& buffer, Term index, Term stride, Term value, Term count) {
  current_->push_back(
      Store{buffer, std::move(index), std::move(value), std::move(stride), std::move(count), non_temporal_});
}

void Code::non_temporal(const std::function<void()>& body) {
  non_temporal_ = true;
  body();
  non_temporal_ = false;
  current_->push_back(Fence{});
}

void Code::prefetch(const std::string& buffer, Term index, Prefetch kind) {
  current_->push_back(PrefetchLine{buffer, std::move(index), kind});
}

void Code::fail(Term check, Term value, Term limit) {
  current_->push_back(Fail{std::move(check), std::move(value), std::move(limit)});
}

void Code::barrier(Scope scope) {
  current_->push_back(Barrier{scope});
}

std::string Code::shared_array(std::string name, DType dtype, int64_t count) {
  TH_CHECK(current_ == &body_, "loop language: a shared array inside of a loop or branch");
  name = unique(std::move(name));
  current_->push_back(SharedArray{name, dtype, count});
  return name;
}

Term Code::shuffle(std::string name, Term value, LaneChoice choice, int lane) {
  name = unique(std::move(name));
  const TermType type = value.type();
  current_->push_back(Shuffle{name, std::move(value), choice, lane});
  return variable(name, type);
}

void Code::atomic(const std::string& buffer, Term index, Term value, AtomicKind kind) {
  current_->push_back(Atomic{buffer, std::move(index), std::move(value), kind});
}

Block Code::take() {
  Block out = std::move(body_);
  body_.clear();
  used_ = reserved_;
  current_ = &body_;
  return out;
}

std::vector<Term> bind_shared(Names& names, const std::vector<Term>& results) {
  std::unordered_map<const TermNode*, int> readers;
  std::function<void(const Term&)> count = [&](const Term& term) {
    if (++readers[&term.node()] > 1) return;
    for (const Term& arg : term.node().args) count(arg);
  };
  for (const Term& result : results) count(result);
  std::unordered_map<const TermNode*, Term> bound;
  std::function<Term(const Term&)> rebuild = [&](const Term& term) -> Term {
    if (auto known = bound.find(&term.node()); known != bound.end()) return known->second;
    const TermNode& node = term.node();
    Term out = term;
    if (!node.args.empty()) {
      auto copy = std::make_shared<TermNode>(node);
      for (Term& arg : copy->args) arg = rebuild(arg);
      out = Term(copy);
      if (readers[&node] > 1) out = names.let("t", out);
    }
    bound.emplace(&node, out);
    return out;
  };
  std::vector<Term> out;
  for (const Term& result : results) out.push_back(rebuild(result));
  return out;
}

// Squares within the square are exchanged: first the two of half its size off the diagonal, in the end single elements.
std::vector<Term> transposed(Code& code, std::vector<Term> rows) {
  for (size_t width = rows.size() / 2; width > 0; width /= 2)
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i & width) continue;
      const Term a = rows[i], b = rows[i + width];
      rows[i] = code.let("t", interleave_even(a, b, static_cast<int>(width)));
      rows[i + width] = code.let("t", interleave_odd(a, b, static_cast<int>(width)));
    }
  return rows;
}

Term load(const std::string& buffer, DType dtype, int lanes, Term index, Term stride, Term count) {
  auto node = std::make_shared<TermNode>();
  node->prim = Prim::kLoad;
  node->type = {dtype, lanes, dtype == DType::kBool && lanes > 1 ? 1 : 0};
  node->name = buffer;
  node->args = {std::move(index), std::move(stride)};
  if (count) node->args.push_back(std::move(count));
  return Term(std::move(node));
}

Term gather(const std::string& buffer, DType dtype, Term indices, Term count) {
  TH_CHECK(indices.dtype() == DType::kInt64 && indices.lanes() > 1, "loop language: a gather by ", indices.lanes(),
           " lanes of ", name_of(indices.dtype()));
  auto node = std::make_shared<TermNode>();
  node->prim = Prim::kGather;
  node->type = {dtype, indices.lanes(), dtype == DType::kBool ? 1 : 0};
  node->name = buffer;
  node->args = {std::move(indices)};
  if (count) node->args.push_back(std::move(count));
  return Term(std::move(node));
}

Term is_aligned(const std::string& buffer, Term index, size_t bytes) {
  auto node = std::make_shared<TermNode>();
  node->prim = Prim::kIsAligned;
  node->type = {DType::kBool, 1, 0};
  node->name = buffer;
  node->integer = static_cast<int64_t>(bytes);
  node->args = {std::move(index)};
  return Term(std::move(node));
}

static constexpr int kThreads = 256;  // of a block

StepBuilder::StepBuilder(const Node& node, std::vector<Operand> inputs, std::vector<Operand> outputs, Target target,
                         const StepContext& context)
    : node_(node),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      target_(std::move(target)),
      context_(context),
      code_(target_.is_device()) {}

// Of the operand that the planner gave, as elements of `dtype`: a lowering may look at its bits, at pairs, at a part.
static std::optional<ElementRange> elements_of(const Operand& operand, DType dtype) {
  ElementRange out{0, 0};
  for (size_t axis = 0; axis < operand.type.rank(); ++axis) {
    const Dim &length = operand.type.dims[axis], &stride = operand.layout.strides[axis];
    if (!length.is_known() || !stride.is_known() || length.is(0)) return {};
    const int64_t last = (length.value() - 1) * stride.value();
    (last < 0 ? out.least : out.greatest) += last;
  }
  const auto parts = static_cast<int64_t>(size_of(operand.type.dtype) / size_of(dtype));
  return ElementRange{out.least * parts, (out.greatest + 1) * parts - 1};
}

std::string StepBuilder::buffer(const Operand& operand, bool written) {
  for (size_t i = 0; i < used_operands_.size(); ++i)
    if (used_operands_[i] == operand.index) {
      function_.buffers[i].written |= written;
      return function_.buffers[i].name;
    }
  const size_t index = static_cast<size_t>(operand.index), inputs = inputs_.size();
  std::string name = index < inputs ? str("in", index) : str("out", index - inputs);
  const bool is_given = index < inputs + outputs_.size();
  const Operand& given = !is_given ? operand : index < inputs ? inputs_[index] : outputs_[index - inputs];
  used_operands_.push_back(operand.index);
  function_.buffers.push_back({name, operand.type.dtype, written, elements_of(given, operand.type.dtype)});
  return name;
}

Term StepBuilder::length(const Dim& dim) {
  if (dim.is_known()) return Term(dim.value());
  for (size_t i = 0; i < lengths_.size(); ++i)
    if (const Dim* known = std::get_if<Dim>(&lengths_[i]); known && *known == dim)
      return variable(function_.lengths[i], {DType::kInt64, 1, 0});
  std::string name = str("n", lengths_.size());
  lengths_.push_back(dim);
  function_.lengths.push_back(name);
  function_.length_texts.push_back(readable(dim.text()));
  return variable(name, {DType::kInt64, 1, 0});
}

Term StepBuilder::index_of(const Operand& operand, const std::vector<Term>& index) {
  TH_CHECK(index.size() == operand.type.rank(), "loop language: ", index.size(), " indices into ", operand.type.text());
  Term out(0);
  for (size_t i = 0; i < index.size(); ++i) out = out + index[i] * length(operand.layout.strides[i]);
  return out;
}

Term StepBuilder::load(const Operand& operand, Term index, int lanes, Term stride, Term count) {
  return kernel::load(buffer(operand, false), operand.type.dtype, lanes, std::move(index), std::move(stride),
                      std::move(count));
}

Term StepBuilder::gather(const Operand& operand, Term indices, Term count) {
  return kernel::gather(buffer(operand, false), operand.type.dtype, std::move(indices), std::move(count));
}

Term StepBuilder::is_aligned(const Operand& operand, Term index, size_t bytes) {
  return kernel::is_aligned(buffer(operand, false), std::move(index), bytes);
}

void StepBuilder::store(const Operand& operand, Term index, Term value, Term stride, Term count) {
  code_.store(buffer(operand, true), std::move(index), std::move(stride), std::move(value), std::move(count));
}

void StepBuilder::prefetch(const Operand& operand, Term index, Prefetch kind) {
  code_.prefetch(buffer(operand, false), std::move(index), kind);
}

void StepBuilder::atomic(const Operand& operand, Term index, Term value, AtomicKind kind) {
  code_.atomic(buffer(operand, true), std::move(index), std::move(value), kind);
}

void StepBuilder::require(Term condition, RuntimeCheck check, Term value, Term limit) {
  std::string name = str("check", lengths_.size());
  lengths_.push_back(std::move(check));
  function_.lengths.push_back(name);
  function_.length_texts.push_back("number of a check");
  code_.if_(!condition, [&] { code_.fail(variable(name, {DType::kInt64, 1, 0}), std::move(value), std::move(limit)); });
}

void StepBuilder::finish_kernel(std::string name, std::string comment, Dim range, Dim grain, int64_t multiple,
                                std::string schedule) {
  if (!target_.is_device())
    return add_kernel(
        std::move(name), std::move(comment),
        {.range = std::move(range), .grain = std::move(grain), .multiple = multiple, .schedule = std::move(schedule)});
  const Term all = length(range);
  Block part = code_.take();
  const bool is_split = !grain.is(0) && !range.is(1);
  const int threads = is_split ? kThreads : 1;
  Block& body = function_.body;
  body.push_back(Let{"begin", is_split ? (block() * Term(threads) + thread()) * Term(multiple) : Term(0)});
  body.push_back(Let{"end", !is_split       ? all
                            : multiple == 1 ? begin() + Term(1)
                                            : select(begin() + Term(multiple) < all, begin() + Term(multiple), all)});
  if (is_split)
    body.push_back(If{begin() < all, std::move(part), {}});
  else
    body.insert(body.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
  const int64_t of_block = threads * multiple;
  function_.threads = threads;
  add_kernel(std::move(name), std::move(comment),
             {.blocks = is_split ? floor_div(range + Dim(of_block - 1), Dim(of_block)) : Dim(1),
              .schedule = is_split ? "a thread for each part" : "one thread"});
}

void StepBuilder::finish_device_kernel(std::string name, std::string comment, Dim blocks, int threads,
                                       std::string schedule) {
  function_.threads = threads;
  function_.body = code_.take();
  add_kernel(std::move(name), std::move(comment), {.blocks = std::move(blocks), .schedule = std::move(schedule)});
}

void StepBuilder::add_kernel(std::string name, std::string comment, KernelCall call) {
  function_.name = std::move(name);
  function_.comment = std::move(comment);
  if (!function_.is_of_device()) function_.body = code_.take();
  call.function = std::make_shared<const Function>(std::move(function_));
  call.operands = std::move(used_operands_);
  call.lengths = std::move(lengths_);
  steps_.emplace_back(std::in_place_type<KernelCall>, std::move(call));
  function_ = {};
  used_operands_ = {};
  lengths_ = {};
}

void StepBuilder::call_library(LibraryCall call) {
  if (!call.function.is_of_device && !target_.has_libraries()) return call_reference();
  steps_.push_back(std::move(call));
}
void StepBuilder::call_reference() {
  steps_.push_back(ReferenceCall{});
}

Operand StepBuilder::workspace(DType dtype, Dim elements) {
  const int index = static_cast<int>(inputs_.size() + outputs_.size() + workspaces_.size());
  const Type type{.dtype = dtype, .dims = {elements}};
  workspaces_.push_back({dtype, std::move(elements), {}});
  return {index, type, row_major(type.dims)};
}

StepBuilder::Derived StepBuilder::derived(Derivation derivation, DType dtype, Dim elements) {
  const bool is_there = context_.is_derived && context_.is_derived(derivation);
  const Operand operand = workspace(dtype, std::move(elements));
  workspaces_.back().holds = std::move(derivation);
  return {operand, is_there};
}

}  // namespace thtrain::kernel
