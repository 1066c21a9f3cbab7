// What is remembered of the keys that a shared object's candidates compute.
#include "compiler/tuning/candidate_answers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "compiler/base/str.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;

// A file of this run alone.
CandidateFile file_of_test(const char* which) {
  return {"/nowhere/mine.so", str(which, " ", getpid())};
}

ChoiceKey key(int number) {
  return {"matrix_product", str("float32 2x2x", number, " NN")};
}

TEST(CandidateAnswers, AreThoseOfTheFileAndTheKey) {
  const CandidateFile file = file_of_test("a");
  EXPECT_EQ(remembered_answer(file, key(1)), std::nullopt);
  remember_answer(file, key(1), {});
  remember_answer(file, key(2), {{"mine", 0}, {"other one", int64_t{1} << 40}});
  EXPECT_EQ(remembered_answer(file, key(1)), AppliesAnswer());
  EXPECT_EQ(remembered_answer(file, key(2)), (AppliesAnswer{{"mine", 0}, {"other one", int64_t{1} << 40}}));
  EXPECT_EQ(remembered_answer(file, key(3)), std::nullopt);
  EXPECT_EQ(remembered_answer(file_of_test("b"), key(2)), std::nullopt) << "another content";
}

TEST(CandidateAnswers, ProcessesThatRememberAtTheSameTimeForgetNothing) {
  constexpr int kProcesses = 4, kEach = 20;
  const CandidateFile file = file_of_test("c");
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() == 0) {
      for (int i = 0; i < kEach; ++i) remember_answer(file, key(process * kEach + i), {{"mine", i}});
      _exit(0);
    }
  }
  for (pid_t child : children) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (int i = 0; i < kProcesses * kEach; ++i)
    EXPECT_EQ(remembered_answer(file, key(i)), (AppliesAnswer{{"mine", i % kEach}})) << i;
}

}  // namespace
}  // namespace thtrain
