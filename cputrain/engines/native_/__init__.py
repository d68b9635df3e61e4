"""Our own C: forward, backward and AdamW with OpenMP, for measuring compilers and their flags."""
