#include "datasets/array_file.h"

#include <bit>

#include "datasets/idx.h"
#include "datasets/npz.h"

namespace thtrain {

namespace {

/// Lengths and dtype without elements.
Tensor outline(DType dtype, const Shape& shape) {
  return Tensor::wrap(dtype, shape, row_major_strides(shape), nullptr, nullptr);
}

/// Runs `action`; its UserError gets the place.
template <class Action>
auto at_place(const ConfigPosition& where, Action action) {
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
  at_place(where, [&] {
    ArrayPath parts(path);
    if (format == Format::kIdx) {
      IdxHeader header = read_idx_header(path);
      array_.raw = outline(header.dtype, header.shape);
      array_.swapped = size_of(header.dtype) > 1 && std::endian::native == std::endian::little;
      array_.offset = header.data_offset;
      if (header.packed) why_not_ = str("a file that is not gzipped is read while training: gunzip ", path);
    } else if (!parts.name.empty() || path.ends_with(".npz")) {
      NpzFile archive(parts.file);
      if (parts.name.empty()) throw unnamed(path, archive);
      NpyHeader header = archive.header(parts.name);
      array_.raw = outline(header.dtype, header.shape);
      why_not_ = "an array in a .npy file of its own (numpy.save) is read while training";
    } else {
      npy_ = read_npy_header(path);
      array_.raw = outline(npy_.dtype, npy_.shape);
      array_.swapped = npy_.swapped;
      array_.offset = npy_.data_offset;
      if (npy_.fortran_order)
        why_not_ = "an array in C order is read while training: numpy.save(path, numpy.ascontiguousarray(array))";
    }
  });
}

DataArray ArrayFile::in_file() const {
  TH_CHECK(can_stay(), array_.origin, " cannot stay in its file");
  return at_place(array_.where, [&] {
    DataArray out = array_;
    out.file = std::make_shared<const InputFile>(array_.origin);
    return out;
  });
}

DataArray ArrayFile::in_memory() const {
  return at_place(array_.where, [&] {
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
