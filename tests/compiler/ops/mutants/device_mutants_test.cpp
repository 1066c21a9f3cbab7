// Are wrong kernels of devices found? Barriers, shuffles, guards, shared arrays and atomic sums are made wrong in one
// location each; the kernel is then refused by the verifier, fails the call, writes behind an output, or gives another
// result in one of some orders of blocks and threads.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <set>

#include "compiler/host/host_compiler.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/native_program.h"

namespace thtrain::device_mutants_test {
namespace {

using kernel::Block;
using kernel::Statement;
using kernel::Term;
using kernel::TermNode;

constexpr double kUlps = 64;
constexpr int64_t kDraws = 7;
constexpr unsigned kSeconds = 300;  // that a mutant may take

// Walks through the locations of a kernel in order; the one whose number is wanted is changed.
class Locations {
 public:
  explicit Locations(size_t wanted) : wanted_(wanted) {}

  std::vector<std::string> run(kernel::Function& f) {
    block(f.body);
    share_scratch(f.body);
    return std::move(met_);
  }

 private:
  bool here(const char* what) {
    met_.push_back(what);
    return met_.size() == wanted_ + 1;
  }

  void block(Block& statements) {
    for (size_t i = 0; i < statements.size(); ++i) {
      const bool goes = std::holds_alternative<kernel::Barrier>(statements[i]) && here("without a barrier");
      if (goes)
        statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(i--));
      else
        std::visit([&](auto& s) { statement(s); }, statements[i]);
    }
  }

  void statement(auto&) {}
  void statement(kernel::Shuffle& s) {
    if (here("a shuffle of half a warp")) s.mask &= 0xffff;
    if (here("a shuffle from another lane")) s.lane = s.lane == 0 ? 1 : s.lane / 2;
  }
  void statement(kernel::If& s) {
    if (s.condition.node().prim == kernel::Prim::kLess && here("a guard that lets one more pass")) {
      TermNode wider = s.condition.node();
      wider.prim = kernel::Prim::kLessEqual;
      s.condition = Term(std::make_shared<const TermNode>(std::move(wider)));
    }
    // Where one thread stores what all of them know, another may.
    const bool stores_result = s.condition.node().prim == kernel::Prim::kEqual &&
                               s.condition.node().args[0].node().prim == kernel::Prim::kVariable;
    if (s.condition.node().prim == kernel::Prim::kEqual && !stores_result && here("a guard of another thread"))
      s.condition = s.condition.node().args[0] == s.condition.node().args[1] + Term(1);
    block(s.then);
    block(s.otherwise);
  }
  void statement(kernel::ForLoop& s) {
    if (here("a loop with one more element")) s.end = s.end + Term(1);
    if (here("a loop from the next element")) s.begin = s.begin + Term(1);
    block(s.body);
  }
  void statement(kernel::SharedArray& s) { shared_.emplace_back(s.name, s.dtype); }
  void statement(kernel::Store& s) { shift(s.index, s.buffer); }
  void statement(kernel::Let& s) {
    if (s.value.node().prim != kernel::Prim::kLoad) return;
    TermNode load = s.value.node();
    shift(load.args[0], load.name);
    s.value = Term(std::make_shared<const TermNode>(std::move(load)));
  }
  void statement(kernel::Atomic& s) {
    if (here("a maximum for an atomic sum")) s.kind = kernel::AtomicKind::kMax;
    if (here("an atomic sum of the element before")) s.index = s.index - Term(1);
  }

  void shift(Term& index, const std::string& buffer) {
    for (const auto& [name, dtype] : shared_)
      if (name == buffer && here("an index of a shared array one larger")) index = index + Term(1);
  }

  // The second shared array of one dtype is the first again, without a barrier between its uses.
  void share_scratch(Block& body) {
    for (size_t i = 0; i + 1 < shared_.size(); ++i) {
      if (shared_[i].second != shared_[i + 1].second || !here("scratch that is used again")) continue;
      std::erase_if(body, [&](const Statement& s) {
        const auto* array = std::get_if<kernel::SharedArray>(&s);
        return array && array->name == shared_[i + 1].first;
      });
      Renamer renamer{shared_[i + 1].first, shared_[i].first};
      renamer.block(body);
    }
  }

  struct Renamer {
    const std::string &from, &to;
    void note(const std::string&) {}
    void define(const std::string&, const kernel::TermType&) {}
    void option(auto) {}
    void name(std::string& name) {
      if (name == from) name = to;
    }
    void index(Term&) {}
    void term(Term& t) {
      if (!static_cast<bool>(t) || t.node().prim != kernel::Prim::kLoad || t.node().name != from) return;
      TermNode load = t.node();
      load.name = to;
      t = Term(std::make_shared<const TermNode>(std::move(load)));
    }
    void block(Block& statements) {
      for (Statement& s : statements) visit_fields(s, *this);
    }
  };

  size_t wanted_;
  std::vector<std::string> met_;
  std::vector<std::pair<std::string, DType>> shared_;
};

void for_each_kernel(Program& program, const std::function<void(kernel::Function&)>& visit) {
  for (auto& item : program.body.items)
    if (auto* call = std::get_if<kernel::KernelCall>(&std::get<Step>(item).code)) {
      auto own = std::make_shared<kernel::Function>(*call->function);
      visit(*own);
      call->function = own;
    }
}

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
             more = tensor("more", {70}, DType::kInt32);
  const Expr left = tensor("left", {40, 70}, DType::kFloat32), right = tensor("right", {70, 20}, DType::kFloat32);
  const auto spread = [](const Expr& x) { return max(x, {1}) - min(x, {1}); };
  return {of_floats("elements", {300}, [](const Expr& x) { return tanh(x) * 2.0; }),
          of_floats("rows of a warp", {6, 100}, [](const Expr& x) { return sum(x, {1}); }),
          of_floats("rows of a block", {3, 1500}, [](const Expr& x) { return sum(x, {1}); }),
          of_floats("parts of rows", {2, 17'000}, [](const Expr& x) { return sum(x, {1}); }),
          of_floats("parts of columns", {300, 33}, [](const Expr& x) { return sum(x, {0}); }),
          of_floats("long rows", {2, 17'000}, [](const Expr& x) { return x - sum(x, {1}, true); }),
          of_floats("columns", {40, 33}, [](const Expr& x) { return sum(x, {0}); }),
          of_floats("softmax by warps", {6, 40}, [](const Expr& x) { return softmax(x); }),
          of_floats("softmax by blocks", {3, 1500}, [](const Expr& x) { return softmax(x); }),
          of_floats("two extrema", {3, 1500}, spread),
          of_floats("argmax by warps", {6, 70}, [](const Expr& x) { return argmax(x, {1}); }),
          of_floats("argmax by blocks", {3, 1500}, [](const Expr& x) { return argmax(x, {1}); }),
          of_floats("squares", {40, 33}, [](const Expr& x) { return transpose(x) * 2.0; }),
          {"tiles of a product", {left, right}, dot(left, right)},
          {"atomic sums", {counts, at, more}, scatter_add(counts, at, more)}};
}

// In some draws the extrema of each row are where one thread alone, or one warp, has them.
Tensor values_of(const Expr& input, int64_t draw) {
  const Shape shape = input.type().known_shape();
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  double* const x = out.data<double>();
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t n = (i * (7919 + 2 * draw) + draw * 31) % 1009;
    x[i] = input.dtype() == DType::kInt64   ? static_cast<double>(1 + n % 39)
           : input.dtype() == DType::kInt32 ? static_cast<double>(n + 1)
                                            : static_cast<double>(n + 1) / 1024;
  }
  if (shape.size() == 2 && draw > 0) {
    const int64_t length = shape[1],
                  locations[] = {0, 31 % length, 32 % length, 250 % length, 600 % length, length - 1};
    for (int64_t row = 0; row < shape[0]; ++row) {
      x[row * length + locations[(draw + 2) % 6]] = -1.0 - static_cast<double>(row);
      x[row * length + locations[draw % 6]] = 2.0 + static_cast<double>(row);
    }
  }
  return out.cast(input.dtype());
}

bool is_wrong(const Kernel& kernel, const NativeProgram& program) {
  try {
    for (int64_t draw = 0; draw < kDraws; ++draw) {
      std::vector<Tensor> values;
      std::vector<std::pair<Expr, Tensor>> bound;
      for (const Expr& input : kernel.inputs) bound.emplace_back(input, values.emplace_back(values_of(input, draw)));
      const Tensor expected = evaluate(std::vector{kernel.output}, bound)[0];
      for (const char* order : {"0", "1", "1234", "77777"}) {
        setenv("THTRAIN_EMULATED_ORDER", order, 1);
        if (difference(program(values)[0], expected, kUlps)) return true;
      }
    }
  } catch (const InternalError&) {
    return true;
  }
  return false;
}

// Is the kernel found wrong? It runs in a process of its own, where it may write anywhere.
bool is_caught(const Kernel& kernel, const Target& target, const std::function<void(Program&)>& edit) {
  std::optional<NativeProgram> program;
  try {
    program.emplace(Graph{kernel.inputs, {kernel.output}, {}}, target, true, edit);
  } catch (const InternalError&) {
    return true;  // the verifier's
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    _exit(is_wrong(kernel, *program) ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

TEST(DeviceMutants, AreCaught) {
  if (!generated_flags().empty()) GTEST_SKIP() << "a mutant may read behind an input, which sanitizers report";
  const Target target{.compiler = "g++", .vector_bytes = 16, .device = kernel::emulated_cuda_target()};
  const std::set<std::string> expected{
      // The element behind the row has the number that stands for none.
      "argmax by blocks: a loop with one more element", "argmax by warps: a loop with one more element",
      // The last run of the outer loop has room for it.
      "long rows: a loop with one more element",
      // What is read there goes to an element of the shared array that nothing reads.
      "squares: a guard that lets one more pass",
      // Lanes without a part have 0.
      "parts of columns: a shuffle from another lane", "parts of rows: a shuffle from another lane",
      // What is read for rows and columns that the product has not is stored nowhere, and behind the last term is 0;
      // where
      // sums begin there was 0 before.
      "tiles of a product: a guard that lets one more pass", "tiles of a product: a loop from the next element",
      "tiles of a product: a loop with one more element",
      // In a warp where no draw has an extremum.
      "argmax by blocks: an index of a shared array one larger", "two extrema: an index of a shared array one larger",
      // The maximum keeps exp in range; with a smaller one the quotients are the same.
      "softmax by blocks: a guard of another thread", "softmax by blocks: a loop from the next element",
      "softmax by blocks: a loop with one more element", "softmax by blocks: a shuffle from another lane",
      "softmax by blocks: an index of a shared array one larger", "softmax by warps: a loop from the next element",
      "softmax by warps: a loop with one more element", "softmax by warps: a shuffle from another lane"};
  std::set<std::string> survivors;
  size_t made = 0;
  for (const Kernel& kernel : kernels()) {
    EXPECT_FALSE(is_caught(kernel, target, nullptr)) << kernel.name << " as it is";
    std::vector<std::string> locations;
    is_caught(kernel, target, [&](Program& program) {
      for_each_kernel(program, [&](kernel::Function& f) {
        for (const std::string& what : Locations(SIZE_MAX - 1).run(f)) locations.push_back(what);
      });
    });
    for (size_t location = 0; location < locations.size(); ++location) {
      ++made;
      const bool found = is_caught(kernel, target, [&](Program& program) {
        size_t before = 0;
        for_each_kernel(program, [&](kernel::Function& f) {
          kernel::Function copy = f;
          const size_t count = Locations(SIZE_MAX - 1).run(copy).size();
          if (location >= before && location < before + count) Locations(location - before).run(f);
          before += count;
        });
      });
      if (!found) survivors.insert(str(kernel.name, ": ", locations[location]));
    }
  }
  std::cout << "kernels of devices: " << made << " mutants, " << survivors.size() << " survive\n";
  // What lies behind an input may tell: one that is listed may be caught.
  for (const std::string& survivor : survivors) EXPECT_TRUE(expected.count(survivor)) << survivor;
  EXPECT_LE(static_cast<double>(survivors.size()), 0.05 * static_cast<double>(made));
}

}  // namespace
}  // namespace thtrain::device_mutants_test
