#include "compiler/base/system_error.h"

#include <cctype>
#include <cerrno>
#include <cstring>

namespace thtrain {

std::string system_error_text(int error_number) {
  switch (error_number) {
    case ENOENT:
      return "no such file or folder";
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENAMETOOLONG:
      return "a name that is too long";
    case EISDIR:
      return "a folder";
    case ENOTDIR:
      return "a part of the path is not a folder";
    default:
      break;
  }
  std::string out = std::strerror(error_number);
  out[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(out[0])));
  return out;
}

}  // namespace thtrain
