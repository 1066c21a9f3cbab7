#include "tests/support/fuzz_settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

// The variables as a test found them, afterwards too.
class FuzzSettingsOf : public testing::Test {
 protected:
  void SetUp() override { save("THTRAIN_FUZZ_SEED", seed_), save("THTRAIN_FUZZ_CASES", cases_); }
  void TearDown() override { restore("THTRAIN_FUZZ_SEED", seed_), restore("THTRAIN_FUZZ_CASES", cases_); }

 private:
  static void save(const char* name, std::optional<std::string>& to) {
    if (const char* value = std::getenv(name)) to = value;
    unsetenv(name);
  }
  static void restore(const char* name, const std::optional<std::string>& value) {
    value ? setenv(name, value->c_str(), 1) : unsetenv(name);
  }
  std::optional<std::string> seed_, cases_;
};

TEST_F(FuzzSettingsOf, NothingAreTheDefaults) {
  EXPECT_EQ(fuzz_settings(7, 20).text(), "THTRAIN_FUZZ_SEED=7 THTRAIN_FUZZ_CASES=20");
}

TEST_F(FuzzSettingsOf, VariablesAreTheirs) {
  setenv("THTRAIN_FUZZ_SEED", "18446744073709551615", 1);
  setenv("THTRAIN_FUZZ_CASES", "3", 1);
  EXPECT_EQ(fuzz_settings(7, 20).text(), "THTRAIN_FUZZ_SEED=18446744073709551615 THTRAIN_FUZZ_CASES=3");
}

TEST_F(FuzzSettingsOf, OtherTextIsAnError) {
  setenv("THTRAIN_FUZZ_CASES", "many", 1);
  EXPECT_EQ(error_text([] { fuzz_settings(7, 20); }),
            "error: THTRAIN_FUZZ_CASES is no whole number\n  expected: like 12\n  got:      many");
  setenv("THTRAIN_FUZZ_CASES", "0", 1);
  EXPECT_EQ(error_text([] { fuzz_settings(7, 20); }), "error: THTRAIN_FUZZ_CASES asks for no cases\n  got:      0");
}

}  // namespace
}  // namespace thtrain
