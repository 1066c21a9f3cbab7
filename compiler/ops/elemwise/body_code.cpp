#include "compiler/ops/elemwise/body_code.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "compiler/kernel/term_cost.h"
#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {
namespace {

using kernel::Term;

std::vector<Parts> dummy_parts(const Signature& signature) {
  std::vector<Parts> out;
  for (DType dtype : signature.inputs) {
    const kernel::TermType type{real_dtype(dtype), 1, 0};
    out.emplace_back(kernel::variable("x", type), is_complex(dtype) ? kernel::variable("y", type) : Term());
  }
  return out;
}

Term number(DType dtype, double value, int64_t integer) {
  return is_float(dtype) ? kernel::constant(dtype, value) : kernel::constant_int(dtype, integer);
}

Parts literal(const Tensor& value) {
  if (!is_complex(value.dtype())) {
    const bool real = is_float(value.dtype());
    return number(value.dtype(), real ? value.as_double() : 0, real ? 0 : value.as_int());
  }
  const Tensor wide = value.cast(DType::kComplex128);
  const std::complex<double> z = *wide.data<std::complex<double>>();
  const DType part = real_dtype(value.dtype());
  return {kernel::constant(part, z.real()), kernel::constant(part, z.imag())};
}

bool is_any_complex(const Signature& signature) {
  return std::any_of(signature.inputs.begin(), signature.inputs.end(), is_complex) ||
         std::any_of(signature.outputs.begin(), signature.outputs.end(), is_complex);
}

// The terms of the node's code, complex values as two.
std::vector<Term> terms_of(const std::vector<Parts>& values) {
  std::vector<Term> out;
  for (const Parts& value : values) {
    out.push_back(value.re);
    if (value.is_complex()) out.push_back(value.im);
  }
  return out;
}

// One of the two numbers at a location of complex ones.
kernel::Location part_of(const kernel::Location& location, int part) {
  kernel::Location out = location;
  out.operand.type.dtype = real_dtype(location.operand.type.dtype);
  for (Dim& stride : out.operand.layout.strides) stride = stride * 2;
  for (Dim& stride : out.strides) stride = stride * 2;
  out.first = location.first * Term(2) + Term(part);
  for (kernel::Move& move : out.moves) move.step = move.step * 2;
  out.pair = part == 0 ? kernel::Location::Pair::kFirst : kernel::Location::Pair::kSecond;
  return out;
}

}  // namespace

Signature signature_of(const Node& node) {
  std::vector<DType> dtypes;
  for (const Expr& input : node.inputs) dtypes.push_back(input.dtype());
  return *node.op->scalar->signature(dtypes, node.props);
}

std::vector<Parts> code_of(const ScalarOp& record, std::span<const Parts> inputs, const Signature& signature) {
  if (is_any_complex(signature))
    return record.complex_code ? record.complex_code(inputs, signature) : std::vector<Parts>{};
  if (!record.code) return {};
  std::vector<Term> terms;
  for (const Parts& input : inputs) terms.push_back(input.re);
  const std::vector<Term> results = record.code(terms, signature);
  return {results.begin(), results.end()};
}

Parts converted(const Parts& x, DType dtype) {
  if (is_complex(dtype)) {
    const DType part = real_dtype(dtype);
    return {kernel::cast(x.re, part), x.is_complex() ? kernel::cast(x.im, part) : kernel::constant(part, 0)};
  }
  if (!x.is_complex()) return kernel::cast(x.re, dtype);
  TH_CHECK(is_bool(dtype), "a complex number as ", name_of(dtype));
  return x.re != 0 || x.im != 0;
}

bool has_scalar_code(const Node& node) {
  if (!node.op->scalar) return false;
  uint64_t dtypes = 1;  // of inputs and outputs, which the signature follows from
  for (const Expr& input : node.inputs) dtypes = dtypes << 4 | static_cast<uint64_t>(input.dtype());
  for (const Type& type : node.types) dtypes = dtypes << 4 | static_cast<uint64_t>(type.dtype);
  // Every pass that fuses asks this of every node, and the answer is had by writing the code. Records are never freed.
  thread_local std::map<std::pair<const ScalarOp*, uint64_t>, bool> known;
  auto [at, fresh] = known.try_emplace({node.op->scalar, dtypes}, false);
  if (fresh) {
    Signature signature = signature_of(node);
    at->second = !code_of(*node.op->scalar, dummy_parts(signature), signature).empty();
  }
  return at->second;
}

int64_t weight_of(const Node& node) {
  constexpr int64_t kGatherWork = 4;
  if (!node.op->scalar) return kGatherWork;
  const Signature signature = signature_of(node);
  const std::vector<Term> terms = terms_of(code_of(*node.op->scalar, dummy_parts(signature), signature));
  // The parts of a complex function share most of their terms.
  if (is_any_complex(signature)) return kernel::flops_of(terms) + 2 * static_cast<int64_t>(node.inputs.size());
  return kernel::work_of(terms);
}

int64_t flops_of(const Node& node) {
  const Signature signature = signature_of(node);
  const std::vector<Parts> code = code_of(*node.op->scalar, dummy_parts(signature), signature);
  return code.empty() ? 1 : kernel::flops_of(terms_of(code));
}

size_t widest_of(const Node& node) {
  if (!node.op->scalar) return size_of(real_dtype(node.types[0].dtype));
  Signature signature = signature_of(node);
  size_t out = 1;
  for (DType dtype : signature.inputs) out = std::max(out, size_of(real_dtype(dtype)));
  for (DType dtype : signature.outputs) out = std::max(out, size_of(real_dtype(dtype)));
  for (const Expr& input : node.inputs) out = std::max(out, size_of(real_dtype(input.dtype())));
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

Parts BodyValues::parts(const Expr& e) const {
  auto found = values_.find(key(e));
  return found != values_.end() ? found->second : literal(*constant_value(e));
}

Term BodyValues::at(const Expr& e) const {
  const Parts value = parts(e);
  TH_CHECK(!value.is_complex(), "one term of a complex number");
  return value.re;
}

void write_node(kernel::Names& names, const Node& node, BodyValues& values) {
  TH_CHECK(node.op->scalar, node.op->name, " is not elementwise");
  Signature signature = signature_of(node);
  std::vector<Parts> args;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Parts x = values.parts(node.inputs[i]);
    Parts c = converted(x, signature.inputs[i]);
    if (node.inputs[i].dtype() != signature.inputs[i]) {
      c.re = names.let("c", c.re);
      if (c.is_complex()) c.im = names.let("c", c.im);
    }
    args.push_back(std::move(c));
  }
  const std::vector<Parts> code = code_of(*node.op->scalar, args, signature);
  const std::vector<Term> terms = kernel::bind_shared(names, terms_of(code));
  const std::string name = identifier(node.name.empty() ? node.op->name : node.name);
  for (size_t o = 0, next = 0; o < code.size(); ++o) {
    const bool is_pair = code[o].is_complex();
    Parts value = names.let(is_pair ? name + "_re" : name, terms[next++]);
    if (is_pair) value.im = names.let(name + "_im", terms[next++]);
    values.set(node[o], std::move(value));
  }
}

Parts load_value(kernel::Nest& nest, const std::string& name, const kernel::Location& location) {
  if (!is_complex(location.operand.type.dtype)) return nest.load(name, location);
  Parts out = nest.load(name + "_re", part_of(location, 0));
  out.im = nest.load(name + "_im", part_of(location, 1));
  return out;
}

void store_value(kernel::Nest& nest, const kernel::Location& location, const Parts& value) {
  if (!value.is_complex()) return nest.store(location, value.re);
  nest.store(part_of(location, 0), value.re);
  nest.store(part_of(location, 1), value.im);
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

bool has_each_element(const Dims& domain, const Dims& strides) {
  for (size_t i = 0; i < domain.size(); ++i)
    if (strides[i].is(0) && !domain[i].is(1)) return false;
  return true;
}

}  // namespace thtrain
