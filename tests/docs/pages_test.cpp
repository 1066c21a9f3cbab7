// The pages together: the index lists each of them, links lead to files, and pages that must be short are.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <vector>

#include "compiler/base/file.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> pages() {
  std::vector<std::string> out = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"};
  for (const auto& entry : fs::recursive_directory_iterator("docs"))
    if (entry.path().extension() == ".md") out.push_back(entry.path().generic_string());
  std::sort(out.begin(), out.end());
  return out;
}

// The files that a page's links and pictures lead to, by their paths from the root.
std::vector<std::string> links_of(const std::string& page) {
  const std::string text = read_file(page);
  const std::regex link(R"(\]\(([^)#\s]+)(#[^)\s]*)?\))");
  std::vector<std::string> out;
  for (std::sregex_iterator i(text.begin(), text.end(), link), end; i != end; ++i)
    if (const std::string target = (*i)[1]; target.find("://") == std::string::npos)
      out.push_back((fs::path(page).parent_path() / target).lexically_normal().generic_string());
  return out;
}

TEST(Pages, TheIndexListsEachOfThem) {
  const std::vector<std::string> listed = links_of("docs/README.md");
  for (const std::string& page : pages()) {
    const bool is_listed = std::find(listed.begin(), listed.end(), page) != listed.end();
    EXPECT_TRUE(is_listed || page == "docs/README.md") << page;
  }
}

TEST(Pages, TheirLinksLeadToFiles) {
  size_t links = 0;
  for (const std::string& page : pages()) {
    for (const std::string& target : links_of(page)) {
      ++links;
      EXPECT_TRUE(fs::exists(target)) << page << " links to " << target;
    }
  }
  EXPECT_GT(links, 100u);
}

TEST(Pages, AreAsShortAsTheyPromise) {
  const std::vector<std::pair<const char*, int64_t>> most = {
      {"README.md", 110}, {"docs/performance.md", 90}, {"docs/config.md", 900}};
  for (const auto& [page, lines] : most) {
    const std::string text = read_file(page);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), lines) << page;
  }
}

}  // namespace
}  // namespace thtrain
