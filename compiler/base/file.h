// Files: reading with located errors, and writing that is all or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/base/error.h"

namespace thtrain {

/// What tells whether a file is the one that it was, besides its path: all zero where there is none.
struct FileState {
  uint64_t size = 0, inode = 0;
  int64_t modified_seconds = 0, modified_nanoseconds = 0;
  bool operator==(const FileState&) const = default;
};
/// Of the file that is at `path` now.
FileState file_state(const std::string& path);
/// A file that is being read, as it was when it was opened.
struct OpenedFile {
  std::string path;
  FileState state;
};
/// UserError: the file was changed while a run read it. `then` is its state when it was opened.
[[noreturn]] void fail_changed(const std::string& path, const FileState& then, const FileState& now);

/// A regular file open for reading; its size is taken once, when it is opened.
class InputFile {
 public:
  /// UserError if the file is missing, is a folder or may not be read.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  /// Fills `out` from byte `offset` on; UserError if the file ends before, also where another program has cut it short
  /// since it was opened. May be called from several threads.
  void read_at(uint64_t offset, std::span<std::byte> out) const;
  /// The first bytes, at most `count`: what the file seems to be.
  std::string beginning(size_t count = 256) const;
  /// UserError where its bytes were written to, or its length was changed, since it was opened. A file that was put in
  /// what is put under its name later changes nothing: the one that was opened is read on.
  void check_unchanged() const;
  OpenedFile opened() const { return {path_, opened_}; }
  /// For a library that wants a descriptor of its own, and closes it.
  int duplicate() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  FileState opened_;
};

/// All bytes of a file; errors as InputFile.
std::string read_file(const std::string& path);

/// UserError where something is at `path` that is no regular file: a folder, a device, a pipe.
void check_replaceable(const std::string& path);

/// Writes next to `path` and renames: a reader sees the old file or the new one, never a part.
class AtomicFile {
 public:
  /// UserError if the folder is missing or may not be written, or as check_replaceable(). `check` is called once the
  /// temporary file is there: where it throws, that is removed again.
  explicit AtomicFile(std::string path, const std::function<void()>& check = {});
  /// Removes the temporary file unless commit() came first.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t count);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  uint64_t written() const { return written_; }
  /// Flushes to the disk and renames. UserError (also from write) names the path and what the system said.
  void commit();

 private:
  void remove_temporary();

  std::string path_, temporary_;
  int descriptor_ = -1;
  uint64_t written_ = 0;
};

/// Whether both names lead to one file; false where one of them leads nowhere.
bool is_same_file(const std::string& a, const std::string& b);

/// An error of a file: "PATH: WHAT" with its expected, got and hint.
UserError file_error(const std::string& path, std::string_view what, std::string expected = {}, std::string got = {},
                     std::string hint = {});
/// The same error, at `where` in the configuration unless it has a location there already.
UserError placed(const UserError& error, const ConfigPosition& where);
/// Of a folder that cannot be made, by errno.
UserError folder_error(const std::string& path, int error_number);
/// Of a file whose bytes were others when they were read a second time.
UserError changed_while_read(const std::string& path);
/// Where the link at `path` leads; empty where there is none.
std::string target_of_link(const std::string& path);
/// What an AtomicFile throws when the system refuses a write, by errno.
UserError write_error(const std::string& path, int error_number);

}  // namespace thtrain
