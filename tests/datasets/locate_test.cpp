#include "datasets/locate.h"

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

/// Three folders, each in its role.
struct Locations {
  TemporaryFolder folder;
  std::string config = folder.path("config"), data = folder.path("data"), cache = folder.path("cache");
  EnvironmentVariable data_variable{"THTRAIN_DATA", data.c_str()};
  EnvironmentVariable cache_variable{"XDG_CACHE_HOME", cache.c_str()};
};

using Paths = std::vector<std::string>;

TEST(DataFolders, AreTheConfigurationsTheVariablesAndTheCache) {
  Locations locations;
  EXPECT_EQ(data_folders(locations.config),
            Paths({locations.config, locations.data, locations.cache + "/thtrain/data"}));
  EXPECT_EQ(data_folders("").at(0), ".");
}

TEST(DataFolders, TheCacheFollowsHomeAndMayBeMissing) {
  EnvironmentVariable data("THTRAIN_DATA", nullptr), cache("XDG_CACHE_HOME", nullptr);
  {
    EnvironmentVariable home("HOME", "/home/ada");
    EXPECT_EQ(data_folders("c"), Paths({"c", "/home/ada/.cache/thtrain/data"}));
  }
  // As for compiled code, a folder that is relative counts as none.
  EnvironmentVariable home("HOME", "ada");
  EXPECT_EQ(cache_data_folder(), "");
  EXPECT_EQ(data_folders("c"), Paths({"c"}));
  EnvironmentVariable own("THTRAIN_CACHE_DIR", "/code"), relative("XDG_CACHE_HOME", "cache");
  EXPECT_EQ(cache_data_folder(), "");
  EnvironmentVariable absolute("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(cache_data_folder(), "/cache/thtrain/data");
}

TEST(FindDataFile, TakesTheFirstFolderThatHasIt) {
  Locations locations;
  locations.folder.write("cache/thtrain/data/a/x.npy", "");
  EXPECT_EQ(find_data_file("a/x.npy", locations.config), locations.cache + "/thtrain/data/a/x.npy");
  locations.folder.write("data/a/x.npy", "");
  EXPECT_EQ(find_data_file("a/x.npy", locations.config), locations.data + "/a/x.npy");
  locations.folder.write("config/a/x.npy", "");
  EXPECT_EQ(find_data_file("a/x.npy", locations.config), locations.config + "/a/x.npy");
  EXPECT_EQ(find_data_file(locations.data + "/a/x.npy", locations.config), locations.data + "/a/x.npy");
}

TEST(FindDataFile, TakesAGzippedFileWhereAsked) {
  Locations locations;
  std::string packed = locations.folder.write("data/x.gz", "");
  EXPECT_EQ(find_data_file("x", locations.config, true), packed);
  EXPECT_NE(error_text([&] { find_data_file("x", locations.config); }), "no error");
}

TEST(FindDataFile, ListsWhereItLooked) {
  Locations locations;
  ConfigPosition where{.file = "lab.toml", .line = 3, .column = 11, .length = 7, .source_line = "train_x = \"x.npy\""};
  EXPECT_EQ(error_text([&] { find_data_file("x.npy", locations.config, false, where); }),
            "error: \"x.npy\" was not found\n"
            "  expected: a file of that name in one of\n"
            "            " +
                locations.config +
                "\n"
                "            " +
                locations.data +
                "\n"
                "            " +
                locations.cache +
                "/thtrain/data\n"
                "  config:   lab.toml:3:11\n"
                "      3 | train_x = \"x.npy\"\n"
                "        |           ^^^^^^^\n"
                "  hint:     give its absolute path, or set THTRAIN_DATA to the folder that holds it");
  EXPECT_EQ(error_text([&] { find_data_file("/none/x.npy", locations.config); }), "error: /none/x.npy: no such file");
}

// A folder that may not be searched is no folder without the file.
TEST(FindDataFile, SaysWhereItWasNotAllowedToLook) {
  Locations locations;
  std::string path = locations.folder.write("data/x.npy", "");
  std::filesystem::permissions(locations.folder.path(), std::filesystem::perms::all);
  std::filesystem::permissions(locations.data, std::filesystem::perms::none);
  {
    WithoutRoot without_root;
    EXPECT_EQ(error_text([&] { find_data_file(path, locations.config); }),
              "error: " + path +
                  ": the file cannot be reached\n  expected: a file that this user may read, or a link to one\n"
                  "  got:      permission denied");
    EXPECT_EQ(error_text([&] { find_data_file("x.npy", locations.config); }),
              "error: \"x.npy\" was not found\n"
              "  expected: a file of that name in one of\n"
              "            " +
                  locations.config +
                  "\n"
                  "            " +
                  locations.data +
                  " (permission denied)\n"
                  "            " +
                  locations.cache +
                  "/thtrain/data\n"
                  "  hint:     give its absolute path, or set THTRAIN_DATA to the folder that holds it");
  }
  std::filesystem::permissions(locations.data, std::filesystem::perms::all);
  std::string name(300, 'n');
  EXPECT_EQ(error_text([&] { find_data_file("/" + name, locations.config); }),
            "error: /" + name +
                ": the file cannot be reached\n  expected: a file that this user may read, or a link to one\n"
                "  got:      a name that is too long");
}

TEST(FindDataSet, NeedsAllFilesInOneFolder) {
  Locations locations;
  locations.folder.write("config/images", "");
  std::string images = locations.folder.write("data/mnist/images", "");
  std::string labels = locations.folder.write("data/mnist/labels.gz", "");
  EXPECT_EQ(find_data_set("mnist", {"images", "labels"}, "https://h/m", locations.config), Paths({images, labels}));
  EXPECT_EQ(find_data_set("mnist", {"images", "labels"}, "https://h/m", locations.config, "mnist"),
            Paths({images, labels}));
  EXPECT_EQ(find_data_set("mnist", {"images", "labels"}, "https://h/m", locations.config, locations.data + "/mnist"),
            Paths({images, labels}));
}

TEST(FindDataSet, SaysWhereItLookedAndWhereToPutTheFiles) {
  Locations locations;
  locations.folder.write("data/mnist/images", "");
  auto command = [](const std::string& folder) {
    return "  hint:     get it, once:\n"
           "            mkdir -p " +
           folder + " && cd " + folder +
           " && curl -fLO 'https://h/m/{images,labels}.gz'\n"
           "            or set THTRAIN_DATA to a folder that has it; or take source = \"digits\", which is built in";
  };
  const std::string expected =
      "error: the data set \"mnist\" was not found\n"
      "  expected: images, labels,\n"
      "            each as it is or with .gz, in one folder\n";
  EXPECT_EQ(error_text([&] {
              find_data_set("mnist", {"images", "labels"}, "https://h/m", locations.config);
            }),
            expected +
                "  got:      not in\n"
                "            " +
                locations.config +
                "\n"
                "            " +
                locations.config +
                "/mnist\n"
                "            " +
                locations.data +
                "\n"
                "            " +
                locations.data +
                "/mnist (without labels)\n"
                "            " +
                locations.cache +
                "/thtrain/data\n"
                "            " +
                locations.cache + "/thtrain/data/mnist\n" + command(locations.cache + "/thtrain/data/mnist"));
  EXPECT_EQ(error_text([&] {
              find_data_set("mnist", {"images", "labels"}, "https://h/m", locations.config, "mnist");
            }),
            expected +
                "  got:      not in\n"
                "            " +
                locations.data + "/mnist (without labels)\n" + command(locations.data + "/mnist"));
  EnvironmentVariable cache("XDG_CACHE_HOME", "/home/ada's files");
  std::string text = error_text([&] { find_data_set("mnist", {"images", "labels"}, "https://h/m", locations.config); });
  EXPECT_NE(text.find(" mkdir -p '/home/ada'\\''s files/thtrain/data/mnist' && cd '/home/ada'\\''s files/"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace thtrain
