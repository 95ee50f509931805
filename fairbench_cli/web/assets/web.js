// Sends files and forms, exchanges pages in place, and says what is being done. No page is made here: the server's are.
"use strict";

(() => {  // an audit's own script is on the same page

const said = () => document.getElementById("said");

// --- what the server says -------------------------------------------------------------------------------------------

function sentence(text) {
  const first = text.split(" ", 1)[0];
  const whole = /^[a-z]+$/.test(first) ? text[0].toUpperCase() + text.slice(1) : text;
  return whole.replace(/\.$/, "") + ".";
}

function showMistakes(form, mistakes) {
  const box = form.querySelector(".error") || document.createElement("div");
  box.className = "error";
  box.setAttribute("role", "alert");
  box.replaceChildren(...mistakes.map((mistake) => {
    const line = document.createElement("p");
    const strong = document.createElement("strong");
    const what = mistake.where ? `${mistake.where}: ${mistake.what}` : mistake.what;
    strong.textContent = sentence(what) + " ";
    line.append(strong, sentence(mistake.fix));
    return line;
  }));
  form.append(box);
  box.scrollIntoView({block: "nearest"});
}

function unreachable() {
  return [{where: "", what: "fairbench does not answer", fix: "look at the terminal where it was started, and load this page again"}];
}

async function post(address, values) {
  try {
    const answer = await fetch(address, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(values)});
    return await answer.json();
  } catch {
    return {mistakes: unreachable()};
  }
}

// --- pages in place -------------------------------------------------------------------------------------------------

const EXCHANGED = ["#web-top", "body > header", "main"];

function focusOf() {
  const active = document.activeElement;
  return active && active.name ? [active.name, active.value] : null;
}

function giveFocus(focus) {
  if (!focus) return;
  const same = [...document.getElementsByName(focus[0])];
  const element = same.find((candidate) => candidate.value === focus[1]) || same[0];
  if (element) element.focus({preventScroll: true});
}

function foldOnNarrow() {  // what is changed stands before what is read: on a telephone it is opened by hand
  if (!matchMedia("(max-width: 34rem)").matches) return;
  for (const fold of document.querySelectorAll("details[data-wide]")) {
    if (!fold.contains(document.activeElement)) fold.open = false;
  }
}
foldOnNarrow();

async function exchange(address, {push, words}) {
  const answer = await fetch(address);
  const text = await answer.text();
  const page = new DOMParser().parseFromString(text, "text/html");
  if (!answer.ok || EXCHANGED.some((part) => !page.querySelector(part) !== !document.querySelector(part))) {
    location.assign(address);
    return;
  }
  const focus = focusOf();
  for (const part of EXCHANGED) {
    const old = document.querySelector(part);
    if (old) old.replaceWith(document.adoptNode(page.querySelector(part)));
  }
  document.title = page.title;
  if (push && address !== location.pathname) history.pushState(null, "", address);
  giveFocus(focus);
  foldOnNarrow();
  document.dispatchEvent(new Event("fairbench:replaced"));
  if (said()) said().textContent = words;
}

addEventListener("popstate", () => exchange(location.pathname, {push: false, words: "The page before."}));

// --- forms ----------------------------------------------------------------------------------------------------------

function valuesOf(form, button) {
  const values = {};
  for (const [name, value] of new FormData(form)) {
    if (name in values) values[name] = [].concat(values[name], value);
    else values[name] = value;
  }
  for (const group of form.querySelectorAll("[data-list]")) {
    const name = group.dataset.list;
    values[name] = [].concat(name in values ? values[name] : []);
  }
  if (button && button.name) values[button.name] = button.value;
  return values;
}

function watchActivity(form) {
  const place = form.querySelector(".busy");
  if (!place || !form.dataset.activity) return () => {};
  const address = form.dataset.activity;
  let words = "working";
  const show = () => { place.textContent = words; place.hidden = false; };
  const first = setTimeout(show, 150);
  const timer = setInterval(async () => {
    try {
      const activity = await (await fetch(address)).json();
      if (activity.text) words = activity.text + (activity.percent ? ` ${Math.round(activity.percent)} %` : "");
      show();
    } catch { /* the form's own answer says so */ }
  }, 700);
  return () => { clearTimeout(first); clearInterval(timer); place.textContent = ""; };
}

let sending = null;  // the form whose answer is waited for

async function send(form, button) {
  if (sending) return;
  sending = form;
  const values = valuesOf(form, button);
  form.setAttribute("aria-busy", "true");
  const stop = form.querySelector("[data-stop]");
  if (stop) stop.hidden = false;
  const stopWatching = watchActivity(form);
  const answer = await post(form.dataset.post, values);
  stopWatching();
  sending = null;
  form.removeAttribute("aria-busy");
  if (stop) stop.hidden = true;
  if (answer.mistakes) { showMistakes(form, answer.mistakes); return; }
  if (form.dataset.inPlace !== undefined && !(button && button.dataset.leave !== undefined)) {
    await exchange(answer.go, {push: true, words: form.dataset.inPlace});
  } else if (answer.go) {
    location.assign(answer.go);
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-post]");
  if (!form) return;
  event.preventDefault();
  send(form, event.submitter);
});

document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-on-change]");
  if (form) send(form, null);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy) {
    const text = document.getElementById(button.dataset.copy).textContent;
    navigator.clipboard.writeText(text).then(
      () => { button.textContent = "Copied"; },
      () => { getSelection().selectAllChildren(document.getElementById(button.dataset.copy)); });
  } else if (button.dataset.print !== undefined) {
    print();
  } else if (button.dataset.stop !== undefined) {
    post(button.dataset.stop, {});
  } else if (button.dataset.stopSending !== undefined && upload) {
    upload.abort();
  }
});

// --- a file ---------------------------------------------------------------------------------------------------------

let upload = null;

function megabytes(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${Math.round(bytes / 1e6)} MB`;
}

function sendFile(drop, file) {
  if (upload) return;
  const area = document.getElementById("sending");
  const bar = area.querySelector("progress");
  const words = area.querySelector(".fine");
  const old = drop.parentElement.querySelector(".error");
  if (old) old.remove();
  if (file.size > Number(drop.dataset.most)) {  // not every browser hears a server that refuses what it still sends
    const what = `the file is larger than ${drop.dataset.gigabytes} GB`;
    showMistakes(drop.parentElement, [{where: file.name, what, fix: "audit it in a terminal: fairbench audit FILE"}]);
    return;
  }
  area.querySelector("label").textContent = `Sending ${file.name}`;
  area.hidden = false;
  bar.removeAttribute("value");
  upload = new XMLHttpRequest();
  upload.open("POST", drop.dataset.send + "?name=" + encodeURIComponent(file.name));
  upload.upload.onprogress = (event) => {
    if (event.loaded >= event.total) { bar.removeAttribute("value"); words.textContent = "reading it"; return; }
    bar.value = 100 * event.loaded / event.total;
    words.textContent = `${megabytes(event.loaded)} of ${megabytes(event.total)}`;
  };
  const end = (mistakes) => {
    upload = null;
    area.hidden = true;
    if (mistakes) showMistakes(drop.parentElement, mistakes);
  };
  upload.onload = () => {
    let answer = null;
    try { answer = JSON.parse(upload.responseText); } catch { answer = {mistakes: unreachable()}; }
    end(answer.mistakes);
    if (answer.go) location.assign(answer.go);
  };
  upload.onerror = () => end([{where: file.name, what: "the file was not taken", fix: "look whether it is larger than is allowed, still there and a table"}]);
  upload.onabort = () => end(null);
  upload.send(file);
}

document.addEventListener("dragover", (event) => {
  event.preventDefault();  // a file that is dropped beside the field does not leave the page
  const drop = document.getElementById("drop");
  if (drop) drop.classList.toggle("over", drop.contains(event.target));
});
document.addEventListener("dragleave", () => { const drop = document.getElementById("drop"); if (drop) drop.classList.remove("over"); });
document.addEventListener("drop", (event) => {
  event.preventDefault();
  const drop = document.getElementById("drop");
  if (!drop) return;
  drop.classList.remove("over");
  const [file] = event.dataTransfer.files;
  if (file) sendFile(drop, file);
});
document.addEventListener("change", (event) => {
  if (event.target.id !== "file") return;
  const [file] = event.target.files;
  if (file) sendFile(document.getElementById("drop"), file);
  event.target.value = "";  // the same file may be chosen again
});
})();
