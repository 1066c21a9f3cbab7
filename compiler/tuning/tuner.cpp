#include "compiler/tuning/tuner.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "compiler/base/content_hash.h"
#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "compiler/cuda/device_program.h"
#include "compiler/host/cache.h"
#include "compiler/host/cpu.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/store/tuning_store.h"
#include "compiler/tuning/candidate_trials.h"
#include "compiler/tuning/trial_process.h"
#include "compiler/tuning/user_candidates.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;

// Tables by the machine's text, read once.
std::mutex tables_mutex;
bool is_readable = true;  // the last file that was read; one that is not is not overwritten

void warn_of_damage(const EntryStore::Kept& kept) {
  static std::set<std::string> said;
  const std::string text =
      kept.stays ? str("thtrain: warning: the times of implementations on this machine cannot be read: ", kept.path,
                       ": ", kept.trouble, "; nothing is remembered until that file can be read, or is removed")
                 : str("thtrain: warning: the times of implementations on this machine are not used: ", kept.path, ": ",
                       kept.trouble, "; it is kept as ", kept.path, ".damaged, and `thtrain tune` measures them again");
  if (said.insert(text).second) std::fprintf(stderr, "%s\n", printable(text).c_str());
}

TuningTable& table_for(const std::string& machine, bool anew) {
  static std::map<std::string, TuningTable> once;
  if (anew) once.erase(machine);  // another process may have added to the file
  auto [at, fresh] = once.try_emplace(machine);
  if (fresh) {
    const EntryStore::Kept kept = tuning_store().read_kept(kTuningFolder, content_hash({machine}));
    if (kept.entry) at->second = TuningTable::parse(kept.entry->content);
    if (!kept.trouble.empty()) warn_of_damage(kept);
    is_readable = !kept.stays;
  }
  return at->second;
}

bool may_be_chosen(const Candidate& candidate, double tolerance) {
  return candidate.deterministic && (candidate.rounding != RoundingClass::kOther || candidate.error_bound <= tolerance);
}

}  // namespace

std::optional<std::string> version_of(const Candidate& candidate) {
  std::string out = candidate.version;
  for (const std::string& function : candidate.functions) {
    const std::optional<LibraryImplementation> found = find_library_function(function);
    if (!found) return std::nullopt;
    out += str(" ", function, " ", found->version);
  }
  return out;
}

std::vector<Candidate> usable_candidates(const ChoiceKey& key, double tolerance, const CandidateLists& lists,
                                         const kernel::Target& target) {
  std::vector<Candidate> out = listed_candidates(lists, key, target);
  std::erase_if(out, [&](const Candidate& c) { return !may_be_chosen(c, tolerance) || !version_of(c); });
  return out;
}

Tuner::Tuner(TunerOptions options, std::vector<kernel::Choice> answers)
    : options_(std::move(options)), answers_(std::move(answers)) {
  for (const TakenCandidate& taken : options_.taken) {
    const std::string got = str(escaped(taken.computation), ": ", escaped(taken.candidate));
    if (!find_computation(taken.computation))
      throw UserError({.what = str("there is no computation ", escaped(taken.computation), " to take a candidate for"),
                       .got = got});
    const std::optional<std::vector<std::string>> names = stated_names(taken.computation);
    if (!names || std::any_of(names->begin(), names->end(),
                              [&](const std::string& name) { return matches_stated_name(name, taken.candidate); }))
      continue;
    throw UserError({.what = str("there is no candidate ", escaped(taken.candidate), " of ", taken.computation),
                     .expected = str(join(*names, ", "), " (# stands for a number)"),
                     .got = got});
  }
}

std::string Tuner::choose(const ChoiceKey& key) const {
  const RefusalScope refusals;
  for (const kernel::Choice& known : answers_)
    if (known.key == key) return known.candidate;
  const std::string name = chosen(key);
  const std::optional<Candidate> candidate = find_candidate(key, name, options_.target);
  TH_CHECK(candidate, "no candidate ", name, " for ", key.text());
  const std::optional<std::string> version = version_of(*candidate);
  if (!version)
    throw UserError({.what = str("the library of the candidate ", escaped(name), " for ", key.text(), " is not there"),
                     .expected = join(candidate->functions, ", ")});
  make_callable(*candidate, key);
  answers_.push_back({key, name, *version});
  return name;
}

std::string Tuner::chosen(const ChoiceKey& key) const {
  for (const TakenCandidate& taken : options_.taken)
    if (taken.computation == key.computation)
      if (const std::optional<Candidate> found = find_candidate(key, taken.candidate, options_.target);
          found && is_admitted(key, *found))
        return taken.candidate;
  if (options_.policy != Tune::kNever)
    if (std::optional<std::string> found = remembered_choice(key)) return *found;
  return choice_by_rule(key);
}

// Where the lists do not allow what the rule says, the first that they allow.
std::string Tuner::choice_by_rule(const ChoiceKey& key) const {
  const Computation& computation = *find_computation(key.computation);
  const auto by_rule = [&](const kernel::Target& target) {
    return computation.rule(key, target, options_.threads, options_.tolerance);
  };
  std::string name = by_rule(options_.target);
  const auto is_missing = [&] {  // a device's libraries need not be there
    const std::optional<Candidate> candidate = find_candidate(key, name, options_.target);
    return candidate && candidate->is_of_device && !version_of(*candidate);
  };
  if (is_missing()) {
    kernel::Target without = options_.target;
    without.device.has_libraries = false;
    name = by_rule(without);
  }
  if (is_missing()) name = computation.plain;
  if (options_.lists.is_empty()) return name;
  auto is_allowed = [&](const std::string& of) {
    const std::optional<Candidate> candidate = find_candidate(key, of, options_.target);
    return candidate && is_listed(options_.lists, key, *candidate, options_.target);
  };
  if (is_allowed(name)) return name;
  std::vector<Candidate> refused;
  for (Candidate& candidate : usable_candidates(key, options_.tolerance, options_.lists, options_.target)) {
    if (is_admitted(key, candidate)) return candidate.name;
    refused.push_back(std::move(candidate));
  }
  if (is_allowed(computation.plain)) return computation.plain;
  if (!refused.empty() && !options_.lists.only.empty()) {  // as if they did not apply
    for (const Candidate& candidate : refused) tell_list_not_followed(refusal_of(candidate, key, ""));
    TunerOptions others = options_;
    others.lists.only.clear();
    return Tuner(others).choice_by_rule(key);
  }
  fail_without_candidates(options_.lists, key, options_.target);
}

// Those of shared objects are tried before they are taken: now, unless that was done before.
bool Tuner::is_admitted(const ChoiceKey& key, const Candidate& candidate) const {
  if (candidate.file.empty() || is_trial_process()) return true;
  TuningTable table = remembered(options_.threads, options_.target);
  auto is_of = [&](const auto& entry) {
    return entry.candidate == candidate.name && entry.version == version_of(candidate);
  };
  auto is_known = [&](const auto& all) { return std::any_of(all.begin(), all.end(), is_of); };
  if (!is_known(table.of(key.text())) && !is_known(table.refused_of(key.text()))) {
    table = tuning_of(key, time_candidates(key, {candidate}, options_.threads, options_.target));
    remember(table, options_.threads, options_.target);
  }
  for (const Refused& refused : table.refused_of(key.text()))
    if (is_of(refused)) {
      if (options_.allow_wrong_results && is_of_wrong_result(refused.reason)) return true;
      tell_refusal(refusal_of(candidate, key, refused.reason));
      return false;
    }
  return is_known(table.of(key.text()));
}

// A candidate that was not measured yet calls for a new trial of all, since times of different hours do not compare. So
// does a time of a busy machine that is less busy now.
bool Tuner::must_be_timed(const ChoiceKey& key, const std::vector<Candidate>& usable, const TuningTable& table) const {
  const std::vector<Measured>& known = table.of(key.text());
  auto is_refused = [&](const Candidate& c) {
    const std::vector<Refused>& all = table.refused_of(key.text());
    return std::any_of(all.begin(), all.end(),
                       [&](const Refused& r) { return r.candidate == c.name && r.version == version_of(c); });
  };
  auto measured = [&](const Candidate& c) {
    return std::find_if(known.begin(), known.end(),
                        [&](const Measured& m) { return m.candidate == c.name && m.version == version_of(c); });
  };
  double load = 0;
  for (const Candidate& candidate : usable) {
    const auto found = measured(candidate);
    if (found == known.end() && is_refused(candidate)) continue;
    if (found == known.end()) return true;
    load = std::max(load, found->load);
  }
  return load > 0 && load_of_cores() < load / 2;
}

// The fastest of those that are still what was measured.
std::optional<std::string> Tuner::remembered_choice(const ChoiceKey& key) const {
  const TuningTable table = remembered(options_.threads, options_.target);
  if (options_.policy == Tune::kAlways && cache().has_compiler()) {
    const std::vector<Candidate> usable = usable_candidates(key, options_.tolerance, options_.lists, options_.target);
    if (must_be_timed(key, usable, table)) {
      if (!are_trials_observed())
        std::fprintf(stderr, "thtrain: timing %zu candidates for %s, once on this machine\n", usable.size(),
                     printable(key.text()).c_str());
      const std::vector<CandidateTrial> trials = time_candidates(key, usable, options_.threads, options_.target);
      for (const CandidateTrial& trial : trials)
        for (const Candidate& candidate : usable)
          if (!trial.refusal.empty() && !candidate.file.empty() && candidate.name == trial.candidate)
            tell_refusal(refusal_of(candidate, key, trial.refusal));
      const TuningTable measured = tuning_of(key, trials);
      remember(measured, options_.threads, options_.target);
      if (!measured.of(key.text()).empty()) return measured.of(key.text()).front().candidate;
    }
  }
  for (const Measured& m : table.of(key.text())) {
    const std::optional<Candidate> candidate = find_candidate(key, m.candidate, options_.target);
    if (candidate && may_be_chosen(*candidate, options_.tolerance) && version_of(*candidate) == m.version &&
        is_listed(options_.lists, key, *candidate, options_.target))
      return m.candidate;
  }
  return std::nullopt;
}

bool Tuner::agrees(const std::vector<kernel::Choice>& answers) const {
  return std::all_of(answers.begin(), answers.end(), [&](const kernel::Choice& answer) {
    if (!find_computation(answer.key.computation)) return false;
    choose(answer.key);
    return std::find(answers_.begin(), answers_.end(), answer) != answers_.end();
  });
}

std::string tuned_machine_text(int threads, const kernel::Target& target) {
  if (target.is_device() && why_no_device(target).empty())
    return str(join(device_facts(target), "; ", [](const auto& fact) { return str(fact.first, " ", fact.second); }),
               "; ", target.code_name(), "; times 1");
  return str(cpu().feature_text, "; ", target.code_name(), "; ", threads, " threads; times 1");
}

double load_of_cores() {
  double minute = 0;
  return getloadavg(&minute, 1) == 1 ? minute / std::max(1, cpu().cores) : 0;
}

TuningTable remembered(int threads, const kernel::Target& target) {
  std::lock_guard lock(tables_mutex);
  return table_for(tuned_machine_text(threads, target), false);
}

void remember(const TuningTable& table, int threads, const kernel::Target& target) {
  std::lock_guard lock(tables_mutex);
  const std::shared_ptr<const FileDescriptor> between_processes = tuning_store().lock(kTuningFolder);
  const std::string machine = tuned_machine_text(threads, target);
  TuningTable& all = table_for(machine, true);
  all.merge(table);
  if (!is_readable) return;
  tuning_store().write(kTuningFolder, content_hash({machine}), all.text(machine));
}

}  // namespace thtrain
