# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -DSOURCE=... -DOUTPUT=... -P Commit.cmake: writes which commit SOURCE is
# at, if that is not what OUTPUT says already.
execute_process(
  COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
# An archive that lies in another project's tree is not of that project's commit.
if(commit AND EXISTS ${SOURCE}/.git)
  set(commit " (${commit})")
else()
  set(commit "")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define WSEC_COMMIT \"${commit}\"\n")
