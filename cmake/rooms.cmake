# One library target for each room of the tree. A room may still be empty or hold only headers: it is then an INTERFACE
# library, so that the tree configures at any time.

# thtrain_glob(<variable> [RELATIVE_TO <folder>] [TOP_ONLY] <pattern>...): sorted, and looked at again by every build.
function(thtrain_glob variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TOP_ONLY" "RELATIVE_TO" "")
  set(how GLOB_RECURSE)
  if(arg_TOP_ONLY)
    set(how GLOB)
  endif()
  set(relative)
  if(arg_RELATIVE_TO)
    cmake_path(ABSOLUTE_PATH arg_RELATIVE_TO BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    string(REGEX REPLACE "/$" "" arg_RELATIVE_TO "${arg_RELATIVE_TO}")
    set(relative RELATIVE ${arg_RELATIVE_TO})
  endif()
  file(${how} found CONFIGURE_DEPENDS ${relative} ${arg_UNPARSED_ARGUMENTS})
  list(SORT found)
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# With THTRAIN_GROUP_SOURCES up to THTRAIN_GROUP_SIZE neighbouring sources of a folder are compiled as one translation
# unit. What they share, headers and instances of templates, is compiled once for all of them. Names in the anonymous
# namespaces of a folder must differ for that.
function(thtrain_group_sources target)
  set(before "")
  set(part 0)
  set(count 0)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    math(EXPR count "${count} + 1")
    if(NOT folder STREQUAL before)
      set(part 0)
      set(count 0)
    elseif(count EQUAL THTRAIN_GROUP_SIZE)
      math(EXPR part "${part} + 1")
      set(count 0)
    endif()
    set(before ${folder})
    string(MAKE_C_IDENTIFIER "${folder}_${part}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# thtrain_room(<name> <folder> [TOP_ONLY] [EXCLUDE <file>...] [SOURCES <file>...] [FLAGS <option>...]
# [LINKS <room or library>...] [COMPONENT <component>]) makes the target thtrain_<name>, alias thtrain::<name>. It is
# installed with the component of the package; without one it is not installed.
function(thtrain_room name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "TOP_ONLY" "COMPONENT" "EXCLUDE;SOURCES;FLAGS;LINKS")
  set(top_only)
  if(arg_TOP_ONLY)
    set(top_only TOP_ONLY)
  endif()
  thtrain_glob(sources RELATIVE_TO ${CMAKE_SOURCE_DIR} ${top_only} ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  # Helper texts for generated code are embedded, not compiled.
  list(FILTER sources EXCLUDE REGEX "/device_text/")
  list(REMOVE_ITEM sources ${arg_EXCLUDE})
  list(APPEND sources ${arg_SOURCES})

  set(target thtrain_${name})
  set(scope PUBLIC)
  if(sources)
    add_library(${target} STATIC ${sources})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(thtrain::${name} ALIAS ${target})

  foreach(link IN LISTS arg_LINKS)
    if(TARGET thtrain_${link})
      set(link thtrain_${link})
    endif()
    target_link_libraries(${target} ${scope} ${link})
  endforeach()
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
    $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} ${scope} cxx_std_20)
  if(sources AND THTRAIN_GROUP_SOURCES)
    thtrain_group_sources(${target} ${sources})
  endif()
  if(sources AND arg_FLAGS)
    target_compile_options(${target} PRIVATE ${arg_FLAGS})
  endif()
  if(sources AND THTRAIN_PRECOMPILE)
    # Precompiled headers are for the options that they were compiled with.
    set(first base)
    if(arg_FLAGS)
      set(first ops)
    endif()
    if(name STREQUAL first)
      target_precompile_headers(${target} PRIVATE <algorithm> <functional> <map> <memory> <optional> <span> <string>
                                <unordered_map> <variant> <vector>)
    else()
      target_precompile_headers(${target} REUSE_FROM thtrain_${first})
    endif()
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  if(arg_COMPONENT)
    install(TARGETS ${target} EXPORT thtrain_${arg_COMPONENT} COMPONENT ${arg_COMPONENT})
  endif()
endfunction()

# A definition that the room's own sources see, where it has any.
function(thtrain_define room definition)
  get_target_property(type thtrain_${room} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    target_compile_definitions(thtrain_${room} PRIVATE "${definition}")
  endif()
endfunction()
