// What a model that can be trained but was most likely not meant is told, and the examples that minibatches leave out.
#include <gtest/gtest.h>

#include "datasets/npy.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

class CliModelWarnings : public testing::Test {
 protected:
  /// Eight images of this shape, in two classes.
  void images(Shape shape) const {
    shape.insert(shape.begin(), 8);
    Tensor x = Tensor::empty(DType::kFloat32, shape);
    for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i % 7);
    write_npy(workshop.path("x"), x);
    write_npy(workshop.path("y"), Tensor::vector<int64_t>({0, 1, 0, 1, 0, 1, 0, 1}));
  }
  Ended check(const std::string& last_layer, const std::string& trainer, const std::vector<std::string>& more = {}) {
    workshop.write(
        "e.toml",
        "[data]\nsource = \"npy\"\ntrain = \"x\"\ntrain_labels = \"y\"\nvalid = \"x\"\nvalid_labels = \"y\"\n"
        "[[model.layers]]\ntype = \"conv\"\nunits = 2\nsize = 1\n[[model.layers]]\n" +
            last_layer + "[trainer]\nbatch_size = 3\n" + trainer + "[compiler]\nmode = \"reference\"\n");
    std::vector<std::string> words = {"check", "e.toml"};
    words.insert(words.end(), more.begin(), more.end());
    Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    for (size_t at; (at = ended.err.find(workshop.path())) != std::string::npos;)
      ended.err.replace(at, workshop.path().size(), "HERE");
    return ended;
  }
  Workshop workshop;
};

TEST_F(CliModelWarnings, ImagesWhoseChannelsAreLast) {
  images({6, 5, 1});
  EXPECT_EQ(
      check("type = \"softmax\"\n", "").err,
      "warning: HERE/x: examples of shape [6, 5, 1] are taken as [channels, height, width]; the examples look like "
      "[height, width, channels]; NumPy's x.transpose(0, 3, 1, 2) makes [channels, height, width] of them\n");
  images({1, 6, 5});
  EXPECT_EQ(check("type = \"softmax\"\n", "").err, "");
}

TEST_F(CliModelWarnings, OutputsWiderThanTheClasses) {
  images({1, 6, 5});
  EXPECT_EQ(
      check("type = \"softmax\"\nunits = 5\n", "").err,
      "warning: layer softmax has 5 units, and the data has 2 classes: without units a softmax has as many as the "
      "data has classes\n");
  EXPECT_EQ(check("type = \"softmax\"\nunits = 2\n", "").err, "");
}

TEST_F(CliModelWarnings, ExamplesThatFullMinibatchesLeaveOut) {
  images({1, 6, 5});
  const std::string line =
      "  used         6 training, 6 validation, 0 test in full minibatches of 3; the others are left out "
      "(trainer.full_batches_only)\n";
  const std::string full = check("type = \"softmax\"\n", "full_batches_only = true\n").out;
  EXPECT_NE(full.find(line), std::string::npos) << full;
  EXPECT_EQ(check("type = \"softmax\"\n", "full_batches_only = false\n").out.find("  used "), std::string::npos);
  const std::map<std::string, std::string> json =
      one_json_line(check("type = \"softmax\"\n", "full_batches_only = true\n", {"--json"}).out);
  EXPECT_EQ(json.at("train_used"), "6");
  EXPECT_EQ(json.at("valid_used"), "6");
  EXPECT_EQ(json.at("test_used"), "0");
}

}  // namespace
}  // namespace thtrain
