"""Files by digest: what is uploaded, published or recorded is kept once, under what is in it."""
