#include "compiler/ops/candidates.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "compiler/base/escape.h"

namespace thtrain {

#define TH_COMPUTATION(function) const Computation& function();
#define TH_CANDIDATES(function) CandidateSource function();
#include "compiler/ops/candidate_list.inc"
#undef TH_CANDIDATES
#undef TH_COMPUTATION

namespace {

const std::vector<const Computation*>& computations() {
  static const std::vector<const Computation*> all = {
#define TH_COMPUTATION(function) &function(),
#define TH_CANDIDATES(function)
#include "compiler/ops/candidate_list.inc"
#undef TH_CANDIDATES
#undef TH_COMPUTATION
  };
  return all;
}

// Sources are added and never removed: a reader may walk through the first `size` of them without the lock.
class Sources {
 public:
  void add(CandidateSource source) {
    std::lock_guard lock(mutex_);
    all_.push_back(std::move(source));
  }
  struct Found {
    const CandidateSource* source;
    bool is_added;

    const CandidateSource* operator->() const { return source; }
    Candidate marked(Candidate candidate) const {
      candidate.is_added = is_added;
      return candidate;
    }
  };
  std::vector<Found> of(std::string_view computation) {
    std::lock_guard lock(mutex_);
    std::vector<Found> out;
    for (size_t i = 0; i < all_.size(); ++i)
      if (all_[i].computation == computation) out.push_back({&all_[i], i >= own_});
    return out;
  }

 private:
  std::mutex mutex_;
  std::deque<CandidateSource> all_ = {
#define TH_COMPUTATION(function)
#define TH_CANDIDATES(function) function(),
#include "compiler/ops/candidate_list.inc"
#undef TH_CANDIDATES
#undef TH_COMPUTATION
  };
  const size_t own_ = all_.size();  // thtrain's
};

Sources& sources() {
  static Sources all;
  return all;
}

bool is_for(const Candidate& candidate, const kernel::Target& target) {
  if (candidate.is_of_device) return target.is_device();
  return target.has_libraries() || (candidate.functions.empty() && candidate.file.empty());
}

}  // namespace

const char* name_of(RoundingClass rounding) {
  switch (rounding) {
    case RoundingClass::kSame:
      return "same";
    case RoundingClass::kReordered:
      return "reordered";
    case RoundingClass::kOther:
      break;
  }
  return "other";
}

const Computation* find_computation(std::string_view name) {
  for (const Computation* computation : computations())
    if (computation->name == name) return computation;
  return nullptr;
}

void add_candidates(CandidateSource source) {
  if (!find_computation(source.computation))
    throw UserError(
        {.what = str("candidates for the computation ", escaped(source.computation), ", which there is not"),
         .expected = join(computations(), ", ", [](const Computation* c) { return c->name; })});
  sources().add(std::move(source));
}

std::vector<Candidate> candidates_of(const kernel::ChoiceKey& key, const kernel::Target& target) {
  std::vector<Candidate> out;
  for (const Sources::Found& source : sources().of(key.computation))
    for (Candidate& candidate : source->offer(key, target))
      if (is_for(candidate, target) &&
          std::none_of(out.begin(), out.end(), [&](const Candidate& c) { return c.name == candidate.name; }))
        out.push_back(source.marked(std::move(candidate)));
  return out;
}

std::optional<Candidate> find_candidate(const kernel::ChoiceKey& key, const std::string& name,
                                        const kernel::Target& target) {
  for (const Sources::Found& source : sources().of(key.computation)) {
    if (source->find) {
      std::optional<Candidate> found = source->find(key, name, target);
      if (found && is_for(*found, target)) return source.marked(std::move(*found));
      continue;
    }
    for (Candidate& candidate : source->offer(key, target))
      if (candidate.name == name && is_for(candidate, target)) return source.marked(std::move(candidate));
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> stated_names(std::string_view computation) {
  std::vector<std::string> out;
  for (const Sources::Found& source : sources().of(computation)) {
    if (source->names.empty()) return std::nullopt;
    for (const std::string& name : source->names)
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

bool is_own_candidate_name(std::string_view computation, std::string_view name) {
  for (const Sources::Found& source : sources().of(computation))
    if (!source.is_added && std::any_of(source->names.begin(), source->names.end(),
                                        [&](const std::string& stated) { return matches_stated_name(stated, name); }))
      return true;
  return false;
}

bool matches_stated_name(std::string_view stated, std::string_view name) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t at = 0;
  for (const char c : stated) {
    const size_t begin = at;
    if (c == '#')
      while (at < name.size() && is_digit(name[at])) ++at;
    else
      at += at < name.size() && name[at] == c;
    if (at == begin) return false;
  }
  return at == name.size();
}

std::string least_expected(std::vector<ExpectedTime> times) {
  std::stable_sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.usual < b.usual; });
  double least = times.front().measured;
  for (const ExpectedTime& one : times) least = std::min(least, one.measured);
  return std::find_if(times.begin(), times.end(), [&](const ExpectedTime& one) { return one.measured < 1.1 * least; })
      ->candidate;
}

void lower_chosen(kernel::StepBuilder& builder, const kernel::ChoiceKey& key) {
  const Computation* computation = find_computation(key.computation);
  TH_CHECK(computation, "no computation is called ", key.computation);
  const kernel::Target& target = builder.target();
  std::string name = builder.chooser() ? builder.chooser()->choose(key) : computation->plain;
  std::optional<Candidate> candidate = find_candidate(key, name, target);
  if (!candidate && !builder.chooser()) {
    name = computation->rule(key, target, 1, 0);
    candidate = find_candidate(key, name, target);
  }
  TH_CHECK(candidate, "no candidate ", name, " for ", key.text());
  candidate->lower(builder);
  int64_t bytes = 0;
  for (const kernel::Workspace& w : builder.workspaces())
    if (w.elements.is_known()) bytes += (w.elements * Dim(static_cast<int64_t>(size_of(w.dtype)))).value();
  TH_CHECK(bytes <= candidate->workspace_bytes, name, " takes a workspace of ", bytes, " bytes and states ",
           candidate->workspace_bytes);
}

}  // namespace thtrain
