# SPDX-License-Identifier: MIT
annot --help
