/* Flight software of one's own for the mission detumble, over the frames of docs/flight_code.md: B-dot in C.
 *
 *     cc -std=c99 -o own_software docs/examples/own_software.c
 *     gnc run detumble --flight-code pipe:./own_software --set run.duration_s=3600
 *
 * The numbers of inputs and command are those that `gnc export detumble` documents in INTERFACE.md. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ABOUT = 1, BEGIN = 2, STEP = 3, MAGNETOMETER = 2, TRIALS = 1000, INPUTS = 512, COMMAND = 7 };

typedef struct {
    char magic[4];
    uint32_t kind, sequence, trial;
    int64_t tick;
    uint32_t arrived, bytes;
} head_t;

typedef struct { /* of one trial */
    double field_T[3];
    int64_t tick;
    int known;
    head_t answer;
    double command[COMMAND];
} trial_t;

static uint32_t crc32(const void *from, size_t n, uint32_t crc)
{
    const unsigned char *bytes = from;
    crc = ~crc;
    for (size_t i = 0; i < n; ++i) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; ++k) {
            crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xEDB88320u : 0u);
        }
    }
    return ~crc;
}

/* Torques of four wheels, which stand still, and the dipole of three torquers against the change of the field. */
static void step(trial_t *own, int64_t tick, uint32_t arrived, const double inputs[])
{
    const double gain = 2e4, seconds = 0.5 * (double)(tick - own->tick); /* ticks of half a second */
    memset(own->command, 0, sizeof own->command);
    for (int i = 0; i < 3 && own->known && seconds > 0.0; ++i) {
        const double dipole = -gain * (inputs[i] - own->field_T[i]) / seconds;
        own->command[4 + i] = dipole > 1.0 ? 1.0 : dipole < -1.0 ? -1.0 : dipole;
    }
    if ((arrived & MAGNETOMETER) != 0) {
        memcpy(own->field_T, inputs, sizeof own->field_T);
        own->tick = tick;
        own->known = 1;
    }
}

static void answer(const head_t *head, const void *body)
{
    const uint32_t crc = crc32(body, head->bytes, crc32(head, sizeof *head, 0));
    fwrite(head, sizeof *head, 1, stdout);
    fwrite(body, 1, head->bytes, stdout);
    fwrite(&crc, sizeof crc, 1, stdout);
    fflush(stdout);
}

int main(void)
{
    static trial_t trials[TRIALS];
    static double inputs[INPUTS];
    static const char nobody[160]; /* sizes and an empty hash: not exported by gnc */
    head_t head;
    uint32_t check;
    while (fread(&head, sizeof head, 1, stdin) == 1) {
        trial_t *own = &trials[head.trial % TRIALS];
        if (head.kind == BEGIN) { /* parameters and belief of exported software: not for us */
            for (uint32_t i = 0; i < head.bytes + 4; ++i) {
                (void)getchar();
            }
            memset(own, 0, sizeof *own);
            head.bytes = 0;
            answer(&head, nobody);
            continue;
        }
        if (head.bytes > sizeof inputs || fread(inputs, 1, head.bytes, stdin) != head.bytes ||
            fread(&check, sizeof check, 1, stdin) != 1) {
            return 1;
        }
        if (crc32(inputs, head.bytes, crc32(&head, sizeof head, 0)) != check) {
            continue; /* it will be asked again */
        }
        if (head.kind == ABOUT) {
            head.bytes = sizeof nobody;
            answer(&head, nobody);
        } else {
            if (own->answer.sequence != head.sequence) { /* what is asked twice is done once */
                step(own, head.tick, head.arrived, inputs);
                own->answer = head;
                own->answer.arrived = 0;
                own->answer.bytes = sizeof own->command;
            }
            answer(&own->answer, own->command);
        }
    }
    return 0;
}
