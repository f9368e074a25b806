"""all-MiniLM-L6-v2: its vocabulary, and the graph that runs it in int8 arithmetic, made from the packaged weights."""
