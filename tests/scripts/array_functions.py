"""Functions of numpy that public files call, as numpy computes and prints them."""
import numpy as np

a = np.array([[1., 2., 3.], [4., 5., 7.]])
print(np.append(1.0, np.cumprod(np.array([.5, .5, .5]))[:-1]), np.append([1, 2], [[3, 4]]), np.append(a, [[1, 1, 1]], axis=0))
print(np.delete([1, 2, 3, 4], 1), np.delete(a, [0, -1], axis=1), np.insert([1, 2, 3], 1, 9), np.insert(a, 1, 0, axis=1), np.insert(a, 0, [7, 8, 9], axis=0))
print(np.trapezoid([1, 2, 3]), np.trapezoid([1, 2, 3], x=[4, 6, 8]), np.hypot(3, 4), np.fmax([1, 5], [2, 3]), np.logaddexp(0., 0.))
print(np.exp2([1, 2]), np.rint([.5, 1.5, 2.4]), np.reciprocal([2., 4.]), np.negative([1, -2]), np.rad2deg(np.pi), np.sinc([0., .5]))
print(np.isin([1, 2, 5], [2, 5]), np.nan_to_num([np.nan, 1., np.inf], posinf=9.), np.nanmean([1., np.nan, 3.]), np.nansum([[1., np.nan], [2., 3.]], axis=0), np.nanmax([1., np.nan]))
print(np.inner([1, 2], [3, 4]), np.tensordot(a, a, axes=([1], [1])), np.kron([1, 2], [1, 10]), np.cross([1, 0, 0], [0, 1, 0]), np.trace(a), np.diagonal(a))
print(np.convolve([1, 2, 3], [0, 1, 0.5]), np.convolve([1, 2, 3], [0, 1, 0.5], 'same'), np.convolve([1, 2, 3, 4], [1, 1], 'valid'), np.correlate([1, 2, 3], [0, 1, 0.5]))
print(np.cov(a), np.corrcoef(a)[0, 0], np.searchsorted([1, 3, 5], [0, 3, 9]), np.digitize([.5, 1.5, 1.], [1., 2.]), np.interp([0., 1.5, 9.], [1, 2, 3], [10, 20, 40]))
print(np.histogram([1, 2, 1, 4], bins=3), np.quantile(a, .25), np.take(a, [0, 2], axis=1), np.take_along_axis(a, np.argsort(-a, axis=1), axis=1))
print(np.atleast_2d([1, 2]), np.column_stack([[1, 2], [3, 4]]), np.fliplr(a), np.flipud(a), np.rot90(a), np.isscalar(3), np.ix_([0, 1], [2])[1])
print(np.indices((2, 2)), np.tril_indices(2), np.tri(2), np.vander([1, 2, 3], 3), [int(i) for i in np.unravel_index(5, (2, 3))], list(np.ndindex(2, 2)))
print(np.pad([1, 2], 1), np.pad(a, ((0, 1), (1, 0)), constant_values=9.), np.pad([1, 2, 3], 2, mode='edge'), np.pad([1, 2, 3], (2, 1), mode='reflect'), np.pad([1, 2, 3], 2, mode='symmetric'), np.pad([1, 2, 3], 2, mode='wrap'))
print(np.gradient([1., 2., 4., 7.]), np.geomspace(1, 8, 4), np.hanning(5), np.hamming(4), np.vectorize(lambda x, y: x + 2 * y)([1, 2], 3), np.apply_along_axis(lambda r: r.sum(), 1, a))
m = np.array([[2., 1.], [1., 3.]])
print(np.linalg.inv(m), round(np.linalg.det(m), 6), np.linalg.solve(m, [1., 2.]), np.linalg.norm(m), np.linalg.norm(a, axis=1), np.linalg.eigh(m)[0], np.linalg.svd(m)[1], np.linalg.cholesky(m), np.linalg.matrix_rank(m), np.linalg.pinv(m))
