// Candidates on a device: trials by its events, and what times are remembered by.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/cuda/device_program.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/linalg/vector_product.h"
#include "compiler/tuning/candidate_trials.h"
#include "compiler/tuning/tuner.h"
#include "tests/support/error_text.h"

namespace thtrain::device_trials_test {
namespace {

using kernel::ChoiceKey;

const kernel::Target& device() {
  static const kernel::Target emulated = kernel::emulated_cuda_target();
  return emulated;
}

std::vector<std::string> names_of_trials(const ChoiceKey& key) {
  std::vector<std::string> out;
  for (const Candidate& candidate : usable_candidates(key, 0, {}, device())) out.push_back(candidate.name);
  return out;
}

const ChoiceKey kMatrices{"matrix_product", "float32 5x6x7 NT added"},
    kBatches{"batched_product", "complex64 3x4x5 TN 2 times"}, kVectors{"matrix_vector_product", "float64 9x4 T added"},
    kTransforms{"fourier_transform", "float32 complex 3x1x1x8x2 inverse scaled"},
    kCholesky{"matrix_factors", "cholesky float32 2x9x9"}, kSvd{"matrix_factors", "svd float64 2x12x9 vectors"},
    kSparse{"sparse_product", "float32 int64 9x7x3 stored 12 added"}, kLu{"lu_factors", "float64 2x9"},
    kComplexLu{"lu_factors", "complex64 2x9"}, kQr{"matrix_factors", "qr complex128 2x12x9"},
    kLayer{"layer_product", "float32 5x6x17 NT with bias"},
    kLayerOfBatch{"layer_product", "float64 9x6x33 NN 2 times with bias"},
    kTriangles{"triangular_equations", "float32 2x9x3 lower transposed"},
    kComplexTriangles{"triangular_equations", "complex64 2x9x3 upper unit"},
    kSoftmax{"softmax", "log_softmax float32 2x9x3"},
    kAverages{"pool", "sum_pool_gradient float64 2x3x9 w2x3 s2x1 p0:0x1:1 inside"};

TEST(DeviceTrials, ProductsHaveKernelsAndCublas) {
  for (const ChoiceKey& key : {kMatrices, kBatches, kVectors})
    EXPECT_EQ(names_of_trials(key), (std::vector<std::string>{"loops", "cuBLAS"})) << key.text();
  EXPECT_EQ(names_of_trials(kTransforms), (std::vector<std::string>{"cuFFT", "lines"}));
  EXPECT_EQ(names_of_trials(kCholesky), (std::vector<std::string>{"own", "cuSOLVER"}));
  EXPECT_EQ(names_of_trials(kLu), (std::vector<std::string>{"own", "cuSOLVER"}));
  EXPECT_EQ(names_of_trials(kSparse), (std::vector<std::string>{"rows", "cuSPARSE"}));
  EXPECT_EQ(names_of_trials(kSoftmax), (std::vector<std::string>{"own", "cuDNN"}));
  EXPECT_EQ(names_of_trials(kAverages), (std::vector<std::string>{"columns", "cuDNN"}));
  for (const ChoiceKey& key : {kSvd, kComplexLu, kQr})
    EXPECT_EQ(names_of_trials(key), std::vector<std::string>{"cuSOLVER"}) << key.text();
  for (const ChoiceKey& key : {kLayer, kLayerOfBatch})
    EXPECT_EQ(names_of_trials(key), (std::vector<std::string>{"own", "cuBLASLt"})) << key.text();
  EXPECT_EQ(names_of_trials({"layer_product", "float32 5x6x17 NT with bias relu"}), std::vector<std::string>{"own"});
  EXPECT_EQ(names_of_trials(kTriangles), (std::vector<std::string>{"own", "cuBLAS"}));
  EXPECT_EQ(names_of_trials(kComplexTriangles), std::vector<std::string>{"cuBLAS"});
  EXPECT_EQ(names_of_trials({"matrix_product", "int32 5x6x7 NN"}), std::vector<std::string>{"loops"});
  std::vector<std::string> of_gpu;
  for (const Candidate& one : candidates_of({"matrix_product", "float32 60x784x500 NN"}, kernel::cuda_target()))
    of_gpu.push_back(one.name);
  EXPECT_EQ(of_gpu, (std::vector<std::string>{"loops", "tile 32x16", "tile 16x32", "cuBLAS"}));
}

TEST(DeviceTrials, ProcessorsHaveNone) {
  for (const ChoiceKey& key : {kMatrices, kTransforms})
    for (const Candidate& candidate : candidates_of(key, machine())) EXPECT_FALSE(candidate.is_of_device);
  EXPECT_FALSE(find_candidate(kMatrices, "cuBLAS", machine()));
}

// Each is timed in the device's memory, by events.
TEST(DeviceTrials, AreTimed) {
  for (const ChoiceKey& key : {kMatrices, kBatches, kVectors, kTransforms, kCholesky, kSvd, kSparse, kLu, kComplexLu,
                               kQr, kLayer, kLayerOfBatch, kTriangles, kComplexTriangles, kSoftmax, kAverages}) {
    const std::vector<Candidate> usable = usable_candidates(key, 0, {}, device());
    const std::vector<CandidateTrial> trials = time_candidates(key, usable, 1, device());
    ASSERT_EQ(trials.size(), usable.size()) << key.text();
    for (const CandidateTrial& trial : trials) EXPECT_GT(trial.seconds, 0) << key.text() << trial.candidate;
  }
}

TEST(DeviceTrials, KeysReadBackAndAsk) {
  for (const char* text : {"float32 9x4 T added", "float64 1x4 N", "float64 3x1 T"})
    EXPECT_EQ(key_of(*vector_product_of(text)).properties, text);
  for (const char* text : {"int32 9x4 T", "complex64 9x4 T", "float32 9x4", "float32 0x4 N", "float32 9x4 N more", ""})
    EXPECT_FALSE(vector_product_of(text)) << text;
  for (const char* text :
       {"float32 complex 3x1x1x8x2 inverse scaled", "float64 real anyx2x3x4x1", "float32 back 5x1x1x9x1 inverse"}) {
    const std::optional<Graph> example = find_computation("fourier_transform")->example(text);
    EXPECT_TRUE(example) << text;
  }
  for (const char* text : {"int32 complex 3x1x1x8x2", "float32 real 3x1x1x8x2", "float32 back 5x2x1x9x1 inverse",
                           "float32 back 5x1x1x9x1", "float32 complex 0x1x1x8x2", "float32 complex 3x1x1x8"})
    EXPECT_FALSE(find_computation("fourier_transform")->example(text)) << text;
}

TEST(DeviceTrials, KeysOfSparseProductsReadBack) {
  const Computation& products = *find_computation("sparse_product");
  for (const char* text : {"float32 int32 9x7x3 stored 12", "float64 int64 9x7x1 vector stored 2 added"})
    EXPECT_TRUE(products.example(text)) << text;
  for (const char* text :
       {"int32 int32 9x7x3 stored 12", "float32 int8 9x7x3 stored 12", "float32 int32 9x7x3",
        "float32 int32 9x7x3 vector stored 12", "float32 int32 9x7x3 stored 0", "float32 int32 9x7x3 stored 12 more"})
    EXPECT_FALSE(products.example(text)) << text;
}

TEST(DeviceTrials, KeysOfLayersReadBack) {
  const Computation& layers = *find_computation("layer_product");
  for (const char* text : {"float32 5x6x17 NT with bias relu", "float64 5x6x17 TN 3 times with relu"})
    EXPECT_TRUE(layers.example(text)) << text;
  for (const char* text :
       {"float32 5x6x17 NT", "float32 5x6x17 NT with", "int32 5x6x17 NT with bias", "complex64 5x6x17 NT with bias",
        "float32 5x6x17 NT added with bias", "float32 5x6x17 NT with relu bias", "float32 1x6x17 NT with bias"})
    EXPECT_FALSE(layers.example(text)) << text;
}

TEST(DeviceTrials, KeysOfSoftmaxReadBack) {
  const Computation& softmax = *find_computation("softmax");
  for (const char* text : {"softmax float32 1x9x1", "log_softmax float64 2x3x4"})
    EXPECT_TRUE(softmax.example(text)) << text;
  for (const char* text : {"softmax int32 1x9x1", "softmax float32 0x9x1", "softmax float32 1x9", "float32 1x9x1",
                           "softmax float32 1x9x1 more", "logsoftmax float32 1x9x1"})
    EXPECT_FALSE(softmax.example(text)) << text;
}

TEST(DeviceTrials, KeysOfFactorsReadBack) {
  for (const char* text : {"int32 1x9", "float32 0x9", "float32 9", "float32 1x9x9"})
    EXPECT_FALSE(find_computation("lu_factors")->example(text)) << text;
  const Computation& factors = *find_computation("matrix_factors");
  for (const char* text : {"eigh float32 1x9x9", "cholesky float64 2x9x9", "svd float32 3x12x9 vectors",
                           "qr complex64 3x12x9", "eigh complex128 1x9x9 vectors"})
    EXPECT_TRUE(factors.example(text)) << text;
  for (const char* text :
       {"lq float32 1x9x9", "qr float32 1x9x10", "qr float32 1x9x9 vectors", "eigh int32 1x9x9", "eigh float32 1x9x8",
        "svd float32 1x8x9", "cholesky float32 1x9x9 vectors", "eigh float32 0x9x9"})
    EXPECT_FALSE(factors.example(text)) << text;
  const Computation& triangles = *find_computation("triangular_equations");
  for (const char* text : {"float32 2x9x3 lower", "complex128 1x9x1 upper transposed unit"})
    EXPECT_TRUE(triangles.example(text)) << text;
  for (const char* text : {"int32 2x9x3 lower", "float32 2x9x3", "float32 0x9x3 lower", "float32 2x9x3 upper more"})
    EXPECT_FALSE(triangles.example(text)) << text;
}

// Of another device, driver or compiler of kernels there are other times; a library's version is each time's own.
TEST(DeviceTrials, TimesAreRememberedByDeviceAndDriver) {
  EXPECT_EQ(tuned_machine_text(1, device()),
            "device emulated device, sm_75; driver 12.4; kernels by the host's compiler; emulated CUDA; times 1");
  EXPECT_EQ(version_of(find_candidate(kMatrices, "cuBLAS", device()).value()),
            "1 emulated_cublas_gemm_f32 cuBLAS emulated");
}

// What is remembered is taken, and a changed version of the library is measured by itself.
TEST(DeviceTrials, TheFastestIsTaken) {
  const ChoiceKey key{"matrix_product", "float32 11x13x17 NN"};
  const auto chosen = [&](const std::string& of_cublas) {
    TuningTable table;
    table.add(key.text(), {"loops", version_of(find_candidate(key, "loops", device()).value()).value(), 1e-5});
    table.add(key.text(), {"cuBLAS", of_cublas, 1e-6});
    remember(table, 1, device());
    return Tuner({.target = device()}).choose(key);
  };
  EXPECT_EQ(chosen("1 emulated_cublas_gemm_f32 cuBLAS emulated"), "cuBLAS");
  EXPECT_EQ(chosen("1 emulated_cublas_gemm_f32 cuBLAS of before"), "loops");
  EXPECT_EQ(Tuner({.target = device(), .policy = Tune::kNever}).choose(key), "loops");
}

// What is remembered is not measured again, by another process neither.
TEST(DeviceTrials, AlwaysMeasuresOnce) {
  const Expr a = tensor("a", {19, 23}, DType::kFloat32), b = tensor("b", {23, 29}, DType::kFloat32);
  const std::string key = "matrix_product float32 19x23x29 NN";
  int begun = 0;
  observe_trials([&](const TrialProgress& progress) { begun += progress.doing.empty(); });
  const size_t all = usable_candidates({"matrix_product", "float32 19x23x29 NN"}, 0, {}, device()).size();
  const int expected = remembered(1, device()).of(key).empty() ? 1 : 0;
  for (int i = 0; i < 2; ++i) {
    const Function f = function({a, b}, {dot(a, b)}, {}, {.target = device(), .tune = Tune::kAlways});
    EXPECT_EQ(begun, expected) << i;
    EXPECT_EQ(remembered(1, device()).of(key).size(), all);
  }
  observe_trials(nullptr);
}

}  // namespace
}  // namespace thtrain::device_trials_test
