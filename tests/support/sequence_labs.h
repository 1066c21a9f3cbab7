// Small files instead of those that labs of sequences read.
#pragma once

#include <string>
#include <vector>

#include "tests/support/datasets_support.h"

namespace thtrain {

/// A text of 7,000 characters, and pieces of music of 4 keys; what makes such a lab small.
inline std::vector<std::string> small_sequence_files(const std::string& lab, const TemporaryFolder& folder) {
  if (lab == "rnn_chars") {
    std::string text;
    while (text.size() < 7000) text += "to be, or not to be, that is the question\n";
    return {"data.file=" + folder.write("text.txt", text), "data.steps=10"};
  }
  if (lab != "rnn_jsb" && lab != "rnnrbm_jsb") return {};
  std::string pieces;
  for (int piece = 0; piece < 150; ++piece) {
    const int steps = 5 + piece % 7;
    pieces += std::string("@ ") +
              (piece % 6 == 4   ? "valid "
               : piece % 6 == 5 ? "test "
                                : "train ") +
              std::to_string(steps) + " 88\n";
    for (int step = 0; step < steps; ++step)
      pieces += std::to_string(40 + step % 3) + " " + std::to_string(50 + step % 2) + "\n";
  }
  return {"data.file=" + folder.write("pieces.txt", pieces)};
}

}  // namespace thtrain
