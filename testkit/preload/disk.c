// A library for LD_PRELOAD that records, or fails, the calls of a process on files below a directory.
//
// DISK_DIRECTORY  the directory
// DISK_LOG        a file to which every change below it is appended, for a rebuilt crash
// DISK_FAILURES   a file of nine 32-bit numbers, `struct failures`, that may change at any time
//
// Several processes may share a log: a lock keeps its order the order of the changes.
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { READ = 1, WRITE = 2, SYNC = 4, RESIZE = 8, CREATE = 16, OPEN = 32, REMOVE = 64 };

struct failures {
    uint32_t kinds;    // the calls that fail, a sum of `enum kind`; 0 for none
    uint32_t error;    // the value of errno; 0: the call does nothing and reports success
    uint32_t skip;     // calls of these kinds that succeed first
    uint32_t chance;   // the number that fail of 10,000 calls after these
    uint32_t limit;    // the number of failures, after which calls succeed; 0 for no limit
    uint32_t growing;  // 1: writes within a file succeed, as on a full file system
    uint32_t calls;    // counts the calls of these kinds
    uint32_t failed;   // counts the failures
    uint32_t random;   // the state of the generator that `chance` uses
};

#define FILES 65536
static const char *names[FILES];  // the path below the directory of each open descriptor
static const char *directory;
static size_t directory_length;
static int log_file = -1;
static uint32_t syncs;
static volatile struct failures *failures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ({ if (!real_##name) real_##name = dlsym(RTLD_NEXT, #name); real_##name; })
static int (*real_open64)(const char *, int, ...);
static int (*real_openat64)(int, const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread64)(int, void *, size_t, off64_t);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite64)(int, const void *, size_t, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate64)(int, off64_t);
static int (*real_unlink)(const char *);
static int (*real_unlinkat)(int, const char *, int);
static int (*real_rename)(const char *, const char *);

__attribute__((constructor)) static void start(void) {
    directory = getenv("DISK_DIRECTORY");
    if (!directory) return;
    directory_length = strlen(directory);
    const char *path = getenv("DISK_LOG");
    if (path) log_file = REAL(open64)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    path = getenv("DISK_FAILURES");
    if (path) {
        int file = REAL(open64)(path, O_RDWR | O_CLOEXEC);
        void *map = mmap(0, sizeof *failures, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map == MAP_FAILED) abort();
        failures = map;
        REAL(close)(file);
    }
    if (path ? !failures : log_file < 0) abort();
}

// Whether this call is one that fails. Sets errno.
static int fails(enum kind kind) {
    if (!failures || !(failures->kinds & kind)) return 0;
    if (__sync_fetch_and_add(&failures->calls, 1) < failures->skip) return 0;
    uint32_t drawn = __sync_add_and_fetch(&failures->random, 0x9e3779b9u);
    drawn = (drawn ^ (drawn >> 16)) * 0x85ebca6bu;
    drawn = (drawn ^ (drawn >> 13)) * 0xc2b2ae35u;
    if ((drawn ^ (drawn >> 16)) % 10000 >= failures->chance) return 0;
    uint32_t failed = __sync_add_and_fetch(&failures->failed, 1);
    if (failures->limit && failed > failures->limit) {
        __sync_fetch_and_sub(&failures->failed, 1);
        return 0;
    }
    errno = (int)failures->error;
    return 1;
}

static const char *name_of(int file) { return file >= 0 && file < FILES ? names[file] : NULL; }

// The path below the directory, or NULL.
static const char *below(const char *path) {
    if (!directory || strncmp(path, directory, directory_length)) return NULL;
    path += directory_length;
    return *path == '/' || !*path ? path : NULL;
}

// The index of the log is memory that processes share, and never synced.
static int is_recorded(const char *name) {
    size_t length = strlen(name);
    return log_file >= 0 && !(length > 4 && !strcmp(name + length - 4, "-shm"));
}

// Appends one change: its kind, the lengths of the name and of the data, a number, the name, the data.
static void put(char kind, const char *name, uint64_t number, const void *data, size_t length) {
    char head[16] = {kind};
    uint16_t name_length = (uint16_t)strlen(name);
    uint32_t data_length = (uint32_t)length;
    memcpy(head + 2, &name_length, 2);
    memcpy(head + 4, &data_length, 4);
    memcpy(head + 8, &number, 8);
    struct iovec parts[3] = {{head, 16}, {(void *)name, name_length}, {(void *)data, length}};
    if (writev(log_file, parts, 3) != (ssize_t)(16 + name_length + length)) abort();
}

static void begin(void) {
    pthread_mutex_lock(&lock);
    if (log_file >= 0) flock(log_file, LOCK_EX);
}

static void end(void) {
    int error = errno;
    if (log_file >= 0) flock(log_file, LOCK_UN);
    pthread_mutex_unlock(&lock);
    errno = error;
}

static int opened(int at, const char *path, int flags, mode_t mode) {
    if (!directory) return REAL(openat64)(at, path, flags, mode);
    int existed = !(flags & O_CREAT) || faccessat(at, path, F_OK, 0) == 0;
    int is_written = (flags & O_ACCMODE) != O_RDONLY;
    if (is_written && below(path) && fails(existed ? OPEN : CREATE)) return -1;
    begin();
    int file = REAL(openat64)(at, path, flags, mode);
    if (file >= 0 && file < FILES) {
        char link[64], real[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, real, sizeof real - 1);
        real[length < 0 ? 0 : length] = 0;
        const char *name = below(real);
        names[file] = name ? strdup(name) : NULL;
        if (name && is_recorded(name)) {
            if (!existed) put('C', name, 0, NULL, 0);
            if (flags & O_TRUNC) put('T', name, 0, NULL, 0);
        }
    }
    end();
    return file;
}

#define MODE(flags, mode)                      \
    mode_t mode = 0;                           \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {   \
        va_list rest;                          \
        va_start(rest, flags);                 \
        mode = va_arg(rest, mode_t);           \
        va_end(rest);                          \
    }
int open64(const char *path, int flags, ...) {
    MODE(flags, mode)
    return opened(AT_FDCWD, path, flags, mode);
}
int open(const char *path, int flags, ...) {
    MODE(flags, mode)
    return opened(AT_FDCWD, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
    MODE(flags, mode)
    return opened(at, path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
    MODE(flags, mode)
    return opened(at, path, flags, mode);
}

int close(int file) {
    if (name_of(file)) names[file] = NULL;
    return REAL(close)(file);
}

ssize_t read(int file, void *to, size_t length) {
    return name_of(file) && fails(READ) ? -1 : REAL(read)(file, to, length);
}
ssize_t pread64(int file, void *to, size_t length, off64_t at) {
    return name_of(file) && fails(READ) ? -1 : REAL(pread64)(file, to, length, at);
}
ssize_t pread(int file, void *to, size_t length, off_t at) { return pread64(file, to, length, at); }

ssize_t pwrite64(int file, const void *from, size_t length, off64_t at) {
    const char *name = name_of(file);
    if (!name) return REAL(pwrite64)(file, from, length, at);
    struct stat64 found;
    int is_inside = failures && failures->growing && !fstat64(file, &found)
        && at + (off64_t)length <= found.st_size;
    if (!is_inside && fails(WRITE)) {
        if (!errno) return (ssize_t)length;
        // A full file system takes a part at times.
        if (errno != ENOSPC || length < 2 || failures->failed % 2) return -1;
        length /= 2;
    }
    begin();
    ssize_t done = REAL(pwrite64)(file, from, length, at);
    if (done > 0 && is_recorded(name)) put('W', name, (uint64_t)at, from, (size_t)done);
    end();
    return done;
}
ssize_t pwrite(int file, const void *from, size_t length, off_t at) {
    return pwrite64(file, from, length, at);
}
ssize_t write(int file, const void *from, size_t length) {
    if (!name_of(file)) return REAL(write)(file, from, length);
    ssize_t done = pwrite64(file, from, length, lseek64(file, 0, SEEK_CUR));
    if (done > 0) lseek64(file, done, SEEK_CUR);
    return done;
}

// The end of a sync is recorded apart from its beginning: what is written meanwhile is not synced.
static int synced(int file, int (*sync)(int)) {
    const char *name = name_of(file);
    if (!name) return sync(file);
    uint64_t number = (uint64_t)getpid() << 32 | __sync_add_and_fetch(&syncs, 1);
    int is_failing = fails(SYNC);
    if (log_file >= 0) {
        begin();
        put('S', name, number, NULL, 0);
        end();
    }
    int done = is_failing ? -1 : sync(file);
    if (log_file >= 0) {
        begin();
        put(done ? 'F' : 'E', name, number, NULL, 0);
        end();
    }
    if (is_failing) errno = (int)failures->error;
    return done;
}
int fsync(int file) { return synced(file, REAL(fsync)); }
int fdatasync(int file) { return synced(file, REAL(fdatasync)); }

int ftruncate64(int file, off64_t length) {
    const char *name = name_of(file);
    if (name && fails(RESIZE)) return -1;
    begin();
    int done = REAL(ftruncate64)(file, length);
    if (!done && name && is_recorded(name)) put('T', name, (uint64_t)length, NULL, 0);
    end();
    return done;
}
int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

int unlink(const char *path) {
    const char *name = below(path);
    if (name && fails(REMOVE)) return -1;
    begin();
    int done = REAL(unlink)(path);
    if (!done && name && is_recorded(name)) put('U', name, 0, NULL, 0);
    end();
    return done;
}
int unlinkat(int at, const char *path, int flags) {
    if (at == AT_FDCWD && !flags) return unlink(path);
    return REAL(unlinkat)(at, path, flags);
}
int rename(const char *from, const char *to) {
    const char *name = below(from), *new_name = below(to);
    if (name && fails(REMOVE)) return -1;
    begin();
    int done = REAL(rename)(from, to);
    if (!done && name && new_name && log_file >= 0) put('R', name, 0, new_name, strlen(new_name));
    end();
    return done;
}
