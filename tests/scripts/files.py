"""Files of text, progress bars, and mixed precision that is not asked for."""
import heapq
import io
import os
import string
import subprocess
from pathlib import Path

import torch
from torch.cuda.amp import GradScaler
from torch.utils.data.dataloader import DataLoader
from tqdm import tqdm, trange

folder = os.path.join(os.environ.get('TMP', '/tmp'), 'warpsmith_files', 'a')
os.makedirs(folder, exist_ok=True)
os.makedirs(folder, exist_ok=True)
name = os.path.join(folder, 'words.txt')
with open(name, 'w') as file:
    file.write('one\ntwo\n')
    print('three', 3, file=file)
with open(name, 'a', encoding='utf-8') as file:
    file.writelines(['four\n', 'fünf'])
print(open(name, 'r').read().splitlines(), [line.strip() for line in open(name)], Path(name).read_text()[:5], open(name).readlines()[-1])
for wrong in (lambda: open('/nowhere/at/all'), lambda: os.makedirs(folder), lambda: os.mkdir('/nowhere/at/all')):
    try:
        wrong()
    except (FileNotFoundError, FileExistsError) as error:
        print(type(error).__name__)
text = io.StringIO('a\nb')
print(text.readline(), list(text), string.ascii_lowercase, len(string.printable))

for i in trange(2):
    tqdm.write(str(i))
bar = tqdm([1, 2], desc='steps', leave=False)
for item in bar:
    bar.set_postfix(loss=item)
print(bar.n, len(bar), [x for x in tqdm(x for x in (1, 2))])
heap = [5, 1, 4]
heapq.heapify(heap)
heapq.heappush(heap, 0)
print([heapq.heappop(heap) for _ in range(4)], heapq.nlargest(2, [1, 3, 2]), heapq.nsmallest(1, [3, 1]))

if not torch.cuda.is_available():
    scaler, w = GradScaler(), torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with torch.autocast('cuda', dtype=torch.float16):
        loss = (w * 3).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(w.detach(), torch.full((2,), 0.7)), w
