# SPDX-License-Identifier: MIT
annot help report && annot info --help
annot record --help && annot record --help-all | grep -c '^  .*--'
annot help nothing
