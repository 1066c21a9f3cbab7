#include "datasets/array_file.h"

#include <bit>

#include "datasets/deflated_bytes.h"
#include "datasets/idx.h"
#include "datasets/npz.h"

namespace thtrain {

namespace {

/// Runs `action`; its UserError gets the location.
template <class Action>
auto at_location(const ConfigPosition& where, Action action) {
  try {
    return action();
  } catch (const UserError& error) {
    throw placed(error, where);
  }
}

UserError unnamed(const std::string& path, const NpzFile& archive) {
  return file_error(path, "an .npz file is given where one array is needed",
                    archive.names().empty()
                        ? "an .npz file with arrays"
                        : str(path, "[NAME] with the name of an array: ", join(archive.names(), ", ")),
                    archive.names().empty() ? "one without" : "");
}

}  // namespace

ArrayFile::ArrayFile(const std::string& path, Format format, const ConfigPosition& where) : format_(format) {
  array_.origin = path;
  array_.where = where;
  at_location(where, [&] {
    ArrayPath parts(path);
    if (format == Format::kIdx) {
      IdxHeader header = read_idx_header(path);
      array_.raw = outline(header.dtype, header.shape);
      array_.swapped = size_of(header.dtype) > 1 && std::endian::native == std::endian::little;
      offset_ = header.data_offset;
      is_packed_ = header.packed;
    } else if (!parts.name.empty() || path.ends_with(".npz")) {
      NpzFile archive(parts.file);
      if (parts.name.empty()) throw unnamed(path, archive);
      npy_ = archive.header(parts.name);
      is_packed_ = archive.is_packed(parts.name);
    } else {
      npy_ = read_npy_header(path);
    }
    if (format == Format::kNpy) {
      array_.raw = outline(npy_.dtype, npy_.shape);
      array_.swapped = npy_.swapped;
      offset_ = npy_.data_offset;
      if (npy_.fortran_order)
        why_not_ = "an array in C order is read while training: numpy.save(path, numpy.ascontiguousarray(array))";
    }
  });
}

// As many bytes as the header says, as where the array is read as a whole.
std::shared_ptr<const ByteSource> ArrayFile::unpacked(std::shared_ptr<const InputFile> file) const {
  const uint64_t packed = file->size();
  auto out = std::make_shared<const DeflatedBytes>(std::move(file), 0, packed, DeflatedBytes::Format::kGzip);
  check_idx_size(array_.origin, out->size());
  return out;
}

DataArray ArrayFile::in_file() const {
  TH_CHECK(can_stay(), array_.origin, " cannot stay in its file");
  return at_location(array_.where, [&] {
    DataArray out = array_;
    const ArrayPath parts(array_.origin);
    ZipReader::Bytes bytes;
    if (!parts.name.empty()) {
      bytes = NpzFile(parts.file).bytes(parts.name);
    } else {
      auto file = std::make_shared<const InputFile>(array_.origin);
      if (is_packed_)
        bytes.source = unpacked(std::move(file));
      else
        bytes.source = std::make_shared<const FileBytes>(std::move(file));
    }
    const int64_t width = row_bytes(out);
    out.source = std::make_shared<const FixedRows>(bytes.source, bytes.offset + offset_, width, width);
    return out;
  });
}

DataArray ArrayFile::in_memory() const {
  return at_location(array_.where, [&] {
    DataArray out = array_;
    ArrayPath parts(array_.origin);
    out.swapped = false;
    if (format_ == Format::kIdx)
      out.raw = read_idx(array_.origin);
    else if (!parts.name.empty())
      out.raw = NpzFile(parts.file).read(parts.name);
    else {
      out.raw = read_npy_elements(InputFile(array_.origin), npy_);
      out.swapped = npy_.swapped;
    }
    return out;
  });
}

}  // namespace thtrain
