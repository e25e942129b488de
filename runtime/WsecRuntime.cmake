# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One line per folder of the runtime, which needs neither LLVM nor MLIR.

# A build from nothing spends most of its time on headers. The presets and
# scripts of this repository have them precompiled; without, sources compile,
# too, and share their ccache entries with other checkouts.
set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON CACHE BOOL "Parse headers in every source")
# Without the headers' own name behind, whose path ccache does not know for one.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
endif()

# What several sources of a library instantiate is compiled once if they are
# compiled together, and a build from nothing is shorter. So
# names that are local to a source differ from those of its library's others.
set(WSEC_UNITY_BUILD OFF CACHE BOOL "Compile six sources of a library at a time")
function(wsec_compile_together name)
  set_target_properties(${name} PROPERTIES
    UNITY_BUILD ${WSEC_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# wsec_precompiled_headers(Name HEADERS a.h ... [LINK libraries ...])
# Headers for all targets with the same flags: REUSE_FROM Name. Without a
# timestamp inside, so that ccache knows what it has built before.
function(wsec_precompiled_headers name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINK" ${ARGN})
  list(TRANSFORM arg_HEADERS REPLACE "(.+)" "<\\1>")
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    set_target_properties(${name} PROPERTIES
      CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../tools/precompile.sh)
  endif()
endfunction()

# wsec_runtime_library(Name SOURCES a.cpp ... [LINK libraries ...])
function(wsec_runtime_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(Wsec${name} STATIC ${arg_SOURCES})
  target_compile_features(Wsec${name} PUBLIC cxx_std_17)
  target_compile_options(Wsec${name} PRIVATE -Wall -Wextra -Werror)
  target_include_directories(Wsec${name} PUBLIC
    ${WSEC_SOURCE_ROOT} ${WSEC_BUILD_ROOT})
  target_link_libraries(Wsec${name} PUBLIC ${arg_LINK})
  target_precompile_headers(Wsec${name} REUSE_FROM WsecRuntimeHeaders)
  wsec_compile_together(Wsec${name})
endfunction()

# wsec_unittest(NameTest SOURCES a.cpp ... [LINK libraries ...])
# One GoogleTest program, registered with ctest under its own name. Built
# without NDEBUG, so that asserts in headers fire.
function(wsec_unittest name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror -UNDEBUG)
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main)
  # The compiler's tests are of another standard of C++.
  if(CMAKE_CXX_STANDARD EQUAL 20)
    target_precompile_headers(${name} REUSE_FROM WsecTestHeaders)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  # Files of tests of another build are not in the way.
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tmp)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "TEST_TMPDIR=${CMAKE_CURRENT_BINARY_DIR}/tmp;TMPDIR=${CMAKE_CURRENT_BINARY_DIR}/tmp")
endfunction()
