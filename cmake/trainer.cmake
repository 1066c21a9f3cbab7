# What uses the compiler: layers, data, reports, training, benchmarks and the command line. They build graphs, and call
# what was compiled of them. `config` declares the fields of their configurations.
thtrain_room(config   config   COMPONENT config   LINKS base)
thtrain_room(nn       nn       COMPONENT nn       FLAGS ${THTRAIN_QUICK_FLAGS} LINKS compiler config)
thtrain_room(datasets datasets COMPONENT datasets FLAGS ${THTRAIN_QUICK_FLAGS}
             LINKS compiler config ZLIB::ZLIB PNG::PNG)
thtrain_room(reports  reports  COMPONENT reports  FLAGS ${THTRAIN_QUICK_FLAGS} LINKS nn datasets Freetype::Freetype)
thtrain_room(trainers trainers COMPONENT trainers EXCLUDE trainers/ranks/mpi_module.cpp FLAGS ${THTRAIN_QUICK_FLAGS}
             LINKS reports)
# Loops over every number of streamed examples and of augmented images, and the parser of every cell: a step may wait
# for them.
set_source_files_properties(datasets/elements.cpp datasets/csv.cpp datasets/csv_records.cpp datasets/csv_text.cpp
                            datasets/categories.cpp datasets/table_inputs.cpp datasets/images.cpp
                            datasets/augmentation.cpp datasets/sparse_examples.cpp PROPERTIES COMPILE_OPTIONS -O3
                            SKIP_PRECOMPILE_HEADERS ON)  # those are of other options
# Loops over every element of the gradients.
set_source_files_properties(trainers/ranks/ranks.cpp trainers/ranks/shard_tree.cpp PROPERTIES COMPILE_OPTIONS -O3
                            SKIP_PRECOMPILE_HEADERS ON)
# Loops over all pairs of examples.
set_source_files_properties(trainers/show/tsne.cpp trainers/show/principal_components.cpp
                            PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)
# MPI is seen by this module alone, which is opened where a launcher started several processes.
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  add_library(thtrain_mpi MODULE trainers/ranks/mpi_module.cpp)
  target_include_directories(thtrain_mpi PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_features(thtrain_mpi PRIVATE cxx_std_20)
  target_compile_definitions(thtrain_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_link_libraries(thtrain_mpi PRIVATE MPI::MPI_CXX)
  set_target_properties(thtrain_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
                        POSITION_INDEPENDENT_CODE ON)
  install(TARGETS thtrain_mpi LIBRARY DESTINATION lib/thtrain COMPONENT cli)
endif()
thtrain_room(bench    bench    EXCLUDE bench/scale_check/exchange.cpp FLAGS ${THTRAIN_QUICK_FLAGS} LINKS trainers)
thtrain_define(bench "THTRAIN_PEERS_DIR=\"${CMAKE_SOURCE_DIR}/bench/peers\"")

# ---- The command line: all but main() is a library, so that its parts can be tested.
thtrain_room(cli_parts cli EXCLUDE cli/main.cpp FLAGS ${THTRAIN_QUICK_FLAGS} LINKS bench)
add_executable(thtrain_cli cli/main.cpp)
set_target_properties(thtrain_cli PROPERTIES OUTPUT_NAME thtrain)
target_link_libraries(thtrain_cli PRIVATE thtrain_cli_parts)
if(TARGET thtrain_mpi)
  add_dependencies(thtrain_cli thtrain_mpi)
endif()
install(TARGETS thtrain_cli COMPONENT cli)

# ---- What shells complete command lines with, and the manual page: texts that the program prints.
set(texts ${CMAKE_BINARY_DIR}/installed_texts)
install(CODE "file(MAKE_DIRECTORY \"${texts}\")
  foreach(shell IN ITEMS bash zsh fish)
    execute_process(COMMAND \"$<TARGET_FILE:thtrain_cli>\" completion \${shell} OUTPUT_FILE \"${texts}/\${shell}\"
                    COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND \"$<TARGET_FILE:thtrain_cli>\" man OUTPUT_FILE \"${texts}/thtrain.1\"
                  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT cli)
install(FILES ${texts}/bash RENAME thtrain COMPONENT cli
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${texts}/zsh RENAME _thtrain COMPONENT cli DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${texts}/fish RENAME thtrain.fish COMPONENT cli
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${texts}/thtrain.1 COMPONENT cli DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
