// Whole experiment files: every file of tests/errors gives its message, every shipped file reads back as itself, and
// docs/config.md is current. With THTRAIN_UPDATE_EXPECTED=1 the expected texts are written instead of compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/config_bases.h"
#include "cli/overrides.h"
#include "cli/toml_config.h"
#include "trainers/experiment.h"
#include "trainers/replaced_kinds.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

void expect_file(const fs::path& path, const std::string& text) {
  if (std::getenv("THTRAIN_UPDATE_EXPECTED")) std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(text, read_text(path)) << path;
}

std::vector<fs::path> toml_files(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".toml") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// The overrides of a file in tests/errors are in its comments: "# override: trainer.epochs=3".
std::vector<std::string> overrides_in(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  const std::string mark = "# override: ";
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(mark, 0) == 0) out.push_back(line.substr(mark.size()));
  return out;
}

std::string findings_text(const fs::path& path) {
  try {
    Findings findings;
    ConfigNode root = read_config(path.generic_string(), findings);
    const ConfigNode before = root;
    apply_overrides(root, overrides_in(read_text(path)), findings);
    drop_replaced_kinds(before, root);
    read_experiment(root, findings);
    findings.raise();
  } catch (const UserError& error) {
    return std::string(error.what()) + "\n";
  }
  return "no error\n";
}

TEST(ExperimentFiles, EveryMistakeHasItsWholeMessage) {
  std::vector<fs::path> files = toml_files("tests/errors");
  EXPECT_GE(files.size(), 20u);
  for (const fs::path& path : files) {
    SCOPED_TRACE(path);
    std::string text = findings_text(path);
    EXPECT_NE(text, "no error\n");
    expect_file(fs::path(path).replace_extension(".expected"), text);
  }
}

TEST(ExperimentFiles, ShippedConfigsReadBackAsThemselves) {
  std::vector<fs::path> files = toml_files("configs");
  EXPECT_GE(files.size(), 4u);
  for (const fs::path& path : files) {
    SCOPED_TRACE(path);
    Findings findings;
    Experiment first = read_experiment(read_config(path.generic_string(), findings), findings);
    ASSERT_NO_THROW(findings.raise());
    std::string resolved = resolved_toml(first);
    Experiment second = read_experiment(parse_toml(resolved, "resolved.toml", findings), findings);
    ASSERT_NO_THROW(findings.raise());
    EXPECT_EQ(resolved_toml(second), resolved);
    for (const char* part : {"# purpose:", "# data:", "# expected:", "# time:"})
      EXPECT_NE(read_text(path).find(part), std::string::npos) << part;
  }
}

TEST(ExperimentFiles, TheReferencePageIsCurrent) {
  expect_file("docs/config.md", config_reference());
}

}  // namespace
}  // namespace thtrain
