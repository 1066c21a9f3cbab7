// Files that are being written under a temporary name: a signal that ends the process removes them.
#pragma once

#include <string>

namespace thtrain {

/// Before the file at `path` is made, and when it is no longer there.
void note_unfinished(const std::string& path);
void forget_unfinished(const std::string& path);

/// From now on SIGINT, SIGTERM and SIGHUP remove the noted files before they end the process. A signal that is ignored,
/// or that has a handler, stays so.
void remove_unfinished_on_signals();

}  // namespace thtrain
