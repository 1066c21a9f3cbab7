// Tests of compiler/host/compile_units.h: what is in a unit, and how kernels are dealt out.
#include "compiler/host/compile_units.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/kernel_programs.h"

namespace thtrain {
namespace {

std::vector<std::string> symbols_of(const SourceText& source) {
  std::vector<std::string> out;
  for (const KernelText& kernel : source.kernels) out.push_back(kernel_symbol(source, kernel));
  return out;
}

TEST(KernelSymbol, DependsOnTheKernelsTextAndNotOnItsProgram) {
  SourceText one = adding_program({1, 2}), other = adding_program({2});
  other.helpers.insert(other.helpers.begin(), "typedef float unused;\n");
  other.kernels[0].helpers = {1};
  EXPECT_EQ(symbols_of(one)[1], symbols_of(other)[0]);
  EXPECT_TRUE(symbols_of(one)[1].starts_with("th_add_"));
  EXPECT_NE(symbols_of(one)[0], symbols_of(one)[1]);
}

TEST(KernelSymbol, ChangesWithAHelper) {
  SourceText one = adding_program({1}), other = one;
  other.helpers[0] += "// another\n";
  EXPECT_NE(symbols_of(one), symbols_of(other));
}

TEST(UnitText, HoldsTheHelpersOfItsKernelsAlone) {
  SourceText source = adding_program({1, 2, 3}, 10);
  source.helpers.push_back("static int helper_of_the_third;\n");
  source.kernels[2].helpers = {0, 1};
  std::vector<std::string> symbols = symbols_of(source);
  std::string first = unit_text(source, symbols, {0, 1}), second = unit_text(source, symbols, {2});
  EXPECT_EQ(first.find("helper_of_the_third"), std::string::npos);
  EXPECT_NE(second.find("helper_of_the_third"), std::string::npos);
  EXPECT_NE(first.find("// sum + value\nextern \"C\" __attribute__((weak, visibility(\"hidden\"))) void " + symbols[1] +
                       "(ThContext* ctx, "),
            std::string::npos);
  EXPECT_EQ(first.find("thtrain_entry("), std::string::npos);
}

TEST(EntryText, CallsKernelsByTheNamesThatPeopleReadInTheWholeText) {
  SourceText source = adding_program({1, 2}, 10);
  std::vector<std::string> symbols = symbols_of(source);
  std::string text = entry_text(source, symbols);
  EXPECT_NE(text.find("void k1_add(ThContext*, void* const*, const long*, long, long)\n    __asm__(\"" + symbols[1] +
                      "\");\n"),
            std::string::npos);
  EXPECT_TRUE(text.ends_with(source.entry));
}

std::vector<std::vector<size_t>> dealt(const std::vector<size_t>& bytes, size_t processes) {
  SourceText source;
  std::vector<size_t> all;
  for (size_t i = 0; i < bytes.size(); ++i) {
    source.kernels.push_back({"", "", "", std::string(bytes[i], ' '), {}});
    all.push_back(i);
  }
  return deal_kernels(all, source, processes);
}

TEST(DealKernels, KeepsAllProcessesBusyWhereThatIsWorthTheirStart) {
  EXPECT_EQ(dealt({50'000, 15'000, 15'000, 10'000}, 2), (std::vector<std::vector<size_t>>{{0}, {1, 2, 3}}));
  EXPECT_EQ(dealt({50'000, 50'000, 50'000, 50'000, 50'000, 50'000}, 4).size(), 4u);
  EXPECT_EQ(dealt({1'000, 1'000, 1'000}, 4).size(), 1u);
  EXPECT_EQ(dealt({50'000}, 4).size(), 1u);
  EXPECT_EQ(dealt({}, 4).size(), 0u);
}

TEST(DealKernels, MakesMoreUnitsThanProcessesOfALongProgram) {
  auto units = dealt(std::vector<size_t>(40, 50'000), 2);
  EXPECT_EQ(units.size(), 8u);
  size_t kernels = 0;
  for (const auto& unit : units) {
    EXPECT_LE(unit.size(), 5u);
    EXPECT_TRUE(std::is_sorted(unit.begin(), unit.end()));
    kernels += unit.size();
  }
  EXPECT_EQ(kernels, 40u);
}

TEST(DealKernels, CountsHelpersWithEachKernelThatCallsThem) {
  SourceText source = adding_program({1, 2, 3}, 20'000);
  source.helpers.push_back(std::string(10'000, ' '));
  source.kernels[1].helpers.push_back(1);
  EXPECT_EQ(deal_kernels({0, 1, 2}, source, 2), (std::vector<std::vector<size_t>>{{1}, {0, 2}}));
}

TEST(DealKernels, LeavesTheEntryItsTimeWhereEachProcessHasOneUnit) {
  SourceText source = adding_program({1, 2, 3, 4}, 20'000);
  source.entry = std::string(40'000, ' ');
  EXPECT_EQ(deal_kernels({0, 1, 2, 3}, source, 2), (std::vector<std::vector<size_t>>{{0, 1, 2}, {3}}));
}

TEST(IsShort, FollowsTheKernelsTheirLengthsAndThoseOfTheirHelpersAlone) {
  EXPECT_TRUE(is_short(adding_program({})));
  EXPECT_TRUE(is_short(adding_program({1}, 50'000)));
  EXPECT_FALSE(is_short(adding_program({1, 2}, 50'000)));
  EXPECT_TRUE(is_short(adding_program(std::vector<int>(15, 1), 500)));
  EXPECT_FALSE(is_short(adding_program(std::vector<int>(30, 1), 500)));
  SourceText with_helper = adding_program({1}, 50'000);
  with_helper.helpers[0] += std::string(10'000, ' ');
  EXPECT_FALSE(is_short(with_helper));
}

}  // namespace
}  // namespace thtrain
