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
  std::vector<const CandidateSource*> of(std::string_view computation) {
    std::lock_guard lock(mutex_);
    std::vector<const CandidateSource*> out;
    for (const CandidateSource& source : all_)
      if (source.computation == computation) out.push_back(&source);
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
};

Sources& sources() {
  static Sources all;
  return all;
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
  for (const CandidateSource* source : sources().of(key.computation))
    for (Candidate& candidate : source->offer(key, target))
      if (std::none_of(out.begin(), out.end(), [&](const Candidate& c) { return c.name == candidate.name; }))
        out.push_back(std::move(candidate));
  return out;
}

std::optional<Candidate> find_candidate(const kernel::ChoiceKey& key, const std::string& name,
                                        const kernel::Target& target) {
  for (const CandidateSource* source : sources().of(key.computation)) {
    if (source->find) {
      if (std::optional<Candidate> found = source->find(key, name, target)) return found;
      continue;
    }
    for (Candidate& candidate : source->offer(key, target))
      if (candidate.name == name) return std::move(candidate);
  }
  return std::nullopt;
}

void lower_chosen(kernel::StepBuilder& builder, const kernel::ChoiceKey& key) {
  const Computation* computation = find_computation(key.computation);
  TH_CHECK(computation, "no computation is called ", key.computation);
  const std::string name = builder.chooser() ? builder.chooser()->choose(key) : computation->plain;
  const std::optional<Candidate> candidate = find_candidate(key, name, builder.target());
  TH_CHECK(candidate, "no candidate ", name, " for ", key.text());
  candidate->lower(builder);
  int64_t bytes = 0;
  for (const kernel::Workspace& w : builder.workspaces())
    bytes += (w.elements * Dim(static_cast<int64_t>(size_of(w.dtype)))).value();
  TH_CHECK(bytes <= candidate->workspace_bytes, name, " takes a workspace of ", bytes, " bytes and states ",
           candidate->workspace_bytes);
}

}  // namespace thtrain
