"""Peers of the quality benchmark: each builds an index of one haystack after the other and answers its questions."""
