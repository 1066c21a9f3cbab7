// Calls that tell of outputs before the program has ended.
#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"

namespace thtrain::early_outputs_test {

const Tensor kX = Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}});

struct Told {
  std::vector<size_t> order = {};
  std::vector<double> sums = {};  // of the elements, when it was told
  void operator()(size_t output, const Tensor& value) {
    order.push_back(output);
    double all = 0;
    for (int64_t i = 0; i < value.size(); ++i) all += value.contiguous().as_double(i);
    sums.push_back(all);
  }
};

// Three products one after the other, each an output, and a view of the first one.
struct Chain {
  Expr x = tensor("x", {2, 2}, DType::kFloat64);
  Expr first = dot(x, x), second = dot(first, x), third = dot(second, x);
  std::vector<Out> outputs = {Out(first, true), Out(third, true), Out(second, true), Out(transpose(first), true)};
};
const std::vector<double> kSums = {54, 290, 1558};  // of x^2, x^3, x^4

TEST(EarlyOutputs, AreToldInTheOrderOfTheProgram) {
  const Chain chain;
  Function f = function({chain.x}, chain.outputs, {}, {.early_outputs = true});
  for (int round = 0; round < 2; ++round) {
    Told told;
    const std::vector<Tensor> out = f.call_early(std::vector{kX}, std::ref(told));
    // A view is copied as soon as it can be.
    EXPECT_EQ(told.order, (std::vector<size_t>{0, 3, 2, 1}));
    EXPECT_EQ(told.sums, (std::vector<double>{kSums[0], kSums[0], kSums[1], kSums[2]}));
    EXPECT_EQ(out.size(), 4);
  }
  EXPECT_EQ(f({kX})[1].as_double(0), 199);  // an ordinary call tells nobody
}

TEST(EarlyOutputs, AreThereWhileTheRestIsToBeComputed) {
  const Chain chain;
  Function f = function({chain.x}, chain.outputs, {}, {.early_outputs = true});
  f({Tensor::matrix({{0.0, 0.0}, {0.0, 0.0}})});
  const std::vector<Tensor> last = f({Tensor::matrix({{0.0, 0.0}, {0.0, 0.0}})});  // in the function's own memory
  f.call_early(std::vector{kX}, [&](size_t output, const Tensor&) {
    EXPECT_EQ(last[1].as_double(0), output == 0 ? 0 : last[1].as_double(0));
  });
  EXPECT_EQ(last[1].as_double(0), 199);
}

TEST(EarlyOutputs, AreToldOfProgramsThatCannotTell) {
  const Chain chain;
  for (const FunctionOptions& options :
       {FunctionOptions{.mode = Mode::kReference, .early_outputs = true}, FunctionOptions{},
        FunctionOptions{.mode = Mode::kDebug, .early_outputs = true},
        FunctionOptions{.target = kernel::emulated_cuda_target(), .early_outputs = true}}) {
    Function f = function({chain.x}, chain.outputs, {}, options);
    Told told;
    f.call_early(std::vector{kX}, std::ref(told));
    EXPECT_EQ(told.order, (std::vector<size_t>{0, 1, 2, 3}));
    EXPECT_EQ(told.sums, (std::vector<double>{kSums[0], kSums[2], kSums[1], kSums[0]}));
  }
}

TEST(EarlyOutputs, AnErrorOfTheCallbackEndsTheCall) {
  const Chain chain;
  Function f = function({chain.x}, chain.outputs, {}, {.early_outputs = true});
  auto call = [&] {
    f.call_early(std::vector{kX}, [](size_t output, const Tensor&) {
      if (output == 2) throw std::runtime_error("enough");
    });
  };
  EXPECT_THROW(call(), std::runtime_error);
  EXPECT_EQ(f({kX})[1].as_double(0), 199);
}

TEST(EarlyOutputs, OfProfiledCallsAreTold) {
  const Chain chain;
  Function f = function({chain.x}, chain.outputs, {}, {.early_outputs = true});
  f.start_profile();
  Told told;
  f.call_early(std::vector{kX}, std::ref(told));
  EXPECT_EQ(told.order, (std::vector<size_t>{0, 3, 2, 1}));
  EXPECT_EQ(f.profile().calls, 1);
}

}  // namespace thtrain::early_outputs_test
