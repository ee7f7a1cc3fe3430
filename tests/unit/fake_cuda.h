/* fake_cuda.h: how a test steers the fake driver in fake_cuda.c. */
#ifndef WS_FAKE_CUDA_H
#define WS_FAKE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

struct fake {
    int gpus;
    int major, minor;
    int subscribe_status; /* what cuptiSubscribe answers */
    int sync_status;      /* what cuCtxSynchronize answers, until the context is reset */
    int reset_status;
    int graph_status; /* what cuGraphInstantiateWithFlags answers */
    int map_status;   /* what cuTensorMapEncodeTiled answers */
    int drop;         /* so many of the next records are never delivered */
    int zero;         /* so many of the next records have no timestamps */
    int silent;       /* launches are not told to the callback */
    int behind;       /* of so many repetitions the host submits the last launch too late */
    int bad_nvrtc;    /* compiles fail */
    unsigned long long throttle;
    unsigned long long bad, worst, unbounded; /* what the comparing kernels find */
    /* the range profiler */
    int passes; /* that a set of metrics takes */
    int availability_status, enable_status, start_status;
    int dropped_ranges;
    char unknown_metric[32]; /* metrics whose name has this in it: not of this chip, */
    char missing_metric[32]; /* known but not available, */
    char broken_metric[32];  /* cannot be evaluated; "": none */
    /* counters */
    int tracing; /* is on */
    int profilers, enables, hosts, asked, misused;
    int overlapping; /* of the launches: allowed to begin before the one before them ends */
    int graph_launches;
    int maps;      /* encoded */
    int l2_status; /* what cuCtxResetPersistingL2Cache answers */
    int launches, flushes, l2_resets, contexts, subscriptions, loaded, leaked;
};

/* What the fake encodes of a tensor map. */
struct fake_map {
    uint64_t address, size[5], stride[4];
    uint16_t box[5];
    uint8_t type, rank, swizzle, promotion;
    bool windows; /* made by cuTensorMapEncodeIm2col: box is channels and pixels */
    int16_t lower[3], upper[3];
    uint8_t step[3];
    bool plain; /* every element, nothing interleaved, zeros outside */
};

#endif
