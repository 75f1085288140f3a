#!/usr/bin/env python3
"""Compresses photos by one tool and measures it, for the bench: tools.py TOOL describe | tools.py TOOL compress PHOTOS OUT

    compress PHOTOS OUT --errand FOLDER [--at-once N] [--passes N]
        each photo of the folder PHOTOS into OUT, N at a time; prints {"seconds": of all, "us": [of each photo], "cpu_us": of
        all, "peak_bytes": of the largest process, "largest": bytes of the largest result}; of folder neither cpu_us nor
        peak_bytes, since the processes that it has started don't count as its own

TOOL is errand (processes errand-image that run already, as a worker holds them), folder (`errand image compress` of a folder,
which takes two at a time itself), vipsthumbnail (one call to the pixel size that Errand chose, quality 80, no limit of bytes),
imagemagick, or jpegoptim (of what vipsthumbnail has brought to 2,560 pixels at quality 95; both count). FOLDER has the
programs errand and errand-image.
"""
import argparse
import json
import os
import queue
import re
import struct
import subprocess
import threading
import time

LIMIT = 500_000
REQUEST = {"maxBytes": LIMIT, "maxEdge": 2560, "format": "jpeg", "maxPixels": 100_000_000,
           "background": {"red": 255, "green": 255, "blue": 255}}
# By their whole path: what stands before it on PATH may be a wrapper, whose time would count.
CONVERT = "/usr/bin/convert"
SETTINGS = {
    "vipsthumbnail": "one call to the pixel size that errand chose, Q=80,strip,optimize_coding; holds no number of bytes",
    "imagemagick": "-auto-orient -resize 2560x2560> -strip -define jpeg:extent=500kb",
    "jpegoptim": "vipsthumbnail to 2560 pixels at Q=95, then --size=488 --strip-all; the time of both",
}
VERSIONS = {"vipsthumbnail": ["vips", "--version"], "imagemagick": [CONVERT, "-version"], "jpegoptim": ["jpegoptim", "--version"]}


class Figures:
    """What all processes of a run have cost; threads add to it."""

    def __init__(self):
        self.lock, self.us, self.cpu, self.peak = threading.Lock(), [], 0.0, 0

    def ended(self, process):
        """Waits for a process and counts it."""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        with self.lock:
            self.cpu += usage.ru_utime + usage.ru_stime
            self.peak = max(self.peak, usage.ru_maxrss * 1024)
        if process.returncode != 0:
            raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")

    def took(self, seconds):
        with self.lock:
            self.us.append(round(seconds * 1e6))


class ErrandImage:
    """A process errand-image, which takes photos one after the other; frames are a length, a JSON head and the bytes."""

    def __init__(self, programs, figures):
        self.figures = figures
        self.process = subprocess.Popen(
            [f"{programs}/errand-image", str(1536 << 20)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
        self.frame()

    def frame(self):
        out = self.process.stdout
        head = json.loads(out.read(struct.unpack(">I", out.read(4))[0]))
        return head, out.read(head.get("bytes", 0))

    def __call__(self, photo, result):
        with open(photo, "rb") as file:
            data = file.read()
        head = json.dumps({"request": REQUEST, "variants": {}, "bytes": len(data), "seconds": 60}).encode()
        self.process.stdin.write(struct.pack(">I", len(head)) + head + data)
        self.process.stdin.flush()
        response, output = self.frame()
        if "report" not in response:
            raise RuntimeError(f"{photo}: {response}")
        with open(result, "wb") as file:
            file.write(output)

    def close(self):
        self.process.stdin.close()
        self.figures.ended(self.process)


class Calls:
    """One or more programs a photo."""

    def __init__(self, commands, figures):
        self.commands, self.figures = commands, figures

    def __call__(self, photo, result):
        for command in self.commands(photo, result):
            self.figures.ended(subprocess.Popen(command, stdout=subprocess.DEVNULL))

    def close(self):
        pass


def sizes(programs, photos, out):
    """The pixel size that Errand chose for each photo."""
    output = subprocess.run([f"{programs}/errand", "image", "compress", "--json", photos, f"{out}/sizes"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    return {line["file"]: f'{line["width"]}x{line["height"]}' for line in lines}


def launcher(tool, programs, photos, out, figures):
    """What makes a compressor of one photo after the other; as many are made as work side by side."""
    if tool == "errand":
        return lambda: ErrandImage(programs, figures)
    if tool == "vipsthumbnail":
        chosen = sizes(programs, photos, out)
        commands = lambda photo, result: [
            ["vipsthumbnail", photo, "--size", chosen[photo], "-o", result + "[Q=80,strip,optimize_coding]"]]
    elif tool == "imagemagick":
        commands = lambda photo, result: [
            [CONVERT, photo, "-auto-orient", "-resize", "2560x2560>", "-strip", "-define", "jpeg:extent=500kb", result]]
    else:
        commands = lambda photo, result: [
            ["vipsthumbnail", photo, "--size", "2560x2560>", "-o", result + "[Q=95,strip]"],
            # Its kilobyte has 1,024 bytes: 499,712.
            ["jpegoptim", "--quiet", "--size=488", "--strip-all", result]]
    return lambda: Calls(commands, figures)


def side_by_side(count, start, work, figures):
    """Does all the work, `count` items at a time; returns the seconds without those of the starts."""
    pending, failures, compressors = queue.SimpleQueue(), [], [start() for _ in range(count)]
    for item in work:
        pending.put(item)

    def run(compress):
        try:
            while not failures:
                photo, result = pending.get_nowait()
                begin = time.monotonic()
                compress(photo, result)
                figures.took(time.monotonic() - begin)
        except queue.Empty:
            pass
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(compress,)) for compress in compressors]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    for compress in compressors:
        compress.close()
    if failures:
        raise failures[0]
    return seconds


def whole_folder(programs, photos, out, passes, figures):
    """`errand image compress` as people call it, its start included; a photo's time is what it says itself."""
    begin = time.monotonic()
    for _ in range(passes):
        process = subprocess.Popen([f"{programs}/errand", "image", "compress", "--json", photos, out],
                                   stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            figures.took(json.loads(line)["milliseconds"] / 1000)
        figures.ended(process)
    return time.monotonic() - begin


def compress(options):
    figures = Figures()
    os.makedirs(options.out, exist_ok=True)
    names = sorted(os.listdir(options.photos))
    if options.tool == "folder":
        seconds = whole_folder(options.errand, options.photos, options.out, options.passes, figures)
    else:
        work = [(f"{options.photos}/{name}", f"{options.out}/{name}") for name in names] * options.passes
        start = launcher(options.tool, options.errand, options.photos, options.out, figures)
        seconds = side_by_side(options.at_once, start, work, figures)
    cost = {} if options.tool == "folder" else {"cpu_us": figures.cpu * 1e6, "peak_bytes": figures.peak}
    return {"seconds": seconds, "us": figures.us, **cost,
            "largest": max(os.path.getsize(f"{options.out}/{name}") for name in names)}


def describe(tool):
    said = subprocess.run(VERSIONS[tool], check=True, capture_output=True, text=True).stdout
    version = re.search(r"\d+(\.\d+)+(-\d+)?", said).group()
    return {"name": tool, "version": version, "settings": SETTINGS[tool], "finished_job_is": "", "unfinished": "",
            "bulk": "", "language": "C"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", choices=["errand", "folder", *SETTINGS])
    calls = parser.add_subparsers(required=True)
    calls.add_parser("describe").set_defaults(run=lambda options: describe(options.tool))
    call = calls.add_parser("compress")
    call.add_argument("photos")
    call.add_argument("out")
    call.add_argument("--errand", required=True)
    call.add_argument("--at-once", type=int, default=1)
    call.add_argument("--passes", type=int, default=1)
    call.set_defaults(run=compress)
    options = parser.parse_args()
    print(json.dumps(options.run(options)))


if __name__ == "__main__":
    main()
