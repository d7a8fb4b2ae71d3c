/* Tables of faces of the simplex (simplex_qp.pyx), with vectors that any processor has: the loops are short. */
#ifndef EVLEARN_FACES_H
#define EVLEARN_FACES_H

#define EVLEARN_FACE_SETS 8

typedef double evlearn_two __attribute__((vector_size(16), aligned(8), may_alias));

typedef struct {
    double table[EVLEARN_FACE_SETS + 1][EVLEARN_FACE_SETS]; /* a row for each linear term, and a row of constants */
    double is_outside[EVLEARN_FACE_SETS];                   /* 1 for sets that are not on the face */
    int is_curved; /* 0 without a table, because of directions with little curvature */
} evlearn_face;

/* The masses z of sets on the face, and the reduced gradients z of the other sets; return the bits of sets with a
 * negative z, up to the tolerance for gradients. */
static inline int evlearn_wrong_sets(double *z, const evlearn_face *face, const double *u, int f, double tolerance)
{
    const evlearn_two *row = (const evlearn_two *)face->table[EVLEARN_FACE_SETS];
    evlearn_two a = row[0], b = row[1], c = row[2], d = row[3];
    int wrong = 0;
    for (int j = 0; j < f; j++) {
        row = (const evlearn_two *)face->table[j];
        a += row[0] * u[j];
        b += row[1] * u[j];
        c += row[2] * u[j];
        d += row[3] * u[j];
    }
    evlearn_two *to = (evlearn_two *)z;
    to[0] = a, to[1] = b, to[2] = c, to[3] = d;
    for (int i = 0; i < EVLEARN_FACE_SETS; i++) wrong |= (z[i] < -tolerance * face->is_outside[i]) << i;
    return wrong;
}

#endif
