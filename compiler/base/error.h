// The two kinds of error and the one layout of their text.
//
//   error: dot: inner lengths differ
//     expected: columns of the left == rows of the right
//     got:      left float32[batch, 784], right float32[512, 10]
//     node:     mlp/out, built at nn/layers/dense.cpp:41
//     config:   configs/labs/mlp_digits.toml:23:10
//        23 | outputs = 512
//           |           ^^^
//     hint:     layer "out" follows "hidden" (784 units)
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "compiler/base/str.h"

namespace thtrain {

// ---- errors ---------------------------------------------------------------------------------------------------------

/// A location in a configuration file or on the command line. Line and column count from 1; line 0 means "no location".
struct ConfigPosition {
  std::string file;  // as the user wrote it
  int line = 0;
  int column = 0;
  int length = 1;           // characters under the caret
  std::string source_line;  // the text of that line, for the caret

  explicit operator bool() const { return line > 0; }
};

/// One finding: what is wrong, and where. Empty fields are left out of the text.
struct Message {
  std::string what;
  std::string expected = {};
  std::string got = {};
  std::string node = {};  // the user's expression: scope and source line
  ConfigPosition config = {};
  std::string hint = {};

  std::string text() const;
};

/// What is thrown: one message, or several.
class Error : public std::exception {
 public:
  explicit Error(std::vector<Message> messages);
  const char* what() const noexcept override { return text_.c_str(); }
  const std::vector<Message>& messages() const { return messages_; }

 private:
  std::vector<Message> messages_;
  std::string text_;
};

/// The user's graph, data or configuration is at fault. The command line ends with exit code 2.
class UserError : public Error {
 public:
  explicit UserError(Message message);
  explicit UserError(std::vector<Message> messages) : Error(std::move(messages)) {}
};

/// thtrain is at fault. The command line ends with exit code 1.
class InternalError : public Error {
 public:
  explicit InternalError(Message message);
};

/// The user asked to stop while something was waited for. The command line ends with exit code 128 + signal.
class Interrupted : public Error {
 public:
  Interrupted(int signal, std::string what);
  int signal() const { return signal_; }

 private:
  int signal_;
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

namespace detail {
[[noreturn]] void fail_check(const char* condition, const char* file, int line, std::string what);
}

/// Our own assumption; the text is built only when it fails.
#define TH_CHECK(condition, ...)                                                                  \
  do {                                                                                            \
    if (!(condition)) [[unlikely]]                                                                \
      ::thtrain::detail::fail_check(#condition, __FILE__, __LINE__, ::thtrain::str(__VA_ARGS__)); \
  } while (false)

}  // namespace thtrain
