-: tests/support/test.h base/alloc.h base/base.h base/error.h base/fs.h \
 base/slice.h base/strbuf.h base/vec.h
base/alloc.h:
base/base.h:
base/error.h:
base/fs.h:
base/slice.h:
base/strbuf.h:
base/vec.h:
