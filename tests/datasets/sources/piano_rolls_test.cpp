#include "datasets/sources/piano_rolls.h"

#include <zlib.h>

#include "datasets/load.h"
#include "datasets/locate.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

constexpr const char* kSmall =
    "@ train 3 4\n"
    "0 2\n"
    "\n"
    "3\n"
    "@ train 2 4\r\n"
    "1\r\n"
    "1 2 3\r\n"
    "\n"
    "@ valid 2 4\n"
    "2\n"
    "0\n";

TEST(PianoRolls, KeysOfEachStepAndOfTheNextOne) {
  TemporaryFolder folder;
  const PianoRollSets sets = read_piano_rolls(folder.write("a.txt", kSmall));
  EXPECT_EQ(sets.train.x.text(20), "[[[1, 0, 1, 0], [0, 0, 0, 0]], [[0, 1, 0, 0], [0, 0, 0, 0]]]");
  EXPECT_EQ(sets.train.y.text(20), "[[[0, 0, 0, 0], [0, 0, 0, 1]], [[0, 1, 1, 1], [0, 0, 0, 0]]]");
  EXPECT_EQ(sets.train.lengths.text(), "[2, 1]");
  EXPECT_EQ(sets.valid.x.text(), "[[[0, 0, 1, 0]]]");
  EXPECT_EQ(sets.valid.y.text(), "[[[1, 0, 0, 0]]]");
  EXPECT_EQ(sets.test.x.dim(0), 0);
}

TEST(PianoRolls, IsADataSetOfSequences) {
  TemporaryFolder folder;
  PianoRollsConfig config;
  config.file = folder.write("a.txt", kSmall);
  DatasetOptions options{.name = "piano_rolls", .files = {{"file", {config.file}}}};
  config.fill(options);
  const Dataset data = load_dataset(options, k32);
  EXPECT_EQ(data.text(), str("data set piano_rolls: sequences of 1 to 2 steps of [4], labels of [4] by step\n"
                             "  train 2 sequences from ",
                             config.file, "\n  valid 1 sequences from ", config.file));
  EXPECT_EQ(data.outputs(), 4);
}

TEST(PianoRolls, ItsKeysMatter) {
  TemporaryFolder folder;
  PianoRollsConfig config;
  config.file = folder.write("a.txt", kSmall);
  auto all = [](PianoRollsConfig c) {
    DatasetOptions options{.name = "piano_rolls", .files = {{"file", {c.file}}}};
    c.fill(options);
    const Dataset data = load_dataset(options, k32);
    return data.text() + join(data.class_names, " ") + data.train.all(k32).x.text(200);
  };
  const std::string plain = all(config);
  PianoRollsConfig other = config;
  other.file = folder.write("b.txt", "@ train 2 4\n1\n2\n");
  EXPECT_NE(all(other), plain);
  other = config;
  other.standardize = Standardization::By::kAll;
  EXPECT_NE(all(other), plain);
  other = config;
  other.class_names = {"C", "D", "E", "F"};
  EXPECT_NE(all(other), plain);
}

TEST(PianoRolls, MessagesForBadFiles) {
  TemporaryFolder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"", ": there are no training pieces\n  expected: a line \"@ train steps keys\" for each\n  got:      none"},
      {"@ valid 2 4\n1\n2\n",
       ": there are no training pieces\n  expected: a line \"@ train steps keys\" for each\n  got:      none"},
      {"1 2\n",
       ": line 1: this line belongs to no piece\n  expected: a line \"@ set steps keys\" before it\n"
       "  got:      \"1\""},
      {"@ train 1 4\n1\n",
       ": line 1: not the beginning of a piece\n"
       "  expected: \"@ set steps keys\": train, valid or test, at least 2 steps, 1 to 1024 keys\n"
       "  got:      \"@ train 1 4\""},
      {"@ training 2 4\n",
       ": line 1: not the beginning of a piece\n"
       "  expected: \"@ set steps keys\": train, valid or test, at least 2 steps, 1 to 1024 keys\n"
       "  got:      \"@ training 2 4\""},
      {"@ train 2 4\n1\n4\n", ": line 3: not a key\n  expected: numbers from 0 to 3\n  got:      \"4\""},
      {"@ train 2 4\n1\n1.5\n", ": line 3: not a key\n  expected: numbers from 0 to 3\n  got:      \"1.5\""},
      {"@ train 2 4\n1\n2\n3\n",
       ": line 4: a step more than the piece has\n  expected: 2 steps, as line 1 says\n  got:      \"3\""},
      {"@ train 3 4\n1\n2\n@ train 2 4\n1\n1\n",
       ": line 1: the piece has fewer steps than this line says\n  expected: 3 lines of keys\n"
       "  got:      2, then line 4 begins another one"},
      {"@ train 3 4\n1\n2\n",
       ": line 1: the piece has fewer steps than this line says\n  expected: 3 lines of keys\n"
       "  got:      2, then the file ends"},
      {"@ train 2 4\n1\n2\n@ test 2 5\n", ": line 4: another number of keys than before\n  expected: 4\n  got:      5"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string path = folder.write("a.txt", text);
    EXPECT_EQ(error_text([&] { read_piano_rolls(path); }), str("error: ", path, expected)) << text;
  }
  const std::string path = folder.write("a.txt", std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(error_text([&] { read_piano_rolls(path); }),
            str("error: ", path,
                ": these are no piano rolls\n  expected: text: lines \"@ set steps keys\" and the keys of each step\n"
                "  got:      a .npy file"));
}

// The chorales of Bach, where THTRAIN_DATA has them, compared with NumPy's arrays.
TEST(PianoRolls, TheChorales) {
  std::string path;
  try {
    path = find_data_file("sequences/JSB_Chorales.pianoroll.txt", "");
  } catch (const UserError&) {
    GTEST_SKIP() << "sequences/JSB_Chorales.pianoroll.txt is not there";
  }
  auto checksums = [](const PianoRolls& set) {
    return join(std::vector{set.x, set.y, set.lengths}, " ", [](const Tensor& t) {
      return std::to_string(crc32_z(0, static_cast<const Bytef*>(t.raw()), t.bytes()));
    });
  };
  const PianoRollSets sets = read_piano_rolls(path);
  EXPECT_EQ(sets.train.x.shape(), (Shape{229, 128, 88}));
  EXPECT_EQ(checksums(sets.train), "2302730839 3227835258 3296705298");
  EXPECT_EQ(checksums(sets.valid), "516801482 2941838070 2287884136");
  EXPECT_EQ(checksums(sets.test), "1215216091 1309216160 2788140261");
}

}  // namespace
}  // namespace thtrain
