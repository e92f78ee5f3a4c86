"""The corruptions a second time: by OpenCV, scikit-image and SciPy, or written out point by point.

Each takes uint8 [224, 224, 3] and the same draws as the warm-up's, and returns values on the scale of 0 to 1.
"""

import math

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import ndimage
from skimage import color, filters, morphology

from defense_kit.warmup.attacks import SIDE, Bytes, Floats


def normals(draws: Generator, shape: tuple[int, ...]) -> Floats:
    return draws.standard_normal(shape, np.float32).astype(np.float64)


def gaussian_noise(pixels: Bytes, draws: Generator) -> Floats:
    return pixels / 255 + normals(draws, pixels.shape) * 0.08


def shot_noise(pixels: Bytes, draws: Generator) -> Floats:
    return draws.poisson(60 * (pixels / 255)) / 60


def impulse_noise(pixels: Bytes, draws: Generator) -> Floats:
    x, hit, salt = pixels / 255, draws.uniform(size=pixels.shape), draws.uniform(size=pixels.shape)
    x[(hit < 0.03) & (salt < 0.5)] = 1
    x[(hit < 0.03) & (salt >= 0.5)] = 0
    return x


def defocus_blur(pixels: Bytes, draws: Generator) -> Floats:
    return cv2.filter2D(pixels / 255, -1, morphology.disk(3) / 29, borderType=cv2.BORDER_REFLECT_101)


def glass_blur(pixels: Bytes, draws: Generator) -> Floats:
    picture = (filters.gaussian(pixels / 255, 0.7, channel_axis=2) * 255).astype(np.uint8)
    for _ in range(2):
        for h in range(SIDE - 1, 1, -1):
            for w in range(SIDE - 1, 1, -1):
                dx, dy = draws.integers(-1, 1, 2)
                here, there = picture[h, w], picture[h + dy, w + dx]  # views: the exchange is a copy
                picture[h, w], picture[h + dy, w + dx] = there, here
    return filters.gaussian(picture / 255, 0.7, channel_axis=2)


def motion_blur(pixels: Bytes, draws: Generator) -> Floats:
    """ImageMagick's formula, as a kernel that reads from 0 to 20 pixels away."""
    angle = np.deg2rad(draws.uniform(-45, 45))
    down, right = 21 * np.sin(angle), 21 * np.cos(angle)
    weights = np.exp(-(np.arange(21) ** 2) / (2 * 3**2)) / (np.sqrt(2 * np.pi) * 3)
    kernel = np.zeros((41, 41, 1))
    for tap in range(21):
        at = [20 + math.ceil(tap * part / math.hypot(down, right) - 0.5) for part in (down, right)]
        kernel[at[0], at[1], 0] += weights[tap] / weights.sum()
    return np.rint(ndimage.correlate(pixels.astype(np.float64), kernel, mode="nearest")) / 255


def zoom_blur(pixels: Bytes, draws: Generator) -> Floats:
    x = (pixels / 255).astype(np.float32)
    layers = [x]
    for zoom in np.arange(1, 1.11, 0.01):
        side = int(np.ceil(SIDE / zoom))
        top = (SIDE - side) // 2
        larger = ndimage.zoom(x[top : top + side, top : top + side], (zoom, zoom, 1), order=1)
        trim = (len(larger) - SIDE) // 2
        layers.append(larger[trim : trim + SIDE, trim : trim + SIDE])
    assert len(layers) == 13
    return np.mean(layers, axis=0)


def fog(pixels: Bytes, draws: Generator) -> Floats:
    x = pixels / 255
    return (x + 1.5 * clouds(draws)[:SIDE, :SIDE, None]) * (x.max() / (x.max() + 1.5))


def clouds(draws: Generator) -> Floats:
    """Point by point: the same noise, laid where a table of offsets says."""
    field, step, amplitude = np.zeros((256, 256)), 256, 100.0
    while step > 1:
        half = step // 2
        corners, sides = [(-half, -half), (-half, half), (half, -half), (half, half)], [(-half, 0), (half, 0)]
        sides += [(0, -half), (0, half)]
        for first_row, first_column, around in ((half, half, corners), (0, half, sides), (half, 0, sides)):
            noise = amplitude * draws.uniform(-amplitude, amplitude, (256 // step, 256 // step))
            for i, row in enumerate(range(first_row, 256, step)):
                for j, column in enumerate(range(first_column, 256, step)):
                    near = [field[(row + dy) % 256, (column + dx) % 256] for dy, dx in around]
                    field[row, column] = sum(near) / 4 + noise[i, j]
        step, amplitude = half, amplitude / 2
    return (field - field.min()) / (field.max() - field.min())


def brightness(pixels: Bytes, draws: Generator) -> Floats:
    hsv = color.rgb2hsv(pixels / 255)
    hsv[..., 2] = np.clip(hsv[..., 2] + 0.1, 0, 1)
    return color.hsv2rgb(hsv)


def contrast(pixels: Bytes, draws: Generator) -> Floats:
    x = pixels / 255
    for channel in range(3):
        mean = x[..., channel].sum() / SIDE**2
        x[..., channel] = mean + 0.4 * (x[..., channel] - mean)
    return x


def elastic(pixels: Bytes, draws: Generator) -> Floats:
    before = np.array([[186, 186], [186, 38], [38, 38]], np.float32)
    after = before + draws.uniform(-24.4, 24.4, (3, 2)).astype(np.float32)
    moved = warped((pixels / 255).astype(np.float32), before, after)
    dx, dy = [
        488 * filters.gaussian(draws.uniform(-1, 1, (SIDE, SIDE)), 170.8, mode="reflect", truncate=3) for _ in range(2)
    ]
    row, column, channel = np.meshgrid(np.arange(SIDE), np.arange(SIDE), np.arange(3), indexing="ij")
    places = row + dy[..., None], column + dx[..., None], channel
    return ndimage.map_coordinates(moved, places, order=1, mode="reflect")


def warped(x: Floats, before: Floats, after: Floats) -> Floats:
    matrix = cv2.getAffineTransform(before, after)
    return cv2.warpAffine(x.astype(np.float32), matrix, (SIDE, SIDE), borderMode=cv2.BORDER_REFLECT_101)


def pixelate(pixels: Bytes, draws: Generator) -> Floats:
    """The mean of the pixels whose centres lie in a box, rounded along the rows and then along the columns."""
    scale, small = SIDE / 134, pixels
    edges = [int(box * scale + 0.5) for box in range(135)]
    for axis in (1, 0):
        means = [np.take(small, range(*edges[box : box + 2]), axis).mean(axis) for box in range(134)]
        small = np.floor(np.stack(means, axis) + 0.5).astype(np.uint8)
    nearest = ((np.arange(SIDE) + 0.5) / scale).astype(int)
    return small[np.ix_(nearest, nearest)] / 255


def jpeg(pixels: Bytes, draws: Generator) -> Floats:
    _, file = cv2.imencode(".jpg", np.ascontiguousarray(pixels[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, 25])
    return cv2.imdecode(file, cv2.IMREAD_COLOR)[..., ::-1] / 255


def speckle_noise(pixels: Bytes, draws: Generator) -> Floats:
    return pixels / 255 * (1 + 0.15 * normals(draws, pixels.shape))


def gaussian_blur(pixels: Bytes, draws: Generator) -> Floats:
    return filters.gaussian(pixels / 255, 1, channel_axis=2)


def spatter(pixels: Bytes, draws: Generator, distances: int = cv2.DIST_MASK_PRECISE) -> Floats:
    """ImageNet-C estimates distances by a mask of 5 x 5."""
    layer = filters.gaussian(0.65 + 0.3 * normals(draws, (SIDE, SIDE)), 4)
    layer[layer < 0.69] = 0
    drops = (layer * 255).astype(np.uint8)
    distance = cv2.distanceTransform(255 - cv2.Canny(drops, 50, 150), cv2.DIST_L2, distances)
    levels = cv2.equalizeHist(cv2.blur(np.minimum(distance, 20), (3, 3)).astype(np.uint8))
    lit = cv2.filter2D(levels, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    liquid = drops * cv2.blur(lit, (3, 3)).astype(np.float32)
    return pixels / 255 + (liquid / liquid.max() * 0.6)[..., None] * np.array([175, 238, 238]) / 255


def saturate(pixels: Bytes, draws: Generator) -> Floats:
    hsv = color.rgb2hsv(pixels / 255)
    hsv[..., 1] = np.clip(hsv[..., 1] * 0.3, 0, 1)
    return color.hsv2rgb(hsv)


def drops(seed: int) -> NDArray[np.uint8]:
    """A layer as spatter makes it."""
    layer = filters.gaussian(np.random.default_rng(seed).normal(0.65, 0.3, (SIDE, SIDE)), 4)
    return (np.where(layer < 0.69, 0, layer) * 255).astype(np.uint8)
