// Minibatches that are read from files on their way to a device: training has the bits of examples that lie there, in
// whatever order its streams of work run, and the processor's numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

// 70 examples of 6 numbers in two minibatches of 32 and a shorter one.
void write_waves(const Workshop& workshop) {
  Tensor x = Tensor::empty(DType::kFloat32, {70, 6}), y = Tensor::empty(DType::kInt64, {70});
  for (int64_t i = 0; i < x.size(); ++i)
    x.data<float>()[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)));
  for (int64_t i = 0; i < y.size(); ++i) y.data<int64_t>()[i] = (x.at<float>({i, 0}) > 0) + (x.at<float>({i, 1}) > 0);
  write_npy(workshop.path("x.npy"), x);
  write_npy(workshop.path("y.npy"), y);
  workshop.write("run.toml",
                 "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nn_valid = 0\n"
                 "[[model.layers]]\ntype = \"dense\"\nunits = 5\nactivation = \"tanh\"\n"
                 "[[model.layers]]\ntype = \"softmax\"\n"
                 "[trainer]\nbatch_size = 32\nlearning_rate = 0.1\nmomentum = 0.9\nepochs = 4\n"
                 "[output]\nplots = false\n");
}

TEST(CliDeviceStreams, FilesGiveTheBitsOfExamplesOnTheDevice) {
  Workshop workshop;
  write_waves(workshop);
  int runs = 0;
  const auto trained = [&](std::vector<std::string> overrides) {
    const std::string name = str("run", runs++);
    overrides.insert(overrides.begin(), {"train", "run.toml", "--run-dir", name, "--quiet"});
    const Ended ended = workshop.run(overrides);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return name;
  };
  for (const char* window : {"data.shuffle_window=0", "data.shuffle_window=16"}) {
    const std::string resident = trained({"compiler.device=emulated", window});
    for (const char* order : {"0", "5"}) {
      const EnvironmentVariable streams("THTRAIN_EMULATED_STREAMS", order);
      const std::string streamed = trained({"compiler.device=emulated", window, "data.memory_limit=1e-7"});
      EXPECT_EQ(workshop.read(streamed + "/best.npz"), workshop.read(resident + "/best.npz")) << window << order;
      EXPECT_NE(workshop.run({"explain", streamed, "--stage=cuda"}).out.find("// copied to the device: x, y\n"),
                std::string::npos);
    }
    const std::map<std::string, Tensor> here = read_npz(
                                            workshop.path(trained({window, "data.memory_limit=1e-7"}) + "/best.npz")),
                                        there = read_npz(workshop.path(resident + "/best.npz"));
    EXPECT_GE(here.size(), 4U);
    for (const auto& [name, value] : here)
      for (int64_t i = 0; i < value.size(); ++i)
        EXPECT_NEAR(value.as_double(i), there.at(name).as_double(i), 2e-6) << window << name;
  }
}

}  // namespace
}  // namespace thtrain
