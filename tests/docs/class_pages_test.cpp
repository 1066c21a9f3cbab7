// The commands of the pages for classes run: what is in blocks of `sh` in docs/labs.md, docs/worksheet.md and
// docs/tutorial/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "compiler/base/str.h"
#include "datasets/file.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kPages = {"docs/labs.md", "docs/worksheet.md", "docs/tutorial/README.md"};

// Lines of the page's blocks of `sh`, without comments.
std::vector<std::string> commands_of(const std::string& page) {
  std::vector<std::string> out;
  std::ifstream stream(page);
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("```")) {
      inside = line == "```sh";
      continue;
    }
    if (!inside) continue;
    if (const size_t comment = line.find("  #"); comment != std::string::npos) line.resize(comment);
    if (!line.empty() && line[0] != '#') out.push_back(line);
  }
  return out;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

// `./thtrain lesson 6` is the launcher's: there is one lesson of this number. (The lessons are tests of their own.)
void expect_lesson(const std::vector<std::string>& words) {
  ASSERT_EQ(words.size(), 3u);
  const std::string number = words[2].size() == 1 ? "0" + words[2] : words[2];
  size_t found = 0;
  for (const auto& entry : fs::directory_iterator("docs/tutorial"))
    found += entry.path().filename().string().starts_with("lesson_" + number + "_");
  EXPECT_EQ(found, 1u) << words[2];
}

// What a command promises is there: what it prints, and the files and folders that it names.
void expect_done(const Workshop& workshop, const std::string& command, const Ended& ended) {
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_EQ(ended.err.find("error"), std::string::npos) << ended.err;
  const std::vector<std::string> words = words_of(command);
  bool is_redirected = false;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& location = words[i + 1];
    if (words[i] == "--run-dir") {
      EXPECT_TRUE(workshop.exists(location + "/run.json") && workshop.exists(location + "/best.npz")) << location;
    }
    if (words[i] == "--html" || words[i] == "--output" || words[i] == ">") {
      EXPECT_GT(workshop.read(location).size(), 100u) << location;
    }
    is_redirected = is_redirected || words[i] == ">";
  }
  EXPECT_EQ(ended.out.empty(), is_redirected) << ended.out;
}

class ClassPages : public testing::TestWithParam<std::string> {};

// Training is cut to two epochs. The commands of a page run one after the other in one folder, as a student's do.
TEST_P(ClassPages, EveryCommandRuns) {
  Workshop workshop;
  fs::create_symlink(fs::absolute("configs"), workshop.path("configs"));
  size_t run = 0;
  for (std::string command : commands_of(GetParam())) {
    SCOPED_TRACE(command);
    if (const std::vector<std::string> words = words_of(command); words.size() > 1 && words[1] == "lesson") {
      expect_lesson(words);
      continue;
    }
    const std::string program = "./thtrain ";
    const size_t at = command.find(program);
    ASSERT_NE(at, std::string::npos);
    if (command.find("thtrain train") != std::string::npos) {
      const size_t end = std::min(command.find(" |"), command.find(" >"));
      command.insert(std::min(end, command.size()), " trainer.epochs=2");
    }
    command.replace(at, program.size(), "OMP_NUM_THREADS=1 \"$THTRAIN\" ");
    const Ended ended = workshop.shell(command);
    expect_done(workshop, command, ended);
    ++run;
  }
  if (GetParam() == "docs/labs.md") {
    EXPECT_GE(run, 20u);
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, ClassPages, testing::ValuesIn(kPages), [](const auto& info) {
  return std::regex_replace(
      fs::path(info.param).parent_path().filename().string() + "_" + fs::path(info.param).stem().string(),
      std::regex("[^A-Za-z0-9]"), "_");
});

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
  const std::regex question("Q[1-6]\\.[0-9]");
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
