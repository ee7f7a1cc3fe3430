"""A training step as graphs of torch.compile have it after the decompositions: forward, backward, and an update."""
import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, primals_1, primals_2, primals_3, primals_4, primals_5, tangents_1):
        convolution = torch.ops.aten.convolution.default(primals_1, primals_2, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        relu = torch.ops.aten.relu.default(convolution)
        le = torch.ops.aten.le.Scalar(relu, 0)
        mean = torch.ops.aten.mean.dim(relu, [-1, -2], True)
        view = torch.ops.aten.view.default(mean, [4, 6])
        native_layer_norm = torch.ops.aten.native_layer_norm.default(view, [6], primals_3, primals_4, 1e-05)
        getitem = operator.getitem(native_layer_norm, 0)
        getitem_1 = native_layer_norm[1]
        getitem_2 = native_layer_norm[2]
        permute = torch.ops.aten.permute.default(primals_5, [1, 0])
        mm = torch.ops.aten.mm.default(getitem, permute)
        permute_1 = torch.ops.aten.permute.default(tangents_1, [1, 0])
        mm_1 = torch.ops.aten.mm.default(permute_1, getitem)
        mm_2 = torch.ops.aten.mm.default(tangents_1, primals_5)
        native_layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default(
            mm_2, view, [6], getitem_1, getitem_2, primals_3, primals_4, [True, True, True])
        view_1 = torch.ops.aten.view.default(native_layer_norm_backward[0], [4, 6, 1, 1])
        expand = torch.ops.aten.expand.default(view_1, [4, 6, 7, 7])
        div = torch.ops.aten.div.Scalar(expand, 49)
        full = torch.ops.aten.full.default([], 0.0, dtype=torch.float32, layout=torch.strided, device=torch.device('cpu'), pin_memory=False)
        where = torch.ops.aten.where.self(le, full, div)
        convolution_backward = torch.ops.aten.convolution_backward.default(
            where, primals_1, primals_2, [0], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False])
        sub = torch.ops.aten.sub.Tensor(primals_5, torch.ops.aten.mul.Tensor(mm_1, 0.01))
        return [mm, convolution_backward[1], native_layer_norm_backward[1], native_layer_norm_backward[2], sub]


Model = GraphModule


def get_inputs():
    return [torch.randn(4, 3, 7, 7), torch.randn(6, 3, 3, 3), torch.rand(6) + 0.5, torch.randn(6), torch.randn(5, 6), torch.randn(4, 5)]


def get_init_inputs():
    return []
