# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How presets and scripts compile: CMAKE_TOOLCHAIN_FILE of every build here.
set(CMAKE_C_COMPILER clang-22)
set(CMAKE_CXX_COMPILER clang++-22)
set(CMAKE_EXE_LINKER_FLAGS_INIT -fuse-ld=lld)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -fuse-ld=lld)

get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)

# What ccache needs to know of precompiled headers; it takes what a source
# includes from the compiler, rather than preprocess it first. Builds in folders
# beside each other, such as that of the wheel, share what they compile.
set(CMAKE_DISABLE_PRECOMPILE_HEADERS OFF CACHE BOOL "Parse headers in every source")
set(WSEC_UNITY_BUILD ON CACHE BOOL "Compile six sources of a library at a time")
set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros
  CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1 CCACHE_BASEDIR=${root} ccache CACHE STRING "")
set(Python3_EXECUTABLE ${root}/.venv/bin/python CACHE FILEPATH "")
