#: attacks: scorer
#: why: Prints without end.
#: limits: {log: 262144}
#: expect:
#:   state: failed
#:   code: scoring_error
#:   says: The scoring program printed more than the 256 KiB allowed. Print less.
#:   kernel: {cause: output_limit}
#:   log_bytes: 70000
while True:
    print("x" * 65536)
