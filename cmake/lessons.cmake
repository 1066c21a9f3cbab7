# The lessons of docs/tutorial, each a program. Without the tests they are built only where they are asked for
# (`./thtrain lesson 6`).
thtrain_glob(lessons RELATIVE_TO ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/docs/tutorial/lesson_*.cpp)
foreach(lesson IN LISTS lessons)
  cmake_path(GET lesson STEM name)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/${lesson})
  target_link_libraries(${name} PRIVATE thtrain::trainers)
  list(APPEND lesson_targets ${name})
endforeach()

# A shared object that lesson 13 takes as its argument.
add_library(tutorial_my_product MODULE ${CMAKE_SOURCE_DIR}/docs/tutorial/my_product.cpp)
target_include_directories(tutorial_my_product PRIVATE ${CMAKE_SOURCE_DIR})
set_target_properties(tutorial_my_product PROPERTIES PREFIX "" OUTPUT_NAME my_product
                                                     LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
add_dependencies(lesson_13_candidate_files tutorial_my_product thtrain_trial)

if(NOT THTRAIN_BUILD_TESTS)
  set_target_properties(${lesson_targets} tutorial_my_product PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
