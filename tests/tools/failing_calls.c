/*
 * A library for LD_PRELOAD that fails calls of a program to the C library: the n-th of a kind, or
 * all from the n-th on. It counts the calls whether it fails one or not.
 *
 * FAULT_PROGRAM: whose calls, a name without folders.
 * FAULT_KIND: read, write, sync, rename, open, make, stat, list, map, memory, socket, thread, lock,
 * remove, attribute, close, poll.
 * FAULT_NTH: the first call that fails, from 1; 0: none.
 * FAULT_LAST: the last call that fails; unset: FAULT_NTH.
 * FAULT_ERRNO: the number of the error; 0: the call reads or writes one byte only.
 * FAULT_SIZE: the smallest size in bytes that counts, for "memory" and "map".
 * FAULT_COUNT: a file of 8 bytes, the count of calls, for all processes of a run.
 * FAULT_TRACE: if set, who made the call that fails goes to standard error, for addr2line.
 *
 * Pauses between tries are left out, and writing to standard error never fails: it is where the
 * error is to be told. What the program starts runs without this library.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind {
	READ = 1,
	WRITE,
	SYNC,
	RENAME,
	OPEN,
	MAKE,
	STAT,
	LIST,
	MAP,
	MEMORY,
	SOCKET,
	THREAD,
	LOCK,
	REMOVE,
	ATTRIBUTE,
	CLOSE,
	POLL
};

static const char *const kinds[] = {
	[READ] = "read", [WRITE] = "write",   [SYNC] = "sync",           [RENAME] = "rename",
	[OPEN] = "open", [MAKE] = "make",     [STAT] = "stat",           [LIST] = "list",
	[MAP] = "map",   [MEMORY] = "memory", [SOCKET] = "socket",       [THREAD] = "thread",
	[LOCK] = "lock", [REMOVE] = "remove", [ATTRIBUTE] = "attribute", [CLOSE] = "close",
	[POLL] = "poll",
};

static enum kind failing;
static uint64_t first, last, size_min;
static int number;
static _Atomic uint64_t *count;

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
	const char *program = getenv("FAULT_PROGRAM"), *kind = getenv("FAULT_KIND"),
		   *path = getenv("FAULT_COUNT");
	enum kind k = 0;
	void *page;
	int fd;

	unsetenv("LD_PRELOAD");
	if (!program || !kind || !path || strcmp(program_invocation_short_name, program) != 0)
		return;
	for (size_t i = 1; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i], kind) == 0)
			k = (enum kind)i;
	}
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (!k || fd < 0)
		abort();
	page = (void *)syscall(SYS_mmap, NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED,
			       fd, 0);
	if (page == MAP_FAILED)
		abort();
	syscall(SYS_close, fd);
	first = setting("FAULT_NTH", 0);
	last = setting("FAULT_LAST", first);
	number = (int)setting("FAULT_ERRNO", EIO);
	size_min = setting("FAULT_SIZE", 0);
	count = page;
	failing = k;
}

static int fstatat_real(int dir, const char *path, struct stat *st, int flags)
{
	int (*real)(int, const char *, struct stat *, int) =
		(int (*)(int, const char *, struct stat *, int))dlsym(RTLD_NEXT, "fstatat");

	return real(dir, path, st, flags);
}

static int fstat_real(int fd, struct stat *st)
{
	return fstatat_real(fd, "", st, AT_EMPTY_PATH);
}

/* Is this call of `kind` one that goes wrong? */
static bool chosen(enum kind kind)
{
	uint64_t n;

	if (kind != failing)
		return false;
	n = atomic_fetch_add(count, 1) + 1;
	if (!first || n < first || n > last)
		return false;
	if (getenv("FAULT_TRACE")) {
		void *callers[30];

		failing = 0; /* what this calls */
		backtrace_symbols_fd(callers, backtrace(callers, 30), STDERR_FILENO);
		failing = kind;
	}
	return true;
}

static bool fails(enum kind kind)
{
	if (!number || !chosen(kind))
		return false;
	errno = number;
	return true;
}

/*
 * For calls that move `*len` bytes: with no error's number they move one. What is no file, pipe or
 * socket (an eventfd, a signalfd) is left alone: neither a disk nor a network is behind it.
 */
static bool fails_moving(enum kind kind, int fd, size_t *len)
{
	struct stat st;

	if (kind != failing || (fstat_real(fd, &st) == 0 && !(st.st_mode & S_IFMT)) ||
	    !chosen(kind))
		return false;
	if (!number) {
		*len = *len ? 1 : 0;
		return false;
	}
	errno = number;
	return true;
}

ssize_t read(int fd, void *to, size_t len)
{
	return fails_moving(READ, fd, &len) ? -1 : syscall(SYS_read, fd, to, len);
}

ssize_t pread(int fd, void *to, size_t len, off_t at)
{
	return fails_moving(READ, fd, &len) ? -1 : syscall(SYS_pread64, fd, to, len, at);
}

ssize_t pread64(int fd, void *to, size_t len, off64_t at)
{
	return pread(fd, to, len, at);
}

ssize_t write(int fd, const void *data, size_t len)
{
	if (fd != STDERR_FILENO && fails_moving(WRITE, fd, &len))
		return -1;
	return syscall(SYS_write, fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	return fails_moving(WRITE, fd, &len) ? -1 : syscall(SYS_pwrite64, fd, data, len, at);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
	return pwrite(fd, data, len, at);
}

int ftruncate(int fd, off_t size)
{
	return fails(WRITE) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int fsync(int fd)
{
	return fails(SYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return fails(SYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int rename(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	return fails(RENAME) ? -1 : (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

static int open_mode(int flags, va_list ap)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, int) : 0;
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = open_mode(flags, ap);
	va_end(ap);
	return fails(OPEN) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...) __attribute__((alias("openat")));

int open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = open_mode(flags, ap);
	va_end(ap);
	return openat(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

/* What open and openat become under _FORTIFY_SOURCE where the flags are not constant. */
int __openat_2(int dir, const char *path, int flags);
int __openat_2(int dir, const char *path, int flags)
{
	return openat(dir, path, flags, 0);
}

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
	return openat(AT_FDCWD, path, flags, 0);
}

int memfd_create(const char *name, unsigned flags)
{
	return fails(OPEN) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	return fails(MAKE) ? -1 : (int)syscall(SYS_mkdirat, dir, path, mode);
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

int symlinkat(const char *target, int dir, const char *path)
{
	return fails(MAKE) ? -1 : (int)syscall(SYS_symlinkat, target, dir, path);
}

int symlink(const char *target, const char *path)
{
	return symlinkat(target, AT_FDCWD, path);
}

char *mkdtemp(char *template)
{
	char *(*real)(char *) = (char *(*)(char *))dlsym(RTLD_NEXT, "mkdtemp");

	return fails(MAKE) ? NULL : real(template);
}

int mkostemp(char *template, int flags)
{
	int (*real)(char *, int) = (int (*)(char *, int))dlsym(RTLD_NEXT, "mkostemp");

	return fails(MAKE) ? -1 : real(template, flags);
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return fails(STAT) ? -1 : fstatat_real(dir, path, st, flags);
}

int stat(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *st)
{
	return fstatat(fd, "", st, AT_EMPTY_PATH);
}

ssize_t readlinkat(int dir, const char *path, char *to, size_t size)
{
	return fails(STAT) ? -1 : syscall(SYS_readlinkat, dir, path, to, size);
}

ssize_t readlink(const char *path, char *to, size_t size)
{
	return readlinkat(AT_FDCWD, path, to, size);
}

struct dirent *readdir(DIR *dir)
{
	struct dirent *(*real)(DIR *) = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");

	return fails(LIST) ? NULL : real(dir);
}

DIR *fdopendir(int fd)
{
	DIR *(*real)(int) = (DIR * (*)(int)) dlsym(RTLD_NEXT, "fdopendir");

	return fails(LIST) ? NULL : real(fd);
}

void *mmap(void *where, size_t size, int protection, int flags, int fd, off_t at)
{
	if (size >= size_min && fails(MAP))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, where, size, protection, flags, fd, at);
}

void *mmap64(void *, size_t, int, int, int, off64_t) __attribute__((alias("mmap")));

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size)
{
	return size >= size_min && fails(MEMORY) ? NULL : __libc_malloc(size);
}

void *calloc(size_t items, size_t size)
{
	return items * size >= size_min && fails(MEMORY) ? NULL : __libc_calloc(items, size);
}

void *realloc(void *old, size_t size)
{
	return size >= size_min && fails(MEMORY) ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t items, size_t size)
{
	if (size && items > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, items * size);
}

int socket(int domain, int type, int protocol)
{
	return fails(SOCKET) ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	return fails(SOCKET) ? -1 : (int)syscall(SYS_connect, fd, to, len);
}

ssize_t sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
	       socklen_t to_len)
{
	return fails_moving(SOCKET, fd, &len)
		       ? -1
		       : syscall(SYS_sendto, fd, data, len, flags, to, to_len);
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
	return sendto(fd, data, len, flags, NULL, 0);
}

ssize_t recvfrom(int fd, void *to, size_t len, int flags, struct sockaddr *from,
		 socklen_t *from_len)
{
	return fails_moving(SOCKET, fd, &len)
		       ? -1
		       : syscall(SYS_recvfrom, fd, to, len, flags, from, from_len);
}

int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict len)
{
	return fails(SOCKET) ? -1 : (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return fails(SOCKET) ? -1 : (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}

ssize_t recv(int fd, void *to, size_t len, int flags)
{
	return recvfrom(fd, to, len, flags, NULL, NULL);
}

/* Its result is the error. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
			 void *))dlsym(RTLD_NEXT, "pthread_create");

	return fails(THREAD) ? number : real(thread, attr, start, arg);
}

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	return fails(THREAD) ? -1 : real();
}

int pipe2(int fds[2], int flags)
{
	return fails(THREAD) ? -1 : (int)syscall(SYS_pipe2, fds, flags);
}

int flock(int fd, int operation)
{
	return fails(LOCK) ? -1 : (int)syscall(SYS_flock, fd, operation);
}

int unlinkat(int dir, const char *path, int flags)
{
	return fails(REMOVE) ? -1 : (int)syscall(SYS_unlinkat, dir, path, flags);
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int fchmod(int fd, mode_t mode)
{
	return fails(ATTRIBUTE) ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int fchmodat(int dir, const char *path, mode_t mode, int flags)
{
	int (*real)(int, const char *, mode_t, int) =
		(int (*)(int, const char *, mode_t, int))dlsym(RTLD_NEXT, "fchmodat");

	return fails(ATTRIBUTE) ? -1 : real(dir, path, mode, flags);
}

int chmod(const char *path, mode_t mode)
{
	return fchmodat(AT_FDCWD, path, mode, 0);
}

int fchownat(int dir, const char *path, uid_t user, gid_t group, int flags)
{
	return fails(ATTRIBUTE) ? -1 : (int)syscall(SYS_fchownat, dir, path, user, group, flags);
}

int fchown(int fd, uid_t user, gid_t group)
{
	return fchownat(fd, "", user, group, AT_EMPTY_PATH);
}

int utimensat(int dir, const char *path, const struct timespec times[2], int flags)
{
	return fails(ATTRIBUTE) ? -1 : (int)syscall(SYS_utimensat, dir, path, times, flags);
}

int futimens(int fd, const struct timespec times[2])
{
	return fails(ATTRIBUTE) ? -1 : (int)syscall(SYS_utimensat, fd, NULL, times, 0);
}

int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
	return fails(ATTRIBUTE) ? -1 : (int)syscall(SYS_fsetxattr, fd, name, value, size, flags);
}

/* As a disk elsewhere that only then says that it is full: the descriptor is gone all the same. */
int close(int fd)
{
	bool fail = fails(CLOSE);
	int rc = (int)syscall(SYS_close, fd);

	if (fail)
		errno = number;
	return fail ? -1 : rc;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec wait = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };

	if (fails(POLL))
		return -1;
	return (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &wait, NULL, 0);
}

/* Under _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t size);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t size)
{
	if (count > size / sizeof(*fds))
		abort();
	return poll(fds, count, timeout_ms);
}

int nanosleep(const struct timespec *pause, struct timespec *left)
{
	(void)pause, (void)left;
	return 0;
}
