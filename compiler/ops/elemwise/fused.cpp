#include "compiler/ops/elemwise/fused.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_op.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::Operand;
using kernel::StepBuilder;
using kernel::Term;

// One axis of the loop nest: its length, and every operand's stride along it (0 where it is broadcast).
struct Axis {
  Dim length;
  Dims strides;
};

Dims strides_over(const Dims& domain, const Operand& operand) {
  Dims out(domain.size(), Dim(0));
  size_t lead = domain.size() - operand.type.rank();
  for (size_t i = 0; i < operand.type.rank(); ++i)
    if (!operand.type.dims[i].is(1)) out[lead + i] = operand.layout.strides[i];
  return out;
}

// Neighbours along which every operand runs on without a jump become one axis; lengths of 1 vanish.
std::vector<Axis> collapse(const Dims& domain, const std::vector<Operand>& operands) {
  std::vector<Dims> strides;
  for (const Operand& operand : operands) strides.push_back(strides_over(domain, operand));
  std::vector<Axis> axes;
  for (size_t i = 0; i < domain.size(); ++i) {
    if (domain[i].is(1)) continue;
    Axis axis{domain[i], {}};
    for (const Dims& s : strides) axis.strides.push_back(s[i]);
    bool joined = !axes.empty();
    for (size_t k = 0; joined && k < operands.size(); ++k)
      joined = axes.back().strides[k] == axis.strides[k] * axis.length;
    if (joined) {
      axes.back().length = axes.back().length * axis.length;
      axes.back().strides = axis.strides;
    } else {
      axes.push_back(std::move(axis));
    }
  }
  return axes;
}

// What the nodes of one region compute with, and how much work an element is.
struct Work {
  size_t widest = 1;
  int64_t weight = 0;  // simple operations for each element; a function of the target's table counts as 16
};

int64_t weight_of(const Term& term) {
  int64_t out = term.node().prim == kernel::Prim::kMath ? 16 : 1;
  for (const Term& arg : term.node().args) out += weight_of(arg);
  return out;
}

std::vector<Term> dummy_terms(const Signature& signature) {
  std::vector<Term> out;
  for (DType dtype : signature.inputs) out.push_back(kernel::variable("x", {dtype, 1, 0}));
  return out;
}

Signature signature_of(const Node& node) {
  std::vector<DType> dtypes;
  for (const Expr& input : node.inputs) dtypes.push_back(input.dtype());
  return *node.op->scalar->signature(dtypes, node.props);
}

Work work_of(std::span<const Node* const> nodes) {
  Work out;
  auto widen = [&](DType dtype) { out.widest = std::max(out.widest, size_of(dtype)); };
  for (const Node* node : nodes) {
    Signature signature = signature_of(*node);
    for (DType dtype : signature.inputs) widen(dtype);
    for (DType dtype : signature.outputs) widen(dtype);
    for (const Expr& input : node->inputs) widen(input.dtype());
    for (const Term& term : node->op->scalar->code(dummy_terms(signature), signature)) out.weight += weight_of(term);
  }
  return out;
}

// Elements of work that are worth waking a thread for, in simple operations.
constexpr int64_t kGrainOfWork = 1 << 17;

// The elementwise nodes between the two, inputs first. What lies above `inputs` is somebody else's.
std::vector<const Node*> elementwise_between(std::span<const Expr> inputs, std::span<const Expr> outputs) {
  std::unordered_set<const Node*> seen;
  for (const Expr& input : inputs) seen.insert(&input.node());
  std::vector<const Node*> out;
  std::vector<std::pair<const Node*, size_t>> stack;  // node, next input to visit
  for (const Expr& output : outputs) {
    if (seen.insert(&output.node()).second) stack.emplace_back(&output.node(), 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < node->inputs.size()) {
        const Node* input = &node->inputs[next++].node();
        if (seen.insert(input).second) stack.emplace_back(input, 0);
      } else {
        if (node->op->scalar) out.push_back(node);
        stack.pop_back();
      }
    }
  }
  return out;
}

class Emitter {
 public:
  Emitter(StepBuilder& b, std::span<const Expr> inputs, std::span<const Expr> outputs)
      : b_(b), inputs_(inputs), outputs_(outputs) {
    for (size_t i = 0; i < inputs.size(); ++i) operands_.push_back(b.input(i));
    for (size_t i = 0; i < outputs.size(); ++i) operands_.push_back(b.output(i));
    nodes_ = elementwise_between(inputs, outputs);
    axes_ = collapse(outputs[0].dims(), operands_);
    work_ = work_of(nodes_);
    for (const Operand& operand : operands_) work_.widest = std::max(work_.widest, size_of(operand.type.dtype));
    lanes_ = b.vector_bytes() / static_cast<int>(work_.widest);
  }

  void run() {
    if (axes_.empty()) {
      values_.clear();
      load_inputs([](size_t) { return true; }, Term(0), 1, {});
      compute([](const Node&) { return true; });
      store_outputs(Term(0), 1, {});
      b_.finish_kernel(name(), comment(), 1);
      return;
    }
    std::vector<Term> offsets(operands_.size(), Term(0));
    nest(0, offsets);
    Dim inner = 1;
    for (size_t i = 1; i < axes_.size(); ++i) inner = inner * axes_[i].length;
    int64_t weight = std::max<int64_t>(work_.weight, 1);
    Dim grain = inner.is_known() ? Dim(kGrainOfWork / (weight * std::max<int64_t>(inner.value(), 1)) + 1)
                                 : floor_div(Dim(kGrainOfWork / weight), max(inner, 1)) + 1;
    b_.finish_kernel(name(), comment(), axes_[0].length, grain, axes_.size() == 1 ? lanes_ : 1);
  }

 private:
  // Loops over axis `depth` and those inside it. offsets: each operand's element index so far.
  void nest(size_t depth, const std::vector<Term>& offsets) {
    Code& code = b_.code();
    Term first = depth == 0 ? b_.begin() : Term(0);
    Term last = depth == 0 ? b_.end() : b_.length(axes_[depth].length);
    if (depth + 1 < axes_.size()) {
      code.loop(str("i", depth), first, last, 1, LoopMark::kSequential, [&](Term i) {
        std::vector<Term> inside;
        for (size_t k = 0; k < operands_.size(); ++k)
          inside.push_back(code.let(str("at", k), offsets[k] + i * b_.length(axes_[depth].strides[k])));
        nest(depth + 1, inside);
      });
      return;
    }
    offsets_ = offsets;
    values_.clear();
    // Outside the innermost loop: operands that stand still along it, and what follows from them alone.
    load_inputs([&](size_t k) { return axes_.back().strides[k].is(0); }, Term(0), 1, {});
    compute([&](const Node& node) {
      return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Expr& e) { return known(e); });
    });
    std::unordered_map<std::string, Term> outside = values_;
    auto body = [&](Term i, Term count) {
      values_ = outside;
      load_inputs([&](size_t k) { return !axes_.back().strides[k].is(0); }, i, lanes_, count);
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

  static std::string key(const Expr& e) { return str(reinterpret_cast<uintptr_t>(&e.node()), ":", e.output()); }
  bool known(const Expr& e) const { return values_.count(key(e)) || constant_value(e); }

  template <class Which>
  void load_inputs(Which which, Term i, int lanes, Term count) {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      if (!which(k)) continue;
      Term stride = axes_.empty() ? Term(0) : b_.length(axes_.back().strides[k]);
      Term index = axes_.empty() ? Term(0) : offsets_[k] + i * stride;
      bool vector = lanes > 1 && !axes_.empty() && !axes_.back().strides[k].is(0);
      Term value = vector ? b_.load(operands_[k], index, lanes, stride, count) : b_.load(operands_[k], index);
      std::string hint = inputs_[k].name().empty() ? str("x", k) : readable(inputs_[k].name());
      values_[key(inputs_[k])] = b_.code().let(identifier(hint), value);
    }
  }

  template <class Which>
  void compute(Which which) {
    for (const Node* node : nodes_) {
      if (values_.count(key((*node)[0])) || !which(*node)) continue;
      Signature signature = signature_of(*node);
      std::vector<Term> args;
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        const Expr& input = node->inputs[i];
        Term x = values_.count(key(input)) ? values_.at(key(input)) : literal(*constant_value(input));
        Term c = kernel::cast(x, signature.inputs[i]);
        args.push_back(signature.inputs[i] == x.dtype() ? c : b_.code().let("c", c));
      }
      std::vector<Term> results = kernel::bind_shared(b_.code(), node->op->scalar->code(args, signature));
      for (size_t o = 0; o < results.size(); ++o)
        values_[key((*node)[o])] =
            b_.code().let(identifier(node->name.empty() ? node->op->name : node->name), results[o]);
    }
  }

  void store_outputs(Term i, int lanes, Term count) {
    for (size_t o = 0; o < outputs_.size(); ++o) {
      size_t k = inputs_.size() + o;
      Term value =
          values_.count(key(outputs_[o])) ? values_.at(key(outputs_[o])) : literal(*constant_value(outputs_[o]));
      if (lanes > 1) value = kernel::splat(value, lanes);
      Term stride = axes_.empty() ? Term(1) : b_.length(axes_.back().strides[k]);
      Term index = axes_.empty() ? Term(0) : offsets_[k] + i * stride;
      b_.store(operands_[k], index, value, lanes > 1 ? stride : Term(1), count);
    }
  }

  static Term literal(const Tensor& value) {
    return is_float(value.dtype()) ? kernel::constant(value.dtype(), value.as_double())
                                   : kernel::constant_int(value.dtype(), value.as_int());
  }

  static std::string identifier(std::string name) {
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    static const char* reserved[] = {"i",     "begin", "end",    "ctx",  "buffers", "lengths", "switch", "and",
                                     "or",    "not",   "xor",    "int",  "float",   "double",  "bool",   "long",
                                     "short", "char",  "const",  "if",   "for",     "do",      "while",  "return",
                                     "new",   "this",  "static", "void", "auto",    "rest",    "count",  "abs"};
    for (const char* word : reserved)
      if (name == word) return name + "_";
    // Helpers and buffers have names like exp_f32x16, in0, n1: a digit at the end gets a mark of its own.
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ||
        std::isdigit(static_cast<unsigned char>(name.back())))
      return "v_" + name + "_";
    return "v_" + name;
  }

  std::string name() const {
    std::string out;
    for (const Node* node : nodes_)
      if (out.size() < 32) out += str(out.empty() ? "" : "_", node->op->name);
    return out.empty() ? "copy" : out;
  }

  std::string comment() const {
    std::unordered_map<std::string, std::string> texts;
    for (size_t k = 0; k < inputs_.size(); ++k) texts[key(inputs_[k])] = str("in", k);
    std::string out;
    for (const Node* node : nodes_) {
      std::string text =
          str(node->op->name, "(",
              join(node->inputs, ", ",
                   [&](const Expr& e) { return texts.count(key(e)) ? texts.at(key(e)) : constant_value(e)->text(); }),
              ")");
      if (text.size() > 120) text = text.substr(0, 117) + "...";  // shared values would double it at every use
      for (size_t o = 0; o < node->types.size(); ++o) texts[key((*node)[o])] = text;
    }
    for (size_t o = 0; o < outputs_.size(); ++o) {
      std::string text =
          texts.count(key(outputs_[o])) ? texts.at(key(outputs_[o])) : constant_value(outputs_[o])->text();
      out += str(o ? "; " : "", "out", o, " = ", text);
    }
    return out + ", " + readable(outputs_[0].type().text());
  }

  StepBuilder& b_;
  std::span<const Expr> inputs_, outputs_;
  std::vector<Operand> operands_;
  std::vector<const Node*> nodes_;
  std::vector<Axis> axes_;
  Work work_;
  int lanes_;
  std::vector<Term> offsets_;
  std::unordered_map<std::string, Term> values_;
};

}  // namespace

bool has_scalar_code(const Node& node) {
  if (!node.op->scalar || !node.op->scalar->code) return false;
  for (const Expr& input : node.inputs)
    if (is_complex(input.dtype())) return false;
  for (const Type& type : node.types)
    if (is_complex(type.dtype)) return false;
  Signature signature = signature_of(node);
  return !node.op->scalar->code(dummy_terms(signature), signature).empty();
}

void lower_elementwise(StepBuilder& b, std::span<const Expr> inputs, std::span<const Expr> outputs) {
  Emitter(b, inputs, outputs).run();
}

std::shared_ptr<const Node> make_fused(GraphPtr body, std::vector<Expr> inputs) {
  return make_node(fused_op(), std::move(inputs), {}, {std::move(body)});
}

const Op& fused_op() {
  static const Op op{
      .name = "fused",
      .doc = "Several elementwise expressions over one domain, computed in one loop nest.",
      .infer =
          [](const TypeArgs& a) {
            const Graph& body = *a.bodies[0];
            TH_CHECK(body.inputs.size() == a.inputs.size(), "fused: ", a.inputs.size(), " inputs for ",
                     body.inputs.size());
            std::vector<Type> out;
            for (const Expr& e : body.outputs) out.push_back(e.type());
            return out;
          },
      .reference = [](const ReferenceArgs& a) { return a.run_body(*a.node.bodies[0], a.inputs); },
      .gradient =
          [](const GradientArgs& a) {
            // The body on the outer values, then the derivative of that.
            const Graph& body = *a.node.bodies[0];
            std::vector<std::pair<Expr, Expr>> replacements;
            for (size_t i = 0; i < body.inputs.size(); ++i) replacements.emplace_back(body.inputs[i], a.node.inputs[i]);
            std::vector<Expr> outputs = substitute(body.outputs, replacements);
            return a.differentiate(outputs, a.cotangents, a.node.inputs);
          },
      .lower = [](StepBuilder& b) { lower_elementwise(b, b.node().bodies[0]->inputs, b.node().bodies[0]->outputs); },
      .cases =
          [] {
            // Two outputs; one operand that a row shares, one that is a scalar.
            auto build = [](const std::vector<Expr>& x) {
              auto body = std::make_shared<Graph>();
              for (const Expr& e : x) body->inputs.push_back(make_input(e.type(), e.name()));
              const std::vector<Expr>& in = body->inputs;
              Expr product = tanh(in[0] + in[1]) * in[2];
              body->outputs = {product, product - in[0]};
              std::shared_ptr<const Node> node = make_fused(body, x);
              return std::vector<Expr>{(*node)[0], (*node)[1]};
            };
            auto case_of = [&](std::string name, DType dtype, Dims matrix, Dims row) {
              return OpCase{.name = std::move(name),
                            .inputs = {{.dtype = dtype, .dims = std::move(matrix)},
                                       {.dtype = dtype, .dims = std::move(row)},
                                       {.dtype = dtype, .dims = {}}},
                            .build = build,
                            .bound = 8};
            };
            return std::vector<OpCase>{case_of("rows", DType::kFloat64, {3, 21}, {21}),
                                       case_of("rows_f32", DType::kFloat32, {2, 35}, {35}),
                                       case_of("columns", DType::kFloat64, {4, 3}, {4, 1}),
                                       case_of("named", DType::kFloat64, {"n", 3}, {3}),
                                       case_of("empty", DType::kFloat64, {0, 3}, {3})};
          },
  };
  return op;
}

}  // namespace thtrain
