// A whole text against a file of tests/golden/.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace thtrain {

/// `text` must be what tests/golden/`file` holds. With THTRAIN_REWRITE_GOLDEN=1 the file becomes it.
inline void expect_golden(const std::string& text, const std::string& file) {
  std::string path = "tests/golden/" + file;
  const char* rewrite = std::getenv("THTRAIN_REWRITE_GOLDEN");
  if (rewrite && std::string(rewrite) == "1") std::ofstream(path) << text;
  std::ostringstream kept;
  kept << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, kept.str()) << "where the new text is right, this makes it the golden one:\n"
                              << "  THTRAIN_REWRITE_GOLDEN=1 ./run_tests -R Golden && git diff tests/golden";
}

}  // namespace thtrain
