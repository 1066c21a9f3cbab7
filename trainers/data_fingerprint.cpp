#include "trainers/data_fingerprint.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "compiler/base/content_hash.h"
#include "compiler/base/file.h"

namespace thtrain {

constexpr uint64_t kBlock = 4096, kBlocks = 64;

static std::string sampled_hash(const InputFile& file) {
  std::string samples;
  uint64_t size = file.size(), taken = std::min(size, kBlock * kBlocks);
  samples.resize(taken);
  auto bytes = std::as_writable_bytes(std::span(samples));
  if (size <= kBlock * kBlocks) {
    file.read_at(0, bytes);
    return content_hash({samples});
  }
  for (uint64_t i = 0; i < kBlocks; ++i) {
    uint64_t last = size - kBlock, from = last / (kBlocks - 1) * i + last % (kBlocks - 1) * i / (kBlocks - 1);
    file.read_at(from, bytes.subspan(i * kBlock, kBlock));
  }
  return content_hash({samples});
}

static std::string time_text(const timespec& time) {
  tm parts{};
  char text[64];
  ::gmtime_r(&time.tv_sec, &parts);
  size_t length = ::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%09ld", time.tv_nsec);
  return text;
}

std::string data_fingerprint(const std::string& path) {
  std::string location = path.ends_with(']') ? path.substr(0, path.rfind('[')) : path;
  struct stat status {};
  if (::stat(location.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return path;
  InputFile file(location);
  return str(file.size(), " bytes, modified ", time_text(status.st_mtim), ", samples ", sampled_hash(file));
}

std::string data_fingerprint(const DataArray& array) {
  std::vector<OpenedFile> files;
  if (array.source) array.source->list_files(files);
  if (files.empty() || (files.size() == 1 && array.origin.starts_with(files[0].path)))
    return data_fingerprint(array.origin);
  std::string all;
  for (const OpenedFile& file : files)
    all += str(file.path, '\n', file.state.size, ' ', file.state.modified_seconds, ' ', file.state.modified_nanoseconds,
               '\n');
  return str(array.origin, ", ", files.size(), files.size() == 1 ? " file " : " files ", content_hash({all}));
}

}  // namespace thtrain
