# SPDX-License-Identifier: MIT
annot report --srot total x
annot report -Q x
annot report --sort
annot report --sort color x
annot report --limit many x
annot report --wide=yes x
annot info --limit=99999999999999999999 x
