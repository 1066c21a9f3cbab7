#include "reports/font.h"

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_ADVANCES_H
#include FT_OUTLINE_H

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <unordered_map>

#include "compiler/base/utf8.h"

namespace thtrain {

namespace {

constexpr const char* kFile = "DejaVuSans.ttf";
// Debian and its children; Fedora; Arch; Alpine; the BSDs; a user's own.
constexpr const char* kFolders[] = {
    "/usr/share/fonts/truetype/dejavu", "/usr/share/fonts/dejavu-sans-fonts", "/usr/share/fonts/TTF",
    "/usr/share/fonts/dejavu",          "/usr/local/share/fonts/dejavu",      "/usr/local/share/fonts"};

std::string variable() {
  const char* value = std::getenv("THTRAIN_FONT");
  return value ? value : "";
}

std::string position() {
  if (std::string named = variable(); !named.empty()) return named;
  std::error_code error;
  for (const char* folder : kFolders)
    if (std::string path = str(folder, '/', kFile); std::filesystem::exists(path, error)) return path;
  return "";
}

}  // namespace

struct Font::Faces {
  FT_Library library = nullptr;
  FT_Face faces[2] = {};                             // regular, bold; the second one may be missing
  std::unordered_map<char32_t, FT_Fixed> widths[2];  // in units of the face

  ~Faces() {
    if (library) FT_Done_FreeType(library);
  }
  // The bold one where there is one.
  size_t index(bool bold) const { return bold && faces[1] ? 1 : 0; }
};

Font::Font(const std::string& path) : faces_(std::make_unique<Faces>()) {
  if (FT_Init_FreeType(&faces_->library) != 0) return;
  if (FT_New_Face(faces_->library, path.c_str(), 0, &faces_->faces[0]) != 0) return;
  if (!FT_IS_SCALABLE(faces_->faces[0])) return;
  if (faces_->faces[0]->family_name) family_ = faces_->faces[0]->family_name;
  if (family_.empty()) family_ = "sans-serif";
  if (!path.ends_with(".ttf")) return;
  const std::string bold = path.substr(0, path.size() - 4) + "-Bold.ttf";
  if (FT_New_Face(faces_->library, bold.c_str(), 0, &faces_->faces[1]) != 0) faces_->faces[1] = nullptr;
}

Font::~Font() = default;

std::shared_ptr<const Font> Font::find() {
  static std::mutex mutex;
  static std::string opened;
  static std::shared_ptr<const Font> font;
  std::lock_guard lock(mutex);
  const std::string named = variable();
  if (font && named == opened) return font;
  font = nullptr;
  opened = named;
  if (const std::string path = position(); !path.empty()) {
    std::shared_ptr<const Font> read(new Font(path));
    if (!read->family_.empty()) font = read;
  }
  return font;
}

Message Font::missing() {
  if (const std::string named = variable(); !named.empty())
    return {.what = "pictures: $THTRAIN_FONT names no font that can be read",
            .expected = "a TrueType or OpenType file with outlines",
            .got = named,
            .hint = "without the variable DejaVu Sans is taken: apt-get install fonts-dejavu-core"};
  return {.what = "pictures: the font DejaVu Sans is not installed",
          .expected = str(kFile, " in ", kFolders[0], " or another folder of fonts"),
          .hint = "apt-get install fonts-dejavu-core, or name a font file in $THTRAIN_FONT"};
}

std::string without_font() {
  const Message missing = Font::missing();
  return str(missing.what, missing.got.empty() ? "" : ": ", missing.got, "; they are written as SVG alone (",
             missing.hint, ')');
}

double Font::advance(char32_t letter, double size, bool bold) const {
  std::lock_guard lock(mutex_);
  const size_t index = faces_->index(bold);
  const FT_Face face = faces_->faces[index];
  auto [found, is_new] = faces_->widths[index].try_emplace(letter, 0);
  if (is_new) {
    FT_Fixed units = 0;
    if (FT_Get_Advance(face, FT_Get_Char_Index(face, letter), FT_LOAD_NO_SCALE, &units) == 0) found->second = units;
  }
  return static_cast<double>(found->second) * size / face->units_per_EM;
}

double Font::width(std::string_view text, double size, bool bold) const {
  double out = 0;
  for (char32_t letter : code_points(text)) out += advance(letter, size, bold);
  return out;
}

GlyphOutline Font::outline(char32_t letter, double size, bool bold, bool aligned) const {
  std::lock_guard lock(mutex_);
  const size_t index = faces_->index(bold);
  const FT_Face face = faces_->faces[index];
  GlyphOutline out;
  const auto pixels = static_cast<FT_F26Dot6>(std::lround(std::min(std::max(size, 1.0), 1000.0) * 64));
  if (FT_Set_Char_Size(face, 0, pixels, 72, 72) != 0) return out;
  const FT_Int32 flags = FT_LOAD_NO_BITMAP | (aligned ? FT_LOAD_TARGET_LIGHT : FT_LOAD_NO_HINTING);
  if (FT_Load_Glyph(face, FT_Get_Char_Index(face, letter), flags) != 0) return out;
  if (face->glyph->format != FT_GLYPH_FORMAT_OUTLINE) return out;
  FT_Outline& outline = face->glyph->outline;
  if (bold && index == 0) FT_Outline_Embolden(&outline, pixels / 24);
  for (int i = 0; i < outline.n_points; ++i) out.points.emplace_back(outline.points[i].x, outline.points[i].y);
  out.tags.assign(outline.tags, outline.tags + outline.n_points);
  out.ends.assign(outline.contours, outline.contours + outline.n_contours);
  return out;
}

}  // namespace thtrain
