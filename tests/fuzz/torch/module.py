class M(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  weight : Tensor
  training : bool
  eps : Final[float] = 1.0000000000000001e-05
  def forward(self: __torch__.M,
    x: Tensor) -> Tuple[Tensor, Tensor]:
    _0 = __torch__.shrink
    weight = self.weight
    y = torch.conv2d(x, weight, None, [1, 1], [1, 1], [1, 1], 1)
    sizes = torch.list(torch.slice(torch.size(y), 2))
    if torch.eq(torch.len(sizes), 2):
      z = _0(y, scale=2., )
    else:
      ops.prim.RaiseException(torch.format("got {}", sizes), "builtins.ValueError")
      z = uninitialized(Tensor)
    parts = annotate(List[Tensor], [])
    for i in range(torch.size(z, 0)):
      _1 = torch.append(parts, torch.select(z, 0, i))
    a, b, = torch.chunk(torch.stack(parts), 2, 1)
    h, c, = (torch.flatten(a, 1), unchecked_cast(Tensor, b))
    names = {"h": h, "c": c}
    return (names["h"], torch.mean(torch.relu_(c), [-1, 2], True))
def shrink(x: Tensor,
    scale: Optional[float]=None) -> Tensor:
  if torch.__is__(scale, None):
    return x
  else:
    return torch.upsample_nearest2d(x, None, [scale, scale])
