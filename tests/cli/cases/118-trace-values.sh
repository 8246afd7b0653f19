# SPDX-License-Identifier: MIT
# Values of calls go with calls that are recorded.
annot record --trace-ranges -- true
annot record --trace-ranges --trace-functions=exact -- true
annot record --trace-args -- true
annot record --trace-functions=aggregate --trace-return -- true
annot record --trace-functions=aggregate --trace-exceptions -- true
