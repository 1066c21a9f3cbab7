#include "compiler/store/cache_folder.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace thtrain {

static std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

std::string user_cache_folder() {
  if (std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/thtrain";
  std::string home = variable("HOME");
  if (home.empty()) {
    passwd entry, *found = nullptr;
    std::string room(16384, '\0');
    if (getpwuid_r(geteuid(), &entry, room.data(), room.size(), &found) == 0 && found && found->pw_dir)
      home = found->pw_dir;
  }
  return home.starts_with('/') ? home + "/.cache/thtrain" : "";
}

std::string default_cache_folder() {
  std::string own = variable("THTRAIN_CACHE_DIR");
  return own.empty() ? user_cache_folder() : std::filesystem::absolute(own).string();
}

}  // namespace thtrain
