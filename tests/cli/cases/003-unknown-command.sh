# SPDX-License-Identifier: MIT
annot reprot x
annot inf
annot xyzzy
annot --nonsense
exit 2
