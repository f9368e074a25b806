"""The reference store: the whole store protocol in memory, without an index or a cache.

It shows what the protocol means, and other stores are compared with it. Every question is a loop over all memories.
"""

from recollect.store.reference.store import ReferenceStore, open_reference_store

__all__ = ["ReferenceStore", "open_reference_store"]
