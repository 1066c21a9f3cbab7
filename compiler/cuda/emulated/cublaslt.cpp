// The emulated cuBLASLt: products with epilogues of matrices that are stored by columns, float32 or float64. An
// algorithm is of the product, the layouts and the alignments that its heuristic was asked for.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "compiler/base/str.h"
#include "compiler/cuda/cublaslt_handle.h"
#include "compiler/cuda/emulated/cublas_products.h"
#include "compiler/cuda/emulated/math_libraries.h"

struct cublasLtContext {
  CUctx_st* context = nullptr;
};

namespace thtrain::cuda::emulated {
namespace {

using LtHandle = cublasLtContext;

// A descriptor: what it was made with, and its attributes.
struct LtObject {
  enum class Kind { kProduct, kLayout, kPreference } kind;
  int computed_in = 0, dtype = 0;  // of a product: of its factors
  int64_t rows = 0, columns = 0, ld = 0;
  std::map<int, uint64_t> values = {};

  uint64_t at(int attribute, uint64_t otherwise) const {
    const auto found = values.find(attribute);
    return found == values.end() ? otherwise : found->second;
  }
};

std::map<const void*, std::unique_ptr<LtHandle>>& lt_handles() {
  static std::map<const void*, std::unique_ptr<LtHandle>> all;
  return all;
}

std::map<const void*, std::unique_ptr<LtObject>>& lt_objects() {
  static std::map<const void*, std::unique_ptr<LtObject>> all;
  return all;
}

template <class F>
Status with_lt(LtHandle* handle, F f) {
  return in_library(CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_EXECUTION_FAILED, [&](Machine& m, CUctx_st& context) {
    return found(lt_handles(), handle, context)
               ? f(m, context)
               : refuse(CUBLAS_STATUS_NOT_INITIALIZED, "no handle of cuBLASLt of the current context");
  });
}

const LtObject* lt_object(const void* object, LtObject::Kind kind) {
  const auto known = lt_objects().find(object);
  return known != lt_objects().end() && known->second->kind == kind ? known->second.get() : nullptr;
}

Status version_of_lt(int part, int* value) {
  *value = part == MAJOR_VERSION ? 12 : part == MINOR_VERSION ? 4 : 0;
  return CUBLAS_STATUS_SUCCESS;
}

Status create_lt(LtHandle** out) {
  return in_library(CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_EXECUTION_FAILED, [&](Machine& m, CUctx_st& context) {
    if (refused_in_capture(m, "a new handle") != CUDA_SUCCESS) return Status{CUBLAS_STATUS_ALLOC_FAILED};
    auto handle = std::make_unique<LtHandle>(LtHandle{&context});
    *out = handle.get();
    lt_handles()[*out] = std::move(handle);
    return CUBLAS_STATUS_SUCCESS;
  });
}

Status destroy_lt(LtHandle* handle) {
  return with_lt(handle, [&](Machine& m, CUctx_st& context) {
    drain(m, context);
    lt_handles().erase(handle);
    return CUBLAS_STATUS_SUCCESS;
  });
}

// ---- descriptors

Status add_object(void** out, LtObject object) {
  std::lock_guard lock(mutex());
  auto made = std::make_unique<LtObject>(std::move(object));
  *out = made.get();
  lt_objects()[*out] = std::move(made);
  return CUBLAS_STATUS_SUCCESS;
}

Status create_product(void** out, int computed_in, int of_factors) {
  const bool is_known = of_factors == CUDA_R_64F
                            ? computed_in == CUBLAS_COMPUTE_64F
                            : of_factors == CUDA_R_32F &&
                                  (computed_in == CUBLAS_COMPUTE_32F || computed_in == CUBLAS_COMPUTE_32F_FAST_TF32);
  if (!is_known) return refuse(CUBLAS_STATUS_INVALID_VALUE, "types that thtrain does not ask for");
  return add_object(out, {LtObject::Kind::kProduct, computed_in, of_factors});
}

Status create_layout(void** out, int dtype, uint64_t rows, uint64_t columns, int64_t ld) {
  LtObject made{LtObject::Kind::kLayout, 0, dtype, static_cast<int64_t>(rows), static_cast<int64_t>(columns), ld};
  if (made.rows < 1 || made.columns < 1 || ld < made.rows)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a length or a leading dimension");
  return add_object(out, std::move(made));
}

Status create_preference(void** out) {
  return add_object(out, {LtObject::Kind::kPreference});
}

// The bytes of each attribute that thtrain sets.
template <LtObject::Kind kKind>
Status set_attribute(void* object, int attribute, const void* value, size_t bytes) {
  std::lock_guard lock(mutex());
  if (!lt_object(object, kKind)) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no such descriptor");
  static const std::map<int, size_t> of_product{{CUBLASLT_MATMUL_DESC_TRANSA, 4},
                                                {CUBLASLT_MATMUL_DESC_TRANSB, 4},
                                                {CUBLASLT_MATMUL_DESC_EPILOGUE, 4},
                                                {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8}};
  static const std::map<int, size_t> of_layout{{CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4},
                                               {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8}};
  static const std::map<int, size_t> of_preference{
      {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8},   {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 4}, {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4}, {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 4}};
  const auto& known = kKind == LtObject::Kind::kProduct  ? of_product
                      : kKind == LtObject::Kind::kLayout ? of_layout
                                                         : of_preference;
  const auto of = known.find(attribute);
  if (of == known.end() || of->second != bytes)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "an attribute that thtrain does not set, or its size");
  uint64_t number = 0;
  std::memcpy(&number, value, bytes);
  lt_objects()[object]->values[attribute] = number;
  return CUBLAS_STATUS_SUCCESS;
}

template <LtObject::Kind kKind>
Status destroy_object(void* object) {
  std::lock_guard lock(mutex());
  if (!lt_object(object, kKind)) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no such descriptor");
  lt_objects().erase(object);
  return CUBLAS_STATUS_SUCCESS;
}

// ---- products

// What the descriptors say together.
struct LtProduct {
  const LtObject *product, *a, *b, *d;

  int op(int attribute) const { return static_cast<int>(product->at(attribute, CUBLAS_OP_N)); }
  uint64_t epilogue() const { return product->at(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT); }
  bool has_bias() const { return epilogue() == CUBLASLT_EPILOGUE_BIAS || epilogue() == CUBLASLT_EPILOGUE_RELU_BIAS; }
  bool has_relu() const { return epilogue() == CUBLASLT_EPILOGUE_RELU || epilogue() == CUBLASLT_EPILOGUE_RELU_BIAS; }
  int64_t inner() const { return op(CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_N ? a->columns : a->rows; }
  int64_t count() const { return static_cast<int64_t>(d->at(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1)); }

  std::string trouble() const {
    for (const int attribute : {CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB})
      if (op(attribute) != CUBLAS_OP_N && op(attribute) != CUBLAS_OP_T) return "no such operation";
    if (!has_bias() && !has_relu() && epilogue() != CUBLASLT_EPILOGUE_DEFAULT) return "no such epilogue";
    const bool a_plain = op(CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_N,
               b_plain = op(CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_N;
    const int64_t m = a_plain ? a->rows : a->columns, k = a_plain ? a->columns : a->rows,
                  k_of_b = b_plain ? b->rows : b->columns, n = b_plain ? b->columns : b->rows;
    if (k != k_of_b || d->rows != m || d->columns != n) return "lengths do not fit together";
    for (const LtObject* layout : {a, b, d}) {
      if (layout->dtype != product->dtype) return "dtypes differ";
      if (static_cast<int64_t>(layout->at(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1)) != count())
        return "batches of other lengths";
    }
    return "";
  }
  // Says which product it is, for an algorithm that is of no other.
  std::string text() const {
    std::string out = str(product->computed_in, ' ', op(CUBLASLT_MATMUL_DESC_TRANSA), op(CUBLASLT_MATMUL_DESC_TRANSB),
                          ' ', epilogue(), ' ', count());
    for (const LtObject* layout : {a, b, d})
      out += str(' ', layout->rows, 'x', layout->columns, '/', layout->ld, '+',
                 layout->at(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0));
    return out;
  }
};

// The descriptors of the lock's holder; `complaint` where one is none.
std::optional<LtProduct> described(void* product, void* a, void* b, void* c, void* d) {
  using Kind = LtObject::Kind;
  const LtProduct out{lt_object(product, Kind::kProduct), lt_object(a, Kind::kLayout), lt_object(b, Kind::kLayout),
                      lt_object(d, Kind::kLayout)};
  const bool are_there = out.product && out.a && out.b && out.d && c == d;
  return are_there ? std::optional(out) : std::nullopt;
}

constexpr uint64_t kLtWorkspace = 256;

Status find_algorithm(LtHandle* handle, void* product, void* a, void* b, void* c, void* d, void* preference, int asked,
                      void* results, int* count) {
  return with_lt(handle, [&](Machine&, CUctx_st&) {
    *count = 0;
    const std::optional<LtProduct> p = described(product, a, b, c, d);
    const LtObject* const wanted = lt_object(preference, LtObject::Kind::kPreference);
    if (!p || !wanted || asked < 1) return refuse(CUBLAS_STATUS_INVALID_VALUE, "a descriptor");
    if (const std::string trouble = p->trouble(); !trouble.empty()) return refuse(CUBLAS_STATUS_INVALID_VALUE, trouble);
    if (wanted->at(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, CUBLASLT_REDUCTION_SCHEME_MASK) &
        CUBLASLT_REDUCTION_SCHEME_INPLACE)
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "sums whose order is not always the same");
    if (wanted->at(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0) < kLtWorkspace)
      return Status{CUBLAS_STATUS_NOT_SUPPORTED};
    CublasLtAlgorithmFound found = {};
    found.algorithm[0] = std::hash<std::string>()(p->text());
    constexpr int kAlignments[] = {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                                   CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                   CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    for (size_t i = 0; i < 3; ++i) found.algorithm[1 + i] = wanted->at(kAlignments[i], 256);
    found.workspace_bytes = kLtWorkspace;
    std::memcpy(results, &found, sizeof found);
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
  });
}

// Of the columns of D: a bias has a number for each row. What RELU makes of a NaN is not documented: 0 here.
template <class T>
void finish(const CUctx_st& context, const DeviceRows& columns, const T* bias, bool relu, int64_t rows) {
  std::vector<T> all(static_cast<size_t>(columns.count * rows));
  columns.read(context, all.data());
  for (size_t i = 0; i < all.size(); ++i) {
    if (bias) all[i] += bias[static_cast<int64_t>(i) % rows];
    if (relu) all[i] = std::fmax(all[i], T(0));
  }
  columns.write(context, all.data());
}

template <class T>
Status multiply_as(Machine& machine, CUctx_st& context, CUstream_st* stream, const LtProduct& p, const void* a,
                   const void* b, void* d, DeviceAddress workspace) {
  const auto stored = [](const LtObject& layout, int op, const void* at) {
    return Stored{
        op,        layout.rows, layout.columns,
        layout.ld, at,          static_cast<int64_t>(layout.at(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0))};
  };
  const Product<T> product{p.d->rows,
                           p.d->columns,
                           p.inner(),
                           p.count(),
                           T(1),
                           T(0),
                           stored(*p.a, p.op(CUBLASLT_MATMUL_DESC_TRANSA), a),
                           stored(*p.b, p.op(CUBLASLT_MATMUL_DESC_TRANSB), b),
                           stored(*p.d, CUBLAS_OP_N, d)};
  const auto bias = static_cast<DeviceAddress>(p.product->at(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 0));
  const DeviceRows biases{bias, 1, 0, p.has_bias() ? product.m * static_cast<int64_t>(sizeof(T)) : 0};
  const auto lies_in = [=](const CUctx_st& where) {
    return product.lies_in(where) && biases.lies_in(where) && where.memory->holds(workspace, kLtWorkspace);
  };
  if (!lies_in(context))
    return refuse(CUBLAS_STATUS_EXECUTION_FAILED, "an array does not lie in one allocation of the device");
  const bool tf32 = p.product->computed_in == CUBLAS_COMPUTE_32F_FAST_TF32, relu = p.has_relu();
  return ask(machine, context, stream, "cuBLASLt " + p.text(), CUBLAS_STATUS_EXECUTION_FAILED,
             [&context, product, biases, lies_in, tf32, relu] {
               if (!is_there(context, lies_in(context))) return;
               std::vector<T> of_rows(static_cast<size_t>(biases.bytes) / sizeof(T));
               biases.read(context, of_rows.data());
               for (int64_t i = 0; i < product.count; ++i) {
                 product.run(context, i, tf32, biases.is_written(context));
                 finish(context, product.c.template of<T>(i), of_rows.empty() ? nullptr : of_rows.data(), relu,
                        product.m);
               }
             });
}

Status multiply_lt(LtHandle* handle, void* product, const void* alpha, const void* a, void* of_a, const void* b,
                   void* of_b, const void* beta, const void* c, void* of_c, void* d, void* of_d, const void* algorithm,
                   void* workspace, size_t bytes, CUstream_st* stream) {
  return with_lt(handle, [&](Machine& m, CUctx_st& context) {
    const std::optional<LtProduct> p = described(product, of_a, of_b, of_c, of_d);
    if (!p || c != d || !algorithm || !alpha || !beta) return refuse(CUBLAS_STATUS_INVALID_VALUE, "a descriptor");
    if (const std::string trouble = p->trouble(); !trouble.empty()) return refuse(CUBLAS_STATUS_INVALID_VALUE, trouble);
    uint64_t found[8];
    std::memcpy(found, algorithm, sizeof found);
    if (found[0] != std::hash<std::string>()(p->text()))
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "an algorithm of another product");
    const void* const arrays[] = {a, b, d};
    for (size_t i = 0; i < 3; ++i)
      if (reinterpret_cast<uintptr_t>(arrays[i]) % found[1 + i] != 0)
        return refuse(CUBLAS_STATUS_INVALID_VALUE, "an array is aligned to less than the heuristic was told");
    const auto at = reinterpret_cast<DeviceAddress>(workspace);
    if (at % 16 != 0 || bytes < kLtWorkspace) return refuse(CUBLAS_STATUS_INVALID_VALUE, "the workspace");
    const bool is_double = p->product->dtype == CUDA_R_64F;
    const double factors[] = {is_double ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha),
                              is_double ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta)};
    if (factors[0] != 1 || factors[1] != 0)
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "factors that thtrain does not ask for");
    return is_double ? multiply_as<double>(m, context, stream, *p, a, b, d, at)
                     : multiply_as<float>(m, context, stream, *p, a, b, d, at);
  });
}

}  // namespace

const Opened<CublasLt>& cublaslt() {
  using Kind = LtObject::Kind;
  static const Opened<CublasLt> once = [] {
    Opened<CublasLt> out{};
    out.version = "emulated";
    out.functions = {.cublasLtGetProperty = version_of_lt,
                     .cublasLtCreate = create_lt,
                     .cublasLtDestroy = destroy_lt,
                     .cublasLtMatmulDescCreate = create_product,
                     .cublasLtMatmulDescSetAttribute = set_attribute<Kind::kProduct>,
                     .cublasLtMatmulDescDestroy = destroy_object<Kind::kProduct>,
                     .cublasLtMatrixLayoutCreate = create_layout,
                     .cublasLtMatrixLayoutSetAttribute = set_attribute<Kind::kLayout>,
                     .cublasLtMatrixLayoutDestroy = destroy_object<Kind::kLayout>,
                     .cublasLtMatmulPreferenceCreate = create_preference,
                     .cublasLtMatmulPreferenceSetAttribute = set_attribute<Kind::kPreference>,
                     .cublasLtMatmulPreferenceDestroy = destroy_object<Kind::kPreference>,
                     .cublasLtMatmulAlgoGetHeuristic = find_algorithm,
                     .cublasLtMatmul = multiply_lt};
    return out;
  }();
  return once;
}

}  // namespace thtrain::cuda::emulated
