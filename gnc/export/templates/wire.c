#include "NAME_wire.h"

#include <string.h>

static const double *take(const double from[], int32_t n, void *to)
{
    char *const bytes = to;
    for (int32_t i = 0; i < n; ++i) {
        const NAME_real_t x = (NAME_real_t)from[i];
        memcpy(&bytes[(size_t)i * sizeof x], &x, sizeof x);
    }
    return &from[n];
}

static double *put(const void *from, int32_t n, double to[])
{
    const char *const bytes = from;
    for (int32_t i = 0; i < n; ++i) {
        NAME_real_t x;
        memcpy(&x, &bytes[(size_t)i * sizeof x], sizeof x);
        to[i] = (double)x;
    }
    return &to[n];
}

void wire_about(int32_t sizes[5], char hash[64], char version[64])
{
    sizes[0] = (int32_t)sizeof(wire_craft_t);
    sizes[1] = WIRE_START;
    sizes[2] = WIRE_INPUTS;
    sizes[3] = WIRE_OUTPUTS;
    sizes[4] = (int32_t)sizeof(NAME_real_t);
    memset(hash, 0, 64);
    memset(version, 0, 64);
    memcpy(hash, NAME_HASH, sizeof NAME_HASH);
    memcpy(version, NAME_VERSION, sizeof NAME_VERSION);
}

void wire_init(wire_craft_t *craft)
{
    craft->parameters = NAME_parameters;
    NAME_init(&craft->state);
}

void wire_begin(wire_craft_t *craft, const double start[])
{
    wire_init(craft);
    start = take(start, WIRE_PARAMETERS, &craft->parameters);
    start = take(start, WIRE_REALS(NAME_belief_t), &craft->state.belief);
    start = take(start, WIRE_REALS(NAME_command_t), &craft->state.command);
    (void)take(start, WIRE_REALS(NAME_memory_t), &craft->state.memory);
    craft->state.marks[0].command = craft->state.command;
}

void wire_put(wire_craft_t *craft, const double made[])
{
    made = take(made, WIRE_REALS(NAME_command_t), &craft->state.command);
    made = take(made, WIRE_REALS(NAME_belief_t), &craft->state.belief);
    (void)take(made, WIRE_REALS(NAME_memory_t), &craft->state.memory);
    craft->state.marks[craft->state.used - 1].command = craft->state.command;
}

int32_t wire_step(wire_craft_t *craft, const double in[], int64_t tick, uint32_t arrived, double out[])
{
    NAME_inputs_t inputs;
    (void)take(in, WIRE_INPUTS, &inputs);
    const int32_t error = NAME_step(&craft->parameters, &craft->state, &inputs, tick, arrived);
    out = put(&craft->state.command, WIRE_REALS(NAME_command_t), out);
    out = put(&craft->state.belief, WIRE_REALS(NAME_belief_t), out);
    out = put(&craft->state.memory, WIRE_REALS(NAME_memory_t), out);
    (void)put(&craft->state.innovations, WIRE_REALS(NAME_innovations_t), out);
    return error;
}

int32_t wire_step_all(int32_t n, wire_craft_t craft[], const double in[], int64_t tick, uint32_t arrived, double out[])
{
    int32_t error = 0;
    for (int32_t i = 0; i < n; ++i) {
        const int32_t own = wire_step(&craft[i], &in[i * WIRE_INPUTS], tick, arrived, &out[i * WIRE_OUTPUTS]);
        error = error == 0 ? own : error;
    }
    return error;
}
