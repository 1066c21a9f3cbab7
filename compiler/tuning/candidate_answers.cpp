#include "compiler/tuning/candidate_answers.h"

#include <charconv>
#include <mutex>

#include "compiler/base/content_hash.h"
#include "compiler/host/cpu.h"
#include "compiler/store/tuning_store.h"
#include "compiler/tuning/candidate_abi.h"
#include "compiler/tuning/trial_answers.h"

namespace thtrain {
namespace {

using Answers = std::map<std::string, AppliesAnswer>;  // by the key's text

std::string entry_name(const CandidateFile& file) {
  return content_hash({"candidates 2", cpu().feature_text, std::to_string(TH_CANDIDATES_VERSION), file.hash});
}

// A line for each candidate that computes the key; one without a candidate where none does.
std::string file_text(const Answers& answers) {
  std::string out;
  for (const auto& [key, answer] : answers) {
    if (answer.empty()) out += text_of({key});
    for (const auto& [name, bytes] : answer) out += text_of({key, name, std::to_string(bytes)});
  }
  return out;
}

Answers read(const CandidateFile& file) {
  Answers out;
  const std::optional<EntryStore::Entry> entry = tuning_store().read(kTuningFolder, entry_name(file));
  for (const TrialLine& line : trial_lines(entry ? entry->content : "")) {
    AppliesAnswer& answer = out[line[0]];
    if (line.size() != 3) continue;
    std::from_chars(line[2].data(), line[2].data() + line[2].size(), answer[line[1]]);
  }
  return out;
}

// Of the files of this process, read once.
std::mutex answers_mutex;
Answers& answers_of(const CandidateFile& file, bool anew) {
  static std::map<std::string, Answers> all;
  if (anew) all.erase(file.hash);
  const auto at = all.find(file.hash);
  return at != all.end() ? at->second : all.emplace(file.hash, read(file)).first->second;
}

}  // namespace

std::optional<AppliesAnswer> remembered_answer(const CandidateFile& file, const kernel::ChoiceKey& key) {
  std::lock_guard lock(answers_mutex);
  const Answers& known = answers_of(file, false);
  const auto at = known.find(key.text());
  return at == known.end() ? std::nullopt : std::optional(at->second);
}

void remember_answer(const CandidateFile& file, const kernel::ChoiceKey& key, const AppliesAnswer& answer) {
  std::lock_guard lock(answers_mutex);
  const std::shared_ptr<const FileDescriptor> between_processes = tuning_store().lock(kTuningFolder);
  Answers& known = answers_of(file, true);  // another process may have added to it
  known[key.text()] = answer;
  tuning_store().write(kTuningFolder, entry_name(file), file_text(known));
}

}  // namespace thtrain
