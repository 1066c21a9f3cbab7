// A folder of files that are checked before they are used: what the cache and the search for compilers depend on.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/store/trusted_folder.h"

namespace thtrain {

/// An entry is a file "kind/name" that ends with a trailer: its size, and a hash of its kind, its name and its content.
/// It is written next to its final path and renamed to it, so processes and threads may share a folder without locks.
/// An entry that is cut, altered, exchanged for another one, owned by another user or writable by one is removed and
/// taken as missing. Everything is opened by descriptor, from folders that no other user can change: the whole way from
/// the root is checked once (open_trusted_folder), the kind's folder each time. Where the folder cannot be written or
/// others could change it, new entries go to a private folder under $TMPDIR, which is removed with the store; one
/// warning on standard error says so. A folder that others could change is not read either. All functions may be called
/// from several threads.
class EntryStore {
 public:
  /// `folder` need not exist; nothing is made before the first write. `owner`: whose files are trusted. `what` is in
  /// it, for the warning.
  explicit EntryStore(std::string folder, uid_t owner, const char* what = "compiled code");
  EntryStore(const EntryStore&) = delete;
  EntryStore& operator=(const EntryStore&) = delete;
  ~EntryStore();

  struct Entry {
    std::string path;
    std::string content;  // without the trailer
    std::string name;
    std::shared_ptr<const FileDescriptor> folder;  // that holds `name`
    std::string trusted_path;  // the path where no other user can change what it leads to; else empty
  };
  /// The entry, checked; none where it is missing or was not to be trusted.
  std::optional<Entry> read(std::string_view kind, std::string_view name);
  /// The same for what nobody can make again: an entry that is not to be trusted is renamed to "NAME.damaged", and one
  /// that cannot be read stays.
  struct Kept {
    std::optional<Entry> entry;
    std::string path;     // of the entry
    std::string trouble;  // why there is none, unless it is merely missing
    bool stays = false;   // the file is where it was, and must not be overwritten
  };
  Kept read_kept(std::string_view kind, std::string_view name);
  /// The first entry, in the order of names, that begins with `prefix` and ends with `suffix`, and holds.
  std::optional<Entry> read_any(std::string_view kind, std::string_view prefix, std::string_view suffix);
  /// Writes an entry and returns its path. UserError where neither folder can be written.
  std::string write(std::string_view kind, std::string_view name, std::string_view content);
  /// The same for a file that people read and nothing trusts: without a trailer.
  std::string write_plain(std::string_view kind, std::string_view name, std::string_view content);
  /// Other processes that ask for the same kind wait until the returned descriptor is closed. For entries that are
  /// read, changed and written again. Null where the folder cannot be made or locked; then nothing is excluded.
  std::shared_ptr<const FileDescriptor> lock(std::string_view kind);
  /// What another program reads, and an empty file for it to write to, which is removed with this.
  struct Workplace {
    Workplace() = default;
    Workplace(Workplace&&) = default;
    Workplace& operator=(Workplace&&) = delete;
    ~Workplace();
    /// What the program wrote; UserError where it cannot be read.
    std::string result() const;
    /// Are source and inputs what was written? Another program may have changed them while they were read. Of one that
    /// the system does not let this process read, nothing is known: true.
    bool is_untouched() const;
    /// Removes output and inputs.
    void remove();

    std::shared_ptr<const FileDescriptor> folder;  // the current folder that the program needs for the names
    std::string folder_path;
    std::string source, output;                                // "objects/name.cpp", "tmp/0123"
    std::vector<std::string> inputs;                           // instead of a source: "tmp/4567", removed with this too
    std::vector<std::pair<std::string, std::string>> written;  // names of source and inputs, hashes of their contents
  };
  /// The source is written as write_plain does.
  Workplace workplace(std::string_view kind, std::string_view name, std::string_view source);
  /// The same with a temporary file for each of these contents.
  Workplace workplace(const std::vector<std::string>& contents);

  const std::string& folder() const { return own_.path; }
  /// The private folder, empty as long as there is none.
  std::string private_folder() const;
  /// Do new entries go to the private folder?
  bool is_replaced() const;
  /// Why the folder is not even read: others could change it. Empty unless it was looked at and refused.
  std::string refusal() const;

 private:
  struct Location {
    std::string path;
    std::shared_ptr<const FileDescriptor> descriptor = {};  // null until it was looked at
    std::string trusted_path = {};
    std::string refusal = {};  // why it is not used at all
    std::map<std::string, std::shared_ptr<const FileDescriptor>, std::less<>> kinds = {};
    bool is_private = false;
  };
  /// Null where it is missing or refused; then `trouble` says why, if it is not merely missing.
  std::shared_ptr<const FileDescriptor> open_kind(Location& location, std::string_view kind, bool make,
                                                  std::string& trouble);
  std::vector<Location*> locations();
  /// Why an entry is not taken.
  struct Fault {
    std::string why = {};  // empty where it is merely missing
    bool is_readable = false;
  };
  std::optional<std::string> checked_content(std::string_view kind, const std::string& name,
                                             const FileDescriptor& folder, Fault& fault) const;
  static Entry entry_of(const Location& location, std::string_view kind, const std::string& name,
                        const std::shared_ptr<const FileDescriptor>& folder, std::string content);
  std::optional<Entry> read_checked(const Location& location, std::string_view kind, const std::string& name,
                                    const std::shared_ptr<const FileDescriptor>& folder) const;
  /// "" or why it could not be written.
  std::string write_file(Location& location, std::string_view kind, const std::string& name, std::string_view content,
                         std::string_view trailer);
  std::string write_with(std::string_view kind, std::string_view name, std::string_view content,
                         const std::string& trailer);
  /// A file in the location's folder of temporaries: its name, with that folder, or "" and why there is none.
  std::string write_temporary(Location& location, std::string_view content, std::string& trouble);
  /// The current folder and an empty output. "" or why they could not be had.
  std::string open_workplace(Location& location, Workplace& out);
  /// Calls write(location), which returns why it could not ("" where it could), on the folder and then the private one.
  template <class Write>
  void write_somewhere(Write write);
  /// Makes the private folder, unless there is one. "" or why it could not be.
  std::string make_private_folder();
  void warn_of_replacement(const std::string& reason);
  void remove_stale_temporaries();

  uid_t owner_;
  const char* const what_;
  mutable std::mutex mutex_;  // guards what follows
  Location own_, private_;
  bool removed_stale_ = false;
  bool is_replaced_ = false;  // new entries go to the private folder
  pid_t private_maker_ = 0;   // a child made by fork() must not remove the folder
};

namespace detail {
/// What is at the end of an entry.
std::string entry_trailer(std::string_view kind, std::string_view name, std::string_view content);
/// The content of an entry that was read as `bytes`; none where they are not this entry, whole.
std::optional<std::string> entry_content(std::string_view kind, std::string_view name, std::string bytes);
}  // namespace detail

}  // namespace thtrain
