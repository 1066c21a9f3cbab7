// Compiled code that is loaded.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "compiler/runtime/entry_store.h"

namespace thtrain {

/// A shared object that stays loaded as long as this lives.
class SharedObject {
 public:
  /// `kept`: what must stay open as long as the object is loaded.
  SharedObject(void* handle, std::string path, std::shared_ptr<const FileDescriptor> kept)
      : handle_(handle), path_(std::move(path)), kept_(std::move(kept)) {}
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject();

  bool exports(const char* name) const;
  /// InternalError where the object exports nothing of that name.
  void* symbol(const char* name) const;
  const std::string& path() const { return path_; }  // of the .so in the cache; its .cpp lies beside it

 private:
  void* handle_;
  std::string path_;
  std::shared_ptr<const FileDescriptor> kept_;
};

/// Loads entries of a store. The dynamic linker takes names, not descriptors: it is given the entry's name below
/// /proc/PID/fd/N, where N is the descriptor of the folder that was checked, so that nothing on the way can be
/// exchanged in between. The kernel, and with it perf and sanitizers, sees the file in the cache; a debugger can open
/// the name. Where /proc is not mounted the path serves, if no other user can change what it leads to.
///
/// A folder on a file system that is mounted without permission to execute holds entries all the same: they are copied
/// to the private folder of the store, or where that does not execute either, to memory. One warning on standard error
/// says so. All functions may be called from several threads.
class ObjectLoader {
 public:
  /// `kind`: of the entries. The store must outlive this.
  ObjectLoader(EntryStore& store, std::string kind) : store_(store), kind_(std::move(kind)) {}
  /// Null, with the dynamic linker's complaint in `trouble`, where it cannot be loaded.
  std::shared_ptr<const SharedObject> load(const EntryStore::Entry& entry, std::string& trouble);

 private:
  std::shared_ptr<const SharedObject> load_elsewhere(const EntryStore::Entry& entry, std::string& trouble);
  void warn_once(const std::string& where);

  EntryStore& store_;
  std::string kind_;
  std::mutex mutex_;
  bool does_not_execute_ = false;  // the store's folder
  bool warned_ = false;
};

}  // namespace thtrain
