#include "compiler/ops/elemwise/body_code.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "compiler/kernel/term_cost.h"
#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {
namespace {

using kernel::Term;

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
  constexpr int64_t kGatherWork = 4;
  if (!node.op->scalar) return kGatherWork;
  Signature signature = signature_of(node);
  return kernel::work_of(node.op->scalar->code(dummy_terms(signature), signature));
}

int64_t flops_of(const Node& node) {
  constexpr int64_t kComplex = 4;  // operations of a complex number for one of a real one, about
  const ScalarOp& record = *node.op->scalar;
  std::vector<DType> dtypes;
  bool any_complex = false;
  for (const Expr& input : node.inputs) {
    any_complex = any_complex || is_complex(input.dtype());
    dtypes.push_back(is_complex(input.dtype()) ? DType::kFloat64 : input.dtype());
  }
  const std::optional<Signature> signature = record.signature(dtypes, node.props);
  if (!record.code || !signature || is_complex(signature->outputs[0])) return 1;
  return (any_complex ? kComplex : 1) * kernel::flops_of(record.code(dummy_terms(*signature), *signature));
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

void write_node(kernel::Names& names, const Node& node, BodyValues& values) {
  TH_CHECK(node.op->scalar, node.op->name, " is not elementwise");
  Signature signature = signature_of(node);
  std::vector<Term> args;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    Term x = values.at(node.inputs[i]);
    Term c = kernel::cast(x, signature.inputs[i]);
    args.push_back(signature.inputs[i] == x.dtype() ? c : names.let("c", c));
  }
  std::vector<Term> results = kernel::bind_shared(names, node.op->scalar->code(args, signature));
  for (size_t o = 0; o < results.size(); ++o)
    values.set(node[o], names.let(identifier(node.name.empty() ? node.op->name : node.name), results[o]));
}

void add_nodes(kernel::Nest& nest, std::span<const Node* const> nodes, BodyValues& values) {
  for (const Node* node : nodes) {
    if (values.has((*node)[0])) continue;
    nest.operation(weight_of(*node), widest_of(*node));
    write_node(nest, *node, values);
  }
}

std::string identifier(std::string name) {
  if (size_t slash = name.rfind('/'); slash != std::string::npos) name = name.substr(slash + 1);
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back()))) name.pop_back();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return "v_" + name;
}

std::string name_of_input(const Expr& input, size_t number) {
  return identifier(input.name().empty() ? str("x", number) : readable(input.name()));
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

Dims strides_over(const Dims& domain, const kernel::Operand& operand) {
  Dims out(domain.size(), Dim(0));
  size_t lead = domain.size() - operand.type.rank();
  for (size_t i = 0; i < operand.type.rank(); ++i)
    if (!operand.type.dims[i].is(1)) out[lead + i] = operand.layout.strides[i];
  return out;
}

}  // namespace thtrain
