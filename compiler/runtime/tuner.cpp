#include "compiler/runtime/tuner.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <sstream>

#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "compiler/ops/linalg/gemm_kernel.h"
#include "compiler/runtime/blas.h"
#include "compiler/runtime/content_hash.h"
#include "compiler/runtime/cpu.h"
#include "compiler/runtime/gemm_trials.h"
#include "compiler/runtime/onednn.h"
#include "compiler/runtime/tuning_store.h"

namespace thtrain {
namespace {

using kernel::MatrixProduct;

// A new number where generated kernels of the same name became others.
constexpr const char* kScheme = "gemm kernels 3";

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// The inner length in equal slabs of at most `most`.
int64_t depth_of(int64_t k, int64_t most) {
  return ceil_div(k, ceil_div(k, most));
}

bool has_fma() {
  return (cpu().fma && cpu().isa != "sse2") || cpu().architecture == "arm64";
}

int vectors_in(const MatrixProduct& p) {
  return static_cast<int>(ceil_div(p.n * static_cast<int64_t>(size_of(p.dtype)), cpu().vector_bytes));
}

// Rows x vectors that keep the multipliers busy, the best first.
std::vector<std::pair<int, int>> shapes_of(const MatrixProduct& p) {
  std::vector<std::pair<int, int>> shapes = {{6, 4}, {8, 3}, {12, 2}, {14, 1}};
  if (cpu().vector_bytes < 64) shapes = {{6, 2}, {4, 3}, {12, 1}};
  std::erase_if(shapes, [&](const auto& s) { return s.second > std::max(1, vectors_in(p)); });
  if (shapes.size() > 2) shapes.resize(2);
  return shapes;
}

// C of more than the second cache holds, and so many rows that copying all of B does not matter.
bool is_large_and_flat(const MatrixProduct& p) {
  return p.m * p.n * static_cast<int64_t>(size_of(p.dtype)) > (1 << 20) && p.m >= 4 * p.k;
}
std::vector<GemmTiling> by_rows(const MatrixProduct& p) {
  std::vector<GemmTiling> out;
  if (!is_large_and_flat(p)) return out;
  for (auto [rows, vectors] : {std::pair{4, 6}, {6, 4}, {6, 2}, {4, 3}})
    if (GemmTiling tiling{rows, vectors, 1 << 20, true};
        rows * vectors >= (cpu().vector_bytes < 64 ? 12 : 24) && is_possible(tiling, p, cpu().vector_bytes))
      out.push_back(tiling);
  return out;
}

std::string machine_text(int threads) {
  return str(cpu().feature_text, "; vectors of ", cpu().vector_bytes, " bytes; ", threads, " threads; ", blas().version,
             " ", blas().corename, "; ", kScheme);
}

// Tables by threads, read once.
std::mutex tables_mutex;
std::map<int, TuningTable>& tables() {
  static std::map<int, TuningTable> once;
  return once;
}

TuningTable& table_for(int threads) {
  auto [at, fresh] = tables().try_emplace(threads);
  if (fresh)
    if (auto entry = tuning_store().read(kTuningFolder, content_hash({machine_text(threads)})))
      at->second = detail::read_tuning(entry->content, [&](const std::string& line) {
        std::fprintf(stderr, "warning: %s: left out: %s\n", printable(entry->path).c_str(), printable(line).c_str());
      });
  return at->second;
}

// oneDNN's candidate has its version in its name. (Asked only where it was chosen: opening the library takes a while.)
bool is_onednn(std::string_view candidate) {
  return candidate.starts_with("oneDNN ");
}
// Is it installed, and does it fit this processor?
bool is_usable(const std::string& candidate, const MatrixProduct& product) {
  if (is_onednn(candidate)) return onednn() && onednn()->version == candidate;
  std::optional<GemmTiling> tiling = gemm_tiling_named(candidate);
  return tiling ? is_possible(*tiling, product, cpu().vector_bytes) : candidate == "library";
}

std::string fastest(const MatrixProduct& product, int threads) {
  std::vector<GemmTrial> trials = time_candidates(product, candidates_of(product), threads);
  return std::min_element(trials.begin(), trials.end(),
                          [](const GemmTrial& a, const GemmTrial& b) { return a.seconds < b.seconds; })
      ->candidate;
}

}  // namespace

std::string text_of(const MatrixProduct& p) {
  return str(name_of(p.dtype), " ", p.m, "x", p.k, "x", p.n, " ", p.trans_a ? "T" : "N", p.trans_b ? "T" : "N",
             p.accumulates ? " added" : "");
}

std::vector<std::string> candidates_of(const MatrixProduct& p) {
  std::vector<std::string> out = {"library"};
  if (onednn() && p.dtype == DType::kFloat32) out.push_back(onednn()->version);
  if (!has_fma() || !cache().has_compiler()) return out;
  for (auto [rows, vectors] : shapes_of(p))
    for (int64_t most : {128, 256, 512, 1024}) {
      GemmTiling tiling{rows, vectors, depth_of(p.k, most)};
      std::string name = name_of(tiling);
      if (is_possible(tiling, p, cpu().vector_bytes) && std::count(out.begin(), out.end(), name) == 0)
        out.push_back(name);
    }
  for (const GemmTiling& tiling : by_rows(p)) out.push_back(name_of(tiling));
  return out;
}

std::string rule_choice(const MatrixProduct& p, int threads) {
  // Measured with AVX-512. Beyond this size a library's copies pay; A^T times a narrow B reads A line by line, each
  // used once, which OpenBLAS's small kernels do better.
  constexpr double kMaxProducts = 1e9;
  bool small = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) <= kMaxProducts;
  if (!has_fma() || cpu().vector_bytes < 32 || !small || (p.trans_a && vectors_in(p) == 1)) return "library";
  // By rows where C is not found in the caches; somewhat above their size it still is, between one step and the next.
  const int64_t bytes_of_c = p.m * p.n * static_cast<int64_t>(size_of(p.dtype));
  if (std::vector<GemmTiling> tilings = by_rows(p); !tilings.empty() && bytes_of_c > (2 << 20))
    return name_of(tilings.front());
  auto [rows, vectors] = shapes_of(p).front();
  if (threads > 1 && vectors_in(p) < threads * vectors && p.m * p.n * p.k > 500'000) return "library";
  return name_of(GemmTiling{rows, vectors, depth_of(p.k, 512)});
}

std::string Tuner::choose(const MatrixProduct& product) const {
  for (const kernel::ProductChoice& known : answers_)
    if (known.product == product) return known.candidate;
  std::string candidate;
  if (policy_ != Tune::kNever) {
    TuningTable table = remembered(threads_);
    auto found = table.find(text_of(product));
    if (found != table.end() && is_usable(found->second, product)) {
      candidate = found->second;
    } else if (policy_ == Tune::kAlways) {
      candidate = fastest(product, threads_);
      remember({{text_of(product), candidate}}, threads_);
    }
  }
  if (candidate.empty()) candidate = rule_choice(product, threads_);
  answers_.push_back({product, candidate});
  return candidate;
}

bool Tuner::agrees(const std::vector<kernel::ProductChoice>& answers) const {
  return std::all_of(answers.begin(), answers.end(),
                     [&](const kernel::ProductChoice& a) { return choose(a.product) == a.candidate; });
}

TuningTable remembered(int threads) {
  std::lock_guard lock(tables_mutex);
  return table_for(threads);
}

void remember(const TuningTable& table, int threads) {
  std::lock_guard lock(tables_mutex);
  tables().erase(threads);  // another process may have added to the file
  TuningTable& all = table_for(threads);
  for (const auto& [product, candidate] : table) all[product] = candidate;
  std::string machine = machine_text(threads);
  tuning_store().write(kTuningFolder, content_hash({machine}), detail::tuning_text(all, machine));
}

std::string detail::tuning_text(const TuningTable& table, const std::string& head) {
  std::string out = str("# ", head, "\n");
  for (const auto& [product, candidate] : table) out += str(product, " = ", candidate, "\n");
  return out;
}

TuningTable detail::read_tuning(std::string_view text, const std::function<void(const std::string&)>& complain) {
  TuningTable out;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    size_t at = line.find(" = ");
    std::string candidate = at == std::string::npos ? "" : line.substr(at + 3);
    bool known = candidate == "library" || is_onednn(candidate) || gemm_tiling_named(candidate);
    if (known)
      out[line.substr(0, at)] = candidate;
    else
      complain(line);
  }
  return out;
}

}  // namespace thtrain
