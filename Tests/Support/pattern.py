"""The bytes of large bodies. loadgen.c has the same, so that either end can find a wrong byte."""

# A prime, so that repeated or lost blocks of a power of two are noticed.
PERIOD = 1048573
_once = bytes(((i * 2654435761) >> 13) & 0xFF for i in range(PERIOD))
# Long enough for pieces of up to 1 MiB at any offset.
PATTERN = _once + _once
