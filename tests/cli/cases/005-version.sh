# SPDX-License-Identifier: MIT
annot --version && annot version
