#include "datasets/csv_text.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

// As Python's csv reads them, but for the blanks around a cell.
TEST(CsvText, TextBehindAQuoteBelongsToTheCell) {
  auto cells = [](std::string_view line) {
    std::vector<std::string> out;
    EXPECT_EQ(for_each_cell(line, ',', [&](std::string_view cell) { out.emplace_back(cell); }), std::string::npos);
    return out;
  };
  EXPECT_EQ(cells(R"("a" b,"a"b , "a " ,"5\" pipe")"), (std::vector<std::string>{"a b", "ab", "a ", R"(5\ pipe")"}));
}

TEST(CsvText, DatesAndFormattedNumbers) {
  for (const char* text : {"2024-01-31", "31.1.2024", "1/31/24", "12:30", "2024-1-31T12:00", "31-12-1999 10:00"})
    EXPECT_TRUE(is_date(text)) << text;
  for (const char* text : {"", "20-30", "1.2", "1.2.3", "12", "a", "2024", "2024-01", "10:5", "1-2-3"})
    EXPECT_FALSE(is_date(text)) << text;
  for (const char* text : {"$5", "5%", "1,000", "1 000", "-1'000.5", "1.000,5"})
    EXPECT_TRUE(is_formatted_number(text)) << text;
  for (const char* text : {"", "%", "20-30", "3 kg", "A1", "-"}) EXPECT_FALSE(is_formatted_number(text)) << text;
}

}  // namespace
}  // namespace thtrain
