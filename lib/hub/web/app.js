"use strict";
// The page of the hub. It shows what the API tells and nothing else; all text
// from outside goes through visible() and textContent, never through HTML.

const main = document.getElementById("main");
const live = document.getElementById("live");
const login = document.getElementById("login");
const leave = document.getElementById("leave");

let me = null; // {name, scopes}
let stream = null;
let outcomes = new Map(); // by ask or session: what became of what was sent

// el makes an element with properties and children.
function el(tag, props, ...children) {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// hides are characters that a screen would heed in place of showing them, or
// that take no room: controls, what turns or hides its neighbours, fillers.
const hides = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

// visible is text as nodes, with such characters spelled out and marked.
function visible(text) {
  const nodes = [];
  let last = 0;
  for (const m of text.matchAll(hides)) {
    nodes.push(text.slice(last, m.index));
    nodes.push(el("mark", { textContent: "<U+" + m[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + ">" }));
    last = m.index + m[0].length;
  }
  nodes.push(text.slice(last));
  return nodes;
}

const line = (text) => el("span", {}, ...visible(String(text || "")));
const block = (text) => el("pre", {}, ...visible(String(text)));

// api calls the hub. It throws an Error in the hub's own words.
async function api(method, path, body, key) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  let r;
  try {
    r = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin" });
  } catch {
    throw new Error("the hub is out of reach");
  }
  if (r.status === 401) {
    show(false);
    throw new Error("log in again");
  }
  if (!r.ok) {
    const problem = await r.json().catch(() => ({}));
    throw new Error(problem.detail || problem.title || "the hub says " + r.status);
  }
  return r.status === 204 ? null : r.json();
}

function age(at) {
  const s = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 1000));
  if (s < 90) return s + " s";
  if (s < 5400) return Math.round(s / 60) + " min";
  return s < 172800 ? Math.round(s / 3600) + " h" : Math.round(s / 86400) + " d";
}

// ago is how long ago something was; it goes on while the page stays as it is.
const ago = (at) => el("time", { dateTime: at, textContent: age(at) });
setInterval(() => main.querySelectorAll("time").forEach((t) => (t.textContent = age(t.dateTime))), 5000);

const can = (scope) => me !== null && me.scopes.includes(scope);

// send carries out something that a person pressed, once, and shows what came
// of it. The key makes a second press the same request.
function send(about, button, path, body, said) {
  const key = newKey();
  button.closest("article").querySelectorAll("button").forEach((b) => (b.disabled = true));
  api("POST", path, body, key)
    .then((r) => { outcomes.set(about, { text: said }); return follow(about, r); })
    .catch((e) => { outcomes.set(about, { text: e.message, bad: true }); })
    .finally(() => refresh(true));
}

// newKey is a random key, also where the page came without TLS.
const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

// follow waits until a request has ended and says how.
async function follow(about, request) {
  if (!request || !request.id) return;
  const r = await api("GET", "v1/control/" + encodeURIComponent(request.id) + "?wait=30");
  const bad = ["failed", "refused", "expired"].includes(r.state);
  outcomes.set(about, { text: r.state + (r.detail ? ": " + r.detail : ""), bad });
}

function outcome(about) {
  const o = outcomes.get(about);
  return o ? el("p", { className: "outcome" + (o.bad ? " bad" : "") }, line(o.text)) : null;
}

// inputOf shows a tool's input whole: long texts as they are, the rest as JSON.
function inputOf(ask) {
  const list = el("div", {});
  const input = ask.input;
  if (input === null || typeof input !== "object" || Array.isArray(input)) {
    list.append(block(typeof input === "string" ? input : JSON.stringify(input, null, 2)));
  } else {
    for (const [name, value] of Object.entries(input)) {
      if (name === "questions") continue;
      list.append(el("div", { className: "about" }, line(name)), block(typeof value === "string" ? value : JSON.stringify(value, null, 2)));
    }
  }
  if (ask.input_cut) list.append(el("p", { className: "bad" }, "The input is cut here. It can be denied from afar, and allowed at the screen only."));
  return list;
}

const answerPath = (session, ask) => "v1/sessions/" + encodeURIComponent(session) + "/asks/" + encodeURIComponent(ask.ask) + "/answer";

function permission(session, ask) {
  const why = el("input", { type: "text", placeholder: "why not (for deny)", ariaLabel: "why not" });
  const base = { input_sha256: ask.input_sha256 };
  const go = (button, body, said) => send(ask.ask, button, answerPath(session, ask), { ...base, ...body }, said);
  const row = el("div", { className: "row" });
  if (!ask.input_cut) {
    row.append(el("button", { className: "yes", textContent: "Allow", onclick: (e) => go(e.target, { behavior: "allow" }, "allowed") }));
    (ask.suggestions || []).forEach((s, i) => row.append(el("button", {
      onclick: (e) => go(e.target, { behavior: "allow", always: i }, "allowed, and more"),
    }, "Allow, and ", line(suggestion(s)))));
  }
  row.append(el("button", {
    className: "no", textContent: "Deny",
    onclick: (e) => go(e.target, why.value.trim() ? { behavior: "deny", message: why.value.trim() } : { behavior: "deny" }, "denied"),
  }));
  return el("div", {}, row, el("div", { className: "row" }, why));
}

// suggestion is one of Claude's permission updates in the words of shctl.
function suggestion(s) {
  const places = {
    session: "for this session", localSettings: "in this project, for you", projectSettings: "in this project, for everybody", userSettings: "in all projects",
  };
  const where = s && (Object.hasOwn(places, s.destination) ? places[s.destination] : "in " + s.destination);
  if (s && s.type === "addRules" && Array.isArray(s.rules)) {
    return "always " + s.behavior + " " + s.rules.map((r) => r.toolName + (r.ruleContent ? "(" + r.ruleContent + ")" : "")).join(", ") + ", " + where;
  }
  if (s && s.type === "addDirectories" && Array.isArray(s.directories)) return "give access to " + s.directories.join(", ") + ", " + where;
  if (s && s.type === "setMode") return "switch to the mode " + s.mode + ", " + where;
  return JSON.stringify(s);
}

function questions(session, ask) {
  const form = el("form", {});
  const parts = ask.questions.map((q, n) => {
    const box = el("fieldset", {}, el("legend", {}, line(q.question)));
    const inputs = (q.options || []).map((o) => {
      const input = el("input", { type: q.multi ? "checkbox" : "radio", name: "q" + n, value: o.label });
      box.append(el("label", { className: "option" }, input, el("span", {}, line(o.label), el("div", { className: "about" }, line(o.description)))));
      return input;
    });
    const own = el("input", { type: "text", placeholder: "or in your own words", ariaLabel: "in your own words" });
    box.append(own);
    form.append(box);
    return { q, inputs, own };
  });
  form.append(el("div", { className: "row" }, el("button", { className: "yes", type: "submit", textContent: "Answer" }),
    el("button", { className: "no", type: "button", textContent: "Deny", onclick: (e) => send(ask.ask, e.target, answerPath(session, ask), { input_sha256: ask.input_sha256, behavior: "deny" }, "denied") })));
  form.onsubmit = (e) => {
    e.preventDefault();
    const answers = {};
    for (const { q, inputs, own } of parts) {
      const chosen = inputs.filter((i) => i.checked).map((i) => i.value);
      const text = own.value.trim();
      if (text) answers[q.question] = text;
      else if (chosen.length) answers[q.question] = q.multi ? chosen : chosen[0];
      else return own.focus();
    }
    send(ask.ask, e.submitter, answerPath(session, ask), { input_sha256: ask.input_sha256, behavior: "allow", answers }, "answered");
  };
  return form;
}

function askCard(session, ask) {
  const card = el("article", { className: "ask", id: "ask-" + ask.ask },
    el("div", { className: "title" }, line(session.title || session.session.slice(0, 8))),
    el("div", { className: "about" }, line(ask.tool), " · ", line(session.machine), " · ", line(session.cwd), " · ", ago(ask.since)),
    ask.questions && ask.questions.length ? null : inputOf(ask));
  if (!ask.answerable) card.append(el("p", { className: "about" }, "This one is answered at the screen."));
  else if (!can("answer")) card.append(el("p", { className: "about" }, "Your token lacks the scope answer (shhub token add --scope read,ask,answer gives one that has it)."));
  else card.append(ask.questions && ask.questions.length ? questions(session.session, ask) : permission(session.session, ask));
  const o = outcome(ask.ask);
  if (o) card.append(o);
  return card;
}

function entryCard(e) {
  const card = el("article", {},
    el("div", { className: "title" }, line(e.title || e.id)),
    el("div", { className: "about" }, line(e.kind), " · ", line(e.machine), " · ", ago(e.since)),
    e.text ? el("p", {}, line(e.text)) : null);
  if (e.session) card.append(sayForm(e.session));
  if (can("ask")) {
    card.append(el("div", { className: "row" }, el("button", {
      textContent: "Seen", onclick: (ev) => send(e.id, ev.target, "v1/inbox/" + encodeURIComponent(e.id) + "/read", {}, "seen"),
    })));
  }
  const o = outcome(e.id);
  if (o) card.append(o);
  return card;
}

function sayForm(session) {
  if (!can("ask")) return el("span", {});
  const text = el("textarea", { rows: 2, ariaLabel: "message", placeholder: "a message" });
  const form = el("form", { className: "row" }, text, el("button", { type: "submit", textContent: "Send" }), outcome("say-" + session));
  form.onsubmit = (e) => {
    e.preventDefault();
    if (text.value.trim()) {
      send("say-" + session, e.submitter, "v1/sessions/" + encodeURIComponent(session) + "/control", { action: "message", text: text.value }, "sent");
      text.value = "";
    }
  };
  return form;
}

function sessionCard(s) {
  return el("article", {},
    el("div", { className: "title" }, line(s.title || s.session.slice(0, 8))),
    el("div", { className: "about" }, line(s.status === "live" ? s.agent_state : s.status), " · ", line(s.machine), " · ", line(s.cwd), " · ", ago(s.since)),
    s.last_prompt ? el("p", {}, line(s.last_prompt)) : null,
    sayForm(s.session));
}

// typing tells that a person is in the middle of something here: what is drawn
// anew would take it away.
function typing() {
  const e = document.activeElement;
  if (e && main.contains(e) && ["INPUT", "TEXTAREA"].includes(e.tagName) && (e.value || e.checked)) return true;
  return [...main.querySelectorAll("textarea, input[type=text]")].some((i) => i.value) || main.querySelector("input:checked") !== null;
}

let pending = false;
let drawn = "";

async function refresh(sent) {
  let inbox, sessions;
  try {
    [inbox, sessions] = await Promise.all([api("GET", "v1/inbox"), api("GET", "v1/sessions")]);
  } catch (e) {
    live.textContent = e.message;
    return;
  }
  const asking = sessions.filter((s) => s.asks && s.asks.length);
  const asks = asking.flatMap((s) => s.asks.map((a) => a.ask)).join();
  // What a person has begun stays, unless what it belongs to is over.
  if (!sent && typing() && asks === drawn) {
    pending = true;
    return;
  }
  pending = false;
  drawn = asks;
  const shown = new Set(asking.map((s) => s.session));
  main.replaceChildren(
    el("h2", { textContent: "Waits for you" }),
    ...asking.flatMap((s) => s.asks.map((a) => askCard(s, a))),
    ...inbox.filter((e) => !shown.has(e.session)).map(entryCard),
    asking.length + inbox.length ? "" : el("p", { className: "about", textContent: "Nothing waits for you." }),
    el("h2", { textContent: "Sessions" }),
    ...sessions.filter((s) => s.status !== "ended").map(sessionCard),
    ...ended());
  document.title = (inbox.length ? "(" + inbox.length + ") " : "") + "sessionhub";
}

// ended are the outcomes of what is not shown any more.
function ended() {
  const list = [...outcomes.entries()].filter(([about]) => !document.getElementById("ask-" + about) && !about.startsWith("say-"));
  return list.length ? [el("h2", { textContent: "Lately" }), ...list.map(([, o]) => el("p", { className: "outcome" + (o.bad ? " bad" : "") }, line(o.text)))] : [];
}

let timer = null;
function soon() {
  clearTimeout(timer);
  timer = setTimeout(() => refresh(false), 150);
}

function listen() {
  if (stream) stream.close();
  stream = new EventSource("v1/events");
  stream.onopen = () => { live.textContent = "live"; soon(); };
  stream.addEventListener("session", soon);
  stream.onerror = () => { live.textContent = "reconnecting"; };
}

// show switches between the log-in and the rest.
function show(inside) {
  login.hidden = inside;
  leave.hidden = !inside;
  if (!inside) {
    main.replaceChildren();
    live.textContent = "";
    if (stream) stream.close();
    stream = null;
  }
}

async function enter() {
  const r = await fetch("v1/self", { credentials: "same-origin" });
  if (!r.ok) return show(false);
  me = await r.json();
  show(true);
  listen();
  return refresh(false);
}

login.onsubmit = async (e) => {
  e.preventDefault();
  const refused = document.getElementById("refused");
  const token = document.getElementById("token");
  refused.textContent = "";
  const r = await fetch("login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token: token.value.trim() }) })
    .catch(() => null);
  if (!r || !r.ok) {
    const problem = r ? await r.json().catch(() => ({})) : {};
    refused.textContent = problem.detail || "the hub is out of reach";
    return;
  }
  token.value = "";
  await enter();
};

leave.onclick = async () => {
  await fetch("logout", { method: "POST" }).catch(() => null);
  me = null;
  show(false);
};

document.addEventListener("visibilitychange", () => { if (!document.hidden && me) listen(); });
document.addEventListener("focusout", () => { if (pending) soon(); });
enter();
