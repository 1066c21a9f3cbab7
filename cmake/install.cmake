# `cmake --install`: libraries, headers in include/thtrain with the paths of the tree, and a package for
# find_package(thtrain).
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/thtrain)
foreach(room IN ITEMS compiler nn datasets trainers)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${room})
    install(DIRECTORY ${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thtrain
            FILES_MATCHING PATTERN "*.h" PATTERN device_text EXCLUDE)
  endif()
endforeach()
install(DIRECTORY ${CMAKE_BINARY_DIR}/generated/compiler DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thtrain
        FILES_MATCHING PATTERN "*.h")
install(EXPORT thtrainTargets NAMESPACE thtrain:: DESTINATION ${package_folder})
configure_package_config_file(cmake/thtrainConfig.cmake.in ${CMAKE_BINARY_DIR}/thtrainConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/thtrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/thtrainConfig.cmake ${CMAKE_BINARY_DIR}/thtrainConfigVersion.cmake
        DESTINATION ${package_folder})
