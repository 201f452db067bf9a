"""The compiled inner loops: Numba functions over flat integer arrays, with no IO and no Python objects."""
