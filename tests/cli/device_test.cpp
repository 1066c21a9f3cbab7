// compiler.device, and what `thtrain info` says of CUDA.
#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/cuda/libraries.h"
#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

const std::string kLabOfDevices = THTRAIN_SOURCE_DIR "/configs/labs/logistic_digits.toml";

TEST(CliDevice, EmulatedRunsCudaKernels) {
  Workshop workshop;
  const Ended ended = workshop.run({"train", kLabOfDevices, "compiler.device=emulated", "trainer.epochs=1",
                                    "data.n_train=100", "--run-dir", "run", "--quiet", "--profile"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::string profile = workshop.read("run/profile/profile.json");
  EXPECT_NE(profile.find("kernel "), std::string::npos) << profile;
  EXPECT_NE(profile.find("\"ceiling_of\": \"the host, which computes for the device\""), std::string::npos) << profile;
  EXPECT_NE(profile.find("\"of_ceiling\": "), std::string::npos) << profile;
  EXPECT_NE(workshop.run({"explain", "run", "--stage=cpp"}).out.find("extern \"C\" __global__ void "),
            std::string::npos);
  EXPECT_EQ(workshop.run({"explain", kLabOfDevices, "--stage=cpp"}).out.find("__global__"), std::string::npos);
}

TEST(CliDevice, WithoutADriverCudaIsOneErrorThatNamesTheEmulatedDevice) {
  if (cuda::driver().handle) GTEST_SKIP() << "this machine has a driver";
  Workshop workshop;
  const Ended ended = workshop.run({"train", kLabOfDevices, "compiler.device=cuda", "--run-dir", "run"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: there is no CUDA device\n"
            "  expected: a device of NVIDIA and its driver, of CUDA 12.4 to 13\n"
            "  got:      the driver (libcuda.so.1): not found\n"
            "  config:   command line:1:17\n"
            "      1 | compiler.device=cuda\n"
            "        |                 ^^^^\n"
            "  hint:     compiler.device = \"emulated\" runs the same kernels on the host, slowly\n");
}

TEST(CliDevice, ABadVariableOfTheEmulatedDeviceIsOneError) {
  Workshop workshop;
  const EnvironmentVariable order("THTRAIN_EMULATED_ORDER", "abc");
  const Ended ended = workshop.run({"train", kLabOfDevices, "compiler.device=emulated", "--run-dir", "run"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: THTRAIN_EMULATED_ORDER is not a number that draws the order of blocks and threads\n"
            "  expected: an integer from 0 to 18446744073709551615\n"
            "  got:      abc\n");
  EXPECT_FALSE(workshop.exists("run"));
}

// The emulated driver's library in the place of the real ones: all else is as with a device of NVIDIA.
class CliCudaDevice : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path folder = workshop_.path("libraries");
    std::filesystem::create_directories(folder);
    for (const char* name : {"libcuda.so.1", "libnvrtc.so.13", "libnvrtc.so.12", "libcublas.so.13", "libcufft.so.12"})
      std::filesystem::create_symlink(THTRAIN_CUDA_LIBRARY, folder / name);
  }
  Ended trained(const std::string& device, const std::string& run) {
    return workshop_.run({"train", kLabOfDevices, "compiler.device=" + device, "trainer.epochs=1", "data.n_train=100",
                          "--run-dir", run, "--quiet"});
  }
  Workshop workshop_;
  EnvironmentVariable libraries_{"LD_LIBRARY_PATH", workshop_.path("libraries").c_str()},
      cache_{"THTRAIN_CACHE_DIR", workshop_.path("cache").c_str()};
};

TEST_F(CliCudaDevice, TrainsThroughTheOpenedLibraries) {
  ASSERT_EQ(trained("emulated", "emulated").code, 0);
  ASSERT_TRUE(workshop_.exists("emulated/best.npz"));
  for (const char* name : {"first", "again"}) {  // compiled, and from the cache
    const Ended ended = trained("cuda", name);
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(workshop_.read(std::string(name) + "/best.npz"), workshop_.read("emulated/best.npz"));
  }
}

// Kernels and cuBLAS are timed on the device, and the next run takes what was the fastest, without timing it again.
TEST_F(CliCudaDevice, TunesCandidatesOfOpenedLibraries) {
  const Ended tuned =
      workshop_.run({"tune", kLabOfDevices, "compiler.device=cuda", "data.n_train=100", "--only=cuBLAS"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_NE(tuned.out.find("* cuBLAS: "), std::string::npos) << tuned.out;
  EXPECT_NE(tuned.out.find(" on emulated device, sm_75, remembered in "), std::string::npos) << tuned.out;
  ASSERT_EQ(trained("cuda", "run").code, 0);
  const std::string program = workshop_.run({"explain", "run", "--stage=program"}).out;
  EXPECT_NE(program.find("  -- cublas_gemm_f32  "), std::string::npos) << program;
  // The emulated device has other times.
  EXPECT_EQ(workshop_.run({"explain", kLabOfDevices, "compiler.device=emulated", "--stage=program"}).out.find("cublas"),
            std::string::npos);
}

TEST_F(CliCudaDevice, InfoNamesTheLibraries) {
  const std::string info = workshop_.run({"info"}).out;
  EXPECT_NE(info.find("12.4.0, "), std::string::npos) << info;
  EXPECT_NE(info.find("11.2.0, "), std::string::npos) << info;
}

// 2 multiprocessors of 64 lanes at 1 GHz; 64 bits, twice in a cycle of 1 GHz.
TEST_F(CliCudaDevice, AProfileNamesTheCeilingsOfTheDevice) {
  for (const auto& [dtype, ceiling] : {std::pair<const char*, const char*>("float32", "256.0 GFLOP/s; GB/s: 16.0\n"),
                                       {"float64", "8.0 GFLOP/s; GB/s"}}) {
    const Ended ended =
        workshop_.run({"train", kLabOfDevices, "compiler.device=cuda", "trainer.epochs=1", "data.n_train=100",
                       str("compiler.floatX=", dtype), "--run-dir", dtype, "--profile"});
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_NE(ended.out.find(str("\nceiling of the emulated device, by its attributes: ", ceiling)), std::string::npos)
        << ended.out;
  }
}

TEST_F(CliCudaDevice, TheFirstDeviceHasTwoNames) {
  for (const char* name : {"cuda", "cuda:0"}) ASSERT_EQ(trained(name, name).code, 0);
  EXPECT_EQ(workshop_.read("cuda:0/best.npz"), workshop_.read("cuda/best.npz"));
  EXPECT_EQ(workshop_.read("cuda:0/config.toml"), workshop_.read("cuda/config.toml"));
  ASSERT_EQ(workshop_.shell("sed -i 's/^device = \"cuda\"/device = \"cuda:0\"/' cuda/config.toml").code, 0);
  const Ended resumed = workshop_.run({"resume", "cuda", "trainer.epochs=2", "--quiet"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"explain", "--stage=program"}, {"check"}}) {
    std::vector<std::string> line = words;
    line.insert(line.begin() + 1, {kLabOfDevices, "compiler.device=cuda:0"});
    const Ended ended = workshop_.run(line);
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
}

TEST_F(CliCudaDevice, ThereAreSoManyDevices) {
  const Ended ended = trained("cuda:1", "run");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: there is no CUDA device 1\n"
            "  expected: a device of NVIDIA and its driver, of CUDA 12.4 to 13\n"
            "  got:      driver 12.4 finds 1\n"
            "  config:   command line:1:17\n"
            "      1 | compiler.device=cuda:1\n"
            "        |                 ^^^^^^\n"
            "  hint:     compiler.device = \"emulated\" runs the same kernels on the host, slowly\n");
}

// In the memory of a device that has no room for it, and in that of one that has: with the same bits.
TEST(CliDevice, ADataSetThatDoesNotFitIsSentMinibatchByMinibatch) {
  Workshop workshop;
  const auto trained = [&](const std::string& name) {
    const Ended ended =
        workshop.run({"train", kLabOfDevices, "compiler.device=emulated", "trainer.epochs=2", "data.n_train=2000",
                      "data.n_valid=100", "data.n_test=100", "--run-dir", name, "--quiet"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return workshop.read(name + "/best.npz");
  };
  const std::string resident = trained("resident");
  EXPECT_NE(workshop.run({"explain", "resident", "--stage=cuda"}).out.find("// copied to the device: start\n"),
            std::string::npos);
  for (const char* order : {"0", "5"}) {
    const EnvironmentVariable bytes("THTRAIN_EMULATED_BYTES", "5000000"), streams("THTRAIN_EMULATED_STREAMS", order);
    EXPECT_EQ(trained(str("sent", order)), resident) << order;
    EXPECT_NE(workshop.run({"explain", str("sent", order), "--stage=cuda"}).out.find("// copied to the device: x, y\n"),
              std::string::npos);
  }
}

// What the dynamic linker says of the files that it opens.
TEST(CliDevice, TheProcessorsPathOpensNothingOfCuda) {
  Workshop workshop;
  Ended ended;
  {
    EnvironmentVariable files("LD_DEBUG", "files"), output("LD_DEBUG_OUTPUT", workshop.path("linker").c_str());
    ended =
        workshop.run({"train", kLabOfDevices, "trainer.epochs=1", "data.n_train=100", "--run-dir", "run", "--quiet"});
  }
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::string opened;
  for (const auto& file : std::filesystem::directory_iterator(workshop.path("")))
    if (file.path().filename().string().starts_with("linker.")) opened += workshop.read(file.path().filename());
  EXPECT_NE(opened.find("libopenblas"), std::string::npos);
  for (const char* library : {"libcuda.so", "libnvrtc", "libcublas", "libcudnn", "libnccl"})
    EXPECT_EQ(opened.find(library), std::string::npos) << library;
}

TEST(CliDevice, InfoSaysWhatOfCudaIsThereAndWhatIsMissingCosts) {
  Workshop workshop;
  const Ended ended = workshop.run({"info"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const size_t begin = ended.out.find("\nCUDA\n");
  ASSERT_NE(begin, std::string::npos);
  for (const cuda::Fact& fact : cuda::library_facts()) {
    const size_t line = ended.out.find("\n  " + fact.name + " ", begin);
    ASSERT_NE(line, std::string::npos) << fact.name;
    EXPECT_NE(ended.out.find(fact.text, line), std::string::npos) << fact.text;
  }
}

}  // namespace
}  // namespace thtrain
