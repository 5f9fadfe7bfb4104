"""How loops over arrays run: compiled or interpreted, and until somebody ends them."""
