// Are wrong kernels of devices found? The CUDA text of kernels is made wrong in one location each: barriers, masks,
// lanes, guards, loops, indices, shared arrays and atomic operations. The emulated device, which checks each load and
// store, must then stop the kernel, or the result be another one, in one of some orders of blocks and threads.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "compiler/base/error.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/host/host_compiler.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/random/random.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/datasets_support.h"
#include "tests/support/device_launches.h"

namespace thtrain::device_mutants_test {
namespace {

constexpr double kUlps = 64;
constexpr int64_t kDraws = 7;

// ---- mutants of a text

struct Mutant {
  std::string kernel, what, code;
};

/// Each `extern "C" __global__ void k0_sum(...) {...}` with its name.
std::vector<std::pair<std::string, std::string>> kernels_of(const std::string& text) {
  const std::string begin = "extern \"C\" __global__ void ", end = "\n}\n";
  std::vector<std::pair<std::string, std::string>> out;
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const size_t name = at + begin.size();
    out.emplace_back(text.substr(name, text.find('(', name) - name),
                     text.substr(at, text.find(end, at) + end.size() - at));
  }
  return out;
}

/// What is exchanged, wherever it is met.
struct Change {
  const char *what, *pattern, *by;
};
constexpr Change kChanges[] = {
    {"without a barrier", "__sync(threads|warp)\\(\\);", ""},
    {"a shuffle of half a warp", "0xffffffffu", "0x0000ffffu"},
    {"a shuffle from another lane", "(__shfl_(down_)?sync\\([^;]*, )0\\);", "$011);"},
    {"a shuffle from another lane", "(__shfl_(down_)?sync\\([^;]*, )1\\);", "$010);"},
    {"a shuffle from another lane", "(__shfl_(down_)?sync\\([^;]*, )(2|4|8|16)\\);", "$011);"},
    {"a guard that lets one more pass", "(if \\([^<>;&|\n]*) < ", "$01 <= "},
    {"a guard that lets two threads pass", "(if \\([^<>;&|\n]*) == 0L", "$01 <= 1L"},
    {"a loop with one more element", "(for \\([^<;]*;[^<;]*) < ", "$01 <= "},
    {"a loop from the next element", "(for \\([^=;]*= [^;]*);", "$01 + 1L;"},
    {"an address that may lie anywhere", "% (\\d+)UL == 0UL", "% $01UL < 99UL"},
    {"a part of a block for a whole one", "\\(next <= ", "(first <= "},
    {"a store at once of a shifted piece", "(\\*\\(\\w+x\\d+\\*\\)\\(\\w+ \\+ )", "$011L + "},
    {"a load at once of a shifted piece", "(\\*\\(const \\w+x\\d+\\*\\)\\(\\w+ \\+ )", "$011L + "},
    {"a maximum for an atomic sum", "atomicAdd", "atomicMax"},
    {"an atomic sum of the next element", "(atomicAdd\\(\\([^()]*\\)\\(\\w+ \\+ )", "$011L + "},
    // Not of "float sums[4];", where a word comes before.
    {"the next element", "((\\n *|[^\\w\\s] ?)\\w+\\[)", "$011L + "},
};

std::vector<Mutant> mutants_of(const std::string& name, const std::string& code) {
  std::vector<Mutant> out;
  for (const Change& change : kChanges) {
    const std::regex pattern(change.pattern);
    for (std::sregex_iterator it(code.begin(), code.end(), pattern), end; it != end; ++it)
      out.push_back({name, change.what,
                     str(std::string(code.begin(), (*it)[0].first), it->format(change.by),
                         std::string((*it)[0].second, code.end()))});
  }
  // The second shared array of one dtype is the first again, without a barrier between their uses.
  static const std::regex kShared("__shared__ (\\w+) (\\w+)\\[");
  std::map<std::string, std::string> before;
  for (std::sregex_iterator it(code.begin(), code.end(), kShared), end; it != end; ++it) {
    const std::string first = std::exchange(before[(*it)[1]], (*it)[2]);
    if (first.empty()) continue;
    std::string rest((*it)[0].second, code.end());
    rest = std::regex_replace(rest.substr(rest.find(';') + 1), std::regex(str("\\b", (*it)[2].str(), "\\b")), first);
    out.push_back({name, "scratch that is used again", std::string(code.begin(), (*it)[0].first) + rest});
  }
  return out;
}

// ---- kernels

struct Kernel {
  std::string name;
  std::vector<Expr> inputs;
  Expr output;
};

Expr floats(const Dims& dims) {
  return tensor("x", dims, DType::kFloat32);
}

std::vector<Kernel> kernels() {
  const auto of_floats = [](const std::string& name, const Dims& dims, const std::function<Expr(const Expr&)>& made) {
    const Expr x = floats(dims);
    return Kernel{name, {x}, made(x)};
  };
  const Expr at = tensor("at", {70}, DType::kInt64), counts = tensor("counts", {40}, DType::kInt32),
             more = tensor("more", {70}, DType::kInt32), left = tensor("left", {40, 70}, DType::kFloat32),
             right = tensor("right", {70, 20}, DType::kFloat32), few = tensor("few", {3, 70}, DType::kInt64),
             state = tensor("state", {628}, DType::kUInt32);
  const auto drawn = [](const Drawn& draw) {
    return join(0, {cast(draw.next, DType::kFloat64) * 0x1p-32, draw.sample});
  };
  const auto spread = [](const Expr& x) { return max(x, {1}) - min(x, {1}); };
  return {
      of_floats("elements", {300}, [](const Expr& x) { return tanh(x) * 2.0; }),
      of_floats("pieces", {1025}, [](const Expr& x) { return tanh(x) * 2.0; }),
      of_floats("pieces of rows", {6, 335}, [](const Expr& x) { return sum(x, {1}); }),
      of_floats("rows of a warp", {6, 100}, [](const Expr& x) { return sum(x, {1}); }),
      of_floats("rows of a block", {3, 1503}, [](const Expr& x) { return sum(x, {1}); }),
      of_floats("parts of rows", {2, 17'003}, [](const Expr& x) { return sum(x, {1}); }),
      of_floats("parts of columns", {300, 33}, [](const Expr& x) { return sum(x, {0}); }),
      of_floats("long rows", {2, 17'003}, [](const Expr& x) { return x - sum(x, {1}, true); }),
      of_floats("columns", {40, 33}, [](const Expr& x) { return sum(x, {0}); }),
      of_floats("pieces of columns", {3, 32'772}, [](const Expr& x) { return sum(x, {0}); }),
      of_floats("softmax by warps", {6, 40}, [](const Expr& x) { return softmax(x); }),
      of_floats("softmax by blocks", {3, 1500}, [](const Expr& x) { return softmax(x); }),
      of_floats("two extrema", {3, 1503}, spread),
      of_floats("argmax by warps", {6, 70}, [](const Expr& x) { return argmax(x, {1}); }),
      of_floats("argmax by blocks", {3, 1500}, [](const Expr& x) { return argmax(x, {1}); }),
      of_floats("rows of a thread", {300, 3}, [](const Expr& x) { return sum(x, {1}); }),
      of_floats("transposes", {40, 33}, [](const Expr& x) { return tanh(transpose(x)); }),
      of_floats("transposes in pieces", {36, 40}, [](const Expr& x) { return tanh(transpose(x)); }),
      {"atomic sums", {counts, at, more}, scatter_add(counts, at, more)},
      {"gathers", {counts, at}, take(counts, at)},
      {"sorts in blocks", {few}, argsort(few)},
      of_floats("sorts in runs", {1, 1300}, [](const Expr& x) { return argsort(x); }),
      of_floats("running sums", {2, 1301}, [](const Expr& x) { return cumsum(x, 1); }),
      of_floats("running sums in parts", {2, 20'481}, [](const Expr& x) { return cumsum(x, 1); }),
      of_floats("an LU factorization", {9, 9}, [](const Expr& x) { return lu(x).packed; }),
      of_floats("a Cholesky factor", {2, 9, 9}, [](const Expr& x) { return cholesky(x + 40.0 * eye(9)); }),
      of_floats("triangular equations", {9, 9}, [](const Expr& x) { return triangular_solve(x, x, {.unit = true}); }),
      {"draws", {state}, drawn(draw("normal", state, {701}, {0.0, 1.0}))},
      {"draws without rejection", {state}, drawn(draw("uniform", state, {624}, {0.0, 1.0}))},
      {"tiles of a product", {left, right}, dot(left, right)}};
}

// Extrema so large that exp() of them overflows are where single threads have them, of each warp and in many lanes.
int64_t location_of(int64_t number, int64_t length) {
  if (number < 2) return number * (length - 1);
  return (number % 8 * 32 + number * 11 % 32) % length;
}

Tensor values_of(const Expr& input, int64_t draw) {
  const Shape shape = input.type().known_shape();
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  double* const x = out.data<double>();
  if (input.dtype() == DType::kUInt32) {  // a generator's state
    RandomState random(draw);
    for (int64_t i = draw; i > 0; --i) random.next_uint32();
    if (draw > 3) random.standard_normal();  // keeps the second one
    Tensor state = Tensor::empty(DType::kUInt32, shape);
    random.to_words(state.data<uint32_t>());
    if (draw == 2) state.data<uint32_t>()[626] = 5;  // means nothing: no number is kept
    return state;
  }
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t n = (i * (7919 + 2 * draw) + draw * 31) % 1009;
    x[i] = input.dtype() == DType::kInt64   ? static_cast<double>(1 + n % 39)
           : input.dtype() == DType::kInt32 ? static_cast<double>(n + 1)
                                            : static_cast<double>(n + 1) / 1024;
  }
  if (shape.size() == 2 && draw > 0)
    for (int64_t row = 0; row < shape[0]; ++row) {
      const int64_t number = (draw - 1) * shape[0] + row;
      x[row * shape[1] + location_of(number + 3, shape[1])] = -200.0 - static_cast<double>(row);
      x[row * shape[1] + location_of(number, shape[1])] = 200.0 + static_cast<double>(row);
    }
  return out.cast(input.dtype());
}

/// The kernels of one function on a device that checks them; after a fault on a new one.
class Tried {
 public:
  explicit Tried(const Kernel& kernel) : kernel_(kernel), launches_({kernel.inputs, {kernel.output}, {}}) {
    for (int64_t draw = 0; draw < kDraws; ++draw) {
      std::vector<std::pair<Expr, Tensor>> bound;
      draws_.emplace_back();
      for (const Expr& input : kernel.inputs)
        bound.emplace_back(input, draws_.back().emplace_back(values_of(input, draw)));
      expected_.push_back(evaluate(std::vector{kernel.output}, bound)[0]);
    }
    for (const auto& [name, code] : kernels_of(launches_.text())) {
      const std::vector<Mutant> of_kernel = mutants_of(name, code);
      mutants_.insert(mutants_.end(), of_kernel.begin(), of_kernel.end());
    }
    // All in one module.
    std::string text = launches_.text();
    for (size_t i = 0; i < mutants_.size(); ++i) {
      std::string code = mutants_[i].code;
      const std::string call = mutants_[i].kernel + "(";
      text += code.insert(code.find(call) + call.size() - 1, suffix(i));
    }
    image_ = cuda::compile_cubin(cuda::emulated::nvrtc(), text, 75);
  }

  const std::vector<Mutant>& mutants() const { return mutants_; }
  /// What is wrong with it, or empty.
  std::string fault(const std::string& changed = {}, const std::string& suffix = {}) {
    for (int64_t draw = 0; draw < kDraws; ++draw)
      for (const char* order : {"0", "1", "1234", "77777"}) {
        const EnvironmentVariable chosen("THTRAIN_EMULATED_ORDER", order);
        try {
          if (!module_) begin();
          const auto at = static_cast<size_t>(draw);
          launches_.shift(at % 2, at / 2 % 2);
          const std::vector<Tensor> got = launches_.run(*device_, *module_, draws_[at], changed, suffix);
          if (difference(got[0], expected_[at], kUlps)) return "another result";
        } catch (const InternalError& error) {
          module_.reset();
          device_.reset();
          return error.messages().front().what;
        }
      }
    return {};
  }
  std::string fault(size_t mutant) { return fault(mutants_[mutant].kernel, suffix(mutant)); }

 private:
  static std::string suffix(size_t mutant) { return str("_mutant", mutant); }
  void begin() {
    device_.emplace(cuda::emulated::driver(), 0);
    module_.emplace(*device_, image_);
  }

  const Kernel& kernel_;
  DeviceLaunches launches_;
  std::vector<std::vector<Tensor>> draws_;
  std::vector<Tensor> expected_;
  std::vector<Mutant> mutants_;
  std::string image_;
  std::optional<cuda::Device> device_;
  std::optional<cuda::Module> module_;
};

TEST(DeviceMutants, AreCaught) {
  if (!generated_flags().empty()) GTEST_SKIP() << "a sanitizer has the functions that tell of accesses";
  cuda::emulated::start({.bytes = size_t{1} << 26, .checks = true});
  // The last run of the outer loop has room for the element, and unrolled loops ask of each element whether it is
  // there. The first slab of a product has fewer terms than there are, and none begins where they end; a column more is
  // loaded than is stored. Of running sums the guard is of a barrier and of what only the next 1024 elements read; few
  // parts have no next ones, nor does anything lie behind the first part of a row that is not there. Of draws one word
  // more is loaded than is read, no candidate lies behind the last ones, and more normal numbers are taken than are
  // needed. Extrema are drawn among the first 256 elements, which two of a block's warps take in pieces: parts of the
  // others, and the elements of a row that begins elsewhere, decide nothing. A thread without a row gives none as a
  // pivot; a second thread notes the same failure, and there is none to be found.
  std::multiset<std::string> expected{"two extrema: the next element",
                                      "two extrema: the next element",
                                      "two extrema: the next element",
                                      "two extrema: the next element",
                                      "two extrema: the next element",
                                      "two extrema: the next element",
                                      "long rows: a loop with one more element",
                                      "tiles of a product: a loop with one more element",
                                      "tiles of a product: a guard that lets one more pass",
                                      "tiles of a product: a guard that lets one more pass",
                                      "tiles of a product: a guard that lets one more pass",
                                      "tiles of a product: a guard that lets one more pass",
                                      "softmax by warps: a loop with one more element",
                                      "softmax by warps: a loop with one more element",
                                      "softmax by warps: a loop with one more element",
                                      "softmax by blocks: a loop with one more element",
                                      "softmax by blocks: a loop with one more element",
                                      "softmax by blocks: a loop with one more element",
                                      "running sums: a loop with one more element",
                                      "running sums: a guard that lets one more pass",
                                      "running sums in parts: a loop with one more element",
                                      "running sums in parts: a loop with one more element",
                                      "running sums in parts: a guard that lets one more pass",
                                      "running sums in parts: a guard that lets one more pass",
                                      "running sums in parts: a guard that lets one more pass",
                                      "running sums in parts: without a barrier",
                                      "running sums in parts: the next element",
                                      "running sums in parts: the next element",
                                      "an LU factorization: a loop with one more element",
                                      "a Cholesky factor: a guard that lets two threads pass",
                                      "a Cholesky factor: a loop from the next element",
                                      "draws: a guard that lets one more pass",
                                      "draws: a loop with one more element",
                                      "draws: a loop with one more element",
                                      "draws without rejection: a loop with one more element"};
  size_t made = 0, stopped = 0, caught = 0;
  for (const Kernel& kernel : kernels()) {
    Tried tried(kernel);
    EXPECT_EQ(tried.fault(), "") << kernel.name << " as it is";
    for (size_t i = 0; i < tried.mutants().size(); ++i) {
      const Mutant& mutant = tried.mutants()[i];
      const std::string fault = tried.fault(i);
      ++made;
      stopped += !fault.empty() && fault != "another result";
      caught += !fault.empty();
      const std::string name = str(kernel.name, ": ", mutant.what);
      const auto at = expected.find(name);
      EXPECT_TRUE(!fault.empty() || at != expected.end()) << name << "\n" << mutant.code;
      if (fault.empty() && at != expected.end()) expected.erase(at);
    }
  }
  std::cout << "kernels of devices: " << made << " mutants, of which " << stopped << " are stopped and "
            << made - caught << " survive\n";
  for (const std::string& name : expected) ADD_FAILURE() << "does not survive: " << name;
  EXPECT_GE(static_cast<double>(caught), 0.95 * static_cast<double>(made));
}

}  // namespace
}  // namespace thtrain::device_mutants_test
