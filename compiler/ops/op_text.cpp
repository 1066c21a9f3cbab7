#include "compiler/ops/op_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "compiler/base/str.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/lengths.h"
#include "compiler/ops/bounded.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/case_inputs.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/reduce/reduce_op.h"

namespace thtrain {
namespace {

// In the order of the page.
constexpr const char* kLabels[] = {"Shapes",  "dtypes", "Gradient", "Error bound", "Edge cases",
                                   "Example", "Source", "Device",   "Rules"};

bool has_views(const Op& op) {
  return std::ranges::any_of(op.aliases, [](const Alias& alias) { return alias.view != nullptr; });
}

// ---- dtypes --------------------------------------------------------------------------------------------------------

// What an op gives for inputs of one dtype; nullopt where it is not defined.
using Given = std::function<std::optional<DType>(DType)>;

// "bool, integers, floats; bool gives int64".
std::string dtypes_text(const Given& given) {
  struct Kind {
    DType dtype;
    const char* name;
  };
  const Kind kinds[] = {{DType::kBool, "bool"},
                        {DType::kInt64, "integers"},
                        {DType::kFloat64, "floats"},
                        {DType::kComplex128, "complex numbers"}};
  std::vector<std::string> taken;
  std::map<std::string, std::vector<std::string>> changed;  // by what they give
  for (const Kind& kind : kinds) {
    const std::optional<DType> out = given(kind.dtype);
    if (!out) continue;
    taken.push_back(kind.name);
    if (*out == kind.dtype) continue;
    const std::string what = !is_float(*out)          ? std::string(name_of(*out))
                             : is_complex(kind.dtype) ? "the floats of their parts"
                                                      : "floatX";
    changed[what].push_back(kind.name);
  }
  std::string out = join(taken, ", ");
  for (const auto& [what, from] : changed)
    out += from.size() > 1 && from.size() + 1 >= taken.size() && changed.size() == 1 && what == "bool"
               ? "; gives bool"
               : str("; ", join(from, " and "), from.size() == 1 && from[0] == "bool" ? " gives " : " give ", what);
  return out + ".";
}

std::string dtypes_text(const Op& op) {
  if (op.reduction) return dtypes_text(Given(op.reduction->dtype));
  const ScalarOp& record = *op.scalar;
  return dtypes_text(Given([&](DType dtype) -> std::optional<DType> {
    const std::vector<DType> inputs(static_cast<size_t>(record.arity), dtype);
    const std::optional<Signature> signature = record.signature(inputs, {});
    return signature ? std::optional(signature->outputs[0]) : std::nullopt;
  }));
}

// Does a node of the op have inputs? What has none is the same for all elements of vmap.
bool takes_inputs(const Op& op) {
  for (const OpCase& c : op.cases()) {
    const std::vector<Expr> results = c.build(make_inputs(c, "x", 3).variables);
    for (const Node* node : topological_order(results))
      if (node->op == &op) return !node->inputs.empty();
  }
  return false;
}

// ---- error bounds --------------------------------------------------------------------------------------------------

// The bounds of an op's own results among its cases, in u.
struct Bounds {
  double least = 0, most = 0;
  bool any = false, is_unknown = false;
  std::string at;  // the inputs of the largest one

  void take(double bound, const Node& node) {
    if (std::isinf(bound) || std::isnan(bound)) is_unknown = true;
    if (!any || bound > most) {
      most = bound;
      at = join(node.inputs, ", ", [](const Expr& input) { return readable(input.type().text()); });
    }
    least = any ? std::min(least, bound) : bound;
    any = true;
  }
  bool depends_on_shapes() const { return most - least > 0.05 * most; }
};

// The largest error, in halves of a unit in the last place of the largest value; nullopt: all values are 0.
std::optional<double> relative_error(const Bounded& b) {
  double largest = 0, error = 0;
  const Tensor sizes = magnitudes(b.value);
  for (int64_t k = 0; k < b.value.size(); ++k) {
    const double x = sizes.data<double>()[k];
    if (!std::isfinite(x)) continue;
    largest = std::max(largest, x);
    error = std::max(error, b.error.data<double>()[k]);
  }
  if (largest == 0) return std::nullopt;
  return error / (float_limits(b.value.dtype()).unit * largest);
}

void add_bounds(const Op& op, const OpCase& c, std::map<DType, Bounds>& out) {
  const CaseInputs in = make_inputs(c, "x", 3);
  Lengths lengths;
  std::vector<std::pair<Expr, Tensor>> given;
  for (size_t i = 0; i < in.values.size(); ++i) {
    given.emplace_back(in.variables[i], in.values[i]);
    lengths.bind_names(in.variables[i], in.values[i]);
  }
  const std::vector<Expr> results = c.build(in.variables);
  BoundedEvaluator evaluator(given, lengths, Infinities::kSame);
  for (const Node* node : topological_order(results)) {
    if (node->op != &op) continue;
    std::vector<Bounded> inputs;
    for (const Expr& input : node->inputs) inputs.push_back(exactly(evaluator(input).value));
    const std::vector<Bounded> found = bounded_node(*node, inputs, lengths, Infinities::kSame);
    for (size_t o = 0; o < found.size(); ++o) {
      const Type& type = node->types[o];
      if (type.kind != TypeKind::kTensor || !(is_float(type.dtype) || is_complex(type.dtype))) continue;
      if (const std::optional<double> bound = relative_error(found[o])) out[type.dtype].take(*bound, *node);
    }
  }
}

// Rounded up to two digits: "12", "1.3", "2600".
std::string two_digits(double x) {
  const double step = std::pow(10, std::floor(std::log10(x)) - 1), digits = std::ceil(x / step - 1e-3);
  return step >= 1 ? str(std::llround(digits * step)) : str(std::round(digits * 10 * step) / 10);
}

std::string bound_text(const Bounds& b) {
  if (b.is_unknown) return "not known";
  if (b.most == 0) return "exact";
  return str(b.depends_on_shapes() ? "up to " : "", two_digits(b.most), " u");
}

}  // namespace

std::string error_bound_text(const Op& op) {
  if (op.fused) return "that of the expressions.";
  if (op.lower_region) return "that of the bodies.";
  if (!op.cases) return "exact.";
  std::map<DType, Bounds> bounds;
  for (const OpCase& c : op.cases()) add_bounds(op, c, bounds);
  if (bounds.empty()) return "exact.";
  // Complex results speak where an op has no others.
  const bool is_real = bounds.contains(DType::kFloat32) || bounds.contains(DType::kFloat64);
  const DType of_narrow = is_real ? DType::kFloat32 : DType::kComplex64,
              of_wide = is_real ? DType::kFloat64 : DType::kComplex128;
  const Bounds &narrow = bounds[of_narrow], &wide = bounds[of_wide];
  std::string out;
  if (!narrow.any || !wide.any || bound_text(narrow) == bound_text(wide))
    out = bound_text(narrow.any ? narrow : wide);
  else
    out = str(bound_text(narrow), " in ", name_of(of_narrow), ", ", bound_text(wide), " in ", name_of(of_wide));
  const Bounds& longest = wide.most > narrow.most ? wide : narrow;
  if (longest.depends_on_shapes() && !op.scalar) out += str("; the largest of ", longest.at);
  if (!op.error && !op.scalar && longest.most > 0) out += "; without a rule, by moving the inputs within their errors";
  return out + ".";
}

std::string native_text(const Op& op) {
  if (op.scalar) return "elementwise";
  if (op.lower) return "kernel";
  if (op.lower_region) return "region";
  if (has_views(op)) return "view";
  return op.calls_reference ? "reference" : "leaf";
}

namespace {

// Takes what the rules say.
class RuleChooser : public kernel::Chooser {
 public:
  explicit RuleChooser(const kernel::Target& target) : target_(target) {}
  std::string choose(const kernel::ChoiceKey& key) const override {
    return find_computation(key.computation)->rule(key, target_, 1, 0);
  }

 private:
  const kernel::Target& target_;
};

enum class Computed : uint8_t { kByKernels, kByLibrary, kByHost };

// Of row-major operands, where all libraries are installed.
Computed computed_by(const Node& node, const kernel::Target& device) {
  if (node.op->calls_reference || (node.op->scalar ? !has_scalar_code(node) : !node.op->lower))
    return Computed::kByHost;
  const auto operand = [](size_t number, const Type& type) {
    return kernel::Operand{static_cast<int>(number), type, row_major(type.dims)};
  };
  std::vector<kernel::Operand> inputs, outputs;
  for (const Expr& input : node.inputs) inputs.push_back(operand(inputs.size(), input.type()));
  for (const Type& type : node.types) outputs.push_back(operand(inputs.size() + outputs.size(), type));
  const RuleChooser chooser(device);
  kernel::StepBuilder builder(node, std::move(inputs), std::move(outputs), device, {.chooser = &chooser});
  lower_node(builder);
  Computed out = Computed::kByKernels;
  for (const kernel::StepCode& code : builder.take()) {
    if (std::holds_alternative<kernel::ReferenceCall>(code)) return Computed::kByHost;
    if (std::holds_alternative<kernel::LibraryCall>(code)) out = Computed::kByLibrary;
  }
  return out;
}

}  // namespace

std::string device_text(const Op& op, const kernel::Target& device) {
  const std::string native = native_text(op);
  if (native == "leaf" || native == "view" || native == "region" || !op.cases) return {};
  std::set<std::string_view> on_host, by_kernels, by_library;  // which numbers
  for (const OpCase& c : op.cases()) {
    const std::vector<Expr> results = c.build(make_inputs(c, "x", 3).variables);
    for (const Node* node : topological_order(results)) {
      if (node->op != &op) continue;
      const Computed computed = computed_by(*node, device);
      const DType dtype = node->types[0].dtype;
      (computed == Computed::kByHost      ? on_host
       : computed == Computed::kByKernels ? by_kernels
                                          : by_library)
          .insert(is_complex(dtype) ? "complex numbers"
                  : is_float(dtype) ? "floats"
                                    : "integers");
    }
  }
  const bool are_apart = std::ranges::none_of(by_library, [&](auto numbers) { return by_kernels.contains(numbers); });
  if (!by_library.empty() && !by_kernels.empty() && on_host.empty() && are_apart)
    return str("kernel; of ", join(by_library, " and "), " a library");
  if (!by_library.empty()) return on_host.empty() ? "library" : "library; lengths that a call decides on the host";
  if (by_kernels.empty()) return "host";
  return on_host.empty() ? "kernel" : str("kernel; of ", join(on_host, " and "), " on the host");
}

std::vector<std::string> rules_of(const Op& op) {
  std::vector<std::string> out;
  auto add = [&](bool has, const char* name) {
    if (has) out.push_back(name);
  };
  add(op.gradient != nullptr, "gradient");
  add(op.jvp != nullptr, "forward mode");
  add(op.gradient && !op.jvp, "forward mode by two reverse passes");
  const bool is_batched = op.scalar || (op.iterations && (op.iterations->all || op.iterations->outputs));
  add(is_batched, "vmap");
  add(!is_batched && op.cases && !op.defines && !op.fused && takes_inputs(op), "vmap by a loop");
  add(op.scalar || op.fused || std::ranges::any_of(op.aliases, [](const Alias& a) { return !a.view; }), "in place");
  add(has_views(op) && op.lower, "view");
  add(op.commutative, "commutative");
  add(op.has_effect, "effect");
  add(op.symbolic != nullptr, "lengths");
  add(op.cost != nullptr, "cost");
  return out;
}

std::string file_of(const Op& op) {
  const std::string file = op.defined_at.file_name();
  const size_t at = file.rfind("compiler/");
  return at == std::string::npos ? file : file.substr(at);
}

std::vector<OpStatement> statements_of_doc(const std::string& doc) {
  std::vector<OpStatement> out{{}};
  for (size_t begin = 0; begin <= doc.size();) {
    const size_t end = std::min(doc.find('\n', begin), doc.size());
    const std::string line = doc.substr(begin, end - begin);
    begin = end + 1;
    const auto* label = std::ranges::find_if(kLabels, [&](const char* l) { return line.starts_with(str(l, ": ")); });
    if (label != std::end(kLabels))
      out.push_back({*label, line.substr(std::string(*label).size() + 2)});
    else
      out.back().text += (out.back().text.empty() ? "" : " ") + line;
  }
  return out;
}

std::vector<OpStatement> statements_of(const Op& op, const kernel::Target& device) {
  std::map<std::string, std::string> by_label;
  for (const OpStatement& s : statements_of_doc(op.doc)) by_label[s.label] = s.text;
  auto complete = [&](const char* label, const std::string& text) { by_label.emplace(label, text); };
  if (op.reduction) complete("Shapes", "y is x without the axes, or with the length 1 there (keepdims).");
  if ((op.scalar || op.reduction) && !by_label.contains("dtypes")) by_label["dtypes"] = dtypes_text(op);
  if (op.fused) complete("Gradient", "that of the expressions; passes make the op after it is taken.");
  by_label["Error bound"] = error_bound_text(op);
  std::vector<std::string> rules = rules_of(op);
  rules.insert(rules.begin(), native_text(op));
  by_label["Rules"] = str(join(rules, ", "), "; ", file_of(op));
  if (const std::string computed = device_text(op, device); !computed.empty()) by_label["Device"] = computed + ".";
  std::vector<OpStatement> out{{"", by_label[""]}};
  for (const char* label : kLabels)
    if (by_label.contains(label)) out.push_back({label, by_label[label]});
  return out;
}

}  // namespace thtrain
