#!/usr/bin/env python3
"""How much the place of small tensors in a GPU's memory decides: PyTorch's own addition, at many places.

    scripts/bench_places.py --out places.csv [--device cuda:0] [--places 64] [--samples 21]

torch.add(x, 1, out=y) of 256, 4096 and 65536 elements of f32, x and y in parts of one allocation; the next place is
somewhere else in it. Times are CUPTI's (torch.profiler), each behind a flush of the L2 as in torch_peer.py, in turns: all places
once, then again. So a time of a kernel that is this short, which is of one place, is as exact as places agree.
Written: a line an element count (device, date, torch, elements, places, samples; of the places' medians in microseconds,
least_us, q1_us, median_us, q3_us, most_us), which is printed, too.
Exit codes: 0 fine, 2 usage, 3 no PyTorch or no GPU."""

import argparse
import csv
import datetime
import random
import statistics
import sys

COLUMNS = ["device", "date", "torch", "elements", "places", "samples", "least_us", "q1_us", "median_us", "q3_us", "most_us"]
ELEMENTS = [256, 4096, 65536]
PLACE = 1 << 20  # bytes from a place to the next


def medians(torch, device, elements, places, samples):
    """The median time at each place."""
    memory = torch.zeros(2 * places * PLACE, dtype=torch.int8, device=device)
    flushed = torch.zeros(2 * torch.cuda.get_device_properties(device).L2_cache_size, dtype=torch.int8, device=device)
    order = random.Random(elements)

    def tensor(i):
        first = i * PLACE + order.randrange(0, PLACE - 4 * elements + 1, 512)
        return memory[first:first + 4 * elements].view(torch.float32)

    pairs = [(tensor(2 * i), tensor(2 * i + 1)) for i in range(places)]
    torch.add(pairs[0][0], 1, out=pairs[0][1])
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(samples):
            for x, y in pairs:
                flushed.bitwise_not_()
                torch.add(x, 1, out=y)
        torch.cuda.synchronize()
    events = sorted((e for e in profiler.events() if e.device_type.name == "CUDA"), key=lambda e: e.time_range.start)
    us = [e.time_range.elapsed_us() for e in events[1::2]]  # every other one is a flush
    if len(us) != samples * places:
        sys.exit(f"bench_places: {len(us)} times for {samples * places} additions")
    return [statistics.median(us[i::places]) for i in range(places)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="FILE")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--places", type=int, default=64)
    parser.add_argument("--samples", type=int, default=21)
    args = parser.parse_args()
    if args.places < 2 or args.samples < 1:
        parser.error("--places is 2 or more, --samples 1 or more")
    try:
        import torch
    except ImportError:
        torch = None
    if not torch or not torch.cuda.is_available():
        print("bench_places: no PyTorch with a GPU here", file=sys.stderr)
        return 3
    rows = []
    for elements in ELEMENTS:
        us = sorted(medians(torch, args.device, elements, args.places, args.samples))
        quarters = statistics.quantiles(us, n=4)
        rows.append([torch.cuda.get_device_name(args.device), datetime.date.today().isoformat(), torch.__version__, elements,
                     args.places, args.samples] + [f"{v:.3f}" for v in (us[0], *quarters, us[-1])])
    with open(args.out, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
    print(open(args.out).read(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
