#include "reports/report/report_page.h"

#include <gtest/gtest.h>

#include "reports/page/page.h"
#include "tests/support/folder_test.h"

namespace thtrain {
namespace {

const std::string kOdd = "</script><script>alert(\"1\")</script>&'\x01";

Report odd_report() {
  Report out{.title = kOdd, .time = "now"};
  out.measures = {{.label = kOdd, .name = kOdd}};
  out.curves = {{.name = kOdd, .values = {{kOdd, {{1, 0.5}, {2, 0.25}}}}, .phases = {{0.5, kOdd}}}};
  ReportTable table{.title = kOdd, .rows = {{kOdd, "number"}, {kOdd, "1.5"}}, .links = {kOdd}};
  out.groups = {{.title = kOdd,
                 .about = kOdd,
                 .tables = {table},
                 .plot = ReportPlot{.axes = {kOdd, "error"}, .names = {kOdd}, .values = {{kOdd, "3"}}}}};
  ReportPicture picture{.what = kOdd, .type = "image/png", .bytes = "abcd"};
  out.runs = {{.name = kOdd,
               .folder = kOdd,
               .facts = {{kOdd, kOdd}},
               .note = kOdd,
               .pictures = {picture},
               .series = {{.title = kOdd, .pictures = {{kOdd, picture}}}},
               .tables = {table},
               .left_out = {kOdd},
               .config = kOdd}};
  return out;
}

size_t times(const std::string& text, const std::string& part) {
  size_t out = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++out;
  return out;
}

TEST(ReportPage, EveryTextIsEscaped) {
  const std::string page = report_page(odd_report());
  EXPECT_EQ(times(page, "<script>alert"), 0u);
  EXPECT_EQ(times(page, "<script"), 2u);  // the data and the script
  EXPECT_EQ(times(page, "</script>"), 2u);
  EXPECT_GE(times(page, "&lt;/script&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;'\\x01"), 15u);
  EXPECT_GE(times(page, "\\u003c/script\\u003e\\u003cscript\\u003ealert(\\\"1\\\")"), 7u);
  EXPECT_EQ(page.find('\x01'), std::string::npos);
}

TEST(ReportPage, FetchesNothing) {
  const std::string page = report_page(odd_report());
  for (const char* fetch : {"src=\"http", "@import", "url(", "<link", "<iframe", "fetch("})
    EXPECT_EQ(times(page, fetch), 0u) << fetch;
  EXPECT_EQ(times(page, "src="), times(page, "src=\"data:image/png;base64,YWJjZA==\""));
}

TEST(ReportPage, NumbersAreOnTheRightAndRowsLeadToTheirRuns) {
  Report report{.title = "t", .time = "now"};
  report.runs = {{.name = "a", .folder = "runs/a"}};
  report.groups = {
      {.title = "g", .tables = {{"", {{"run", "test", "end"}, {"a", "-1.5", "x"}, {"b", "-", "2"}}, {"a", "b"}}}}};
  const std::string page = report_page(report);
  EXPECT_EQ(times(page, "<th>run</th><th class=\"number\">test</th><th>end</th>"), 1u);
  EXPECT_EQ(times(page, "<tr data-run=\"a\"><td><a href=\"#run-0\">a</a></td><td class=\"number\">-1.5</td>"), 1u);
  EXPECT_EQ(times(page, "<tr data-run=\"b\"><td>b</td>"), 1u);  // its part is not on the page
}

TEST(ReportPage, ReadsItselfAgainWhileRunsGoOn) {
  Report report{.title = "t", .time = "now", .reload = 5};
  EXPECT_EQ(times(report_page(report), "\"reload\": 5"), 1u);
  EXPECT_EQ(times(report_page(report), "and again while runs go on"), 1u);
  report.reload = 0;
  EXPECT_EQ(times(report_page(report), "and again while runs go on"), 0u);
}

class PageFile : public FolderTest {
 protected:
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(root_ + "/" + name) << text;
    return root_ + "/" + name;
  }
};

TEST_F(PageFile, SaysWhoMadeIt) {
  const std::string report = put("report.html", report_page({.title = "t", .time = "now"}));

  EXPECT_TRUE(is_page_of(report, kReportMaker));
  EXPECT_FALSE(is_page_of(report, "thtrain explain"));
  EXPECT_FALSE(is_page_of(put("other.html", "<html></html>"), kReportMaker));
  EXPECT_FALSE(is_page_of(root_ + "/none.html", kReportMaker));
}

}  // namespace
}  // namespace thtrain
