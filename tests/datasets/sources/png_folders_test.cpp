#include "datasets/sources/png_folders.h"

#include <filesystem>

#include "datasets/load.h"
#include "tests/support/datasets_support.h"
#include "tests/support/png_support.h"

namespace thtrain {
namespace {

constexpr DType k32 = DType::kFloat32;

using Bytes = std::vector<uint8_t>;

TEST(PngFolders, SubfoldersAreClasses) {
  TemporaryFolder folder;
  folder.write("p/cat/b.png", png_bytes(3, 2, {1, 2, 3, 4, 5, 6}));
  folder.write("p/cat/a.png", png_bytes(3, 2, {11, 12, 13, 14, 15, 16}));
  folder.write("p/ant/z.PNG", png_bytes(3, 2, {21, 22, 23, 24, 25, 26}));
  folder.write("p/ant/notes.txt", "not a picture");
  PngFolders read = read_png_folders(folder.path("p"), true);
  EXPECT_EQ(read.classes, (std::vector<std::string>{"ant", "cat"}));
  EXPECT_TRUE(same_bits(read.labels, Tensor::of(std::vector<int64_t>{0, 1, 1}, {3})));
  EXPECT_TRUE(same_bits(
      read.images, Tensor::of(Bytes{21, 22, 23, 24, 25, 26, 11, 12, 13, 14, 15, 16, 1, 2, 3, 4, 5, 6}, {3, 2, 3})));
}

TEST(PngFolders, PlanesOfColor) {
  TemporaryFolder folder;
  folder.write("p/a/1.png", png_bytes(2, 1, {255, 0, 10, 0, 255, 20}));
  folder.write("p/a/2.png", png_bytes(2, 1, {9, 8, 7, 255, 1, 2, 3, 0}));  // the second pixel is transparent
  PngFolders read = read_png_folders(folder.path("p"), false);
  EXPECT_TRUE(same_bits(read.images, Tensor::of(Bytes{255, 0, 0, 255, 10, 20, 9, 0, 8, 0, 7, 0}, {2, 3, 1, 2})));
}

TEST(PngFolders, ATestFolderHasTheClassesOfTheTrainingFolder) {
  TemporaryFolder folder;
  for (const char* name : {"train/a/1", "train/b/1", "train/c/1", "test/c/1"})
    folder.write(str(name, ".png"), png_bytes(1, 1, {128}));
  PngFoldersConfig config;
  config.train = {"train"};
  config.test = {"test"};
  auto load = [&] {
    DatasetOptions options{.name = "png_folders", .config_folder = folder.path()};
    config.fill(options);
    for (const DataFile& file : config.files()) options.files[file.part] = {*file.path};
    return load_dataset(options, k32);
  };
  Dataset data = load();
  EXPECT_EQ(std::tuple(data.classes(), data.train.size(), data.test.size()), std::tuple(3, 3, 1));
  EXPECT_EQ(data.test.all(k32).y.as_int(0), 2);
  EXPECT_EQ(data.test.all(k32).x.as_double(0), 0.5);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"a", "b", "c"}));
  folder.write("test/d/1.png", png_bytes(1, 1, {128}));
  EXPECT_EQ(error_text([&] { load(); }), "error: " + folder.path("test") +
                                             ": the subfolder is none of the classes\n"
                                             "  expected: a, b, c\n"
                                             "  got:      d");
}

TEST(PngFolders, PicturesThatStayInTheirFilesAreWatched) {
  TemporaryFolder folder;
  folder.write("p/a/1.png", png_bytes(2, 1, {1, 2}));
  folder.write("p/b/1.png", png_bytes(2, 1, {3, 4}));
  const std::string place = folder.path("p");
  const PngFolders read = read_png_folders(place, true, {}, 1);
  std::vector<OpenedFile> files;
  read.source->list_files(files);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].path, place + "/b/1.png");
  EXPECT_EQ(files[1].state.size, png_bytes(2, 1, {3, 4}).size());
  read.source->check_unchanged();
  auto text = [&] { return error_text([&] { read.source->check_unchanged(); }); };
  const std::string hint = "\n  hint:     put it back as it was, with its time (`cp -p` keeps it)";
  folder.write("p/b/1.png", "x");
  EXPECT_EQ(text(), str("error: ", place, "/b/1.png: the file was changed while the run read it\n  expected: ",
                        files[1].state.size, " bytes, as when it was opened\n  got:      1 bytes", hint));
  std::filesystem::remove(place + "/b/1.png");
  EXPECT_EQ(text(), str("error: ", place, "/b/1.png: the file was removed while the run read it", hint));
}

TEST(PngFolders, BadFolders) {
  TemporaryFolder folder;
  const std::string place = folder.path("p");
  auto text = [&] { return error_text([&] { read_png_folders(place, true); }); };
  EXPECT_EQ(text(), "error: " + place +
                        ": the folder cannot be read\n  expected: a folder with a subfolder for each class\n"
                        "  got:      No such file or directory");
  folder.write("p/x.png", "");
  EXPECT_EQ(text(), "error: " + place +
                        ": there are no classes\n  expected: a subfolder for each class\n  got:      no subfolders");
  folder.write("p/a/x.txt", "");
  EXPECT_EQ(text(), "error: " + place +
                        ": there are no pictures\n  expected: FOLDER/CLASS/*.png\n  got:      none in its subfolders");
  folder.write("p/a/1.png", png_bytes(2, 1, {1, 2}));
  folder.write("p/a/2.png", png_bytes(1, 2, {1, 2}));
  EXPECT_EQ(text(), "error: " + place +
                        "/a/2.png: the picture has another size than the first\n  expected: 1x2 pixels, as " + place +
                        "/a/1.png\n  got:      2x1");
  folder.write("p/a/2.png", "not a picture");
  EXPECT_EQ(text(), "error: " + place +
                        "/a/2.png: the picture cannot be read\n  expected: a PNG file\n  got:      "
                        "Not a PNG file");
  folder.write("p/a/2.png", png_bytes(2, 1, {1, 2}).substr(0, 50));
  EXPECT_NE(text().find("a/2.png: the picture cannot be read\n  expected: a PNG file\n  got:      "),
            std::string::npos);
}

}  // namespace
}  // namespace thtrain
