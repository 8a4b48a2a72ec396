// The pages work without this file; it adds what needs a clock or a connection. No framework, no request off the site.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

  // --- Words for amounts; the same as the server's (templatetags/gauntlet_ui.py) ---
  function bytes(n) {
    for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
      const tenth = 10 ** (n >= 100 * size ? 0 : n >= 10 * size ? 1 : 2);
      if (n >= size) return `${(Math.floor((n / size) * tenth) / tenth).toFixed(Math.log10(tenth))} ${unit}`;
    }
    return plural(n, "byte");
  }
  function span(seconds) {
    const s = Math.max(0, Math.round(seconds));
    const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
    if (d) return `${d} d ${h} h`;
    if (h) return `${h} h ${m} min`;
    if (m) return `${m} min ${s % 60} s`;
    return `${s} s`;
  }

  // --- Theme: the form works by itself; here it changes without a reload ---
  for (const form of all("form.theme")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const button = form.querySelector("button");
      const order = ["auto", "light", "dark"];
      const theme = button.value;
      document.documentElement.dataset.theme = theme;
      document.cookie = `theme=${theme};path=/;max-age=31536000;samesite=lax${location.protocol === "https:" ? ";secure" : ""}`;
      const next = order[(order.indexOf(theme) + 1) % 3];
      const names = { auto: "as the system", light: "light", dark: "dark" };
      button.value = next;
      button.title = `Colours: ${names[theme]}. Change to ${names[next]}`;
      button.querySelector(".sr").textContent = button.title;
    });
  }

  // --- Countdowns ---
  const skew = Date.parse(document.documentElement.dataset.now) - Date.now();
  let reloaded = false;
  function tick() {
    for (const node of all("time[data-until]")) {
      const left = (Date.parse(node.dateTime) - Date.now() - skew) / 1000;
      const text = left > 0 ? `${node.dataset.until} ${span(left)}`.trim() : "now";
      if (node.textContent !== text) node.textContent = text;
      if (left <= 0 && "reload" in node.dataset && !reloaded) {
        reloaded = true;
        location.reload();
      }
    }
  }
  if (document.querySelector("time[data-until]")) setInterval(tick, 1000);

  // --- Upload: progress in bytes and seconds, errors beside their field ---
  // Each problem beside its field, those of no field in their own place; the focus goes to the first.
  function showProblems(form, problems) {
    const places = problems.map(([name, text]) => {
      const field = form.elements[name], own = form.querySelector(`[data-problem="${name}"]`);
      const place = own || form.querySelector('[data-problem="__all__"]'), words = place.querySelector("span");
      words.textContent = place.hidden ? text : `${words.textContent} ${text}`;
      place.hidden = false;
      if (!own || !field?.setAttribute) return place;
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-describedby", [...new Set(`${field.getAttribute("aria-describedby") || ""} ${place.id}`.trim().split(" "))].join(" "));
      return field;
    });
    const first = places.sort((a, b) => (a.compareDocumentPosition(b) & 4 ? -1 : 1))[0];
    if (first) focusOn(first);
  }
  const showProblem = (form, name, text) => showProblems(form, [[name, text]]);
  function focusOn(node) {
    if (!node.matches("a, button, input, select, textarea")) node.tabIndex = -1;
    node.focus();
  }
  function clearProblems(form) {
    for (const place of all("[data-problem]", form)) {
      place.hidden = true;
      place.querySelector("span").textContent = ""; // a field that names it would still be described by it
    }
    all("[aria-invalid]", form).forEach((node) => node.removeAttribute("aria-invalid"));
  }
  // A large file goes in parts (tus 1.0): a connection that breaks costs one part and not the file.
  const PART = 8 << 20;
  const isImage = (file) => /\.(tar|gz|tgz|zst)$/i.test(file.name);
  const limitOf = (form, file) => Number(isImage(file) ? form.dataset.images || form.dataset.upload : form.dataset.upload);
  async function sendInParts(form, file, told, stopped) {
    const headers = { "Tus-Resumable": "1.0.0", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value };
    const ask = async (place, method, more, body) => {
      const answer = await fetch(place, { method, body, headers: { ...headers, ...more } });
      if (answer.ok) return answer;
      const refused = answer.status < 500 && ![409, 423].includes(answer.status);
      const text = await answer.json().then((said) => said.message, () => `The server answered with an error (${answer.status}).`);
      throw Object.assign(new Error(text), { refused });
    };
    const name = btoa(String.fromCharCode(...new TextEncoder().encode(file.name)));
    const begun = await ask(form.dataset.parts, "POST", { "Upload-Length": file.size, "Upload-Metadata": `filename ${name}` });
    const place = new URL(begun.headers.get("Location")).pathname;
    const kind = { "Content-Type": "application/offset+octet-stream" };
    for (let offset = 0, failures = 0; offset < file.size; told(offset)) {
      if (stopped()) {
        await ask(place, "DELETE", {});
        return null;
      }
      try {
        const answer = await ask(place, "PATCH", { ...kind, "Upload-Offset": offset }, file.slice(offset, offset + PART));
        offset = Number(answer.headers.get("Upload-Offset"));
        failures = 0;
      } catch (error) {
        if (error.refused || ++failures > 8) throw error;
        await new Promise((wake) => setTimeout(wake, 250 * 2 ** failures));
        const there = await ask(place, "HEAD", {}).catch((away) => { if (away.refused) throw away; });
        if (there) offset = Number(there.headers.get("Upload-Offset"));
      }
    }
    return place.split("/").pop();
  }
  const AGAIN = "Submit again: a file that had arrived is not submitted twice.";
  function upload(form) {
    const box = form.querySelector("[data-progress]");
    const bar = box.querySelector("progress"), words = box.querySelector("[data-words]"), status = box.querySelector("[role=status]");
    const button = form.querySelector("[type=submit]"), cancel = box.querySelector("[data-cancel]");
    const request = new XMLHttpRequest();
    const began = performance.now();
    const leave = (event) => event.preventDefault();
    const done = () => {
      removeEventListener("beforeunload", leave);
      button.disabled = false;
      box.hidden = true;
    };
    const fail = (text) => { done(); showProblem(form, "__all__", text); };
    clearProblems(form);
    box.hidden = false;
    button.disabled = true;
    status.textContent = "Uploading";
    addEventListener("beforeunload", leave);
    const told = (loaded, total) => {
      const seconds = (performance.now() - began) / 1000;
      bar.max = total;
      bar.value = loaded;
      const rest = loaded ? (seconds * (total - loaded)) / loaded : 0;
      words.textContent = `${bytes(loaded)} of ${bytes(total)} in ${span(seconds)}` +
        (loaded < total ? `, about ${span(rest)} left` : ". Uploaded; it is being stored");
      if (loaded === total) status.textContent = "Uploaded; it is being stored";
    };
    request.addEventListener("load", () => {
      let answer = null;
      try { answer = JSON.parse(request.responseText); } catch { /* a page, not an answer */ }
      const main = answer ? null : new DOMParser().parseFromString(request.responseText, "text/html").querySelector("main:has(form[data-upload], [data-focus])");
      if (answer && answer.location) {
        removeEventListener("beforeunload", leave);
        sessionStorage.removeItem(`draft:${location.pathname}`);
        location.assign(answer.location);
      } else if (answer && answer.errors) {
        done();
        showProblems(form, Object.entries(answer.errors).map(([name, texts]) => [name, texts.join(" ")]));
      } else if (main && request.status < 500) {
        done(); // the same page with what there is to read: findings, warnings
        document.querySelector("main").replaceWith(main);
        all("form[data-upload]", main).forEach(uploads);
        focusOn(main.querySelector("[data-focus], [aria-invalid=true]") || main);
      } else if (request.status === 413) {
        fail("The file is larger than this site takes. Make it smaller and submit again.");
      } else {
        fail(`The server answered with an error (${request.status}). ${AGAIN}`);
      }
    });
    request.addEventListener("error", () => fail(`The connection was lost. ${AGAIN}`));
    request.addEventListener("abort", () => fail(bar.value < bar.max ? "You cancelled the upload. Nothing was counted." : `You stopped waiting for the answer. ${AGAIN}`));
    const send = (data) => {
      cancel.onclick = () => request.abort();
      request.open("POST", form.action || location.href);
      request.setRequestHeader("Accept", "application/json");
      request.send(data);
    };
    const data = new FormData(form), file = form.querySelector("input[type=file]").files[0];
    if (!form.dataset.parts || !file || (file.size <= PART && !isImage(file))) {
      request.upload.addEventListener("progress", (event) => told(event.loaded, event.total));
      send(data);
      return;
    }
    let stopped = false;
    cancel.onclick = () => { stopped = true; };
    sendInParts(form, file, (offset) => told(offset, file.size), () => stopped).then((identity) => {
      if (!identity) return fail("You cancelled the upload. Nothing was counted.");
      data.delete("bundle");
      data.set("upload", identity);
      send(data);
    }).catch((error) => fail(`${error.message} Nothing was counted; try again.`));
  }
  function uploads(form) {
    const key = `draft:${location.pathname}`;
    const text = form.querySelector("input[type=text]");
    if (text) {
      if (!text.value) text.value = sessionStorage.getItem(key) || "";
      text.addEventListener("input", () => sessionStorage.setItem(key, text.value));
    }
    const file = form.querySelector("input[type=file]");
    file.addEventListener("change", () => {
      clearProblems(form);
      const chosen = file.files[0], limit = chosen && limitOf(form, chosen);
      if (chosen && limit && chosen.size > limit) {
        showProblem(form, file.name, `This file has ${bytes(chosen.size)}; the limit is ${bytes(limit)}. Choose a smaller one.`);
      }
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const chosen = file.files[0], limit = chosen && limitOf(form, chosen);
      if (chosen && limit && chosen.size > limit) file.dispatchEvent(new Event("change"));
      else upload(form);
    });
  }
  all("form[data-upload]").forEach(uploads);

  // --- Live: server-sent events, else polling; an earlier answer never replaces a later one ---
  function live(node) {
    const quiet = document.querySelector("[data-quiet]"), said = document.querySelector("[data-said]");
    const title = document.title, WAITS = "Live updates were interrupted. Checking every 5 seconds instead.";
    const KEEPS = "The page shows the last known state and keeps trying.";
    let asked = 0, shown = 0, timer = 0, source = null, known = node.dataset.state;
    const finished = () => node.dataset.final === "true";
    const listens = () => source && source.readyState === EventSource.OPEN;
    async function refresh() {
      const mine = ++asked;
      let answer, html;
      try {
        answer = await fetch(node.dataset.live, { headers: { "X-Fragment": "1" }, credentials: "same-origin" });
        html = await answer.text();
      } catch {
        return tell(quiet, `No connection to the server. ${KEEPS}`);
      }
      if (mine < shown) return;
      if (!answer.ok) return tell(quiet, `The server answered with an error (${answer.status}). ${KEEPS}`);
      shown = mine;
      tell(quiet, source && !listens() ? WAITS : "");
      swap(node, html);
      const word = node.dataset.events && node.querySelector(".chip");
      if (word) document.title = `${word.textContent.trim()}: ${title}`; // to be read on a tab that is not in front
      if (known !== node.dataset.state) tell(said, known = node.dataset.state);
      if (finished()) stop();
    }
    function poll(seconds) {
      // A browser that tries to connect anew reports an error each time: that must not put the next look off.
      timer = timer || setInterval(() => { if (!document.hidden) refresh(); }, seconds * 1000);
    }
    function rest() {
      clearInterval(timer);
      timer = 0;
    }
    function stop() {
      rest();
      if (source) source.close();
      tell(quiet, "");
    }
    function listen() {
      let due = 0;
      source = new EventSource(node.dataset.events);
      const changed = () => { clearTimeout(due); due = setTimeout(refresh, 150); };
      for (const name of ["message", "state", "progress", "change"]) source.addEventListener(name, changed);
      source.addEventListener("open", () => { tell(quiet, ""); rest(); });
      source.addEventListener("error", () => {
        if (finished()) return stop();
        if (!timer) tell(quiet, WAITS);
        poll(5);
        if (source.readyState === EventSource.CLOSED) setTimeout(listen, 30000);
      });
    }
    if (finished()) return;
    if (node.dataset.events && window.EventSource) listen();
    else poll(5);
  }
  // Said once: the same words put there anew would be read out anew.
  function tell(place, text) {
    if (place && place.textContent !== text) place.textContent = text;
  }
  function swap(node, html) {
    const fresh = new DOMParser().parseFromString(html, "text/html").querySelector("[data-live]");
    if (!fresh) return;
    const held = node.contains(document.activeElement);
    become(node, fresh);
    if (held && !node.contains(document.activeElement)) focusOn(node.querySelector("h2") || node); // what had it is gone
    watchWidths(node);
  }
  // What is alike stays the node that it is, with its focus, selection, scrolled place and what was opened in it.
  const kept = new Set(["open", "tabindex", "data-live", "data-events"]);
  const likeness = (one) => (one.nodeType === 1 ? `${one.tagName} ${one.id || one.getAttribute("href") || ""}` : one.nodeType);
  function become(old, fresh) {
    for (const { name } of [...old.attributes]) if (!kept.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (!kept.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    let at = old.firstChild;
    for (const child of [...fresh.childNodes]) {
      let same = at;
      while (same && child.nodeType === 1 && likeness(same) !== likeness(child)) same = same.nextSibling;
      if (!same || likeness(same) !== likeness(child)) {
        old.insertBefore(child, at);
        continue;
      }
      while (at !== same) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
      }
      at = same.nextSibling;
      if (same.nodeType === 1) become(same, child);
      else if (same.data !== child.data) same.data = child.data;
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  }
  all("[data-live]").forEach(live);

  // --- The reader's own row: the reminder goes while the row itself is in sight ---
  const me = document.getElementById("me"), own = document.querySelector("[data-own]");
  if (me && own) new IntersectionObserver(([seen]) => { own.hidden = seen.isIntersecting; }).observe(me);

  // --- Small things ---
  for (const tab of all(".tabs [aria-current]")) {
    const strip = tab.parentElement;
    if (strip.scrollWidth > strip.clientWidth) strip.scrollLeft = tab.offsetLeft - strip.offsetLeft - 16;
  }
  for (const box of all("input[data-all]")) {
    const others = all(`input[name="${box.dataset.all}"]`);
    box.hidden = false;
    box.addEventListener("change", () => others.forEach((o) => { o.checked = box.checked; }));
  }
  for (const select of all("select[data-submit]")) select.addEventListener("change", () => select.form.requestSubmit());
  for (const button of all("button[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
      button.textContent = "Copied";
    });
  }
  // What can be scrolled sideways can be so by keyboard too.
  const sideways = new ResizeObserver((seen) => seen.forEach(({ target }) => {
    if (getComputedStyle(target).overflowX !== "visible" && target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }));
  const watchWidths = (root) => all(".scroll, .fit, .prose pre, .prose table", root).forEach((node) => sideways.observe(node));
  watchWidths(document);
  const first = ["main [aria-invalid=true]", "main form .problem:not([hidden])", "[data-focus]"].map((one) => document.querySelector(one)).find(Boolean);
  if (first) focusOn(first);
})();
