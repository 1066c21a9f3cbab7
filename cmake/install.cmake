# `cmake --install BUILD --prefix PLACE` puts there the libraries, the headers as <thtrain/...>, the command line and a
# package for find_package(thtrain COMPONENTS ...). `--component NAME` (compiler, config, nn, datasets, reports,
# trainers, cli): a part.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/thtrain)
set(components compiler)
if(NOT THTRAIN_COMPILER_ONLY)
  list(APPEND components config nn datasets reports trainers)
endif()

# ---- <thtrain/thtrain.h>, in the build tree too.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/thtrain/thtrain.h CONTENT
"// Everything that a program needs to build expressions, differentiate them and run them.
#pragma once

#include \"compiler/api.h\"
")

# ---- Headers include each other by their paths in the tree, "compiler/ir/node.h". Installed, they are found below
# thtrain/ only: no folder named compiler/ or nn/ comes onto a user's include path.
foreach(component IN LISTS components)
  install(CODE "set(component ${component})
    set(roots \"${CMAKE_SOURCE_DIR}\" \"${CMAKE_BINARY_DIR}/generated\")
    set(output \"${CMAKE_BINARY_DIR}/public_headers\")
    include(\"${CMAKE_SOURCE_DIR}/cmake/public_headers.cmake\")" COMPONENT ${component})
  install(DIRECTORY ${CMAKE_BINARY_DIR}/public_headers/${component}/ COMPONENT ${component}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thtrain)
  install(EXPORT thtrain_${component} NAMESPACE thtrain:: FILE thtrain_${component}.cmake COMPONENT ${component}
          DESTINATION ${package_folder})
endforeach()

configure_package_config_file(cmake/thtrainConfig.cmake.in ${CMAKE_BINARY_DIR}/thtrainConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/thtrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/thtrainConfig.cmake ${CMAKE_BINARY_DIR}/thtrainConfigVersion.cmake
        COMPONENT compiler DESTINATION ${package_folder})
