/* Add up `n` numbers: a tree in each block of 256 threads, one atomic addition per block. */
extern "C" __global__ void reduce(const float *in, float *sum, int n)
{
	__shared__ float part[256];
	int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

	part[t] = i < n ? in[i] : 0.0f;
	__syncthreads();
	for (int k = 128; k > 0; k >>= 1) {
		if (t < k)
			part[t] += part[t + k];
		__syncthreads();
	}
	if (t == 0)
		atomicAdd(sum, part[0]);
}
