"""Things that may be wrong with the documents: contradictions, drifted copies, dead links and the like."""
