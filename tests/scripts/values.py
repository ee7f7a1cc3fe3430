"""What sorts, finds and counts values of tensors, of any number of elements; a command line; messages."""
import argparse, logging, sys
import torch
x = torch.sin(torch.arange(200.) * 1.7)
v, i = x.sort()
print(v[:3], i[:3], x.topk(10)[1], x.median(), x.quantile(.25), torch.argsort(x)[:4])
x = torch.tensor([3, 1, 2, 3, 1])
print(x.unique())
print(torch.unique(x, return_counts=True))
print(x[x > 1])
print(torch.nonzero(x > 1), (x > 1).nonzero(as_tuple=True), torch.where(x > 1))
print(torch.masked_select(x, x > 2), torch.argwhere(x > 2), torch.unique_consecutive(torch.tensor([1, 1, 2])))
parser = argparse.ArgumentParser(description='x')
parser.add_argument('--batch-size', type=int, default=64, metavar='N', help='input batch size')
parser.add_argument('--lr', type=float, default=1e-2)
parser.add_argument('--no-cuda', action='store_true', default=False)
parser.add_argument('--model', choices=['a', 'b'], default='a')
parser.add_argument('--dims', nargs='+', type=int, default=[1, 2])
args = parser.parse_args()
print(args.batch_size, args.lr, args.no_cuda, args.model, args.dims)
print(args, vars(args))
args2 = parser.parse_args(['--lr', '0.5', '--no-cuda', '--batch-size=3', '--dims', '4', '5'])
print(args2.lr, args2.no_cuda, args2.batch_size, args2.dims)
logging.basicConfig(level=logging.INFO, format='%(levelname)s %(message)s', stream=sys.stdout)
logging.info('root %s', 'x')
print('to stderr', file=sys.stderr)
sys.stdout.write('raw\n'); sys.stdout.flush()
print(torch.tensor([[1, 1, 2], [3, 2, 2]]).mode(), torch.tensor([3., 1.]).topk(1), torch.can_cast(torch.float, torch.int), 3 in torch.arange(4))
x, r = torch.arange(6.).view(3, 2), torch.tensor([1, 0, 2])
print(x.repeat_interleave(r, 0), torch.repeat_interleave(r), x.repeat_interleave(torch.tensor([2])), torch.repeat_interleave(r, 2))
x.requires_grad_()
torch.compile(lambda x, r: torch.repeat_interleave(x, r, dim=0, output_size=3), fullgraph=True)(x, r).sum().backward()
print(x.grad)
try:
    sys.exit(3)
except SystemExit as e:
    print('left with', e.code)
try:
    exit()
except Exception:
    print('no Exception')
except BaseException as e:
    print(type(e).__name__, e.code)
def main():
    try:
        return 0
    except KeyboardInterrupt:
        pass
if __name__ == '__main__':
    sys.exit(main())
print('never')
