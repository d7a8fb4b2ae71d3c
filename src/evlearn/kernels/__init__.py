"""Hot loops: arrays in, arrays out. Kernels validate nothing and draw no random numbers."""
