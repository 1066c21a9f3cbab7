#include "datasets/npz.h"

#include <algorithm>

#include "datasets/memory.h"

namespace thtrain {

namespace {
constexpr std::string_view kSuffix = ".npy";
}

NpzFile::NpzFile(const std::string& path) : zip_(path) {
  for (size_t i = 0; i < zip_.entries().size(); ++i) {
    const std::string& entry = zip_.entries()[i].name;
    if (!entry.ends_with(kSuffix)) continue;
    std::string name = entry.substr(0, entry.size() - kSuffix.size());
    if (!entries_.emplace(name, i).second) {
      throw file_error(path, str("two arrays are named \"", name, "\""), "a name for each array", {},
                       "which of them is meant is not known: write the file again with other names");
    }
    names_.push_back(std::move(name));
  }
}

const ZipEntry& NpzFile::entry_of(const std::string& name) const {
  auto found = entries_.find(name);
  if (found != entries_.end()) return zip_.entries()[found->second];
  throw file_error(zip_.path(), str("there is no array named \"", name, "\""),
                   names_.empty() ? "an .npz file with arrays" : str("one of ", join(names_, ", ")),
                   names_.empty() ? "one without" : "");
}

NpyHeader NpzFile::header(const std::string& name) const {
  const ZipEntry& entry = entry_of(name);
  zip_.check(entry);
  std::string beginning(std::min<uint64_t>(entry.size, kMaxNpyHeader), '\0');
  zip_.read_beginning(entry, std::as_writable_bytes(std::span(beginning)));
  return parse_npy_header(beginning, entry.size, str(zip_.path(), "[", name, "]"));
}

Tensor NpzFile::read(const std::string& name) const {
  const ZipEntry& entry = entry_of(name);
  zip_.check(entry);
  std::string path = str(zip_.path(), "[", name, "]");
  require_memory(path, "the array", entry.size);
  Tensor bytes = Tensor::empty(DType::kUInt8, {static_cast<int64_t>(entry.size)});
  zip_.read(entry, {static_cast<std::byte*>(bytes.raw()), bytes.bytes()});
  return parse_npy(bytes, path);
}

ArrayPath::ArrayPath(const std::string& path) : file(path) {
  constexpr std::string_view kMark = ".npz[";
  size_t mark = path.ends_with(']') ? path.find(kMark) : std::string::npos;
  if (mark == std::string::npos) return;
  size_t open = mark + kMark.size();
  name = path.substr(open, path.size() - open - 1);
  file = path.substr(0, open - 1);
}

std::map<std::string, Tensor> read_npz(const std::string& path) {
  NpzFile file(path);
  std::map<std::string, Tensor> out;
  for (const std::string& name : file.names()) out.emplace(name, file.read(name));
  return out;
}

void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
               const std::function<void()>& check) {
  ZipWriter zip(path, kWideFrom, check);
  for (const auto& [name, array] : arrays) {
    Tensor elements = array.contiguous();
    std::string header = npy_header_text(elements);
    zip.add(str(name, kSuffix),
            {std::as_bytes(std::span(header)), {static_cast<const std::byte*>(elements.raw()), elements.bytes()}});
  }
  zip.commit();
}

}  // namespace thtrain
