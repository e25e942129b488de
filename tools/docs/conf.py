# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Of the site that tools/docs.sh builds: Sphinx reads the pages of the tree where they are."""

project = "wsec"
author = "the wsec authors"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "wsec"
root_doc = "index"
exclude_patterns = ["tools/docs"]
# The copyright is the license; nothing of a page depends on the day it is built.
html_show_copyright = False
html_last_updated_fmt = None
myst_heading_anchors = 4
# Languages of examples that Pygments has no lexer for are shown as they are.
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
