#include "datasets/sources/png_folders.h"

#include <filesystem>

#include "datasets/load.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"
#include "tests/support/png_support.h"

namespace thtrain {
namespace {

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

// The planes of one picture, which are the same in memory and read from the file.
Bytes planes(const std::string& png, bool grey) {
  TemporaryFolder folder;
  folder.write("p/a/1.png", png);
  const Tensor images = read_png_folders(folder.path("p"), grey).images;
  Bytes out(static_cast<size_t>(images.size())), streamed(out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = images.data<uint8_t>()[i];
  PngFolders stream = read_png_folders(folder.path("p"), grey, {}, 0);
  stream.source->read(0, 1, reinterpret_cast<std::byte*>(streamed.data()));
  EXPECT_EQ(streamed, out);
  return out;
}

// The expected numbers are those of Pillow 13: convert("L"), convert("RGB"), alpha_composite on black.
TEST(PngFolders, ColorsBecomeGreyAsInPillow) {
  EXPECT_EQ(planes(png_bytes(6, 1, {255, 0, 0, 0, 255, 0, 0, 0, 255, 12, 200, 77, 1, 1, 2, 254, 255, 253}), true),
            (Bytes{76, 150, 29, 130, 1, 254}));
  const std::vector<png_color> palette = {{10, 20, 30}, {200, 100, 50}, {0, 255, 7}};
  const StoredPng indexed{.width = 3,
                          .height = 1,
                          .bit_depth = 8,
                          .color_type = PNG_COLOR_TYPE_PALETTE,
                          .rows = {2, 0, 1},
                          .palette = palette};
  EXPECT_EQ(planes(png_bytes(indexed), false), (Bytes{0, 10, 200, 255, 20, 100, 7, 30, 50}));
  EXPECT_EQ(planes(png_bytes(indexed), true), (Bytes{150, 18, 124}));
}

TEST(PngFolders, WhatIsTransparentIsOnBlack) {
  const std::string png = png_bytes(4, 1, {255, 100, 3, 128, 10, 128, 200, 64, 9, 8, 7, 0, 200, 100, 51, 255});
  EXPECT_EQ(planes(png, false), (Bytes{128, 3, 0, 200, 50, 32, 0, 100, 2, 50, 0, 51}));
  EXPECT_EQ(planes(png, true), (Bytes{68, 25, 0, 124}));
  StoredPng grey{
      .width = 2, .height = 1, .bit_depth = 8, .color_type = PNG_COLOR_TYPE_GRAY_ALPHA, .rows = {200, 128, 77, 255}};
  EXPECT_EQ(planes(png_bytes(grey), true), (Bytes{100, 77}));
  EXPECT_EQ(planes(png_bytes(grey), false), (Bytes{100, 77, 100, 77, 100, 77}));
  StoredPng key{.width = 2, .height = 1, .bit_depth = 8, .color_type = PNG_COLOR_TYPE_GRAY, .rows = {200, 77}};
  key.transparent_grey = 200;
  EXPECT_EQ(planes(png_bytes(key), true), (Bytes{0, 77}));
  StoredPng indexed{.width = 2, .height = 1, .bit_depth = 8, .color_type = PNG_COLOR_TYPE_PALETTE, .rows = {0, 1}};
  indexed.palette = {{255, 100, 3}, {1, 2, 3}};
  indexed.palette_alpha = {128};
  EXPECT_EQ(planes(png_bytes(indexed), false), (Bytes{128, 1, 50, 2, 2, 3}));
}

// 16 bits are round(v / 257), fewer than 8 are spread over 0 to 255.
TEST(PngFolders, OtherNumbersOfBits) {
  auto stored = [](int bits, int color, int width, Bytes rows) {
    return png_bytes(
        StoredPng{.width = width, .height = 1, .bit_depth = bits, .color_type = color, .rows = std::move(rows)});
  };
  EXPECT_EQ(planes(stored(16, PNG_COLOR_TYPE_GRAY, 3, {10, 10, 128, 128, 200, 200}), true), (Bytes{10, 128, 200}));
  // 1000, 33000, 128, 129
  EXPECT_EQ(planes(stored(16, PNG_COLOR_TYPE_GRAY, 4, {3, 232, 128, 232, 0, 128, 0, 129}), true),
            (Bytes{4, 128, 0, 1}));
  const std::string color = stored(16, PNG_COLOR_TYPE_RGB, 1, {12, 12, 200, 200, 77, 77});
  EXPECT_EQ(planes(color, false), (Bytes{12, 200, 77}));
  EXPECT_EQ(planes(color, true), (Bytes{130}));
  EXPECT_EQ(planes(stored(16, PNG_COLOR_TYPE_GRAY_ALPHA, 1, {200, 200, 128, 128}), true), (Bytes{100}));
  EXPECT_EQ(planes(stored(2, PNG_COLOR_TYPE_GRAY, 4, {0b00011011}), true), (Bytes{0, 85, 170, 255}));
  EXPECT_EQ(planes(stored(1, PNG_COLOR_TYPE_GRAY, 4, {0b01010000}), true), (Bytes{0, 255, 0, 255}));
}

TEST(PngFolders, GammaChangesNothing) {
  const Bytes values = {10, 128, 200, 64};
  for (double gamma : {0.0, 0.45455, 1.0}) {
    StoredPng png{.width = 2, .height = 2, .bit_depth = 8, .color_type = PNG_COLOR_TYPE_GRAY, .rows = values};
    png.gamma = gamma;
    EXPECT_EQ(planes(png_bytes(png), true), values) << gamma;
    png.interlaced = true;
    EXPECT_EQ(planes(png_bytes(png), true), values) << gamma;
    EXPECT_EQ(planes(png_bytes(png), false), (Bytes{10, 128, 200, 64, 10, 128, 200, 64, 10, 128, 200, 64})) << gamma;
  }
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
  const std::string root = folder.path("p");
  const PngFolders read = read_png_folders(root, true, {}, 1);
  std::vector<OpenedFile> files;
  read.source->list_files(files);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].path, root + "/b/1.png");
  EXPECT_EQ(files[1].state.size, png_bytes(2, 1, {3, 4}).size());
  read.source->check_unchanged();
  auto text = [&] { return error_text([&] { read.source->check_unchanged(); }); };
  const std::string hint = "\n  hint:     put it back as it was, with its time (`cp -p` keeps it)";
  folder.write("p/b/1.png", "x");
  EXPECT_EQ(text(), str("error: ", root, "/b/1.png: the file was changed while the run read it\n  expected: ",
                        files[1].state.size, " bytes, as when it was opened\n  got:      1 bytes", hint));
  std::filesystem::remove(root + "/b/1.png");
  EXPECT_EQ(text(), str("error: ", root, "/b/1.png: the file was removed while the run read it", hint));
}

TEST(PngFolders, BadFolders) {
  TemporaryFolder folder;
  const std::string root = folder.path("p");
  auto text = [&] { return error_text([&] { read_png_folders(root, true); }); };
  EXPECT_EQ(text(), "error: " + root +
                        ": the folder cannot be read\n  expected: a folder with a subfolder for each class\n"
                        "  got:      No such file or directory");
  folder.write("p/x.png", "");
  EXPECT_EQ(text(), "error: " + root +
                        ": there are no classes\n  expected: a subfolder for each class\n  got:      no subfolders");
  folder.write("p/a/x.txt", "");
  EXPECT_EQ(text(), "error: " + root +
                        ": there are no pictures\n  expected: FOLDER/CLASS/*.png\n  got:      none in its subfolders");
  folder.write("p/a/1.png", png_bytes(2, 1, {1, 2}));
  folder.write("p/a/2.png", png_bytes(1, 2, {1, 2}));
  EXPECT_EQ(text(), "error: " + root +
                        "/a/2.png: the picture has another size than the first\n  expected: 1x2 pixels, as " + root +
                        "/a/1.png\n  got:      2x1");
  folder.write("p/a/2.png", "not a picture");
  EXPECT_EQ(text(), "error: " + root +
                        "/a/2.png: the picture cannot be read\n  expected: a PNG file\n  got:      "
                        "Not a PNG file");
  folder.write("p/a/2.png", png_bytes(2, 1, {1, 2}).substr(0, 50));
  EXPECT_NE(text().find("a/2.png: the picture cannot be read\n  expected: a PNG file\n  got:      "),
            std::string::npos);
}

}  // namespace
}  // namespace thtrain
