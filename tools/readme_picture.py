"""Put pictures of a run side by side, for the README: `readme_picture.py OUT PICTURE...`.

It needs matplotlib, which every rendered project has: run it with the Python of the demo.
"""

import sys

from matplotlib.figure import Figure
from matplotlib.image import imread


def main() -> None:
    """Draw the pictures at one height, left to right."""
    out, *paths = sys.argv[1:]
    images = [imread(path) for path in paths]
    ratios = [image.shape[1] / image.shape[0] for image in images]
    figure = Figure(figsize=(4.0 * sum(ratios), 4.0))
    grid = figure.subplots(1, len(images), width_ratios=ratios, squeeze=False)
    for axes, image in zip(grid.flat, images, strict=True):
        axes.imshow(image)
        axes.set_axis_off()
    figure.subplots_adjust(0, 0, 1, 1, wspace=0.02)
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    main()
