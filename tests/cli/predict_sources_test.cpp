// `thtrain predict`: the files of every source, parts of the experiment's data, labels, layers and spare arrays.
#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/base/str.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"
#include "tests/support/png_support.h"
#include "trainers/checkpoint.h"

namespace thtrain {
namespace {

const char* const kTraining =
    "[trainer]\nlearning_rate = 0.5\nbatch_size = 2\nepochs = 20\n"
    "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";

class CliPredictSources : public testing::Test {
 protected:
  // A run of these data and layers.
  void train(const std::string& data, const std::string& layers = "[[model.layers]]\ntype = \"softmax\"\n") {
    workshop.write("e.toml", str("[data]\n", data, layers, kTraining));
    const Ended ended =
        workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet", "--json", "trainer.clip_norm=1"});
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  Ended predict(std::vector<std::string> words) {
    words.insert(words.begin(), {"predict", "run"});
    return workshop.run(words);
  }
  // What is written as p.csv.
  std::string table(std::vector<std::string> words) {
    words.insert(words.end(), {"--output", "p.csv"});
    const Ended ended = predict(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    said = ended.out;
    return workshop.read("p.csv");
  }
  std::string refused(std::vector<std::string> words) {
    words.insert(words.end(), {"--output", "p.csv"});
    const std::vector<std::string> before = workshop.list();
    const Ended ended = predict(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(workshop.list(), before);
    return ended.err;
  }
  // 3 x 3 pixels of one grey.
  void picture(const std::string& name, uint8_t grey) {
    std::filesystem::create_directories(std::filesystem::path(workshop.path(name)).parent_path());
    workshop.write(name, png_bytes(3, 3, std::vector<uint8_t>(9, grey)));
  }
  Workshop workshop;
  std::string said;
};

TEST_F(CliPredictSources, FoldersOfPicturesWithTheirFilesAsIds) {
  for (int i = 0; i < 4; ++i) {
    picture(str("pictures/dark/", i, ".png"), static_cast<uint8_t>(10 * i));
    picture(str("pictures/light/", i, ".png"), static_cast<uint8_t>(255 - 10 * i));
  }
  train("source = \"png_folders\"\ntrain = [\"pictures\"]\n");
  picture("new/light/a.png", 240);
  picture("new/light/b.png", 20);
  EXPECT_EQ(table({"--input", "new"}), "id,target,class\nlight/a.png,light,light\nlight/b.png,light,dark\n");
  EXPECT_EQ(said, "classes of 2 examples written to p.csv\n  dark 1, light 1\nweights run/best.npz\n");
  EXPECT_EQ(table({"--input", "new/light"}), "id,class\na.png,light\nb.png,dark\n");
  EXPECT_EQ(table({"--input", "new/light/b.png"}), "id,class\nb.png,dark\n");
  const std::string all = table({"--part", "train"});
  EXPECT_TRUE(all.starts_with("id,target,class\ndark/0.png,dark,dark\n")) << all;
  picture("new/grey/a.png", 240);
  EXPECT_EQ(refused({"--input", "new"}),
            "error: new: the subfolder is none of the classes\n  expected: dark, light\n  got:      grey\n");
  std::filesystem::create_directory(workshop.path("empty"));
  EXPECT_EQ(refused({"--input", "empty"}),
            "error: empty: there are no classes\n  expected: a subfolder for each class\n  got:      no subfolders\n");
  workshop.write("p.txt", "no picture");
  EXPECT_EQ(refused({"--input", "p.txt"}),
            "error: p.txt: the table has no rows\n  expected: a line for each example\n"
            "  got:      a header and no lines after it\n");
}

TEST_F(CliPredictSources, LibsvmFilesHaveAsManyNumbersAsTheModelTakes) {
  workshop.write("train.txt", "-1 1:-2 3:1\n-1 1:-1\n1 1:2 2:1\n1 1:1\n");
  train("source = \"libsvm\"\ntrain = [\"train.txt\"]\n");
  workshop.write("new.txt", "1 1:3\n-1 1:2\n");  // no third number
  EXPECT_EQ(table({"--input", "new.txt"}), "id,target,class\n0,1,1\n1,0,1\n");
  workshop.write("new.txt", "1 4:3\n");
  EXPECT_EQ(refused({"--input", "new.txt"}),
            "error: new.txt: line 1: the index is too large\n  expected: at most 3, the numbers of an example\n"
            "  got:      \"4:3\"\n  hint:     data.features says how many numbers an example has\n");
}

TEST_F(CliPredictSources, TextsByStep) {
  workshop.write("train.txt", "ababababababababab");
  train("source = \"text\"\nfile = \"train.txt\"\nsteps = 2\n");
  workshop.write("new.txt", "baa\n");
  EXPECT_EQ(refused({"--input", "new.txt"}),
            "error: new.txt: line 1: the model does not know this character\n"
            "  expected: the 2 characters of the text that it was trained on\n  got:      \"\\n\"\n");
  workshop.write("new.txt", "baabb");
  EXPECT_EQ(table({"--input", "new.txt"}), "id,step,target,class\n0,0,a,a\n0,1,a,b\n1,0,b,b\n1,1,b,a\n");
  EXPECT_EQ(said, "classes of 2 examples written to p.csv\nweights run/best.npz\n");
  workshop.write("new.txt", "ba");
  EXPECT_EQ(refused({"--input", "new.txt"}),
            "error: new.txt: the text is too short for whole windows\n  expected: at least 3 characters\n"
            "  got:      2 characters\n");
}

TEST_F(CliPredictSources, PianoRollsWithTheStepsOfEachPiece) {
  workshop.write("train.txt",
                 "@ train 4 2\n0\n1\n0\n1\n@ train 3 2\n1\n0\n1\n@ valid 3 2\n0\n1\n0\n@ valid 3 2\n1\n0\n1\n");
  train("source = \"piano_rolls\"\nfile = \"train.txt\"\n",
        "[[model.layers]]\ntype = \"dense\"\nname = \"keys\"\nunits = 2\nactivation = \"sigmoid\"\n"
        "[loss]\ntype = \"binary_crossentropy\"\n");
  workshop.write("new.txt", "@ train 3 2\n0\n1\n1\n@ train 2 2\n1\n0\n");
  EXPECT_EQ(table({"--input", "new.txt"}), "id,step,target[0],target[1],0,1\n0,0,0,1,0,1\n0,1,0,1,1,0\n1,0,1,0,1,0\n");
  EXPECT_EQ(said, "labels of 2 examples written to p.csv\nweights run/best.npz\n");
}

TEST_F(CliPredictSources, APartOfWhatAGeneratorMakes) {
  train("source = \"moons\"\nn_train = 40\nn_valid = 8\nn_test = 6\n");
  const std::string test = table({"--part", "test"});
  EXPECT_EQ(std::count(test.begin(), test.end(), '\n'), 7) << test;
  EXPECT_TRUE(test.starts_with("id,target,class\n0,")) << test;
  ASSERT_EQ(predict({"--part", "test", "--output", "p.npz"}).code, 0);
  const auto arrays = read_npz(workshop.path("p.npz"));
  EXPECT_EQ(arrays.at("targets").type_text(), "int64[6]");
  EXPECT_EQ(refused({"--part", "test", "data.n_test=0"}),
            "error: there are no test examples to predict\n"
            "  expected: --part with another part of the data, or --input FILE\n");
}

TEST_F(CliPredictSources, LabelsAndTheirProbabilities) {
  write_npy(workshop.path("x.npy"), Tensor::matrix<float>({{-2, 1}, {-1, -1}, {2, -1}, {1, 1}}));
  write_npy(workshop.path("y.npy"), Tensor::matrix<int64_t>({{0, 1}, {0, 0}, {1, 0}, {1, 1}}).cast(DType::kUInt8));
  train(
      "source = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\ntarget = \"labels\"\n"
      "class_names = [\"right\", \"above\"]\n",
      "[[model.layers]]\ntype = \"dense\"\nname = \"labels\"\nunits = 2\n[loss]\ntype = \"binary_crossentropy\"\n");
  EXPECT_EQ(table({"--input", "x.npy"}), "id,right,above\n0,0,1\n1,0,0\n2,1,0\n3,1,1\n");
  EXPECT_EQ(table({"--part", "train"}),
            "id,target[right],target[above],right,above\n0,0,1,0,1\n1,0,0,0,0\n2,1,0,1,0\n"
            "3,1,1,1,1\n");
  EXPECT_EQ(said, "labels of 4 examples written to p.csv\nweights run/best.npz\n");
  const std::string probable = table({"--input", "x.npy", "--probabilities"});
  EXPECT_TRUE(probable.starts_with("id,right,above\n0,0.0")) << probable;
  EXPECT_EQ(said, "probabilities of 4 examples written to p.csv\nweights run/best.npz\n");
  ASSERT_EQ(predict({"--input", "x.npy", "--output", "p.npy"}).code, 0);
  EXPECT_EQ(read_npy(workshop.path("p.npy")).type_text(), "uint8[4, 2]");
  ASSERT_EQ(predict({"--input", "x.npy", "--output", "p.npy", "--probabilities"}).code, 0);
  EXPECT_EQ(read_npy(workshop.path("p.npy")).type_text(), "float32[4, 2]");
  ASSERT_EQ(predict({"--input", "x.npy", "--output", "p.npz"}).code, 0);
  const auto arrays = read_npz(workshop.path("p.npz"));
  ASSERT_TRUE(arrays.contains("labels") && arrays.contains("probabilities"));
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(arrays.at("labels").as_int(i) == 1, arrays.at("probabilities").as_double(i) > 0.5);
}

// hidden = x W, as NumPy multiplies it.
TEST_F(CliPredictSources, TheFeaturesOfALayer) {
  const Tensor x = Tensor::matrix<float>({{1, 2}, {3, -1}});
  write_npy(workshop.path("x.npy"), x);
  write_npy(workshop.path("y.npy"), Tensor::vector<int64_t>({0, 1}));
  train("source = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\n",
        "[[model.layers]]\ntype = \"dense\"\nname = \"hidden\"\nunits = 3\nactivation = \"linear\"\n"
        "[[model.layers]]\ntype = \"softmax\"\n");
  write_npz(workshop.path("w.npz"), {{"hidden/W", Tensor::matrix<float>({{1, 0, 2}, {0, 1, -1}})},
                                     {"hidden/b", Tensor::vector<float>({0, 0, 10})},
                                     {"softmax/W", Tensor::zeros(DType::kFloat32, {3, 2})},
                                     {"softmax/b", Tensor::vector<float>({0, 0})}});
  EXPECT_EQ(table({"--input", "x.npy", "--layer", "hidden", "--weights", "w.npz"}),
            "id,hidden[0],hidden[1],hidden[2]\n0,1,2,10\n1,3,-1,17\n");
  EXPECT_EQ(said, "features of 2 examples written to p.csv\nweights w.npz\n");
  ASSERT_EQ(predict({"--part", "train", "--layer", "hidden", "--weights", "w.npz", "--output", "p.npz"}).code, 0);
  const auto arrays = read_npz(workshop.path("p.npz"));
  EXPECT_EQ(arrays.at("features").text(), "[[1, 2, 10], [3, -1, 17]]");
  EXPECT_EQ(arrays.at("targets").text(), "[0, 1]");
  ASSERT_EQ(predict({"--input", "x.npy", "--layer", "hidden", "--weights", "w.npz", "--output", "p.npy"}).code, 0);
  EXPECT_EQ(read_npy(workshop.path("p.npy")).text(), "[[1, 2, 10], [3, -1, 17]]");
  EXPECT_EQ(refused({"--input", "x.npy", "--layer", "hiden"}),
            "error: thtrain predict: there is no layer hiden\n  expected: hidden, softmax\n"
            "  hint:     did you mean hidden?\n");
  EXPECT_EQ(refused({"--input", "x.npy", "--layer", "hidden", "--probabilities"}),
            "error: thtrain predict: --probabilities has no use with --layer\n  expected: one of them\n");
}

TEST_F(CliPredictSources, ImagesOfALayerAreNoTable) {
  train("source = \"digits\"\nn_train = 8\nn_valid = 4\nn_test = 4\n",
        "[[model.layers]]\ntype = \"conv\"\nname = \"conv\"\nunits = 2\nsize = 5\n[[model.layers]]\ntype = "
        "\"softmax\"\n");
  EXPECT_EQ(refused({"--part", "test", "--layer", "conv"}),
            "error: a table cannot hold what the layer conv gives\n"
            "  expected: --output with a name that ends in .npy or .npz\n"
            "  got:      p.csv, for float32[4, 2, 24, 24]\n");
  ASSERT_EQ(predict({"--part", "test", "--layer", "conv", "--output", "p.npy"}).code, 0);
  EXPECT_EQ(read_npy(workshop.path("p.npy")).type_text(), "float32[4, 2, 24, 24]");
}

TEST_F(CliPredictSources, NamesArraysThatTheModelHasNoUseFor) {
  train("source = \"moons\"\nn_train = 40\nn_valid = 8\nn_test = 6\n");
  auto arrays = read_npz(workshop.path("run/best.npz"));
  NamedArrays more(arrays.begin(), arrays.end());
  more.emplace_back("other/W", Tensor::matrix<float>({{1}}));
  more.emplace_back("other/b", Tensor::vector<float>({1}));
  write_npz(workshop.path("more.npz"), more);
  const std::string line = "warning: more.npz: the model has no use for other/W, other/b\n";
  const Ended predicted = predict({"--part", "test", "--output", "p.npy", "--weights", "more.npz"});
  EXPECT_EQ(predicted.code, 0);
  EXPECT_EQ(predicted.err, line);
  const Ended measured = workshop.run({"eval", "run", "--weights", "more.npz"});
  EXPECT_EQ(measured.code, 0);
  EXPECT_EQ(measured.err, line);
  std::erase_if(more, [](const auto& array) { return array.first == "softmax/b"; });
  write_npz(workshop.path("less.npz"), more);
  const Ended less = predict({"--part", "test", "--output", "p.npy", "--weights", "less.npz"});
  EXPECT_EQ(less.code, 2);
  EXPECT_TRUE(less.err.starts_with("error: less.npz: there is no softmax/b\n  expected: softmax/W, softmax/b\n"))
      << less.err;
}

TEST_F(CliPredictSources, OneOfInputAndPart) {
  train("source = \"moons\"\nn_train = 40\nn_valid = 8\nn_test = 6\n");
  EXPECT_EQ(refused({"--input", "x.npy", "--part", "test"}),
            "error: thtrain predict: --part has no use with --input\n"
            "  expected: --input FILE with examples, or --part of the experiment's own data\n");
  EXPECT_EQ(refused({}),
            "error: thtrain predict: --input or --part is missing\n"
            "  expected: --input FILE with examples, or --part of the experiment's own data\n");
}

}  // namespace
}  // namespace thtrain
