# SPDX-License-Identifier: MIT
# --min-duration applies only to calls that are recorded one by one.
annot record --min-duration 1ms -- true
annot record --trace-functions --min-duration 1ms -- true
annot record --trace-functions=aggregate --min-duration 1ms -- true
annot record --trace-functions=exact --min-duration 2s -- true
annot set --min-duration 1ms
