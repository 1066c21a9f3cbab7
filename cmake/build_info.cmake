# Writes build_info.cpp. Takes ROOT, OUTPUT, VERSION and BUILT_WITH.
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/compiler/*)
list(FILTER sources INCLUDE REGEX "\\.(h|cpp|inc|cuh)$")
list(SORT sources)
set(all "${BUILT_WITH}\n")
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} hash)
  string(APPEND all "${source} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUTPUT}
"#include \"compiler/base/build_info.h\"

namespace thtrain {

constinit const std::string_view version = \"${VERSION}\";
constinit const std::string_view build_id = \"${VERSION}+${hash}\";

}  // namespace thtrain
")
