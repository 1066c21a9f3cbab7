// `thtrain cache`: what compiled code there is, and making room.
#include <unistd.h>

#include <charconv>
#include <ctime>
#include <limits>
#include <optional>

#include "cli/command.h"
#include "cli/text.h"
#include "compiler/store/cache_entries.h"
#include "compiler/store/cache_folder.h"

namespace thtrain {
namespace {

struct CacheArguments {
  std::string action, size;
  std::optional<int64_t> days;
  bool json = false;
};

// "500M" -> 500 * 2^20
int64_t bytes_of(const std::string& text) {
  const std::string_view units = "KMGT";
  int64_t number = 0;
  const char* const last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, number);
  int64_t unit = 1;
  if (end + 1 == last && units.find(*end) != std::string_view::npos) {
    unit = int64_t{1} << (10 * (units.find(*end) + 1));
    ++end;
  }
  if (error != std::errc() || end != last || number < 0 || number > std::numeric_limits<int64_t>::max() / unit)
    refuse_value("cache", "SIZE", text, "bytes, or a number with K, M, G or T: 500M");
  return number * unit;
}

std::string age_text(std::time_t seconds) {
  if (seconds < 60) return "below 1 min";
  if (seconds < 3600) return str(seconds / 60, " min");
  if (seconds < 48 * 3600) return str(seconds / 3600, " h");
  return str(seconds / (24 * 3600), " days");
}

std::string total_text(const std::vector<CacheEntry>& entries, const std::string& folder) {
  int64_t bytes = 0;
  for (const CacheEntry& entry : entries) bytes += entry.bytes;
  return str(entries.size(), entries.size() == 1 ? " entry" : " entries", ", ", bytes_text(static_cast<double>(bytes)),
             ", in ", folder, "\n");
}

std::string list_text(const std::vector<CacheEntry>& entries, std::time_t now) {
  std::vector<std::vector<std::string>> rows = {{"size", "last used", "entry"}};
  for (const CacheEntry& entry : entries)
    rows.push_back(
        {bytes_text(static_cast<double>(entry.bytes)), age_text(now - entry.used), str(entry.kind, "/", entry.name)});
  return table_text(rows, "") + "\n";
}

void require_fitting(const CacheArguments& arguments) {
  const std::string& action = arguments.action;
  auto refuse = [&](const char* what, const char* fits) {
    throw UserError(Message{.what = str("thtrain cache ", action, ": ", what, " has no use"),
                            .expected = str(what, " with ", fits),
                            .hint = "`thtrain help cache` has examples"});
  };
  if (arguments.days && action != "purge") refuse("--days", "purge");
  if (arguments.json && action != "list") refuse("--json", "list");
  if (!arguments.size.empty() && action != "limit") refuse("SIZE", "limit");
  if (arguments.size.empty() && action == "limit")
    throw UserError(Message{.what = "thtrain cache limit: SIZE is missing", .hint = "thtrain cache limit 500M"});
}

int run_cache(const CacheArguments& arguments) {
  require_fitting(arguments);
  const std::string folder = default_cache_folder();
  const std::time_t now = std::time(nullptr);
  std::vector<CacheEntry> entries = cache_entries(folder, geteuid());
  if (arguments.action == "list") {
    std::string text;
    for (const CacheEntry& entry : entries)
      if (arguments.json)
        text += JsonObject()
                    .add("entry", str(entry.kind, "/", entry.name))
                    .add("bytes", entry.bytes)
                    .add("seconds_since_use", static_cast<int64_t>(now - entry.used))
                    .line() +
                "\n";
    if (!arguments.json) text = (entries.empty() ? "" : list_text(entries, now)) + total_text(entries, folder);
    print_text(text);
    return kDone;
  }
  if (arguments.action == "limit") entries = entries_beyond(entries, bytes_of(arguments.size));
  if (arguments.days)
    std::erase_if(entries, [&](const CacheEntry& entry) { return now - entry.used < *arguments.days * 24 * 3600; });
  print_text("removed: " + total_text(remove_cache_entries(folder, geteuid(), entries), folder));
  return kDone;
}

Command declare_cache(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<CacheArguments>();
  command.add_option("ACTION", arguments->action, "list, purge or limit")
      ->required()
      ->check(one_of("cache", "ACTION", {"list", "purge", "limit"}));
  command.add_option("SIZE", arguments->size, "of limit: bytes that stay at most, such as 500M");
  command.add_option("--days", arguments->days, "of purge: entries alone that were not used for so many days")
      ->type_name("N")
      ->check(number_in<int64_t>("cache", "--days", 0, 36500));
  command.add_flag("--json", arguments->json, "of list: print one JSON object for each entry");
  return [arguments] { return run_cache(*arguments); };
}

}  // namespace

CommandSpec cache_command() {
  return {"cache",
          "list compiled code, or make room",
          {{"thtrain cache list", "entries with size and age, the one used last at the end"},
           {"thtrain cache purge --days 30", "remove what was not used for 30 days"},
           {"thtrain cache limit 500M", "remove what was used longest ago, until 500 MiB are left"}},
          declare_cache};
}

}  // namespace thtrain
