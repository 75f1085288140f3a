#!/usr/bin/env python3
"""Compares errand-image with ImageMagick and vipsthumbnail: compare.py ERRAND-IMAGE PHOTOS [COUNT]

For each photo: bytes, time, processor time and memory of a process of its own (its start included), and SSIMULACRA2 at
1,600 pixels, where 90 is visually lossless and 70 high quality. Prints a line a photo, then the averages and what was missed.
"""
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

import ssimulacra2
from PIL import Image, ImageOps

REQUEST = {"maxBytes": 500_000, "maxEdge": 2560, "format": "jpeg", "maxPixels": 100_000_000,
           "background": {"red": 255, "green": 255, "blue": 255}}


def measured(start):
    """Runs what start() starts to its end: seconds, processor seconds, megabytes."""
    begin = time.monotonic()
    process = start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    return {"seconds": time.monotonic() - begin, "cpu": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss / 1024}


def ours(program, photo, result):
    report = {}

    def start():
        process = subprocess.Popen([program, str(1536 << 20)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})

        def frame():
            head = json.loads(process.stdout.read(struct.unpack(">I", process.stdout.read(4))[0]))
            return head, process.stdout.read(head.get("bytes", 0))

        frame()
        ready = time.monotonic()
        data = open(photo, "rb").read()
        head = json.dumps({"request": REQUEST, "variants": {}, "bytes": len(data), "seconds": 60}).encode()
        process.stdin.write(struct.pack(">I", len(head)) + head + data)
        process.stdin.flush()
        response, output = frame()
        open(result, "wb").write(output)
        report.update(response["report"], warm=time.monotonic() - ready)
        process.stdin.close()
        return process

    return {**measured(start), **report}


def tool(*command):
    return measured(lambda: subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def vipsthumbnail(photo, size, result):
    """One vipsthumbnail to these pixels, then a bisection over the quality for 500,000 bytes; starts of programs but one left
    out."""
    begun = min(tool("vips", "--version")["seconds"] for _ in range(3))
    total = tool("vipsthumbnail", photo, "--size", size, "-o", result + "[Q=80,strip,optimize_coding]")
    with tempfile.NamedTemporaryFile(suffix=".v") as pixels:
        subprocess.run(["vipsthumbnail", photo, "--size", size, "-o", pixels.name], check=True)
        fits, over = 40, 96
        while over - fits > 1:
            quality = (fits + over) // 2
            save = tool("vips", "jpegsave", pixels.name, result, "--Q", str(quality), "--strip", "--optimize-coding")
            total = {key: max(value, save[key]) if key == "mb" else value + save[key] for key, value in total.items()}
            total["seconds"] -= begun
            fits, over = (quality, over) if os.path.getsize(result) < 500_000 else (fits, quality)
    return total


def upright(path):
    """The picture as people see it; HEIC by libheif's own program."""
    if path.endswith(".heic"):
        with tempfile.NamedTemporaryFile(suffix=".jpg") as copy:
            subprocess.run(["heif-convert", "-q", "100", path, copy.name], check=True, capture_output=True)
            with Image.open(copy.name) as picture:
                return picture.convert("RGB")
    with Image.open(path) as picture:
        return ImageOps.exif_transpose(picture).convert("RGB")


def at_1600(path):
    picture = upright(path)
    scale = 1600 / max(picture.size)
    return picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.LANCZOS)


def score(task):
    reference, result = task
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{name}.png" for name in ("reference", "result")]
        original = at_1600(reference)
        original.save(paths[0], compress_level=1)
        at_1600(result).resize(original.size, Image.LANCZOS).save(paths[1], compress_level=1)
        return ssimulacra2.compute_ssimulacra2(*paths)


def compare(program, folder, work, name):
    photo, results = f"{folder}/{name}", {tool: f"{work}/{name}.{tool}.jpg" for tool in ("ours", "magick", "vips")}
    figures = {
        "ours": ours(program, photo, results["ours"]),
        "magick": tool("convert", photo, "-auto-orient", "-resize", "2560x2560>", "-strip", "-define", "jpeg:extent=500kb",
                       results["magick"]),
    }
    mine = figures["ours"]
    figures["vips"] = vipsthumbnail(photo, f'{mine["width"]}x{mine["height"]}', results["vips"])
    for key, path in results.items():
        figures[key]["bytes"] = os.path.getsize(path) if os.path.exists(path) else None
    return figures, results


def faults(photo, result):
    """What is wrong with a result: size, readability by another decoder, orientation, metadata."""
    found = [] if os.path.getsize(result) < 500_000 else ["too large"]
    with Image.open(result) as picture:
        picture.load()
        expected = upright(photo).size
        if abs(expected[0] / expected[1] - picture.width / picture.height) > 0.01:
            found.append("not upright")
    tags = subprocess.run(["exiftool", "-s", "-G0", "-json", result], capture_output=True, text=True).stdout
    found += [key for key in json.loads(tags)[0] if key.split(":")[0] in ("EXIF", "XMP", "ICC_Profile", "IPTC", "MPF")]
    return found


def main(program, folder, count):
    names = sorted(os.listdir(folder))[:count]
    with tempfile.TemporaryDirectory() as work, ProcessPoolExecutor(2) as pool:
        rows = [(name, *compare(program, folder, work, name)) for name in names]
        tasks = [(f"{folder}/{name}", results[key]) for name, _, results in rows for key in ("ours", "magick")
                 if os.path.exists(results[key])]
        scores = dict(zip([task[1] for task in tasks], pool.map(score, tasks)))
        missed = []
        for name, figures, results in rows:
            for key in ("ours", "magick"):
                figures[key]["ss2"] = scores.get(results[key])
            mine, other = figures["ours"], figures["magick"]
            missed += [f"{name}: {fault}" for fault in faults(f"{folder}/{name}", results["ours"])]
            difference = mine["ss2"] - other["ss2"] if other["ss2"] is not None else float("nan")
            if difference < -1:
                missed.append(f"{name}: {-difference:.2f} points below ImageMagick")
            print(f'{name} {mine["width"]}x{mine["height"]} Q{mine["quality"]} encodes {mine["encodes"]}'
                  f' bytes {mine["bytes"]}/{other["bytes"]} s {mine["seconds"]:.2f}/{other["seconds"]:.2f}'
                  f' SS2 {mine["ss2"]:.2f}/{other["ss2"] or 0:.2f} {difference:+.2f}', flush=True)
    for key in ("ours", "magick", "vips"):
        print(f"\n{key}:", end="")
        for figure in ("bytes", "seconds", "warm", "cpu", "mb", "ss2", "encodes"):
            values = [row[1][key].get(figure) for row in rows]
            values = [value for value in values if value is not None]
            if values:
                print(f"  {figure} mean {statistics.mean(values):.2f} median {statistics.median(values):.2f}", end="")
    pairs = [(row[1]["ours"]["warm"], row[1]["vips"]["seconds"]) for row in rows]
    print(f"\nwarm seconds: ours over vipsthumbnail's with its search, median {statistics.median(a / b for a, b in pairs):.2f}"
          f" worst {max(a / b for a, b in pairs):.2f} of sums {sum(a for a, _ in pairs) / sum(b for _, b in pairs):.2f}", end="")
    for figure in ("seconds", "cpu", "mb"):
        pairs = [(row[1]["ours"][figure], row[1]["magick"][figure]) for row in rows]
        print(f"\n{figure}: ours over ImageMagick's, median {statistics.median(a / b for a, b in pairs):.2f}"
              f" worst {max(a / b for a, b in pairs):.2f} of sums {sum(a for a, _ in pairs) / sum(b for _, b in pairs):.2f}", end="")
    print(f"\nphotos {len(rows)}, missed {len(missed)}", *missed, sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
