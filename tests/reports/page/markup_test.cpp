#include "reports/page/markup.h"

#include <gtest/gtest.h>

#include <regex>

namespace thtrain {
namespace {

TEST(Markup, EscapesWhatMarksUp) {
  EXPECT_EQ(markup_text("a<b&\"c\">d 'e'"), "a&lt;b&amp;&quot;c&quot;&gt;d 'e'");
  EXPECT_EQ(markup_text("tab\tline\n"), "tab\tline\n");
  EXPECT_EQ(markup_text(std::string("bell\a, null\0", 12)), "bell\xEF\xBF\xBD, null\xEF\xBF\xBD");
  EXPECT_EQ(markup_text("größer → ·"), "größer → ·");
}

TEST(Markup, CoordinatesHaveOneDecimalAtMost) {
  EXPECT_EQ(coordinate(12), "12");
  EXPECT_EQ(coordinate(0.25), "0.2");
  EXPECT_EQ(coordinate(-10.96), "-11");
  EXPECT_EQ(coordinate(3.149), "3.1");
}

TEST(CppMarkup, ColoursTokens) {
  EXPECT_EQ(cpp_markup("static const f32x8 v = splat(0x1p-1f); // a < b\n"),
            "<span class=\"k\">static</span> <span class=\"k\">const</span> <span class=\"k\">f32x8</span> v = "
            "splat(<span class=\"n\">0x1p-1f</span>); <span class=\"c\">// a &lt; b</span>\n");
  EXPECT_EQ(
      cpp_markup("#define A 1\nextern \"C\" x2 = a&&b; /* c\n*/"),
      "<span class=\"p\">#define A 1</span>\n<span class=\"k\">extern</span> <span class=\"n\">&quot;C&quot;</span> "
      "x2 = a&amp;&amp;b; <span class=\"c\">/* c\n*/</span>");
}

TEST(CppMarkup, WithoutItsMarksTheTextIsAsItWas) {
  for (const std::string text :
       {"", "\"open", "/* open", "\"a\\\"b\" + 'c'", "1.5e-3f-x", "a<b>::c(#d)\n# e", "_x9 \\"})
    EXPECT_EQ(std::regex_replace(cpp_markup(text), std::regex("</?span[^>]*>"), ""), markup_text(text));
}

}  // namespace
}  // namespace thtrain
