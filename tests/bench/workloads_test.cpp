// Cases as text, what they count, and that every workload and ceiling runs and is timed.
#include "bench/workloads.h"

#include <gtest/gtest.h>

#include <complex>
#include <thread>
#include <tuple>

#include "bench/compile_cases.h"
#include "bench/run.h"
#include "compiler/api.h"
#include "compiler/base/error.h"
#include "compiler/ir/dtype.h"

namespace thtrain {
namespace {

TEST(BenchCases, TextsAreReadOrRefused) {
  NetCase net = net_case("784-500-10/60");
  EXPECT_EQ(net.sizes, (std::vector<int64_t>{784, 500, 10}));
  EXPECT_EQ(net.batch, 60);
  EXPECT_EQ(elementwise_case("2a+b^10/5000").formula, "2a+b^10");
  GemmCase gemm = gemm_case("784x60x500/TN");
  EXPECT_EQ(gemm.k, 60);
  EXPECT_TRUE(gemm.a_transposed);
  EXPECT_FALSE(gemm.b_transposed);
  for (const char* text : {"784/60", "784-500-10", "784-500-10/0", "784--10/6", "784-10/7000", "784-x/6", ""})
    EXPECT_THROW(net_case(text), UserError) << text;
  for (const char* text : {"poly2", "poly3/10", "a+1/0", "a+1/1e3"}) EXPECT_THROW(elementwise_case(text), UserError);
  for (const char* text : {"1x2/NN", "1x2x3", "1x2x3/N", "1x2x3/NX"}) EXPECT_THROW(gemm_case(text), UserError);
  EXPECT_TRUE(loop_case("gradient/100").gradient);
  EXPECT_EQ(loop_case("state/7").size, 7);
  EXPECT_TRUE(random_case("mt_normal/70").normal);
  EXPECT_EQ(random_case("mrg_uniform/70").generator, "mrg");
  for (const char* text : {"mrg/7", "pcg_normal/7", "mt_gamma/7", "mt_normal/0", "mt_normal"})
    EXPECT_THROW(random_case(text), UserError);
  for (const char* text : {"state", "state/0", "states/7", "/7"}) EXPECT_THROW(loop_case(text), UserError);
  const RnnCase rnn = rnn_case("lstm-128-256-100/32");
  EXPECT_TRUE(rnn.lstm);
  EXPECT_EQ((std::vector<int64_t>{rnn.inputs, rnn.hidden, rnn.steps, rnn.batch}),
            (std::vector<int64_t>{128, 256, 100, 32}));
  EXPECT_FALSE(rnn_case("tanh-1-2-3/4").lstm);
  for (const char* text : {"gru-1-2-3/4", "tanh-1-2/4", "tanh-1-2-3", "tanh-1-2-0/4", "1-2-3/4", "tanh"})
    EXPECT_THROW(rnn_case(text), UserError) << text;
  const RbmCase rbm = rbm_case("784-500-15/20");
  EXPECT_EQ((std::vector<int64_t>{rbm.visible, rbm.hidden, rbm.k, rbm.batch}),
            (std::vector<int64_t>{784, 500, 15, 20}));
  for (const char* text : {"784-500/20", "784-500-0/20", "784-500-1", "784x500-1/20"})
    EXPECT_THROW(rbm_case(text), UserError) << text;
}

TEST(BenchCases, ConfigurationsOfConvolutionsHaveTheWidthFirst) {
  const ConvCase c = conv_case("k128x5x3,s2,i64x56x48,p1x2/inputs");
  EXPECT_EQ(c.pass, ConvPass::kInputGradient);
  EXPECT_EQ((std::vector<int64_t>{c.batch, c.channels, c.width, c.height, c.filters, c.kernel_width, c.kernel_height}),
            (std::vector<int64_t>{128, 64, 56, 48, 128, 5, 3}));
  EXPECT_EQ((std::vector<int64_t>{c.stride_x, c.stride_y, c.pad_x, c.pad_y, c.out_width(), c.out_height()}),
            (std::vector<int64_t>{2, 1, 1, 2, 27, 50}));
  EXPECT_DOUBLE_EQ(c.flops(), 2.0 * 128 * 128 * 27 * 50 * 64 * 15);
  for (const char* text : {"i64x56x48,k128x5x3", "i64x56x48,k128x5x3/", "i64x56x48,k128x5x3/bprop", "/fprop",
                           "i64x56x48,k128x5x3/fprop/fprop"})
    EXPECT_THROW(conv_case(text), UserError) << text;
}

TEST(BenchCases, PoolingsHaveTheHeightFirst) {
  const PoolCase c = pool_case("max_gradient/16x64x56x47/w3s2p1");
  EXPECT_TRUE(c.is_gradient);
  EXPECT_FALSE(c.is_mean);
  EXPECT_EQ((std::vector<int64_t>{c.batch, c.channels, c.height, c.width, c.window, c.stride, c.padding}),
            (std::vector<int64_t>{16, 64, 56, 47, 3, 2, 1}));
  EXPECT_EQ((std::vector<int64_t>{c.pooled(56), c.pooled(47), c.pooled(1)}), (std::vector<int64_t>{28, 24, 1}));
  EXPECT_DOUBLE_EQ(c.elements(), 16.0 * 64 * 56 * 47);
  EXPECT_TRUE(pool_case("mean/1x1x2x2/w2s2p0").is_mean);
  const std::pair<const char*, const char*> bad[] = {
      {"max", "bench: no such case"},
      {"max/1x2x3x4", "bench: no such case"},
      {"sum/1x2x3x4/w2s2p0", "bench: no such case"},
      {"max/1x2x3/w2s2p0", "bench: no such case"},
      {"max/1x2x3x4x5/w2s2p0", "bench: no such case"},
      {"max/1x2x0x4/w2s2p0", "bench: no such case"},
      {"max/1x2x3x4/w2s2", "bench: no such case"},
      {"max/1x2x3x4/w2s0p0", "bench: no such case"},
      {"max/1x2x3x4/w2s2p0/", "bench: no such case"},
      {"max/1x2x3x4/w2s2p2", "bench: no window fits"},
      {"max/1x2x3x4/w6s2p1", "bench: no window fits"},
      {"max/1000000x1000000x1000000x1000000/w2s2p0", "bench: the images are too large"}};
  for (const auto& [text, what] : bad) {
    try {
      pool_case(text);
      ADD_FAILURE() << text;
    } catch (const UserError& error) {
      EXPECT_EQ(error.messages().front().what, what) << text;
    }
  }
}

TEST(BenchCases, LayersAndConfigurationsHaveThreePassesEach) {
  const std::vector<std::string> cases = conv_cases({"i3x8x8,k2x3x3", "4", "L4", "i3x8x8,k2x3x3"});
  EXPECT_EQ(cases, (std::vector<std::string>{"i3x8x8,k2x3x3/fprop", "i3x8x8,k2x3x3/inputs", "i3x8x8,k2x3x3/weights",
                                             "i128x16x16,k128x7x7,b16/fprop", "i128x16x16,k128x7x7,b16/inputs",
                                             "i128x16x16,k128x7x7,b16/weights"}));
  // The lengths of the results of convnet-benchmarks' layers.
  const std::vector<int64_t> lengths = {118, 56, 24, 10, 11};
  for (size_t i = 0; i < lengths.size(); ++i)
    EXPECT_EQ(conv_case(conv_cases({std::to_string(i + 1)})[0]).out_width(), lengths[i]);
}

TEST(BenchCases, OperationsOnArrays) {
  const LanguageCase c = language_case("int64_topk/7x12");
  EXPECT_EQ(c.what, "topk");
  EXPECT_TRUE(c.is_int64);
  EXPECT_EQ(c.elements(), 84);
  for (const char* wrong :
       {"sort", "sort/", "sort/0", "sort/3x", "int64_/3", "median/3", "int64_take/3x4", "matmul/3x4", "sum1/5"})
    EXPECT_THROW(language_case(wrong), UserError) << wrong;
}

TEST(BenchCases, SparseMatrices) {
  const SparseCase c = sparse_case("dense/30x40x5/0.1");
  EXPECT_EQ(c.what, "dense");
  EXPECT_EQ(c.columns, 40);
  EXPECT_EQ(c.n, 5);
  EXPECT_EQ(c.percent, 0.1);
  EXPECT_EQ(sparse_case("logistic/30x40/100").n, 1);
  for (const char* wrong : {"dot", "dot/3x4/1", "sparse/3x4x5/1", "dot/3x4x5", "dot/3x4x5/", "dot/3x4x5/0",
                            "dot/3x4x5/101", "dot/3x4x5/1%", "dot/3x0x5/1", "product/3x4x5/1", "dot/3x4x99999999/1"})
    EXPECT_THROW(sparse_case(wrong), UserError) << wrong;
}

TEST(BenchCases, Transforms) {
  const FftCase c = fft_case("rfft/6x10x3");
  EXPECT_TRUE(c.is_real);
  EXPECT_EQ(c.shape, (std::vector<int64_t>{6, 10, 3}));
  EXPECT_DOUBLE_EQ(fft_case("fft/1024").flops(), 5 * 1024 * 10);
  for (const char* wrong :
       {"fft", "fft/", "dct/8", "rfft/0", "fft/8x", "fft/x8", "fft/2x2x2x2", "fft/8a", "fft/100000x100000"})
    EXPECT_THROW(fft_case(wrong), UserError) << wrong;
}

TEST(BenchCases, Factorizations) {
  const FactorCase c = factor_case("svd/10000x6"), one = factor_case("cholesky/30");
  EXPECT_EQ(c.what, "svd");
  EXPECT_EQ(c.count, 10000);
  EXPECT_EQ(c.n, 6);
  EXPECT_DOUBLE_EQ(c.flops(), 20.0 * 216 * 10000);
  EXPECT_EQ(one.count, 1);
  EXPECT_DOUBLE_EQ(one.flops(), 9000);
  for (const char* wrong : {"qr", "qr/", "lu/8", "svd/0", "svd/8x", "svd/x8", "svd/2x2x2", "svd/8a", "svd/100000"})
    EXPECT_THROW(factor_case(wrong), UserError) << wrong;
}

TEST(BenchCases, TheBenchmarksOwnCasesAreGood) {
  for (const Bench& bench : benches())
    for (const auto* cases : {&bench.cases, &bench.quick_cases})
      for (const std::string& text : *cases) {
        if (bench.family == "net") net_case(text);
        if (bench.family == "elementwise") elementwise_case(text);
        if (bench.family == "gemm") gemm_case(text);
        if (bench.family == "loops") loop_case(text);
        if (bench.family == "random_numbers") random_case(text);
        if (bench.family == "language") language_case(text);
        if (bench.family == "rnn") rnn_case(text);
        if (bench.family == "rbm") rbm_case(text);
        if (bench.family == "conv") conv_case(text);
        if (bench.family == "pool") pool_case(text);
        if (bench.family == "convnet") convnet_case(text);
        if (bench.family == "sparse") sparse_case(text);
        if (bench.family == "fft") fft_case(text);
        if (bench.family == "factor") factor_case(text);
      }
  EXPECT_THROW(bench_named("mlpp"), UserError);
}

TEST(BenchCases, OperationsOfAnExample) {
  // Forward and weight gradients 2 * 397,000 each, and 2 * 5,000 through the output layer: the paper's 1.598 million.
  EXPECT_DOUBLE_EQ(flops_per_example(net_case("784-500-10/60")), 1.598e6);
  EXPECT_DOUBLE_EQ(flops_per_example(net_case("784-10/60")), 4 * 7840);
  // Each step: 4 for each of 128 x 256 weights, 6 for each of 256 x 256; an LSTM has four times as many weights.
  EXPECT_DOUBLE_EQ(flops_per_sequence(rnn_case("tanh-128-256-100/32")), 52428800);
  EXPECT_DOUBLE_EQ(flops_per_sequence(rnn_case("lstm-128-256-100/1")), 4 * 52428800);
  // Five products of CD-1, with one more pair for each further step.
  EXPECT_DOUBLE_EQ(flops_per_example(rbm_case("784-500-1/20")), 10 * 392000);
  EXPECT_DOUBLE_EQ(flops_per_example(rbm_case("784-500-15/20")), 66 * 392000);
  // Forward 36.75 million in the first convolution, 18.2 in the second and 0.47 in the dense layers; two passes of the
  // first, which has no gradient to the images, and three of the others.
  EXPECT_DOUBLE_EQ(flops_per_example(convnet_case("convlarge/1")),
                   4.0 * 6 * 49 * 250 * 250 + 6.0 * (16 * 6 * 49 * 44 * 44 + 1936 * 120 + 1200));
}

TEST(BenchMeasure, ARateIsUnitsOverTime) {
  Workload sleeper{[](long calls) { std::this_thread::sleep_for(std::chrono::milliseconds(2 * calls)); }, 10};
  Rate rate = measure(sleeper, 0.05);
  EXPECT_LE(rate.value, 5000.0);  // a sleep is never too short
  EXPECT_GT(rate.value, 50.0);
  EXPECT_LE(rate.low, rate.value);
  EXPECT_GE(rate.high, rate.value);
}

TEST(BenchMeasure, EveryWorkloadRuns) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64})
    for (bool borrow : {true, false}) {
      WorkloadOptions options{.dtype = dtype, .threads = 2, .borrow = borrow};
      EXPECT_GT(measure(net_workload("20-15-10/12", options), 0.005).value, 0);
      EXPECT_GT(measure(net_workload("20-10/1", options), 0.005).value, 0);
      for (const std::string& formula : elementwise_formulae())
        EXPECT_GT(measure(elementwise_workload(formula + "/1000", options), 0.005).value, 0) << formula;
      for (const char* kind : {"mrg_uniform", "mrg_normal", "mt_uniform", "mt_normal"})
        EXPECT_GT(measure(random_workload(str(kind, "/1000"), options), 0.005).value, 0) << kind;
      EXPECT_GT(measure(gemm_workload("6x7x5/TN", options), 0.005).value, 0);
      for (const char* text : {"tanh-5-6-7/3", "lstm-5-6-7/1"})
        EXPECT_GT(measure(rnn_workload(text, options), 0.005).value, 0) << text;
      EXPECT_GT(measure(rbm_workload("20-15-3/12", options), 0.005).value, 0);
      EXPECT_GT(measure(convnet_workload("convsmall/1", options), 0.005).value, 0);
      for (const char* text :
           {"dot/30x40x5/10", "dense/30x40x1/10", "stored/30x40x5/10", "sparse/30x40/10", "logistic/30x40/10"})
        EXPECT_GT(measure(sparse_workload(text, options), 0.005).value, 0) << text;
      for (const char* text : {"fft/100", "rfft/6x10"})
        EXPECT_GT(measure(fft_workload(text, options), 0.005).value, 0) << text;
      for (const char* text : {"cholesky/9", "solve/9", "qr/5x3", "eigh/5x3", "svd/9"})
        EXPECT_GT(measure(factor_workload(text, options), 0.005).value, 0) << text;
      for (const char* what : {"max", "max_gradient", "mean", "mean_gradient"}) {
        const Workload pooling = pool_workload(str(what, "/2x3x9x10/w3s2p1"), options);
        EXPECT_GT(measure(pooling, 0.005).value, 0) << what;
        EXPECT_NE(pooling.chosen, "") << what;
      }
      for (const char* pass : {"fprop", "inputs", "weights"}) {
        const Workload conv = conv_workload(str("i2x7x6,k3x3x2,b4,p1x0/", pass), options);
        EXPECT_GT(measure(conv, 0.005).value, 0) << pass;
        EXPECT_NE(conv.chosen, "") << pass;
      }
    }
}

// The numbers are those of bench/peers/rnn.py's plain NumPy form, in float64.
TEST(BenchMeasure, RecurrentNetworksTrainAsThePeersDo) {
  const std::pair<const char*, std::vector<double>> cases[] = {
      {"tanh-5-6-7/3", {4.4747061462150395, 4.473784428856629, 4.472862736922414}},
      {"lstm-5-6-7/3", {2.0743965434694904, 2.0743675956235155, 2.074338648410521}}};
  for (const auto& [text, wanted] : cases)
    for (DType dtype : {DType::kFloat64, DType::kFloat32}) {
      const std::vector<double> got = rnn_costs(text, {.dtype = dtype, .threads = 1}, 3);
      ASSERT_EQ(got.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(got[i], wanted[i], dtype == DType::kFloat64 ? 1e-12 : 1e-6) << text << ' ' << i;
    }
}

// Those of `bench/peers/worker.py rbm --check`: two updates with the same uniform numbers.
TEST(BenchMeasure, BoltzmannMachinesTrainAsThePeersDo) {
  const Tensor W = rbm_weights("20-15-3/12", {.dtype = DType::kFloat64, .threads = 1}, 2);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < W.size(); ++i) sum += W.as_double(i), squares += W.as_double(i) * W.as_double(i);
  EXPECT_NEAR(sum, -21.5660754007366, 1e-11);
  EXPECT_NEAR(squares, 285.64620738528, 1e-11);
}

// Those of `bench/peers/worker.py conv --check`: the sum of the results, and that of their products with 1, 2, ...
TEST(BenchMeasure, ConvolutionsGiveWhatThePeersDo) {
  const std::tuple<const char*, double, double> cases[] = {
      {"i2x7x6,k3x3x2,b4/fprop", -24.900349798059, -4738.99740879112},
      {"i2x7x6,k3x3x2,b4/inputs", 6.20785292620599, 1908.08198328205},
      {"i2x7x6,k3x3x2,b4/weights", -37.808013083935, -667.953719169761},
      {"i2x7x6,k3x3x2,b4,s2x1,p1x0/fprop", 21.4961300960613, 3722.17054308927},
      {"i2x7x6,k3x3x2,b4,s2x1,p1x0/inputs", -6.6589590308138, -1325.84106801753},
      {"i2x7x6,k3x3x2,b4,s2x1,p1x0/weights", -10.3226623042177, -415.659808594017}};
  for (const auto& [text, wanted, wanted_products] : cases) {
    const Tensor got = conv_result(text, {.dtype = DType::kFloat64, .threads = 1});
    double sum = 0, products = 0;
    for (int64_t i = 0; i < got.size(); ++i) {
      sum += got.as_double(i);
      products += got.as_double(i) * static_cast<double>(i + 1);
    }
    EXPECT_NEAR(sum, wanted, 1e-10) << text;
    EXPECT_NEAR(products, wanted_products, 1e-8) << text;
  }
}

// Those of `bench/peers/worker.py fft --check`.
TEST(BenchMeasure, TransformsGiveWhatThePeersDo) {
  const std::tuple<const char*, double, double> cases[] = {{"fft/12", -53.284974903789, -12.1237598863543},
                                                           {"rfft/15", -32.2732672330832, -15.8874801243814},
                                                           {"fft/6x5", -699.880519463708, -154.602867643321},
                                                           {"rfft/4x3x6", -992.16096838836, -309.68420547891}};
  for (const auto& [text, re, im] : cases) {
    const Tensor got = fft_result(text, {.dtype = DType::kFloat64, .threads = 1});
    std::complex<double> sum = 0;
    for (int64_t i = 0; i < got.size(); ++i) sum += got.data<std::complex<double>>()[i] * static_cast<double>(i + 1);
    EXPECT_NEAR(sum.real(), re, 1e-10) << text;
    EXPECT_NEAR(sum.imag(), im, 1e-10) << text;
  }
}

// What signs of vectors do not change, as peers/factor.py's outcome().
Tensor outcome_of(const std::string& text) {
  const std::vector<Tensor> got = factor_results(text, {.dtype = DType::kFloat64, .threads = 1});
  if (got.size() == 1) return got[0];
  std::vector<Expr> x;
  std::vector<In> inputs;
  for (const Tensor& part : got) {
    x.push_back(tensor("x", Dims(part.shape().begin(), part.shape().end()), part.dtype()));
    inputs.emplace_back(x.back());
  }
  const bool is_eigh = text.starts_with("eigh");
  const auto columns_times = [](const Expr& of, const Expr& by) { return of * expand_dims(by, {-2}); };
  const Expr product = is_eigh         ? matmul(columns_times(x[1], x[0]), matrix_transpose(x[1]))
                       : x.size() == 3 ? matmul(columns_times(x[0], x[1]), x[2])
                                       : matmul(x[0], x[1]);
  return function(inputs, {product})(got)[0].copy();
}

// Those of `bench/peers/worker.py factor --check`.
TEST(BenchMeasure, FactorizationsGiveWhatThePeersDo) {
  const std::pair<const char*, double> cases[] = {{"cholesky/7", 183.490234724933}, {"cholesky/5x3", 386.284167378258},
                                                  {"solve/7", -12.660612173042},    {"solve/5x3", -91.2580507902576},
                                                  {"qr/7", 4.5790057204645},        {"qr/5x3", -15.1209380087071},
                                                  {"eigh/7", 205.664207839096},     {"eigh/5x3", 454.927064128002},
                                                  {"svd/7", 4.57900572046448},      {"svd/5x3", -15.1209380087071}};
  for (const auto& [text, wanted] : cases) {
    const Tensor got = outcome_of(text);
    double sum = 0;
    for (int64_t i = 0; i < got.size(); ++i) sum += got.as_double(i) * static_cast<double>(i + 1);
    EXPECT_NEAR(sum, wanted, 1e-10) << text;
  }
}

// Those of `bench/peers/worker.py sparse --check`.
TEST(BenchMeasure, SparseMatricesGiveWhatThePeersDo) {
  const std::pair<const char*, double> cases[] = {
      {"dot/30x40x1/10", -0.445390408612005},  {"dot/30x40x5/10", 7.32945051489802},
      {"dense/30x40x1/10", -3.19860643988635}, {"dense/30x40x5/10", -5.83104750660739},
      {"stored/30x40x5/10", 2.52713830322536}, {"sparse/30x40/10", 1.54054502913896}};
  for (const auto& [text, wanted] : cases) {
    const Tensor got = sparse_results(text, {.dtype = DType::kFloat64, .threads = 1})[0];
    double sum = 0;
    for (int64_t i = 0; i < got.size(); ++i) sum += got.as_double(i);
    EXPECT_NEAR(sum, wanted, 1e-12) << text;
  }
}

// Those of `bench/peers/worker.py pool --check`.
TEST(BenchMeasure, PoolingsGiveWhatThePeersDo) {
  const std::tuple<const char*, double, double> cases[] = {
      {"max/2x3x9x10/w2s2p0", 75.3159805127277, 4642.52043892854},
      {"max/2x3x9x10/w3s2p1", 113.810761630921, 8707.38449868561},
      {"max/2x3x9x10/w3s1p1", 420.623201437177, 113606.042767445},
      {"max_gradient/2x3x9x10/w2s2p0", -9.60131133888336, -1759.19820735325},
      {"max_gradient/2x3x9x10/w3s2p1", -11.8731551783316, -2525.40738532869},
      {"max_gradient/2x3x9x10/w3s1p1", -14.4563491336087, -2605.69461324294},
      {"mean/2x3x9x10/w2s2p0", 1.45464269014763, 176.19788726342},
      {"mean/2x3x9x10/w3s2p1", 1.65139483906775, 280.444048899188},
      {"mean/2x3x9x10/w3s1p1", 6.66791116010923, 2753.92767458638},
      {"mean_gradient/2x3x9x10/w2s2p0", -9.60131133888336, -1772.3672723749},
      {"mean_gradient/2x3x9x10/w3s2p1", -9.9083164868195, -1927.34641435679},
      {"mean_gradient/2x3x9x10/w3s1p1", -11.4398434917274, -2236.10975362907}};
  for (const auto& [text, wanted, wanted_products] : cases) {
    const Tensor got = pool_result(text, {.dtype = DType::kFloat64, .threads = 1});
    double sum = 0, products = 0;
    for (int64_t i = 0; i < got.size(); ++i) {
      sum += got.as_double(i);
      products += got.as_double(i) * static_cast<double>(i + 1);
    }
    EXPECT_NEAR(sum, wanted, 1e-11) << text;
    EXPECT_NEAR(products, wanted_products, 1e-8) << text;
  }
}

// Those of `bench/peers/worker.py convnet --check`.
TEST(BenchMeasure, NetworksWithConvolutionsTrainAsThePeersDo) {
  const std::pair<const char*, std::vector<double>> cases[] = {
      {"convsmall/3", {2.302585092994046, 2.328321667421104, 2.437684683284451}},
      {"convmed/1", {2.302585092994046, 2.5139381813760107, 2.640239319772811}},
      {"lenet/4", {2.302585092994046, 3.61393573734809, 2.3542244249675455}}};
  for (const auto& [text, wanted] : cases)
    for (DType dtype : {DType::kFloat64, DType::kFloat32}) {
      const std::vector<double> got = convnet_costs(text, {.dtype = dtype, .threads = 1}, 3);
      ASSERT_EQ(got.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(got[i], wanted[i], dtype == DType::kFloat64 ? 1e-11 : 1e-4) << text << ' ' << i;
    }
}

TEST(BenchMeasure, TheLoopWrittenByHandComputesTheSame) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64})
    for (const char* text : {"state/21", "gradient/21"}) {
      const auto [ours, by_hand] = loop_results(text, {.dtype = dtype, .threads = 1});
      for (int64_t i = 0; i < ours.size(); ++i)
        EXPECT_NEAR(ours.as_double(i) / by_hand.as_double(i), 1, dtype == DType::kFloat32 ? 1e-3 : 1e-11) << text;
      EXPECT_GT(measure(loop_workload(text, {.dtype = dtype, .threads = 1}), 0.005).value, 0);
      EXPECT_GT(measure(loop_by_hand(text, {.dtype = dtype, .threads = 1}), 0.005).value, 0);
    }
}

TEST(BenchMeasure, CeilingsAreInTheUnitOfWhatRuns) {
  WorkloadOptions options{.dtype = DType::kFloat32, .threads = 1};
  // Any processor does far more than a GFLOP/s, and an example of this network takes 1.6 MFLOP.
  EXPECT_GT(measure(net_ceiling("784-500-10/60", options), 0.02).value, 400);
  EXPECT_GT(measure(gemm_ceiling("100x100x100/NN", options), 0.02).value, 1);
  EXPECT_GT(measure(sparse_ceiling("dot/1000x1000x16/1", options), 0.02).value, 0.1);
  EXPECT_THROW(sparse_ceiling("sparse/100x100/1", options), UserError);
  EXPECT_GT(measure(fft_ceiling("rfft/100000", options), 0.02).value, 0.1);
  EXPECT_GT(measure(rnn_ceiling("tanh-128-256-100/32", options), 0.02).value, 10);
  EXPECT_GT(measure(rbm_ceiling("784-500-1/20", options), 0.02).value, 200);
  EXPECT_GT(measure(conv_ceiling("i2x7x6,k3x3x2,b4/fprop", options), 0.02).value, 1);
  EXPECT_GT(measure(convnet_ceiling("convlarge/1", options), 0.02).value, 5);
  EXPECT_GT(measure(elementwise_ceiling("a+1/100000", options), 0.02).value, 1e7);
  EXPECT_GT(measure(pool_ceiling("max_gradient/2x3x100x100/w3s2p1", options), 0.02).value, 1e7);
  EXPECT_GT(measure(random_ceiling("mt_normal/100000", options), 0.02).value, 1e7);
  EXPECT_THROW(elementwise_ceiling("a+1/4", options), UserError);
}

TEST(BenchCompile, GraphsAreCompiled) {
  for (const char* text : {"mlp/100", "chain/50", "sum/50"}) {
    EXPECT_GT(measure_compile(text, "thtrain", {}).value, 0) << text;
    EXPECT_GT(measure_compile(text, "host_compiler", {}).value, 0) << text;
  }
  EXPECT_GT(measure_compile("build/20-15-10/12", "thtrain", {}).value, 0);
  EXPECT_GT(measure_compile("build/5-layers", "thtrain", {}).value, 0);
  for (const char* text : {"mlp", "mlp/x", "tree/100"}) EXPECT_THROW(measure_compile(text, "thtrain", {}), UserError);
}

}  // namespace
}  // namespace thtrain
