#include "trainers/written_version.h"

#include <gtest/gtest.h>

#include "compiler/base/build_info.h"
#include "compiler/base/file.h"
#include "tests/support/training_support.h"
#include "trainers/run_folder.h"

namespace thtrain {
namespace {

TEST(WrittenVersion, NumbersAreComparedFromLeftToRight) {
  EXPECT_TRUE(is_newer_version("0.10", "0.9.2"));
  EXPECT_TRUE(is_newer_version("1.0.1", "1.0"));
  EXPECT_TRUE(is_newer_version("2", "1.99.99"));
  EXPECT_FALSE(is_newer_version("1.0", "1.0.0"));
  EXPECT_FALSE(is_newer_version("0.9.2", "0.10"));
  EXPECT_FALSE(is_newer_version("1.2.3-rc1", "1.2.3"));
  EXPECT_FALSE(is_newer_version("", "0.1"));
  EXPECT_FALSE(is_newer_version("x", "0.1"));
  EXPECT_FALSE(is_newer_version("99999999999999999999999.1", "0.1"));  // no number
}

TEST(WrittenVersion, ARunOfANewerOneIsRefused) {
  TemporaryFolder temporary;
  const std::string path = temporary.path("run");
  RunFolder::create(path, small_experiment());
  std::string facts = read_file(path + "/run.json");
  const std::string entry = str("\"version\": \"", version, '"');
  ASSERT_NE(facts.find(entry), std::string::npos);
  // Nothing else of such a file is known.
  temporary.write("run/run.json", "{\"version\": \"1000.2\"}");
  EXPECT_EQ(error_text([&] { RunFolder::open(path); }),
            str("error: ", path,
                "/run.json: thtrain 1000.2 wrote this run, which is newer than this one\n"
                "  expected: a run of thtrain ",
                version, " or an earlier one\n  hint:     use thtrain 1000.2 or a newer one"));
  facts.replace(facts.find(entry), entry.size(), "\"version\": \"0.0.9\"");
  temporary.write("run/run.json", facts);
  EXPECT_EQ(RunFolder::open(path).path(), path);
}

}  // namespace
}  // namespace thtrain
