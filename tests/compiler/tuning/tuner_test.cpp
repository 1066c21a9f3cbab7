// The tuner: its policies, what it remembers, and what becomes of finished programs when an answer changes.
#include "compiler/tuning/tuner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "compiler/api.h"
#include "compiler/host/cache.h"
#include "compiler/ir/variables.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/libraries/onednn.h"
#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/runtime/compile.h"
#include "compiler/tuning/candidate_trials.h"
#include "compiler/tuning/machine.h"
#include "tests/support/error_text.h"

namespace thtrain::tuner_test {
namespace {

using kernel::ChoiceKey;

// Numbers of threads that nothing else uses: what is remembered for them disturbs nobody.
constexpr int kThreads = 201, kOtherThreads = 202, kManyProcesses = 203;

ChoiceKey key_of_columns(int64_t n) {
  return key_of({DType::kFloat32, 3, n, 5, false, false, false});
}

std::string rule_choice(const ChoiceKey& key, int threads) {
  return find_computation(key.computation)->rule(key, machine(), threads, 0);
}

std::vector<std::string> names_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> out;
  for (const Candidate& candidate : candidates) out.push_back(candidate.name);
  return out;
}

std::string current_version(const ChoiceKey& key, const std::string& name) {
  return version_of(find_candidate(key, name, machine()).value()).value();
}

// As if the candidate had been measured today.
void remember_time(const ChoiceKey& key, const std::string& name, double seconds, int threads) {
  TuningTable table;
  table.add(key.text(), {name, current_version(key, name), seconds});
  remember(table, threads);
}

Tuner tuner(Tune policy, int threads) {
  return Tuner({.policy = policy, .threads = threads});
}

TEST(Tuner, KeysOfProductsReadBack) {
  for (const auto& [product, text] :
       {std::pair(MatrixProduct{DType::kFloat32, 60, 500, 784, false, false, false}, "float32 60x784x500 NN"),
        {MatrixProduct{DType::kFloat64, 784, 500, 60, true, false, true}, "float64 784x60x500 TN added"},
        {MatrixProduct{DType::kFloat32, 60, 500, 10, false, true, false}, "float32 60x10x500 NT"},
        {MatrixProduct{DType::kInt16, 2, 3, 4, false, false, false}, "int16 2x4x3 NN"}}) {
    EXPECT_EQ(key_of(product).text(), str("matrix_product ", text));
    EXPECT_EQ(product_of(text), product);
  }
  for (const char* text : {"", "float32", "bool 2x2x2 NN", "float32 2x2 NN", "float32 2x2x2 NX", "float32 2x2x0 NN",
                           "float32 2x2x2 NN added twice", "float32 2x2x99999999999999999999 NN"})
    EXPECT_EQ(product_of(text), std::nullopt) << text;
}

TEST(Tuner, AnswersFromWhatIsRememberedForThatManyThreads) {
  const ChoiceKey key = key_of_columns(77);
  remember_time(key, "tile 1x1x5", 1e-6, kThreads);
  EXPECT_EQ(remembered(kThreads).of(key.text()).at(0).candidate, "tile 1x1x5");
  EXPECT_TRUE(remembered(kOtherThreads).of(key.text()).empty());

  Tuner cached = tuner(Tune::kCached, kThreads);
  EXPECT_EQ(cached.choose(key), "tile 1x1x5");
  EXPECT_EQ(tuner(Tune::kNever, kThreads).choose(key), rule_choice(key, kThreads));
  EXPECT_EQ(tuner(Tune::kCached, kOtherThreads).choose(key), rule_choice(key, kOtherThreads));
  EXPECT_EQ(cached.choose(key), "tile 1x1x5");
  const std::vector<kernel::Choice> answers{{key, "tile 1x1x5", current_version(key, "tile 1x1x5")}};
  EXPECT_EQ(cached.answers(), answers);
  EXPECT_TRUE(tuner(Tune::kCached, kThreads).agrees(answers));
  EXPECT_FALSE(tuner(Tune::kNever, kThreads).agrees(answers));
}

TEST(Tuner, ForgetsOnlyWhatChanged) {
  const ChoiceKey key = key_of_columns(78);
  remember(TuningTable::parse(str(key.text(), " = tile 1x1x5 [an older kernel] 1e-06\n")), kThreads);
  remember_time(key, "library", 2e-6, kThreads);
  EXPECT_EQ(tuner(Tune::kCached, kThreads).choose(key), "library") << "the fastest that is what was measured";
  remember_time(key, "tile 1x1x5", 1e-6, kThreads);
  EXPECT_EQ(tuner(Tune::kCached, kThreads).choose(key), "tile 1x1x5");
}

TEST(Tuner, LargerErrorsAreTakenWithinTheToleranceOnly) {
  const ChoiceKey key{"conv", "float32 b1 i4x8x8 k4x3x3 p1:1x1:1"};
  const std::optional<Candidate> winograd = find_candidate(key, "winograd 2", machine());
  if (!winograd) GTEST_SKIP() << "a processor without fused multiply-adds";
  remember_time(key, winograd->name, 1e-9, kThreads);
  const double bound = winograd->error_bound;
  EXPECT_EQ(tuner(Tune::kCached, kThreads).choose(key), rule_choice(key, kThreads));
  EXPECT_EQ(Tuner({.threads = kThreads, .tolerance = 0.99 * bound}).choose(key), rule_choice(key, kThreads));
  const Tuner tolerant({.threads = kThreads, .tolerance = bound});
  EXPECT_EQ(tolerant.choose(key), "winograd 2");
  EXPECT_FALSE(tuner(Tune::kCached, kThreads).agrees(tolerant.answers())) << "finished programs are made anew";

  CompileOptions options;
  options.conv_tolerance = bound;
  EXPECT_EQ(tuner_options(options).tolerance, bound);
  options.pipeline.level = Level::kStrict;
  EXPECT_EQ(tuner_options(options).tolerance, 0);
}

TEST(Tuner, ProcessesThatRememberAtTheSameTimeForgetNothing) {
  constexpr int kProcesses = 4, kEach = 25;
  auto key = [](int process, int i) { return key_of_columns(100'000 + process * kEach + i).text(); };
  const std::string version = str("run ", getpid());  // an earlier run of this test left entries
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() == 0) {
      for (int i = 0; i < kEach; ++i)
        remember(TuningTable::parse(str(key(process, i), " = library [", version, "] 1e-06\n")), kManyProcesses);
      _exit(0);
    }
  }
  for (pid_t child : children) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const TuningTable table = remembered(kManyProcesses);
  for (int process = 0; process < kProcesses; ++process)
    for (int i = 0; i < kEach; ++i) {
      ASSERT_EQ(table.of(key(process, i)).size(), 1u) << process << " " << i;
      EXPECT_EQ(table.of(key(process, i))[0].version, version) << process << " " << i;
    }
}

TEST(Tuner, WhatDoesNotApplyHereIsNotChosen) {
  const ChoiceKey key = key_of_columns(79);
  remember(TuningTable::parse(
               str(key.text(), " = tile 99x9x83 [3] 1e-08; oneDNN [1 oneDNN 0.0.1] 2e-08; ", "a user's [1] 3e-08\n")),
           kOtherThreads);
  EXPECT_EQ(tuner(Tune::kCached, kOtherThreads).choose(key), rule_choice(key, kOtherThreads));
  EXPECT_EQ(remembered(kOtherThreads).of(key.text()).size(), 3u) << "and is remembered all the same";
}

TEST(Tuner, AlwaysMeasuresOnceAndRemembers) {
  const ChoiceKey key = key_of_columns(80);
  const std::string choice = tuner(Tune::kAlways, kOtherThreads).choose(key);
  const std::vector<std::string> all = names_of(usable_candidates(key, 0));
  EXPECT_EQ(std::count(all.begin(), all.end(), choice), 1) << choice;
  const std::vector<Measured> measured = remembered(kOtherThreads).of(key.text());
  EXPECT_EQ(measured.size(), all.size());
  EXPECT_EQ(measured.at(0).candidate, choice);
  EXPECT_EQ(tuner(Tune::kCached, kOtherThreads).choose(key), choice);
  // What is there is not measured again.
  remember_time(key, all.back(), 1e-12, kOtherThreads);
  EXPECT_EQ(tuner(Tune::kAlways, kOtherThreads).choose(key), all.back());
}

TEST(Tuner, TimesOfABusyMachineAreTakenAgain) {
  const ChoiceKey key = key_of_columns(81);
  tuner(Tune::kAlways, kOtherThreads).choose(key);
  auto remember_loaded = [&](double load) {
    TuningTable table;
    const TuningTable before = remembered(kOtherThreads);
    for (const Measured& m : before.of(key.text())) table.add(key.text(), {m.candidate, m.version, 1, load});
    table.add(key.text(), {"library", current_version(key, "library"), 1e-12, load});
    remember(table, kOtherThreads);
  };
  remember_loaded(0);
  EXPECT_EQ(tuner(Tune::kAlways, kOtherThreads).choose(key), "library");
  EXPECT_EQ(remembered(kOtherThreads).of(key.text()).at(0).seconds, 1e-12) << "not timed again";
  remember_loaded(1e9);  // more than any machine has now
  EXPECT_EQ(tuner(Tune::kCached, kOtherThreads).choose(key), "library");
  tuner(Tune::kAlways, kOtherThreads).choose(key);
  const TuningTable after = remembered(kOtherThreads);
  for (const Measured& m : after.of(key.text())) {
    EXPECT_GT(m.seconds, 1e-9) << m.candidate;
    EXPECT_LT(m.load, 1e9) << m.candidate;
  }
}

TEST(Tuner, CandidatesFitTheProcessor) {
  for (int64_t n : {2, 10, 500})
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const MatrixProduct product{dtype, 60, n, 784, false, false, false};
      const std::vector<std::string> names = names_of(candidates_of(key_of(product), machine()));
      EXPECT_EQ(names.front(), "library");
      for (const std::string& name : names) {
        auto tiling = gemm_tiling_named(name);
        EXPECT_TRUE(!tiling || is_possible(*tiling, product, machine())) << name;
      }
    }
}

TEST(Tuner, TimesEveryCandidate) {
  for (bool accumulates : {false, true}) {
    const ChoiceKey key = key_of({DType::kFloat32, 8, 40, 20, true, false, accumulates});
    const std::vector<Candidate> candidates = usable_candidates(key, 0);
    const std::vector<CandidateTrial> trials = time_candidates(key, candidates, 1);
    ASSERT_EQ(trials.size(), candidates.size());
    for (size_t i = 0; i < trials.size(); ++i) {
      EXPECT_EQ(trials[i].candidate, candidates[i].name);
      EXPECT_EQ(trials[i].version, version_of(candidates[i]));
      EXPECT_GT(trials[i].seconds, 0);
      EXPECT_EQ(trials[i].flops, 2 * 8 * 40 * 20);
    }
  }
}

TEST(Tuner, AKeyOfNoComputationIsRefused) {
  EXPECT_EQ(text_without_node([] {
              time_candidates({"matrix_product", "float32 2xx2"}, {}, 1);
            }),
            "error: no computation can be timed by this key\n  got:      matrix_product float32 2xx2");
}

Function product_function(const FunctionOptions& options) {
  Expr x = tensor("x", {41, 43}, DType::kFloat32), y = tensor("y", {43, 47}, DType::kFloat32);
  return function({x, y}, {dot(x, y)}, {}, options);
}
const ChoiceKey kProduct = key_of({DType::kFloat32, 41, 47, 43, false, false, false});

// A finished program is found again as long as the tuner gives the same answers.
TEST(Tuner, AProgramIsMadeAnewWhenAnAnswerChanged) {
  remember_time(kProduct, "library", 1e-5, 199);
  remember_time(kProduct, "tile 2x1x43", 1e-6, 199);
  Function first = product_function({.threads = 199}), second = product_function({.threads = 199});
  ASSERT_EQ(first.info().choices.size(), 1u);
  EXPECT_EQ(first.info().choices[0].candidate, "tile 2x1x43");
  EXPECT_NE(first.explain().program.find("kernel gemm_2x1x43"), std::string::npos) << first.explain().program;
  EXPECT_TRUE(second.info().from_cache);
  EXPECT_EQ(second.info().choices, first.info().choices);

  remember_time(kProduct, "library", 1e-7, 199);
  Function third = product_function({.threads = 199});
  EXPECT_FALSE(third.info().from_cache);
  EXPECT_EQ(third.info().choices[0].candidate, "library");
  EXPECT_NE(third.explain().program.find("-- gemm_f32"), std::string::npos) << third.explain().program;
}

TEST(Tuner, AFunctionMayTakeACandidateByName) {
  Function tiled = product_function({.candidates = {{"matrix_product", "tile 2x1x43"}}});
  EXPECT_EQ(tiled.info().choices.at(0).candidate, "tile 2x1x43");
  Function library = product_function({.candidates = {{"matrix_product", "library"}}});
  EXPECT_EQ(library.info().choices.at(0).candidate, "library");
  Function rule = product_function({.tune = Tune::kNever, .candidates = {{"matrix_product", "tile 99x9x9"}}});
  EXPECT_EQ(rule.info().choices.at(0).candidate, rule_choice(kProduct, 2)) << "one that does not apply";
  EXPECT_EQ(text_without_node([] {
              product_function({.candidates = {{"convolution", "fft"}}});
            }),
            "error: there is no computation convolution to take a candidate for\n  got:      convolution: fft");
}

// A product by its definition has the same bits on every machine: those of this loop.
TEST(Tuner, LoopsAddFromTheFirstProductToTheLast) {
  const Expr x = tensor("x", {7, 9}, DType::kFloat32), y = tensor("y", {5, 9}, DType::kFloat32);
  Function f = function({x, y}, {dot(x, transpose(y))}, {}, {.candidates = {{"matrix_product", "loops"}}});
  ASSERT_EQ(f.info().choices.at(0).candidate, "loops");
  Tensor a = Tensor::empty(DType::kFloat32, {7, 9}), b = Tensor::empty(DType::kFloat32, {5, 9});
  for (int64_t i = 0; i < a.size(); ++i) a.data<float>()[i] = 1.0f / static_cast<float>(i + 3);
  for (int64_t i = 0; i < b.size(); ++i) b.data<float>()[i] = 1.0f / static_cast<float>(2 * i + 7);
  const Tensor out = f({a, b})[0];
  for (int64_t i = 0; i < 7; ++i)
    for (int64_t j = 0; j < 5; ++j) {
      volatile float sum = 0;
      for (int64_t l = 0; l < 9; ++l) {
        const volatile float product = a.data<float>()[i * 9 + l] * b.data<float>()[j * 9 + l];
        sum = sum + product;
      }
      EXPECT_EQ(out.data<float>()[i * 5 + j], sum) << i << ", " << j;
    }
}

// ---- candidates of the user's program ------------------------------------------------------------------------------

int calls_of_mine = 0;

// A product by its definition; fails where a number is 13.
extern "C" int my_gemm(ThContext*, TH_GEMM_PARAMETERS(float)) {
  ++calls_of_mine;
  for (long i = 0; i < m; ++i)
    for (long j = 0; j < n; ++j) {
      float sum = 0;
      for (long p = 0; p < k; ++p) {
        const float left = trans_a ? a[p * lda + i] : a[i * lda + p], right = trans_b ? b[j * ldb + p] : b[p * ldb + j];
        if (left == 13) return 7;
        sum += left * right;
      }
      c[i * ldc + j] = *alpha_at * sum + (reads_c ? *beta_at * c[i * ldc + j] : 0);
    }
  return 0;
}

// Three candidates for products of 29 columns, once for all tests.
void add_mine() {
  static const bool once = [] {
    add_library_function("my_gemm", [] { return LibraryImplementation{reinterpret_cast<void*>(my_gemm), "mine 1.0"}; });
    add_candidates(
        {"matrix_product", [](const ChoiceKey& key, const kernel::Target&) {
           if (product_of(key.properties)->n != 29) return std::vector<Candidate>();
           kernel::LibraryFunction function = gemm_function(DType::kFloat32);
           function.name = "my_gemm";
           function.may_fail = true;
           auto lower = [function](kernel::StepBuilder& b) { call_product(b, function); };
           return std::vector<Candidate>{
               {.name = "mine", .functions = {"my_gemm"}, .lower = lower},
               {.name = "loose",
                .rounding = RoundingClass::kOther,
                .error_bound = 1e-3,
                .functions = {"my_gemm"},
                .lower = lower},
               {.name = "unbounded", .rounding = RoundingClass::kOther, .functions = {"my_gemm"}, .lower = lower},
               {.name = "dice", .deterministic = false, .functions = {"my_gemm"}, .lower = lower},
               {.name = "absent", .functions = {"no_such_function"}, .lower = lower}};
         }});
    return true;
  }();
  EXPECT_TRUE(once);
}

Function product_of_29(const FunctionOptions& options) {
  add_mine();
  Expr x = tensor("x", {3, 4}, DType::kFloat32), y = tensor("y", {4, 29}, DType::kFloat32);
  return function({x, y}, {dot(x, y)}, {}, options);
}

Tensor counted(Shape shape) {
  Tensor out = Tensor::empty(DType::kFloat32, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<float>()[i] = static_cast<float>(i % 5);
  return out;
}

TEST(UserCandidates, ComputeWhereTheyApply) {
  Function mine = product_of_29({.candidates = {{"matrix_product", "mine"}}});
  Function library = product_of_29({.candidates = {{"matrix_product", "library"}}});
  calls_of_mine = 0;
  const Tensor x = counted({3, 4}), y = counted({4, 29});
  EXPECT_TRUE(same_bits(mine({x, y})[0], library({x, y})[0]));
  EXPECT_EQ(calls_of_mine, 1);
  EXPECT_EQ(mine.info().choices.at(0).version, "1 my_gemm mine 1.0");
  Function again = product_of_29({.candidates = {{"matrix_product", "mine"}}});
  EXPECT_TRUE(again.info().from_cache);
  EXPECT_TRUE(same_bits(again({x, y})[0], library({x, y})[0]));
  EXPECT_EQ(product_function({.candidates = {{"matrix_product", "mine"}}}).info().choices.at(0).candidate,
            product_function({}).info().choices.at(0).candidate)
      << "47 columns";
}

TEST(UserCandidates, AreTimedWithTheOthers) {
  add_mine();
  const ChoiceKey key = key_of({DType::kFloat32, 3, 29, 4, false, false, false});
  const std::vector<std::string> usable = names_of(usable_candidates(key, 1e-3)),
                                 exact = names_of(usable_candidates(key, 0));
  auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(has(usable, "mine") && has(usable, "loose"));
  EXPECT_TRUE(has(exact, "mine"));
  EXPECT_FALSE(has(exact, "loose")) << "larger errors";
  EXPECT_FALSE(has(names_of(usable_candidates(key, 0.9e-3)), "loose")) << "larger errors than the tolerance";
  EXPECT_FALSE(has(names_of(usable_candidates(key, 1)), "unbounded")) << "no bound";
  EXPECT_FALSE(has(usable, "dice")) << "not deterministic";
  EXPECT_FALSE(has(usable, "absent")) << "not installed";
  calls_of_mine = 0;
  const std::vector<CandidateTrial> trials = time_candidates(key, usable_candidates(key, 0), 1);
  EXPECT_EQ(trials.size(), exact.size());
  EXPECT_GT(calls_of_mine, 0);

  for (const char* name : {"loose", "dice"}) remember_time(key, name, 1e-9, kThreads);
  EXPECT_EQ(Tuner({.threads = kThreads, .tolerance = 1e-3}).choose(key), "loose");
  EXPECT_EQ(tuner(Tune::kCached, kThreads).choose(key), rule_choice(key, kThreads));
}

TEST(UserCandidates, AFailedCallIsALocatedError) {
  Function mine = product_of_29({.candidates = {{"matrix_product", "mine"}}});
  Tensor x = counted({3, 4});
  x.data<float>()[5] = 13;
  EXPECT_EQ(text_without_node([&] {
              mine({x, counted({4, 29})});
            }),
            "error: the library function my_gemm failed\n  expected: status 0, got 7");
  try {
    mine({x, counted({4, 29})});
  } catch (const UserError& error) {
    EXPECT_NE(error.messages()[0].node.find("tuner_test.cpp"), std::string::npos) << error.what();
  }
  x.data<float>()[5] = 1;
  EXPECT_NO_THROW(mine({x, counted({4, 29})}));
}

TEST(UserCandidates, MistakesAreNamed) {
  add_mine();
  EXPECT_EQ(text_without_node([] {
              add_candidates({"matmul", nullptr});
            }),
            "error: candidates for the computation matmul, which there is not\n"
            "  expected: matrix_product, batched_product, matrix_vector_product, layer_product, fourier_transform, "
            "sparse_product, matrix_factors, lu_factors, triangular_equations, softmax, normalize, conv, "
            "conv_input_gradient, conv_weight_gradient, pool, pooled_conv");
  EXPECT_EQ(text_without_node([] { add_library_function("my_gemm", nullptr); }),
            "error: there is a library function my_gemm already");
  EXPECT_EQ(text_without_node([] { add_library_function("my gemm", nullptr); }),
            "error: the name of a library function is no identifier of C\n  got:      my gemm");
  EXPECT_EQ(text_without_node([] {
              library_table({"gemm_f32", "no_such_function"});
            }),
            "error: the library function no_such_function is not there\n  hint:     install its library, or call "
            "add_library_function() before compiling");
  EXPECT_EQ(text_without_node([] {
              product_of_29({.candidates = {{"matrix_product", "absent"}}});
            }),
            "error: the library of the candidate absent for matrix_product float32 3x4x29 NN is not there\n"
            "  expected: no_such_function");
}

}  // namespace
}  // namespace thtrain::tuner_test
