# SPDX-License-Identifier: MIT
# Options for values of calls require recorded calls.
annot record --trace-functions=ranges -- true
annot record --trace-functions=ranges,exact -- true
annot record --trace-functions=aggregate,args -- true
annot record --trace-functions=aggregate,return -- true
annot record --trace-functions=aggregate,exceptions -- true
