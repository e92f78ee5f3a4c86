"""Tunes the C library's memory allocation for batch-sized arrays, where no environment variable does it."""

import ctypes
import mmap

KEPT_BYTES = 1 << 30
_MAX_THRESHOLD = 32 << 20
_LARGE_PAGES_BYTES = KEPT_BYTES // 2  # below both thresholds: it comes from the heap, and stays there when it is freed
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of malloc.h


def keep_memory() -> None:
    """Let GNU's C library keep what is freed for the next array, in large pages (docs/decisions/0050): it gives large
    arrays back at once, and each new one pays for every page again, which takes longer than most of what is done with a
    picture.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        keeps_all = bool(library.mallopt(_M_MMAP_THRESHOLD, KEPT_BYTES))
        if not keeps_all:
            library.mallopt(_M_MMAP_THRESHOLD, _MAX_THRESHOLD)
        library.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        library.mallopt(_M_ARENA_MAX, 1)  # the arena of a thread gives whatever is free back at once
        if keeps_all and hasattr(mmap, "MADV_HUGEPAGE"):
            _use_large_pages(library)


def _use_large_pages(library: ctypes.CDLL) -> None:
    """Put the next part of the heap into large pages where the system has them; no page is allocated before it is
    needed."""
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.free.restype, library.free.argtypes = None, [ctypes.c_void_p]
    if place := library.malloc(_LARGE_PAGES_BYTES):
        first = -(-place // mmap.PAGESIZE) * mmap.PAGESIZE
        # A system without large pages refuses, and the heap stays as it is.
        library.madvise(first, _LARGE_PAGES_BYTES - mmap.PAGESIZE, mmap.MADV_HUGEPAGE)
        library.free(place)
