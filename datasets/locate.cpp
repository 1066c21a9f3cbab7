#include "datasets/locate.h"

#include <sys/stat.h>

#include <cstdlib>

namespace thtrain {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string joined(const std::string& folder, const std::string& path) {
  if (folder.empty() || path.starts_with('/')) return path;
  return folder.ends_with('/') ? folder + path : folder + "/" + path;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

/// `path`, or its gzipped form, if one is there.
std::string existing(const std::string& path, bool or_gzipped) {
  if (exists(path)) return path;
  std::string packed = path + ".gz";
  return or_gzipped && exists(packed) ? packed : "";
}

}  // namespace

std::string cache_data_folder() {
  std::string cache = environment("XDG_CACHE_HOME");
  if (!cache.empty()) return joined(cache, "thtrain/data");
  std::string home = environment("HOME");
  return home.empty() ? "" : joined(home, ".cache/thtrain/data");
}

std::vector<std::string> data_folders(const std::string& config_folder) {
  std::vector<std::string> out{config_folder.empty() ? "." : config_folder};
  for (const std::string& folder : {environment("THTRAIN_DATA"), cache_data_folder()}) {
    if (!folder.empty()) out.push_back(folder);
  }
  return out;
}

std::string find_data_file(const std::string& path, const std::string& config_folder, bool or_gzipped,
                           const ConfigPosition& where) {
  std::vector<std::string> folders = data_folders(config_folder);
  if (path.starts_with('/')) folders = {""};
  for (const std::string& folder : folders) {
    std::string found = existing(joined(folder, path), or_gzipped);
    if (!found.empty()) return found;
  }
  if (path.starts_with('/')) throw UserError({.what = str(path, ": no such file or folder"), .config = where});
  throw UserError({.what = str("\"", path, "\" was not found"),
                   .expected = str("a file or folder of that name below one of\n", join(folders, "\n")),
                   .config = where,
                   .hint = "give its absolute path, or set THTRAIN_DATA to the folder that holds it"});
}

std::vector<std::string> find_data_set(const std::string& name, const std::vector<std::string>& files,
                                       const std::string& config_folder, const std::string& folder,
                                       const ConfigPosition& where) {
  std::vector<std::string> folders;
  if (!folder.empty()) {
    folders.push_back(find_data_file(folder, config_folder, false, where));
  } else {
    for (const std::string& each : data_folders(config_folder)) {
      folders.push_back(each);
      folders.push_back(joined(each, name));
    }
  }
  std::vector<std::string> looked;
  for (const std::string& each : folders) {
    std::vector<std::string> found, missing;
    for (const std::string& file : files) {
      std::string path = existing(joined(each, file), true);
      (path.empty() ? missing : found).push_back(path.empty() ? file : path);
    }
    if (missing.empty()) return found;
    looked.push_back(found.empty() ? each : str(each, " (without ", join(missing, ", "), ")"));
  }
  std::string home = !folder.empty() ? folders[0] : joined(cache_data_folder(), name);
  throw UserError({.what = str("the data set \"", name, "\" was not found"),
                   .expected = str(join(files, ", "), ",\neach as it is or with .gz, in one folder"),
                   .got = str("not in\n", join(looked, "\n")),
                   .config = where,
                   .hint = str("run: mkdir -p ", home,
                               "\nand put the files there, or set THTRAIN_DATA to a folder that has "
                               "them;\nor take the data set \"digits\", which is built in")});
}

}  // namespace thtrain
