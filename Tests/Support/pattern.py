"""The bytes that large bodies are made of: the same in loadgen.c, so that either end can tell a wrong byte."""

# A prime, so that no power of two hides a repeated or a lost block.
PERIOD = 1048573
_once = bytes(((i * 2654435761) >> 13) & 0xFF for i in range(PERIOD))
# Long enough that any piece of up to 1 MiB can be cut out wherever it starts.
PATTERN = _once + _once
