// Compiled code that is loaded.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "compiler/store/entry_store.h"

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
  const std::string& path() const { return path_; }  // of the .so in the cache; its .cpp lies next to it

 private:
  void* handle_;
  std::string path_;
  std::shared_ptr<const FileDescriptor> kept_;
};

/// Has an object of the machine's kind all the bytes that its headers speak of? One that was cut is not mapped: to read
/// behind the end of a file ends the process.
bool is_whole_object(std::string_view bytes);

/// Loads the bytes of an entry that were checked when it was read, whatever becomes of the file meanwhile: the dynamic
/// linker takes names, and is given /proc/PID/fd/N, where N is the descriptor of a sealed file in memory, which stays
/// open as long as the object is loaded, so that a debugger can open the name. The folder of the cache need not be one
/// whose files execute. Where /proc is not mounted, or the system gives no such files, the entry's own file serves, if
/// no other user can change what its path leads to. Null, with the complaint in `trouble`, where it cannot be loaded.
/// May be called from several threads.
std::shared_ptr<const SharedObject> load_object(const EntryStore::Entry& entry, std::string& trouble);

}  // namespace thtrain
