#include "compiler/host/shared_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "compiler/base/error.h"

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

/// Its own file in the store.
std::shared_ptr<const SharedObject> open_in_place(const EntryStore::Entry& entry, std::string& trouble) {
  std::string name = entry.folder ? name_of(*entry.folder) : "";
  name = name.empty() ? entry.trusted_path : str(name, "/", entry.name);
  if (!name.empty()) return open_object(name, entry.path, entry.folder, trouble);
  if (trouble.empty()) trouble = str("/proc is not mounted, and others could exchange ", entry.path);
  return nullptr;
}

/// The content as a file that has no name and cannot be changed any more; null where the system offers none.
std::shared_ptr<const FileDescriptor> in_memory(const EntryStore::Entry& entry) {
  auto file = std::make_shared<const FileDescriptor>(memfd_create("thtrain", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file->get() < 0 || !write_all(file->get(), entry.content)) return nullptr;
  (void)fcntl(file->get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return file;
}

/// The dynamic linker knows objects by their names: one that it did not unload, of a descriptor that was closed since,
/// would be taken for this one. Then another descriptor of the same file has a new name.
std::string new_name_of(std::shared_ptr<const FileDescriptor>& file) {
  std::string name = name_of(*file);
  std::vector<std::shared_ptr<const FileDescriptor>> taken;
  for (void* before = nullptr; !name.empty() && (before = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD));) {
    dlclose(before);
    taken.push_back(file);
    file = std::make_shared<const FileDescriptor>(fcntl(file->get(), F_DUPFD_CLOEXEC, 0));
    name = file->get() < 0 ? "" : name_of(*file);
  }
  return name;
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

bool is_whole_object(std::string_view bytes) {
  ElfW(Ehdr) head;
  if (bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  auto is_within = [&](uint64_t begin, uint64_t size) { return begin <= bytes.size() && size <= bytes.size() - begin; };
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || !is_within(head.e_shoff, head.e_shnum * head.e_shentsize))
    return false;
  for (size_t i = 0; i < head.e_phnum; ++i) {
    ElfW(Phdr) segment;
    const uint64_t at = head.e_phoff + i * head.e_phentsize;
    if (head.e_phentsize != sizeof segment || !is_within(at, sizeof segment)) return false;
    std::memcpy(&segment, bytes.data() + at, sizeof segment);
    if (!is_within(segment.p_offset, segment.p_filesz)) return false;
  }
  return true;
}

std::shared_ptr<const SharedObject> load_object(const EntryStore::Entry& entry, std::string& trouble) {
  if (!is_whole_object(entry.content)) {
    trouble = str(entry.path, ": this is no whole object file");
    return nullptr;
  }
  auto file = in_memory(entry);
  const std::string name = file ? new_name_of(file) : "";
  if (!name.empty())
    if (auto object = open_object(name, entry.path, file, trouble)) return object;
  return open_in_place(entry, trouble);
}

}  // namespace thtrain
