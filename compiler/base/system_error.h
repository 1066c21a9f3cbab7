// What the system said of a call that failed, in the words of our messages.
#pragma once

#include <string>

namespace thtrain {

/// "permission denied", "no space left on device", "a name that is too long": an errno as the `got` of a message.
std::string system_error_text(int error_number);

}  // namespace thtrain
