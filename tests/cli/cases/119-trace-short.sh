# SPDX-License-Identifier: MIT
# The limit of --trace-functions=min applies only to calls that are recorded one by one.
annot record --min-duration 1ms -- true
annot record --trace-functions=min=1ms -- true
annot record --trace-functions=aggregate,min=1ms -- true
annot record --trace-functions=exact,min=2s -- true
annot record --trace-functions=exact,adaptive -- true
annot record --trace-functions=-stdlib,stdlib-entry -- true
annot set --trace-functions=min=1ms
