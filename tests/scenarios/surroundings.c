/* The table of surroundings against the inputs of the recorded vectors. */
#include <stddef.h>
#include <string.h>

#include "NAME_surroundings.c"
#include "NAME_wire.h"
#include "test_vectors.h"

int main(void)
{
    int wrong = VECTORS < 100 || expected[0][0] == 1e300 || arrivals[0] == 99;
    for (int i = 0; i < VECTORS; ++i) {
        NAME_inputs_t inputs, other;
        memcpy(&inputs, given[i], sizeof inputs);
        other = inputs;
        memset((char *)&other + offsetof(NAME_inputs_t, FIRST), 0, sizeof other - offsetof(NAME_inputs_t, FIRST));
        wrong += memcmp(&other, &inputs, sizeof other) == 0;
        wrong += NAME_surroundings(ticks[i], &other);
        wrong += memcmp(&other, &inputs, sizeof other) != 0;
    }
    return wrong + 1 - NAME_surroundings(100000, NULL);
}
