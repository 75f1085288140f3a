"""A headless Chromium: light or dark, wide or as a phone, with scripts or without."""

import base64
import importlib.util
import time
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

AXE = Path(importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0])


class Browser:
    def __init__(self, scripts=True):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--hide-scrollbars", "--force-device-scale-factor=1", "--lang=en-GB"]:
            options.add_argument(argument)
        if not scripts:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.complaints = []
        self.display()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def display(self, scheme="light", width=1280, height=900):
        self.width, self.height = width, height
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, address):
        self.driver.get(address)
        self.collect(address)

    def collect(self, where):
        """What the console says. A page that is refused on purpose is a network error there."""
        for entry in self.driver.get_log("browser"):
            if entry["level"] in ("SEVERE", "WARNING"):
                self.complaints.append(f"{where}: {entry['message']}")

    def log_in(self, site, name, password):
        self.open(site + "/")
        self.driver.find_element(By.NAME, "name").send_keys(name)
        self.driver.find_element(By.NAME, "password").send_keys(password)
        self.press("Log in")
        # A debug build takes a second to check a password.
        WebDriverWait(self.driver, 20).until(lambda _: "log-in" not in self.driver.current_url)
        assert name in self.find("header").text, self.text()

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def press(self, text, within="main"):
        """Clicks the link, button or summary with this text."""
        end = time.monotonic() + 15
        while time.monotonic() < end:
            try:
                for element in self.all(f"{within} a, {within} button, {within} summary"):
                    if element.is_displayed() and element.text.strip() == text:
                        element.click()
                        return
            except (NoSuchElementException, StaleElementReferenceException):
                pass
            time.sleep(0.1)
        raise AssertionError(f"nothing to click is called {text!r} in {self.driver.current_url}: {self.text()[:400]}")

    def text(self):
        return self.find("body").text

    def see(self, *texts):
        """Waits until the page has all of these texts: a form's reply may take a moment."""
        end = time.monotonic() + 15
        shown = ""
        while time.monotonic() < end:
            try:
                shown = self.text()
            except (NoSuchElementException, StaleElementReferenceException):
                continue
            if all(text in shown for text in texts):
                return
            time.sleep(0.1)
        raise AssertionError(f"not all of {texts} in {self.driver.current_url}: {shown[:1000]}")

    def violations(self):
        """What axe-core finds, one line each."""
        script = next(AXE.rglob("axe.min.js")).read_text()
        self.driver.execute_script(script)
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run().then((result) => done(result.violations))")
        return [f"{rule['id']}: {node['target']} {node['failureSummary'][:200]}"
                for rule in found for node in rule["nodes"]]

    def overflow(self):
        """How many pixels the page is wider than the screen."""
        return self.driver.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def shoot(self, path, most=1500):
        tall = self.driver.execute_script("return document.documentElement.scrollHeight")
        picture = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "format": "webp", "quality": 70, "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": self.width, "height": min(tall, most), "scale": 1}})
        path.write_bytes(base64.b64decode(picture["data"]))
