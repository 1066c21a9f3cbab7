#include "datasets/sources/text.h"

#include "compiler/base/utf8.h"
#include "datasets/load.h"
#include "datasets/locate.h"
#include "tests/support/checksum.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

Dataset load(const TextConfig& config) {
  DatasetOptions options{.name = "text", .files = {{"file", {config.file}}}};
  config.fill(options);
  return load_dataset(options, k32);
}

TEST(Text, WindowsAndTheCharactersBehindEach) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < 15; ++i) numbers.push_back(i);
  EXPECT_EQ(text_windows(numbers, 3, 1).x.text(20), "[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]");
  // Two tracks of two windows: the second minibatch of two rows goes on where the first ended.
  const TextWindows windows = text_windows(numbers, 3, 2);
  EXPECT_EQ(windows.x.text(20), "[[0, 1, 2], [6, 7, 8], [3, 4, 5], [9, 10, 11]]");
  EXPECT_EQ(windows.y.text(20), "[[1, 2, 3], [7, 8, 9], [4, 5, 6], [10, 11, 12]]");
  EXPECT_EQ(text_windows({0, 1, 2}, 3, 1).x.dim(0), 0);
}

TEST(Text, CharactersAreCodePoints) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e\n";
  const std::vector<char32_t> characters = characters_of(text, "t.txt");
  EXPECT_EQ(characters, (std::vector<char32_t>{U'a', U'\u00e9', U'\u20ac', U'\U0001d11e', U'\n'}));
  std::string again;
  for (char32_t c : characters) append_utf8(again, c);
  EXPECT_EQ(again, text);
  for (const char* bad :
       {"ab\n\xff", "ab\n\xc3", "ab\n\xc0\x80", "ab\n\xe0\x80\x80", "ab\n\xed\xa0\x80", "ab\n\xf4\x90\x80\x80"})
    EXPECT_TRUE(error_text([&] {
                  characters_of(bad, "t.txt");
                }).starts_with("error: t.txt: line 2: not UTF-8\n  expected: text in UTF-8\n  got:      the bytes "));
}

TEST(Text, IsADataSetOfSequences) {
  TemporaryFolder folder;
  TextConfig config;
  config.file = folder.write("t.txt", "abcabcabdab\ncba");
  config.steps = 2;
  config.valid_fraction = 0.2;
  const Dataset data = load(config);
  EXPECT_EQ(data.text(), str("data set text: sequences of 2 steps of [5], 5 classes by step\n  train 5 sequences from ",
                             config.file, "\n  valid 1 sequences from ", config.file));
  EXPECT_EQ(join(data.class_names, ""), "\nabcd");
  const Batch first = data.train.read(0, 1, k32);
  EXPECT_EQ(first.x.text(20), "[[[0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]]");
  EXPECT_EQ(first.y.text(), "[[2, 3]]");
  config.one_hot = false;
  EXPECT_EQ(load(config).train.read(0, 1, k32).x.text(20), "[[[1], [2]]]");
}

TEST(Text, MessagesForTextsThatDoNotFit) {
  TemporaryFolder folder;
  TextConfig config;
  config.file = folder.write("t.txt", "aaaa\naaaa\nab");
  config.steps = 6;
  config.window_tracks = 2;
  EXPECT_EQ(error_text([&] { load(config); }), str("error: ", config.file,
                                                   ": the text is too short for training windows\n"
                                                   "  expected: at least 13 characters, 2 tracks of 6 steps and one\n"
                                                   "  got:      12 characters"));
}

// Of 11 characters the last three validate; "b" is one of them.
TEST(Text, TheAlphabetIsThatOfTheWholeFile) {
  TemporaryFolder folder;
  TextConfig config;
  config.file = folder.write("t.txt",
                             "\xef\xbb\xbf"
                             "aaca\naac\nab");
  config.steps = 2;
  config.valid_fraction = 0.25;
  config.one_hot = false;
  const Dataset data = load(config);
  EXPECT_EQ(join(data.class_names, "|"), "\n|a|b|c");
  EXPECT_EQ(data.train.size(), 3);
  EXPECT_EQ(data.train.read(0, 1, k32).x.text(), "[[[1], [1]]]");
  EXPECT_EQ(data.valid.read(0, 1, k32).x.text(), "[[[0], [1]]]");
  EXPECT_EQ(data.valid.read(0, 1, k32).y.text(), "[[1, 2]]");
}

TEST(Text, ItsKeysMatter) {
  TemporaryFolder folder;
  TextConfig config;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "abc\n"[i * i % 7 % 4];
  config.file = folder.write("t.txt", text);
  config.steps = 3;
  auto all = [](const TextConfig& c) {
    const Dataset data = load(c);
    return data.text() + join(data.class_names, "") + data.train.all(k32).x.text(5000);
  };
  const std::string plain = all(config);
  auto differs = [&](auto change) {
    TextConfig other = config;
    change(other);
    EXPECT_NE(all(other), plain);
  };
  differs([](auto& c) { c.steps = 4; });
  differs([](auto& c) { c.window_tracks = 5; });
  differs([](auto& c) { c.one_hot = false; });
  differs([](auto& c) { c.valid_fraction = 0.1; });
  differs([](auto& c) { c.test_fraction = 0.1; });
  differs([](auto& c) { c.standardize = Standardization::By::kAll; });
  differs([](auto& c) { c.class_names = {"1", "2", "3"}; });
}

// Where THTRAIN_DATA has it, compared with NumPy's windows of it.
TEST(Text, TheWorksOfShakespeare) {
  TextConfig config;
  try {
    config.file = find_data_file("sequences/tinyshakespeare.txt", "");
  } catch (const UserError&) {
    GTEST_SKIP() << "sequences/tinyshakespeare.txt is not there";
  }
  config.window_tracks = 32;
  config.one_hot = false;
  config.valid_fraction = config.test_fraction = 0.05;
  const Dataset data = load(config);
  EXPECT_EQ(join(data.class_names, ""), "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  auto checksums = [](const Split& split) {
    const Tensor x = split.x_array().raw.contiguous();
    return str(shape_text(x.shape()), ' ', checksum(x), ' ', checksum(split.y_array().raw));
  };
  EXPECT_EQ(checksums(data.train), "[20064, 50, 1] 2939409253 3341735798");
  EXPECT_EQ(checksums(data.valid), "[1115, 50, 1] 3271368891 1861442710");
  EXPECT_EQ(checksums(data.test), "[1115, 50, 1] 1542908449 1262108387");
}

}  // namespace
}  // namespace thtrain
