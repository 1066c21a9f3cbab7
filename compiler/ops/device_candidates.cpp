#include "compiler/ops/device_candidates.h"

namespace thtrain {

CandidateSource own_and_library(std::string computation, const std::string& own, const std::string& library,
                                decltype(CandidateSource::find) find, bool (*has_kernel)(const std::string& properties),
                                const std::vector<std::string>& others) {
  const auto offer = [=](const kernel::ChoiceKey& key, const kernel::Target& target) {
    std::vector<Candidate> out;
    for (const std::string& name : {own, library})
      if (name != own || !has_kernel || has_kernel(key.properties))
        if (const std::optional<Candidate> found = find(key, name, target)) out.push_back(*found);
    return out;
  };
  std::vector<std::string> names{own, library};
  names.insert(names.end(), others.begin(), others.end());
  return {std::move(computation), offer, std::move(find), std::move(names)};
}

}  // namespace thtrain
