/* Launches the kernel of gelu.ptx by the CUDA driver, as its sidecar, gelu.ptx.json, says:

     promote-opt --emit=ptx --target=cuda:sm_80 gelu.mlir -o gelu.ptx
     cc launch.c -ldl -o launch && ./launch gelu.ptx

   The driver is loaded at run time: no CUDA is needed to compile this. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *driver;

/* Calls a function of the driver, and ends the program if that fails. */
#define CALL(name, types, ...)                                                              \
    do {                                                                                    \
        int (*function) types = (int (*) types)dlsym(driver, name);                         \
        int status = function ? function(__VA_ARGS__) : -1;                                 \
        if (status != 0) {                                                                  \
            fprintf(stderr, "%s fails with %d\n", name, status);                            \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

int main(int count, char **arguments) {
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    static char ptx[1 << 20];
    if (!file || fread(ptx, 1, sizeof ptx - 1, file) == 0) {
        fprintf(stderr, "usage: launch gelu.ptx\n");
        return 2;
    }
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "no CUDA driver: %s\n", dlerror());
        return 1;
    }
    enum { n = 1 << 20 };
    static float x[n], y[n];
    for (int i = 0; i < n; i++) x[i] = (float)i / n - 0.5f;

    int device;
    void *context, *module, *kernel;
    CALL("cuInit", (unsigned), 0);
    CALL("cuDeviceGet", (int *, int), &device, 0);
    CALL("cuCtxCreate_v2", (void **, unsigned, int), &context, 0, device);
    CALL("cuModuleLoadData", (void **, const void *), &module, ptx);
    CALL("cuModuleGetFunction", (void **, void *, const char *), &kernel, module, "kernel0");

    /* "parameters": ["b0", "b8", "s0"]: the argument, the result, and the extent. */
    uint64_t b0, b8, s0 = n;
    CALL("cuMemAlloc_v2", (uint64_t *, size_t), &b0, sizeof x);
    CALL("cuMemAlloc_v2", (uint64_t *, size_t), &b8, sizeof y);
    CALL("cuMemcpyHtoD_v2", (uint64_t, const void *, size_t), b0, x, sizeof x);
    void *parameters[] = {&b0, &b8, &s0};

    /* "units": "s0", "units_per_group": 1024, "threads": 256 */
    unsigned groups = (n + 1023) / 1024;
    CALL("cuLaunchKernel",
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
         kernel, groups, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL);
    CALL("cuMemcpyDtoH_v2", (void *, uint64_t, size_t), y, b8, sizeof y);
    printf("gelu(%g) = %g\n", x[n - 1], y[n - 1]);
    return 0;
}
