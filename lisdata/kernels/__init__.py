"""Compiled hot loops, each with a plain twin that the tests compare it with; importing a module here imports numba."""
