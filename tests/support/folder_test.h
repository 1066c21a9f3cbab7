// A fixture whose tests have a folder of their own, and a cache in it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace thtrain {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (std::filesystem::temp_directory_path() / "thtrain-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    root_ = made;
    folder_ = root_ + "/cache";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  /// Writes a program for the shell to root_/`name` and returns its path.
  std::string put_script(const std::string& name, const std::string& text) const {
    std::string path = root_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    EXPECT_EQ(chmod(path.c_str(), 0755), 0);
    return path;
  }
  /// What the cache holds of a kind, by name.
  std::vector<std::string> files(const std::string& kind, const std::string& suffix = "") const {
    std::vector<std::string> out;
    if (std::filesystem::exists(folder_ + "/" + kind))
      for (const auto& file : std::filesystem::directory_iterator(folder_ + "/" + kind))
        if (file.path().string().ends_with(suffix)) out.push_back(file.path());
    std::sort(out.begin(), out.end());
    return out;
  }

  std::string root_, folder_;  // the second is not made yet
};

}  // namespace thtrain
