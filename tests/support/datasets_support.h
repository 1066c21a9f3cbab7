// What the tests of datasets/ share: paths into the source tree, a folder to write in, the text of an error.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/base/error.h"

namespace thtrain {

/// `relative` in the source tree, wherever the test runs.
inline std::string source_path(const std::string& relative) {
#ifdef THTRAIN_SOURCE_DIR
  return THTRAIN_SOURCE_DIR "/" + relative;
#else
  return relative;
#endif
}

/// The whole text of the UserError that `action` throws.
template <class Action>
std::string error_text(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

/// A new folder under the system's temporary one, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "thtrain_test_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
  /// Writes `bytes` to `name` and returns its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::string path_;
};

/// An environment variable set (or with nullptr removed) while this lives.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const std::string& name, const char* value) : name_(name) {
    const char* old = std::getenv(name.c_str());
    had_ = old != nullptr;
    if (had_) old_ = old;
    set(value);
  }
  ~EnvironmentVariable() { set(had_ ? old_.c_str() : nullptr); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  void set(const char* value) const {
    if (value)
      ::setenv(name_.c_str(), value, 1);
    else
      ::unsetenv(name_.c_str());
  }
  std::string name_, old_;
  bool had_ = false;
};

/// While it lives, file permissions count even if the tests run as root.
class WithoutRoot {
 public:
  WithoutRoot() : was_root_(::geteuid() == 0) {
    if (was_root_ && ::seteuid(65534) != 0) ADD_FAILURE() << "seteuid failed";
  }
  ~WithoutRoot() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool was_root_;
};

}  // namespace thtrain
