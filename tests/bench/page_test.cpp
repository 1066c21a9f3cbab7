// The page of all tables: summaries, and sections that are written anew.
#include "bench/page.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

Measurement measured(const std::string& implementation, const std::string& kind, const std::string& case_name,
                     double value) {
  return {.bench = "mlp",
          .case_name = case_name,
          .dtype = "float32",
          .implementation = implementation,
          .kind = kind,
          .version = kind.empty() ? "" : implementation + " 1.0",
          .unit = "examples/s",
          .value = value,
          .low = value,
          .high = value,
          .rounds = {value}};
}

std::vector<Measurement> two_cases() {
  return {measured("thtrain", "", "4-3-2/1", 80),   measured("numpy", "user", "4-3-2/1", 20),
          measured("torch", "best", "4-3-2/1", 40), measured("thtrain", "", "4-3-2/8", 90),
          measured("numpy", "user", "4-3-2/8", 45), measured("torch", "best", "4-3-2/8", 180)};
}

TEST(BenchPage, ASummaryHasGeometricMeansAndTheWorstCase) {
  // 80/40 and 90/180 over the fastest, 80/20 and 90/45 over what users write.
  EXPECT_NE(
      summary_table(two_cases()).find("| float32 | 1 |  | 2 | 1.00 | 2.83 | 4-3-2/8: 0.50 (0.50-0.50), torch |\n"),
      std::string::npos)
      << summary_table(two_cases());
}

TEST(BenchPage, WithoutPeersThereIsNoSummary) {
  EXPECT_EQ(summary_table({measured("thtrain", "", "4-3-2/1", 80)}), "");
}

TEST(BenchPage, ASectionNamesTheMachineAndEverybodysVersion) {
  const std::string section = page_section(two_cases(), "a machine");
  EXPECT_TRUE(section.starts_with("Machine: a machine. Peers: numpy 1.0, torch 1.0.\n\n")) << section;
  EXPECT_NE(section.find("| 4-3-2/8 |"), std::string::npos) << section;
}

TEST(BenchPage, ASectionIsReplacedAndOthersKeepTheirBytes) {
  const std::string page = "# Tables\n\nText.\n\n## mlp\n\nold\nrows\n\n## logreg\n\nkept\n";
  EXPECT_EQ(with_section(page, "mlp", "new\n\n"), "# Tables\n\nText.\n\n## mlp\n\nnew\n\n## logreg\n\nkept\n");
  EXPECT_EQ(with_section(page, "logreg", "new\n\n"),
            "# Tables\n\nText.\n\n## mlp\n\nold\nrows\n\n## logreg\n\nnew\n\n");
}

TEST(BenchPage, ASectionThatIsMissingIsAdded) {
  EXPECT_EQ(with_section("", "gemm", "rows\n\n"), "## gemm\n\nrows\n\n");
  EXPECT_EQ(with_section("# Tables", "gemm", "rows\n\n"), "# Tables\n\n## gemm\n\nrows\n\n");
  EXPECT_EQ(with_section("## gemms\n\nx\n", "gemm", "rows\n\n"), "## gemms\n\nx\n\n## gemm\n\nrows\n\n");
}

}  // namespace
}  // namespace thtrain
