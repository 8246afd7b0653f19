# SPDX-License-Identifier: MIT
annot help report && annot info --help && annot help nothing
