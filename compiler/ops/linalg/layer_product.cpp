#include "compiler/ops/linalg/layer_product.h"

#include <algorithm>

#include "compiler/ops/device_candidates.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/key_reader.h"
#include "compiler/ops/linalg/fused_product.h"
#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/linalg/matrix_layout.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;

constexpr const char *kLayers = "layer_product", *kOwnLayer = "own", *kCublasLt = "cuBLASLt",
                     *kCublasLtTf32 = "cuBLASLt TF32";

// ---- the form

bool is_layer_anchor(const Node& node) {
  return is_float(node.types[0].dtype) &&
         (node.op == &batched_dot_op() || (node.op == &dot_op() && is_matrix_product(node)));
}

bool is_zero(const Expr& x) {
  return constant_number(x) == 0.0;
}

// One number for each column of results with these lengths: all other axes are 1, or not there.
bool is_for_columns(const Expr& x, const Type& result) {
  const Dims& dims = x.dims();
  if (x.dtype() != result.dtype || dims.empty() || dims.size() > result.rank()) return false;
  for (size_t i = 0; i + 1 < dims.size(); ++i)
    if (!dims[i].is(1)) return false;
  return dims.back() == result.dims.back();
}

// What of a sum is the bias; nullopt: neither.
std::optional<size_t> bias_of(const Node& node) {
  if (node.op != &add_op()) return std::nullopt;
  for (const size_t i : {1U, 0U})
    if (is_for_columns(node.inputs[i], node.types[0]) && node.inputs[1 - i].dims() == node.types[0].dims) return i;
  return std::nullopt;
}

// ---- the choice

struct LayerKey {
  MatrixProduct product;
  bool has_bias = false, relu = false;
};

// "float32 60x784x500 NN with bias relu"
std::string text_of(const LayerKey& key) {
  return str(key_of(key.product).properties, " with", key.has_bias ? " bias" : "", key.relu ? " relu" : "");
}

std::optional<LayerKey> read_layer_key(const std::string& text) {
  const size_t at = text.find(" with ");
  if (at == std::string::npos) return std::nullopt;
  const std::optional<MatrixProduct> product = product_of(text.substr(0, at));
  if (!product || !is_float(product->dtype) || product->accumulates) return std::nullopt;
  if (product->count == 0 && (product->m == 1 || product->n == 1)) return std::nullopt;  // of vectors
  LayerKey out{*product};
  const std::string rest = text.substr(at + 5);
  KeyReader reader(rest);
  out.has_bias = reader.take(" bias");
  out.relu = reader.take(" relu");
  return reader.is_at_end() && (out.has_bias || out.relu) ? std::optional(out) : std::nullopt;
}

std::optional<LayerKey> key_of_layer(const LayerProduct& layer, const Layout& a, const Layout& b) {
  const std::optional<MatrixProduct> known = known_product(*layer.product, a, b);
  if (!known || known->accumulates || !ends_with_more(*known)) return std::nullopt;
  return LayerKey{*known, layer.bias.has_value(), layer.relu};
}

std::optional<Graph> example_of_layer(const std::string& properties) {
  const std::optional<LayerKey> key = read_layer_key(properties);
  if (!key || !ends_with_more(key->product)) return std::nullopt;
  const MatrixProduct& p = key->product;
  const auto input = [&](const char* name, Dims dims) {
    if (p.count) dims.insert(dims.begin(), p.count);
    return make_input({.dtype = p.dtype, .dims = std::move(dims)}, name);
  };
  const Expr a = input("a", p.trans_a ? Dims{p.k, p.m} : Dims{p.m, p.k}),
             b = input("b", p.trans_b ? Dims{p.n, p.k} : Dims{p.k, p.n}),
             bias = make_input({.dtype = p.dtype, .dims = p.count ? Dims{1, 1, p.n} : Dims{1, p.n}}, "bias");
  std::vector<Expr> leaves{a, b}, arguments{p.trans_a ? matrix_transpose(a) : a, p.trans_b ? matrix_transpose(b) : b};
  if (key->has_bias) {
    leaves.push_back(bias);
    arguments.push_back(bias);
  }
  // The node itself: trials run no pass that makes it.
  std::vector<Expr> x;
  for (const Expr& argument : arguments) x.push_back(make_input(argument.type(), str("x", x.size())));
  Expr y = p.count ? apply(batched_dot_op(), {x[0], x[1]}) : dot(x[0], x[1]);
  if (key->has_bias) y = y + x[2];
  if (key->relu) y = maximum(0, y);
  auto body = std::make_shared<Graph>(Graph{x, {y}, {}});
  return Graph{leaves, {(*make_fused_product(std::move(body), std::move(arguments)))[0]}, {}};
}

kernel::LibraryFunction layer_function(const Target& target, DType dtype, bool tf32) {
  const bool is_float32 = dtype == DType::kFloat32;
  return device_function(target,
                         str("cublaslt_layer_", tf32         ? "tf32"
                                                : is_float32 ? "f32"
                                                             : "f64"),
                         is_float32 ? TH_TEXT_OF(TH_LAYER_PARAMETERS(float)) : TH_TEXT_OF(TH_LAYER_PARAMETERS(double)),
                         true);
}

std::optional<Candidate> find_layer(const ChoiceKey& key, const std::string& name, const Target& target) {
  const std::optional<LayerKey> k = read_layer_key(key.properties);
  if (!k || !target.is_device()) return std::nullopt;
  if (name == kOwnLayer) return Candidate{.name = kOwnLayer};
  const bool tf32 = name == kCublasLtTf32;
  if (name != kCublasLt && !(tf32 && k->product.dtype == DType::kFloat32)) return std::nullopt;
  Candidate out{.name = name,
                .workspace_bytes = k->product.n * static_cast<int64_t>(size_of(k->product.dtype)),
                .functions = {layer_function(target, k->product.dtype, tf32).name},
                .is_of_device = true};
  // NVIDIA does not say what its activation makes of a NaN.
  if (tf32 || k->relu) out.rounding = RoundingClass::kOther;
  return out;
}

// Where cuBLASLt is not chosen, fused products are what the choice for the product makes of them.
std::string chosen_of(const LayerKey& key, const kernel::Chooser& chooser) {
  return chooser.choose({kLayers, text_of(key)});
}

size_t number_of(const Graph& body, const Expr& e) {
  const auto at = std::ranges::find_if(body.inputs, [&](const Expr& input) { return input.same(e); });
  TH_CHECK(at != body.inputs.end(), "what a product reads is no input of its body");
  return static_cast<size_t>(at - body.inputs.begin());
}

// The bias side by side, as the library reads it.
kernel::Operand dense_bias(StepBuilder& b, const kernel::Operand& given, const Dim& n) {
  const Dim step = given.layout.strides.back();
  if (step.is(1)) return given;
  const kernel::Operand out = b.workspace(given.type.dtype, n);
  kernel::Operand columns = given;
  columns.type.dims = {n};
  move_kernel(b, {columns, {step}}, {out, {Dim(1)}}, "copy", "the bias side by side");
  return out;
}

}  // namespace

bool is_bias_sum(const Node& node) {
  return bias_of(node).has_value();
}

bool is_relu(const Node& node) {
  return node.op == &maximum_op() && is_float(node.types[0].dtype) &&
         (is_zero(node.inputs[0]) || is_zero(node.inputs[1]));
}

std::optional<LayerProduct> layer_product_of(const Expr& value) {
  LayerProduct out{};
  Expr e = value;
  if (is_relu(e.node())) {
    out.relu = true;
    e = e.node().inputs[is_zero(e.node().inputs[0]) ? 1 : 0];
  }
  if (bias_of(e.node())) {
    const size_t bias = *bias_of(e.node());
    out.bias = e.node().inputs[bias];
    e = e.node().inputs[1 - bias];
  }
  if (!is_layer_anchor(e.node()) || !(out.relu || out.bias.has_value())) return std::nullopt;
  if (e.dims() != value.dims()) return std::nullopt;
  out.product = &e.node();
  return out;
}

bool is_by_cublaslt(const LayerProduct& layer, const Layout& a, const Layout& b, const kernel::Chooser& chooser) {
  const std::optional<LayerKey> key = key_of_layer(layer, a, b);
  return key && chosen_of(*key, chooser) != kOwnLayer;
}

bool lower_by_cublaslt(StepBuilder& b) {
  const Graph& body = *b.node().bodies[0];
  if (body.outputs.size() != 1 || !b.chooser()) return false;
  const std::optional<LayerProduct> layer = layer_product_of(body.outputs[0]);
  if (!layer) return false;
  const kernel::Operand &left = b.input(number_of(body, layer->product->inputs[0])),
                        &right = b.input(number_of(body, layer->product->inputs[1]));
  const std::optional<LayerKey> key = key_of_layer(*layer, left.layout, right.layout);
  if (!key || batch_axes(left, right, b.output()).size() > 1) return false;
  const std::string name = chosen_of(*key, *b.chooser());
  if (name == kOwnLayer) return false;
  const MatrixProduct& p = key->product;
  const MatrixLayout of_a = *matrix_layout(left.type.dims, left.layout),
                     of_b = *matrix_layout(right.type.dims, right.layout);
  const std::vector<BatchAxis> batch = batch_axes(left, right, b.output());
  const BatchAxis axis = batch.empty() ? BatchAxis{1, 0, 0, 0} : batch[0];
  const kernel::Operand bias = key->has_bias ? dense_bias(b, b.input(number_of(body, layer->bias)), p.n) : left;
  b.call_library({layer_function(b.target(), p.dtype, name == kCublasLtTf32),
                  {Dim(of_a.transposed), Dim(of_b.transposed), Dim(key->has_bias), Dim(key->relu), Dim(p.m), Dim(p.n),
                   Dim(p.k), PointerTo{left.index}, of_a.leading, PointerTo{right.index}, of_b.leading,
                   PointerTo{bias.index}, PointerTo{b.output().index}, axis.length, axis.a, axis.b}});
  return true;
}

const Computation& layer_product() {
  static const Computation computation{
      kLayers, kOwnLayer, example_of_layer,
      [](const ChoiceKey&, const Target&, int, double) { return std::string(kOwnLayer); }};
  return computation;
}

CandidateSource layer_products() {
  return own_and_library(kLayers, kOwnLayer, kCublasLt, find_layer, nullptr, {kCublasLtTf32});
}

}  // namespace thtrain
