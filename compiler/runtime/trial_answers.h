// The lines by which a process that tries candidates answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// What a line says, and its fields.
struct TrialLine {
  std::string kind;
  std::vector<std::string> fields;
};

// What is done from now on: "in compute()". A second field: the candidate's code runs, for at most so many seconds.
inline constexpr const char* kStageLine = "stage";
inline constexpr const char* kDeclaredLine = "declared";  // a candidate
inline constexpr const char* kAppliesLine = "applies";    // name, bytes of workspace
inline constexpr const char* kTimeLine = "time";          // seconds, flops, load
inline constexpr const char* kRefusedLine = "refused";    // why
inline constexpr const char* kErrorLine = "error";        // a Message: what, expected, got, hint
inline constexpr const char* kDoneLine = "done";          // that was all

std::string text_of(const TrialLine& line);
/// Of a whole output; what is no such line is left out.
std::vector<TrialLine> trial_lines(std::string_view output);

inline constexpr const char* kWrongResult = "wrong result";
/// The exit status where the answer cannot be written: the candidate's code closed what is not its own.
inline constexpr int kNoAnswer = 97;

}  // namespace thtrain
