#include "datasets/npz.h"

#include "datasets/npy.h"

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
      throw file_error(path, str("two arrays are named \"", name, "\""));
    }
    names_.push_back(std::move(name));
  }
}

Tensor NpzFile::read(const std::string& name) const {
  auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw file_error(zip_.path(), str("there is no array named \"", name, "\""), str("one of ", join(names_, ", ")));
  }
  const ZipEntry& entry = zip_.entries()[found->second];
  zip_.check(entry);
  Tensor bytes = Tensor::empty(DType::kUInt8, {static_cast<int64_t>(entry.size)});
  zip_.read(entry, {static_cast<std::byte*>(bytes.raw()), bytes.bytes()});
  return parse_npy(bytes, str(zip_.path(), "[", name, "]"));
}

std::map<std::string, Tensor> read_npz(const std::string& path) {
  NpzFile file(path);
  std::map<std::string, Tensor> out;
  for (const std::string& name : file.names()) out.emplace(name, file.read(name));
  return out;
}

void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays) {
  ZipWriter zip(path);
  for (const auto& [name, array] : arrays) {
    Tensor elements = array.contiguous();
    std::string header = npy_header_text(elements);
    zip.add(str(name, kSuffix),
            {std::as_bytes(std::span(header)), {static_cast<const std::byte*>(elements.raw()), elements.bytes()}});
  }
  zip.commit();
}

}  // namespace thtrain
