#include "datasets/sources/png_folders.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "datasets/content.h"
#include "datasets/data_fields.h"
#include "datasets/memory.h"
#include "datasets/sources/joined.h"

namespace thtrain {

namespace fs = std::filesystem;

// Names in a folder, in the order of their bytes.
static std::vector<std::string> names_in(const std::string& folder, bool folders) {
  std::vector<std::string> out;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.') || entry.is_directory(ignored) != folders) continue;
    const std::string end = entry.path().extension().string();
    if (folders || end == ".png" || end == ".PNG") out.push_back(name);
  }
  if (problem)
    throw file_error(folder, "the folder cannot be read", "a folder with a subfolder for each class",
                     problem.message());
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

struct Size {
  int64_t height, width;
  bool operator==(const Size&) const = default;
};

std::string size_text(const Size& size) {
  return str(size.height, 'x', size.width);
}

/// A PNG file whose header was read. Decoded as it is stored: libpng's simplified interface would compute in linear
/// light, and so change values of 16 bits, of colour that becomes grey, and of what is partly transparent.
class Picture {
 public:
  explicit Picture(const std::string& path) : path_(path), bytes_(read_file(path)) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &on_error, [](png_structp, png_const_charp) {});
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_ || !read_header()) fail();
    constexpr int64_t kMostSide = 1 << 15;
    if (size_.width <= kMostSide && size_.height <= kMostSide) return;
    const Size got = size_;
    release();
    throw file_error(path_, "the picture is too large", str("at most ", kMostSide, " pixels a side"), size_text(got));
  }
  ~Picture() { release(); }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;

  Size size() const { return size_; }

  /// Its planes, one after the other: of grey, or of red, green and blue.
  void read(bool grey, uint8_t* out) {
    const size_t width = static_cast<size_t>(size_.width), height = static_cast<size_t>(size_.height);
    const size_t pixels = width * height;
    std::vector<uint8_t> stored(pixels * channels_);
    std::vector<png_bytep> rows;
    for (size_t y = 0; y < height; ++y) rows.push_back(stored.data() + y * width * channels_);
    if (!read_rows(rows.data())) fail();
    const bool is_color = channels_ >= 3, has_alpha = channels_ % 2 == 0;
    for (size_t i = 0; i < pixels; ++i) {
      const uint8_t* pixel = &stored[i * channels_];
      const uint32_t alpha = has_alpha ? pixel[channels_ - 1] : 255;
      auto value = [&](size_t c) { return (pixel[is_color ? c : 0] * alpha + 127) / 255; };  // on black, rounded
      if (!grey)
        for (size_t c = 0; c < 3; ++c) out[c * pixels + i] = static_cast<uint8_t>(value(c));
      else if (is_color)  // the luma of ITU-R BT.601 in fixed point, as Pillow's mode "L" has it
        out[i] = static_cast<uint8_t>((19595 * value(0) + 38470 * value(1) + 7471 * value(2) + 32768) >> 16);
      else
        out[i] = static_cast<uint8_t>(value(0));
    }
  }

 private:
  // An error of libpng jumps back to setjmp: functions that call it there have no local objects.
  [[noreturn]] static void on_error(png_structp png, png_const_charp said) {
    auto& self = *static_cast<Picture*>(png_get_error_ptr(png));
    std::snprintf(self.said_, sizeof self.said_, "%s", said);
    png_longjmp(png, 1);
  }

  static void next_bytes(png_structp png, png_bytep out, size_t count) {
    auto& self = *static_cast<Picture*>(png_get_io_ptr(png));
    if (count > self.bytes_.size() - self.offset_) png_error(png, "read beyond end of data");
    std::memcpy(out, self.bytes_.data() + self.offset_, count);
    self.offset_ += count;
  }

  // Whether it could be read. From here on a pixel is 8 bits each of grey or of red, green, blue, and alpha or none.
  bool read_header() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, this, &next_bytes);
    // No chunks but those of the pixels: gAMA, iCCP and texts change nothing.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png_, info_);
    size_ = {png_get_image_height(png_, info_), png_get_image_width(png_, info_)};
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    channels_ = png_get_channels(png_, info_);
    return true;
  }

  bool read_rows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_image(png_, rows);
    return true;
  }

  void release() { png_destroy_read_struct(&png_, &info_, nullptr); }

  [[noreturn]] void fail() {
    const std::string said = said_;
    release();
    throw file_error(path_, "the picture cannot be read", "a PNG file", said.empty() ? content_text(bytes_) : said);
  }

  std::string path_, bytes_;
  size_t offset_ = 0, channels_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Size size_{};
  char said_[128] = "";
};

/// Pictures of one size, each unpacked when it is asked for.
class PictureRows : public RowSource {
 public:
  PictureRows(std::vector<std::string> paths, bool grey)
      : paths_(std::move(paths)), grey_(grey), size_(Picture(paths_.at(0)).size()) {
    for (const std::string& path : paths_) opened_.push_back(file_state(path));
  }

  Size size() const { return size_; }
  int64_t row_bytes() const { return size_.height * size_.width * (grey_ ? 1 : 3); }

  void read(int64_t first, int64_t count, std::byte* out) const override {
    for (int64_t i = first; i < first + count; ++i, out += row_bytes()) {
      const std::string& path = paths_[static_cast<size_t>(i)];
      Picture picture(path);
      if (!(picture.size() == size_))
        throw file_error(path, "the picture has another size than the first",
                         str(size_text(size_), " pixels, as ", paths_[0]), size_text(picture.size()));
      picture.read(grey_, reinterpret_cast<uint8_t*>(out));
    }
  }
  /// Each is opened whenever it is read: another one under its name is a change.
  void check_unchanged() const override {
    for (size_t i = 0; i < paths_.size(); ++i)
      if (const FileState now = file_state(paths_[i]); now != opened_[i]) fail_changed(paths_[i], opened_[i], now);
  }
  void list_files(std::vector<OpenedFile>& out) const override {
    for (size_t i = 0; i < paths_.size(); ++i) out.push_back({paths_[i], opened_[i]});
  }

 private:
  std::vector<std::string> paths_;
  std::vector<FileState> opened_;
  bool grey_;
  Size size_;
};

}  // namespace

// The pictures of out.files.
static void read_pictures(const std::string& folder, bool grey, uint64_t most_bytes, PngFolders& out) {
  std::vector<std::string> paths;
  for (const std::string& file : out.files) paths.push_back((fs::path(folder) / file).string());
  const auto count = static_cast<int64_t>(paths.size());
  auto rows = std::make_shared<const PictureRows>(std::move(paths), grey);
  Shape shape = {count, rows->size().height, rows->size().width};
  if (!grey) shape.insert(shape.begin() + 1, 3);
  if (static_cast<uint64_t>(count * rows->row_bytes()) > most_bytes) {
    out.images = outline(DType::kUInt8, shape);
    out.source = std::move(rows);
    return;
  }
  out.images = Tensor::empty(DType::kUInt8, shape);
  rows->read(0, count, static_cast<std::byte*>(out.images.raw()));
}

PngFolders read_png_folders(const std::string& folder, bool grey, const std::vector<std::string>& classes,
                            uint64_t most_bytes) {
  PngFolders out{.images = {}, .labels = {}, .classes = classes};
  const std::vector<std::string> names = names_in(folder, true);
  if (names.empty()) throw file_error(folder, "there are no classes", "a subfolder for each class", "no subfolders");
  if (classes.empty()) out.classes = names;
  std::vector<int64_t> labels;
  for (const std::string& name : names) {
    const auto known = std::find(out.classes.begin(), out.classes.end(), name);
    if (known == out.classes.end())
      throw file_error(folder, "the subfolder is none of the classes", join(out.classes, ", "), printable(name));
    for (const std::string& file : names_in((fs::path(folder) / name).string(), false)) {
      out.files.push_back(str(name, '/', file));
      labels.push_back(known - out.classes.begin());
    }
  }
  if (labels.empty()) throw file_error(folder, "there are no pictures", "FOLDER/CLASS/*.png", "none in its subfolders");
  out.labels = Tensor::of(labels, {std::ssize(labels)});
  read_pictures(folder, grey, most_bytes, out);
  return out;
}

void PngFoldersConfig::fill(DatasetOptions& out) const {
  SetFiles::fill(out);
  out.read = [color = color](const DatasetOptions& options, DType floatx) {
    std::vector<std::string> classes;
    SourceData data = read_sets(options, floatx, [&](const std::string& folder, uint64_t room) {
      PngFolders found = read_png_folders(folder, color == Color::kGrey, classes, room / (1 + size_of(floatx)));
      classes = found.classes;
      return JoinedPart{found.images, found.labels, found.source, found.files};
    });
    data.classes = static_cast<int64_t>(classes.size());
    data.class_names = classes;
    return data;
  };
}

std::optional<Split> PngFoldersConfig::read_examples(const std::string& path, const KnownData& known) const {
  const bool grey = color == Color::kGrey;
  const uint64_t room = usable_memory() / 4;
  const bool are_renamed = !class_names.empty() || class_names_file;
  PngFolders found;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    found.files = names_in(path, false);
    if (found.files.empty())
      found = read_png_folders(path, grey, are_renamed ? std::vector<std::string>() : known.classes, room);
    else
      read_pictures(path, grey, room, found);
  } else {
    if (content_of(InputFile(path).beginning()) != Content::kPicture) return {};
    found.files = {fs::path(path).filename().string()};
    read_pictures(fs::path(path).parent_path().string(), grey, room, found);
  }
  // Subfolders under other names than the classes are told by their order: all must be there.
  const bool has_classes = !found.classes.empty() && (!are_renamed || found.classes.size() == known.classes.size());
  DataArray x{.raw = found.images, .source = found.source, .origin = path};
  x.files = std::make_shared<const std::vector<std::string>>(std::move(found.files));
  return Split(std::move(x), {.raw = found.labels, .origin = path}, has_classes ? Targets::kClasses : Targets::kNone,
               scale);
}

void PngFoldersConfig::describe(Fields<PngFoldersConfig>& f) {
  f.about(
      "Folders of PNG pictures of one size: `train = [\"pictures\"]` reads `pictures/CLASS/*.png`, the subfolders in "
      "the order of their names are the classes. Paths are looked for as those of `npy`. Values are the stored ones: "
      "16 bits are rounded to 8, gamma (`gAMA`) is not applied, what is transparent is blended on black by "
      "`v * alpha / 255`, and with `color = \"grey\"` colors become 0.299 red + 0.587 green + 0.114 blue, as in "
      "Pillow's mode `L`.");
  f.choice("color", &PngFoldersConfig::color, {{"grey", Color::kGrey}, {"rgb", Color::kRgb}})
      .synonyms({"colour", "mode"})
      .help("One number for each pixel, or three planes of red, green and blue.");
  describe_sets(f, "Folders");
}

Kind<DataConfig> png_folders_source() {
  return kind<PngFoldersConfig, DataConfig>();
}

}  // namespace thtrain
