"""Selection rules: which of the retrieved documents go to the generator."""
