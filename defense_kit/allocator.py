"""How the C library handles memory of the size of a batch, in a process whose environment nobody set for it."""

import ctypes

KEPT_BYTES = 1 << 30
_MOST_OF_OLD_LIBRARIES = 32 << 20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of malloc.h


def keep_memory() -> None:
    """Let GNU's C library keep what is freed for the next array: it gives large ones back at once, and each new one
    pays for every page again, which takes longer than most of what is done with a picture.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        if not library.mallopt(_M_MMAP_THRESHOLD, KEPT_BYTES):
            library.mallopt(_M_MMAP_THRESHOLD, _MOST_OF_OLD_LIBRARIES)
        library.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        library.mallopt(_M_ARENA_MAX, 1)  # the arena of a thread gives whatever is free back at once
