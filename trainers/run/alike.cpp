#include "trainers/run/alike.h"

namespace thtrain {

void require_alike(Ranks& ranks, const Fingerprint& own) {
  if (ranks.size() == 1) return;
  const Ranks::Patience prepares(ranks);
  const std::vector<std::string> all = ranks.gather(fingerprint_text(own));
  const Fingerprint first = fingerprint_of(all[0]);
  for (int rank = 1; rank < ranks.size(); ++rank) {
    std::vector<std::string> lines;
    const Fingerprint other = fingerprint_of(all[static_cast<size_t>(rank)]);
    for (const auto& [name, value] : first) {
      Fingerprint copy = other;
      const std::string* theirs = find_entry(copy, name);
      if (!theirs || *theirs != value)
        lines.push_back(str(name, ": ", value, " and ", theirs ? *theirs : std::string("nothing")));
    }
    if (lines.empty()) continue;
    throw UserError(Message{.what = str(ranks.name_of(0), " and ", ranks.name_of(rank), " would not compute alike"),
                            .expected = "the same binary, experiment, data, threads and kind of processor",
                            .got = join(lines, "\n")});
  }
}

}  // namespace thtrain
