// Compiles a program in units, several at once, and links them; kernels that some program had before are found.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/codegen/source_text.h"
#include "compiler/host/host_compiler.h"
#include "compiler/store/entry_store.h"

namespace thtrain {

/// In the store lie objects of several kernels ("units/<hash>-<compiler>.o"), and for each kernel the name of one that
/// has it ("kernels/<hash>-<compiler>"). They are stored when a program with them was linked. One that is missing,
/// damaged, or cannot be linked is compiled anew. docs/decisions/0011.
class UnitBuild {
 public:
  struct Setting {
    EntryStore* store;
    const HostCompiler* compiler;
    const std::vector<std::string>* flags;
    std::string key;            // what decides objects besides text and compiler
    std::string compiler_part;  // of names
    size_t processes = 1;       // compilers at once; where they are several, the entry's may be one more
  };
  UnitBuild(Setting setting, const SourceText& source);

  /// The linked object. `path`: of the whole text, for messages. Errors are those of compile_object.
  std::string run(const std::string& path);

  size_t compiled() const { return compiled_; }  // kernels, by run()
  size_t found() const { return source_.kernels.size() - compiled_; }

 private:
  struct Unit {
    std::vector<size_t> kernels;  // empty for the entry
    std::string name, text;       // of its files; C++
    std::string object = {};
  };
  std::string kernel_entry(size_t kernel) const;
  /// Objects that are stored, by their names; kernels that are in none.
  std::map<std::string, std::string> stored_objects(std::vector<size_t>& missing) const;
  std::vector<Unit> compile(const std::vector<size_t>& missing);
  std::string link(const std::vector<Unit>& units, const std::map<std::string, std::string>& stored,
                   const std::string& path) const;
  void keep(const std::vector<Unit>& units) const;

  Setting setting_;
  const SourceText& source_;
  std::vector<std::string> symbols_;
  size_t compiled_ = 0;
};

}  // namespace thtrain
