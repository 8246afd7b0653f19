# SPDX-License-Identifier: MIT
annot
