"""abmind: staged recall by full text, vectors, signatures, notes and relations."""
