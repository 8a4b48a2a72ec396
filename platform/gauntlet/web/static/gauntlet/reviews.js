// The forms of studies work without this file; it adds keys, and saves while they are filled in.
"use strict";
(() => {
  const form = document.querySelector("form[data-review]");
  const told = form && form.querySelector("[data-told]");
  if (!told) return; // the study is closed
  const questions = [...form.querySelectorAll("[data-question]")];
  const comment = form.elements.comment;
  for (const node of form.querySelectorAll("[data-scripted]")) node.hidden = false;

  // --- Saving: one after another, so that no earlier state arrives after a later one ---
  let saving = null, again = false, due = 0, changed = false, edits = 0;
  const clock = () => new Date().toTimeString().slice(0, 8);
  function edited() {
    edits += 1;
    changed = true;
    told.textContent = "Saving …"; // what was said before is no longer true
  }
  async function send() {
    const before = edits;
    const answer = await fetch(form.dataset.save, {
      method: "POST", body: new FormData(form), headers: { Accept: "application/json" },
    }).catch(() => null);
    if (answer && answer.ok && (answer.headers.get("Content-Type") || "").includes("json")) {
      const { done, total } = await answer.json();
      if (edits !== before) return; // there is more by now, which is sent next
      changed = false;
      told.textContent = `Saved at ${clock()}. ${done} of ${total} answered`;
    } else if (answer && answer.status === 409) {
      told.textContent = "Not saved: the study was closed.";
    } else if (answer) {
      told.textContent = "Not saved. Reload the page; you may have to log in again.";
    } else {
      told.textContent = "Not saved: no connection. “Save and go on” tries again.";
    }
  }
  async function save() {
    clearTimeout(due);
    if (saving) { again = true; return saving; }
    saving = send();
    await saving;
    saving = null;
    if (again) { again = false; return save(); }
  }
  form.addEventListener("change", () => { edited(); save(); });
  comment.addEventListener("input", () => {
    edited();
    clearTimeout(due);
    due = setTimeout(save, 1200);
  });
  form.addEventListener("submit", async (event) => {
    clearTimeout(due);
    if (!saving) { changed = false; return; }
    event.preventDefault();
    again = false;
    await saving;
    changed = false;
    form.submit();
  });
  addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });

  // --- Keys ---
  const of = (question) => [...question.querySelectorAll("input[type=radio]")];
  const answered = (question) => of(question).some((one) => one.checked);
  const focus = (question) => (of(question).find((one) => one.checked) || of(question)[0]).focus();
  function current() {
    const here = questions.find((one) => one.contains(document.activeElement));
    return here || questions.find((one) => !answered(one)) || null;
  }
  function choose(question, key) {
    const wanted = of(question).find((one) => one.dataset.key === key);
    if (!wanted) return false;
    const before = wanted.checked;
    wanted.checked = true;
    if (!before) wanted.dispatchEvent(new Event("change", { bubbles: true }));
    const following = questions[questions.indexOf(question) + 1];
    if (following) focus(following);
    else wanted.focus();
    return true;
  }
  function pressed(key) {
    if (/^[1-9]$/.test(key)) {
      if (questions.length === 1) return choose(questions[0], key);
      const question = questions[Number(key) - 1];
      if (question) focus(question);
      return Boolean(question);
    }
    const question = current();
    return Boolean(question) && choose(question, key);
  }
  // Beside the trajectory the first question waits for its key; on a phone nothing jumps.
  const first = current();
  if (first && matchMedia("(min-width: 1001px)").matches) {
    (of(first).find((one) => one.checked) || of(first)[0]).focus({ preventScroll: true });
  }
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || event.isComposing) return;
    const inText = event.target === comment;
    if (event.key === "Enter" && (inText ? event.ctrlKey : !event.target.closest("a, button, summary"))) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "Escape" && inText) {
      comment.blur();
    } else if (!event.ctrlKey && !inText && !event.target.closest("input:not([type=radio]), select, textarea")) {
      if (pressed(event.key.toLowerCase())) event.preventDefault();
    }
  });
})();
