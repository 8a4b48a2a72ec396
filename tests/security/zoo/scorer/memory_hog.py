#: attacks: scorer
#: why: Takes all the memory that there is.
#: limits: {memory: 67108864}
#: needs: [memory]
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: >-
#:     The scoring program needed more than the 64 MiB of memory allowed (peak {mebibytes} MiB). Keep less in memory at
#:     once, or work in smaller pieces.
#:   kernel: {cause: memory_limit, out_of_memory: true}
blocks = []
while True:
    blocks.append(bytearray(1 << 20))
