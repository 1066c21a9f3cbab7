#include "compiler/ops/elemwise/fused.h"

#include <algorithm>

#include "compiler/ops/cost.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/gather.h"
#include "compiler/ops/index/index.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::Operand;
using kernel::StepBuilder;
using kernel::Term;

class Emitter {
 public:
  Emitter(StepBuilder& b, std::span<const Expr> inputs, std::span<const Expr> outputs)
      : b_(b), inputs_(inputs), outputs_(outputs) {
    for (size_t i = 0; i < inputs.size(); ++i) operands_.push_back(b.input(i));
    for (size_t i = 0; i < outputs.size(); ++i) operands_.push_back(b.output(i));
    nodes_ = nodes_between(inputs, outputs);
    gathers_ = gathers_among(nodes_, inputs, b);
    find_axes(outputs[0].dims());
    size_t widest = 1;
    for (const Node* node : nodes_) {
      widest = std::max(widest, widest_of(*node));
      weight_ += weight_of(*node);
    }
    for (size_t k = 0; k < operands_.size(); ++k)
      if (!is_gathered(k)) widest = std::max(widest, size_of(operands_[k].type.dtype));
    lanes_ = b.vector_bytes() / static_cast<int>(widest);
  }

  void run() {
    for (Gather& gather : gathers_) gather.check_before_loops();
    if (axes_.empty()) {
      offsets_.assign(operands_.size() + Gather::kStepped * gathers_.size(), Term(0));
      load_inputs([](size_t) { return true; }, Term(0), 1, {});
      for (size_t g = 0; g < gathers_.size(); ++g) gather(g, Term(0), 1, {});
      compute([](const Node&) { return true; });
      store_outputs(Term(0), 1, {});
      b_.finish_kernel(kernel_name(nodes_), kernel_comment(nodes_, inputs_, outputs_), 1);
      return;
    }
    loops();
    Dim inner = 1;
    for (size_t i = 1; i < axes_.size(); ++i) inner = inner * axes_[i].length;
    int64_t weight = std::max<int64_t>(weight_, 1);
    Dim grain = inner.is_known() ? Dim(kGrainOfWork / (weight * std::max<int64_t>(inner.value(), 1)) + 1)
                                 : floor_div(Dim(kGrainOfWork / weight), max(inner, 1)) + 1;
    b_.finish_kernel(kernel_name(nodes_), kernel_comment(nodes_, inputs_, outputs_), axes_[0].length, grain,
                     axes_.size() == 1 ? lanes_ : 1);
  }

 private:
  // Is an input read through an index, and not element by element?
  bool is_gathered(size_t k) const { return k < inputs_.size() && reads(gathers_, inputs_[k]); }

  // The loop nest over `domain`. Strides of the operands, then of what each gather steps through.
  void find_axes(const Dims& domain) {
    std::vector<Dims> strides;
    for (size_t k = 0; k < operands_.size(); ++k)
      strides.push_back(is_gathered(k) ? Dims(domain.size(), Dim(0)) : strides_over(domain, operands_[k]));
    for (const Gather& gather : gathers_)
      strides.insert(strides.end(), gather.strides().begin(), gather.strides().end());
    std::vector<LoopAxis> axes;
    for (size_t i = 0; i < domain.size(); ++i) {
      LoopAxis axis{domain[i], {}};
      for (const Dims& s : strides) axis.strides.push_back(s[i]);
      axes.push_back(std::move(axis));
    }
    axes_ = collapse(axes);
  }

  // All loops. Where more bytes are touched than fit in the caches, stores are non-temporal: an ordinary store reads
  // its line from memory first. Where fewer, but more than fit in the first cache, the lines are prefetched, if the
  // target gains from that.
  void loops() {
    int64_t bytes = 0;  // that an element takes
    for (size_t k = 0; k < operands_.size(); ++k)
      if (std::any_of(axes_.begin(), axes_.end(), [&](const LoopAxis& a) { return !a.strides[k].is(0); }))
        bytes += static_cast<int64_t>(size_of(operands_[k].type.dtype));
    const Dim elements = product(outputs_[0].dims());
    const kernel::MemoryLimits& limits = b_.target().memory;
    const auto nest_of_all = [&](int load_lines, int store_lines) {
      load_lines_ = load_lines;
      store_lines_ = store_lines;
      nest(0, std::vector<Term>(axes_[0].strides.size(), Term(0)));
    };
    const auto non_temporal = [&] { b_.code().non_temporal([&] { nest_of_all(limits.load_prefetch_lines, 0); }); };
    const bool is_large = !elements.is_known() || elements.value() * bytes > b_.target().first_cache_bytes;
    const auto temporal = [&] { nest_of_all(0, is_large ? limits.store_prefetch_lines : 0); };
    if (b_.non_temporal_threshold() == 0 || bytes == 0 || may_gather()) return temporal();
    const int64_t cached = b_.non_temporal_threshold() / bytes;
    if (elements.is_known()) return elements.value() > cached ? non_temporal() : temporal();
    b_.code().if_(b_.length(elements) > Term(cached), non_temporal, temporal);
  }

  // Does a vector load gather its lanes? Such loads wait for all pending non-temporal stores. The library's functions
  // gather from tables too.
  bool may_gather() const {
    const auto calls = [&](const Node* n) { return calls_library(*n, b_.vector_bytes()); };
    return !gathers_.empty() || std::any_of(nodes_.begin(), nodes_.end(), calls) ||
           std::any_of(axes_.back().strides.begin(), axes_.back().strides.end(),
                       [](const Dim& stride) { return !stride.is(0) && !stride.is(1); });
  }

  // Loops over axis `depth` and those inside it. offsets: each operand's element index so far.
  void nest(size_t depth, const std::vector<Term>& offsets) {
    Code& code = b_.code();
    Term first = depth == 0 ? b_.begin() : Term(0);
    Term last = depth == 0 ? b_.end() : b_.length(axes_[depth].length);
    if (depth + 1 < axes_.size()) {
      code.loop(str("i", depth), first, last, 1, LoopMark::kSequential, [&](Term i) {
        std::vector<Term> inside;
        for (size_t k = 0; k < offsets.size(); ++k)
          inside.push_back(code.let(str("at", k), offsets[k] + i * b_.length(axes_[depth].strides[k])));
        nest(depth + 1, inside);
      });
      return;
    }
    offsets_ = offsets;
    values_ = {};
    // Outside the innermost loop: its invariant operands, and what is computed from them alone.
    load_inputs([&](size_t k) { return axes_.back().strides[k].is(0); }, Term(0), 1, {});
    positions_.assign(gathers_.size(), {});
    for (size_t g = 0; g < gathers_.size(); ++g) {
      if (!is_invariant(g, Gather::kIndex) || !is_invariant(g, Gather::kReported)) continue;
      positions_[g] = gathers_[g].position(steps_of(g, offsets_));
      if (is_invariant(g, Gather::kSource)) gather(g, Term(0), 1, {});
    }
    compute([&](const Node& node) {
      return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Expr& e) { return values_.known(e); });
    });
    BodyValues outside = values_;
    auto body = [&](Term i, Term count) {
      values_ = outside;
      load_inputs([&](size_t k) { return !axes_.back().strides[k].is(0); }, i, lanes_, count);
      for (size_t g = 0; g < gathers_.size(); ++g)
        if (!values_.has((gathers_[g].node())[0])) gather(g, i, lanes_, count);
      compute([](const Node&) { return true; });
      store_outputs(i, lanes_, count);
    };
    bool whole = axes_[depth].length.is_known() && axes_[depth].length.value() % lanes_ == 0;
    bool short_axis = axes_[depth].length.is_known() && axes_[depth].length.value() < lanes_;
    if (!short_axis)
      code.loop("i", first, last - Term(lanes_ - 1), Term(lanes_), LoopMark::kVector, [&](Term i) { body(i, {}); });
    if (whole) return;
    // The elements that do not fill a vector. Their number is known where the length is and the range is not split.
    if (axes_[depth].length.is_known() && depth > 0) {
      int64_t length = axes_[depth].length.value();
      body(Term(length / lanes_ * lanes_), Term(length % lanes_));
    } else {
      Term rest = code.let("rest", first + (last - first) / Term(lanes_) * Term(lanes_));
      code.if_(rest < last, [&] { body(rest, code.let("count", last - rest)); });
    }
  }

  template <class Which>
  void load_inputs(Which which, Term i, int lanes, Term count) {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      if (!which(k) || is_gathered(k)) continue;
      Term stride = axes_.empty() ? Term(0) : b_.length(axes_.back().strides[k]);
      Term index = axes_.empty() ? Term(0) : offsets_[k] + i * stride;
      bool vector = lanes > 1 && !axes_.empty() && !axes_.back().strides[k].is(0);
      if (vector) prefetch(operands_[k], index, stride, lanes, count, load_lines_, kernel::Prefetch::kL1);
      Term value = vector ? b_.load(operands_[k], index, lanes, stride, count) : b_.load(operands_[k], index);
      std::string hint = inputs_[k].name().empty() ? str("x", k) : readable(inputs_[k].name());
      values_.set(inputs_[k], b_.code().let(identifier(hint), value));
    }
  }

  // What gather g steps through, of a list with a term for each operand before.
  Gather::Steps steps_of(size_t g, const std::vector<Term>& terms) const {
    Gather::Steps out;
    for (size_t i = 0; i < Gather::kStepped; ++i) out[i] = terms[operands_.size() + Gather::kStepped * g + i];
    return out;
  }

  bool is_invariant(size_t g, Gather::Stepped what) const {
    return axes_.back().strides[operands_.size() + Gather::kStepped * g + what].is(0);
  }

  // What the gather reads: one element, or a vector from place i of the innermost axis on.
  void gather(size_t g, Term i, int lanes, Term count) {
    Gather::Steps at = steps_of(g, offsets_), step;
    for (size_t s = 0; s < Gather::kStepped; ++s) {
      size_t k = operands_.size() + Gather::kStepped * g + s;
      step[s] = axes_.empty() ? Term(0) : b_.length(axes_.back().strides[k]);
      at[s] = at[s] + i * step[s];
    }
    const Node& node = gathers_[g].node();
    Term value = gathers_[g].load(at, step, lanes, count, axes_.empty() ? Term() : positions_[g]);
    values_.set(node[0], b_.code().let(identifier(node.name.empty() ? node.op->name : node.name), value));
  }

  // The cache line so many lines behind a vector of `lanes` elements. No more than two such vectors lie in a line.
  void prefetch(const Operand& operand, const Term& index, const Term& stride, int lanes, const Term& count, int ahead,
                kernel::Prefetch kind) {
    constexpr int kLine = 64;  // bytes
    const auto size = static_cast<int>(size_of(operand.type.dtype));
    if (ahead == 0 || bool(count) || !kernel::is_constant(stride, 1) || lanes * size < kLine / 2) return;
    b_.prefetch(operand, index + Term(ahead * kLine / size), kind);
  }

  template <class Which>
  void compute(Which which) {
    for (const Node* node : nodes_)
      if (!values_.has((*node)[0]) && which(*node)) write_node(b_.code(), *node, values_);
  }

  void store_outputs(Term i, int lanes, Term count) {
    for (size_t o = 0; o < outputs_.size(); ++o) {
      size_t k = inputs_.size() + o;
      Term value = values_.at(outputs_[o]);
      if (lanes > 1) value = kernel::splat(value, lanes);
      Term stride = axes_.empty() ? Term(1) : b_.length(axes_.back().strides[k]);
      Term index = axes_.empty() ? Term(0) : offsets_[k] + i * stride;
      prefetch(operands_[k], index, stride, lanes, count, store_lines_, kernel::Prefetch::kWrite);
      b_.store(operands_[k], index, value, lanes > 1 ? stride : Term(1), count);
    }
  }

  StepBuilder& b_;
  std::span<const Expr> inputs_, outputs_;
  std::vector<Operand> operands_;
  std::vector<const Node*> nodes_;
  std::vector<Gather> gathers_;
  std::vector<Term> positions_;  // of gathers whose index is invariant along the innermost axis
  std::vector<LoopAxis> axes_;
  int64_t weight_ = 0;
  int load_lines_ = 0, store_lines_ = 0;  // that are prefetched ahead of loads and stores
  int lanes_;
  std::vector<Term> offsets_;
  BodyValues values_;
};

}  // namespace

void lower_elementwise(StepBuilder& b, std::span<const Expr> inputs, std::span<const Expr> outputs) {
  Emitter(b, inputs, outputs).run();
}

std::shared_ptr<const Node> make_fused(GraphPtr body, std::vector<Expr> inputs) {
  return make_node(fused_op(), std::move(inputs), {}, {std::move(body)});
}

std::vector<Expr> fused_values(std::shared_ptr<const Node> (*make)(GraphPtr body, std::vector<Expr> inputs),
                               const std::vector<Expr>& values,
                               const std::function<std::vector<Expr>(const std::vector<Expr>&)>& expressions) {
  auto body = std::make_shared<Graph>();
  for (const Expr& e : values) body->inputs.push_back(make_input(e.type(), e.name()));
  body->outputs = expressions(body->inputs);
  const std::shared_ptr<const Node> node = make(body, values);
  std::vector<Expr> out;
  for (size_t o = 0; o < body->outputs.size(); ++o) out.push_back((*node)[o]);
  return out;
}

// Derivatives that were taken inside the body, on the outer values; taken there, they would go on into what the outer
// values are computed from.
static std::vector<Expr> moved_outside(const Node& node, std::vector<Expr> derivatives) {
  Rebuilder rebuilder;
  for (size_t i = 0; i < node.inputs.size(); ++i) rebuilder.replace(node.bodies[0]->inputs[i], node.inputs[i]);
  for (Expr& derivative : derivatives)
    if (derivative.has_value()) derivative = rebuilder.rebuild(derivative, nullptr);
  return derivatives;
}

// The operations of the body, and each operand once; of what is read through an index the elements that are read.
static Cost cost_of_body(const Node& node) {
  Cost out;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (access_of(node, i) != Access::kIndexed) out.bytes = out.bytes + bytes_of(node.inputs[i].type());
  for (const Type& type : node.types) out.bytes = out.bytes + bytes_of(type);
  for (const Node* inner : topological_order(node.bodies[0]->outputs)) {
    if (!inner->inputs.empty()) out.flops = out.flops + cost_of(*inner).flops;
    if (const GatherRule* gather = inner->op->gather)
      out.bytes = out.bytes + bytes_of(inner->types[0]) + bytes_of(inner->inputs[gather->indices].type());
  }
  return out;
}

Op op_of_body(std::string name, std::string doc, std::function<void(StepBuilder&)> lower,
              std::function<std::vector<OpCase>()> cases) {
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .infer =
          [](const TypeArgs& a) {
            const Graph& body = *a.bodies[0];
            TH_CHECK(body.inputs.size() == a.inputs.size(), a.inputs.size(), " inputs for a body of ",
                     body.inputs.size());
            std::vector<Type> out;
            for (const Expr& e : body.outputs) out.push_back(e.type());
            return out;
          },
      .reference = [](const ReferenceArgs& a) { return a.run_body(*a.node.bodies[0], a.inputs); },
      .error = [](const ErrorArgs& a) { return a.run_body(*a.node.bodies[0], a.inputs, a.errors).second; },
      .gradient =
          [](const GradientArgs& a) {
            const Graph& body = *a.node.bodies[0];
            return moved_outside(a.node, a.differentiate(body.outputs, a.cotangents, body.inputs));
          },
      .jvp =
          [](const JvpArgs& a) {
            const Graph& body = *a.node.bodies[0];
            return moved_outside(a.node, a.differentiate(body.outputs, body.inputs, a.tangents));
          },
      .lower = std::move(lower),
      .fused = true,
      .cost = cost_of_body,
      .cases = std::move(cases),
  };
}

// Loops that read through an index: whole rows, elements of rows, one of each row.
static std::vector<OpCase> gathering_cases() {
  struct Example {
    std::string name;
    DType dtype;
    Dims source, indices;
    Expr (*gather)(const Expr& x, const Expr& at);
  };
  auto rows = [](const Expr& x, const Expr& at) { return take(x, at); };
  auto columns = [](const Expr& x, const Expr& at) { return take(x, at, 1); };
  auto picked = [](const Expr& x, const Expr& at) { return pick_rows(x, at); };
  const std::vector<Example> examples{{"gathered_rows", DType::kFloat64, {4, 21}, {5}, rows},
                                      {"gathered_columns", DType::kFloat32, {3, 4}, {37}, columns},
                                      {"gathered_numbers", DType::kInt16, {4}, {19}, rows},
                                      {"gathered_empty", DType::kFloat64, {4, 0}, {5}, rows},
                                      {"picked", DType::kFloat64, {21, 4}, {21}, picked}};
  std::vector<OpCase> out;
  for (const Example& example : examples)
    out.push_back({.name = example.name,
                   .inputs = {{.dtype = example.dtype, .dims = example.source},
                              {.dtype = DType::kInt64, .dims = example.indices}},
                   .build = [gather = example.gather](const std::vector<Expr>& x) {
                     return fused_values(make_fused, x, [&](const std::vector<Expr>& in) {
                       Expr value = gather(in[0], in[1]);
                       return std::vector<Expr>{value * value + value};
                     });
                   }});
  return out;
}

static std::vector<OpCase> fused_cases() {
  // Two outputs; one operand that a row shares, one that is a scalar.
  auto build = [](const std::vector<Expr>& x) {
    return fused_values(make_fused, x, [](const std::vector<Expr>& in) {
      Expr product = tanh(in[0] + in[1]) * in[2];
      return std::vector<Expr>{product, product - in[0]};
    });
  };
  auto case_of = [&](std::string name, DType dtype, Dims matrix, Dims row) {
    return OpCase{.name = std::move(name),
                  .inputs = {{.dtype = dtype, .dims = std::move(matrix)},
                             {.dtype = dtype, .dims = std::move(row)},
                             {.dtype = dtype, .dims = {}}},
                  .build = build,
                  .bound = 8};
  };
  std::vector<OpCase> out{
      case_of("rows", DType::kFloat64, {3, 21}, {21}), case_of("rows_f32", DType::kFloat32, {2, 35}, {35}),
      case_of("columns", DType::kFloat64, {4, 3}, {4, 1}), case_of("named", DType::kFloat64, {"n", 3}, {3}),
      case_of("empty", DType::kFloat64, {0, 3}, {3})};
  for (OpCase& c : gathering_cases()) out.push_back(std::move(c));
  return out;
}

const Op& fused_op() {
  static const Op op = op_of_body(
      "fused", "Several elementwise expressions over one domain, computed in one loop nest.",
      [](StepBuilder& b) { lower_elementwise(b, b.node().bodies[0]->inputs, b.node().bodies[0]->outputs); },
      fused_cases);
  return op;
}

}  // namespace thtrain
