#include <stdio.h>

/* The sill lies half a metre above the bed. */
#define SILL 0.5

int main(void) {
    printf("%.2f\n", 4.25 - SILL);
    return 0;
}
