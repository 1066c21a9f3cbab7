// Folders that no other user can change, opened by descriptor: what the cache depends on.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "compiler/base/file_descriptor.h"

namespace thtrain {

struct OpenedFolder {
  std::shared_ptr<const FileDescriptor> descriptor = nullptr;  // null where there is none
  std::string path = {};                                       // without symbolic links
  std::string trouble = {};                                    // why there is none; empty where it is only missing
  bool is_refused = false;                                     // it is there, and others could change it
};

/// Opens the folder at an absolute `path`, component by component from the root, for `openat` and its kin. Each one on
/// the way must belong to `owner` or to root, and nobody else may write to it, unless its sticky bit keeps what is in
/// it to its owners, as that of /tmp does. A group may write where it is the owner's or root's private one: of the same
/// name, without other members. Symbolic links are followed where they belong to `owner` or root. With `make`, missing
/// folders are made, for this user alone.
OpenedFolder open_trusted_folder(const std::string& path, uid_t owner, bool make);

/// Opens the folder `name` in `parent` (which is at `path`): `owner`'s, with nobody else allowed to write, and no
/// symbolic link.
OpenedFolder open_private_folder(const FileDescriptor& parent, const std::string& path, const std::string& name,
                                 uid_t owner, bool make);

/// Does only `owner` write to it, or root?
bool is_private_to(const struct stat& info, uid_t owner);

}  // namespace thtrain
