// The pages for classes name every lesson, every question and every built-in lab. (Their commands are run by
// tests/docs/page_commands.py.)
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "compiler/base/file.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kPages = {"docs/labs.md", "docs/worksheet.md", "docs/tutorial/README.md"};

// Every lesson is in the lessons' page, which names no other; every lesson that the labs name is there.
TEST(ClassPagesLists, EveryLessonHasALine) {
  std::set<std::string> lessons;
  for (const auto& entry : fs::directory_iterator("docs/tutorial"))
    if (entry.path().filename().string().starts_with("lesson_")) lessons.insert(entry.path().stem().string());
  for (const std::string& page : kPages) {
    std::ifstream stream(page);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    const std::regex name("lesson_[0-9]+(_[a-z_]+[a-z])?");
    std::set<std::string> named;
    for (std::sregex_iterator i(text.begin(), text.end(), name), end; i != end; ++i) {
      const std::string found = i->str();
      EXPECT_TRUE(std::any_of(lessons.begin(), lessons.end(), [&](const auto& l) { return l.starts_with(found); }))
          << page << " names " << found;
      named.insert(found);
    }
    if (page != "docs/tutorial/README.md") continue;
    for (const std::string& lesson : lessons) EXPECT_TRUE(named.contains(lesson)) << page << " lacks " << lesson;
  }
}

// Q1.1 and so on.
std::set<std::string> questions_of(const std::string& page) {
  const std::string text = read_file(page);
  const std::regex question("Q[1-7]\\.[0-9]");
  std::set<std::string> out;
  for (std::sregex_iterator i(text.begin(), text.end(), question), end; i != end; ++i) out.insert(i->str());
  return out;
}

TEST(ClassPagesLists, EveryQuestionIsAskedInTheLabsAndAnswered) {
  const std::set<std::string> questions = questions_of("docs/worksheet.md");
  EXPECT_GE(questions.size(), 30u);
  EXPECT_EQ(questions_of("docs/labs.md"), questions);
  EXPECT_EQ(questions_of("docs/worksheet_answers.md"), questions);
}

// The labs that need no files.
TEST(ClassPagesLists, EveryBuiltInLabHasALine) {
  std::ifstream stream("docs/labs.md");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const std::regex source("\nsource = \"(digits|friedman|two_digits|reber|adding|strokes|moons)\"");
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator("configs/labs")) {
    std::ifstream file(entry.path());
    const std::string lab((std::istreambuf_iterator<char>(file)), {});
    if (!std::regex_search(lab, source)) continue;
    ++count;
    EXPECT_NE(text.find(entry.path().stem().string()), std::string::npos) << entry.path();
  }
  EXPECT_GE(count, 12u);
}

}  // namespace
}  // namespace thtrain
