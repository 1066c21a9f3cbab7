#include "reports/json.h"

#include <cmath>

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

TEST(Json, ObjectsAndLines) {
  JsonObject o;
  o.add("name", "a \"b\"\n\\")
      .add("n", 3)
      .add("x", 0.1)
      .add("yes", true)
      .add("list", std::vector<std::string>{"a", "b"});
  o.add_error("valid_error", 7.5)
      .add_error("test_error", {})
      .add("bad", std::nan(""))
      .add_raw("o", JsonObject().line());
  EXPECT_EQ(o.line(), R"({"name": "a \"b\"\n\\", "n": 3, "x": 0.1, "yes": true, "list": ["a", "b"], )"
                      R"("valid_error": 7.500000, "bad": null, "o": {}})");
  EXPECT_EQ(JsonObject().add("a", 1).add("b", 2).lines(), "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
}

TEST(Json, TextThatIsNoUtf8) {
  EXPECT_EQ(json_string("\xc3\xa4 \xff\x01"), "\"\xc3\xa4 \\ufffd\\u0001\"");
  EXPECT_EQ(json_string("\xe2\x82"), "\"\\ufffd\\ufffd\"");
  EXPECT_EQ(json_string("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");  // half of a surrogate pair
  EXPECT_EQ(json_string("\xc0\xaf"), "\"\\ufffd\\ufffd\"");             // too long a form
  EXPECT_EQ(json_string("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

TEST(Json, FixedDecimals) {
  EXPECT_EQ(json_fixed(100.0 * 719 / 9600, 6), "7.489583");
  EXPECT_EQ(json_fixed(INFINITY, 6), "null");
}

TEST(Json, ReadsWhatItWrites) {
  JsonObject inner, outer;
  inner.add("threads", "2 \"\t\xc3\xa4\x02").add("n", -1.5);
  outer.add("command_line", std::vector<std::string>{"thtrain", "a b", ""})
      .add_raw("pins", inner.line())
      .add("ok", false);
  std::map<std::string, std::string> expected = {
      {"command_line.0", "thtrain"},          {"command_line.1", "a b"}, {"command_line.2", ""},
      {"pins.threads", "2 \"\t\xc3\xa4\x02"}, {"pins.n", "-1.5"},        {"ok", "false"}};
  EXPECT_EQ(read_json(outer.lines(), "run.json"), expected);
  EXPECT_EQ(read_json(" [ 1 , [ ] , { } ] ", "x"), (std::map<std::string, std::string>{{"0", "1"}}));
  EXPECT_EQ(read_json(R"("\u00e4\u20ac\/")", "x").at(""), "\xc3\xa4\xe2\x82\xac/");
}

TEST(Json, BrokenTextsAreErrors) {
  for (const char* text : {"", "{", "{\"a\"", "{\"a\": }", "{\"a\": 1", "{\"a\": 1} 2", "[1,]", "{a: 1}", "\"abc",
                           "\"\\x\"", "\"\\u12", "\"\\u12g4\"", "[1 2]"})
    EXPECT_THROW(read_json(text, "run.json"), UserError) << text;
  EXPECT_THROW(read_json(std::string(1000, '['), "x"), UserError);
  EXPECT_EQ(
      error_text([] { read_json("{\"a\": 1", "run.json"); }),
      "error: run.json: no valid JSON: it ends too early\n  expected: JSON, as it was written\n  got:      byte 7");
}

// A value is kept with its path: long keys within each other would take gigabytes.
TEST(Json, TextsThatWouldTakeAllTheMemory) {
  std::string key(100'000, 'k'), elements = "[0";
  for (int i = 1; i < 20'000; ++i) elements += ",0";
  EXPECT_EQ(error_text([&] { read_json(str("{\"", key, "\": {\"", key, "\": ", elements, "]}}"), "run.json"); }),
            "error: run.json: no valid JSON: a value has keys of more than 4096 bytes\n  expected: JSON, as it was "
            "written\n  got:      byte 100004");
  key.resize(4000);
  EXPECT_EQ(read_json(str("{\"", key, "\": ", elements, "]}"), "run.json").size(), 20'000u);
  for (int i = 1; i < 100'000; ++i) elements += ",0";
  EXPECT_TRUE(error_text([&] {
                read_json(str("{\"", key, "\": ", elements, "]}"), "run.json");
              }).starts_with("error: run.json: no valid JSON: it holds too much\n"));
  EXPECT_EQ(error_text([] { read_json(std::string((64 << 20) + 1, ' '), "run.json"); }),
            "error: run.json: no valid JSON: it has 67108865 bytes, and may have 67108864\n  expected: JSON, as it was "
            "written\n  got:      byte 0");
}

// What is escaped, of every plane; a pair that is one half is refused, and so is text that is not UTF-8.
TEST(Json, StringsAreAllOfUnicode) {
  const std::pair<const char*, const char*> rows[] = {
      {R"("\u007f\u0080\u07ff\u0800")", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80"},
      {R"("\ud7ff\uE000\uffff")", "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"},
      {R"("\ud800\udc00")", "\xf0\x90\x80\x80"},
      {R"("\uDBFF\uDFFFz")", "\xf4\x8f\xbf\xbfz"},
      {"\"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80"},
  };
  for (const auto& [text, value] : rows) EXPECT_EQ(read_json(text, "x").at(""), value) << text;
  EXPECT_EQ(read_json(R"("\u0000")", "x").at(""), std::string(1, '\0'));
  for (const char* half : {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\n")", R"("\ud800\ud800")",
                           R"("\ud800\u0041")", R"("\udfff\ud800")"})
    EXPECT_TRUE(error_text([&] {
                  read_json(half, "x");
                }).starts_with("error: x: no valid JSON: an escape is half of a surrogate pair\n"))
        << half;
  for (const char* no_number : {"\"\\u\x10\x10\x14\x11\"", "\"\\u004g\"", "\"\\u 041\""})
    EXPECT_TRUE(
        error_text([&] { read_json(no_number, "x"); }).starts_with("error: x: no valid JSON: an escape is no number\n"))
        << no_number;
  for (const char* bad :
       {"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", "\"\xf4\x90\x80\x80\"", "\"a\x80\""})
    EXPECT_TRUE(
        error_text([&] { read_json(bad, "x"); }).starts_with("error: x: no valid JSON: a string is not UTF-8\n"))
        << bad;
}

TEST(Json, ValuesAreThoseOfItsGrammar) {
  for (const char* text : {"0", "-0", "12", "-1.5", "1e5", "1E+05", "0.25e-3", "true", "false", "null"})
    EXPECT_EQ(read_json(text, "x").at(""), text);
  for (const char* text : {"nan", "NaN", "Infinity", "01", "+1", "-", ".5", "1.", "1e", "1e+", "0x1", "True", "abc",
                           "1 2", "\"\n\"", "\"\x01\""})
    EXPECT_THROW(read_json(text, "x"), UserError) << text;
}

}  // namespace
}  // namespace thtrain
