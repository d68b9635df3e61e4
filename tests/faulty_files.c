/* File operations below a folder, written down or made to fail. To be preloaded.

   FAULTY_FOLDER   only what lies below this absolute path
   FAULTY_LOG      each operation that has happened is a line: its name and paths, tabs between
   FAULTY_COPIES   folder for what each file holds when it is synced: files named by a number
   FAULTY_COUNT    file of 8 bytes, shared: how many operations there were
   FAULTY_FROM     the first of them that fails, from 1; so do all later ones
   FAULTY_ERRNO    with this number; ENOSPC leaves renames and deletions alone, as a full disk does
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *folder, *copies;
static int log_fd = -1, failing;
static long from;
static _Atomic long *count, own_count;

static int (*true_openat)(int, const char *, int, ...);
static ssize_t (*true_write)(int, const void *, size_t);
#define TRUE(result, name, ...) \
    static result (*true_##name)(__VA_ARGS__); \
    if (!true_##name) true_##name = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
    true_openat = dlsym(RTLD_NEXT, "openat");
    true_write = dlsym(RTLD_NEXT, "write");
    folder = getenv("FAULTY_FOLDER");
    copies = getenv("FAULTY_COPIES");
    const char *log = getenv("FAULTY_LOG"), *shared = getenv("FAULTY_COUNT");
    if (log) log_fd = true_openat(AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    count = &own_count;
    if (shared) {
        int fd = true_openat(AT_FDCWD, shared, O_RDWR | O_CLOEXEC);
        void *at = fd < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED) count = at;
        if (fd >= 0) close(fd);
    }
    if (getenv("FAULTY_FROM")) from = atol(getenv("FAULTY_FROM"));
    if (getenv("FAULTY_ERRNO")) failing = atoi(getenv("FAULTY_ERRNO"));
}

/* The absolute path, in `out`; whether it lies below the folder. */
static int within(int dir, const char *path, char *out) {
    char link[64], base[PATH_MAX] = "";
    if (!folder || !path) return 0;
    if (path[0] != '/' && dir == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return 0;
    } else if (path[0] != '/') {
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t size = readlink(link, base, sizeof base - 1);
        if (size < 0) return 0;
        base[size] = 0;
    }
    if (snprintf(out, PATH_MAX, path[0] == '/' ? "%s%s" : "%s/%s", base, path) >= PATH_MAX) return 0;
    size_t length = strlen(folder);
    return !strncmp(out, folder, length) && (out[length] == '/' || !out[length]);
}

static int of_fd(int fd, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, out, PATH_MAX - 1);
    if (size < 0) return 0;
    out[size] = 0;
    char again[PATH_MAX];
    return within(AT_FDCWD, out, again);
}

/* Whether this operation fails; it is counted. `takes_room`: a full disk refuses it. */
static int fails(int takes_room) {
    if (failing == ENOSPC && !takes_room) return 0;
    long number = atomic_fetch_add(count, 1) + 1;
    if (!from || number < from) return 0;
    errno = failing;
    return 1;
}

static void tell(const char *what, const char *path, const char *other) {
    char line[2 * PATH_MAX + 64];
    int kept = errno;
    int size = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, path, other);
    if (log_fd >= 0 && true_write(log_fd, line, size) != size) abort();
    errno = kept;
}

/* What the file holds now, as a new file of `copies`; its name in `name`. */
static void copy(int fd, char *name) {
    static _Atomic int number;
    char path[PATH_MAX], buffer[1 << 16];
    name[0] = 0;
    if (!copies) return;
    snprintf(name, 64, "%d-%d", getpid(), atomic_fetch_add(&number, 1));
    snprintf(path, sizeof path, "%s/%s", copies, name);
    int to = true_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int source = true_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    ssize_t size;
    while ((size = read(source, buffer, sizeof buffer)) > 0)
        if (true_write(to, buffer, size) != size) abort();
    close(source);
    close(to);
}

static int opened(int dir, const char *path, int flags, mode_t mode) {
    char where[PATH_MAX];
    int writes = (flags & O_ACCMODE) != O_RDONLY && (flags & O_TMPFILE) != O_TMPFILE;
    if (!writes || !within(dir, path, where)) return true_openat(dir, path, flags, mode);
    int is_new = faccessat(dir, path, F_OK, 0) != 0;
    if (fails(is_new || flags & O_TRUNC)) return -1;
    int fd = true_openat(dir, path, flags, mode);
    if (fd >= 0 && is_new) tell("create", where, "");
    else if (fd >= 0 && flags & O_TRUNC) tell("write", where, "");
    return fd;
}

#define MODE(flags, last) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, last); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) { MODE(flags, flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags, flags) return opened(AT_FDCWD, path, flags, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE(flags, flags) return opened(dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE(flags, flags) return opened(dir, path, flags, mode); }

ssize_t write(int fd, const void *data, size_t size) {
    char where[PATH_MAX];
    if (!true_write) true_write = dlsym(RTLD_NEXT, "write");
    if (fd == log_fd || !folder || !of_fd(fd, where)) return true_write(fd, data, size);
    if (fails(1)) return -1;
    ssize_t done = true_write(fd, data, size);
    if (done > 0) tell("write", where, "");
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
    TRUE(ssize_t, writev, int, const struct iovec *, int);
    char where[PATH_MAX];
    if (!folder || !of_fd(fd, where)) return true_writev(fd, parts, n);
    if (fails(1)) return -1;
    ssize_t done = true_writev(fd, parts, n);
    if (done > 0) tell("write", where, "");
    return done;
}

static int synced(int fd, int (*truly)(int)) {
    char where[PATH_MAX], name[64];
    struct stat status;
    if (!folder || !of_fd(fd, where)) return truly(fd);
    if (fails(1)) return -1;
    int result = truly(fd);
    if (result || fstat(fd, &status)) return result;
    if (S_ISDIR(status.st_mode)) tell("sync-folder", where, "");
    else {
        copy(fd, name);
        tell("sync", where, name);
    }
    return result;
}

int fsync(int fd) { TRUE(int, fsync, int); return synced(fd, true_fsync); }
int fdatasync(int fd) { TRUE(int, fdatasync, int); return synced(fd, true_fdatasync); }

static int moved(const char *what, int dir, const char *path, int to, const char *other, int result) {
    char where[PATH_MAX], there[PATH_MAX];
    if (!result && within(dir, path, where) && within(to, other, there)) tell(what, where, there);
    return result;
}

int rename(const char *path, const char *other) {
    TRUE(int, rename, const char *, const char *);
    char where[PATH_MAX];
    if (within(AT_FDCWD, other, where) && fails(0)) return -1;
    return moved("rename", AT_FDCWD, path, AT_FDCWD, other, true_rename(path, other));
}

int renameat(int dir, const char *path, int to, const char *other) {
    TRUE(int, renameat, int, const char *, int, const char *);
    char where[PATH_MAX];
    if (within(to, other, where) && fails(0)) return -1;
    return moved("rename", dir, path, to, other, true_renameat(dir, path, to, other));
}

int link(const char *path, const char *other) {
    TRUE(int, link, const char *, const char *);
    char where[PATH_MAX];
    if (within(AT_FDCWD, other, where) && fails(1)) return -1;
    return moved("link", AT_FDCWD, path, AT_FDCWD, other, true_link(path, other));
}

int linkat(int dir, const char *path, int to, const char *other, int flags) {
    TRUE(int, linkat, int, const char *, int, const char *, int);
    char where[PATH_MAX];
    if (within(to, other, where) && fails(1)) return -1;
    return moved("link", dir, path, to, other, true_linkat(dir, path, to, other, flags));
}

int unlink(const char *path) {
    TRUE(int, unlink, const char *);
    char where[PATH_MAX];
    int ours = within(AT_FDCWD, path, where);
    if (ours && fails(0)) return -1;
    int result = true_unlink(path);
    if (ours && !result) tell("delete", where, "");
    return result;
}

int unlinkat(int dir, const char *path, int flags) {
    TRUE(int, unlinkat, int, const char *, int);
    char where[PATH_MAX];
    int ours = within(dir, path, where);
    if (ours && fails(0)) return -1;
    int result = true_unlinkat(dir, path, flags);
    if (ours && !result) tell("delete", where, "");
    return result;
}

int rmdir(const char *path) {
    TRUE(int, rmdir, const char *);
    char where[PATH_MAX];
    int ours = within(AT_FDCWD, path, where);
    if (ours && fails(0)) return -1;
    int result = true_rmdir(path);
    if (ours && !result) tell("delete", where, "");
    return result;
}

int mkdir(const char *path, mode_t mode) {
    TRUE(int, mkdir, const char *, mode_t);
    char where[PATH_MAX];
    int ours = within(AT_FDCWD, path, where);
    if (ours && fails(1)) return -1;
    int result = true_mkdir(path, mode);
    if (ours && !result) tell("folder", where, "");
    return result;
}
