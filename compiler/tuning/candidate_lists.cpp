#include "compiler/tuning/candidate_lists.h"

#include <algorithm>
#include <map>

#include "compiler/base/escape.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::Target;

struct Pattern {
  explicit Pattern(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon != std::string_view::npos) computation = text.substr(0, colon);
    name = colon == std::string_view::npos ? text : text.substr(colon + 1);
  }
  bool is_of(const ChoiceKey& key) const { return matches_pattern(computation, key.computation); }
  bool has_star() const { return name.find('*') != std::string_view::npos; }
  std::string_view computation = "*", name;
};

bool names_any(const std::vector<std::string>& patterns, const ChoiceKey& key, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& text) {
    const Pattern pattern(text);
    return pattern.is_of(key) && matches_pattern(pattern.name, name);
  });
}

void add_named(const std::vector<std::string>& patterns, const ChoiceKey& key, const Target& target,
               std::vector<Candidate>& out) {
  for (const std::string& text : patterns) {
    const Pattern pattern(text);
    if (!pattern.is_of(key) || pattern.has_star()) continue;
    if (std::any_of(out.begin(), out.end(), [&](const Candidate& c) { return c.name == pattern.name; })) continue;
    if (auto found = find_candidate(key, std::string(pattern.name), target)) out.push_back(std::move(*found));
  }
}

// Offered, or named by a list of what is to be taken.
std::vector<Candidate> known_candidates(const CandidateLists& lists, const ChoiceKey& key, const Target& target) {
  std::vector<Candidate> out = candidates_of(key, target);
  add_named(lists.only, key, target, out);
  add_named(lists.include, key, target, out);
  return out;
}

bool restricts(const CandidateLists& lists, const ChoiceKey& key, const std::vector<Candidate>& known) {
  return std::any_of(known.begin(), known.end(),
                     [&](const Candidate& c) { return names_any(lists.only, key, c.name); });
}

bool is_allowed(const CandidateLists& lists, const ChoiceKey& key, const Candidate& candidate, bool is_restricted) {
  if (lists.workspace_limit > 0 && candidate.workspace_bytes > lists.workspace_limit) return false;
  if (names_any(lists.exclude, key, candidate.name)) return false;
  return !is_restricted || names_any(lists.only, key, candidate.name);
}

// "conv: filters 6x4, rows 10x2; matrix_product: library"
std::string names_text(const std::vector<ChoiceKey>& keys, const Target& target) {
  std::map<std::string, std::vector<std::string>> names;
  for (const ChoiceKey& key : keys)
    for (const Candidate& candidate : candidates_of(key, target)) {
      std::vector<std::string>& of = names[key.computation];
      if (std::find(of.begin(), of.end(), candidate.name) == of.end()) of.push_back(candidate.name);
    }
  return join(names, "; ", [](const auto& entry) { return str(entry.first, ": ", join(entry.second, ", ")); });
}

bool names_something(const std::string& text, const std::vector<ChoiceKey>& keys, const Target& target) {
  const Pattern pattern(text);
  return std::any_of(keys.begin(), keys.end(), [&](const ChoiceKey& key) {
    if (!pattern.is_of(key)) return false;
    const std::vector<Candidate> known = known_candidates({.include = {text}}, key, target);
    return std::any_of(known.begin(), known.end(),
                       [&](const Candidate& c) { return matches_pattern(pattern.name, c.name); });
  });
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  // Where a `*` was met: what follows it is tried at every later location of the text.
  size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::vector<Candidate> listed_candidates(const CandidateLists& lists, const ChoiceKey& key, const Target& target) {
  std::vector<Candidate> out = known_candidates(lists, key, target);
  const bool is_restricted = restricts(lists, key, out);
  std::erase_if(out, [&](const Candidate& c) { return !is_allowed(lists, key, c, is_restricted); });
  return out;
}

bool is_listed(const CandidateLists& lists, const ChoiceKey& key, const Candidate& candidate, const Target& target) {
  return lists.is_empty() ||
         is_allowed(lists, key, candidate, restricts(lists, key, known_candidates(lists, key, target)));
}

void check_lists(const CandidateLists& lists, const std::vector<ChoiceKey>& keys, const Target& target,
                 const LocationOfPattern& location) {
  std::vector<Message> wrong;
  auto check = [&](const char* list, const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
      if (names_something(pattern, keys, target)) continue;
      const ListLocation at = location ? location(list, pattern) : ListLocation{list};
      wrong.push_back({.what = str(at.name, ": there is no candidate ", escaped(pattern), " here"),
                       .expected = names_text(keys, target),
                       .got = escaped(pattern),
                       .config = at.config,
                       .hint = "`*` stands for any characters; COMPUTATION:NAME is of one computation"});
    }
  };
  if (keys.empty()) return;
  check("only_candidates", lists.only);
  check("include_candidates", lists.include);
  check("exclude_candidates", lists.exclude);
  if (!wrong.empty()) throw UserError(std::move(wrong));
}

void fail_without_candidates(const CandidateLists& lists, const ChoiceKey& key, const Target& target) {
  const std::string limit =
      lists.workspace_limit > 0 ? str("; workspaces of at most ", lists.workspace_limit, " bytes") : std::string();
  throw UserError(
      {.what = str("the lists of candidates leave none for ", key.text()),
       .expected = str("one of ", join(candidates_of(key, target), ", ", [](const Candidate& c) { return c.name; })),
       .got = str("only: ", join(lists.only, ", "), "; exclude: ", join(lists.exclude, ", "), limit)});
}

}  // namespace thtrain
