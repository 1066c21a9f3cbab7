// Where data is looked for: the configuration's folder, then $THTRAIN_DATA, then the user's cache folder.
#pragma once

#include <string>
#include <vector>

#include "compiler/base/error.h"

namespace thtrain {

/// $XDG_CACHE_HOME/thtrain/data, else $HOME/.cache/thtrain/data; "" where neither variable is set.
std::string cache_data_folder();

/// The folders that are searched, in order. `config_folder` is where the configuration is ("" for the working
/// folder).
std::vector<std::string> data_folders(const std::string& config_folder);

/// The location of one file: itself if `path` is absolute, else the first hit below data_folders. With `or_gzipped`,
/// the name with ".gz" behind it serves too. UserError lists the locations, and which of them may not be looked at.
std::string find_data_file(const std::string& path, const std::string& config_folder, bool or_gzipped = false,
                           const ConfigPosition& where = {});

/// The locations of a known data set's files, which are together in one of data_folders or in its subfolder `name`;
/// each may have ".gz" behind its name. A `folder` that is not empty is looked for as find_data_file looks for a path,
/// and is the only one searched. UserError lists the locations and gives the command that gets the files, gzipped, from
/// below `url` ("": the one that goes to the folder to put them in).
std::vector<std::string> find_data_set(const std::string& name, const std::vector<std::string>& files,
                                       const std::string& url, const std::string& config_folder,
                                       const std::string& folder = "", const ConfigPosition& where = {});

}  // namespace thtrain
