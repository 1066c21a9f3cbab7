#include "compiler/runtime/shared_object.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/escape.h"

namespace thtrain {
namespace {

/// A name that leads to what the descriptor holds; "" where /proc is not mounted, or not for this process.
std::string name_of(const FileDescriptor& file) {
  struct stat wanted, found;
  if (fstat(file.get(), &wanted) != 0) return {};
  // The process's number, so that a debugger in another process finds the file too; it is another one in containers
  // that look at the /proc of their host.
  for (const std::string& process : {std::to_string(getpid()), std::string("self")}) {
    std::string name = str("/proc/", process, "/fd/", file.get());
    if (stat(name.c_str(), &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino) return name;
  }
  return {};
}

/// Null, with the complaint in `trouble`.
std::shared_ptr<const SharedObject> open_object(const std::string& name, const std::string& path,
                                                const std::shared_ptr<const FileDescriptor>& kept,
                                                std::string& trouble) {
  if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
    return std::make_shared<const SharedObject>(handle, path, kept);
  const char* text = dlerror();
  trouble = text ? text : "dlopen failed";
  return nullptr;
}

/// `path`: of the object, where `entry` is a copy.
std::shared_ptr<const SharedObject> open_entry(const EntryStore::Entry& entry, const std::string& path,
                                               std::string& trouble) {
  std::string name = name_of(*entry.folder);
  name = name.empty() ? entry.trusted_path : str(name, "/", entry.name);
  if (!name.empty()) return open_object(name, path, entry.folder, trouble);
  trouble = str("/proc is not mounted, and others could exchange ", entry.path);
  return nullptr;
}

/// Does the file system, and whatever else watches over the process, let this file be executed?
bool may_execute(const EntryStore::Entry& entry) {
  FileDescriptor file(openat(entry.folder->get(), entry.name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0) return true;  // something else is wrong with it
  void* mapped = mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return errno != EPERM && errno != EACCES;
  munmap(mapped, 1);
  return true;
}

/// The content as a file that has no name; null where the system offers none.
std::shared_ptr<const FileDescriptor> in_memory(const EntryStore::Entry& entry) {
  auto file = std::make_shared<const FileDescriptor>(memfd_create("thtrain", MFD_CLOEXEC));
  std::string_view rest = entry.content;
  while (file->get() >= 0 && !rest.empty()) {
    ssize_t written = ::write(file->get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return nullptr;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return file->get() < 0 ? nullptr : file;
}

}  // namespace

SharedObject::~SharedObject() {
  dlclose(handle_);
}

bool SharedObject::exports(const char* name) const {
  return dlsym(handle_, name) != nullptr;
}

void* SharedObject::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  TH_CHECK(found, path_, " exports no ", name);
  return found;
}

std::shared_ptr<const SharedObject> ObjectLoader::load(const EntryStore::Entry& entry, std::string& trouble) {
  bool try_in_place = entry.is_private;
  {
    std::lock_guard lock(mutex_);
    try_in_place |= !does_not_execute_;
  }
  if (try_in_place) {
    if (auto object = open_entry(entry, entry.path, trouble)) return object;
    if (may_execute(entry)) return nullptr;
    std::lock_guard lock(mutex_);
    does_not_execute_ |= !entry.is_private;
  }
  return load_elsewhere(entry, trouble);
}

std::shared_ptr<const SharedObject> ObjectLoader::load_elsewhere(const EntryStore::Entry& entry, std::string& trouble) {
  std::string why;  // not to be heard of: `trouble` says what is wrong with the entry where it stands
  if (!entry.is_private)
    if (auto copy = store_.private_copy(kind_, entry))
      if (auto object = open_entry(*copy, entry.path, why)) {
        warn_once(store_.private_folder());
        return object;
      }
  auto file = in_memory(entry);
  std::string name = file ? name_of(*file) : "";
  if (!name.empty())
    if (auto object = open_object(name, entry.path, file, why)) {
      warn_once("memory, where debuggers and profilers find no file");
      return object;
    }
  if (trouble.empty()) trouble = str(entry.path, " may not be executed");
  return nullptr;
}

void ObjectLoader::warn_once(const std::string& where) {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(warned_, true)) return;
  }
  std::fprintf(stderr,
               "thtrain: warning: files in the cache folder %s may not be executed (a mount with `noexec`?): "
               "compiled code is loaded from copies in %s\n",
               printable(store_.folder()).c_str(), printable(where).c_str());
}

}  // namespace thtrain
