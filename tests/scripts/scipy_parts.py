"""What models import of scipy: assignments, factors of a matrix, windows, special functions. And names for a profiler."""
import numpy as np
import scipy
import scipy.fft
import scipy.linalg
import scipy.special
import torch
from scipy import signal
from scipy.fftpack import next_fast_len
from scipy.optimize import linear_sum_assignment
from torch.profiler import record_function

print(linear_sum_assignment(np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])))
print(linear_sum_assignment(torch.tensor([[1.0, 1.0, 1.0, 0.5], [1.0, 1.0, 1.0, 1.0]])))
print(linear_sum_assignment(np.array([[1, 1], [1, 1], [0, 1]]), maximize=True))
costs = [torch.tensor([[(i * 7 + j * 13 + k) % 5 for j in range(4)] for i in range(6)]) for k in range(3)]  # of equal sums many
for rows, columns in [linear_sum_assignment(c.numpy()) for c in costs]:
    print(torch.as_tensor(rows, dtype=torch.int64), torch.as_tensor(columns, dtype=torch.int64))
for wrong in ([1.0, 2.0], [[1.0, float('nan')]], [[float('inf')]]):
    try:
        linear_sum_assignment(np.array(wrong))
    except ValueError as error:
        print(error)
for part in scipy.linalg.lu(np.array([[1.0, 2.0], [3.0, 4.0]])):
    print(part.round(4).tolist())
print(signal.get_window('hann', 4), signal.get_window('hamming', 4, fftbins=False).round(4), scipy.signal.get_window(('kaiser', 2.0), 3).round(4))
print(scipy.linalg.hadamard(4).tolist(), scipy.linalg.toeplitz([1, 2, 3], [1, 5]).tolist())
print(scipy.special.expit(np.array([0.0, 1.0])).round(5), scipy.special.comb(5, 2), scipy.special.softmax(np.array([1.0, 2.0])).round(5))


@record_function('shown')
def shown(x):
    with record_function('inside'):
        return x * 2


print(shown(torch.ones(2)), torch.compile(shown)(torch.ones(2)))
for way in ('bilinear', 'zoh', 'euler', 'backward_diff'):
    states = signal.cont2discrete((np.array([[0.0, 1.0], [-2.0, -3.0]]), np.array([[0.0], [1.0]]), np.array([[1.0, 0.5]]), np.array([[0.0]])), 0.1, way)
    print(way, [part.round(6).tolist() for part in states[:4]], states[4])
print([next_fast_len(n) for n in (7, 11, 49, 97, 128)], [scipy.fft.next_fast_len(n) for n in (7, 13, 49, 97)])
print(scipy.special.eval_legendre(np.arange(4)[:, None], np.array([0.1, -0.5])).round(5).tolist(), round(scipy.special.eval_legendre(3, 0.2), 5))
print(scipy.special.eval_chebyt(3, np.array([0.3])).round(5), scipy.special.eval_laguerre(2, 0.5), round(scipy.special.eval_hermite(2, 0.5), 5))
print(torch.tensor(range(3)), torch.as_tensor(range(1, 7, 2)), torch.IntTensor(), torch.Tensor().shape, torch.tensor(range(2), dtype=torch.float32))
print([round(float(scipy.special.binom(n, k)), 6) for n, k in ((5, 2), (4, 0), (3, 7), (2.5, 2), (-1.5, 3), (5, 2.5))])
