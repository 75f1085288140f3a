// Refreshes the main part of a page every few seconds. Without this file, reload does the same.
"use strict";

(() => {
  const seconds = Number(document.body.dataset.live);
  const status = document.getElementById("live");
  if (!seconds || !status) return;

  let isLost = false;

  // Somebody who types, has opened a form or selects a text is not disturbed.
  const isInUse = () => {
    const main = document.getElementById("main");
    const focused = document.activeElement;
    const types = focused && main.contains(focused) && /^(INPUT|TEXTAREA|SELECT)$/.test(focused.tagName);
    const selection = document.getSelection();
    return types || main.querySelector("details[open]") !== null
      || (selection && !selection.isCollapsed && main.contains(selection.anchorNode));
  };

  // The same link or button has the focus afterwards.
  const put = (main) => {
    const all = [...main.querySelectorAll("a, button, summary, [tabindex]")];
    return all.indexOf(document.activeElement);
  };

  const refresh = async () => {
    if (document.hidden || isInUse()) return;
    try {
      const response = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
      if (!response.ok) throw new Error(String(response.status));
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      const main = document.getElementById("main");
      const next = fresh.getElementById("main");
      if (!next || isInUse()) return;
      next.querySelectorAll(".notice").forEach((notice) => notice.remove());
      const focus = put(main);
      const scrolls = [...main.querySelectorAll(".scroll, .graph")].map((box) => box.scrollLeft);
      main.replaceChildren(...next.childNodes);
      main.querySelectorAll(".scroll, .graph").forEach((box, index) => { box.scrollLeft = scrolls[index] || 0; });
      if (focus >= 0) {
        const all = main.querySelectorAll("a, button, summary, [tabindex]");
        if (all[focus]) all[focus].focus({ preventScroll: true });
      }
      const asOf = document.querySelector("[data-asof]");
      const freshAsOf = fresh.querySelector("[data-asof]");
      if (asOf && freshAsOf) asOf.textContent = freshAsOf.textContent;
      if (isLost) status.textContent = "Up to date again.";
      isLost = false;
    } catch (error) {
      // Said once, not every few seconds.
      if (!isLost) status.textContent = "The server doesn't reply. What you see may be old.";
      isLost = true;
    }
  };

  setInterval(refresh, seconds * 1000);
})();
