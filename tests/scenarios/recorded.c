/* Fly a recording of a campaign: the answer to every step of every trial must have the hash that was recorded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "NAME_wire.h"

static uint64_t hash(const double x[])
{
    uint64_t sum = 0;
    uint64_t factor = 1;
    for (int k = 0; k < WIRE_OUTPUTS; ++k) {
        uint64_t bits = 0x7ff8000000000000u; /* of all that is no number */
        if (x[k] == x[k]) {
            memcpy(&bits, &x[k], sizeof bits);
        }
        factor = factor * 6364136223846793005u + 1442695040888963406u; /* stays odd: any one change shows */
        sum += factor * bits;
    }
    return sum;
}

static void *numbers(size_t n, FILE *file)
{
    double *const x = malloc(n * sizeof *x);
    if (x == NULL || fread(x, sizeof *x, n, file) != n) {
        exit(2);
    }
    return x;
}

int main(int argc, char *argv[])
{
    FILE *const file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    const long most = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    long head[3]; /* trials, tick or -1 at a start, what arrives; as doubles in the file */
    double told[3];
    long steps = 0, wrong = 0;
    clock_t busy = 0;
    wire_craft_t *craft = NULL;
    while (file != NULL && fread(told, sizeof told, 1, file) == 1) {
        for (int i = 0; i < 3; ++i) {
            head[i] = (long)told[i];
        }
        const size_t trials = (size_t)head[0];
        const long flown = head[0] < most ? head[0] : most;
        if (head[1] < 0) {
            double *const start = numbers(trials * (size_t)WIRE_START, file);
            craft = realloc(craft, trials * sizeof *craft);
            for (long k = 0; craft != NULL && k < flown; ++k) {
                wire_begin(&craft[k], &start[k * WIRE_START]);
            }
            free(start);
            continue;
        }
        double *const given = numbers(trials * (size_t)WIRE_INPUTS, file);
        uint64_t *const expected = numbers(trials, file);
        for (long k = 0; craft != NULL && k < flown; ++k) {
            double made[WIRE_OUTPUTS];
            const clock_t begin = clock();
            const int error = wire_step(&craft[k], &given[k * WIRE_INPUTS], head[1], (uint32_t)head[2], made);
            busy += clock() - begin;
            wrong += error != 0 || hash(made) != expected[k];
            ++steps;
        }
        free(given);
        free(expected);
    }
    free(craft);
    if (file != NULL) {
        fclose(file);
    }
    printf("%ld steps, %ld differ, %.2f us each\n", steps, wrong, 1e6 * (double)busy / CLOCKS_PER_SEC / (double)steps);
    return steps == 0 || wrong != 0;
}
