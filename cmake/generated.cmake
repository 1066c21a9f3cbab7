# What the build writes: <build>/generated/compiler/base/build_info.h, .cpp and compiler/codegen/embedded_text.h, .cpp.
# The headers depend on names only and are written while configuring, so that a changed text compiles one file again.

set(generated ${CMAKE_BINARY_DIR}/generated/compiler)

function(thtrain_write_if_changed path content)
  file(CONFIGURE OUTPUT ${path} CONTENT "${content}" @ONLY)
endfunction()

# ---- thtrain::version and thtrain::build_id. A cached program is only good for the compiler that made it, so the
# identity is a hash over the sources of compiler/ and over what compiled them.
thtrain_glob(compiler_sources compiler/*.h compiler/*.cpp compiler/*.inc compiler/*.cuh)
thtrain_write_if_changed(${generated}/base/build_info.h
"// Which thtrain this is. Written by cmake/generated.cmake.
#pragma once

#include <string_view>

namespace thtrain {

extern const std::string_view version;   // \"${PROJECT_VERSION}\"
extern const std::string_view build_id;  // \"${PROJECT_VERSION}+\" and a hash over the sources of compiler/

}  // namespace thtrain
")
set(built_with "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${THTRAIN_GENERATED_FLAGS}")
add_custom_command(
  OUTPUT ${generated}/base/build_info.cpp
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUTPUT=${generated}/base/build_info.cpp
          -DVERSION=${PROJECT_VERSION} "-DBUILT_WITH=${built_with}" -P ${CMAKE_SOURCE_DIR}/cmake/build_info.cmake
  DEPENDS ${compiler_sources} cmake/build_info.cmake
  COMMENT "Identity of this build"
  VERBATIM)
set(THTRAIN_BUILD_INFO_SOURCES ${generated}/base/build_info.cpp)

# ---- Texts that generated programs begin with: real files, read and compiled like others, never escaped strings.
thtrain_glob(embedded RELATIVE_TO compiler/codegen compiler/codegen/device_text/*)
if(EXISTS ${CMAKE_SOURCE_DIR}/compiler/codegen/entry_abi.h)
  list(PREPEND embedded entry_abi.h)
endif()
set(declarations "")
foreach(text IN LISTS embedded)
  cmake_path(GET text FILENAME file)
  string(MAKE_C_IDENTIFIER ${file} name)
  string(APPEND declarations "extern const std::string_view ${name};\n")
endforeach()
thtrain_write_if_changed(${generated}/codegen/embedded_text.h
"// The texts of compiler/codegen/entry_abi.h and compiler/codegen/device_text/. Written by cmake/generated.cmake.
#pragma once

#include <string_view>

namespace thtrain::embedded {

${declarations}
}  // namespace thtrain::embedded
")
list(TRANSFORM embedded PREPEND ${CMAKE_SOURCE_DIR}/compiler/codegen/)
list(JOIN embedded "|" joined)
add_custom_command(
  OUTPUT ${generated}/codegen/embedded_text.cpp
  COMMAND ${CMAKE_COMMAND} "-DTEXTS=${joined}" -DOUTPUT=${generated}/codegen/embedded_text.cpp
          -P ${CMAKE_SOURCE_DIR}/cmake/embed_text.cmake
  DEPENDS ${embedded} cmake/embed_text.cmake
  COMMENT "Texts for generated programs"
  VERBATIM)
set(THTRAIN_EMBEDDED_SOURCES ${generated}/codegen/embedded_text.cpp)
# By themselves: the first is written anew with each change of the compiler.
set_source_files_properties(${THTRAIN_BUILD_INFO_SOURCES} ${THTRAIN_EMBEDDED_SOURCES}
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
