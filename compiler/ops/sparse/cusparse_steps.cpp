#include "compiler/ops/sparse/cusparse_steps.h"

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/key_reader.h"
#include "compiler/ops/linalg/library_functions.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;

using namespace csr_dot_parts;

constexpr const char *kSparseProducts = "sparse_product", *kCusparse = "cuSPARSE", *kRows = "rows";

// A [m, k] with so many stored elements, times x [k, n], or a vector.
struct SparseProductKey {
  DType dtype = DType::kFloat32, of_indices = DType::kInt32;
  int64_t m = 0, k = 0, n = 0, stored = 0;
  bool is_vector = false, adds = false;
};

// "float32 int32 40x30x8 stored 120 added", "float64 int64 40x30x1 vector stored 120"
std::string text_of(const SparseProductKey& p) {
  return str(name_of(p.dtype), " ", name_of(p.of_indices), " ", p.m, "x", p.k, "x", p.n, p.is_vector ? " vector" : "",
             " stored ", p.stored, p.adds ? " added" : "");
}

std::optional<SparseProductKey> read_product_key(const std::string& text) {
  SparseProductKey out;
  KeyReader reader(text);
  const bool is_float32 = reader.take("float32 ");
  if (!is_float32 && !reader.take("float64 ")) return std::nullopt;
  out.dtype = is_float32 ? DType::kFloat32 : DType::kFloat64;
  const bool is_int32 = reader.take("int32 ");
  if (!is_int32 && !reader.take("int64 ")) return std::nullopt;
  out.of_indices = is_int32 ? DType::kInt32 : DType::kInt64;
  if (!reader.numbers({&out.m, &out.k, &out.n}, 1, int64_t{1} << 40)) return std::nullopt;
  out.is_vector = reader.take(" vector");
  if (!reader.take(" stored ") || !reader.number(out.stored, 1)) return std::nullopt;
  out.adds = reader.take(" added");
  return reader.is_at_end() && (!out.is_vector || out.n == 1) ? std::optional(out) : std::nullopt;
}

std::optional<SparseProductKey> key_of_product(const Node& node) {
  const Type &data = node.inputs[kData].type(), &x = node.inputs[kDense].type();
  const Dim rows = rows_of(node.inputs[kIndptr].type()), n = x.rank() == 2 ? x.dims[1] : Dim(1);
  if (!node.props.get<Dims>("columns").empty() || !is_float(data.dtype)) return std::nullopt;
  for (const Dim& dim : {rows, x.dims[0], n, data.dims[0]})
    if (!dim.is_known() || dim.is(0)) return std::nullopt;
  return SparseProductKey{data.dtype,    node.inputs[kIndices].type().dtype,
                          rows.value(),  x.dims[0].value(),
                          n.value(),     data.dims[0].value(),
                          x.rank() == 1, has_addend(node)};
}

// Row i has the elements from i stored / m on, in columns that lie apart.
std::optional<Graph> example_of_sparse_product(const std::string& properties) {
  const std::optional<SparseProductKey> p = read_product_key(properties);
  if (!p) return std::nullopt;
  std::vector<int64_t> ends, columns;
  for (int64_t i = 0; i <= p->m; ++i)
    ends.push_back(
        static_cast<int64_t>(static_cast<double>(p->stored) / static_cast<double>(p->m) * static_cast<double>(i)));
  ends.back() = p->stored;
  for (int64_t e = 0; e < p->stored; ++e) columns.push_back(e * 7919 % p->k);
  const Expr data = make_input({.dtype = p->dtype, .dims = {p->stored}}, "data"),
             x = make_input({.dtype = p->dtype, .dims = p->is_vector ? Dims{p->k} : Dims{p->k, p->n}}, "x");
  std::vector<Expr> inputs{data, x},
      all{data, constant_indices(columns, p->of_indices), constant_indices(ends, p->of_indices), x};
  if (p->adds) {
    inputs.push_back(make_input({.dtype = p->dtype, .dims = p->is_vector ? Dims{p->m} : Dims{p->m, p->n}}, "y"));
    all.insert(all.end(), {inputs.back(), make_constant(Tensor(-0.01).cast(p->dtype))});
  }
  return Graph{inputs, {apply(csr_dot_op(), all, {{"columns", Dims()}})}, {}};
}

std::vector<Candidate> sparse_candidates(const ChoiceKey& key, const Target& target) {
  const std::optional<SparseProductKey> p = read_product_key(key.properties);
  std::vector<Candidate> out{{.name = kRows}};
  if (p && target.is_device())
    out.push_back({.name = kCusparse,
                   .workspace_bytes = p->adds ? p->stored * static_cast<int64_t>(size_of(p->dtype)) : 0,
                   .functions = {cusparse_product_function(target, p->dtype, p->of_indices).name},
                   .is_of_device = true});
  return out;
}

}  // namespace

kernel::LibraryFunction cusparse_product_function(const Target& target, DType dtype, DType of_indices) {
  const bool is_float32 = dtype == DType::kFloat32, is_int32 = of_indices == DType::kInt32;
  const char* const parameters = is_float32
                                     ? (is_int32 ? TH_TEXT_OF(TH_DEVICE_SPARSE_PRODUCT_PARAMETERS(float, int))
                                                 : TH_TEXT_OF(TH_DEVICE_SPARSE_PRODUCT_PARAMETERS(float, long)))
                                     : (is_int32 ? TH_TEXT_OF(TH_DEVICE_SPARSE_PRODUCT_PARAMETERS(double, int))
                                                 : TH_TEXT_OF(TH_DEVICE_SPARSE_PRODUCT_PARAMETERS(double, long)));
  return device_function(target, str("cusparse_product_", is_float32 ? "f32" : "f64", is_int32 ? "_i32" : "_i64"),
                         parameters, true);
}

const Computation& sparse_product() {
  static const Computation computation{kSparseProducts, kRows, example_of_sparse_product,
                                       [](const ChoiceKey&, const Target&, int, double) { return std::string(kRows); }};
  return computation;
}

CandidateSource sparse_products() {
  return {kSparseProducts, sparse_candidates, nullptr, {kRows, kCusparse}};
}

bool is_by_cusparse(const Node& product, const kernel::Chooser* chooser, const Target& target) {
  if (!chooser || !target.is_device() || product.op != &csr_dot_op()) return false;
  const std::optional<SparseProductKey> key = key_of_product(product);
  return key && chooser->choose({kSparseProducts, text_of(*key)}) == kCusparse;
}

void lower_by_cusparse(StepBuilder& b, const CsrDotStep& step) {
  const SparseProductKey p = *key_of_product(b.node());
  check_pattern(b, step, step.x.type.dims[0]);
  kernel::Operand data = step.data;
  if (p.adds) {
    kernel::Nest nest(data.type.dims);
    data = b.workspace(p.dtype, p.stored);
    nest.store(kernel::placed(data),
               nest.load("factor", {*step.alpha, Dims{Dim(0)}}) * nest.load("element", kernel::placed(step.data)));
    kernel::schedule(b, nest, "scale", "the factor times the stored elements");
    if (!b.overwrites(kAddend)) {
      kernel::Nest copy(step.out.type.dims);
      copy.store(kernel::placed(step.out), copy.load("y", kernel::placed(*step.addend)));
      kernel::schedule(b, copy, "copy", "what the product is added to");
    }
  }
  b.call_library({cusparse_product_function(b.target(), p.dtype, p.of_indices),
                  {Dim(p.m), Dim(p.k), Dim(p.n), Dim(p.stored), PointerTo{data.index}, PointerTo{step.indices.index},
                   PointerTo{step.indptr.index}, PointerTo{step.x.index}, Dim(p.adds), PointerTo{step.out.index}}});
}

}  // namespace thtrain
