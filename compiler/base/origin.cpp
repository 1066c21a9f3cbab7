#include "compiler/base/origin.h"

#include <cstring>

#include "compiler/base/escape.h"

namespace thtrain {

static thread_local std::shared_ptr<const ScopeInfo> current_scope;
static thread_local const Origin* inherited = nullptr;

// A default argument that an algorithm or a container of the standard library evaluates gives the location of its
// header.
static bool is_standard_library(const char* file) {
  return std::strstr(file, "/include/c++/") != nullptr;
}

Origin Origin::here(const std::source_location& where) {
  if (inherited) return *inherited;
  if (is_standard_library(where.file_name())) return {"", 0, current_scope};
  return {where.file_name(), static_cast<int>(where.line()), current_scope};
}

Origin Origin::of_gradient() const {
  Origin out = *this;
  out.in_gradient = true;
  return out;
}

std::string Origin::text() const {
  std::string out = scope ? scope->path : std::string();
  if (line > 0) out += str(out.empty() ? "" : ", ", "built at ", file, ":", line);
  return out;
}

Scope::Scope(const std::string& path, ConfigPosition config) : outer_(current_scope) {
  auto info = std::make_shared<ScopeInfo>();
  info->path = outer_ ? str(outer_->path, "/", escaped(path)) : escaped(path);
  info->config = config ? std::move(config) : outer_ ? outer_->config : ConfigPosition{};
  current_scope = std::move(info);
}
Scope::~Scope() {
  current_scope = outer_;
}

InheritOrigin::InheritOrigin(const Origin& origin) : outer_(inherited) {
  inherited = &origin;
}
InheritOrigin::~InheritOrigin() {
  inherited = outer_;
}

}  // namespace thtrain
