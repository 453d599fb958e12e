"""Objects of other libraries as structures, and back."""
