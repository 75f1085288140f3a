#!/usr/bin/env python3
"""Makes the photographs of this benchmark: make-photos.py FOLDER [COUNT [MEGAPIXELS]]

They are crops of the real photographs in Debian's packages mate-backgrounds, lomiri-wallpapers-16.04 and
lomiri-wallpapers-20.04, brought to 12 to 50 megapixels (the larger ones are enlarged) and saved as phones do: JPEG, some of
them progressive, some HEIC, with an orientation, a camera's EXIF and a place on Earth. The same on every run. Where
MEGAPIXELS is given all have so many, and all are JPEG.
"""
import os
import random
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

from PIL import Image, TiffImagePlugin

SOURCES = """
mate/abstract/Elephants_5640x3172 Infinite-Sea_by_Aury88 Kleiber_by_Lukas_Baubkus Fossa_by_Jasper_Roks
Bridge_by_Sander_Klootwijk Dragonfly_by_Bolly Wine_by_Jakkub_Mede seeding_by_Clements_Engelhardt
sunset_by_Aitzol_Berasategi umang_by_Abhishek_Mudgal aitzgorri_by_Aitzol_Berasategi friends_by_Aitzol_Berasategi
life_by_Aitzol_Berasategi picosdeeuropa_by_Aitzol_Berasategi analogpattern_by_Peter_Nerlich
greentock_by_Peter_Nerlich free_by_Peter_Nerlich mate/nature/TwoWings mate/nature/Wood
""".split()
SHAPES = [(4, 3), (3, 4), (16, 9), (3, 2), (1, 1)]
MEGAPIXELS = [12, 12, 12, 16, 20, 24, 48, 50]


def exif(orientation):
    data = Image.Exif()
    data[0x0112], data[0x010F], data[0x0110] = orientation, "Camera", "Model 7"
    rational = TiffImagePlugin.IFDRational
    data.get_ifd(0x8825).update({1: "N", 2: (rational(48), rational(51), rational(30)), 3: "E", 4: (rational(2),) * 3})
    return data


def make(number, folder, megapixels=None):
    chance = random.Random(number)
    source = SOURCES[number % len(SOURCES)]
    with Image.open(f"/usr/share/backgrounds/{source}.jpg") as picture:
        picture = picture.convert("RGB")
    shape = chance.choice(SHAPES)
    # A part of the source, at least 0.7 of what fits.
    scale = min(picture.width / shape[0], picture.height / shape[1]) * chance.uniform(0.7, 1)
    width, height = int(shape[0] * scale), int(shape[1] * scale)
    left, top = chance.randint(0, picture.width - width), chance.randint(0, picture.height - height)
    picture = picture.crop((left, top, left + width, top + height))
    enlarge = ((megapixels or chance.choice(MEGAPIXELS)) * 1e6 / (width * height)) ** 0.5
    picture = picture.resize((round(width * enlarge), round(height * enlarge)), Image.LANCZOS)
    orientation = chance.choice([1, 1, 1, 3, 6, 6, 8])
    path = f"{folder}/{number:03d}.jpg"
    picture.save(path, quality=chance.choice([90, 92, 95, 97]), exif=exif(orientation), progressive=number % 10 == 9)
    if number % 10 == 4 and not megapixels:
        subprocess.run(["heif-enc", "-q", "90", "-o", path.replace(".jpg", ".heic"), path], check=True, capture_output=True)
        os.remove(path)


if __name__ == "__main__":
    folder, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    megapixels = float(sys.argv[3]) if len(sys.argv) > 3 else None
    os.makedirs(folder, exist_ok=True)
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(make, range(count), [folder] * count, [megapixels] * count))
