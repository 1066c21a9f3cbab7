#include "compiler/ops/elemwise/body_code.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "compiler/kernel/vector_maths.h"
#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {
namespace {

using kernel::Term;

int64_t weight_of(const Term& term) {
  int64_t out = term.node().prim == kernel::Prim::kMath ? 16 : 1;
  for (const Term& arg : term.node().args) out += weight_of(arg);
  return out;
}

bool calls_library(const Term& term, int vector_bytes) {
  if (term.node().prim == kernel::Prim::kMath && !kernel::has_polynomial(term.node().name, vector_bytes)) return true;
  return std::any_of(term.node().args.begin(), term.node().args.end(),
                     [&](const Term& arg) { return calls_library(arg, vector_bytes); });
}

std::vector<Term> dummy_terms(const Signature& signature) {
  std::vector<Term> out;
  for (DType dtype : signature.inputs) out.push_back(kernel::variable("x", {dtype, 1, 0}));
  return out;
}

Term literal(const Tensor& value) {
  return is_float(value.dtype()) ? kernel::constant(value.dtype(), value.as_double())
                                 : kernel::constant_int(value.dtype(), value.as_int());
}

}  // namespace

Signature signature_of(const Node& node) {
  std::vector<DType> dtypes;
  for (const Expr& input : node.inputs) dtypes.push_back(input.dtype());
  return *node.op->scalar->signature(dtypes, node.props);
}

bool has_scalar_code(const Node& node) {
  if (!node.op->scalar || !node.op->scalar->code) return false;
  for (const Expr& input : node.inputs)
    if (is_complex(input.dtype())) return false;
  uint64_t dtypes = 1;  // of inputs and outputs, which the signature follows from
  for (const Expr& input : node.inputs) dtypes = dtypes << 4 | static_cast<uint64_t>(input.dtype());
  for (const Type& type : node.types) {
    if (is_complex(type.dtype)) return false;
    dtypes = dtypes << 4 | static_cast<uint64_t>(type.dtype);
  }
  // Every pass that fuses asks this of every node, and the answer is had by writing the code. Records are never freed.
  thread_local std::map<std::pair<const ScalarOp*, uint64_t>, bool> known;
  auto [at, fresh] = known.try_emplace({node.op->scalar, dtypes}, false);
  if (fresh) {
    Signature signature = signature_of(node);
    at->second = !node.op->scalar->code(dummy_terms(signature), signature).empty();
  }
  return at->second;
}

int64_t weight_of(const Node& node) {
  if (!node.op->scalar) return 4;
  Signature signature = signature_of(node);
  int64_t out = 0;
  for (const Term& term : node.op->scalar->code(dummy_terms(signature), signature)) out += weight_of(term);
  return out;
}

bool calls_library(const Node& node, int vector_bytes) {
  if (!node.op->scalar) return false;
  Signature signature = signature_of(node);
  const std::vector<Term> code = node.op->scalar->code(dummy_terms(signature), signature);
  return std::any_of(code.begin(), code.end(), [&](const Term& term) { return calls_library(term, vector_bytes); });
}

size_t widest_of(const Node& node) {
  if (!node.op->scalar) return size_of(node.types[0].dtype);
  Signature signature = signature_of(node);
  size_t out = 1;
  for (DType dtype : signature.inputs) out = std::max(out, size_of(dtype));
  for (DType dtype : signature.outputs) out = std::max(out, size_of(dtype));
  for (const Expr& input : node.inputs) out = std::max(out, size_of(input.dtype()));
  return out;
}

std::vector<const Node*> nodes_between(std::span<const Expr> inputs, std::span<const Expr> outputs) {
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
        if (!node->inputs.empty()) out.push_back(node);
        stack.pop_back();
      }
    }
  }
  return out;
}

Term BodyValues::at(const Expr& e) const {
  auto found = terms_.find(key(e));
  return found != terms_.end() ? found->second : literal(*constant_value(e));
}

void write_node(kernel::Code& code, const Node& node, BodyValues& values) {
  TH_CHECK(node.op->scalar, node.op->name, " is not elementwise");
  Signature signature = signature_of(node);
  std::vector<Term> args;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    Term x = values.at(node.inputs[i]);
    Term c = kernel::cast(x, signature.inputs[i]);
    args.push_back(signature.inputs[i] == x.dtype() ? c : code.let("c", c));
  }
  std::vector<Term> results = kernel::bind_shared(code, node.op->scalar->code(args, signature));
  for (size_t o = 0; o < results.size(); ++o)
    values.set(node[o], code.let(identifier(node.name.empty() ? node.op->name : node.name), results[o]));
}

std::string identifier(std::string name) {
  if (size_t slash = name.rfind('/'); slash != std::string::npos) name = name.substr(slash + 1);
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back()))) name.pop_back();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return "v_" + name;
}

std::string kernel_name(std::span<const Node* const> nodes) {
  std::string out;
  for (const Node* node : nodes)
    if (out.size() < 32) out += str(out.empty() ? "" : "_", node->op->name);
  return out.empty() ? "copy" : out;
}

std::string kernel_comment(std::span<const Node* const> nodes, std::span<const Expr> inputs,
                           std::span<const Expr> outputs) {
  std::unordered_map<const Node*, std::vector<std::string>> texts;
  auto text_of = [&](const Expr& e) -> std::string {
    auto at = texts.find(&e.node());
    if (at != texts.end()) return at->second[e.output()];
    const Tensor* value = constant_value(e);
    return value ? value->text() : "?";
  };
  for (size_t k = 0; k < inputs.size(); ++k) {
    std::vector<std::string>& own = texts[&inputs[k].node()];
    own.resize(std::max(own.size(), inputs[k].output() + 1));
    own[inputs[k].output()] = str("in", k);
  }
  for (const Node* node : nodes) {
    std::string text = str(node->op->name, "(", join(node->inputs, ", ", text_of), ")");
    if (text.size() > 120) {  // shared values would double it at every use
      text.resize(117);
      text += "...";
    }
    texts[node] = std::vector<std::string>(node->types.size(), text);
  }
  std::string out;
  for (size_t o = 0; o < outputs.size(); ++o) out += str(o ? "; " : "", "out", o, " = ", text_of(outputs[o]));
  return out + ", " + readable(outputs[0].type().text());
}

std::vector<LoopAxis> collapse(const std::vector<LoopAxis>& axes) {
  std::vector<LoopAxis> out;
  for (const LoopAxis& axis : axes) {
    if (axis.length.is(1)) continue;
    bool joined = !out.empty();
    for (size_t k = 0; joined && k < axis.strides.size(); ++k)
      joined = out.back().strides[k] == axis.strides[k] * axis.length;
    if (joined)
      out.back() = {out.back().length * axis.length, axis.strides};
    else
      out.push_back(axis);
  }
  return out;
}

Dims strides_over(const Dims& domain, const kernel::Operand& operand) {
  Dims out(domain.size(), Dim(0));
  size_t lead = domain.size() - operand.type.rank();
  for (size_t i = 0; i < operand.type.rank(); ++i)
    if (!operand.type.dims[i].is(1)) out[lead + i] = operand.layout.strides[i];
  return out;
}

}  // namespace thtrain
