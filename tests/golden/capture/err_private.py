import _warpsmith
