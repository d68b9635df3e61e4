"""Compilers of C and C++: which are here, what they are told, and what is built with them.

The native engine's library is built before a sweep's first suite (`ahead`) or by the worker that
finds none (`build`). Standard library only.
"""
