/* All kernels as one module: kernels.fatbin holds it for each architecture that nvcc knows. */
#include "vectoradd.cu"
#include "reduce.cu"
