# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The component `libraries`: what the tools and the module of Python load, all
# but the C and C++ runtime that each system has, beside them in lib/. They find
# it there first (DT_RPATH, which counts for libraries of libraries, too), so
# that a wheel runs where the packages of tools/setup.sh are not installed.
set(tools wsec wse-run wse-inspect)
foreach(name IN LISTS tools)
  list(APPEND executables "$<TARGET_FILE:${name}>")
endforeach()
if(TARGET wsec_session)
  list(APPEND tools wsec_session)
  set(modules "MODULES \"$<TARGET_FILE:wsec_session>\"")
endif()
foreach(name IN LISTS tools)
  get_target_property(paths ${name} INSTALL_RPATH)
  list(PREPEND paths "$ORIGIN/../lib")
  list(FILTER paths EXCLUDE REGEX NOTFOUND)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "${paths}")
  target_link_options(${name} PRIVATE -Wl,--disable-new-dtags)
endforeach()
install(CODE "
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${executables} ${modules}
    RESOLVED_DEPENDENCIES_VAR libraries DIRECTORIES \"${LLVM_LIBRARY_DIR}\"
    PRE_EXCLUDE_REGEXES [[^ld-linux]] [[^lib(c|m|dl|rt|pthread|resolv|util|stdc[+][+]|gcc_s)[.]so]])
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib\")
  file(MAKE_DIRECTORY \"\${folder}\")
  foreach(library IN LISTS libraries)
    get_filename_component(name \"\${library}\" NAME)
    file(COPY_FILE \"\${library}\" \"\${folder}/\${name}\")
    file(RPATH_REMOVE FILE \"\${folder}/\${name}\") # those of the tools count
  endforeach()" COMPONENT libraries EXCLUDE_FROM_ALL)
