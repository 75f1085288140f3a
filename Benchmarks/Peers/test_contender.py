"""python3 -m unittest discover Benchmarks/Peers: what the peers have in common, without any of them."""

import io
import json
import time
import unittest
from unittest.mock import patch

import contender
from contender import Meter, Timetable, arguments, payload, text


class Payloads(unittest.TestCase):
    def test_have_100_bytes_with_and_without_a_time(self) -> None:
        for made in (payload(), payload(0), payload(1_800_000_000_000_000)):
            self.assertEqual(len(text(made)), 100)

    def test_have_as_many_bytes_as_were_asked_for(self) -> None:
        self.assertEqual(len(text(payload(size=10_000))), 10_000)

    def test_carry_the_time_only_where_there_is_one(self) -> None:
        self.assertNotIn("t", payload())
        self.assertEqual(json.loads(text(payload(17)))["t"], 17)


class Timetables(unittest.TestCase):
    def test_space_jobs_evenly_however_late_the_clients_are(self) -> None:
        table = Timetable(seconds=1, rate=4, jobs=None)
        self.assertEqual([table.next(now) for now in (0, 0.9, 0.9, 5, 5)], [0, 0.25, 0.5, 0.75, None])

    def test_without_a_rate_go_on_until_the_time_is_over(self) -> None:
        table = Timetable(seconds=1, rate=None, jobs=None)
        self.assertEqual([table.next(now) for now in (0, 0.9, 1)], [0, 0.9, None])

    def test_end_with_the_last_job(self) -> None:
        table = Timetable(seconds=1, rate=None, jobs=2)
        self.assertEqual([table.next(0) for _ in range(3)], [0, 0, None])


class Meters(unittest.TestCase):
    def test_say_ready_first_and_how_many_ran(self) -> None:
        out = io.StringIO()
        meter = Meter(handler_us=0, latencies=False, out=out)
        meter.ready()
        meter.ready()
        for _ in range(3):
            meter.began(payload(1))
        meter.end()
        lines = out.getvalue().split("\n")
        self.assertEqual(lines[:2], ["ready", "first"])
        self.assertEqual(lines[-2:], ["ran 3", ""])
        self.assertEqual(lines.count("ready"), 1)

    def test_say_nothing_where_nothing_is_new(self) -> None:
        meter = Meter(handler_us=0, latencies=False, out=io.StringIO())
        meter.began(b"not looked at")
        self.assertEqual(meter.news(), "ran 1\n")
        self.assertEqual(meter.news(), "")

    def test_say_the_time_since_the_call_of_each_job_that_has_one(self) -> None:
        meter = Meter(handler_us=0, latencies=True, out=io.StringIO())
        with patch.object(contender, "microseconds", lambda: 1_000):
            for job in (payload(400), text(payload(900)), text(payload(1_000)).encode(), payload()):
                meter.began(job)
        self.assertEqual(meter.news(), "us 600\nus 100\nus 0\nran 4\n")
        self.assertEqual(meter.news(), "")

    def test_burn_processor_time_in_the_handler(self) -> None:
        meter = Meter(handler_us=2_000, latencies=False, out=io.StringIO())
        begun = time.thread_time_ns()
        meter.began(payload())
        self.assertGreaterEqual(time.thread_time_ns() - begun, 2_000_000)


class CommandLine(unittest.TestCase):
    def test_has_the_batch_of_the_peer_unless_it_names_one(self) -> None:
        self.assertEqual(arguments(["enqueue", "--jobs", "5"], 70).batch, 70)
        self.assertEqual(arguments(["enqueue", "--jobs", "5", "--batch", "9"], 70).batch, 9)

    def test_ends_with_2_where_it_is_wrong(self) -> None:
        for words in ([], ["drain"], ["enqueue"], ["produce", "--clients", "0", "--seconds", "1"]):
            with self.subTest(words), patch("sys.stderr", io.StringIO()), self.assertRaises(SystemExit) as ended:
                arguments(words, 1)
            self.assertEqual(ended.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
