/* Adds two vectors on the first GPU and checks every sum. */
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void add(const float *a, const float *b, float *sum, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		sum[i] = a[i] + b[i];
}

static bool ok(cudaError_t status, const char *what)
{
	if (status == cudaSuccess)
		return true;
	std::fprintf(stderr, "vectoradd: %s: %s (%d)\n", what, cudaGetErrorString(status),
		     static_cast<int>(status));
	if (status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice ||
	    status == cudaErrorStubLibrary)
		std::fprintf(stderr, "vectoradd: no NVIDIA driver or GPU is here; start the container "
				     "with GPUs (docker run --gpus all)\n");
	return false;
}

int main()
{
	const int count = 1 << 20;
	const size_t bytes = count * sizeof(float);
	std::vector<float> a(count), b(count), sum(count);
	float *device_a, *device_b, *device_sum;

	for (int i = 0; i < count; i++) {
		a[i] = static_cast<float>(i);
		b[i] = static_cast<float>(count - i);
	}
	if (!ok(cudaMalloc(&device_a, bytes), "allocate") ||
	    !ok(cudaMalloc(&device_b, bytes), "allocate") ||
	    !ok(cudaMalloc(&device_sum, bytes), "allocate") ||
	    !ok(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice), "copy in") ||
	    !ok(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice), "copy in"))
		return 1;
	add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_sum, count);
	if (!ok(cudaGetLastError(), "launch") ||
	    !ok(cudaMemcpy(sum.data(), device_sum, bytes, cudaMemcpyDeviceToHost), "copy out"))
		return 1;
	for (int i = 0; i < count; i++) {
		if (sum[i] != static_cast<float>(count)) {
			std::fprintf(stderr, "vectoradd: sum[%d] is %f\n", i, sum[i]);
			return 1;
		}
	}
	std::printf("vectoradd: %d sums are right\n", count);
	return 0;
}
