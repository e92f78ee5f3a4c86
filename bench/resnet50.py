"""A network of ResNet-50's size and shape (He et al. 2016, with the stride in the 3 x 3 convolution), untrained.

Only its cost matters here: 25.6 million weights, and about 7.6 thousand million multiplications at 299 x 299.
"""

from typing import Any

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
WIDER = 4


def build_network(torch: Any) -> Any:
    """Return the network: uint8 [N, S, S, 3] to logits [N, 2]."""
    nn = torch.nn

    class Normalise(nn.Module):  # type: ignore[misc, name-defined]
        """uint8 NHWC to float NCHW about -2..2."""

        def forward(self, images: Any) -> Any:
            return images.permute(0, 3, 1, 2).float() / 57.0 - 2.2

    class Bottleneck(nn.Module):  # type: ignore[misc, name-defined]
        """Narrow, look around, widen, and add what came in."""

        def __init__(self, inside: int, width: int, stride: int) -> None:
            super().__init__()
            out = width * WIDER
            self.way = nn.Sequential(
                *_convolution(nn, inside, width, 1, 1),
                nn.ReLU(inplace=True),
                *_convolution(nn, width, width, 3, stride),
                nn.ReLU(inplace=True),
                *_convolution(nn, width, out, 1, 1),
            )
            straight = stride == 1 and inside == out
            self.past = nn.Identity() if straight else nn.Sequential(*_convolution(nn, inside, out, 1, stride))
            self.relu = nn.ReLU(inplace=True)

        def forward(self, before: Any) -> Any:
            return self.relu(self.way(before) + self.past(before))

    layers: list[Any] = [Normalise(), *_convolution(nn, 3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for number, (width, blocks) in enumerate(STAGES):
        for block in range(blocks):
            layers.append(Bottleneck(inside, width, 2 if number and not block else 1))
            inside = width * WIDER
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 2))


def _convolution(nn: Any, inside: int, out: int, side: int, stride: int) -> list[Any]:
    return [nn.Conv2d(inside, out, side, stride, side // 2, bias=False), nn.BatchNorm2d(out)]
