// Entries of the cache: what precedes the trailer, where it holds.
#include "compiler/store/entry_store.h"
#include "tests/fuzz/parsers/parser.h"

namespace thtrain::fuzz {
namespace {

constexpr const char *kKind = "objects", *kName = "0123-4567.so";

bool parse(std::string_view bytes) {
  std::string text(bytes), whole = text + detail::entry_trailer(kKind, kName, text);
  std::optional<std::string> back = detail::entry_content(kKind, kName, whole);
  require(back == text, "an entry does not read back");
  require(!detail::entry_content("programs", kName, whole), "an entry holds under another kind");
  require(!detail::entry_content(kKind, "0123-4568.so", whole), "an entry holds under another name");
  return detail::entry_content(kKind, kName, text).has_value();
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const std::string& content : {std::string(), std::string("\x7f"
                                                                "ELF\0\1",
                                                                6)})
    out.push_back(content + detail::entry_trailer(kKind, kName, content));
  return out;
}

}  // namespace

const Parser kCacheEntry = {"cache_entry", parse, seeds};

}  // namespace thtrain::fuzz
