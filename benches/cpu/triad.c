// The limit that memory sets: a[i] = b[i] + s * c[i], as in STREAM. Built with -O3 -march=native -fopenmp.
void triad(double *a, const double *b, const double *c, double s, long n) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
}
