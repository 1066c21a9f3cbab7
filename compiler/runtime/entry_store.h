// A folder of files that are checked before they are used: what the cache and the search for compilers stand on.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// An entry is a file "kind/name" that ends with a trailer: its size and hash. It is written beside its place and
/// renamed into it, so processes and threads may share a folder without locks. An entry that is cut, altered, owned by
/// another user or writable by one is removed and taken as missing. Where the folder cannot be written or is another
/// user's, it is read as far as it can be trusted, and new entries go to a private folder under $TMPDIR, which is
/// removed with the store; one warning on standard error says so. All functions may be called from several threads.
class EntryStore {
 public:
  /// `folder` need not exist; nothing is made before the first write. `owner`: whose files are trusted.
  explicit EntryStore(std::string folder, uid_t owner);
  EntryStore(const EntryStore&) = delete;
  EntryStore& operator=(const EntryStore&) = delete;
  ~EntryStore();

  struct Entry {
    std::string path;
    std::string content;  // without the trailer
  };
  /// The entry, checked; none where it is missing or was not to be trusted.
  std::optional<Entry> read(std::string_view kind, std::string_view name);
  /// The first entry, in the order of names, that begins with `prefix` and ends with `suffix`, and holds.
  std::optional<Entry> read_any(std::string_view kind, std::string_view prefix, std::string_view suffix);
  /// Writes an entry and returns its path. UserError where neither folder can be written.
  std::string write(std::string_view kind, std::string_view name, std::string_view content);
  /// The same for a file that people read and nothing trusts: without a trailer.
  std::string write_plain(std::string_view kind, std::string_view name, std::string_view content);
  /// A new, empty file for another program to write to. The caller removes it.
  std::string temporary_file();

  const std::string& folder() const { return folder_; }
  /// The private folder, empty as long as there is none.
  std::string private_folder() const;

 private:
  std::optional<Entry> read_checked(const std::string& path) const;
  std::vector<std::string> folders() const;
  std::string write_file(std::string_view kind, std::string_view name, std::string_view content,
                         std::string_view trailer);
  /// Calls write(folder), which returns why it could not ("" where it could), on the folder and then the private one.
  template <class Write>
  void write_somewhere(Write write);
  std::string make_private_folder(const std::string& reason);
  void remove_stale_temporaries();

  std::string folder_;
  uid_t owner_;
  mutable std::mutex mutex_;  // guards what follows
  bool removed_stale_ = false;
  std::string private_folder_;
  pid_t private_folder_maker_ = 0;  // a child made by fork() must not remove it
};

/// $THTRAIN_CACHE_DIR, else $XDG_CACHE_HOME/thtrain, else ~/.cache/thtrain, as an absolute path; empty where there is
/// no home either (then only the private folder is used).
std::string default_cache_folder();

}  // namespace thtrain
