"""Run loops over arrays, compiled or interpreted, and cancel them."""
