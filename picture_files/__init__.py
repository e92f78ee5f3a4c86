"""Picture files: decoding, hashing, PNG encoding, storage. No models."""
