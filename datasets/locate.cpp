#include "datasets/locate.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>

#include "compiler/base/system_error.h"
#include "compiler/store/cache_folder.h"

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

/// The result of looking for a file at one location.
struct Look {
  std::string found;    // its path; "" where nothing is there
  std::string refused;  // what the system said where it did not let us look: "permission denied"
};

/// `path`, or its gzipped form.
Look look(const std::string& path, bool or_gzipped) {
  Look out;
  auto exists = [&](const std::string& name) {
    struct stat status {};
    if (::stat(name.c_str(), &status) == 0) return true;
    const int error = errno;
    if (error == ENOENT && ::lstat(name.c_str(), &status) == 0)
      out.refused = "a link to nothing";
    else if (error == EACCES || error == EPERM)
      out.refused = "permission denied";
    else if (error != ENOENT && error != ENOTDIR)
      out.refused = system_error_text(error);
    return false;
  };
  if (exists(path))
    out.found = path;
  else if (or_gzipped && exists(path + ".gz"))
    out.found = path + ".gz";
  return out;
}

/// "data/mnist (permission denied)"
std::string noted(const std::string& folder, const std::string& note) {
  return note.empty() ? folder : str(folder, " (", note, ")");
}

/// For a command that a user may copy: in quotes where the shell would not take it as one word.
std::string shell_word(const std::string& word) {
  bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '/' || c == '.' || c == '_' || c == '-' || c == ',' || c >= 0x80;
  });
  if (plain && !word.empty()) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string cache_data_folder() {
  std::string cache = user_cache_folder();
  return cache.empty() ? "" : joined(cache, "data");
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
  if (path.starts_with('/')) {
    Look there = look(path, or_gzipped);
    if (!there.found.empty()) return there.found;
    throw UserError({.what = str(path, there.refused.empty() ? ": no such file" : ": the file cannot be reached"),
                     .expected = there.refused.empty() ? "" : "a file that this user may read, or a link to one",
                     .got = there.refused,
                     .config = where});
  }
  std::vector<std::string> looked;
  for (const std::string& folder : data_folders(config_folder)) {
    Look there = look(joined(folder, path), or_gzipped);
    if (!there.found.empty()) return there.found;
    looked.push_back(noted(folder, there.refused));
  }
  throw UserError({.what = str("\"", path, "\" was not found"),
                   .expected = str("a file of that name in one of\n", join(looked, "\n")),
                   .config = where,
                   .hint = path.starts_with('~')
                               ? "~ is no folder here, only in a shell: write the whole path"
                               : "give its absolute path, or set THTRAIN_DATA to the folder that holds it"});
}

std::vector<std::string> find_data_set(const std::string& name, const std::vector<std::string>& files,
                                       const std::string& url, const std::string& config_folder,
                                       const std::string& folder, const ConfigPosition& where) {
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
    std::string refused;
    for (const std::string& file : files) {
      Look there = look(joined(each, file), true);
      if (!there.refused.empty()) refused = there.refused;
      (there.found.empty() ? missing : found).push_back(there.found.empty() ? file : there.found);
    }
    if (missing.empty()) return found;
    looked.push_back(noted(each, !found.empty() ? str("without ", join(missing, ", ")) : refused));
  }
  std::string home = shell_word(!folder.empty() ? folders[0] : joined(cache_data_folder(), name));
  std::string command = str("mkdir -p ", home, " && cd ", home);
  if (!url.empty()) command += str(" && curl -fLO '", url, "/{", join(files, ","), "}.gz'");
  throw UserError({.what = str("the data set \"", name, "\" was not found"),
                   .expected = str(join(files, ", "), ",\neach as it is or with .gz, in one folder"),
                   .got = str("not in\n", join(looked, "\n")),
                   .config = where,
                   .hint = str(url.empty() ? "put the files into this folder:\n" : "get it, once:\n", command,
                               "\nor set THTRAIN_DATA to a folder that has it; or take source = \"digits\", which is "
                               "built in")});
}

}  // namespace thtrain
