// The lines by which a process that tries candidates answers, and in which answers are remembered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// The fields of a line, of which the first says what it is.
using TrialLine = std::vector<std::string>;

inline constexpr const char* kStageLine = "stage";  // which code of the candidate runs from now on: "in compute()"
inline constexpr const char* kDeclaredLine = "declared";  // computation, name, version, error bound of a candidate
inline constexpr const char* kAppliesLine = "applies";    // name, bytes of workspace
inline constexpr const char* kTimeLine = "time";          // seconds, flops, load
inline constexpr const char* kRefusedLine = "refused";    // why
inline constexpr const char* kErrorLine = "error";        // a Message: what, expected, got, hint
inline constexpr const char* kDoneLine = "done";          // that was all

/// The line with its end.
std::string text_of(const TrialLine& line);
/// The whole lines of a text.
std::vector<TrialLine> trial_lines(std::string_view text);

}  // namespace thtrain
