#include "compiler/runtime/trial_answers.h"

#include "compiler/base/escape.h"
#include "compiler/base/str.h"

namespace thtrain {

static constexpr std::string_view kTrialMark = "thtrain-trial";

std::string text_of(const TrialLine& line) {
  std::string out = str(kTrialMark, "\t", line.kind);
  for (const std::string& field : line.fields) out += "\t" + escaped(field);
  return out + "\n";
}

std::vector<TrialLine> trial_lines(std::string_view output) {
  std::vector<TrialLine> out;
  for (size_t begin = 0, end; (end = output.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
    const std::string_view line = output.substr(begin, end - begin);
    if (!line.starts_with(kTrialMark)) continue;
    std::vector<std::string> fields;
    for (size_t at = kTrialMark.size(); at < line.size();) {
      const size_t next = std::min(line.find('\t', at + 1), line.size());
      fields.push_back(unescaped(line.substr(at + 1, next - at - 1)));
      at = next;
    }
    if (fields.empty()) continue;
    TrialLine found{fields.front(), {}};
    found.fields.assign(fields.begin() + 1, fields.end());
    out.push_back(std::move(found));
  }
  return out;
}

}  // namespace thtrain
