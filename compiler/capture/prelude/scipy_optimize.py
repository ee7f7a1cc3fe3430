"""scipy.optimize: which column each row takes for the least sum, by shortest augmenting paths (Crouse 2016): equal costs are
decided as scipy decides them."""
import numpy
from numpy import _t


def _augmenting_path(cost, u, v, col_of, start):
    """(the free column that the cheapest path ends at, path, costs, least, rows and columns met)"""
    n, inf = len(v), float('inf')
    path, costs, left = [-1] * n, [inf] * n, list(range(n - 1, -1, -1))
    rows, columns, least, i = [], [], 0.0, start
    while True:
        rows.append(i)
        at, lowest = -1, inf
        for k, j in enumerate(left):
            r = least + cost[i][j] - u[i] - v[j]
            if r < costs[j]:
                path[j], costs[j] = i, r
            if costs[j] < lowest or costs[j] == lowest and j not in col_of:
                at, lowest = k, costs[j]
        least = lowest
        if least == inf:
            raise ValueError('cost matrix is infeasible')
        j = left[at]
        left[at] = left[-1]
        left.pop()
        columns.append(j)
        if j not in col_of:
            return j, path, costs, least, rows, columns
        i = col_of[j]


def linear_sum_assignment(cost_matrix, maximize=False):
    matrix = _t(cost_matrix)
    if matrix.ndim != 2:
        raise ValueError(f'expected a matrix (2-D array), got a {matrix.ndim} array')
    turned = matrix.shape[1] < matrix.shape[0]
    cost = [[-float(x) if maximize else float(x) for x in row] for row in (matrix.t() if turned else matrix).tolist()]
    if any([x != x or x == float('-inf') for row in cost for x in row]):
        raise ValueError('matrix contains invalid numeric entries')
    u, v = [0.0] * len(cost), [0.0] * max(matrix.shape)
    row_takes, col_of = [-1] * len(cost), {}  # row -> column, column -> row
    for current in range(len(cost)):
        j, path, costs, least, rows, columns = _augmenting_path(cost, u, v, col_of, current)
        u[current] += least
        for i in rows:
            if i != current:
                u[i] += least - costs[row_takes[i]]
        for column in columns:
            v[column] -= least - costs[column]
        while True:
            i = path[j]
            col_of[j] = i
            row_takes[i], j = j, row_takes[i]
            if i == current:
                break
    pairs = sorted([(j, i) if turned else (i, j) for i, j in enumerate(row_takes)])
    return (numpy.array([a for a, b in pairs], dtype=numpy.int64), numpy.array([b for a, b in pairs], dtype=numpy.int64))
