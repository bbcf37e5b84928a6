/* The software as arrays of doubles: for the loop of gnc, for tests, for the server of a processor in the loop. */
#ifndef NAME_WIRE_H
#define NAME_WIRE_H

#include "NAME.h"

#define WIRE_REALS(type) ((int32_t)(sizeof(type) / sizeof(NAME_real_t)))
#define WIRE_PARAMETERS WIRE_REALS(NAME_parameters_t)
#define WIRE_START (WIRE_PARAMETERS + WIRE_REALS(NAME_belief_t) + WIRE_REALS(NAME_command_t) + WIRE_REALS(NAME_memory_t))
#define WIRE_INPUTS WIRE_REALS(NAME_inputs_t)
#define WIRE_OUTPUTS \
    (WIRE_REALS(NAME_command_t) + WIRE_REALS(NAME_belief_t) + WIRE_REALS(NAME_memory_t) + WIRE_REALS(NAME_innovations_t))

typedef struct {
    NAME_parameters_t parameters;
    NAME_state_t state;
} wire_craft_t;

/* Describe the component: sizes of a craft's memory, of start, inputs, outputs and numbers; its hash and version. */
void wire_about(int32_t sizes[5], char hash[64], char version[64]);

/* Begin as NAME_init does. */
void wire_init(wire_craft_t *craft);

/* Begin from parameters, belief, command and memory. */
void wire_begin(wire_craft_t *craft, const double start[]);

/* Put command, belief and memory, as a step returns them, in the place of the craft's own. */
void wire_put(wire_craft_t *craft, const double made[]);

/* Take a step; out are command, belief, memory and innovations. */
int32_t wire_step(wire_craft_t *craft, const double in[], int64_t tick, uint32_t arrived, double out[]);

/* Take a step of many craft; returns the first error. */
int32_t wire_step_all(int32_t n, wire_craft_t craft[], const double in[], int64_t tick, uint32_t arrived, double out[]);

#endif
