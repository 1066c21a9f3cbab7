// What lies in a folder of the cache: for people who look at it and make room.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace thtrain {

struct CacheEntry {
  std::string kind, name;  // the file "kind/name"
  int64_t bytes = 0;
  std::time_t used = 0;  // when it was last read, or written
};

/// Every entry of the folder that can be made again, the one that was used longest ago first: not what was measured
/// (kTuningFolder) and not the files of programs that are writing now. Empty where there is no folder. UserError where
/// others could change it, or it cannot be read.
std::vector<CacheEntry> cache_entries(const std::string& folder, uid_t owner);

/// Removes these; programs that need one make it again. Gives those that are removed.
std::vector<CacheEntry> remove_cache_entries(const std::string& folder, uid_t owner,
                                             const std::vector<CacheEntry>& entries);

/// The first of `entries`, so many that the others have `limit` bytes at most.
std::vector<CacheEntry> entries_beyond(const std::vector<CacheEntry>& entries, int64_t limit);

}  // namespace thtrain
