# SPDX-License-Identifier: MIT
# Options for values of calls require recorded calls.
annot record --trace-ranges -- true
annot record --trace-ranges --trace-functions=exact -- true
annot record --trace-args -- true
annot record --trace-functions=aggregate --trace-return -- true
annot record --trace-functions=aggregate --trace-exceptions -- true
