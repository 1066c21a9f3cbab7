// The candidates of a matrix product (docs/decisions/0006): BLAS, oneDNN, and generated kernels in several tilings; and
// the rule that picks one where nothing was measured.
#include <algorithm>

#include "compiler/base/ceil_div.h"
#include "compiler/ir/node.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/key_reader.h"
#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/ops/linalg/product_cycles.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::StepBuilder;
using kernel::Target;

constexpr const char *kComputation = "matrix_product", *kOfBatches = "batched_product";
// A new number where generated kernels of the same name became others.
constexpr const char* kTilingVersion = "9";

// The inner length in equal slabs of at most `most`.
int64_t depth_of(int64_t k, int64_t most) {
  return ceil_div(k, ceil_div(k, most));
}

int vectors_in(const MatrixProduct& p, const Target& target) {
  return static_cast<int>(ceil_div(p.n, int64_t{target.lanes_of(p.dtype)}));
}

// Rows x vectors that keep the multipliers busy, the best first.
std::vector<std::pair<int, int>> shapes_of(const MatrixProduct& p, const Target& target) {
  std::vector<std::pair<int, int>> shapes = {{6, 4}, {8, 3}, {12, 2}, {14, 1}};
  if (target.registers() < 32) shapes = {{6, 2}, {4, 3}, {12, 1}};
  std::erase_if(shapes, [&](const auto& s) { return s.second > std::max(1, vectors_in(p, target)); });
  if (shapes.size() > 2) shapes.resize(2);
  return shapes;
}

int64_t second_cache(const Target& target) {
  return target.second_cache_bytes > 0 ? target.second_cache_bytes : 1 << 20;
}

int64_t bytes_of_rows(const MatrixProduct& p) {
  return p.m * std::max(p.n, p.k) * static_cast<int64_t>(size_of(p.dtype));
}

// More rows of A or C than the second cache holds, which a column tile would read or write anew, and so many that
// copying all of B does not matter.
bool is_large_and_flat(const MatrixProduct& p, const Target& target) {
  return !p.count && bytes_of_rows(p) > second_cache(target) && p.m >= 4 * p.k;
}

std::vector<GemmTiling> by_rows(const MatrixProduct& p, const Target& target) {
  std::vector<GemmTiling> out;
  if (!is_large_and_flat(p, target)) return out;
  const bool is_narrow = vectors_in(p, target) == 1;
  for (auto [rows, vectors] : {std::pair{4, 6}, {6, 4}, {6, 2}, {4, 3}, {14, 1}, {12, 1}}) {
    const bool fills = vectors == 1 ? is_narrow : !is_narrow && rows * vectors >= target.registers() * 3 / 4;
    if (GemmTiling tiling{rows, vectors, 1 << 20, true}; fills && is_possible(tiling, p, target)) out.push_back(tiling);
  }
  return out;
}

// Of equal ones the first.
GemmTiling least_expected(const std::vector<GemmTiling>& tilings, const MatrixProduct& p, const Target& target) {
  const Target usual = target.with_usual_rates();
  std::vector<ExpectedTime> times;
  for (const GemmTiling& t : tilings)
    times.push_back({name_of(t), expected_cycles(t, p, usual), expected_cycles(t, p, target)});
  const std::string name = thtrain::least_expected(std::move(times));
  return *std::find_if(tilings.begin(), tilings.end(), [&](const GemmTiling& t) { return name_of(t) == name; });
}

std::vector<GemmTiling> column_tilings(const MatrixProduct& p, const Target& target) {
  constexpr int64_t kShort = 128, kLong = 512, kFewRows = 16;
  std::vector<GemmTiling> shapes;
  // In short slabs the columns of A^T, and the panel of B^T, stay in the first cache; long ones read longer runs of
  // B^T.
  const bool takes_long = !p.trans_a || (p.trans_b && p.m <= kFewRows && p.k > kShort),
             takes_short = p.trans_a || (p.trans_b && p.k > kShort);
  for (auto [rows, vectors] : shapes_of(p, target)) {
    if (takes_long) shapes.push_back({rows, vectors, depth_of(p.k, kLong)});
    if (takes_short) shapes.push_back({rows, vectors, depth_of(p.k, kShort)});
  }
  return shapes;
}

// Products of few rows or columns, of which a tile computes whole vectors, or packs for few rows: OpenBLAS's small
// kernels, those of AVX-512, pack nothing and compute the columns that there are.
bool is_for_small_kernels(const MatrixProduct& p, const GemmTiling& tiling, const Target& target) {
  const int64_t most = 2 * target.lanes_of(p.dtype);
  if (std::min(p.m, p.n) > most || target.lanes_of(DType::kFloat64) < 8) return false;
  if (p.n == 1) return p.trans_a;
  const Target usual = target.with_usual_rates();
  return thtrain::least_expected({{"library", expected_library_cycles(p, usual), expected_library_cycles(p, target)},
                                  {"tile", expected_cycles(tiling, p, usual), expected_cycles(tiling, p, target)}}) ==
         "library";
}

std::string rule(const ChoiceKey& key, const Target& target, int threads, double) {
  if (!target.has_libraries()) return "loops";
  const MatrixProduct p = *product_of(key.properties);
  if (!is_float(p.dtype))
    return target.has_fma() ? name_of(least_expected(column_tilings(p, target), p, target)) : "loops";
  // Beyond this size a library's copies pay.
  constexpr double kMaxProducts = 1e9;
  const bool small = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) <= kMaxProducts;
  if (!target.has_fma() || target.lanes_of(DType::kFloat64) < 4 || !small) return "library";
  // By rows where those are not found in the caches; somewhat above their size they still are, between one step and the
  // next, unless others use them; and a tile of all columns reads them once. Of short sums a product is little more
  // than writing C, and by rows is no slower then.
  constexpr int64_t kShortSums = 8;
  std::vector<GemmTiling> tilings = by_rows(p, target);
  const bool has_rows = !tilings.empty(), is_near = p.k > kShortSums && bytes_of_rows(p) <= 2 * second_cache(target);
  for (const GemmTiling& t : column_tilings(p, target))
    if (!has_rows || is_near || (p.k > kShortSums && t.vectors >= vectors_in(p, target))) tilings.push_back(t);
  const GemmTiling tiling = least_expected(tilings, p, target);
  if (is_for_small_kernels(p, tiling, target)) return "library";
  if (!tiling.by_rows && threads > 1 && p.count < threads && vectors_in(p, target) < threads * tiling.vectors &&
      p.m * p.n * p.k > 500'000)
    return "library";
  return name_of(tiling);
}

// An operand as it is stored, and as the product reads it.
std::pair<Expr, Expr> stored(const char* name, const MatrixProduct& p, int64_t rows, int64_t columns,
                             bool is_transposed) {
  Dims lengths = is_transposed ? Dims{columns, rows} : Dims{rows, columns};
  if (p.count) lengths.insert(lengths.begin(), p.count);
  const Expr leaf = make_input({.dtype = p.dtype, .dims = lengths}, name);
  return {leaf, is_transposed ? matrix_transpose(leaf) : leaf};
}

std::optional<Graph> example_of_batch(const std::string& properties) {
  const std::optional<MatrixProduct> p = product_of(properties);
  if (!p || !p->count || p->accumulates) return std::nullopt;
  const auto [a, left] = stored("a", *p, p->m, p->k, p->trans_a);
  const auto [b, right] = stored("b", *p, p->k, p->n, p->trans_b);
  return Graph{{a, b}, {apply(batched_dot_op(), {left, right})}, {}};
}

// The step as training has it: C is updated in place where it is accumulated into, by a known factor.
std::optional<Graph> example(const std::string& properties) {
  const std::optional<MatrixProduct> p = product_of(properties);
  if (!p || p->count) return std::nullopt;
  const auto [a, left] = stored("a", *p, p->m, p->k, p->trans_a);
  const auto [b, right] = stored("b", *p, p->k, p->n, p->trans_b);
  if (!p->accumulates) return Graph{{a, b}, {dot(left, right)}, {}};
  auto storage = std::make_shared<SharedStorage>();
  storage->name = "c";
  storage->type = {.dtype = p->dtype, .dims = {p->m, p->n}};
  storage->value = Tensor::zeros(p->dtype, {p->m, p->n});
  const Expr c = make_shared_leaf(storage, std::source_location::current());
  auto number = [&](double value) { return make_constant(Tensor(value).cast(p->dtype)); };
  return Graph{{a, b}, {}, {{c, apply(gemm_op(), {c, number(-0.01), left, right, number(1)})}}};
}

Candidate by_function(std::string name, const kernel::LibraryFunction& function) {
  return {
      .name = std::move(name), .version = "2", .functions = {function.name}, .lower = [function](StepBuilder& builder) {
        call_product(builder, function);
      }};
}

Candidate by_tiling(const MatrixProduct& product, const GemmTiling& tiling) {
  return {.name = name_of(tiling), .version = kTilingVersion, .lower = [product, tiling](StepBuilder& builder) {
            lower_tiled_product(builder, product, tiling);
          }};
}

std::vector<Candidate> offer_tilings(const ChoiceKey& key, const Target& target) {
  const MatrixProduct p = *product_of(key.properties);
  std::vector<Candidate> out;
  if (!target.has_fma() || target.is_device()) return out;
  auto add = [&](const GemmTiling& tiling) {
    const std::string name = name_of(tiling);
    if (is_possible(tiling, p, target) &&
        std::none_of(out.begin(), out.end(), [&](const Candidate& c) { return c.name == name; }))
      out.push_back(by_tiling(p, tiling));
  };
  for (auto [rows, vectors] : shapes_of(p, target))
    for (int64_t most : {128, 256, 512, 1024}) add({rows, vectors, depth_of(p.k, most)});
  for (const GemmTiling& tiling : by_rows(p, target)) add(tiling);
  return out;
}

std::optional<Candidate> find_tiling(const ChoiceKey& key, const std::string& name, const Target& target) {
  const MatrixProduct p = *product_of(key.properties);
  const std::optional<GemmTiling> tiling = gemm_tiling_named(name);
  if (!tiling || target.is_device() || !is_possible(*tiling, p, target)) return std::nullopt;
  return by_tiling(p, *tiling);
}

bool take_transpose(KeyReader& reader, bool& out) {
  out = reader.take("T");
  return out || reader.take("N");
}

}  // namespace

const Computation& matrix_product() {
  static const Computation computation{kComputation, "library", example, rule};
  return computation;
}

const Computation& batched_product() {
  static const Computation computation{kOfBatches, "library", example_of_batch, rule};
  return computation;
}

CandidateSource library_products() {
  return {
      kComputation,
      [](const ChoiceKey& key, const Target&) {
        const MatrixProduct p = *product_of(key.properties);
        if (!is_float(p.dtype)) return std::vector<Candidate>();
        return std::vector{by_function("library", p.count ? batched_gemm_function(p.dtype) : gemm_function(p.dtype))};
      },
      nullptr,
      {"library"}};
}

CandidateSource onednn_products() {
  return {kComputation,
          [](const ChoiceKey& key, const Target&) {
            std::vector<Candidate> out;
            if (product_of(key.properties)->dtype == DType::kFloat32)
              out.push_back(by_function("oneDNN", onednn_gemm_function()));
            return out;
          },
          nullptr,
          {"oneDNN"}};
}

CandidateSource tiled_products() {
  return {kComputation, offer_tilings, find_tiling, {"tile #x#x#", "rows #x#"}};
}

static CandidateSource of_batches(CandidateSource source) {
  source.computation = kOfBatches;
  return source;
}
CandidateSource library_batches() {
  return of_batches(library_products());
}
CandidateSource tiled_batches() {
  return of_batches(tiled_products());
}

ChoiceKey key_of(const MatrixProduct& p) {
  return {p.count ? kOfBatches : kComputation,
          str(name_of(p.dtype), " ", p.m, "x", p.k, "x", p.n, " ", p.trans_a ? "T" : "N", p.trans_b ? "T" : "N",
              p.accumulates ? " added" : "", p.count ? str(" ", p.count, " times") : std::string())};
}

std::optional<MatrixProduct> product_of(const std::string& properties) {
  MatrixProduct p;
  KeyReader reader(properties);
  const std::string dtype = properties.substr(0, properties.find(' '));
  const std::optional<DType> named = dtype_named(dtype);
  if (!named || !(has_tilings(*named) || is_complex(*named)) || !reader.take(dtype) || !reader.take(" "))
    return std::nullopt;
  p.dtype = *named;
  if (!reader.numbers({&p.m, &p.k, &p.n}, 1, int64_t{1} << 40) || !reader.take(" ") ||
      !take_transpose(reader, p.trans_a) || !take_transpose(reader, p.trans_b))
    return std::nullopt;
  p.accumulates = reader.take(" added");
  if (!reader.is_at_end() &&
      (!reader.take(" ") || !reader.number(p.count, 1) || !reader.take(" times") || !reader.is_at_end()))
    return std::nullopt;
  return p;
}

}  // namespace thtrain
